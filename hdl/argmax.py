"""Argmax and abstention: the class with the highest score, its margin, and whether to abstain."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
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
    luggage: Mapping[str, Any] = field(default_factory=dict)
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
    score : Shape
        Shape of the scores.
    luggage : mapping
        Shapes of what a winner brings along, by name.
    stages : int
        Registers in a round: one behind the choice and, if there are two, one behind the
        comparison.
    """

    def __init__(self, m: Module, en: Any, score: Shape, luggage: Mapping[str, Shape], stages: int):
        self._m = m
        self._en = en
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
        others = [_Leader(score) for score in champion.beaten]
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
            return _Leader(winner)
        # One that had no match in some round has beaten the lowest score there is.
        lowest = Const(-1 << self._score.width - 1, self._score)
        beaten = zip_longest(right.beaten, left.beaten, fillvalue=lowest)
        return _Leader(
            winner,
            {name: Mux(right_wins, right.luggage[name], own) for name, own in left.luggage.items()},
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
        return _Leader(
            self.register(f"{name}_score", self._score, leader.score),
            {
                what: value
                if isinstance(value, int)
                else self.register(f"{name}_{what}", self._luggage[what], value)
                for what, value in leader.luggage.items()
            },
            tuple(
                self.register(f"{name}_beaten_{number}", self._score, score)
                for number, score in enumerate(leader.beaten)
            ),
        )

    def register(self, name: str, shape: Any, value: Any) -> Signal:
        """Return a value one cycle later."""
        register = Signal(shape, reset_less=True, name=name)
        with self._m.If(self._en):
            self._m.d.sync += register.eq(value)
        return register


class Argmax(wiring.Component):
    """A tournament of the scores.

    The second best of all makes the margin. Comparing and choosing each end in a register, and so
    do the margin and its comparison with the abstention margin.

    If it is to say what is certain, the bounds of the scores come in and not the scores, which are
    made of them in a first cycle. An answer is certain if the least that its score can be is above
    the most that any other can be; in groups of equal size, if more of its outputs are +1 than are
    not −1 in any other group. The winner brings its count along, and those of the others wait.

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
        Scores; if it is to say what is certain, the bounds of :class:`GroupSum`.
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
        num_rounds = self.num_rounds + self._num_more_rounds
        self._gives_certain = HeadOutput.CERTAIN in extra
        self.latency = self._gives_certain + self._stages_per_round * num_rounds + 2
        num_numbers = 2 if self._gives_certain else 1
        super().__init__(
            {
                "i": In(ArrayLayout(signed(head.score_bits), len(head.classes) * num_numbers)),
                **_decision_members(head, extra, margin_port=margin_port),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        head = self.head
        luggage = {"index": unsigned(head.class_bits), "sure": unsigned(self.bound_bits)}
        game = _Tournament(m, self.en, signed(head.score_bits), luggage, self._stages_per_round)
        leaders = self._leaders(game)
        best, champion, second = game.play(leaders)
        self._decide(m, game, champion, second)
        if self._gives_certain:
            m.d.comb += self.o.certain.eq(self._certain(game, best))
        if HeadOutput.SCORES in self.extra or HeadOutput.SET in self.extra:
            self._scores_and_set(m, game, Cat(leader.score for leader in leaders), best.score)
        return m

    def _leaders(self, game: _Tournament) -> list[_Leader]:
        """Return all classes with their scores."""
        sizes = self.head.group_sizes
        if not self._gives_certain:
            return [_Leader(self.i[index], {"index": index}) for index in range(len(sizes))]
        leaders = []
        for index, size in enumerate(sizes):
            total = self.i[index] + self.i[len(sizes) + index]
            score = game.register(
                f"score_{index}", signed(self.head.score_bits), self._score(total, size)
            )
            sure = game.register(f"sure_{index}", self.bound_bits, self._bound(index, index))
            leaders.append(_Leader(score, {"index": index, "sure": sure}))
        return leaders

    def _score(self, total: Any, size: int) -> Any:
        """Return the score of a group from its two counts."""
        if HeadOutput.SCORES in self.extra:
            return total - size
        # What all scores are off by makes no difference; so off, they take an inverter each.
        return (total + max(self.head.group_sizes) - size) ^ 1 << self.head.score_bits - 1

    @property
    def bound_bits(self) -> int:
        """Bits of a bound as it is compared."""
        sizes = self.head.group_sizes
        return max(sizes).bit_length() + (len(set(sizes)) > 1)

    def _bound(self, index: int, number: int) -> Any:
        """Return a count of a group's outputs such that those of all groups can be compared."""
        sizes = self.head.group_sizes
        count = self.i[number].as_unsigned()
        if len(set(sizes)) == 1:
            return count
        # Twice the count minus the size is a score, and all are off by as much. A shift would be a
        # wire of its own, whose name a mapper may keep instead of that of the register.
        double, offset = Cat(Const(0, 1), count), max(sizes) - sizes[index]
        return double + offset if offset else double

    def _scores_and_set(self, m: Module, game: _Tournament, scores: Any, best: Any) -> None:
        """Let the scores wait, and compare them with the highest."""
        num_cycles = self.latency - self._gives_certain
        waiting = [scores]
        gives_scores = HeadOutput.SCORES in self.extra
        # One cycle is for what a score must reach.
        compared = self.champion_latency + 1
        for cycle in range(num_cycles if gives_scores else compared):
            waiting.append(game.register(f"scores_{cycle}", len(scores), waiting[-1]))
        if gives_scores:
            m.d.comb += self.o.scores.as_value().eq(waiting[-1])
        if HeadOutput.SET in self.extra:
            members = self._members(game, waiting[compared], best)
            for cycle in range(compared, num_cycles):
                members = game.register(f"members_{cycle}", len(self.head.classes), members)
            m.d.comb += self.o.set.eq(members)

    @property
    def champion_latency(self) -> int:
        """Cycles from the scores until it is known which is the highest."""
        return self._stages_per_round * self.num_rounds

    def _certain(self, game: _Tournament, best: _Leader) -> Any:
        """Return whether the least of the best is above the most of all others."""
        count, bits = len(self.head.classes), self.bound_bits
        possible = Cat(self._bound(index, count + index)[:bits] for index in range(count))
        for cycle in range(1 + self.champion_latency):
            possible = game.register(f"possible_{cycle}", count * bits, possible)
        sure = best.luggage["sure"]
        behind = [(possible.word_select(index, bits) - sure)[-1] for index in range(count)]
        behind_register = game.register("is_behind", count, Cat(behind))
        chosen = game.register("behind_index", self.head.class_bits, best.luggage["index"])
        # The best is never behind itself.
        others = [behind_register[index] | (chosen == index) for index in range(count)]
        certain = game.register("is_certain", 1, Cat(others).all())
        for cycle in range(3 + self.champion_latency, self.latency):
            certain = game.register(f"certain_{cycle}", 1, certain)
        return certain

    def _members(self, game: _Tournament, scores: Any, best: Any) -> Any:
        """Return for each class whether its score is no more than the set's margin below."""
        assert self.head.set_margin is not None
        # No score is further below than the largest margin.
        margin = min(self.head.set_margin, (1 << self.head.margin_bits) - 1)
        bits = self.head.score_bits
        enough = game.register("enough", signed(bits + 2), best - margin)
        return Cat(
            ~(scores.word_select(index, bits).as_signed() - enough)[-1]
            for index in range(len(self.head.classes))
        )

    def _decide(self, m: Module, game: _Tournament, champion: _Leader, second: Any) -> None:
        margin = game.register("margin", self.o.margin.shape(), champion.score - second)
        chosen = game.register("chosen", self.o.chosen.shape(), champion.luggage["index"])
        m.d.comb += [
            self.o.chosen.eq(game.register("decision_chosen", chosen.shape(), chosen)),
            self.o.margin.eq(game.register("decision_margin", margin.shape(), margin)),
            self.o.unknown.eq(_is_unknown(m, self, margin)),
        ]


class DifferenceArgmax(wiring.Component):
    """The decision between two classes from the difference of their scores.

    The sign is the class and the magnitude the margin. The latency is three clock cycles: one to
    invert a negative difference, one to add one to it, and one to compare. With bounds it is four.

    Parameters
    ----------
    head, extra, margin_port
        As of :class:`Argmax`; the scores cannot come out.

    Members
    -------
    i : :py:`In(ArrayLayout(signed(difference_width(head)), ...))`
        The first score minus the second, as :class:`ScoreDifference` gives it; if it is to say what
        is certain, its bounds, which are added in a first cycle. An answer is certain if more than
        half of all outputs vote for it.
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
        self._gives_certain = HeadOutput.CERTAIN in extra
        self.latency = 3 + self._gives_certain
        num_numbers = 2 if self._gives_certain else 1
        super().__init__(
            {
                "i": In(ArrayLayout(signed(difference_width(head)), num_numbers)),
                **_decision_members(head, extra, margin_port=margin_port),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        difference = self._difference(m)
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
        if HeadOutput.SET in self.extra:
            self._set(m, chosen, margin)
        return m

    def _difference(self, m: Module) -> Any:
        """Return the difference of the scores; with bounds, say what is certain."""
        if not self._gives_certain:
            return self.i[0]
        sure, possible = self.i[0], self.i[1]
        difference = Signal(signed(len(sure)), reset_less=True)
        is_first, is_second, is_either = (
            Signal(name=f"is_surely_{which}", reset_less=True)
            for which in ("first", "second", "either")
        )
        waiting = Signal(reset_less=True, name="is_certain_early")
        is_certain = Signal(reset_less=True)
        size = self.head.num_outputs
        with m.If(self.en):
            m.d.sync += [
                difference.eq(sure + possible),
                is_first.eq(sure > size // 2),
                is_second.eq(possible < -(size // 2)),
                is_either.eq(is_first | is_second),
                waiting.eq(is_either),
                is_certain.eq(waiting),
            ]
        m.d.comb += self.o.certain.eq(is_certain)
        return difference

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
