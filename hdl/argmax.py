"""Argmax and abstention: the class with the highest score, its margin, and whether to abstain."""

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Module, Mux, Signal, signed, unsigned
from amaranth.lib import wiring
from amaranth.lib.data import ArrayLayout, StructLayout
from amaranth.lib.wiring import In, Out

from trilut.hdl.groupsum import score_width
from trilut.head import Head

__all__ = ["Argmax", "decision_layout"]


def decision_layout(head: Head) -> StructLayout:
    """Return the packing of a decision, scores included."""
    width = score_width(head)
    return StructLayout(
        {
            "chosen": unsigned((len(head.classes) - 1).bit_length()),
            "margin": unsigned((2 * max(head.group_sizes)).bit_length()),
            "unknown": 1,
            "scores": ArrayLayout(signed(width), len(head.classes)),
        }
    )


@dataclass(frozen=True, slots=True)
class _Leader:
    """The best of several classes: its score and index, and the next best score if there is one."""

    score: Any
    index: Any
    second: Any | None


class Argmax(wiring.Component):
    """A tournament of the scores.

    Each round compares neighbours and keeps the winner, the lower index on a tie, and the best
    score that did not win. There is a register after each round and one after the margin, so the
    latency is :py:`⌈log2(classes)⌉ + 1` clock cycles.

    Members
    -------
    i : :py:`In(ArrayLayout(signed(score_width(head)), len(head.classes)))`
        Scores.
    o : :py:`Out(decision_layout(head))`
        The decision; ``unknown`` is high if the margin is below the head's abstention margin.
    en : :py:`In(1)`
        Enables the registers.
    """

    def __init__(self, head: Head):
        self.head = head
        self.num_rounds = (len(head.classes) - 1).bit_length()
        self.latency = self.num_rounds + 1
        super().__init__(
            {
                "i": In(ArrayLayout(signed(score_width(head)), len(head.classes))),
                "o": Out(decision_layout(head)),
                "en": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        leaders = [_Leader(self.i[index], index, None) for index in range(len(self.head.classes))]
        scores = self.i.as_value()
        for number in range(1, self.num_rounds + 1):
            prefix = f"round_{number}"
            scores = self._register(m, f"{prefix}_scores", len(scores), scores)
            pairs = [leaders[index : index + 2] for index in range(0, len(leaders), 2)]
            leaders = [
                self._keep(m, f"{prefix}_{index}", self._winner(*pair))
                for index, pair in enumerate(pairs)
            ]
        self._decide(m, leaders[0], scores)
        return m

    def _winner(self, left: _Leader, right: _Leader | None = None) -> _Leader:
        if right is None:
            return left
        right_wins = right.score > left.score
        return _Leader(
            Mux(right_wins, right.score, left.score),
            Mux(right_wins, right.index, left.index),
            Mux(right_wins, _runner_up(right, left), _runner_up(left, right)),
        )

    def _keep(self, m: Module, name: str, leader: _Leader) -> _Leader:
        shape = signed(score_width(self.head))
        index_bits = (len(self.head.classes) - 1).bit_length()
        return _Leader(
            self._register(m, f"{name}_score", shape, leader.score),
            self._register(m, f"{name}_index", index_bits, leader.index),
            None
            if leader.second is None
            else self._register(m, f"{name}_second", shape, leader.second),
        )

    def _register(self, m: Module, name: str, shape: Any, value: Any) -> Signal:
        register = Signal(shape, reset_less=True, name=name)
        with m.If(self.en):
            m.d.sync += register.eq(value)
        return register

    def _decide(self, m: Module, leader: _Leader, scores: Any) -> None:
        margin = Signal(self.o.margin.shape(), name="difference")
        m.d.comb += margin.eq(leader.score - leader.second)
        decision = Signal(decision_layout(self.head), reset_less=True, name="decision")
        with m.If(self.en):
            m.d.sync += [
                decision.chosen.eq(leader.index),
                decision.margin.eq(margin),
                decision.unknown.eq(margin < self.head.abstain_margin),
                decision.scores.as_value().eq(scores),
            ]
        m.d.comb += self.o.eq(decision)


def _runner_up(winner: _Leader, loser: _Leader) -> Any:
    """Return the second best score of two brackets; the loser's own second cannot be it."""
    if winner.second is None:
        return loser.score
    return Mux(loser.score > winner.second, loser.score, winner.second)
