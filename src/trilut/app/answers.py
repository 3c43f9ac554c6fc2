"""Tables of answers, written part by part."""

import csv
import io
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from trilut.files import open_atomically
from trilut.text import visible

__all__ = ["rows_writer"]


@contextmanager
def rows_writer(
    output: str | Path | None,
) -> Iterator[Callable[[Sequence[Sequence[object]]], None]]:
    """Return what writes rows to a file, which is there when it is complete, or to stdout.

    No file, or one that is called ``-``, is stdout.
    """
    if output is None or str(output) == "-":
        yield _print
        return
    with open_atomically(Path(output)) as file:

        def write(rows: Sequence[Sequence[object]]) -> None:
            file.write(_text(rows).encode())

        yield write


def _print(rows: Sequence[Sequence[object]]) -> None:
    text = _text(rows)
    # Names must not command a terminal; line ends are the table's own.
    lines = "\n".join(map(visible, text.split("\n"))) if sys.stdout.isatty() else text
    print(lines, end="")


def _text(rows: Sequence[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
