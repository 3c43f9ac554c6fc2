"""Argmax without a margin: the class with the highest score, and whether another has the same."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, signed, unsigned
from amaranth.lib import wiring
from amaranth.lib.data import ArrayLayout, StructLayout
from amaranth.lib.wiring import In, Out

from trilut.circuit.head import Head
from trilut.circuit.interface import HeadOutput
from trilut.hdl.sums.cells import CHAINS
from trilut.hdl.sums.compressor import FALSE, Bit, Chain, Position

__all__ = ["TieArgmax"]


@dataclass(frozen=True, slots=True)
class _Leader:
    """The best of several classes: its score, its index, and whether another has its score."""

    score: Any
    index: Any
    tie: Any


class TieArgmax(wiring.Component):
    """A tournament that keeps nothing but the winner.

    It takes a third of what :class:`Argmax` takes, whose winners bring along whom they have beaten.
    Comparing and choosing each end in a register.

    Parameters
    ----------
    head : Head
        The classes. Its abstention margin is 1: the circuit abstains on a tie alone.
    pipeline : int
        Number of layers between registers. From 3 on, a round has one register and not two.
    target : str
        What sums are made of. On ``xilinx`` a chain of LUT6_2 and CARRY4 compares two bits in a
        position; elsewhere two scores are subtracted.

    Members
    -------
    i : :py:`In(ArrayLayout(signed(head.score_bits), ...))`
        Scores.
    o : :py:`Out(StructLayout(...))`
        ``chosen``, and ``unknown`` on a tie.
    en : :py:`In(1)`
        Enables the registers.
    """

    margin_port = False
    extra: tuple[HeadOutput, ...] = ()

    def __init__(self, head: Head, *, pipeline: int = 2, target: str = "generic"):
        if head.abstain_margin != 1:
            raise ValueError(f"A tie is a margin below 1, not below {head.abstain_margin}")
        self.head = head
        self._target = target
        self._stages = 2 if pipeline < 3 else 1
        self.num_rounds = (len(head.classes) - 1).bit_length()
        self.latency = self._stages * self.num_rounds
        decision = StructLayout({"chosen": unsigned(head.class_bits), "unknown": unsigned(1)})
        super().__init__(
            {
                "i": In(ArrayLayout(signed(head.score_bits), len(head.classes))),
                "o": Out(decision),
                "en": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        leaders = [_Leader(self.i[index], index, 0) for index in range(len(self.head.classes))]
        for number in range(1, self.num_rounds + 1):
            leaders = self._round(m, f"round_{number}", leaders)
        (best,) = leaders
        m.d.comb += [self.o.chosen.eq(best.index), self.o.unknown.eq(best.tie)]
        return m

    def _round(self, m: Module, name: str, leaders: Sequence[_Leader]) -> list[_Leader]:
        winners = []
        for first in range(0, len(leaders), 2):
            prefix = f"{name}_{first // 2}"
            if first + 1 == len(leaders):
                for stage in range(self._stages):
                    last = self._keep(m, f"{prefix}_delay_{stage}", leaders[first])
                    leaders = [*leaders[:first], last]
                winners.append(leaders[first])
                continue
            left, right = leaders[first], leaders[first + 1]
            right_wins, is_equal = self._compare(m, prefix, left.score, right.score)
            if self._stages == 2:
                right_wins = self._register(m, f"{prefix}_right_wins", 1, right_wins)
                is_equal = self._register(m, f"{prefix}_is_equal", 1, is_equal)
                left = self._keep(m, f"{prefix}_left", left)
                right = self._keep(m, f"{prefix}_right", right)
            winner = _Leader(
                Mux(right_wins, right.score, left.score),
                Mux(right_wins, right.index, left.index),
                is_equal | Mux(right_wins, right.tie, left.tie),
            )
            winners.append(self._keep(m, prefix, winner))
        return winners

    def _compare(self, m: Module, name: str, left: Any, right: Any) -> tuple[Any, Any]:
        """Return whether the right score is higher, and whether both are the same."""
        if self._target != "xilinx":
            difference = left - right
            return difference[-1], ~difference.any()
        width = len(left)
        bits = {1 + place: left[place] for place in range(width)}
        bits |= {1 + width + place: right[place] for place in range(width)}
        chain, sums, carry = _comparison(width)
        made = CHAINS["xilinx"](m, f"{name}_compare", chain, bits)
        # While all bits are equal the carry goes on, and it is 0: each sum is then 1.
        return made[carry], Cat(made[bit] for bit in sums).all()

    def _keep(self, m: Module, name: str, leader: _Leader) -> _Leader:
        """Return a leader one cycle later; what is a constant stays one."""
        index, tie = leader.index, leader.tie
        if not isinstance(index, int):
            index = self._register(m, f"{name}_index", self.head.class_bits, index)
        if not isinstance(tie, int):
            tie = self._register(m, f"{name}_tie", 1, tie)
        score = self._register(m, f"{name}_score", signed(self.head.score_bits), leader.score)
        return _Leader(score, index, tie)

    def _register(self, m: Module, name: str, shape: Any, value: Any) -> Signal:
        register = Signal(shape, reset_less=True, name=name)
        with m.If(self.en):
            m.d.sync += register.eq(value)
        return register


def _comparison(width: int) -> tuple[Chain, list[Bit], Bit]:
    """Return a chain whose last carry says that a < b, its sums, and that carry.

    Bit w of a is 1 + w, and bit w of b is 1 + ``width`` + w, both in two's complement.
    """
    positions, sums = [], []
    carry: Bit = 4 * width
    for low in range(0, width, 2):
        places = range(low, min(low + 2, width))
        # Of the signs, 1 is the lower one.
        pins = [
            ~(first + place) if place == width - 1 else first + place
            for place in places
            for first in (1, 1 + width)
        ]
        num_bits = len(places)
        propagate = generate = 0
        for row in range(1 << 2 * num_bits):
            a, b = (
                sum((row >> 2 * index + side & 1) << index for index in range(num_bits))
                for side in (0, 1)
            )
            propagate |= (a == b) << row
            generate |= (a < b) << row
        made = 2 * width + 1 + low
        sums.append(made)
        is_last = places[-1] == width - 1
        positions.append(
            Position(tuple(pins), propagate, generate, made, carry if is_last else None)
        )
    return Chain(FALSE, tuple(positions)), sums, carry
