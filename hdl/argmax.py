"""Argmax and abstention: the class with the highest score, its margin, and whether to abstain."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from amaranth.hdl import Const, Module, Mux, Signal, signed, unsigned
from amaranth.lib import wiring
from amaranth.lib.data import ArrayLayout, StructLayout
from amaranth.lib.wiring import In, Out

from trilut.circuit.head import Head
from trilut.hdl.digits import DigitComparator
from trilut.hdl.sums.groupsum import difference_width

__all__ = ["Argmax", "DifferenceArgmax", "decision_layout"]


def decision_layout(head: Head, *, scores: bool = True) -> StructLayout:
    """Return the packing of a decision, with or without the scores."""
    fields = {
        "chosen": unsigned(head.class_bits),
        "margin": unsigned(head.margin_bits),
        "unknown": unsigned(1),
    }
    if scores:
        fields["scores"] = ArrayLayout(signed(head.score_bits), len(head.classes))
    return StructLayout(fields)


@dataclass(frozen=True, slots=True)
class _Leader:
    """The best of several classes: its score, its index, and the scores that it has beaten."""

    score: Any
    index: Any
    beaten: tuple[Any, ...] = ()


class Argmax(wiring.Component):
    """A tournament of the scores.

    Each round compares neighbours and keeps the winner, the lower index on a tie, and the scores
    that the winner has beaten so far. The best of those that the last winner has beaten is the
    second best of all, and makes the margin. Comparing and choosing each end in a register, and so
    do the margin and its comparison with the abstention margin.

    Parameters
    ----------
    head : Head
        The classes.
    scores : bool
        Whether the scores come out too.
    margin_port : bool
        Whether a port sets the abstention margin, and not the head.
    pipeline : int
        Number of layers between registers. From 3 on, a round has one register and not two.

    Members
    -------
    i : :py:`In(ArrayLayout(signed(head.score_bits), len(head.classes)))`
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

    def __init__(
        self,
        head: Head,
        *,
        scores: bool = True,
        margin_port: bool = False,
        pipeline: int = 2,
    ):
        self.head = head
        self.scores = scores
        self.margin_port = margin_port
        self.num_rounds = (len(head.classes) - 1).bit_length()
        # The champion has beaten one class in each round, and these have a tournament of their own.
        self._num_more_rounds = (self.num_rounds - 1).bit_length()
        self._stages_per_round = 2 if pipeline < 3 else 1
        self.latency = self._stages_per_round * (self.num_rounds + self._num_more_rounds) + 2
        super().__init__(
            {
                "i": In(ArrayLayout(signed(head.score_bits), len(head.classes))),
                **_decision_members(head, scores=scores, margin_port=margin_port),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        leaders = [_Leader(self.i[index], index) for index in range(len(self.head.classes))]
        for number in range(1, self.num_rounds + 1):
            leaders = self._round(m, f"round_{number}", leaders)
        (champion,) = leaders
        others = [_Leader(score, 0) for score in champion.beaten]
        for number in range(self.num_rounds + 1, self.num_rounds + self._num_more_rounds + 1):
            others = self._round(m, f"round_{number}", others, seconds=False)
        delay = self._stages_per_round * self._num_more_rounds
        self._decide(m, self._delay(m, "champion", champion, delay), others[0].score)
        return m

    def _round(
        self, m: Module, name: str, leaders: Sequence[_Leader], *, seconds: bool = True
    ) -> list[_Leader]:
        winners = []
        for first in range(0, len(leaders), 2):
            prefix = f"{name}_{first // 2}"
            if first + 1 == len(leaders):
                winners.append(self._delay(m, prefix, leaders[first], self._stages_per_round))
                continue
            left, right = leaders[first], leaders[first + 1]
            # The sign of a difference is the end of one carry chain. Of a signed comparison Yosys
            # makes two, with logic behind them: on an ECP5 that is a fifth more, and 160 MHz
            # instead of 300.
            right_wins = (left.score - right.score)[-1]
            if self._stages_per_round == 2:
                right_wins = self._register(m, f"{prefix}_right_wins", 1, right_wins)
                left = self._keep(m, f"{prefix}_left", left)
                right = self._keep(m, f"{prefix}_right", right)
            winner = self._choose(right_wins, left, right, seconds=seconds)
            winners.append(self._keep(m, prefix, winner))
        return winners

    def _choose(self, right_wins: Any, left: _Leader, right: _Leader, *, seconds: bool) -> _Leader:
        winner = Mux(right_wins, right.score, left.score)
        if not seconds:
            return _Leader(winner, 0)
        # One that had no match in some round has beaten the lowest score there is.
        lowest = Const(-1 << self.head.score_bits - 1, signed(self.head.score_bits))
        beaten = zip_longest(right.beaten, left.beaten, fillvalue=lowest)
        return _Leader(
            winner,
            Mux(right_wins, right.index, left.index),
            (
                Mux(right_wins, left.score, right.score),
                *(Mux(right_wins, *scores) for scores in beaten),
            ),
        )

    def _delay(self, m: Module, name: str, leader: _Leader, cycles: int) -> _Leader:
        for cycle in range(cycles):
            leader = self._keep(m, f"{name}_delay_{cycle}", leader)
        return leader

    def _keep(self, m: Module, name: str, leader: _Leader) -> _Leader:
        shape = signed(self.head.score_bits)
        index = leader.index
        if not isinstance(index, int):
            bits = (len(self.head.classes) - 1).bit_length()
            index = self._register(m, f"{name}_index", bits, index)
        return _Leader(
            self._register(m, f"{name}_score", shape, leader.score),
            index,
            tuple(
                self._register(m, f"{name}_beaten_{number}", shape, score)
                for number, score in enumerate(leader.beaten)
            ),
        )

    def _register(self, m: Module, name: str, shape: Any, value: Any) -> Signal:
        register = Signal(shape, reset_less=True, name=name)
        with m.If(self.en):
            m.d.sync += register.eq(value)
        return register

    def _decide(self, m: Module, champion: _Leader, second: Any) -> None:
        margin = self._register(m, "margin", self.o.margin.shape(), champion.score - second)
        chosen = self._register(m, "chosen", self.o.chosen.shape(), champion.index)
        m.d.comb += [
            self.o.chosen.eq(self._register(m, "decision_chosen", chosen.shape(), chosen)),
            self.o.margin.eq(self._register(m, "decision_margin", margin.shape(), margin)),
            self.o.unknown.eq(_is_unknown(m, self, margin)),
        ]
        if self.scores:
            scores = self.i.as_value()
            for cycle in range(self.latency):
                scores = self._register(m, f"scores_{cycle}", len(scores), scores)
            m.d.comb += self.o.scores.as_value().eq(scores)


class DifferenceArgmax(wiring.Component):
    """The decision between two classes from the difference of their scores.

    The sign is the class and the magnitude the margin. The latency is three clock cycles: one to
    invert a negative difference, one to add one to it, and one to compare.

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
        self.latency = 3
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
        inverted = Signal(len(difference), reset_less=True)
        is_inverted = Signal(reset_less=True)
        chosen = Signal(self.o.chosen.shape(), reset_less=True)
        margin = Signal(self.o.margin.shape(), reset_less=True)
        decision_chosen = Signal.like(chosen)
        decision_margin = Signal.like(margin)
        with m.If(self.en):
            m.d.sync += [
                inverted.eq(difference ^ is_second.replicate(len(difference))),
                is_inverted.eq(is_second),
                chosen.eq(is_inverted),
                margin.eq(inverted + is_inverted),
                decision_chosen.eq(chosen),
                decision_margin.eq(margin),
            ]
        m.d.comb += [
            self.o.chosen.eq(decision_chosen),
            self.o.margin.eq(decision_margin),
            self.o.unknown.eq(_is_unknown(m, self, margin)),
        ]
        return m


def _decision_members(head: Head, *, scores: bool, margin_port: bool) -> dict[str, Any]:
    layout = decision_layout(head, scores=scores)
    port = {"abstain_margin": In(layout["margin"].shape)} if margin_port else {}
    return {"o": Out(layout), **port, "en": In(1)}


def _is_unknown(m: Module, component: Argmax | DifferenceArgmax, margin: Any) -> Any:
    """Return whether to abstain, one cycle later; a tie is a tie even if a port says 0."""
    if component.margin_port:
        unknown = Signal(reset_less=True)
        with m.If(component.en):
            m.d.sync += unknown.eq((margin < component.abstain_margin) | (margin == 0))
        return unknown
    threshold = component.head.abstain_margin
    # Yosys would rather keep a name that Verilog must escape.
    unknown = Signal(init=1, attrs={"keep": 1})
    if threshold < 1 << len(margin):
        comparator = DigitComparator(m, "margin_bits", margin, component.en)
        m.d.comb += unknown.eq(~comparator.reaches(threshold))
    return unknown
