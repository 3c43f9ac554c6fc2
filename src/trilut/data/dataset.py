"""What a data set is: samples, labels and their split into training, validation and test."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trilut.arrays import (
    array_names,
    as_features,
    as_labels,
    as_weights,
    class_texts,
    is_frame,
)
from trilut.data.columns import Table, number_text
from trilut.data.frames import frame_table
from trilut.data.selection import MOST_TEXTS, TableOptions, feature_values, select_features
from trilut.errors import DataError

__all__ = [
    "MAX_BYTES",
    "Dataset",
    "Integers",
    "Samples",
    "Split",
    "are_too_many",
    "dataset_facts",
    "hold_back",
    "number_classes",
    "share_out",
    "table_dataset",
]

MAX_BYTES = 1 << 30
"""Most bytes of a file of samples, after it is decompressed."""

# What numpy calls these; the aliases keep signatures on one line.
Samples = NDArray[np.float64 | np.uint8]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Samples with their labels.

    Parameters
    ----------
    x : float64 or uint8 array [sample, feature]
        Feature values, NaN where missing. Bytes, as pixels are, stay bytes: a large set of images
        takes eight times the memory otherwise.
    y : int64 array [sample]
        Class of each sample.
    weights : float64 array [sample], optional
        How much each sample counts in training and when its result is chosen; without, all count
        the same.

    Raises
    ------
    DataError
        If the shapes do not fit, if a feature value is infinite, or if a weight is no positive
        number.
    """

    x: Samples
    y: Integers
    weights: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        is_bytes = getattr(self.x, "dtype", None) == np.uint8
        self._freeze("x", np.uint8 if is_bytes else np.float64)
        self._freeze("y", np.int64)
        if self.x.ndim != 2 or self.y.shape != self.x.shape[:1]:
            raise DataError(
                f"Samples have shape {self.x.shape} and labels {self.y.shape}, "
                "expected (samples, features) and (samples,)"
            )
        for sample, feature in [] if is_bytes else np.argwhere(np.isinf(self.x)):
            raise DataError(
                f"Sample {sample} feature {feature} is {self.x[sample, feature]}, "
                "expected a finite number, or NaN if it is missing"
            )
        if self.weights is not None:
            self._freeze("weights", np.float64)
            self._check_weights(self.weights)

    def _freeze(self, name: str, dtype: type[np.number]) -> None:
        array = np.asarray(getattr(self, name), dtype=dtype)
        # Nobody can write to a frozen array, so there is no need to copy it.
        array = array.copy() if array.flags.writeable else array
        array.flags.writeable = False
        object.__setattr__(self, name, array)

    def _check_weights(self, weights: NDArray[np.float64]) -> None:
        if weights.shape != self.y.shape:
            raise DataError(
                f"Weights have shape {weights.shape}, expected {self.y.shape} as the labels"
            )
        for sample in np.flatnonzero(~(np.isfinite(weights) & (weights > 0))):
            raise DataError(
                f"Sample {sample} has the weight {weights[sample]}, expected a positive number"
            )

    def __len__(self) -> int:
        return len(self.y)

    @property
    def missing_share(self) -> float:
        """Share of the values that are missing."""
        return 0.0 if self.x.dtype == np.uint8 else float(np.isnan(self.x).mean())


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """A classification task.

    Parameters
    ----------
    name : str
        What :func:`trilut.data.load_dataset` loads it by, or any title.
    feature_names, class_names : tuple of str
        What the columns of ``x`` and the numbers in ``y`` stand for.
    train, validation, test : Split
        Samples to learn from, to choose by, and to report. The last may be empty, where they are
        kept elsewhere.
    seed : int, optional
        The seed that made the samples or the split; None if the split is the data's own.
    bayes_rate : float, optional
        The best accuracy that any classifier can have, where the distribution is known.
    categories : mapping
        The categories of each column of texts. The feature ``COLUMN=CATEGORY`` is 1 for a category,
        0 for another one of its column, and missing for all else.
    notes : tuple of str
        What to tell the user of the data, such as columns that were left out.

    Raises
    ------
    DataError
        If there are fewer than two classes, if there is nothing to learn from or to choose by, or
        if a split has other features or other classes.
    """

    name: str
    feature_names: tuple[str, ...]
    class_names: tuple[str, ...]
    train: Split
    validation: Split
    test: Split
    seed: int | None = None
    bayes_rate: float | None = None
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.num_classes < 2:
            raise DataError(
                f"Data set {self.name!r} has {self.num_classes} classes, expected at least 2"
            )
        for name in ("train", "validation", "test"):
            split: Split = getattr(self, name)
            if len(split) == 0 and name != "test":
                raise DataError(f"Data set {self.name!r} has no samples in its split {name!r}")
            if split.x.shape[1] != self.num_features:
                raise DataError(
                    f"Data set {self.name!r} has {split.x.shape[1]} features in its split "
                    f"{name!r}, expected {self.num_features}"
                )
            for sample in np.flatnonzero((split.y < 0) | (split.y >= self.num_classes)):
                raise DataError(
                    f"Data set {self.name!r} has the label {split.y[sample]} in sample {sample} "
                    f"of its split {name!r}, expected 0…{self.num_classes - 1}"
                )

    @classmethod
    def from_arrays(
        cls,
        x: ArrayLike,
        y: ArrayLike,
        *,
        name: str | None = None,
        feature_names: Sequence[str] | None = None,
        weights: ArrayLike | None = None,
        validation: float = 0.2,
        test: float = 0.2,
        seed: int = 0,
    ) -> "Dataset":
        """Return a data set of samples [sample, feature] and their labels.

        Parameters
        ----------
        x : array or frame
            Numbers, NaN where one is missing; a frame is taken as by :meth:`from_frame`.
        y : array
            Labels of any type.
        feature_names : sequence of str, optional
            By default ``feature_0``, ``feature_1``, …; of a frame, the columns to use.
        weights : array, optional
            How much each sample counts. Those that count nothing are left out.
        validation, test : float
            Shares of the samples of each class to choose by and to report. Without any to choose
            by, that is done by those that are learned from.
        seed : int
            Seed of the split.

        Raises
        ------
        DataError
            If the samples, labels or weights cannot be used, or are too few to split.
        """
        if is_frame(x):
            return cls.from_frame(
                x,
                np.asarray(y),
                name=name or "frame",
                features=feature_names,
                weights=weights,
                validation=validation,
                test=test,
                seed=seed,
            )
        values = as_features(x)
        names = tuple(feature_names or array_names(values.shape[1]))
        if len(names) != values.shape[1]:
            raise DataError(f"X has {values.shape[1]} features but {len(names)} names")
        classes, labels = as_labels(y, len(values))
        counted = None if weights is None else as_weights(weights, len(values))
        name = name or "(arrays)"
        parts = _parts(name, labels, seed, validation, test, counted)
        train, held_back, tested = (
            Split(values[part], labels[part], None if counted is None else counted[part])
            for part in parts
        )
        return cls(name, names, class_texts(classes.tolist()), train, held_back, tested, seed)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        label: str | ArrayLike,
        *,
        name: str = "frame",
        seed: int = 0,
        drop: Sequence[str] = (),
        features: Sequence[str] | None = None,
        categories: Sequence[str] = (),
        weights: ArrayLike | None = None,
        validation: float = 0.2,
        test: float = 0.2,
    ) -> "Dataset":
        """Make a data set of a data frame, split by seed as that of a file is.

        Parameters
        ----------
        frame : data frame
            One of pandas, polars, or another library that narwhals knows. Texts, categories and
            logical values become one feature per category.
        label : str or array [row]
            The column of the classes, or the class of each row.
        drop, features, categories : sequence of str
            Columns to leave out, to use, and to take as categories though they are numbers; see
            :class:`trilut.data.selection.TableOptions`.
        weights, validation, test
            As of :meth:`from_arrays`.

        Raises
        ------
        DataError
            If the frame cannot be used.
        ToolError
            If narwhals is not installed.
        """
        table = frame_table(frame, name)
        options = TableOptions(
            label if isinstance(label, str) else None,
            tuple(drop),
            None if features is None else tuple(features),
            tuple(categories),
        )
        return table_dataset(
            name,
            table,
            options,
            seed,
            labels=None if isinstance(label, str) else np.asarray(label),
            weights=None if weights is None else as_weights(weights, len(table)),
            validation=validation,
            test=test,
        )

    @property
    def num_features(self) -> int:
        """Number of features."""
        return len(self.feature_names)

    @property
    def num_classes(self) -> int:
        """Number of classes."""
        return len(self.class_names)


def table_dataset(
    name: str,
    table: Table,
    options: TableOptions,
    seed: int,
    *,
    labels: NDArray[Any] | None = None,
    weights: NDArray[np.float64] | None = None,
    validation: float = 0.2,
    test: float = 0.2,
) -> Dataset:
    """Make a data set of a table, split by seed; categories are those of the training samples.

    Parameters
    ----------
    labels : array [row], optional
        The class of each row; by default a column is.
    weights, validation, test
        As of :meth:`Dataset.from_arrays`.

    Raises
    ------
    DataError
        If the table cannot be used.
    """
    label = None if labels is not None else options.label or tuple(table.columns)[-1]
    if label is None:
        values, y = as_labels(labels, len(table))
        classes = class_texts(values.tolist())
    else:
        classes, y = _class_column(table, label)
    if len(classes) < 2:
        raise DataError(f"Data set {name!r} has {len(classes)} classes, expected at least 2")
    parts = _parts(name, y, seed, validation, test, weights)
    chosen = select_features(table, options, label=label, rows=parts[0])
    train, held_back, tested = (
        Split(
            feature_values(table, chosen.names, chosen.categories, part),
            y[part],
            None if weights is None else weights[part],
        )
        for part in parts
    )
    return Dataset(
        name,
        chosen.names,
        classes,
        train,
        held_back,
        tested,
        seed,
        categories=chosen.categories,
        notes=(*chosen.notes, *_untested(classes, tested.y)),
    )


def _untested(classes: tuple[str, ...], y: Integers) -> list[str]:
    """Say in a line which classes have no sample in a test set, if there is one."""
    present = set(y.tolist())
    absent = [name for number, name in enumerate(classes) if number not in present]
    if not absent or not present:
        return []
    some = ", ".join(map(repr, absent[:5])) + ", …" * (len(absent) > 5)
    return [f"too few samples for one in the test set: {some}"]


def _class_column(table: Table, label: str) -> tuple[tuple[str, ...], Integers]:
    """Return the names of the classes, and the class of each row.

    Raises
    ------
    DataError
        If a row has no class, or there are so many that they can hardly be classes.
    """
    column = table.labels(label)
    if len(table) == 0:
        raise DataError(f"{table.title!r} has no samples")
    assert column.texts is not None
    classes, order = number_classes(column.texts)
    is_cut = len(column.texts) >= MOST_TEXTS
    if are_too_many(classes, len(table)) or is_cut:
        raise DataError(
            f"{table.title!r} has {len(classes)}{' or more' * is_cut} different values "
            f"in the column {label!r} of {len(table)} samples, expected classes; "
            "name another column with --label"
        )
    return classes, order[column.values.astype(np.intp)]


def are_too_many(classes: tuple[str, ...], num_samples: int) -> bool:
    """Return whether labels are so many that they can hardly be classes."""
    return len(classes) > max(2, num_samples // 2)


def number_classes(labels: Sequence[str]) -> tuple[tuple[str, ...], Integers]:
    """Return the names of the classes, sorted as numbers if they all are, and the labels."""
    found, y = np.unique(np.array(labels), return_inverse=True)
    names = [str(text) for text in found]
    try:
        values = [float(name) for name in names]
    except ValueError:
        values = [math.nan]
    if not np.isfinite(values).all():
        return tuple(names), y.astype(np.int64)
    # 1 and 1.0 are one class.
    numbers, order = np.unique(values, return_inverse=True)
    return tuple(map(number_text, numbers.tolist())), order[y].astype(np.int64)


def share_out(
    name: str,
    feature_names: tuple[str, ...],
    class_names: tuple[str, ...],
    x: Samples,
    y: Integers,
    seed: int,
) -> Dataset:
    """Split samples by seed, class by class: 60 % to learn from, 20 % for validation and test each.

    Raises
    ------
    DataError
        If there are too few samples.
    """
    parts = _shuffled_shares(name, y, seed, (0.6, 0.2, 0.2))
    train, validation, test = (Split(x[part], y[part]) for part in parts)
    return Dataset(name, feature_names, class_names, train, validation, test, seed)


def hold_back(
    name: str,
    feature_names: tuple[str, ...],
    class_names: tuple[str, ...],
    train: tuple[Samples, Integers],
    test: tuple[Samples, Integers],
    seed: int,
) -> Dataset:
    """Take a sixth of the training samples by seed, class by class, for validation.

    Raises
    ------
    DataError
        If there are too few samples.
    """
    x, y = train
    parts = _shuffled_shares(name, y, seed, (5 / 6, 1 / 6))
    learned, validation = (Split(x[part], y[part]) for part in parts)
    return Dataset(name, feature_names, class_names, learned, validation, Split(*test), seed)


def _parts(
    name: str,
    y: Integers,
    seed: int,
    validation: float,
    test: float,
    weights: NDArray[np.float64] | None,
) -> list[Integers]:
    """Return the samples to learn from, to choose by and to report, without those of no weight."""
    if min(validation, test) < 0 or validation + test >= 1:
        raise DataError(
            f"Shares for validation and test are {validation} and {test}, "
            "expected 0 or more, and less than 1 together"
        )
    kept = np.arange(len(y)) if weights is None else np.flatnonzero(weights)
    shares = [share for share in (1 - validation - test, validation, test) if share]
    found = [kept[part] for part in _shuffled_shares(name, y[kept], seed, tuple(shares))]
    if not validation:
        found.insert(1, found[0])
    return found if test else [*found, kept[:0]]


def _shuffled_shares(
    name: str, y: Integers, seed: int, shares: tuple[float, ...]
) -> list[Integers]:
    """Return the samples of each part, in random order, with each class cut in equal shares."""
    generator = np.random.default_rng(seed)
    parts: list[list[Integers]] = [[] for _ in shares]
    for label in np.unique(y):
        samples = generator.permutation(np.flatnonzero(y == label))
        cuts = np.rint(np.cumsum(shares[:-1]) * len(samples)).astype(np.int64)
        for part, piece in zip(parts, np.split(samples, cuts), strict=True):
            part.append(piece)
    shuffled = [generator.permutation(np.concatenate([*part, y[:0]])) for part in parts]
    if min(len(part) for part in shuffled) == 0:
        raise DataError(
            f"Data set {name!r} has {len(y)} samples in {len(np.unique(y))} classes, "
            f"which are too few to split into {len(shares)} parts"
        )
    return shuffled


def _largest_class(split: Split) -> float | None:
    return float(np.bincount(split.y).max() / len(split)) if len(split) else None


def dataset_facts(dataset: Dataset) -> dict[str, Any]:
    """Return what can be said of a data set, as JSON can hold it.

    ``largest_class`` is the share of the test samples that are of one class: the accuracy of who
    always answers that. ``range`` and ``missing`` are of the training samples.
    """
    x = dataset.train.x
    is_missing = np.isnan(x)
    present = x[~is_missing]
    return {
        "name": dataset.name,
        "seed": dataset.seed,
        "features": list(dataset.feature_names),
        "classes": list(dataset.class_names),
        "samples": {name: len(getattr(dataset, name)) for name in ("train", "validation", "test")},
        "largest_class": _largest_class(dataset.test),
        "type": str(x.dtype),
        "range": [float(present.min()), float(present.max())] if present.size else [0.0, 0.0],
        "missing": float(is_missing.mean()),
        "bayes_rate": dataset.bayes_rate,
        "notes": list(dataset.notes),
    }
