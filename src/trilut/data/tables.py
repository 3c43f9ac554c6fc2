"""Tables of text: CSV and its kin, with a header, one sample a line."""

import csv
import difflib
import io
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trilut.data.columns import is_missing
from trilut.data.dataset import MAX_BYTES, Dataset, are_too_many, number_classes, share_out
from trilut.errors import DataError
from trilut.files import decompress, read_bytes

__all__ = [
    "TextTable",
    "load_table",
    "read_table",
]


@dataclass(frozen=True, slots=True, eq=False)
class TextTable:
    """A file of rows and columns.

    It keeps the text and reads it anew for every question, because a million rows as cells would
    take gigabytes.

    Parameters
    ----------
    path : str
        Name of the file, for messages.
    text : str
        What the file holds.
    delimiter : str
        What stands between cells.
    header : tuple of str
        Names of the columns, all different. Every row has as many cells.
    num_rows : int
        Number of rows without the header.
    """

    path: str
    text: str
    delimiter: str
    header: tuple[str, ...]
    num_rows: int

    def __len__(self) -> int:
        return self.num_rows

    def column(self, name: str) -> int:
        """Return the number of a column.

        Raises
        ------
        DataError
            If there is none of this name.
        """
        if name not in self.header:
            close = difflib.get_close_matches(name, self.header, n=1)
            some = ", ".join(repr(column) for column in self.header[:10])
            more = ", …" if len(self.header) > 10 else ""
            raise DataError(
                f"{self.path!r} has no column {name!r}, expected one of {some}{more}"
                + (f"; did you mean {close[0]!r}?" if close else "")
            )
        return self.header.index(name)

    def numbers(self, columns: list[int]) -> NDArray[np.float64]:
        """Return columns as numbers [row, column], NaN where a cell is missing.

        Raises
        ------
        DataError
            If a cell holds something else; the message has its line and column.
        """
        values = np.empty((len(self), len(columns)))
        for number, (line, row) in enumerate(self._rows()):
            try:
                values[number] = [float(row[column]) for column in columns]
            except ValueError:
                values[number] = [self._number(line, row, column) for column in columns]
        for number, position in np.argwhere(np.isinf(values)):
            line, row = next(itertools.islice(self._rows(), int(number), None))
            raise self._not_a_number(line, row, columns[position])
        return values

    def texts(self, column: int) -> list[str]:
        """Return a column as text."""
        return [row[column].strip() for _, row in self._rows()]

    def labels(self, column: int, expected: tuple[str, ...] | None = None) -> list[str]:
        """Return a column as the names of classes.

        Parameters
        ----------
        column : int
            Number of the column.
        expected : tuple of str, optional
            The names that there are.

        Raises
        ------
        DataError
            If a cell is missing or another name; the message has its line.
        """
        labels = self.texts(column)
        for number, label in enumerate(labels):
            if label not in expected if expected else is_missing(label):
                line, _ = next(itertools.islice(self._rows(), number, None))
                wanted = f"one of {', '.join(expected)}" if expected else "the class of the sample"
                raise DataError(
                    f"Line {line} of {self.path!r} has {label!r} in the column "
                    f"{self.header[column]!r}, expected {wanted}"
                )
        return labels

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the rows with the line where each one ends, without the header."""
        return itertools.islice(_parse(self.text, self.delimiter), 1, None)

    def _number(self, line: int, row: list[str], column: int) -> float:
        text = row[column].strip()
        if is_missing(text):
            return math.nan
        try:
            return float(text)
        except ValueError:
            raise self._not_a_number(line, row, column) from None

    def _not_a_number(self, line: int, row: list[str], column: int) -> DataError:
        return DataError(
            f"Line {line} of {self.path!r} has {row[column]!r} in the column "
            f"{self.header[column]!r}, expected a finite number, or nothing if it is missing"
        )


def read_table(path: Path) -> TextTable:
    """Read a file of commas, semicolons or tabs, whichever its first line has most of.

    Raises
    ------
    FormatError
        If the file cannot be read.
    DataError
        If it has no header, or a line has more or fewer cells than that.
    """
    title = str(path)
    try:
        text = decompress(read_bytes(path), title, MAX_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{title!r} is not UTF-8 text: {error.reason}") from error
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    header: tuple[str, ...] = ()
    num_rows = 0
    last = 0
    try:
        for last, row in _parse(text, delimiter):
            if not header:
                header = tuple(cell.strip() for cell in row)
                _check_header(header, title)
                continue
            if len(row) != len(header):
                raise DataError(
                    f"Line {last} of {title!r} has {len(row)} cells, expected {len(header)} "
                    "as in the header"
                )
            num_rows += 1
    except csv.Error as error:
        raise DataError(f"{title!r} is broken after line {last}: {error}") from error
    _check_header(header, title)
    return TextTable(title, text, delimiter, header, num_rows)


def _parse(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    # An empty line, as often stands at the end, is no row.
    return ((reader.line_num, row) for row in reader if row)


def load_table(name: str, path: Path, label: str | None, seed: int) -> Dataset:
    """Make a data set from a file; ``label`` is the column of the classes, by default the last.

    Raises
    ------
    FormatError, DataError
        If the file cannot be read or used.
    """
    table = read_table(path)
    target = len(table.header) - 1 if label is None else table.column(label)
    if len(table) == 0:
        raise DataError(f"{table.path!r} has a header but no samples")
    features = [column for column in range(len(table.header)) if column != target]
    classes, y = number_classes(table.labels(target))
    if are_too_many(classes, len(y)):
        raise DataError(
            f"{table.path!r} has {len(classes)} different values in the column "
            f"{table.header[target]!r} of {len(y)} samples, expected classes; "
            "name another column with --label"
        )
    names = tuple(table.header[column] for column in features)
    return share_out(name, names, classes, table.numbers(features), y, seed)


def _check_header(header: tuple[str, ...], title: str) -> None:
    if len(header) < 2:
        raise DataError(
            f"{title!r} has {len(header)} columns, expected a header "
            "with at least one feature and the label"
        )
    for column, name in enumerate(header, start=1):
        if not name:
            raise DataError(
                f"Column {column} of {title!r} has no name; if it numbers the rows, remove it"
            )
        if name in header[: column - 1]:
            raise DataError(f"{title!r} has two columns {name!r}, expected different names")
    if all(_is_number(name) for name in header):
        raise DataError(f"The first line of {title!r} has only numbers, expected a header")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
