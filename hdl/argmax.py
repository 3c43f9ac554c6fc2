"""Argmax and abstention: the class with the highest score, its margin, and whether to abstain."""

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Module, Mux, Signal, signed, unsigned
from amaranth.lib import wiring
from amaranth.lib.data import ArrayLayout, StructLayout
from amaranth.lib.wiring import In, Out

from trilut.hdl.groupsum import difference_width, score_width
from trilut.head import Head

__all__ = ["Argmax", "DifferenceArgmax", "decision_layout"]


def decision_layout(head: Head, *, scores: bool = True) -> StructLayout:
    """Return the packing of a decision, with or without the scores."""
    fields = {
        "chosen": unsigned((len(head.classes) - 1).bit_length()),
        "margin": unsigned((2 * max(head.group_sizes)).bit_length()),
        "unknown": unsigned(1),
    }
    if scores:
        fields["scores"] = ArrayLayout(signed(score_width(head)), len(head.classes))
    return StructLayout(fields)


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

    Parameters
    ----------
    head : Head
        The classes.
    scores : bool
        Whether the scores come out too.
    margin_port : bool
        Whether a port sets the abstention margin, and not the head.

    Members
    -------
    i : :py:`In(ArrayLayout(signed(score_width(head)), len(head.classes)))`
        Scores.
    o : :py:`Out(decision_layout(head, scores=scores))`
        The decision; ``unknown`` is high if the margin is below the abstention margin, and on a
        tie.
    abstain_margin : :py:`In(decision_layout(head)["margin"].shape)`
        The abstention margin, if there is a port for it. It counts in the last cycle of the
        latency, so a new value can meet vectors that are already on their way.
    en : :py:`In(1)`
        Enables the registers.
    """

    def __init__(self, head: Head, *, scores: bool = True, margin_port: bool = False):
        self.head = head
        self.scores = scores
        self.margin_port = margin_port
        self.num_rounds = (len(head.classes) - 1).bit_length()
        self.latency = self.num_rounds + 1
        super().__init__(
            {
                "i": In(ArrayLayout(signed(score_width(head)), len(head.classes))),
                **_decision_members(head, scores=scores, margin_port=margin_port),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        leaders = [_Leader(self.i[index], index, None) for index in range(len(self.head.classes))]
        scores = self.i.as_value() if self.scores else None
        for number in range(1, self.num_rounds + 1):
            prefix = f"round_{number}"
            if scores is not None:
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

    def _decide(self, m: Module, leader: _Leader, scores: Any | None) -> None:
        margin = Signal(self.o.margin.shape(), name="difference")
        decision = Signal(self.o.shape(), reset_less=True, name="decision")
        m.d.comb += [margin.eq(leader.score - leader.second), self.o.eq(decision)]
        with m.If(self.en):
            m.d.sync += [
                decision.chosen.eq(leader.index),
                decision.margin.eq(margin),
                decision.unknown.eq(_is_unknown(self, margin)),
            ]
            if scores is not None:
                m.d.sync += decision.scores.as_value().eq(scores)


class DifferenceArgmax(wiring.Component):
    """The decision between two classes from the difference of their scores.

    The sign is the class and the magnitude the margin. The latency is one clock cycle.

    Parameters
    ----------
    head, margin_port
        As of :class:`Argmax`.

    Members
    -------
    i : :py:`In(ArrayLayout(signed(difference_width(head)), 1))`
        The first score minus the second, as :class:`ScoreDifference` gives it.
    o, abstain_margin, en
        As of :class:`Argmax` without scores.
    """

    def __init__(self, head: Head, *, margin_port: bool = False):
        if len(head.classes) != 2:
            raise ValueError(f"A difference of scores needs 2 classes, not {len(head.classes)}")
        self.head = head
        self.margin_port = margin_port
        self.latency = 1
        super().__init__(
            {
                "i": In(ArrayLayout(signed(difference_width(head)), 1)),
                **_decision_members(head, scores=False, margin_port=margin_port),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        difference = self.i[0]
        is_second = difference[-1]
        margin = Signal(self.o.margin.shape(), name="magnitude")
        decision = Signal(self.o.shape(), reset_less=True, name="decision")
        m.d.comb += [
            margin.eq((difference ^ is_second.replicate(len(difference))) + is_second),
            self.o.eq(decision),
        ]
        with m.If(self.en):
            m.d.sync += [
                decision.chosen.eq(is_second),
                decision.margin.eq(margin),
                decision.unknown.eq(_is_unknown(self, margin)),
            ]
        return m


def _decision_members(head: Head, *, scores: bool, margin_port: bool) -> dict[str, Any]:
    layout = decision_layout(head, scores=scores)
    port = {"abstain_margin": In(layout["margin"].shape)} if margin_port else {}
    return {"o": Out(layout), **port, "en": In(1)}


def _is_unknown(component: Argmax | DifferenceArgmax, margin: Any) -> Any:
    """Return whether to abstain; a tie is a tie even if a port says 0."""
    if component.margin_port:
        return (margin < component.abstain_margin) | (margin == 0)
    return margin < component.head.abstain_margin


def _runner_up(winner: _Leader, loser: _Leader) -> Any:
    """Return the second best score of two brackets; the loser's own second cannot be it."""
    if winner.second is None:
        return loser.score
    return Mux(loser.score > winner.second, loser.score, winner.second)
