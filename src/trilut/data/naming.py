"""The name of a table as a data set: its path, and behind it how to read it."""

import csv
import io
import os
import re
from collections.abc import Sequence
from pathlib import Path

from trilut.data.selection import TableOptions
from trilut.errors import DataError

__all__ = ["column_list", "read_columns", "read_options", "split_name", "table_name"]

# PATH:label=COLUMN:drop=COLUMN,COLUMN:no-header
_OPTION = re.compile(r":(?:(label|drop|features|categories)=|(header|no-header)(?=:|$))")


def split_name(name: str) -> tuple[str, str]:
    """Return the path in the name of a data set, and the options behind it as they stand there."""
    found = _OPTION.search(name, 1)
    if found is None or os.path.exists(name):
        return name, ""
    return name[: found.start()], name[found.start() :]


def read_options(name: str) -> tuple[Path, TableOptions]:
    """Return the path and the options in the name of a data set."""
    path, text = split_name(name)
    found = list(_OPTION.finditer(text))
    ends = [*(each.start() for each in found), len(text)][1:]
    settings: dict[str, object] = {}
    for each, end in zip(found, ends, strict=True):
        value = text[each.end() : end]
        if each[2]:
            settings["header"] = each[2] == "header"
        elif each[1] == "label":
            settings["label"] = value
        else:
            settings[each[1]] = read_columns(value)
    return Path(path), TableOptions(**settings)  # type: ignore[arg-type]  # by their own names


def table_name(path: str, options: TableOptions) -> str:
    """Return the name that stands for a table with these options."""
    lists = {key: getattr(options, key) for key in ("drop", "features", "categories")}
    return "".join(
        [
            path,
            f":label={options.label}" if options.label else "",
            *(f":{key}={column_list(names)}" for key, names in lists.items() if names),
            "" if options.header is None else ":header" if options.header else ":no-header",
        ]
    )


def column_list(names: Sequence[str]) -> str:
    """Return names of columns as text; those with a comma or quotes in quotes."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(names)
    return text.getvalue()


def read_columns(text: str) -> tuple[str, ...]:
    """Read names of columns with commas between them; a name with a comma is in quotes.

    Raises
    ------
    DataError
        If quotes are wrong.
    """
    try:
        rows = list(csv.reader([text], strict=True, skipinitialspace=True))
    except csv.Error as error:
        raise DataError(f"{text!r} is not a list of columns: {error}") from error
    return tuple(name.strip() for row in rows for name in row if name.strip())
