"""Counting bits: a heap of weighted bits becomes one number, level by level.

A plan says which adders stand in each level and how the bits run between them. It is made once,
from the values that the trits can take, and is plain data: :meth:`Plan.evaluate` says what it
computes, and :mod:`trilut.hdl.sums.groupsum` builds it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.vectors import Number

__all__ = [
    "FALSE",
    "TRUE",
    "Adder",
    "Bit",
    "Cell",
    "Chain",
    "Counter",
    "InputBit",
    "Level",
    "NumberBit",
    "Plan",
    "Plane",
    "Position",
    "TritAdder",
]

Bit = int
"""Number of a bit, from 1; ``~bit`` is its complement."""
FALSE: Bit = 0
TRUE: Bit = ~FALSE

Bits = NDArray[np.bool_]


class Plane(Enum):
    """A question about a trit that one wire answers."""

    PLUS = "plus"
    ZERO = "zero"
    MINUS = "minus"


@dataclass(frozen=True, slots=True)
class InputBit:
    """A bit that enters a plan: one plane of one trit."""

    trit: int
    plane: Plane

    def read(self, values: NDArray[np.int8]) -> Bits:
        """Return the bit for values [sample] of the trit."""
        return values == {Plane.PLUS: 1, Plane.ZERO: 0, Plane.MINUS: -1}[self.plane]


@dataclass(frozen=True, slots=True)
class NumberBit:
    """A bit that enters a plan: one wire of a number."""

    trit: int
    number: Number
    wire: int

    def read(self, values: NDArray[np.int8]) -> Bits:
        """Return the bit for values [sample] of the number."""
        code = values.astype(np.int64) - self.number.base >> self.number.shift
        return (code >> self.wire & 1).astype(np.bool_)


@dataclass(frozen=True, slots=True)
class Counter:
    """Two or three bits to a sum and, unless it is out of range, a carry."""

    inputs: tuple[Bit, ...]
    outputs: tuple[Bit, ...]


@dataclass(frozen=True, slots=True)
class TritAdder:
    """Three trits, each counted from −1, to a number of three bits.

    The zeros go through a full adder; its carry and the pluses are four bits of which, because a
    trit is not two values at once, at most three are set.
    """

    zeros: tuple[Bit, ...]
    pluses: tuple[Bit, ...]
    outputs: tuple[Bit, ...]

    @property
    def inputs(self) -> tuple[Bit, ...]:
        """All bits that enter."""
        return (*self.zeros, *self.pluses)


@dataclass(frozen=True, slots=True)
class Adder:
    """Two numbers and a carry to a number of as many bits as there are outputs."""

    a: tuple[Bit, ...]
    b: tuple[Bit, ...]
    carry: Bit
    outputs: tuple[Bit, ...]

    @property
    def inputs(self) -> tuple[Bit, ...]:
        """All bits that enter."""
        return (*self.a, *self.b, self.carry)


@dataclass(frozen=True, slots=True)
class Position:
    """One position of a carry chain.

    Parameters
    ----------
    pins : tuple of int
        Bits that its tables read, the first in the lowest place of the row number.
    propagate : int
        Truth table. Where it is 1 the carry goes on, and the sum is the complement of the carry
        that comes in; where it is 0 the sum is that carry.
    generate : int
        Truth table of the carry that goes out where the carry does not go on.
    sum, carry : int, optional
        The bits that the position makes, if they are needed.
    side : int, optional
        One more bit that the position makes, which the next position can read already.
    side_table : int
        Truth table of that bit.
    """

    pins: tuple[Bit, ...]
    propagate: int
    generate: int
    sum: Bit | None = None
    carry: Bit | None = None
    side: Bit | None = None
    side_table: int = 0


@dataclass(frozen=True, slots=True)
class Chain:
    """Positions in the order of their carries."""

    carry: Bit
    positions: tuple[Position, ...]

    @property
    def inputs(self) -> tuple[Bit, ...]:
        """All bits that enter."""
        sides = {position.side for position in self.positions}
        pins = (bit for position in self.positions for bit in position.pins)
        return (self.carry, *(bit for bit in pins if bit not in sides))

    @property
    def outputs(self) -> tuple[Bit, ...]:
        """All bits that the positions make."""
        made = [bit for p in self.positions for bit in (p.sum, p.carry, p.side)]
        return tuple(bit for bit in made if bit is not None)


Cell = Counter | TritAdder | Adder | Chain


@dataclass(frozen=True, slots=True)
class Level:
    """What stands between two possible places of registers.

    Parameters
    ----------
    cells : tuple of Cell
        None of them reads what another one makes.
    kept : tuple of int
        The bits that later levels or the result need, in a fixed order.
    """

    cells: tuple[Cell, ...]
    kept: tuple[Bit, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """How a weighted sum of bits is made.

    Parameters
    ----------
    inputs : mapping
        The bits that enter.
    levels : tuple of Level
        Adders.
    result : tuple of int
        The sum in two's complement, lowest bit first.
    """

    inputs: Mapping[Bit, InputBit | NumberBit]
    levels: tuple[Level, ...]
    result: tuple[Bit, ...]

    def evaluate(self, trits: NDArray[np.int8]) -> NDArray[np.int64]:
        """Return the sum for each row of trits [sample, trit]."""
        bits: dict[Bit, Bits] = {FALSE: np.zeros(len(trits), dtype=np.bool_)}
        for bit, source in self.inputs.items():
            bits[bit] = source.read(trits[:, source.trit])
        for level in self.levels:
            made: dict[Bit, Bits] = {}
            for cell in level.cells:
                made |= _EVALUATE[type(cell)](cell, bits)
            bits = {FALSE: bits[FALSE]} | {
                bit: made[bit] if bit in made else bits[bit] for bit in level.kept
            }
        weights = [1 << weight for weight in range(len(self.result))]
        weights[-1] *= -1
        total = np.zeros(len(trits), dtype=np.int64)
        for weight, bit in zip(weights, self.result, strict=True):
            total += weight * _get(bits, bit)
        return total


def _get(bits: Mapping[Bit, Bits], bit: Bit) -> Bits:
    return bits[bit] if bit >= 0 else ~bits[~bit]


def _count(bits: Mapping[Bit, Bits], inputs: Sequence[Bit]) -> NDArray[np.int64]:
    return np.sum([_get(bits, bit) for bit in inputs], axis=0, dtype=np.int64)


def _number(total: NDArray[np.int64], outputs: Sequence[Bit]) -> dict[Bit, Bits]:
    return {bit: (total >> weight & 1).astype(np.bool_) for weight, bit in enumerate(outputs)}


def _evaluate_counter(cell: Counter, bits: Mapping[Bit, Bits]) -> dict[Bit, Bits]:
    return _number(_count(bits, cell.inputs), cell.outputs)


def _evaluate_trit_adder(cell: TritAdder, bits: Mapping[Bit, Bits]) -> dict[Bit, Bits]:
    return _number(_count(bits, cell.zeros) + 2 * _count(bits, cell.pluses), cell.outputs)


def _evaluate_adder(cell: Adder, bits: Mapping[Bit, Bits]) -> dict[Bit, Bits]:
    total = _count(bits, [cell.carry])
    for operand in (cell.a, cell.b):
        for weight, bit in enumerate(operand):
            total = total + (_get(bits, bit).astype(np.int64) << weight)
    return _number(total, cell.outputs)


def _evaluate_chain(cell: Chain, bits: Mapping[Bit, Bits]) -> dict[Bit, Bits]:
    made: dict[Bit, Bits] = {}
    carry = _get(bits, cell.carry)
    for position in cell.positions:
        row = np.zeros(len(carry), dtype=np.int64)
        for place, bit in enumerate(position.pins):
            row += _get(made if bit in made else bits, bit).astype(np.int64) << place
        if position.side is not None:
            made[position.side] = _look_up(position.side_table, row)
        propagate = _look_up(position.propagate, row)
        if position.sum is not None:
            made[position.sum] = propagate ^ carry
        carry = np.where(propagate, carry, _look_up(position.generate, row))
        if position.carry is not None:
            made[position.carry] = carry
    return made


def _look_up(table: int, row: NDArray[np.int64]) -> Bits:
    size = int(row.max(initial=0)) + 1
    return np.array([table >> index & 1 for index in range(size)], dtype=np.bool_)[row]


_EVALUATE: dict[type, Any] = {
    Counter: _evaluate_counter,
    TritAdder: _evaluate_trit_adder,
    Adder: _evaluate_adder,
    Chain: _evaluate_chain,
}
