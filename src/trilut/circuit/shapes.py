"""Gates by the shape of their inputs: which of them are bits, and which are trits.

Gates of one shape have the same rows in their tables, so they are computed on together. A circuit
of two-input gates has one shape; others have a few.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.gates import gate_id, gate_name, table_text
from trilut.circuit.kinds import NO_NET, Kind
from trilut.circuit.netlist import Netlist

__all__ = ["Shape", "gate_text", "inputs_text", "row_numbers", "row_values", "shapes_of", "strides"]


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """Some gates whose inputs are of the same kinds.

    Parameters
    ----------
    kinds : tuple of Kind
        What the nets in their slots carry.
    gates : int64 array [gate]
        The gates, in ascending order.
    """

    kinds: tuple[Kind, ...]
    gates: NDArray[np.int64]

    @property
    def num_rows(self) -> int:
        """Number of rows of their tables."""
        return int(np.prod(self.kinds))

    @property
    def row_values(self) -> NDArray[np.int8]:
        """The values [row, slot] of the inputs on each row of the tables."""
        return row_values(self.kinds)

    def sources(self, netlist: Netlist) -> NDArray[np.int64]:
        """Return the nets [gate, slot] that the gates read."""
        return netlist.sources[self.gates, : len(self.kinds)]


def shapes_of(netlist: Netlist, gates: NDArray[np.int64] | None = None) -> list[Shape]:
    """Sort gates, all of them unless some are given in ascending order, by their shape."""
    if gates is None:
        gates = np.arange(netlist.num_gates)
    if len(gates) == 0:
        return []
    num_slots = netlist.sources.shape[1]
    kinds = _padded(netlist.kinds, 0)[netlist.sources[gates]]
    if np.all(kinds == kinds[0]):
        return [Shape(_named(kinds[0]), gates)]
    codes = kinds @ 4 ** np.arange(num_slots)
    _, first, shape = np.unique(codes, return_index=True, return_inverse=True)
    return [
        Shape(_named(kinds[gate]), gates[shape.ravel() == number])
        for number, gate in enumerate(first)
    ]


def inputs_text(kinds: NDArray[np.int8]) -> str:
    """Write how many inputs of each kind there are."""
    counts = {"trits": kinds == Kind.TRIT, "bits": kinds == Kind.BIT}
    return " and ".join(f"{has.sum():,} {name}" for name, has in counts.items() if has.any())


def gate_text(netlist: Netlist, gate: int) -> str:
    """Write what a gate computes: its name, or its table as ``-0+``, or as numbers of a score."""
    table = netlist.table[gate, : netlist.num_rows[gate]]
    if netlist.kinds[netlist.num_inputs + gate] == Kind.SCORE:
        return "[" + ", ".join(map(str, table.tolist())) + "]"
    is_ternary = netlist.is_two_input and netlist.valence == Kind.TRIT
    return (gate_name(int(gate_id(table))) if is_ternary else None) or table_text(table)


def row_values(kinds: Sequence[int]) -> NDArray[np.int8]:
    """Return the values [row, slot] of inputs of some kinds, the last input changing fastest."""
    return _row_values(tuple(Kind(kind) for kind in kinds))


@functools.cache
def _row_values(kinds: tuple[Kind, ...]) -> NDArray[np.int8]:
    values = np.array(list(product(*(kind.values for kind in kinds))), dtype=np.int8)
    values.flags.writeable = False
    return values


def strides(netlist: Netlist) -> NDArray[np.int64]:
    """Return how many rows [gate, slot] one level of an input is worth; 0 in an empty slot."""
    sizes = _padded(netlist.kinds.astype(np.int64), 1)[netlist.sources]
    products = np.cumprod(sizes[:, ::-1], axis=1)[:, ::-1] // sizes
    return np.where(netlist.sources == NO_NET, 0, products)


def row_numbers(
    netlist: Netlist, levels: NDArray[np.uint8], strides: NDArray[np.int64]
) -> NDArray[np.uint8]:
    """Return the row [gate, sample] of every gate's table that occurs for levels [net, sample]."""
    rows = np.zeros((netlist.num_gates, levels.shape[1]), dtype=np.uint8)
    for slot in range(netlist.sources.shape[1]):
        # An empty slot reads the last net, and counts for nothing.
        rows += levels[netlist.sources[:, slot]] * strides[:, slot, None].astype(np.uint8)
    return rows


def _padded(kinds: NDArray[np.int8] | NDArray[np.int64], of_none: int) -> NDArray[np.int64]:
    """Return the kinds with that of an empty slot, which is the last."""
    return np.append(kinds, of_none).astype(np.int64)


def _named(kinds: NDArray[np.int64]) -> tuple[Kind, ...]:
    return tuple(Kind(kind) for kind in kinds.tolist() if kind)
