"""Nets side by side on the wires of a design's vectors, and gates as functions of wires.

In a circuit of two-input gates every net is a dual-rail trit; see :mod:`trilut.circuit.trit`. In
other circuits a trit is dual-rail too, with minus in the lower place, a bit is one wire, and a
score is a number of a few wires; see :mod:`trilut.circuit.wires`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.kinds import Kind
from trilut.circuit.netlist import Netlist
from trilut.circuit.trit import CODES, TRIT_BITS
from trilut.circuit.wires import NO_WIRE, lower

__all__ = ["BIT", "Function", "NetWires", "Number"]


@dataclass(frozen=True, slots=True)
class Number:
    """Wires that stand for ``base`` plus 2^``shift`` times the binary number on them.

    Parameters
    ----------
    low, high : int
        The lowest and the highest value that can occur.
    """

    base: int
    shift: int
    num_wires: int
    low: int
    high: int

    @classmethod
    def of_range(cls, low: int, high: int) -> "Number":
        """Return the code of a score: its value above the lowest."""
        # One wire at least: no vector is empty.
        return cls(low, 0, max(1, (high - low).bit_length()), low, high)

    def negated(self) -> "Number":
        """Return the code of the negative value on the complements of the wires."""
        most = ((1 << self.num_wires) - 1) << self.shift
        return Number(-self.base - most, self.shift, self.num_wires, -self.high, -self.low)

    def code(self, value: int) -> int:
        """Return the binary number of a value."""
        return (value - self.base) >> self.shift


BIT = Number(base=-1, shift=1, num_wires=1, low=-1, high=1)
"""The code of a bit."""


@dataclass(frozen=True, slots=True)
class Function:
    """A wire that is a function of others.

    Parameters
    ----------
    wires : tuple of (int, int)
        What it reads: a net, and a place among the wires of that net; at most six, all different.
    table : int
        The truth table, the first of these wires in the lowest place of the row number.
    care : int
        The rows that can occur; what the table says in others is free.
    """

    wires: tuple[tuple[int, int], ...]
    table: int
    care: int


class NetWires:
    """How the nets of a circuit stand in vectors.

    Parameters
    ----------
    netlist : Netlist
        The circuit.
    rows : bool array [gate, row]
        The rows of the tables that can occur.

    Attributes
    ----------
    is_dual_rail : bool
        Whether every net is a dual-rail trit.
    num_wires : int64 array [net]
        Number of wires of each net.
    """

    def __init__(self, netlist: Netlist, rows: NDArray[np.bool_]):
        self.is_dual_rail = netlist.is_two_input
        self._netlist = netlist
        self._scores: dict[int, Number] = {}
        self.num_wires = np.full(netlist.num_nets, TRIT_BITS)
        if self.is_dual_rail:
            return
        self._lowered = lower(netlist, rows)
        for net in np.flatnonzero(netlist.kinds == Kind.SCORE).tolist():
            gate = net - netlist.num_inputs
            values = netlist.table[gate, rows[gate]]
            self._scores[net] = Number.of_range(int(values.min()), int(values.max()))
        self.num_wires = np.maximum(np.diff(self._lowered.first), 1)

    def number(self, net: int) -> Number | None:
        """Return the code of a bit or a score; None if the net is a dual-rail trit."""
        if self.is_dual_rail or self._netlist.kinds[net] == Kind.TRIT:
            return None
        return self._scores.get(net, BIT)

    def code(self, net: int, value: int) -> int:
        """Return the wires of a net that has a value, the first in the lowest place."""
        number = self.number(net)
        return CODES[value] if number is None else number.code(value)

    def width(self, nets: Sequence[int]) -> int:
        """Return the number of wires of some nets."""
        return int(self.num_wires[list(nets)].sum())

    def places(self, nets: Sequence[int]) -> dict[int, range]:
        """Return where each net's wires are in a vector of nets, the first in the lowest bits."""
        ends = np.cumsum(self.num_wires[list(nets)]).tolist()
        starts = [0, *ends[:-1]]
        return {net: range(*place) for net, *place in zip(nets, starts, ends, strict=True)}

    def functions(self) -> list[tuple[Function, ...]]:
        """Return the functions of all gates, one for each wire of a gate's net, lowest first."""
        lowered = self._lowered
        net_of = np.repeat(np.arange(self._netlist.num_nets), np.diff(lowered.first)).tolist()
        first = lowered.first.tolist()
        is_trit = (self._netlist.kinds == Kind.TRIT).tolist()
        read = [
            # Of a trit, plus comes first there and last here.
            tuple(
                (net_of[wire], int(is_trit[net_of[wire]]) ^ (wire - first[net_of[wire]]))
                for wire in row
                if wire != NO_WIRE
            )
            for row in lowered.inputs.tolist()
        ]
        sizes = [(1 << (1 << len(wires))) - 1 for wires in read]
        made = [
            Function(wires, on, size & ~free)
            for wires, on, free, size in zip(
                read, lowered.on.tolist(), lowered.free.tolist(), sizes, strict=True
            )
        ]
        functions = []
        for net in range(self._netlist.num_inputs, self._netlist.num_nets):
            start, end = (wire - lowered.num_input_wires for wire in first[net : net + 2])
            own = made[start:end]
            functions.append(tuple(own[::-1] if is_trit[net] else own) or (_CONSTANT,))
        return functions


# The wire of a score that is always the same.
_CONSTANT = Function((), 0, 1)
