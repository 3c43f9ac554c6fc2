"""Measures of a circuit's decisions, and the best that its encoding allows."""

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.head import Decisions

__all__ = [
    "CoverageCurve",
    "MarginSeparation",
    "abstained_fraction",
    "accuracy",
    "accuracy_at_coverage",
    "cell_vote_accuracy",
    "class_accuracies",
    "confusion_matrix",
    "coverage_area",
    "coverage_curve",
    "encoding_ceiling",
    "hardening_error",
    "margin_separation",
    "unknown_fraction",
]

# What numpy calls int64; the alias keeps signatures on one line.
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class CoverageCurve:
    """What a circuit gains in accuracy by abstaining, one point for each margin that occurs.

    Parameters
    ----------
    margin : int64 array [point]
        Abstention margins, falling.
    coverage : float64 array [point]
        Fraction of the samples whose margin is at least that; rises to 1.
    accuracy : float64 array [point]
        Fraction of those samples that are right.
    """

    margin: Integers
    coverage: NDArray[np.float64]
    accuracy: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class MarginSeparation:
    """How well the margin tells right decisions from wrong ones.

    Parameters
    ----------
    right, wrong : float, optional
        Mean margin of the samples that are decided right, and of the others; None if there are
        none.
    ranking : float, optional
        Probability that the margin of a right decision is above that of a wrong one, an equal one
        counting half (the area under the ROC curve): 1 for a margin that tells all, 0.5 for one
        that tells nothing. None if one of the two kinds does not occur.
    """

    right: float | None
    wrong: float | None
    ranking: float | None


def accuracy(decisions: Decisions, labels: Integers) -> float:
    """Return the fraction of all samples whose chosen class is right, abstained ones included."""
    return float(_right(decisions, labels).mean())


def unknown_fraction(outputs: NDArray[np.int8]) -> float:
    """Return the fraction of output trits [sample, output] that are 0: the paper's UNK%.

    It says nothing of samples: see :func:`abstained_fraction`.
    """
    if outputs.size == 0:
        raise ValueError("There are no outputs to measure")
    return float(np.mean(outputs == 0))


def abstained_fraction(decisions: Decisions) -> float:
    """Return the fraction of the samples on which the circuit abstains."""
    if len(decisions) == 0:
        raise ValueError("There are no samples to measure")
    return float(decisions.unknown.mean())


def accuracy_at_coverage(decisions: Decisions, labels: Integers, coverage: float) -> float:
    """Return the accuracy on the given fraction of the samples: those with the largest margins.

    Margins are small integers, so the cut nearly always falls inside a group of equal ones. That
    group counts in proportion, which is the expectation over all ways to break the tie.

    Parameters
    ----------
    decisions : Decisions
    labels : int64 array [sample]
    coverage : float
        Fraction to retain, above 0 and at most 1: 0.9 for the paper's Acc@90.
    """
    if not 0 < coverage <= 1:
        raise ValueError(f"Coverage must be above 0 and at most 1, not {coverage}")
    curve = coverage_curve(decisions, labels)
    # Both are piecewise linear in the coverage between the ends of the groups of equal margin.
    right = np.interp(
        coverage, np.append(0, curve.coverage), np.append(0, curve.coverage * curve.accuracy)
    )
    return float(right / coverage)


def coverage_curve(decisions: Decisions, labels: Integers) -> CoverageCurve:
    """Return coverage and accuracy for every abstention margin that makes a difference."""
    right = _right(decisions, labels)
    margin, group = np.unique(-decisions.margin, return_inverse=True)
    retained = np.cumsum(np.bincount(group))
    correct = np.cumsum(np.bincount(group, weights=right))
    return CoverageCurve(-margin, retained / len(right), correct / retained)


def coverage_area(decisions: Decisions, labels: Integers) -> float:
    """Return the area under the accuracy over the coverage: the mean of Acc@k over all k.

    Groups of equal margins count as in :func:`accuracy_at_coverage`, and the integral is exact.
    """
    curve = coverage_curve(decisions, labels)
    ends = np.append(0, curve.coverage)
    right = np.append(0, curve.coverage * curve.accuracy)
    slope = np.diff(right) / np.diff(ends)
    # Inside a group the accuracy at coverage c is slope + rest / c; the first has no rest.
    rest = right[1:-1] - slope[1:] * ends[1:-1]
    return float(np.sum(slope * np.diff(ends)) + np.sum(rest * np.log(ends[2:] / ends[1:-1])))


def margin_separation(decisions: Decisions, labels: Integers) -> MarginSeparation:
    """Return how well the margin tells right decisions from wrong ones."""
    is_right = _right(decisions, labels)
    right, wrong = decisions.margin[is_right], decisions.margin[~is_right]
    if len(right) == 0 or len(wrong) == 0:
        return MarginSeparation(_mean(right), _mean(wrong), None)
    ordered = np.sort(wrong)
    below = np.searchsorted(ordered, right, side="left")
    not_above = np.searchsorted(ordered, right, side="right")
    return MarginSeparation(
        _mean(right), _mean(wrong), float((below + not_above).mean() / 2 / len(wrong))
    )


def confusion_matrix(decisions: Decisions, labels: Integers) -> Integers:
    """Count the samples [class, chosen class]; rows are the true classes."""
    _right(decisions, labels)
    num_classes = decisions.scores.shape[1]
    counts = np.zeros((num_classes, num_classes), dtype=np.int64)
    np.add.at(counts, (labels, decisions.chosen), 1)
    return counts


def class_accuracies(decisions: Decisions, labels: Integers) -> list[float | None]:
    """Return the fraction of each class's samples that are right; None if it has no samples."""
    counts = confusion_matrix(decisions, labels)
    return [
        float(right / total) if total else None
        for right, total in zip(counts.diagonal(), counts.sum(axis=1), strict=True)
    ]


def hardening_error(soft: NDArray[np.floating], hardened: NDArray[np.int8 | np.floating]) -> float:
    """Return the mean distance of the soft outputs [sample, output] from the circuit's.

    0 if the training forward is the circuit, 2 if every output is its opposite. This is of outputs,
    with all that the layers below have lost; the paper's error of a neuron is of its table, see
    :func:`trilut.paper.measure.table_errors`.
    """
    if soft.shape != hardened.shape:
        raise ValueError(f"Soft outputs have shape {soft.shape}, hardened ones {hardened.shape}")
    if hardened.size == 0:
        raise ValueError("There are no outputs to measure")
    return float(np.mean(np.abs(soft - hardened)))


def encoding_ceiling(trits: NDArray[np.int8], labels: Integers) -> float:
    """Return the best accuracy that any circuit could have on these samples.

    Samples with equal trits [sample, trit] share a cell and get the same class from every circuit;
    the best one answers the most frequent class of each cell. It knows the labels, so on few
    samples this bound is far above what can be learned: see :func:`cell_vote_accuracy`.
    """
    cell = _cells(_digests(trits, labels))
    return float(_votes(cell, labels, num_cells=cell.max() + 1).max(axis=1).sum() / len(labels))


def cell_vote_accuracy(
    train_trits: NDArray[np.int8],
    train_labels: Integers,
    test_trits: NDArray[np.int8],
    test_labels: Integers,
) -> float:
    """Return the accuracy of the most frequent training class of each cell on test samples.

    A cell without training samples gets the most frequent class of all. A tie goes to the lowest
    class. A circuit that generalises from cell to cell can be better than this.
    """
    cell = _cells(np.append(_digests(train_trits, train_labels), _digests(test_trits, test_labels)))
    train_cell, test_cell = cell[: len(train_labels)], cell[len(train_labels) :]
    votes = _votes(train_cell, train_labels, num_cells=cell.max() + 1)
    votes[votes.sum(axis=1) == 0] = votes.sum(axis=0)
    return float(np.mean(votes.argmax(axis=1)[test_cell] == test_labels))


def _right(decisions: Decisions, labels: Integers) -> NDArray[np.bool_]:
    if len(decisions) != len(labels):
        raise ValueError(f"There are {len(decisions)} decisions but {len(labels)} labels")
    if len(labels) == 0:
        raise ValueError("There are no samples to measure")
    return decisions.chosen == labels


def _digests(trits: NDArray[np.int8], labels: Integers) -> NDArray[np.void]:
    """Return sixteen bytes for each row of trits: equal ones for equal rows.

    A row may have ten thousand trits: to sort the rows themselves takes seconds and gigabytes on
    CIFAR-10. Different rows with equal digests do not occur.
    """
    if len(trits) != len(labels):
        raise ValueError(f"There are {len(trits)} encoded samples but {len(labels)} labels")
    if len(labels) == 0:
        raise ValueError("There are no samples to measure")
    rows = np.ascontiguousarray(trits, np.int8)
    digests = (hashlib.blake2b(row, digest_size=16).digest() for row in rows)
    return np.frombuffer(b"".join(digests), dtype=np.dtype((np.void, 16)))


def _cells(digests: NDArray[np.void]) -> Integers:
    """Return the number of each row's cell: equal rows of trits, equal numbers."""
    return np.unique(digests, return_inverse=True)[1].astype(np.int64)


def _mean(margins: Integers) -> float | None:
    return float(margins.mean()) if len(margins) else None


def _votes(cell: Integers, labels: Integers, *, num_cells: int) -> Integers:
    """Count the samples [cell, class] of each class in each cell."""
    votes = np.zeros((num_cells, labels.max() + 1), dtype=np.int64)
    np.add.at(votes, (cell, labels), 1)
    return votes
