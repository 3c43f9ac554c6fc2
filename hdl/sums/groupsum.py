"""GroupSum: the score of each class is the sum of its trits."""

from collections.abc import Container, Sequence
from itertools import accumulate, pairwise
from typing import Any

from amaranth.hdl import Cat, Module, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.data import ArrayLayout
from amaranth.lib.wiring import In, Out

from trilut.circuit.head import Head
from trilut.circuit.trit import TRIT_BITS
from trilut.circuit.vectors import Number
from trilut.hdl.sums.cells import CHAINS, build_cell, build_chain, read_bit
from trilut.hdl.sums.compressor import InputBit, NumberBit, Plane
from trilut.hdl.sums.plan import SUM_TARGETS, Term, base, highest, lowest, plan_sum

__all__ = [
    "GroupSum",
    "ScoreDifference",
    "TritSum",
    "difference_width",
]

_Values = Sequence[Term]

_OPPOSITE = {Plane.PLUS: Plane.MINUS, Plane.MINUS: Plane.PLUS}


def difference_width(head: Head) -> int:
    """Return the bits of a signed number that holds the difference of two scores."""
    return (head.limit * head.num_outputs).bit_length() + 1


class TritSum(wiring.Component):
    """Sums of trits, all with the same latency.

    Takes one vector of trits and gives one vector of sums per clock cycle, ``latency`` cycles
    later. Each level of adders is as wide as the range of the sum and no wider, a trit of two
    values is one bit, and a trit of one value is none.

    Parameters
    ----------
    groups : sequence of sequence of Term
        For each sum, the values that each of its trits can take; a value that they do not include
        must not come. The trits of the first sum come first. A number may stand in the place of a
        trit: a bit on one wire, or a score.
    width : int
        Bits of each sum.
    subtracted : container of int
        The trits, counted over all sums, that are subtracted and not added.
    offset : int
        A constant to add to each sum.
    levels : int
        Number of levels of adders between registers.
    target : str
        One of :data:`SUM_TARGETS`: what the adders are made of. ``generic``, full adders, suits
        every part. ``carry``, adders by ``+``, suits parts whose tools make carry chains of them,
        such as the iCE40. The others instantiate the part's own carry chains.
    max_chain : int
        Length of the carry chains; see :func:`plan_sum`.
    input_register : bool
        Whether to register the trits first, for logic before that has no register of its own. The
        register then holds of each trit what the adders want to know, which that logic can mostly
        make at no cost, and which else takes a LUT for most trits.
    behavioural : bool
        Whether to describe the part's cells by what they do, for simulation.
    bounds : bool
        Whether to give two counts in the place of each sum: of the trits that are +1, and of those
        that are not −1, with the offset. With the negative number of the trits as the offset, the
        two add up to the sum.

    Members
    -------
    i : :py:`In(ArrayLayout(2, ...))`
        Dual-rail trits. The code 11 must not come. With numbers among them, their wires one by one.
    o : :py:`Out(ArrayLayout(signed(width), ...))`
        Sums; or the counts of all groups that their trits are sure to reach, and behind them those
        that they can reach.
    en : :py:`In(1)`
        Enables the registers.
    """

    def __init__(
        self,
        groups: Sequence[_Values],
        width: int,
        *,
        subtracted: Container[int] = (),
        offset: int = 0,
        levels: int = 1,
        target: str = "generic",
        max_chain: int = 28,
        input_register: bool = False,
        behavioural: bool = False,
        bounds: bool = False,
    ):
        if target not in SUM_TARGETS:
            raise ValueError(
                f"Sums can be made for {', '.join(map(repr, SUM_TARGETS))}, not for {target!r}"
            )
        if levels < 1:
            raise ValueError(f"There is a register every 1 or more levels, not {levels}")
        self.target = target
        self.levels = levels
        self.offset = offset
        self.input_register = input_register
        self.num_sums = len(groups)
        starts = [sum(map(len, groups[:index])) for index in range(len(groups))]
        self._starts = starts * (1 + bounds)
        self._subtracted = subtracted
        self._counted = ("sure", "possible") if bounds else ("class",)
        choices = [choice for group in groups for choice in group]
        self._never_zero = {
            trit
            for trit, choice in enumerate(choices)
            if isinstance(choice, tuple) and 0 not in choice
        }
        signed_groups = [self._terms(*group) for group in zip(starts, groups, strict=True)]
        terms: list[tuple[Sequence[Term], int]] = [(group, offset) for group in signed_groups]
        if bounds:
            terms = [
                *(([_counts(choice, 1) for choice in group], 0) for group in signed_groups),
                *(([_counts(choice, 0) for choice in group], offset) for group in signed_groups),
            ]
        self.plans = tuple(
            plan_sum(values, target, recoded=input_register, offset=more, max_chain=max_chain)
            for values, more in terms
        )
        terms_in = [term for group in groups for term in group]
        ends = list(accumulate(map(_num_wires, terms_in), initial=0))
        self._places = [range(*place) for place in pairwise(ends)]
        is_trits = not any(isinstance(term, Number) for term in terms_in)
        self._chain = build_chain if behavioural else CHAINS.get(target, build_chain)
        self._num_stages = max(1, *(-(-len(plan.levels) // levels) for plan in self.plans))
        self.latency = self._num_stages + input_register
        super().__init__(
            {
                "i": In(ArrayLayout(2, len(terms_in)) if is_trits else ArrayLayout(1, ends[-1])),
                "o": Out(ArrayLayout(signed(width), len(self.plans))),
                "en": In(1),
            }
        )

    def input_trit(self, name: str, bit: int) -> int:
        """Return the trit, counted over all sums, that a bit of a sum's input register is of.

        The name of a sum is what those of its wires begin with: ``class_0`` or ``sure_0``.
        """
        index = self._names.index(name)
        return self._starts[index] + list(self.plans[index].inputs.values())[bit].trit

    @property
    def _names(self) -> list[str]:
        return [f"{what}_{index}" for what in self._counted for index in range(self.num_sums)]

    def _terms(self, start: int, group: _Values) -> list[Term]:
        return [
            _negated(term) if trit in self._subtracted else term
            for trit, term in enumerate(group, start)
        ]

    def _wires(self, trit: int) -> Any:
        """Return the wires of a trit or a number, counted over all sums."""
        place = self._places[trit]
        return self.i.as_value()[place[0] : place[-1] + 1]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for index, name in enumerate(self._names):
            m.d.comb += self.o[index].eq(self._sum(m, name, index).as_signed())
        return m

    def term(self, index: int, read: InputBit | NumberBit) -> int:
        """Return the trit or number, counted over all, that a plan reads."""
        return self._starts[index] + read.trit

    def source(self, index: int, read: InputBit) -> tuple[int, Plane, bool]:
        """Return what a plan reads: a trit, counted over all, its plane, and whether inverted."""
        trit, plane = self.term(index, read), read.plane
        # Whether a trit is not −1 is asked of the plane that says that it is; one that is never 0
        # is asked as it is by the other count, so that both share a register.
        counts_possible = self._counted[index // self.num_sums] == "possible"
        is_inverted = counts_possible and trit not in self._never_zero
        if is_inverted:
            plane = Plane.MINUS
        if trit in self._subtracted:
            plane = _OPPOSITE.get(plane, plane)
        return trit, plane, is_inverted

    def _sum(self, m: Module, name: str, index: int) -> Any:
        plan = self.plans[index]
        bits = {bit: self._read(index, read) for bit, read in plan.inputs.items()}
        if self.input_register:
            bits = self._name(m, f"{name}_input", bits, registered=True)
        for number, level in enumerate(plan.levels, start=1):
            prefix = f"{name}_level_{number}"
            made: dict[int, Any] = {}
            for place, cell in enumerate(level.cells):
                made |= build_cell(m, f"{prefix}_{place}", cell, bits, self._chain)
            registered = number % self.levels == 0 or number == len(plan.levels)
            if not registered:
                made = self._name(m, prefix, made, registered=False)
            bits = {bit: made[bit] if bit in made else bits[bit] for bit in level.kept}
            if registered:
                bits = self._name(m, prefix, bits, registered=True)
        # Every sum passes as many registers as the longest.
        for stage in range(-(-len(plan.levels) // self.levels), self._num_stages):
            bits = self._name(m, f"{name}_delay_{stage}", bits, registered=True)
        return Cat(read_bit(bits, bit) for bit in plan.result)

    def _read(self, index: int, read: InputBit | NumberBit) -> Any:
        if isinstance(read, NumberBit):
            trit = self.term(index, read)
            wire = self._wires(trit)[read.wire]
            return ~wire if trit in self._subtracted else wire
        trit, plane, is_inverted = self.source(index, read)
        minus, plus = self._wires(trit)
        values = {Plane.PLUS: plus, Plane.MINUS: minus, Plane.ZERO: ~(plus | minus)}
        return ~values[plane] if is_inverted else values[plane]

    def _name(
        self, m: Module, name: str, bits: dict[int, Any], *, registered: bool
    ) -> dict[int, Any]:
        """Put bits into one signal, a register or not."""
        signal = Signal(len(bits), name=name, reset_less=registered)
        content = signal.eq(Cat(bits.values()))
        if registered:
            with m.If(self.en):
                m.d.sync += content
        else:
            m.d.comb += content
        return {bit: signal[index] for index, bit in enumerate(bits)}


class GroupSum(TritSum):
    """The scores of the classes.

    Other parameters, and the members, are those of :class:`TritSum`; the width of ``o`` is
    :attr:`Head.score_bits`. Bounds have no offset.

    Parameters
    ----------
    head : Head
        The classes and their outputs.
    pipeline : int
        Number of layers between registers; a level of adders is about as slow as two.
    values : sequence of Term, optional
        The values that each output can take, or the code of a number; by default all three.
    exact : bool
        Whether the scores are the scores. If not, ``offset`` is added to all of them, which makes
        them cheaper, the more so the smaller the classes are, and changes no difference.
    """

    def __init__(
        self,
        head: Head,
        pipeline: int,
        *,
        values: _Values | None = None,
        exact: bool = True,
        target: str = "generic",
        input_register: bool = False,
        behavioural: bool = False,
        bounds: bool = False,
    ):
        self.head = head
        self.pipeline = pipeline
        groups = _split(head, values)
        super().__init__(
            groups,
            head.score_bits,
            offset=0 if exact or bounds else _cheapest_offset(groups, head.score_bits),
            levels=_levels(pipeline, target),
            target=target,
            max_chain=_max_chain(pipeline),
            input_register=input_register,
            behavioural=behavioural,
            bounds=bounds,
        )


class ScoreDifference(TritSum):
    """The score of the first of two classes minus that of the second, as one sum.

    It takes little more than half of what two scores take and their difference. The parameters are
    those of :class:`GroupSum`; ``o`` has one element of :func:`difference_width` bits. Bounds are
    two, which add up to the difference.
    """

    def __init__(
        self,
        head: Head,
        pipeline: int,
        *,
        values: _Values | None = None,
        target: str = "generic",
        input_register: bool = False,
        behavioural: bool = False,
        bounds: bool = False,
    ):
        if len(head.classes) != 2:
            raise ValueError(f"A difference of scores needs 2 classes, not {len(head.classes)}")
        self.head = head
        self.pipeline = pipeline
        super().__init__(
            [[choice for group in _split(head, values) for choice in group]],
            difference_width(head),
            subtracted=range(head.group_sizes[0], head.num_outputs),
            offset=-head.num_outputs if bounds else 0,
            levels=_levels(pipeline, target),
            target=target,
            max_chain=_max_chain(pipeline),
            input_register=input_register,
            behavioural=behavioural,
            bounds=bounds,
        )


def _counts(values: Term, least: int) -> tuple[int, ...]:
    """Return the numbers, 1 for what is not below the least and 0 otherwise, of a trit's values."""
    assert not isinstance(values, Number), "Only trits have bounds"
    return tuple(sorted({int(value >= least) for value in values}))


def _num_wires(term: Term) -> int:
    return term.num_wires if isinstance(term, Number) else TRIT_BITS


def _negated(term: Term) -> Term:
    return term.negated() if isinstance(term, Number) else tuple(-value for value in term)


def _split(head: Head, values: _Values | None) -> list[_Values]:
    """Return the values of the outputs of each class."""
    if values is None:
        values = [(-1, 0, 1)] * head.num_outputs
    if len(values) != head.num_outputs:
        raise ValueError(
            f"Values are given for {len(values)} outputs, but the head has {head.num_outputs}"
        )
    for output, choice in enumerate(values):
        if isinstance(choice, Number):
            continue
        if not choice or not set(choice) <= {-1, 0, 1}:
            raise ValueError(
                f"Output {output} takes the values {tuple(choice)}, expected some of -1, 0 and 1"
            )
    ends = list(accumulate(head.group_sizes))
    return [values[end - size : end] for end, size in zip(ends, head.group_sizes, strict=True)]


def _cheapest_offset(groups: Sequence[_Values], width: int) -> int:
    """Return what to add to all sums so that their constants have the fewest ones.

    A trit is added as its value above the lowest, so each sum has a constant, of which the highest
    bit costs nothing.
    """
    half = 1 << width - 1
    constants = [sum(map(base, group)) for group in groups]
    low = min(sum(map(lowest, group)) for group in groups)
    high = max(sum(map(highest, group)) for group in groups)
    offsets = [top - constant for constant in constants for top in (0, -half)]
    fitting = [offset for offset in offsets if low + offset >= -half and high + offset < half]
    return min(
        [0, *fitting],
        key=lambda offset: sum(((constant + offset) % half).bit_count() for constant in constants),
    )


def _levels(pipeline: int, target: str) -> int:
    """Return how many levels of adders take about as long as some layers of gates."""
    return pipeline if target == "generic" else max(1, pipeline // 2)


def _max_chain(pipeline: int) -> int:
    """Return how long carry chains are: as short as can be with a register after every layer."""
    return 4 if pipeline == 1 else 28
