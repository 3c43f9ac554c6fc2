"""Data sets: samples, labels and their split into training, validation and test."""

import difflib
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trilut.errors import DataError, ToolError

__all__ = ["Dataset", "Split", "dataset_names", "load_dataset"]

# What numpy calls float64 and int64; the aliases keep signatures on one line.
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Number of training, validation and test samples of a data set that is made, not measured.
_SIZES = (2000, 500, 2000)

# Shares of training, validation and test samples of a measured data set without a split of its own.
_SHARES = (0.6, 0.2, 0.2)


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Samples with their labels.

    Parameters
    ----------
    x : float64 array [sample, feature]
        Feature values, NaN where missing.
    y : int64 array [sample]
        Class of each sample.

    Raises
    ------
    DataError
        If there is no sample, if the shapes do not fit, or if a feature value is infinite.
    """

    x: Floats
    y: Integers

    def __post_init__(self) -> None:
        for name, dtype in (("x", np.float64), ("y", np.int64)):
            array = np.array(getattr(self, name), dtype=dtype)
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        if self.x.ndim != 2 or self.y.shape != self.x.shape[:1] or len(self.y) == 0:
            raise DataError(
                f"Samples have shape {self.x.shape} and labels {self.y.shape}, "
                "expected (samples, features) and (samples,) with at least one sample"
            )
        for sample, feature in np.argwhere(np.isinf(self.x)):
            raise DataError(
                f"Sample {sample} feature {feature} is {self.x[sample, feature]}, "
                "expected a finite number, or NaN if it is missing"
            )

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """A classification task.

    Parameters
    ----------
    name : str
        A title; any text.
    feature_names, class_names : tuple of str
        What the columns of ``x`` and the numbers in ``y`` stand for.
    train, validation, test : Split
        Samples to learn from, to choose by, and to report.
    seed : int, optional
        The seed that made the samples or the split; None if the split is the data's own.

    Raises
    ------
    DataError
        If there are fewer than two classes, or a split has other features or other classes.
    """

    name: str
    feature_names: tuple[str, ...]
    class_names: tuple[str, ...]
    train: Split
    validation: Split
    test: Split
    seed: int | None = None

    def __post_init__(self) -> None:
        if self.num_classes < 2:
            raise DataError(
                f"Data set {self.name!r} has {self.num_classes} classes, expected at least 2"
            )
        for name in ("train", "validation", "test"):
            split: Split = getattr(self, name)
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

    @property
    def num_features(self) -> int:
        """Number of features."""
        return len(self.feature_names)

    @property
    def num_classes(self) -> int:
        """Number of classes."""
        return len(self.class_names)


def dataset_names() -> tuple[str, ...]:
    """Return the names that :func:`load_dataset` knows, in alphabetical order."""
    return tuple(sorted(_LOADERS))


def load_dataset(name: str, *, seed: int = 0) -> Dataset:
    """Make or read a data set; the same name and seed give the same samples and the same split.

    Raises
    ------
    DataError
        If there is no data set of this name.
    ToolError
        If it needs scikit-learn, which is not installed.
    """
    if name not in _LOADERS:
        close = difflib.get_close_matches(name.lower(), _LOADERS, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise DataError(
            f"Data set {name!r} does not exist, expected one of {', '.join(dataset_names())}{hint}"
        )
    return _LOADERS[name](name, seed)


def _sklearn_datasets(name: str) -> Any:
    # An Any on purpose: scikit-learn has no types.
    try:
        return importlib.import_module("sklearn.datasets")
    except ImportError as error:
        raise ToolError(
            f"Data set {name!r} needs scikit-learn; install it with pip install 'trilut[data]'"
        ) from error


def _made(name: str, seed: int, classes: tuple[str, ...], x: Floats, y: Integers) -> Dataset:
    """Cut samples in random order, as a generator gives them, into the splits."""
    ends = np.cumsum(_SIZES)
    train, validation, test = (
        Split(x[end - size : end], y[end - size : end])
        for end, size in zip(ends, _SIZES, strict=True)
    )
    return Dataset(name, ("x", "y"), classes, train, validation, test, seed)


def _moons(name: str, seed: int) -> Dataset:
    # The paper says noise 0.5, which cannot give its accuracies; 0.2 does.
    make = _sklearn_datasets(name).make_moons
    return _made(name, seed, ("upper", "lower"), *make(sum(_SIZES), noise=0.2, random_state=seed))


def _circles(name: str, seed: int) -> Dataset:
    make = _sklearn_datasets(name).make_circles
    x, y = make(sum(_SIZES), noise=0.1, factor=0.5, random_state=seed)
    return _made(name, seed, ("outer", "inner"), x, y)


def _spirals(name: str, seed: int) -> Dataset:
    # Two arms of two turns each.
    generator = np.random.default_rng(seed)
    y = generator.integers(0, 2, sum(_SIZES))
    radius = np.sqrt(generator.uniform(0.02, 1.0, len(y)))
    angle = 2 * np.pi * 2 * radius + np.pi * y
    x = radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return _made(name, seed, ("even", "odd"), x + generator.normal(0, 0.05, x.shape), y)


def _gaussians(name: str, seed: int) -> Dataset:
    # The centres lie 3 standard deviations apart, so the best accuracy possible is 93.3 %.
    generator = np.random.default_rng(seed)
    y = generator.integers(0, 2, sum(_SIZES))
    x = generator.normal(size=(len(y), 2)) + 1.5 / np.sqrt(2) * (2 * y - 1)[:, None]
    return _made(name, seed, ("low", "high"), x, y)


def _ring_sector(name: str, seed: int) -> Dataset:
    # A ring, of which one class holds a sector of 120 degrees; the edges are blurred by noise.
    generator = np.random.default_rng(seed)
    angle = generator.uniform(-np.pi, np.pi, sum(_SIZES))
    radius = generator.uniform(0.6, 1.0, len(angle))
    x = radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    y = (np.abs(angle) < np.pi / 3).astype(np.int64)
    return _made(name, seed, ("ring", "sector"), x + generator.normal(0, 0.05, x.shape), y)


def _measured(name: str, seed: int) -> Dataset:
    """Read one of the data sets inside scikit-learn and split it, class by class, by seed."""
    source = getattr(_sklearn_datasets(name), f"load_{name}")()
    x, y = np.asarray(source.data, dtype=np.float64), np.asarray(source.target, dtype=np.int64)
    train, validation, test = (Split(x[part], y[part]) for part in _stratified(y, seed))
    return Dataset(
        name,
        tuple(str(feature) for feature in source.feature_names),
        tuple(str(label) for label in source.target_names),
        train,
        validation,
        test,
        seed,
    )


def _stratified(y: Integers, seed: int) -> list[Integers]:
    """Return the samples of each split, in random order, with each class cut in equal shares."""
    generator = np.random.default_rng(seed)
    parts: list[list[Integers]] = [[] for _ in _SHARES]
    for label in np.unique(y):
        samples = generator.permutation(np.flatnonzero(y == label))
        cuts = np.rint(np.cumsum(_SHARES[:-1]) * len(samples)).astype(np.int64)
        for part, piece in zip(parts, np.split(samples, cuts), strict=True):
            part.append(piece)
    return [generator.permutation(np.concatenate(part)) for part in parts]


_LOADERS: dict[str, Callable[[str, int], Dataset]] = {
    "breast_cancer": _measured,
    "circles": _circles,
    "digits": _measured,
    "gaussians": _gaussians,
    "iris": _measured,
    "moons": _moons,
    "ring_sector": _ring_sector,
    "spirals": _spirals,
    "wine": _measured,
}
