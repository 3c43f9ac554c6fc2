"""Data frames of pandas, polars and others, and Parquet files, as tables."""

from collections.abc import Callable, Iterator
from datetime import date, time
from pathlib import Path
from typing import Any

import numpy as np

from trilut.data.columns import Column, Table, text_column
from trilut.errors import DataError, FormatError
from trilut.extras import require

__all__ = ["frame_table", "read_parquet"]


def frame_table(frame: Any, title: str = "frame") -> Table:
    """Return a data frame as a table.

    Numbers stay numbers; what is logical, text or a category becomes texts, and what says day or
    time a column of dates.

    Parameters
    ----------
    frame : data frame
        One of pandas, polars, or another library that narwhals knows.

    Raises
    ------
    DataError
        If it is no data frame, two columns have one name, or a column holds something else.
    ToolError
        If narwhals is not installed.
    """
    require("narwhals")
    import narwhals.stable.v2 as nw

    try:
        known = nw.from_native(frame, eager_only=True)
    except TypeError as error:
        raise DataError(
            f"The data are of type {type(frame).__name__}, expected a data frame"
        ) from error
    except ValueError as error:
        raise DataError(f"The data frame {title!r} cannot be used: {error}") from error
    columns: dict[str, Column] = {}
    # Not by name: pandas has columns whose names are numbers.
    for series in known.iter_columns():
        if str(series.name) in columns:
            raise DataError(f"{title!r} has two columns {series.name!r}, expected different names")
        columns[str(series.name)] = _column(series, title)
    return Table(title, columns)


def _column(series: Any, title: str) -> Column:
    import narwhals.stable.v2 as nw

    kind = series.dtype
    if kind.is_temporal():
        return Column(np.full(len(series), np.nan), is_date=True)
    if kind.is_numeric():
        return Column(_finite(series, title))
    if kind == nw.Unknown and bool(series.is_null().all()):
        return Column(np.full(len(series), np.nan))
    if kind in (nw.String, nw.Categorical, nw.Enum, nw.Boolean, nw.Object):
        cells = zip(series.to_list(), series.is_null().to_list(), strict=True)
        return text_column(
            None if is_null else _text(cell, series.name, title) for cell, is_null in cells
        )
    raise DataError(
        f"The column {series.name!r} of {title!r} has the type {kind}, expected numbers or texts"
    )


def _finite(series: Any, title: str) -> Any:
    values = np.array(series.to_numpy(), dtype=np.float64)
    for row in np.flatnonzero(np.isinf(values)):
        raise DataError(
            f"Row {row} of {title!r} has {values[row]} in the column {series.name!r}, "
            "expected a finite number, or nothing if it is missing"
        )
    return values


def _text(cell: object, name: str, title: str) -> str:
    if isinstance(cell, str | bool | int | float | np.generic | date | time):
        return str(cell)
    raise DataError(
        f"The column {name!r} of {title!r} holds a value of type {type(cell).__name__}, "
        "expected numbers or texts"
    )


def read_parquet(path: Path, choose: Callable[[tuple[str, ...]], list[str]]) -> Iterator[Table]:
    """Read a Parquet file, part by part.

    Parameters
    ----------
    choose : callable
        Returns the columns to read, of all that there are.

    Raises
    ------
    FormatError
        If it cannot be read.
    DataError
        If a column holds something else than numbers, texts or dates.
    ToolError
        If pyarrow or narwhals is not installed.
    """
    require("pyarrow", "narwhals")
    import pyarrow
    from pyarrow import parquet

    try:
        with path.open("rb") as stream:
            file = parquet.ParquetFile(stream)
            columns = choose(tuple(file.schema_arrow.names))
            yield frame_table(file.schema_arrow.empty_table().select(columns), str(path))
            for batch in file.iter_batches(columns=columns):
                yield frame_table(pyarrow.Table.from_batches([batch]), str(path))
    except OSError as error:
        raise FormatError(f"Cannot read {str(path)!r}: {error.strerror or error}") from error
    except pyarrow.ArrowException as error:
        raise FormatError(f"{str(path)!r} is not a Parquet file: {error}") from error
