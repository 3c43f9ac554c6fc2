"""The head: from output trits to class scores, a decision and its margin."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.limits import MAX_INTEGER, check_name
from trilut.errors import NetlistError

__all__ = ["Decisions", "Head"]


@dataclass(frozen=True, slots=True, eq=False)
class Decisions:
    """What a circuit says about a batch of samples.

    Parameters
    ----------
    scores : int64 array [sample, class]
        Sum of each class's trits.
    chosen : int64 array [sample]
        Class with the highest score, the lowest index on a tie.
    margin : int64 array [sample]
        Highest score minus the second highest.
    unknown : bool array [sample]
        Whether the circuit abstains: the margin is below the abstention margin.
    """

    scores: NDArray[np.int64]
    chosen: NDArray[np.int64]
    margin: NDArray[np.int64]
    unknown: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.chosen)

    def __getitem__(self, samples: slice | NDArray[np.int64]) -> "Decisions":
        return Decisions(
            self.scores[samples], self.chosen[samples], self.margin[samples], self.unknown[samples]
        )


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

    @property
    def num_outputs(self) -> int:
        """Number of output trits that the head reads."""
        return sum(self.group_sizes)

    @property
    def class_bits(self) -> int:
        """Bits of a number that holds every class."""
        return (len(self.classes) - 1).bit_length()

    @property
    def score_bits(self) -> int:
        """Bits of a signed number that holds every score of every class."""
        return max(self.group_sizes).bit_length() + 1

    @property
    def margin_bits(self) -> int:
        """Bits of a number that holds every margin."""
        return (2 * max(self.group_sizes)).bit_length()

    def scores(self, outputs: NDArray[np.int8]) -> NDArray[np.int64]:
        """Sum the trits [sample, output] of each class."""
        ends = np.cumsum(self.group_sizes)
        totals = np.zeros((len(outputs), self.num_outputs + 1), dtype=np.int64)
        np.cumsum(outputs, axis=1, dtype=np.int64, out=totals[:, 1:])
        return totals[:, ends] - totals[:, ends - np.array(self.group_sizes)]

    def decide(self, scores: NDArray[np.int64]) -> Decisions:
        """Choose a class for each row of scores [sample, class]."""
        ordered = np.sort(scores, axis=1)
        margin = ordered[:, -1] - ordered[:, -2]
        return Decisions(scores, np.argmax(scores, axis=1), margin, margin < self.abstain_margin)
