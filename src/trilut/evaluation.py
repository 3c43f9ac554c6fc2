"""How good a circuit is on labelled samples."""

import dataclasses
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from trilut.data import Dataset, Split, load_dataset
from trilut.data.dataset import Integers, Samples
from trilut.data.files import split_label
from trilut.data.names import dataset_path
from trilut.data.tables import read_table
from trilut.errors import DataError, NetlistError
from trilut.gates import truth_values
from trilut.head import Decisions
from trilut.metrics import (
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
from trilut.netlist import Netlist

__all__ = [
    "Evaluation",
    "MissingPoint",
    "Part",
    "dataset_accuracy",
    "default_part",
    "evaluate_split",
    "features_for",
    "is_own_file",
    "margin_for_coverage",
    "missing_curve",
    "missing_curves",
    "netlist_dataset",
    "samples_for",
    "table_samples",
    "untrained",
    "with_abstain_margin",
]

Part = Literal["train", "validation", "test", "all"]
"""A split of a data set, or all of its samples."""

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
        a right one has the larger: see :class:`trilut.metrics.MarginSeparation`.
    class_accuracy : mapping
        Accuracy on the samples of each class, None for a class without samples.
    confusion : list of list of int
        Number of samples [class, chosen class].
    coverage_curve : mapping
        What abstaining below each margin gives: lists of ``margin``, ``coverage``, ``accuracy``.
    accuracy_answered : float, optional
        Right classes among the samples on which the circuit does not abstain; None if there are
        none.
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
    """

    dropped: float
    accuracy: float
    abstained: float
    accuracy_answered: float | None


def evaluate_split(netlist: Netlist, split: Split, *, engine: str = "fast") -> Evaluation:
    """Run a circuit on a split and measure it.

    Raises
    ------
    NetlistError
        If the netlist has no encoder or no head.
    DataError
        If the split has other features than the netlist.
    """
    from trilut.sim import evaluate

    if netlist.encoder is None or netlist.head is None:
        raise _cannot_classify(netlist)
    trits = netlist.encoder.encode(split.x)
    outputs = evaluate(netlist, trits, engine=engine)
    decisions = netlist.head.decide(netlist.head.scores(outputs))
    curve = coverage_curve(decisions, split.y)
    return Evaluation(
        samples=len(split),
        accuracy=accuracy(decisions, split.y),
        accuracy_at_90=accuracy_at_coverage(decisions, split.y, 0.9),
        accuracy_at_50=accuracy_at_coverage(decisions, split.y, 0.5),
        unknown=unknown_fraction(outputs),
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
    )


def with_abstain_margin(netlist: Netlist, margin: int) -> Netlist:
    """Return the circuit that abstains below another margin.

    Raises
    ------
    NetlistError
        If the netlist has no head, or the margin is below 1.
    """
    if netlist.head is None:
        raise _cannot_classify(netlist)
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


def dataset_accuracy(netlist: Netlist, dataset: Dataset) -> dict[str, Any]:
    """Measure a circuit on a data set, as a report has it.

    Returns
    -------
    dict
        ``validation``, the accuracy of the circuit on the validation set. On the test set:
        ``hardened``, its accuracy there; ``soft``, that of the training forward, None unless the
        netlist has it for this data set; likewise ``hardening_error``, see
        :func:`trilut.metrics.hardening_error`, which only a netlist with a soft forward of its own
        has; ``cell_vote``, see :func:`trilut.metrics.cell_vote_accuracy`; and the whole
        ``evaluation``.

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
    evaluation = evaluate_split(netlist, test)
    return {
        "validation": evaluate_split(netlist, validation).accuracy,
        "hardened": evaluation.accuracy,
        "soft": _trained_figure(netlist, dataset, "soft", "test"),
        "hardening_error": _trained_figure(netlist, dataset, "hardening_error"),
        "cell_vote": cell_vote_accuracy(
            netlist.encoder.encode(train.x), train.y, netlist.encoder.encode(test.x), test.y
        ),
        "evaluation": dataclasses.asdict(evaluation),
    }


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
        raise _cannot_classify(netlist)
    return tuple(feature.name for feature in netlist.encoder.features), netlist.head.classes


def _missing_point(
    netlist: Netlist, split: Split, share: float, seed: int, fill: Samples, engine: str
) -> MissingPoint:
    from trilut.sim import evaluate

    if netlist.encoder is None or netlist.head is None:
        raise _cannot_classify(netlist)
    generator = np.random.default_rng(seed)
    scores = []
    for start in range(0, len(split), _BLOCK):
        block = split.x[start : start + _BLOCK]
        lost = generator.random(block.shape) < share
        trits = netlist.encoder.encode(np.where(lost, fill, block))
        scores.append(netlist.head.scores(evaluate(netlist, trits, engine=engine)))
    decisions = netlist.head.decide(np.concatenate(scores))
    return MissingPoint(
        dropped=share,
        accuracy=accuracy(decisions, split.y),
        abstained=abstained_fraction(decisions),
        accuracy_answered=_accuracy_answered(decisions, split),
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
    values = truth_values(netlist.valence).astype(np.int8)
    table = np.random.default_rng(seed).choice(values, netlist.table.shape)
    return dataclasses.replace(
        netlist,
        table=table,
        name=f"{netlist.name} (untrained)",
        provenance={**netlist.provenance, "untrained": {"seed": seed}},
    )


def netlist_dataset(
    netlist: Netlist, *, name: str | None = None, seed: int | None = None
) -> Dataset:
    """Load a data set by name, or the one that a netlist was trained on.

    The latter has the name that it was trained by, wherever it has been found.

    Raises
    ------
    DataError
        If no name is given and the netlist does not say, or the data set cannot be used.
    FormatError
        If it is a file that cannot be read.
    """
    origin = _origin(netlist)
    chosen = name or _trained_on(netlist)
    if chosen is None:
        raise DataError(
            f"Netlist {netlist.name!r} does not say what it was trained on; name a data set"
        )
    is_own = name is None or name == origin.get("name")
    if seed is None:
        recorded = origin.get("seed")
        seed = recorded if is_own and isinstance(recorded, int) else 0
    dataset = load_dataset(chosen, seed=seed)
    return dataclasses.replace(dataset, name=origin["name"]) if is_own else dataset


def samples_for(netlist: Netlist, dataset: Dataset, *, part: Part = "test") -> Split:
    """Return samples of a data set with the features and classes of a netlist, matched by name.

    Raises
    ------
    NetlistError
        If the netlist has no encoder or no head.
    DataError
        If the data set lacks a feature of the netlist, or has a class that the netlist has not.
    """
    if netlist.encoder is None or netlist.head is None:
        raise _cannot_classify(netlist)
    x = features_for(netlist, dataset, part=part)
    _, y = _part(dataset, part)
    return Split(x, _class_numbers(netlist, dataset.name, dataset.class_names, y))


def features_for(netlist: Netlist, dataset: Dataset, *, part: Part = "test") -> Samples:
    """Return the values [sample, feature] that :func:`samples_for` does, which need no head.

    Raises
    ------
    NetlistError
        If the netlist has no encoder.
    DataError
        If the data set lacks a feature of the netlist.
    """
    if netlist.encoder is None:
        raise NetlistError(f"Netlist {netlist.name!r} has no encoder, so it takes no samples")
    columns = _columns([feature.name for feature in netlist.encoder.features], netlist, dataset)
    x, _ = _part(dataset, part)
    return x if columns is None else x[:, columns]


def table_samples(netlist: Netlist, name: str) -> Split:
    """Return all samples of a table with the features and classes of a netlist, matched by name.

    Other columns may hold anything. There may be few samples, or of one class only.

    Parameters
    ----------
    name : str
        Path of the table, with ``:label=COLUMN`` for the column of the classes; without, it is that
        of the table that the netlist was trained on, if there is such a column, or the last.

    Raises
    ------
    NetlistError
        If the netlist has no encoder or no head.
    FormatError, DataError
        If the table cannot be read, lacks a feature, or has a class that the netlist has not.
    """
    if netlist.encoder is None or netlist.head is None:
        raise _cannot_classify(netlist)
    path, label = split_label(name)
    table = read_table(path)
    if label is None:
        own = split_label(_trained_on(netlist) or "")[1]
        label = own if own in table.header else table.header[-1]
    x = table.numbers([table.column(feature.name) for feature in netlist.encoder.features])
    # Not as numbers: 1 and 1.0 may be two classes of the netlist.
    classes, y = np.unique(table.labels(table.column(label)), return_inverse=True)
    return Split(x, _class_numbers(netlist, name, tuple(classes.tolist()), y))


def default_part(netlist: Netlist, name: str | None) -> Part:
    """Return which samples of a data set to measure, if the user does not say.

    Those of the test set; but all of them, if the data set is a file that the netlist was not
    trained on. No name stands for what it was trained on.
    """
    is_file = name is not None and dataset_path(name) is not None
    return "all" if is_file and not is_own_file(netlist, name) else "test"


def is_own_file(netlist: Netlist, name: str | None) -> bool:
    """Return whether a name means the file that a netlist was trained on, however it is spelt."""
    path, own = (dataset_path(each) if each else None for each in (name, _trained_on(netlist)))
    return path is not None and own is not None and path.samefile(own)


def _origin(netlist: Netlist) -> Mapping[str, Any]:
    origin = netlist.provenance.get("data")
    return origin if isinstance(origin, dict) else {}


def _trained_on(netlist: Netlist) -> str | None:
    """Return what loads the data set that a netlist was trained on, if it says so.

    A file is looked for where it was then, and otherwise by the name that it was given.
    """
    name, absolute = (_origin(netlist).get(key) for key in ("name", "absolute_name"))
    if not (isinstance(name, str) and name):
        return None
    is_there = isinstance(absolute, str) and dataset_path(absolute) is not None
    return str(absolute) if is_there else name


def _class_numbers(
    netlist: Netlist, name: str, class_names: tuple[str, ...], y: Integers
) -> Integers:
    """Return labels as the netlist numbers its classes: by the same text, or the same number."""
    assert netlist.head is not None
    classes = netlist.head.classes
    numbers = np.array([_class_number(each, classes) for each in class_names])
    for label in np.unique(y[numbers[y] < 0]):
        raise DataError(
            f"Data set {name!r} has the class {class_names[label]!r}, "
            f"but netlist {netlist.name!r} knows only {', '.join(map(repr, classes))}"
        )
    return numbers[y]


def _class_number(name: str, classes: tuple[str, ...]) -> int:
    """Return which of the classes a name means, −1 for none.

    Whether a file spells a class 1 or 1.0 depends on what other classes it has.
    """
    if name in classes:
        return classes.index(name)
    value = _as_number(name)
    return next((number for number, each in enumerate(classes) if _as_number(each) == value), -1)


def _as_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _part(dataset: Dataset, part: Part) -> tuple[Samples, Integers]:
    if part != "all":
        split: Split = getattr(dataset, part)
        return split.x, split.y
    splits = (dataset.train, dataset.validation, dataset.test)
    return np.concatenate([each.x for each in splits]), np.concatenate([each.y for each in splits])


def _columns(wanted: list[str], netlist: Netlist, dataset: Dataset) -> list[int] | None:
    """Return the column of each feature; None if they are those of the data set as they stand."""
    if tuple(wanted) == dataset.feature_names:
        return None
    column = {name: number for number, name in enumerate(dataset.feature_names)}
    for name in wanted:
        if name not in column:
            found = ", ".join(map(repr, dataset.feature_names[:8]))
            more = ", …" if dataset.num_features > 8 else ""
            raise DataError(
                f"Data set {dataset.name!r} has no feature {name!r}, which netlist "
                f"{netlist.name!r} reads; it has {found}{more}"
            )
    return [column[name] for name in wanted]


def _cannot_classify(netlist: Netlist) -> NetlistError:
    return NetlistError(
        f"Netlist {netlist.name!r} has no encoder or no head, so it cannot classify samples"
    )
