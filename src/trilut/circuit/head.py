"""The head: from outputs to class scores, a decision and its margin."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.kinds import MAX_SCORE
from trilut.circuit.limits import MAX_INTEGER, check_name
from trilut.errors import NetlistError

__all__ = ["Decisions", "Head"]


@dataclass(frozen=True, slots=True, eq=False)
class Decisions:
    """What a circuit says about a batch of samples.

    Parameters
    ----------
    scores : int64 array [sample, class]
        Sum of each class's outputs.
    chosen : int64 array [sample]
        Class with the highest score, the lowest index on a tie.
    margin : int64 array [sample]
        Highest score minus the second highest.
    unknown : bool array [sample]
        Whether the circuit abstains: the margin is below the abstention margin.
    certain : bool array [sample], optional
        Whether the class has the highest score, and no other class the same, whatever each UNKNOWN
        output turned out to be; None if nobody has asked. In a circuit of information-monotone
        gates no value of a missing feature can then change the class.
    members : bool array [sample, class], optional
        The prediction set: the classes whose score is no more than the head's ``set_margin`` below
        the highest; None if the head has none.
    """

    scores: NDArray[np.int64]
    chosen: NDArray[np.int64]
    margin: NDArray[np.int64]
    unknown: NDArray[np.bool_]
    certain: NDArray[np.bool_] | None = None
    members: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.chosen)

    def __getitem__(self, samples: slice | NDArray[np.int64]) -> "Decisions":
        return self._of_each(lambda array: array[samples])

    def _of_each(self, function: Callable[[NDArray[Any]], NDArray[Any]]) -> "Decisions":
        return Decisions(**{name: function(array) for name, array in self.arrays().items()})

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what is there, by its name."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: array for name, array in named.items() if array is not None}


@dataclass(frozen=True, slots=True)
class Head:
    """GroupSum, argmax and abstention.

    Parameters
    ----------
    classes : tuple of str
        Class names, at least two and all different.
    group_sizes : tuple of int
        Number of outputs of each class; the outputs stand in the order of the classes.
    tau : float
        Divisor that turns scores into the logits of training; no part of the circuit.
    abstain_margin : int
        The circuit abstains when the margin is below it. At least 1, so that a tie always abstains;
        one that no margin reaches lets the circuit always abstain.
    limit : int
        Largest magnitude of an output: 1 for bits and trits, up to 8 for scores.
    set_margin : int, optional
        A class is in the prediction set if its score is no more than this below the highest, so the
        chosen class always is. Without it there are no prediction sets.

    Raises
    ------
    NetlistError
        If the numbers of classes and groups differ, two classes have one name, or a number or a
        name is out of its bounds.
    """

    classes: tuple[str, ...]
    group_sizes: tuple[int, ...]
    tau: float = 1.0
    abstain_margin: int = 1
    set_margin: int | None = None
    limit: int = 1

    def __post_init__(self) -> None:
        if len(self.classes) < 2:
            raise NetlistError(f"Head has {len(self.classes)} classes, expected at least 2")
        if len(self.classes) != len(self.group_sizes):
            raise NetlistError(
                f"Head has {len(self.classes)} classes but {len(self.group_sizes)} group sizes"
            )
        seen = set()
        for name in self.classes:
            check_name(name, "a class")
            if name in seen:
                raise NetlistError(f"Head has two classes {name!r}, expected different names")
            seen.add(name)
        for name, size in zip(self.classes, self.group_sizes, strict=True):
            if not 1 <= size <= MAX_INTEGER:
                raise NetlistError(f"Class {name!r} has {size} outputs, expected 1…{MAX_INTEGER}")
        if not (np.isfinite(self.tau) and self.tau > 0):
            raise NetlistError(f"Head has tau {self.tau}, expected a positive number")
        if not 1 <= self.abstain_margin <= MAX_INTEGER:
            raise NetlistError(
                f"Head has abstention margin {self.abstain_margin}, expected 1…{MAX_INTEGER}"
            )
        if not 1 <= self.limit <= MAX_SCORE:
            raise NetlistError(f"Head has limit {self.limit}, expected 1…{MAX_SCORE}")
        if self.set_margin is not None and not 0 <= self.set_margin <= MAX_INTEGER:
            raise NetlistError(
                f"Head has set margin {self.set_margin}, expected none or 0…{MAX_INTEGER}"
            )

    @property
    def num_outputs(self) -> int:
        """Number of outputs that the head reads."""
        return sum(self.group_sizes)

    @property
    def class_bits(self) -> int:
        """Bits of a number that holds every class."""
        return (len(self.classes) - 1).bit_length()

    @property
    def score_bits(self) -> int:
        """Bits of a signed number that holds every score of every class."""
        return self._highest_score.bit_length() + 1

    @property
    def margin_bits(self) -> int:
        """Bits of a number that holds every margin."""
        return (2 * self._highest_score).bit_length()

    @property
    def _highest_score(self) -> int:
        return self.limit * max(self.group_sizes)

    def scores(self, outputs: NDArray[np.int8]) -> NDArray[np.int64]:
        """Sum the outputs [sample, output] of each class."""
        return self._sums(outputs)

    def unknowns(self, outputs: NDArray[np.int8]) -> NDArray[np.int64]:
        """Count the UNKNOWN ones among the trits [sample, output] of each class."""
        return self._sums(outputs == 0)

    def _sums(self, outputs: NDArray[np.int8] | NDArray[np.bool_]) -> NDArray[np.int64]:
        ends = np.cumsum(self.group_sizes)
        totals = np.zeros((len(outputs), self.num_outputs + 1), dtype=np.int64)
        np.cumsum(outputs, axis=1, dtype=np.int64, out=totals[:, 1:])
        return totals[:, ends] - totals[:, ends - np.array(self.group_sizes)]

    def decide(
        self, scores: NDArray[np.int64], unknowns: NDArray[np.int64] | None = None
    ) -> Decisions:
        """Choose a class for each row of scores [sample, class].

        With the numbers of UNKNOWN outputs [sample, class] it also says what is certain.
        """
        ordered = np.sort(scores, axis=1)
        margin = ordered[:, -1] - ordered[:, -2]
        chosen = np.argmax(scores, axis=1)
        certain = None if unknowns is None else _certain(scores, unknowns, chosen)
        unknown = margin < self.abstain_margin
        return Decisions(scores, chosen, margin, unknown, certain, self.members(scores))

    def members(self, scores: NDArray[np.int64]) -> NDArray[np.bool_] | None:
        """Return the prediction sets [sample, class]; None if the head has no margin for them."""
        if self.set_margin is None:
            return None
        # The difference of two scores fits; that of a score and the margin might not.
        behind: NDArray[np.int64] = scores.max(axis=1, keepdims=True) - scores
        return behind <= self.set_margin


def _certain(
    scores: NDArray[np.int64], unknowns: NDArray[np.int64], chosen: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Say whether the lowest that the chosen score can be is above the highest of all others."""
    own = chosen[:, None]
    lowest = np.take_along_axis(scores - unknowns, own, axis=1)
    highest = scores + unknowns
    np.put_along_axis(highest, own, np.iinfo(np.int64).min, axis=1)
    certain: NDArray[np.bool_] = np.all(lowest > highest, axis=1)
    return certain
