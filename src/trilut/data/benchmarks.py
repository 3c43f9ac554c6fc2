"""Benchmarks that cannot be downloaded by package name: loaders for the user's own copy."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trilut.data.columns import Table
from trilut.data.dataset import Dataset, Integers, Samples, hold_back, share_out
from trilut.data.files import load_arrays
from trilut.data.tables import read_table
from trilut.errors import DataError

__all__ = ["BENCHMARKS"]

# The features that all papers on jet substructure classification use, without the j_ that some
# files put before them.
_JSC_FEATURES = (
    "zlogz",
    "c1_b0_mmdt",
    "c1_b1_mmdt",
    "c1_b2_mmdt",
    "c2_b1_mmdt",
    "c2_b2_mmdt",
    "d2_b1_mmdt",
    "d2_b2_mmdt",
    "d2_a1_b1_mmdt",
    "d2_a1_b2_mmdt",
    "m2_b1_mmdt",
    "m2_b2_mmdt",
    "n2_b1_mmdt",
    "n2_b2_mmdt",
    "mass_mmdt",
    "multiplicity",
)
_JSC_CLASSES = ("g", "q", "w", "z", "t")

_UNSW_FILES = ("UNSW_NB15_training-set.csv", "UNSW_NB15_testing-set.csv")
_UNSW_CLASSES = ("normal", "attack")

# A number of the row, and the kind of the attack, which would give the answer away.
_UNSW_NO_FEATURES = ("id", "attack_cat", "label")
_UNSW_TEXTS = ("proto", "service", "state")


def load_jsc(name: str, path: Path, seed: int) -> Dataset:
    """Read jet substructure classification: a table of 16 features and five classes.

    The class is a column ``class`` of letters, or five columns ``j_g`` … ``j_t`` of which one is 1.

    Raises
    ------
    FormatError, DataError
        If the file cannot be read, or has other columns.
    """
    table = read_table(path)
    prefix = "j_" if "j_zlogz" in table.columns else ""
    x = table.numbers([f"{prefix}{feature}" for feature in _JSC_FEATURES])
    return share_out(name, _JSC_FEATURES, _JSC_CLASSES, x, _jsc_labels(table), seed)


def _jsc_labels(table: Table) -> Integers:
    if "class" in table.columns:
        return _classes(table, "class", _JSC_CLASSES)
    marks = table.numbers([f"j_{letter}" for letter in _JSC_CLASSES])
    for row in np.flatnonzero((np.sort(marks) != (0, 0, 0, 0, 1)).any(axis=1)):
        raise DataError(
            f"Sample {row} of {table.title!r} has no single 1 "
            "in the columns j_g, j_q, j_w, j_z and j_t"
        )
    return marks.argmax(axis=1)


def load_unsw(name: str, path: Path, seed: int) -> Dataset:
    """Read UNSW-NB15, normal traffic against attacks.

    From a directory with the two published tables, from one table, or from an .npz file with
    ``train`` and ``test``, whose last column is the label, as the binary version of it has.

    Raises
    ------
    FormatError, DataError
        If the file cannot be read, or has other columns.
    """
    if path.suffix.lower() == ".npz":
        return _load_binary_unsw(name, path, seed)
    if not path.is_dir():
        table = read_table(path)
        features, (x,) = _unsw_features([table])
        return share_out(name, features, _UNSW_CLASSES, x, _unsw_labels(table), seed)
    tables = [read_table(path / file) for file in _UNSW_FILES]
    features, samples = _unsw_features(tables)
    train, test = ((x, _unsw_labels(table)) for x, table in zip(samples, tables, strict=True))
    return hold_back(name, features, _UNSW_CLASSES, train, test, seed)


def _unsw_features(tables: list[Table]) -> tuple[tuple[str, ...], list[NDArray[np.float64]]]:
    """Return names and values of the features: numbers, and a 0 or 1 for each text that occurs.

    Texts that occur only in a later table than the first are 0 in all of their features, so that
    nothing is learned from the test set.
    """
    header = tables[0].columns
    numeric = [name for name in header if name not in (*_UNSW_NO_FEATURES, *_UNSW_TEXTS)]
    texts = {
        name: sorted(tables[0].column(name).as_texts().texts or ())
        for name in _UNSW_TEXTS
        if name in header
    }
    names = (*numeric, *(f"{name}={text}" for name, found in texts.items() for text in found))
    samples = [
        np.concatenate(
            [
                table.numbers(numeric),
                *(
                    np.nan_to_num(table.column(name).is_one_of(text, found))[:, None]
                    for name, found in texts.items()
                    for text in found
                ),
            ],
            axis=1,
        )
        for table in tables
    ]
    return names, samples


def _unsw_labels(table: Table) -> Integers:
    return _classes(table, "label", ("0", "1"))


def _classes(table: Table, name: str, classes: tuple[str, ...]) -> Integers:
    column = table.labels(name, classes)
    numbers = np.array([classes.index(text) for text in column.texts or ()], dtype=np.int64)
    return numbers[column.values.astype(np.intp)]


def _load_binary_unsw(name: str, path: Path, seed: int) -> Dataset:
    arrays = load_arrays(path)
    parts: list[tuple[Samples, Integers]] = []
    for part in ("train", "test"):
        array = arrays.get(part)
        if array is None or array.ndim != 2 or not np.isin(array, (0, 1)).all():
            raise DataError(
                f"{str(path)!r} has no array {part!r} of zeros and ones with a label in its last "
                "column"
            )
        bits = array.astype(np.uint8)
        parts.append((bits[:, :-1], bits[:, -1].astype(np.int64)))
    names = tuple(f"bit_{bit}" for bit in range(parts[0][0].shape[1]))
    return hold_back(name, names, _UNSW_CLASSES, parts[0], parts[1], seed)


BENCHMARKS: dict[str, Callable[[str, Path, int], Dataset]] = {
    "jsc": load_jsc,
    "unsw_nb15": load_unsw,
}
"""The loaders by name."""
