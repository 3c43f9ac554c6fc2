"""Files that say which features come from one sensor."""

import csv
from pathlib import Path

from trilut.errors import DataError
from trilut.files import read_bytes

__all__ = ["read_groups"]

_MAX_BYTES = 1 << 24


def read_groups(path: Path) -> tuple[tuple[str, ...], ...]:
    """Return groups of names from a file with a line for each, the names divided by commas.

    Empty lines and those that start with ``#`` say nothing.

    Raises
    ------
    DataError
        If the file is not such text.
    FormatError
        If it cannot be read.
    """
    try:
        lines = read_bytes(path, _MAX_BYTES).decode("utf-8-sig").splitlines()
        told = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
        rows = list(csv.reader(told, skipinitialspace=True, strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{str(path)!r} is not a file of groups: {error}") from error
    return tuple(tuple(name.strip() for name in row) for row in rows)
