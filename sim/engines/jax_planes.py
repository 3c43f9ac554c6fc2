"""The JAX engine: bit planes, a chunk of gates of one level at a time, on whatever JAX runs on.

It computes what :meth:`trilut.circuit.netlist.Netlist.evaluate` computes. All shapes are rounded up
to powers of two, so that JAX compiles for a few sizes of netlists and not for each one.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from numpy.typing import NDArray

from trilut.circuit.netlist import Netlist
from trilut.circuit.reach import level_gates, ternary_tables

__all__ = ["evaluator"]

_MAX_CHUNK = 1024


class _Chunks(NamedTuple):
    """Gates in evaluation order, as many of one level in each chunk; the rest write to a spare net.

    Parameters
    ----------
    a, b, result : int32 array [chunk, gate]
        Nets.
    table : int8 array [chunk, gate, row]
        Nine rows for each gate.
    """

    a: Array
    b: Array
    result: Array
    table: Array


def evaluator(netlist: Netlist) -> Callable[[NDArray[np.int8]], NDArray[np.int8]]:
    """Return a function from valid trits [sample, input] to outputs [sample, output]."""
    num_nets = _rounded(netlist.num_nets + 1)
    chunks = _chunked(netlist, spare=num_nets - 1)
    outputs = jnp.asarray(netlist.outputs, dtype=jnp.int32)

    def run(trits: NDArray[np.int8]) -> NDArray[np.int8]:
        num_words = _rounded(-(-len(trits) // 32))
        planes = np.zeros((num_nets, 2, num_words), dtype=np.uint32)
        planes[: netlist.num_inputs, 0] = _packed(trits.T > 0, num_words)
        planes[: netlist.num_inputs, 1] = _packed(trits.T < 0, num_words)
        words = np.asarray(_run(jnp.asarray(planes), chunks, outputs))
        octets = np.ascontiguousarray(words).astype("<u4", copy=False).view(np.uint8)
        bits = np.unpackbits(octets, axis=2, count=len(trits), bitorder="little").view(np.int8)
        return (bits[:, 0] - bits[:, 1]).T

    return run


def _rounded(size: int) -> int:
    return 1 << max(0, size - 1).bit_length()


def _packed(bits: NDArray[np.bool_], num_words: int) -> NDArray[np.uint32]:
    octets = np.zeros((len(bits), 4 * num_words), dtype=np.uint8)
    packed = np.packbits(bits, axis=1, bitorder="little")
    octets[:, : packed.shape[1]] = packed
    return octets.view("<u4")


def _chunked(netlist: Netlist, *, spare: int) -> _Chunks:
    levels = level_gates(netlist)
    widest = max((len(gates) for gates in levels), default=1)
    size = min(_rounded(widest), _MAX_CHUNK)
    parts = [
        gates[start : start + size] for gates in levels for start in range(0, len(gates), size)
    ]
    gate = np.full((_rounded(len(parts)), size), -1)
    for row, part in zip(gate, parts, strict=False):
        row[: len(part)] = part
    is_gate = gate >= 0
    table = np.zeros((*gate.shape, 9), dtype=np.int8)
    table[is_gate] = ternary_tables(netlist)[gate[is_gate]]
    nets = np.full((3, *gate.shape), spare, dtype=np.int32)
    nets[0, is_gate] = netlist.a[gate[is_gate]]
    nets[1, is_gate] = netlist.b[gate[is_gate]]
    nets[2, is_gate] = netlist.num_inputs + gate[is_gate]
    a, b, result = map(jnp.asarray, nets)
    return _Chunks(a, b, result, jnp.asarray(table))


@jax.jit
def _run(planes: Array, chunks: _Chunks, outputs: Array) -> Array:
    """Evaluate planes [net, (plus, minus), word]; return those of the outputs."""

    def step(planes: Array, chunk: _Chunks) -> tuple[Array, None]:
        a, b = _indicators(planes[chunk.a]), _indicators(planes[chunk.b])
        rows = [left & right for left in a for right in b]
        computed = [_either(rows, chunk.table, value) for value in (1, -1)]
        return planes.at[chunk.result].set(jnp.stack(computed, axis=1)), None

    return lax.scan(step, planes, chunks)[0][outputs]


def _indicators(planes: Array) -> tuple[Array, Array, Array]:
    """Return where nets [net, (plus, minus), word] are −1, 0 and +1."""
    plus, minus = planes[:, 0], planes[:, 1]
    return minus, ~(plus | minus), plus


def _either(rows: list[Array], table: Array, value: int) -> Array:
    """Return where the row of the table that occurs has a value."""
    result = jnp.zeros_like(rows[0])
    for number, row in enumerate(rows):
        result = result | jnp.where((table[:, number] == value)[:, None], row, jnp.uint32(0))
    return result
