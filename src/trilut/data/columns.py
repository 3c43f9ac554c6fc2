"""Columns of a table in memory: numbers, or texts as codes."""

import difflib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trilut.errors import DataError

__all__ = ["Column", "Table", "is_missing", "no_column", "number_text", "text_column"]

_MISSING = {"", "?", "na", "n/a", "nan", "null", "none"}
"""What stands for a missing value, in lower case."""


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """One column of a table.

    Parameters
    ----------
    values : float64 or int32 array [row]
        Numbers, NaN where missing; or the code of each text, −1 where missing.
    texts : tuple of str, optional
        What the codes stand for, all different; None for numbers.
    is_date : bool
        Whether the texts are days or times. A column that another program has marked so has no
        texts.
    """

    values: NDArray[np.float64] | NDArray[np.int32]
    texts: tuple[str, ...] | None = None
    is_date: bool = False

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_missing(self) -> NDArray[np.bool_]:
        """Where there is no value."""
        return np.isnan(self.values) if self.texts is None else self.values < 0

    def as_texts(self) -> "Column":
        """Return the column with its numbers as texts, as they would be names of classes."""
        if self.texts is not None:
            return self
        present = ~np.isnan(self.values)
        numbers, codes = np.unique(self.values[present], return_inverse=True)
        values = np.full(len(self), -1, dtype=np.int32)
        values[present] = codes
        return Column(values, tuple(map(number_text, numbers.tolist())))

    def is_one_of(self, category: str, known: Sequence[str]) -> NDArray[np.float64]:
        """Return 1 where the text is a category, 0 where it is another one that is known, or NaN.

        NaN, UNKNOWN to a circuit, stands for a missing text and for one that is not known.
        """
        column = self.as_texts()
        assert column.texts is not None
        meaning = dict.fromkeys(known, 0.0) | {category: 1.0}
        # The code −1 reads the last entry.
        table = np.array([*(meaning.get(text, math.nan) for text in column.texts), math.nan])
        return table[column.values.astype(np.intp)]


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Columns of one length, by name.

    Parameters
    ----------
    title : str
        What messages call it.
    columns : mapping
        The columns by name, in order.
    lines : int64 array [row], optional
        The line of the file where each row ends; by default rows are counted from 0.
    notes : tuple of str
        What to tell the user of it.
    """

    title: str
    columns: Mapping[str, Column]
    lines: NDArray[np.int64] | None = None
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def column(self, name: str) -> Column:
        """Return a column.

        Raises
        ------
        DataError
            If there is none of this name.
        """
        if name not in self.columns:
            raise no_column(self.title, name, tuple(self.columns))
        return self.columns[name]

    def place(self, row: np.integer | int) -> str:
        """Return where a row is, to begin a message with."""
        where = f"Row {row}" if self.lines is None else f"Line {self.lines[row]}"
        return f"{where} of {self.title!r}"

    def numbers(self, names: Sequence[str]) -> NDArray[np.float64]:
        """Return columns as numbers [row, column], NaN where missing.

        Raises
        ------
        DataError
            If there is no such column, or it holds texts.
        """
        values = np.empty((len(self), len(names)))
        for position, name in enumerate(names):
            values[:, position] = self.number_column(name).values
        return values

    def number_column(self, name: str) -> Column:
        """Return a column of numbers.

        Raises
        ------
        DataError
            If there is no such column, or it holds texts.
        """
        column = self.column(name)
        if column.texts is None and not column.is_date:
            return column
        for row in np.flatnonzero(~column.is_missing) if column.texts else ():
            assert column.texts is not None
            raise DataError(
                f"{self.place(row)} has {column.texts[column.values[row]]!r} in the column "
                f"{name!r}, expected a finite number, or nothing if it is missing"
            )
        if column.is_date:
            raise DataError(
                f"The column {name!r} of {self.title!r} holds dates, expected numbers; leave it out"
            )
        return Column(np.full(len(self), math.nan))

    def labels(self, name: str, expected: tuple[str, ...] | None = None) -> Column:
        """Return a column as the names of classes.

        Parameters
        ----------
        expected : tuple of str, optional
            The names that there are.

        Raises
        ------
        DataError
            If there is no such column, or a cell is missing or another name.
        """
        column = self.column(name).as_texts()
        assert column.texts is not None
        is_wrong = np.array([text not in expected if expected else False for text in column.texts])
        for row in np.flatnonzero(np.append(is_wrong, True)[column.values]):
            code = column.values[row]
            found = "nothing" if code < 0 else repr(column.texts[code])
            wanted = f"one of {', '.join(expected)}" if expected else "the class of the sample"
            raise DataError(
                f"{self.place(row)} has {found} in the column {name!r}, expected {wanted}"
            )
        return column


def no_column(title: str, name: str, header: Sequence[str]) -> DataError:
    """Return what to say of a column that a table has not."""
    close = difflib.get_close_matches(name, header, n=1)
    some = ", ".join(repr(column) for column in header[:10])
    more = ", …" if len(header) > 10 else ""
    return DataError(
        f"{title!r} has no column {name!r}, expected one of {some}{more}"
        + (f"; did you mean {close[0]!r}?" if close else "")
    )


def text_column(cells: Iterable[str | None]) -> Column:
    """Return cells as texts without space around them; None and what stands for it is missing."""
    numbers: dict[str, int] = {}
    codes = [
        -1 if cell is None or is_missing(cell) else numbers.setdefault(cell.strip(), len(numbers))
        for cell in cells
    ]
    return Column(np.array(codes, dtype=np.int32), tuple(numbers))


def is_missing(text: str) -> bool:
    """Return whether a text stands for a missing value."""
    return text.strip().lower() in _MISSING


def number_text(number: float) -> str:
    """Return a number as the name of a class or category: 1 and 1.0 are the same."""
    return str(int(number)) if number.is_integer() else str(number)
