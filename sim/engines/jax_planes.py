"""The JAX engine: bit planes, a chunk of functions of one level at a time, wherever JAX runs.

It computes what :meth:`trilut.circuit.netlist.Netlist.evaluate` computes: every wire of a gate is a
function of up to six wires, and a wire is a plane. All shapes are rounded up to powers of two, so
that JAX compiles for a few sizes of netlists and not for each one.
"""

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from numpy.typing import NDArray

from trilut.circuit.kinds import Kind
from trilut.circuit.netlist import Netlist
from trilut.circuit.wires import NO_WIRE, Wires, lower, output_terms
from trilut.sim.engines.planes import lut

__all__ = ["evaluator"]

_MAX_CHUNK = 1024


class _Chunks(NamedTuple):
    """Functions in evaluation order, those of a chunk of one level; the rest write to a spare wire.

    Parameters
    ----------
    inputs : int32 array [chunk, function, input]
        Wires.
    result : int32 array [chunk, function]
        Wires.
    table : uint32 array [chunk, function, 2]
        The low and the high half of each table.
    """

    inputs: Array
    result: Array
    table: Array


def evaluator(netlist: Netlist) -> Callable[[NDArray[np.int8]], NDArray[np.int8]]:
    """Return a function from valid trits [sample, input] to outputs [sample, output]."""
    # Trits that no encoder would make are inputs too.
    netlist = dataclasses.replace(netlist, encoder=None)
    wires = lower(netlist)
    num_wires = _rounded(wires.num_wires + 1)
    chunks = _chunked(netlist, wires, spare=num_wires - 1)
    wire, weight, base = output_terms(netlist, wires)
    read = jnp.asarray(wire.ravel(), dtype=jnp.int32)
    is_trit = np.flatnonzero(netlist.kinds[: netlist.num_inputs] == Kind.TRIT)
    first = wires.first[: netlist.num_inputs]

    def run(trits: NDArray[np.int8]) -> NDArray[np.int8]:
        num_words = _rounded(-(-len(trits) // 32))
        planes = np.zeros((num_wires, num_words), dtype=np.uint32)
        planes[first] = _packed(trits.T > 0, num_words)
        planes[first[is_trit] + 1] = _packed(trits.T[is_trit] < 0, num_words)
        words = np.asarray(_run(jnp.asarray(planes), chunks, read))
        octets = np.ascontiguousarray(words).astype("<u4", copy=False).view(np.uint8)
        bits = np.unpackbits(octets, axis=1, count=len(trits), bitorder="little").view(np.int8)
        terms = bits.reshape(*wire.shape, -1) * weight[:, :, None].astype(np.int8)
        return (terms.sum(axis=1, dtype=np.int8) + base[:, None].astype(np.int8)).T

    return run


def _rounded(size: int) -> int:
    return 1 << max(0, size - 1).bit_length()


def _packed(bits: NDArray[np.bool_], num_words: int) -> NDArray[np.uint32]:
    octets = np.zeros((len(bits), 4 * num_words), dtype=np.uint8)
    packed = np.packbits(bits, axis=1, bitorder="little")
    octets[:, : packed.shape[1]] = packed
    return octets.view("<u4")


def _chunked(netlist: Netlist, wires: Wires, *, spare: int) -> _Chunks:
    nets = np.repeat(np.arange(netlist.num_nets), np.diff(wires.first))[wires.num_input_wires :]
    levels = netlist.levels[nets]
    order = np.argsort(levels, kind="stable")
    by_level = np.split(order, np.flatnonzero(np.diff(levels[order])) + 1)
    size = min(_rounded(max(map(len, by_level))), _MAX_CHUNK)
    parts = [part[start : start + size] for part in by_level for start in range(0, len(part), size)]
    function = np.full((_rounded(len(parts)), size), -1)
    for row, part in zip(function, parts, strict=False):
        row[: len(part)] = part
    has = function >= 0
    num_inputs = max(1, int((wires.inputs != NO_WIRE).sum(axis=1).max(initial=0)))
    inputs = np.full((*function.shape, num_inputs), spare, dtype=np.int32)
    # What is not there is read as any wire: the upper rows of a table repeat the lower ones.
    inputs[has] = np.maximum(wires.inputs[function[has], :num_inputs], 0)
    result = np.full(function.shape, spare, dtype=np.int32)
    result[has] = wires.num_input_wires + function[has]
    table = np.zeros((*function.shape, 2), dtype=np.uint32)
    table[has] = _repeated(wires)[function[has]].astype("<u8").view("<u4").reshape(-1, 2)
    return _Chunks(jnp.asarray(inputs), jnp.asarray(result), jnp.asarray(table))


def _repeated(wires: Wires) -> NDArray[np.uint64]:
    """Return tables of 64 rows that do not look at inputs which are not there."""
    table = wires.on.copy()
    for place, wire in enumerate(wires.inputs.T):
        table |= np.where(wire == NO_WIRE, table << np.uint64(1 << place), np.uint64(0))
    return table


@jax.jit
def _run(planes: Array, chunks: _Chunks, outputs: Array) -> Array:
    """Evaluate planes [wire, word]; return those of the outputs."""

    def step(planes: Array, chunk: _Chunks) -> tuple[Array, None]:
        inputs = [planes[wire] for wire in chunk.inputs.T]

        def row(number: int) -> Array:
            bit = chunk.table[:, number // 32] >> jnp.uint32(number % 32) & jnp.uint32(1)
            return (jnp.uint32(0) - bit)[:, None]

        return planes.at[chunk.result].set(lut(row, inputs)), None

    return lax.scan(step, planes, chunks)[0][outputs]
