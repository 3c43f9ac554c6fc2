"""Samples and labels as people hold them in Python: checked, and as plain arrays."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trilut.errors import DataError

__all__ = [
    "array_names",
    "as_features",
    "as_labels",
    "as_numbers",
    "as_weights",
    "class_texts",
    "is_frame",
]


def is_frame(x: object) -> bool:
    """Return whether something is a data frame, of pandas, polars or the like."""
    return hasattr(x, "columns") and not isinstance(x, np.ndarray)


def array_names(num_features: int) -> tuple[str, ...]:
    """Return names for the features of an array, which has none."""
    return tuple(f"feature_{feature}" for feature in range(num_features))


def as_features(x: Any) -> NDArray[np.float64 | np.uint8]:
    """Return samples [sample, feature] as numbers, NaN where one is missing; bytes stay bytes.

    Raises
    ------
    DataError
        If they have another shape, or one is no number.
    """
    array = as_numbers(x)
    if array.ndim != 2:
        hint = "; X.reshape(-1, 1) has one feature, X.reshape(1, -1) one sample"
        raise DataError(
            f"X has shape {array.shape}, expected (samples, features){hint * (array.ndim == 1)}"
        )
    if 0 in array.shape:
        raise DataError(f"X has shape {array.shape}, expected at least one sample and one feature")
    return array if array.dtype == np.uint8 else array.astype(np.float64, copy=False)


def as_numbers(x: Any) -> NDArray[Any]:
    """Return an array of numbers of any shape, as they are; what else can mean numbers, as such.

    Raises
    ------
    DataError
        If it is a data frame, whose columns have to be found by name, or sparse, or one is no
        number.
    """
    if is_frame(x):
        raise DataError("X is a data frame, expected an array; Netlist.predict takes either")
    if hasattr(x, "toarray"):
        raise DataError("X is a sparse matrix, expected a dense array such as X.toarray()")
    try:
        array = np.asarray(x)
    except ValueError as error:
        raise DataError("X has rows of different lengths, expected a table of numbers") from error
    if array.dtype.kind in "biuf" or array.size == 0:
        return array
    rows = array.reshape(-1, array.shape[-1] if array.ndim else 1)
    columns = zip(rows.T, array_names(rows.shape[1]), strict=True)
    numbers = np.stack([_numbers(column, name) for column, name in columns], axis=1)
    return numbers.reshape(array.shape)


def _numbers(column: NDArray[Any], name: str) -> NDArray[np.float64]:
    """Return a column of objects as numbers; None and what pandas has for it are missing."""
    if column.dtype.kind != "O":
        column = column.astype(object)
    missing = np.array([value is None or value != value for value in _plain(column)])
    try:
        numbers = np.where(missing, np.nan, column).astype(np.float64)
    except (TypeError, ValueError):
        wrong = next(value for value in column[~missing] if not _is_number(value))
        raise DataError(f"X has {wrong!r} in the feature {name!r}, expected numbers") from None
    return numbers


def _plain(column: NDArray[Any]) -> list[Any]:
    """Return values that can be compared; pandas' NA cannot, and stands for a missing one."""
    return [None if type(value).__name__ == "NAType" else value for value in column]


def _is_number(value: object) -> bool:
    try:
        float(value)  # type: ignore[arg-type]  # what is no number is what is looked for
    except (TypeError, ValueError):
        return False
    return True


def as_labels(y: Any, num_samples: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the different labels, which rise, and the number of each sample's among them.

    Raises
    ------
    DataError
        If there is not one label a sample, one is missing, there is one class only, or labels are
        measured numbers or cannot be ordered.
    """
    labels = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise DataError(f"y has shape {labels.shape}, expected one label for each sample")
    if len(labels) != num_samples:
        raise DataError(f"X has {num_samples} samples but y has {len(labels)} labels")
    for sample, label in enumerate(_plain(labels) if labels.dtype.kind in "Of" else ()):
        if label is None or label != label:
            raise DataError(f"y has {label} for sample {sample}, expected its class")
    try:
        classes, numbers = np.unique(labels, return_inverse=True)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in labels})
        raise DataError(f"y mixes {' and '.join(kinds)}, expected labels of one type") from None
    if len(classes) < 2:
        raise DataError(f"y has the one class {classes.tolist()[0]!r}, expected at least 2 classes")
    if labels.dtype.kind == "f" and (labels % 1).any() and len(classes) > max(2, num_samples // 2):
        raise DataError(
            f"y has {len(classes)} different numbers such as {labels[0]}, expected classes"
        )
    return classes, numbers.astype(np.int64)


def as_weights(weights: Any, num_samples: int) -> NDArray[np.float64]:
    """Return the weight of each sample.

    Raises
    ------
    DataError
        If there is not one for each sample, one is negative or no number, or all are 0.
    """
    array = np.asarray(weights, dtype=np.float64)
    if array.shape != (num_samples,):
        raise DataError(f"Weights have shape {array.shape}, expected ({num_samples},)")
    for sample in np.flatnonzero(~(np.isfinite(array) & (array >= 0))):
        raise DataError(f"Weight of sample {sample} is {array[sample]}, expected 0 or more")
    if not array.any():
        raise DataError("All weights are zero, expected one that is not")
    return array


def class_texts(classes: Sequence[Any]) -> tuple[str, ...]:
    """Return names for labels of any type: whole numbers without a point."""
    return tuple(
        str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)
        for label in classes
    )
