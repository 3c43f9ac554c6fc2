"""A netlist as Boolean functions of wires: what hardware, engines and exports compute.

A net has *wires*: a bit one, [v = +1]; a trit two, plus = [v = +1] and then minus = [v = −1]; a
score the bits of its value counted from the lowest that it can have, the least significant first,
as few as its highest value needs. Every wire of a gate is a function of at most six wires, one
64-bit table: what a LUT6 holds.

    >>> wires = lower(netlist)
    >>> wires.inputs[0], wires.on[0], wires.free[0]   # the first wire that a gate drives
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.kinds import MAX_WIRES, Kind, wires_of
from trilut.circuit.netlist import Netlist
from trilut.circuit.reach import reachable_rows
from trilut.circuit.shapes import Shape, shapes_of

__all__ = ["NO_WIRE", "Wires", "lower", "output_terms"]

Words = NDArray[np.uint64]

NO_WIRE = -1
"""What stands in the place of an input that a function does not have."""

_ROWS = 1 << MAX_WIRES
_ONE = np.uint64(1)

# For each input of a function, the rows of a table on which it is 0.
_LOW = [
    np.uint64(sum(1 << row for row in range(_ROWS) if not row >> place & 1))
    for place in range(MAX_WIRES)
]


@dataclass(frozen=True, slots=True, eq=False)
class Wires:
    """The wires of a netlist and the function of each that a gate drives.

    Wires are numbered in the order of nets: first those of the inputs, then function k drives wire
    ``num_input_wires`` + k and reads only wires of lower nets.

    Parameters
    ----------
    first : int64 array [net + 1]
        The first wire of each net, and the number of wires: net n has the wires ``first[n]`` …
        ``first[n + 1]`` − 1. A score that is always the same has none.
    lowest : int64 array [net]
        The lowest value of a score, to which its wires are added; 0 for bits and trits.
    inputs : int64 array [function, 6]
        The wires that a function reads, all different and first in their row, then
        :data:`NO_WIRE`. Wires that it need not read are not among them.
    on : uint64 array [function]
        The table. Bit i is the value of the function for the row i, in which input k has the value
        of bit k of i. There are 2ⁿ rows for n inputs; all above are 0.
    free : uint64 array [function]
        The rows that cannot occur: codes that no value has, and rows of the gate's table that
        never occur. What the function is there does not matter; ``on`` has 0.
    """

    first: NDArray[np.int64]
    lowest: NDArray[np.int64]
    inputs: NDArray[np.int64]
    on: Words
    free: Words

    @property
    def num_wires(self) -> int:
        """Number of wires of all nets."""
        return int(self.first[-1])

    @property
    def num_functions(self) -> int:
        """Number of wires that gates drive."""
        return len(self.on)

    @property
    def num_input_wires(self) -> int:
        """Number of wires of the inputs: the number of the wire that function 0 drives."""
        return self.num_wires - self.num_functions

    def of(self, net: int) -> range:
        """Return the wires of a net."""
        return range(int(self.first[net]), int(self.first[net + 1]))


def lower(netlist: Netlist, rows: NDArray[np.bool_] | None = None) -> Wires:
    """Return the wires of a netlist.

    The rows [gate, row] that can occur are :func:`reachable_rows` unless the caller has them.
    """
    if rows is None:
        rows = reachable_rows(netlist)
    lowest, widths = _scores(netlist, rows)
    is_score = netlist.kinds == Kind.SCORE
    widths = np.where(is_score, widths, wires_of(netlist.kinds))
    first = np.concatenate([[0], np.cumsum(widths)])
    num_input_wires = int(first[netlist.num_inputs])
    num_functions = int(first[-1]) - num_input_wires
    inputs = np.full((num_functions, MAX_WIRES), NO_WIRE, dtype=np.int64)
    on, care = np.zeros((2, num_functions), dtype=np.uint64)
    for shape in shapes_of(netlist):
        own = netlist.num_inputs + shape.gates
        functions = first[own] - num_input_wires
        read = _read_wires(netlist, shape, first)
        occurs = _words(rows[shape.gates, : shape.num_rows], shape)
        for place in range(int(widths[own].max(initial=0))):
            has = place < widths[own]
            is_on = _wire_values(netlist, shape, lowest, place) & rows[shape.gates]
            inputs[functions[has] + place, : read.shape[1]] = read[has]
            on[functions[has] + place] = _words(is_on[has, : shape.num_rows], shape)
            care[functions[has] + place] = occurs[has]
    inputs, on, care = _without_unused(inputs, on, care)
    size = _ONE << (inputs != NO_WIRE).sum(axis=1).astype(np.uint64)
    every = np.where(size < _ROWS, (_ONE << (size % np.uint64(_ROWS))) - _ONE, ~np.uint64(0))
    return Wires(first, lowest, inputs, on & care & every, ~care & every)


def output_terms(
    netlist: Netlist, wires: Wires
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return what outputs are made of: base + Σ weight · wire.

    Returns
    -------
    wire, weight : int64 array [output, term]
        The wires, and what each counts; the weight is 0, and the wire any, where an output has
        fewer.
    base : int64 array [output]
        The value of an output whose wires are all 0.
    """
    kinds = netlist.kinds[netlist.outputs, None]
    place = np.arange(int(np.diff(wires.first)[netlist.outputs].max(initial=1)))
    wire = wires.first[netlist.outputs, None] + place
    weight = np.select(
        [kinds == Kind.BIT, kinds == Kind.TRIT], [2 + 0 * place, 1 - 2 * place], 1 << place
    )
    has = wire < wires.first[netlist.outputs + 1, None]
    base = np.where(kinds[:, 0] == Kind.BIT, -1, wires.lowest[netlist.outputs])
    return np.where(has, wire, 0), np.where(has, weight, 0), base


def _scores(
    netlist: Netlist, rows: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the lowest value of each score and how many bits it has; 0 for other nets."""
    lowest, widths = np.zeros((2, netlist.num_nets), dtype=np.int64)
    gates = np.flatnonzero(netlist.kinds[netlist.num_inputs :] == Kind.SCORE)
    for gate in gates.tolist():
        values = netlist.table[gate, rows[gate]].astype(np.int64)
        lowest[netlist.num_inputs + gate] = values.min()
        widths[netlist.num_inputs + gate] = int(values.max() - values.min()).bit_length()
    return lowest, widths


def _read_wires(netlist: Netlist, shape: Shape, first: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the wires [gate, wire] that the gates of a shape read, slot by slot."""
    starts = first[shape.sources(netlist)]
    columns = [
        starts[:, slot] + wire for slot, kind in enumerate(shape.kinds) for wire in range(kind - 1)
    ]
    return np.stack(columns, axis=1)


def _codes(shape: Shape) -> list[int]:
    """Return, for each row of a shape's tables, the row of a function's table."""
    wires = [
        column == value
        for column, kind in zip(shape.row_values.T, shape.kinds, strict=True)
        for value in (1, -1)[: kind - 1]
    ]
    return [int(code) for code in sum(wire * (1 << place) for place, wire in enumerate(wires))]


def _words(bits: NDArray[np.bool_], shape: Shape) -> Words:
    """Return bits [gate, row] of a shape's tables as tables of functions."""
    words = np.zeros(len(bits), dtype=np.uint64)
    for column, code in zip(bits.T, _codes(shape), strict=True):
        words |= column.astype(np.uint64) << np.uint64(code)
    return words


def _wire_values(
    netlist: Netlist, shape: Shape, lowest: NDArray[np.int64], place: int
) -> NDArray[np.bool_]:
    """Return the value [gate, row] of one wire, by its place among those of its net."""
    own = netlist.num_inputs + shape.gates
    tables = netlist.table[shape.gates]
    is_score = (netlist.kinds[own] == Kind.SCORE)[:, None]
    bits = (tables - lowest[own, None]) >> place & 1 == 1
    return np.where(is_score, bits, tables == 1 - 2 * place)


def _without_unused(
    inputs: NDArray[np.int64], on: Words, care: Words
) -> tuple[NDArray[np.int64], Words, Words]:
    """Leave out the inputs whose value changes nothing on the rows that can occur.

    A wire that stands twice among the inputs does so once afterwards: rows on which it would have
    two values cannot occur.
    """
    unused = np.zeros(inputs.shape, dtype=np.bool_)
    for place in range(MAX_WIRES):
        half, low = np.uint64(1 << place), _LOW[place]
        low_on, low_care = on & low, care & low
        high_on, high_care = on >> half & low, care >> half & low
        drop = (low_on ^ high_on) & low_care & high_care == 0
        either_on, either_care = low_on | high_on, low_care | high_care
        on = np.where(drop, either_on | either_on << half, on)
        care = np.where(drop, either_care | either_care << half, care)
        unused[:, place] = drop
    pattern = unused @ (1 << np.arange(MAX_WIRES))
    for number in np.unique(pattern).tolist():
        own = pattern == number
        order = sorted(range(MAX_WIRES), key=lambda place: number >> place & 1)
        inputs[own] = np.where(unused[own], NO_WIRE, inputs[own])[:, order]
        on[own], care[own] = _permuted(on[own], order), _permuted(care[own], order)
    return inputs, on, care


def _permuted(words: Words, order: list[int]) -> Words:
    """Return tables after their inputs were put into another order."""
    if order == list(range(MAX_WIRES)):
        return words
    result = np.zeros_like(words)
    for row in range(_ROWS):
        old = sum((row >> place & 1) << source for place, source in enumerate(order))
        result |= (words >> np.uint64(old) & _ONE) << np.uint64(row)
    return result
