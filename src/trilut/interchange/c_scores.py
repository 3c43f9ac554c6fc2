"""Outputs that are scores, as C adds them up: planes of one weight are counted together."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np

from trilut.circuit.head import Head
from trilut.interchange.c_text import Integers, array
from trilut.sim.engines.program import Program

__all__ = ["Terms"]


@dataclass(frozen=True, slots=True)
class Terms:
    """The score of a class is its base and, for each of its terms, weight × planes that are set.

    Parameters
    ----------
    base : tuple of int
        Of each class.
    planes : dict
        The planes of each term, by its class and its weight.
    """

    base: tuple[int, ...]
    planes: dict[tuple[int, int], list[int]]

    @classmethod
    def of(cls, head: Head, program: Program) -> Self | None:
        """Return the terms of a program; None if none of its outputs is a score."""
        scores = program.scores
        if scores is None:
            return None
        is_pair = program.planes_per_net == 2
        base = scores.lowest - (0 if is_pair else 1) * ~scores.is_score
        planes: dict[tuple[int, int], list[int]] = {}
        of_class = np.repeat(np.arange(len(head.classes)), head.group_sizes)
        weights = (1, -1) if is_pair else (2,)
        for output, (number, first) in enumerate(
            zip(of_class.tolist(), program.outputs.tolist(), strict=True)
        ):
            own = [1 << place for place in range(int(scores.widths[output]))]
            for place, weight in enumerate(own if scores.is_score[output] else weights):
                planes.setdefault((number, weight), []).append(first + place)
        ends = np.cumsum([0, *head.group_sizes]).tolist()
        # C has no arrays of nothing: if all scores are constants, some plane counts as 0.
        return cls(
            tuple(int(base[start:end].sum()) for start, end in pairwise(ends)),
            dict(sorted(planes.items())) or {(0, 0): [0]},
        )

    def arrays(self, index: str) -> str:
        """Return the terms as C; ``index`` is the type of the number of a plane."""
        classes, weights = zip(*self.planes, strict=True)
        sizes = [len(planes) for planes in self.planes.values()]
        return "\n".join(
            [
                array("int32_t", "class_base", self.base),
                array(Integers(0, len(self.base)).index, "term_class", classes),
                array("int8_t", "term_weight", weights),
                array(index, "term_first", np.cumsum([0, *sizes])),
                array(index, "term_plane", [each for own in self.planes.values() for each in own]),
            ]
        )
