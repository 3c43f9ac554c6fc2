"""How good a circuit is on labelled samples."""

import dataclasses
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from trilut.circuit.head import Decisions
from trilut.circuit.kinds import Kind
from trilut.circuit.monotone import is_monotone
from trilut.circuit.netlist import Netlist
from trilut.data import Dataset, Split
from trilut.data.dataset import Samples
from trilut.errors import DataError, NetlistError
from trilut.measure.matching import cannot_classify, samples_for
from trilut.measure.metrics import (
    abstained_fraction,
    accuracy,
    accuracy_at_coverage,
    cell_vote_accuracy,
    class_accuracies,
    confusion_matrix,
    coverage_area,
    coverage_curve,
    encoding_ceiling,
    margin_separation,
    unknown_fraction,
)

__all__ = [
    "Accuracy",
    "Evaluation",
    "MissingPoint",
    "dataset_accuracy",
    "evaluate_split",
    "margin_for_coverage",
    "missing_curve",
    "missing_curves",
    "untrained",
    "with_abstain_margin",
]

# Samples that lose features at a time: as floating-point numbers, images are large.
_BLOCK = 2048


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Measures of the hardened circuit on one split, all fractions of one.

    Parameters
    ----------
    samples : int
        Number of samples.
    accuracy : float
        Right classes among all samples, abstained ones included.
    accuracy_at_90, accuracy_at_50 : float
        Accuracy on the 90 % and 50 % of the samples with the largest margins.
    unknown : float
        Share of output trits that are UNKNOWN.
    abstained : float
        Share of samples on which the circuit abstains.
    ceiling : float
        The best accuracy that any circuit behind this encoder could have on these samples.
    coverage_area : float
        Area under the accuracy over the coverage.
    margin : mapping
        Mean margin of the ``right`` and ``wrong`` decisions, and ``ranking``, the probability that
        a right one has the larger: see :class:`trilut.measure.metrics.MarginSeparation`.
    class_accuracy : mapping
        Accuracy on the samples of each class, None for a class without samples.
    confusion : list of list of int
        Number of samples [class, chosen class].
    coverage_curve : mapping
        What abstaining below each margin gives: lists of ``margin``, ``coverage``, ``accuracy``.
    accuracy_answered : float, optional
        Right classes among the samples on which the circuit does not abstain; None if there are
        none.
    certain : float, optional
        Share of answers that are certain; None if the circuit is not information-monotone.
    """

    samples: int
    accuracy: float
    accuracy_at_90: float
    accuracy_at_50: float
    unknown: float
    abstained: float
    ceiling: float
    coverage_area: float
    margin: Mapping[str, float | None]
    class_accuracy: Mapping[str, float | None]
    confusion: list[list[int]]
    coverage_curve: Mapping[str, list[float]]
    accuracy_answered: float | None = None
    certain: float | None = None


@dataclass(frozen=True, slots=True)
class MissingPoint:
    """What a circuit does when some features are missing.

    Parameters
    ----------
    dropped : float
        Probability that a feature is missing.
    accuracy : float
        Right classes among all samples, abstained ones included.
    abstained : float
        Share of samples on which the circuit abstains.
    accuracy_answered : float, optional
        Right classes among the others; None if there are no others.
    certain : float, optional
        Share of answers that no value of the missing features could change; None if the circuit is
        not information-monotone.
    """

    dropped: float
    accuracy: float
    abstained: float
    accuracy_answered: float | None
    certain: float | None = None


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How good a circuit is on a data set, beside the network that it was hardened from.

    Parameters
    ----------
    validation : float
        Its accuracy on the validation set.
    evaluation : Evaluation
        Everything on the test set.
    soft : float, optional
        Accuracy of the training forward on the test set; None unless the netlist has it for this
        data set.
    hardening_error : float, optional
        See :func:`trilut.measure.metrics.hardening_error`; only a netlist that was trained with a
        soft forward has it.
    cell_vote : float
        See :func:`trilut.measure.metrics.cell_vote_accuracy`.
    validation_missing : float, optional
        Accuracy on the validation set with features missing as in training; only a netlist that was
        trained so has it.
    layers : tuple of float, optional
        Accuracy on the test set with the first 0, 1, … layers hardened, if hardening lost something
        and this was measured.
    """

    validation: float
    evaluation: Evaluation
    soft: float | None
    hardening_error: float | None
    cell_vote: float
    validation_missing: float | None = None
    layers: tuple[float, ...] | None = None

    @property
    def hardened(self) -> float:
        """Accuracy of the circuit on the test set."""
        return self.evaluation.accuracy


def evaluate_split(netlist: Netlist, split: Split, *, engine: str = "fast") -> Evaluation:
    """Run a circuit on a split and measure it.

    Raises
    ------
    NetlistError
        If the netlist has no encoder or no head.
    DataError
        If the split has other features than the netlist, or no samples.
    """
    from trilut.sim import evaluate

    if len(split) == 0:
        raise DataError("There are no samples to measure the circuit on")

    if netlist.encoder is None or netlist.head is None:
        raise cannot_classify(netlist)
    trits = netlist.encoder.encode(split.x)
    outputs = evaluate(netlist, trits, engine=engine)
    unknowns = netlist.head.unknowns(outputs) if is_monotone(netlist) else None
    decisions = netlist.head.decide(netlist.head.scores(outputs), unknowns)
    curve = coverage_curve(decisions, split.y)
    return Evaluation(
        samples=len(split),
        accuracy=accuracy(decisions, split.y),
        accuracy_at_90=accuracy_at_coverage(decisions, split.y, 0.9),
        accuracy_at_50=accuracy_at_coverage(decisions, split.y, 0.5),
        # A score of 0 is a number like others.
        unknown=unknown_fraction(
            np.where(netlist.kinds[netlist.outputs] == Kind.SCORE, np.int8(1), outputs)
        ),
        abstained=abstained_fraction(decisions),
        ceiling=encoding_ceiling(trits, split.y),
        coverage_area=coverage_area(decisions, split.y),
        margin=dataclasses.asdict(margin_separation(decisions, split.y)),
        class_accuracy=dict(
            zip(netlist.head.classes, class_accuracies(decisions, split.y), strict=True)
        ),
        confusion=confusion_matrix(decisions, split.y).tolist(),
        coverage_curve={
            "margin": curve.margin.tolist(),
            "coverage": curve.coverage.tolist(),
            "accuracy": curve.accuracy.tolist(),
        },
        accuracy_answered=_accuracy_answered(decisions, split),
        certain=None if decisions.certain is None else float(decisions.certain.mean()),
    )


def with_abstain_margin(netlist: Netlist, margin: int) -> Netlist:
    """Return the circuit that abstains below another margin.

    Raises
    ------
    NetlistError
        If the netlist has no head, or the margin is below 1.
    """
    if netlist.head is None:
        raise cannot_classify(netlist)
    head = dataclasses.replace(netlist.head, abstain_margin=margin)
    return dataclasses.replace(netlist, head=head)


def margin_for_coverage(netlist: Netlist, split: Split, coverage: float) -> int:
    """Return the largest abstention margin with which a circuit still answers so many samples.

    It is 1 if even that, which abstains on ties, leaves fewer.

    Parameters
    ----------
    coverage : float
        Share of the samples, 0…1.

    Raises
    ------
    NetlistError
        If the netlist has no encoder or no head.
    """
    if not 0 <= coverage <= 1:
        raise ValueError(f"Coverage must be 0…1, not {coverage}")
    curve = evaluate_split(netlist, split).coverage_curve
    points = zip(curve["margin"], curve["coverage"], strict=True)
    enough = [int(margin) for margin, answered in points if answered >= coverage]
    return max([1, *enough])


def dataset_accuracy(netlist: Netlist, dataset: Dataset) -> Accuracy:
    """Measure a circuit on a data set.

    Raises
    ------
    NetlistError
        If the netlist has no encoder or no head.
    DataError
        If the data set lacks a feature of the netlist, or has a class that the netlist has not.
    """
    train, validation, test = (
        samples_for(netlist, dataset, part=part) for part in ("train", "validation", "test")
    )
    assert netlist.encoder is not None
    return Accuracy(
        validation=evaluate_split(netlist, validation).accuracy,
        evaluation=evaluate_split(netlist, test),
        soft=_trained_figure(netlist, dataset, "soft", "test"),
        hardening_error=_trained_figure(netlist, dataset, "hardening_error"),
        cell_vote=cell_vote_accuracy(
            netlist.encoder.encode(train.x), train.y, netlist.encoder.encode(test.x), test.y
        ),
        validation_missing=_validation_missing(netlist, dataset),
    )


def _validation_missing(netlist: Netlist, dataset: Dataset) -> float | None:
    settings = netlist.provenance.get("training")
    missing = settings.get("missing") if isinstance(settings, dict) else None
    if not isinstance(missing, list | tuple) or not any(missing):
        return None
    return _trained_figure(netlist, dataset, "hardened", "validation")


def _trained_figure(netlist: Netlist, dataset: Dataset, *keys: str) -> float | None:
    """Return what a netlist says of its training, if that was on this data set."""
    known: Any = netlist.provenance
    try:
        if known["data"]["name"] != dataset.name:
            return None
        for key in ("accuracy", *keys):
            known = known[key]
        return float(known)
    except (KeyError, TypeError, ValueError):
        return None


def missing_curve(
    netlist: Netlist,
    split: Split,
    *,
    dropped: tuple[float, ...] = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5),
    seed: int = 0,
    fill: Samples | None = None,
    engine: str = "fast",
) -> list[MissingPoint]:
    """Measure a circuit on samples that have lost some of their features.

    Every value is lost on its own, with the same probability. What is lost at one probability is
    lost at all larger ones too, and the same values are lost for every circuit: two curves with one
    seed can be compared point by point.

    Parameters
    ----------
    dropped : tuple of float
        Probabilities, 0…1.
    seed : int
        Seed of the choice.
    fill : array [feature], optional
        What somebody in front of the circuit puts in the place of a lost value; by default nobody
        does, and the value is missing.

    Raises
    ------
    NetlistError
        If the netlist has no encoder or no head.
    DataError
        If the split has other features than the netlist.
    """
    for probability in dropped:
        if not 0 <= probability <= 1:
            raise ValueError(f"Share of dropped features must be 0…1, not {probability}")
    instead = np.asarray(np.nan) if fill is None else fill
    return [_missing_point(netlist, split, share, seed, instead, engine) for share in dropped]


def missing_curves(
    netlist: Netlist, other: Netlist, split: Split, **options: Any
) -> tuple[list[MissingPoint], list[MissingPoint]]:
    """Measure two circuits on the same samples, which have lost the same features.

    Parameters
    ----------
    **options
        Those of :func:`missing_curve`.

    Raises
    ------
    NetlistError
        If a netlist has no encoder or no head, or they have not the same features and classes.
    DataError
        If the split has other features than the netlists.
    """
    names = zip(*(_names(each) for each in (netlist, other)), strict=True)
    for what, (mine, theirs) in zip(("Feature", "Class"), names, strict=True):
        for number, (one, another) in enumerate(itertools.zip_longest(mine, theirs)):
            if one != another:
                raise NetlistError(
                    f"{what} {number} of netlist {netlist.name!r} is {one!r} and of netlist "
                    f"{other.name!r} {another!r}, expected the same in both"
                )
    return missing_curve(netlist, split, **options), missing_curve(other, split, **options)


def _names(netlist: Netlist) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of features and classes."""
    if netlist.encoder is None or netlist.head is None:
        raise cannot_classify(netlist)
    return tuple(feature.name for feature in netlist.encoder.features), netlist.head.classes


def _missing_point(
    netlist: Netlist, split: Split, share: float, seed: int, fill: Samples, engine: str
) -> MissingPoint:
    from trilut.sim import evaluate

    if netlist.encoder is None or netlist.head is None:
        raise cannot_classify(netlist)
    generator = np.random.default_rng(seed)
    scores, unknowns = [], []
    for start in range(0, len(split), _BLOCK):
        block = split.x[start : start + _BLOCK]
        lost = generator.random(block.shape) < share
        trits = netlist.encoder.encode(np.where(lost, fill, block))
        outputs = evaluate(netlist, trits, engine=engine)
        scores.append(netlist.head.scores(outputs))
        unknowns.append(netlist.head.unknowns(outputs))
    # With something else in its place, a feature is not missing.
    tells = np.isnan(fill).all() and is_monotone(netlist)
    counts = np.concatenate(unknowns) if tells else None
    decisions = netlist.head.decide(np.concatenate(scores), counts)
    return MissingPoint(
        dropped=share,
        accuracy=accuracy(decisions, split.y),
        abstained=abstained_fraction(decisions),
        accuracy_answered=_accuracy_answered(decisions, split),
        certain=None if decisions.certain is None else float(decisions.certain.mean()),
    )


def _accuracy_answered(decisions: Decisions, split: Split) -> float | None:
    answered = ~decisions.unknown
    if not answered.any():
        return None
    return float(np.mean(decisions.chosen[answered] == split.y[answered]))


def untrained(netlist: Netlist, *, seed: int = 0) -> Netlist:
    """Return the circuit with the same wiring, encoder and head, but with random gates.

    What it shows too, training has not done: about a third of its outputs are UNKNOWN and its gates
    are as diverse as can be, though it knows nothing.
    """
    rng = np.random.default_rng(seed)
    table = np.zeros_like(netlist.table)
    kinds = netlist.kinds[netlist.num_inputs :]
    limit = 1 if netlist.head is None else netlist.head.limit
    for kind in Kind:
        own = kinds == kind
        values = [value for value in kind.values if abs(value) <= limit]
        table[own] = rng.choice(values, (int(own.sum()), table.shape[1]))
    table[np.arange(table.shape[1]) >= netlist.num_rows[:, None]] = 0
    return dataclasses.replace(
        netlist,
        table=table,
        name=f"{netlist.name} (untrained)",
        provenance={**netlist.provenance, "untrained": {"seed": seed}},
    )
