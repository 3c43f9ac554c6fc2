"""Argmax and abstention: the class with the highest score, its margin, and whether to abstain."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Shape, Signal, signed, unsigned
from amaranth.lib import wiring
from amaranth.lib.data import ArrayLayout, StructLayout
from amaranth.lib.wiring import In, Out

from trilut.circuit.head import Head
from trilut.circuit.interface import HeadOutput
from trilut.hdl.digits import DigitComparator
from trilut.hdl.sums.groupsum import difference_width

__all__ = ["Argmax", "DifferenceArgmax", "decision_layout"]


def decision_layout(
    head: Head, extra: Collection[HeadOutput] = (HeadOutput.SCORES,)
) -> StructLayout:
    """Return the packing of a decision and what else is asked for."""
    shapes: dict[HeadOutput, Any] = {
        HeadOutput.SCORES: ArrayLayout(signed(head.score_bits), len(head.classes)),
        HeadOutput.CERTAIN: unsigned(1),
        HeadOutput.SET: unsigned(len(head.classes)),
    }
    return StructLayout(
        {
            "chosen": unsigned(head.class_bits),
            "margin": unsigned(head.margin_bits),
            "unknown": unsigned(1),
            **{output.value: shape for output, shape in shapes.items() if output in extra},
        }
    )


@dataclass(frozen=True, slots=True)
class _Leader:
    """The best of several classes: its score, what it brings along, and whom it has beaten."""

    score: Any
    luggage: Any
    beaten: tuple[Any, ...] = ()


class _Tournament:
    """Rounds in which neighbours are compared and the higher score wins, the first on a tie.

    Each round keeps the winner, what it brings along (its index, for one), and the scores that it
    has beaten so far. The best of those that the last winner has beaten is the second best of all.

    Parameters
    ----------
    m : Module
        Where to build.
    en : Value
        Enables the registers.
    name : str
        What the names of the registers begin with.
    score, luggage : Shape
        Shapes of the scores, and of what a winner brings along.
    stages : int
        Registers in a round: one behind the choice and, if there are two, one behind the
        comparison.
    """

    def __init__(self, m: Module, en: Any, name: str, score: Shape, luggage: Shape, stages: int):
        self._m = m
        self._en = en
        self._name = name
        self._score = score
        self._luggage = luggage
        self._stages = stages

    def play(self, leaders: Sequence[_Leader]) -> tuple[_Leader, _Leader, Any]:
        """Return the best, the best delayed until the second is known, and the second score."""
        num_rounds = 0
        while len(leaders) > 1:
            num_rounds += 1
            leaders = self._round(f"round_{num_rounds}", leaders)
        (champion,) = leaders
        others = [_Leader(score, 0) for score in champion.beaten]
        first = num_rounds
        while len(others) > 1:
            num_rounds += 1
            others = self._round(f"round_{num_rounds}", others, seconds=False)
        delay = self._stages * (num_rounds - first)
        return champion, self._delay("champion", champion, delay), others[0].score

    def _round(
        self, name: str, leaders: Sequence[_Leader], *, seconds: bool = True
    ) -> list[_Leader]:
        winners = []
        for first in range(0, len(leaders), 2):
            prefix = f"{name}_{first // 2}"
            if first + 1 == len(leaders):
                winners.append(self._delay(prefix, leaders[first], self._stages))
                continue
            left, right = leaders[first], leaders[first + 1]
            # The sign of a difference is the end of one carry chain. Of a signed comparison Yosys
            # makes two, with logic behind them: on an ECP5 that is a fifth more, and 160 MHz
            # instead of 300.
            right_wins = (left.score - right.score)[-1]
            if self._stages == 2:
                right_wins = self.register(f"{prefix}_right_wins", 1, right_wins)
                left = self._keep(f"{prefix}_left", left)
                right = self._keep(f"{prefix}_right", right)
            winner = self._choose(right_wins, left, right, seconds=seconds)
            winners.append(self._keep(prefix, winner))
        return winners

    def _choose(self, right_wins: Any, left: _Leader, right: _Leader, *, seconds: bool) -> _Leader:
        winner = Mux(right_wins, right.score, left.score)
        if not seconds:
            return _Leader(winner, 0)
        # One that had no match in some round has beaten the lowest score there is.
        lowest = Const(-1 << self._score.width - 1, self._score)
        beaten = zip_longest(right.beaten, left.beaten, fillvalue=lowest)
        return _Leader(
            winner,
            Mux(right_wins, right.luggage, left.luggage),
            (
                Mux(right_wins, left.score, right.score),
                *(Mux(right_wins, *scores) for scores in beaten),
            ),
        )

    def _delay(self, name: str, leader: _Leader, cycles: int) -> _Leader:
        for cycle in range(cycles):
            leader = self._keep(f"{name}_delay_{cycle}", leader)
        return leader

    def _keep(self, name: str, leader: _Leader) -> _Leader:
        luggage = leader.luggage
        if not isinstance(luggage, int):
            luggage = self.register(f"{name}_index", self._luggage, luggage)
        return _Leader(
            self.register(f"{name}_score", self._score, leader.score),
            luggage,
            tuple(
                self.register(f"{name}_beaten_{number}", self._score, score)
                for number, score in enumerate(leader.beaten)
            ),
        )

    def register(self, name: str, shape: Any, value: Any) -> Signal:
        """Return a value one cycle later."""
        register = Signal(shape, reset_less=True, name=f"{self._name}{name}")
        with self._m.If(self._en):
            self._m.d.sync += register.eq(value)
        return register


class Argmax(wiring.Component):
    """A tournament of the scores.

    The second best of all makes the margin. Comparing and choosing each end in a register, and so
    do the margin and its comparison with the abstention margin.

    An answer is certain if the least that its score can be, the score minus the number of UNKNOWN
    outputs, is above the most that any other can be. Such a class is the one that can have the
    most, so a second tournament of what the classes can have at most finds it, and the most that
    any other can have. It begins one cycle later, behind the bounds.

    Parameters
    ----------
    head : Head
        The classes.
    extra : collection of HeadOutput
        What comes out too.
    margin_port : bool
        Whether a port sets the abstention margin, and not the head.
    pipeline : int
        Number of layers between registers. From 3 on, a round has one register and not two.

    Members
    -------
    i : :py:`In(ArrayLayout(signed(head.score_bits), ...))`
        Scores; if it is to say what is certain, the numbers of UNKNOWN outputs behind them.
    o : :py:`Out(decision_layout(head, extra))`
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
        extra: Collection[HeadOutput] = (HeadOutput.SCORES,),
        *,
        margin_port: bool = False,
        pipeline: int = 2,
    ):
        self.head = head
        self.extra = extra
        self.margin_port = margin_port
        self.num_rounds = (len(head.classes) - 1).bit_length()
        # The champion has beaten one class in each round, and these have a tournament of their own.
        self._num_more_rounds = (self.num_rounds - 1).bit_length()
        self._stages_per_round = 2 if pipeline < 3 else 1
        self.latency = self._stages_per_round * (self.num_rounds + self._num_more_rounds) + 2
        num_numbers = 2 if HeadOutput.CERTAIN in extra else 1
        super().__init__(
            {
                "i": In(ArrayLayout(signed(head.score_bits), len(head.classes) * num_numbers)),
                **_decision_members(head, extra, margin_port=margin_port),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count = len(self.head.classes)
        game = self._tournament(m, "", unsigned(self.head.class_bits))
        leaders = [_Leader(self.i[index], index) for index in range(count)]
        best, champion, second = game.play(leaders)
        self._decide(m, game, champion, second)
        if HeadOutput.CERTAIN in self.extra:
            m.d.comb += self.o.certain.eq(self._certain(m))
        scores = [self.i.as_value()[: count * self.head.score_bits]]
        if HeadOutput.SCORES in self.extra or HeadOutput.SET in self.extra:
            kept = self.latency if HeadOutput.SCORES in self.extra else self._champion_latency
            for cycle in range(kept):
                scores.append(game.register(f"scores_{cycle}", len(scores[0]), scores[-1]))
        if HeadOutput.SCORES in self.extra:
            m.d.comb += self.o.scores.as_value().eq(scores[-1])
        if HeadOutput.SET in self.extra:
            members = self._members(scores[self._champion_latency], best.score)
            for cycle in range(self._champion_latency, self.latency):
                members = game.register(f"members_{cycle}", count, members)
            m.d.comb += self.o.set.eq(members)
        return m

    @property
    def _champion_latency(self) -> int:
        """Cycles until it is known which score is the highest."""
        return self._stages_per_round * self.num_rounds

    def _tournament(self, m: Module, name: str, luggage: Shape) -> _Tournament:
        score = signed(self.head.score_bits)
        return _Tournament(m, self.en, name, score, luggage, self._stages_per_round)

    def _certain(self, m: Module) -> Any:
        """Return whether the least of one class is above the most of all others."""
        shape = signed(self.head.score_bits)
        game = self._tournament(m, "bound_", shape)
        leaders = []
        for index in range(len(self.head.classes)):
            score, unknowns = self.i[index], self.i[len(self.head.classes) + index]
            least = game.register(f"least_{index}", shape, score - unknowns)
            most = game.register(f"most_{index}", shape, score + unknowns)
            leaders.append(_Leader(most, least))
        _, champion, others = game.play(leaders)
        return game.register("is_certain", 1, (others - champion.luggage)[-1])

    def _members(self, scores: Any, best: Any) -> Any:
        """Return for each class whether its score is no more than the set's margin below."""
        assert self.head.set_margin is not None
        # No score is further below than the largest margin.
        margin = min(self.head.set_margin, (1 << self.head.margin_bits) - 1)
        bits = self.head.score_bits
        return Cat(
            ~(scores.word_select(index, bits).as_signed() + margin - best)[-1]
            for index in range(len(self.head.classes))
        )

    def _decide(self, m: Module, game: _Tournament, champion: _Leader, second: Any) -> None:
        margin = game.register("margin", self.o.margin.shape(), champion.score - second)
        chosen = game.register("chosen", self.o.chosen.shape(), champion.luggage)
        m.d.comb += [
            self.o.chosen.eq(game.register("decision_chosen", chosen.shape(), chosen)),
            self.o.margin.eq(game.register("decision_margin", margin.shape(), margin)),
            self.o.unknown.eq(_is_unknown(m, self, margin)),
        ]


class DifferenceArgmax(wiring.Component):
    """The decision between two classes from the difference of their scores.

    The sign is the class and the magnitude the margin. The latency is three clock cycles: one to
    invert a negative difference, one to add one to it, and one to compare.

    Parameters
    ----------
    head, extra, margin_port
        As of :class:`Argmax`; the scores cannot come out.

    Members
    -------
    i : :py:`In(ArrayLayout(signed(difference_width(head)), ...))`
        The first score minus the second, as :class:`ScoreDifference` gives it; if it is to say what
        is certain, the number of UNKNOWN outputs behind it. An answer is certain if the margin is
        above that number.
    o, abstain_margin, en
        As of :class:`Argmax` without scores.
    """

    def __init__(
        self, head: Head, extra: Collection[HeadOutput] = (), *, margin_port: bool = False
    ):
        if len(head.classes) != 2:
            raise ValueError(f"A difference of scores needs 2 classes, not {len(head.classes)}")
        if HeadOutput.SCORES in extra:
            raise ValueError("Scores cannot come out of their difference")
        self.head = head
        self.extra = extra
        self.margin_port = margin_port
        self.latency = 3
        num_numbers = 2 if HeadOutput.CERTAIN in extra else 1
        super().__init__(
            {
                "i": In(ArrayLayout(signed(difference_width(head)), num_numbers)),
                **_decision_members(head, extra, margin_port=margin_port),
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
        if HeadOutput.CERTAIN in self.extra:
            self._certain(m, margin)
        if HeadOutput.SET in self.extra:
            self._set(m, chosen, margin)
        return m

    def _certain(self, m: Module, margin: Any) -> None:
        early, late = (
            Signal(len(margin), name=f"unknowns_{cycle}", reset_less=True) for cycle in range(2)
        )
        is_certain = Signal(reset_less=True)
        with m.If(self.en):
            m.d.sync += [early.eq(self.i[1]), late.eq(early), is_certain.eq(late < margin)]
        m.d.comb += self.o.certain.eq(is_certain)

    def _set(self, m: Module, chosen: Any, margin: Any) -> None:
        assert self.head.set_margin is not None
        members = Signal(2, reset_less=True)
        is_close = margin <= min(self.head.set_margin, (1 << len(margin)) - 1)
        with m.If(self.en):
            m.d.sync += members.eq(Cat(~chosen | is_close, chosen | is_close))
        m.d.comb += self.o.set.eq(members)


def _decision_members(
    head: Head, extra: Collection[HeadOutput], *, margin_port: bool
) -> dict[str, Any]:
    layout = decision_layout(head, extra)
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
