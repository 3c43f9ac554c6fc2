"""Tables of text: CSV and its kin, read block by block."""

import csv
import dataclasses
import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from trilut.data.columns import Column, Table, is_missing, no_column, text_column
from trilut.data.dataset import MAX_BYTES, Dataset, table_dataset
from trilut.data.frames import read_parquet
from trilut.data.selection import MOST_TEXTS, TableOptions
from trilut.data.text import Progress, TextLines, open_lines
from trilut.errors import DataError

__all__ = [
    "Kind",
    "TextTable",
    "columns_for",
    "is_parquet",
    "load_table",
    "read_blocks",
    "read_table",
]

Kind = Literal["auto", "number", "text", "skip"]
"""How to take a column: as what it looks like, as numbers, as texts, or not at all."""

Kinds = Callable[[tuple[str, ...]], Mapping[str, Kind]]
"""What says of the names of columns how to take each one."""

# Cells that are text at a time: as Python objects they take a hundred bytes each.
_BLOCK_CELLS = 1 << 17
_SAMPLE_LINES = 200
# A semicolon before a comma: if both cut every line into as many cells, commas are decimal.
_DELIMITERS = "\t;|,"
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+,\d+([eE][+-]?\d+)?\s*")


class TextTable:
    """A table of text, of which the first lines have been read.

    Tabs, semicolons, bars or commas stand between the cells, whichever cut the first lines into
    most cells, as many in each. Where it is not a comma, numbers may have decimal commas.

    Parameters
    ----------
    lines : TextLines
        The file.
    has_header : bool, optional
        Whether the first line names the columns; by default it has to look so.

    Attributes
    ----------
    header : tuple of str
        The names of the columns, all different; ``column_1`` … where the file has none.

    Raises
    ------
    DataError
        If the file is empty, or its header is in doubt or cannot be used.
    """

    def __init__(self, lines: TextLines, has_header: bool | None = None):
        self.title = lines.title
        self._lines = lines
        sample = list(itertools.islice(lines, _SAMPLE_LINES))
        self._delimiter = _delimiter(sample)
        rows = list(_complete_rows(sample, self._delimiter))
        if not rows:
            raise DataError(f"{self.title!r} is empty, expected a header and samples")
        self._has_decimal_comma = self._delimiter != "," and any(
            _DECIMAL_COMMA.fullmatch(cell) for row in rows for cell in row
        )
        if has_header is None and self._looks_like_a_sample(rows[0], rows[1:]):
            raise DataError(
                f"Does {self.title!r} have a header? Its first line, {_shown(rows[0])}, looks like "
                "a sample: say --no-header, or --header if it names the columns"
            )
        self.header = _names(rows[0] if has_header is not False else [""] * len(rows[0]))
        self._check_header()
        self._rows = self._checked_rows(itertools.chain(sample, lines))
        if has_header is not False:
            next(self._rows)
        self._decided: dict[str, Kind] = {}

    def blocks(self, kinds: Mapping[str, Kind]) -> Iterator[Table]:
        """Yield the rows, some at a time; there is one block at least, which may be empty.

        What a column that looks like nothing yet holds is seen in the first block where it is not
        empty: texts if most cells are. Later it has to stay so.

        Raises
        ------
        FormatError, DataError
            If the file cannot be read, or a cell is not what was expected; the message has its
            line and column.
        """
        size = max(16, _BLOCK_CELLS // len(self.header))
        block = list(itertools.islice(self._rows, size))
        while True:
            yield self._block(block, kinds)
            block = list(itertools.islice(self._rows, size))
            if not block:
                return

    def _block(self, rows: list[tuple[int, list[str]]], kinds: Mapping[str, Kind]) -> Table:
        lines = [line for line, _ in rows]
        cells = zip(*(row for _, row in rows), strict=True) if rows else itertools.repeat(())
        return Table(
            self.title,
            {
                name: self._column(name, column, kinds[name], lines)
                for name, column in zip(self.header, cells, strict=False)
                if kinds[name] != "skip"
            },
            np.array(lines, dtype=np.int64),
            tuple(self._lines.notes),
        )

    def _column(self, name: str, cells: tuple[str, ...], kind: Kind, lines: list[int]) -> Column:
        decided = self._decided.get(name, kind)
        if decided == "text":
            return text_column(cells)
        values = _quick_numbers(cells)
        if values is None or self._has_decimal_comma:
            numbers = [self._number(cell) for cell in cells]
            wrong = [position for position, number in enumerate(numbers) if number is None]
            if decided == "auto" and 2 * len(wrong) > sum(not is_missing(cell) for cell in cells):
                self._decided[name] = "text"
                return text_column(cells)
            for position in wrong:
                raise self._not_a_number(name, cells[position], lines[position], kind)
            values = np.array(numbers, dtype=np.float64)
        for position in np.flatnonzero(np.isinf(values)).tolist():
            raise self._not_a_number(name, cells[position], lines[position], "number")
        if decided == "auto" and not np.isnan(values).all():
            self._decided[name] = "number"
        return Column(values)

    def _number(self, cell: str) -> float | None:
        """Return the number in a cell, NaN if it is missing, None if it is something else."""
        if is_missing(cell):
            return math.nan
        if self._has_decimal_comma:
            # A point there could only be one of thousands.
            cell = cell.replace(".", "?").replace(",", ".")
        try:
            return float(cell)
        except ValueError:
            return None

    def _not_a_number(self, name: str, cell: str, line: int, kind: Kind) -> DataError:
        hint = "; others are numbers: see --drop and --categories" if kind == "auto" else ""
        return DataError(
            f"Line {line} of {self.title!r} has {cell!r} in the column {name!r}, "
            f"expected a finite number, or nothing if it is missing{hint}"
        )

    def _checked_rows(self, lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
        """Yield the rows with the line where each one ends."""
        last = 0
        reader = csv.reader(lines, delimiter=self._delimiter, strict=True)
        try:
            for row in reader:
                last = reader.line_num
                # An empty line, as often stands at the end, is no row.
                if not row:
                    continue
                if len(row) != len(self.header):
                    raise DataError(
                        f"Line {last} of {self.title!r} has {len(row)} cells, "
                        f"expected {len(self.header)} as in the header"
                    )
                yield last, row
        except csv.Error as error:
            raise DataError(f"{self.title!r} is broken after line {last}: {error}") from error

    def _check_header(self) -> None:
        for position, name in enumerate(self.header):
            if name in self.header[:position]:
                raise DataError(
                    f"{self.title!r} has two columns {name!r}, expected different names; "
                    "a file without names needs --no-header"
                )

    def _looks_like_a_sample(self, first: list[str], others: list[list[str]]) -> bool:
        """Return whether each cell is a number above numbers, or a text that comes again below."""
        columns = [
            [row[number] for row in others if len(row) == len(first)]
            for number in range(len(first))
        ]
        return all(map(self._fits, first, columns))

    def _fits(self, cell: str, column: list[str]) -> bool:
        if self._number(cell) is None:
            return cell in column
        return all(self._number(each) is not None for each in column) and bool(cell.strip())


def read_blocks(
    path: Path,
    kinds: Kinds | None = None,
    *,
    header: bool | None = None,
    progress: Progress | None = None,
    most: int | None = None,
) -> Iterator[Table]:
    """Read a table of text or a Parquet file, some rows at a time.

    Parameters
    ----------
    path : Path
        The file; ``-`` is a table of text that is piped in.
    kinds : callable, optional
        Says of the names of the columns how to take each one; by default as it looks.
    header : bool, optional
        Whether the first line of text names the columns; by default it has to look so.
    progress : callable, optional
        Called with the number of bytes of the file that have been read, and of all.
    most : int, optional
        Most bytes of a compressed file of text.

    Raises
    ------
    FormatError, DataError
        If it cannot be read or used.
    ToolError
        If it is a Parquet file and pyarrow is not installed.
    """
    kinds = kinds or (lambda header: dict.fromkeys(header, "auto"))
    if is_parquet(path):
        yield from read_parquet(path, lambda names: _not_skipped(kinds(names)))
        return
    with open_lines(path, progress, most=most) as lines:
        table = TextTable(lines, header)
        yield from table.blocks(kinds(table.header))


def _not_skipped(kinds: Mapping[str, Kind]) -> list[str]:
    return [name for name, kind in kinds.items() if kind != "skip"]


def is_parquet(path: Path) -> bool:
    """Return whether a file is a Parquet file by its name."""
    return path.suffix.lower() == ".parquet"


def read_table(
    path: Path,
    kinds: Kinds | None = None,
    *,
    header: bool | None = None,
    progress: Progress | None = None,
) -> Table:
    """Read a whole table: see :func:`read_blocks`; a compressed one may hold up to 1 GiB.

    Of a column of texts that are nearly all different, not all are kept.
    """
    columns: dict[str, _Growing] = {}
    lines = _Growing()
    for block in read_blocks(path, kinds, header=header, progress=progress, most=MAX_BYTES):
        for name, column in block.columns.items():
            columns.setdefault(name, _Growing()).add(column)
        if block.lines is not None:
            lines.add(Column(block.lines.astype(np.float64)))
        last = block
    return Table(
        last.title,
        {name: column.whole() for name, column in columns.items()},
        None if last.lines is None else lines.whole().values.astype(np.int64),
        last.notes,
    )


class _Growing:
    """A column that is put together from parts, in memory that grows where it is.

    Kept until the end, many small parts would take as much again.
    """

    def __init__(self) -> None:
        self._values: NDArray[np.float64] | NDArray[np.int32] = np.empty(0)
        self._size = 0
        self._codes: dict[str, int] | None = None
        self._is_date = False

    def add(self, part: Column) -> None:
        """Append a part; texts get the codes that they have in the parts before."""
        self._is_date |= part.is_date
        if part.texts is not None and self._codes is None:
            before = Column(self._values[: self._size]).as_texts()
            self._values, self._codes = before.values, _numbered(before.texts or ())
        values = part.values if self._codes is None else _recoded(part, self._codes)
        end = self._size + len(values)
        if end > len(self._values):
            self._values.resize(max(end, 2 * len(self._values)), refcheck=False)
        self._values[self._size : end] = values
        self._size = end

    def whole(self) -> Column:
        """Return the column; nothing can be added to it any more."""
        self._values.resize(self._size, refcheck=False)
        texts = None if self._codes is None else tuple(self._codes)
        return Column(self._values, texts, self._is_date)


def _numbered(texts: Sequence[str]) -> dict[str, int]:
    return {text: code for code, text in enumerate(texts)}


def _recoded(part: Column, codes: dict[str, int]) -> NDArray[np.int32]:
    """Return a part of a column with codes that all parts share, and number new texts."""
    column = part.as_texts()
    texts = column.texts or ()
    for text in texts:
        if text not in codes and len(codes) < MOST_TEXTS:
            codes[text] = len(codes)
    # What is too much stands for the last one: there are too many to be of use.
    table = np.array([*(codes.get(text, MOST_TEXTS - 1) for text in texts), -1], dtype=np.int32)
    return table[column.values.astype(np.intp)]


def columns_for(
    title: str, names: Sequence[str], categories: Mapping[str, Sequence[str]], label: str = ""
) -> Kinds:
    """Return what takes from a table the columns of some features, and perhaps the label.

    Parameters
    ----------
    names : sequence of str
        The features: columns of numbers, or ``COLUMN=CATEGORY``.
    categories : mapping
        The categories of each column of texts.
    """
    texts = {f"{column}={each}": column for column, known in categories.items() for each in known}

    def kinds(header: tuple[str, ...]) -> Mapping[str, Kind]:
        wanted: dict[str, Kind] = {label: "text"} if label else {}
        for name in names:
            column = texts.get(name, name)
            # Somebody may have prepared the features before, and then they are numbers.
            is_prepared = name in header and column not in header
            wanted |= {name: "number"} if is_prepared or column == name else {column: "text"}
        for name in wanted:
            if name not in header:
                raise no_column(title, name, header)
        return {name: wanted.get(name, "skip") for name in header}

    return kinds


def load_table(
    name: str,
    path: Path,
    options: TableOptions,
    seed: int,
    progress: Progress | None = None,
) -> Dataset:
    """Make a data set from a file.

    Raises
    ------
    FormatError, DataError
        If the file cannot be read or used.
    ToolError
        If it is a Parquet file and pyarrow is not installed.
    """
    label = ""

    def kinds(header: tuple[str, ...]) -> Mapping[str, Kind]:
        nonlocal label
        label = _label(str(path), header, options)
        return {column: _kind(column, label, options) for column in header}

    table = read_table(path, kinds, header=options.header, progress=progress)
    if len(table) == 0:
        raise DataError(f"{table.title!r} has a header but no samples")
    if options.label is None:
        note = f"the label is the column {label!r} of {table.title!r}; --label names another"
        table = dataclasses.replace(table, notes=(*table.notes, note))
    # Columns to drop have not been read.
    chosen = dataclasses.replace(options, label=label, drop=())
    return table_dataset(name, table, chosen, seed)


def _label(title: str, header: tuple[str, ...], options: TableOptions) -> str:
    """Return the column of the classes, after checking that all columns are there."""
    named = [*options.drop, *(options.features or ()), *options.categories]
    for name in [*named, *([options.label] if options.label else [])]:
        if name not in header:
            raise no_column(title, name, header)
    candidates = [name for name in header if name not in named]
    if len(header) < 2 or not (options.label or candidates):
        raise DataError(
            f"{title!r} has {len(header)} columns, expected at least one feature and the label"
        )
    return options.label or candidates[-1]


def _kind(column: str, label: str, options: TableOptions) -> Kind:
    if column == label or column in options.categories:
        return "text"
    is_other = options.features is not None and column not in options.features
    return "skip" if is_other or column in options.drop else "auto"


def _delimiter(lines: list[str]) -> str:
    """Return what stands between the cells of the first lines of a table."""

    def fitness(delimiter: str) -> tuple[bool, int]:
        counts = [len(row) for row in _complete_rows(lines, delimiter)] or [0]
        return len(set(counts)) == 1 and counts[0] > 1, counts[0]

    return max(_DELIMITERS, key=fitness)


def _complete_rows(lines: list[str], delimiter: str) -> Iterator[list[str]]:
    """Yield the rows of the first lines, up to where one is broken or goes on behind them."""
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        yield from (row for row in reader if row)
    except csv.Error:
        return


def _names(cells: list[str]) -> tuple[str, ...]:
    """Return the names of columns; those without any are numbered."""
    return tuple(cell.strip() or f"column_{number}" for number, cell in enumerate(cells, start=1))


def _shown(cells: list[str]) -> str:
    return ", ".join(cells[:5]) + (", …" if len(cells) > 5 else "")


def _quick_numbers(cells: tuple[str, ...]) -> NDArray[np.float64] | None:
    try:
        return np.fromiter(map(float, cells), np.float64, len(cells))
    except ValueError:
        return None
