"""From the columns of a table to the features of a circuit."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trilut.data.columns import Column, Table, no_column
from trilut.errors import DataError

__all__ = ["TableFeatures", "TableOptions", "feature_values", "select_features"]

MOST_CATEGORIES = 32
"""Most categories of a column that become features; the rarer ones are UNKNOWN in all of them."""

MOST_TEXTS = 10_000
"""So many different texts of a column are no categories and no classes."""

# With fewer rows, numbers that count them may well be measured ones.
_FEWEST_ROWS = 100

_ID_NAME = re.compile(r"(?i)(.*[ _.-])?(id|ids|uid|uuid|guid|index|key|nr|no|row)|.*[a-z]I[dD]")

_DATE = re.compile(
    r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})"
    r"([T ]\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[AaPp][Mm])?(Z| ?[+-]\d{2}:?\d{2})?)?"
    r"|\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[AaPp][Mm])?"
)


@dataclass(frozen=True, slots=True)
class TableOptions:
    """How a table becomes a data set.

    Parameters
    ----------
    label : str, optional
        The column of the classes; by default the last.
    drop : tuple of str
        Columns to leave out.
    features : tuple of str, optional
        The columns to use, whatever they look like; by default all that can be of use.
    categories : tuple of str
        Columns whose numbers are names and not measured.
    header : bool, optional
        Whether the first line of a file names the columns; by default it has to look so.
    """

    label: str | None = None
    drop: tuple[str, ...] = ()
    features: tuple[str, ...] | None = None
    categories: tuple[str, ...] = ()
    header: bool | None = None


@dataclass(frozen=True, slots=True)
class TableFeatures:
    """The features that a table gives.

    Parameters
    ----------
    names : tuple of str
        Names of the features: columns of numbers, and ``COLUMN=CATEGORY``.
    categories : mapping
        The categories of each column of texts.
    notes : tuple of str
        What to tell the user: columns that were left out, and why.
    """

    names: tuple[str, ...]
    categories: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...]


def select_features(
    table: Table,
    options: TableOptions,
    *,
    label: str | None = None,
    rows: NDArray[np.int64] | None = None,
) -> TableFeatures:
    """Choose the columns that become features, and the categories of texts.

    Parameters
    ----------
    label : str, optional
        A column that is none, because it is the answer.
    rows : int64 array, optional
        The rows to learn from, whose categories are taken; by default all.

    Raises
    ------
    DataError
        If an option names a column that is not there, or no column is left.
    """
    names, notes = _chosen_columns(table, options, label)
    notes = [*table.notes, *notes]
    features: list[str] = []
    categories: dict[str, tuple[str, ...]] = {}
    for name in names:
        column = table.columns[name]
        if name in options.categories:
            column = column.as_texts()
        if column.texts is None:
            features.append(name)
            continue
        kept, note = _categories(column, name, rows)
        notes += note
        categories[name] = kept
        # Of two categories one tells all.
        features += [f"{name}={category}" for category in (kept[1:] if len(kept) == 2 else kept)]
    for feature in features:
        if features.count(feature) > 1:
            raise DataError(f"{table.title!r} has two features {feature!r}, expected one")
    if not features:
        raise DataError(
            f"{table.title!r} has no column to learn from" + "".join(f"; {note}" for note in notes)
        )
    return TableFeatures(tuple(features), categories, tuple(notes))


def feature_values(
    table: Table,
    names: Sequence[str],
    categories: Mapping[str, Sequence[str]],
    rows: NDArray[np.int64] | None = None,
) -> NDArray[np.float64]:
    """Return features [row, feature] by their names, with the categories that they have.

    Parameters
    ----------
    names : sequence of str
        Columns of numbers, or ``COLUMN=CATEGORY``.
    rows : int64 array, optional
        The rows to return; by default all.

    Raises
    ------
    DataError
        If a column is not there, or holds texts where numbers are expected.
    """
    sources = {
        f"{column}={category}": (column, category)
        for column, known in categories.items()
        for category in known
        # Somebody may have prepared the features before.
        if column in table.columns or f"{column}={category}" not in table.columns
    }
    chosen = slice(None) if rows is None else rows
    values = np.empty((len(table) if rows is None else len(rows), len(names)))
    for position, name in enumerate(names):
        column, category = sources.get(name, (name, None))
        if category is None:
            values[:, position] = table.number_column(column).values[chosen]
        else:
            known = categories[column]
            values[:, position] = table.column(column).is_one_of(category, known)[chosen]
    # Nobody has to copy what nobody can change.
    values.flags.writeable = False
    return values


def _chosen_columns(
    table: Table, options: TableOptions, label: str | None
) -> tuple[list[str], list[str]]:
    """Return the columns to make features of, and what to say of the others."""
    for name in (*options.drop, *(options.features or ()), *options.categories):
        if name not in table.columns:
            raise no_column(table.title, name, tuple(table.columns))
        if name == label and name not in options.drop:
            raise DataError(f"The column {name!r} of {table.title!r} is the label, not a feature")
    if options.features is not None:
        return [name for name in options.features if name not in options.drop], []
    names: list[str] = []
    left_out: list[str] = []
    for name, column in table.columns.items():
        if name == label or name in options.drop:
            continue
        reason = _useless(name, column)
        if reason:
            left_out.append(f"{name!r} ({reason})")
        else:
            names.append(name)
    notes = [f"left out of {table.title!r}: {', '.join(left_out)}"] if left_out else []
    return names, notes


def _useless(name: str, column: Column) -> str:
    """Return why a column can be of no use; nothing if it can."""
    is_missing = column.is_missing
    if column.is_date or (column.texts and all(map(_DATE.fullmatch, column.texts))):
        return "dates"
    if is_missing.all():
        return "empty"
    present = np.sort(column.values[~is_missing])
    if present[0] == present[-1] and not is_missing.any():
        return "constant"
    num_different = 1 + int(np.count_nonzero(np.diff(present)))
    if column.texts is not None:
        is_free = num_different > max(2, len(present) // 2) or len(column.texts) >= MOST_TEXTS
        return "as good as all different" if is_free else ""
    if num_different < len(column) or len(column) < _FEWEST_ROWS or (present % 1).any():
        return ""
    if present[-1] - present[0] == len(present) - 1:
        return "numbers the rows"
    return "an ID" if _ID_NAME.fullmatch(name) else ""


def _categories(
    column: Column, name: str, rows: NDArray[np.int64] | None
) -> tuple[tuple[str, ...], list[str]]:
    """Return the categories of a column in alphabetical order, and what to say of them."""
    assert column.texts is not None
    codes = column.values if rows is None else column.values[rows]
    counts = np.bincount(codes[codes >= 0].astype(np.int64), minlength=len(column.texts))
    order = np.argsort(-counts, kind="stable")
    found = [column.texts[code] for code in order if counts[code]]
    note = f"{name!r}: the {MOST_CATEGORIES} most frequent of {len(found)} categories"
    return tuple(sorted(found[:MOST_CATEGORIES])), [note] if len(found) > MOST_CATEGORIES else []
