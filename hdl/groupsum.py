"""GroupSum: the score of each class is the sum of its trits."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.data import ArrayLayout
from amaranth.lib.wiring import In, Out

from trilut.head import Head

__all__ = ["GroupSum", "score_width"]


def score_width(head: Head) -> int:
    """Return the bits of a signed number that holds every score of every class."""
    return max(head.group_sizes).bit_length() + 1


class GroupSum(wiring.Component):
    """A tree of adders for each class, each node exactly as wide as its range.

    There is a register after every ``pipeline`` levels of the tree and after the last one, so the
    latency is :py:`⌈levels / pipeline⌉` clock cycles and at least one.

    Members
    -------
    i : :py:`In(ArrayLayout(2, head.num_outputs))`
        Output trits, in the order of the classes.
    o : :py:`Out(ArrayLayout(signed(score_width(head)), len(head.classes)))`
        Scores.
    en : :py:`In(1)`
        Enables the registers.
    """

    def __init__(self, head: Head, pipeline: int):
        self.head = head
        self.pipeline = pipeline
        self.num_levels = (max(head.group_sizes) - 1).bit_length()
        self.latency = max(1, -(-self.num_levels // pipeline))
        super().__init__(
            {
                "i": In(ArrayLayout(2, head.num_outputs)),
                "o": Out(ArrayLayout(signed(score_width(head)), len(head.classes))),
                "en": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        first = 0
        for index, size in enumerate(self.head.group_sizes):
            trits = [self.i[output] for output in range(first, first + size)]
            # In two's complement −1 is 11, 0 is 00 and +1 is 01.
            terms = [(Cat(trit[0] | trit[1], trit[0]).as_signed(), 1) for trit in trits]
            m.d.comb += self.o[index].eq(self._sum(m, f"class_{index}", terms))
            first += size
        return m

    def _sum(self, m: Module, prefix: str, terms: Sequence[tuple[Any, int]]) -> Any:
        """Add (value, largest magnitude) terms; every class passes as many registers."""
        for level in range(1, max(self.num_levels, 1) + 1):
            registered = level % self.pipeline == 0 or level >= self.num_levels
            pairs = [terms[index : index + 2] for index in range(0, len(terms), 2)]
            terms = [
                self._node(m, f"{prefix}_level_{level}_{index}", pair, registered)
                for index, pair in enumerate(pairs)
            ]
        return terms[0][0]

    def _node(
        self, m: Module, name: str, pair: Sequence[tuple[Any, int]], registered: bool
    ) -> tuple[Any, int]:
        magnitude = sum(term[1] for term in pair)
        node = Signal(range(-magnitude, magnitude + 1), reset_less=True, name=name)
        total = sum((term[0] for term in pair[1:]), start=pair[0][0])
        if registered:
            with m.If(self.en):
                m.d.sync += node.eq(total)
        else:
            m.d.comb += node.eq(total)
        return node, magnitude
