"""Tables of text, the same on the terminal, in Markdown and on a page."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from trilut.text import escape_markdown

__all__ = ["Table", "two_columns"]

_NUMBER = re.compile(r"[+−-]?[0-9].*|–|")


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Parameters
    ----------
    title : str
        What it shows.
    header : tuple of str
        The names of the columns.
    rows : tuple of tuple of str
        The cells, as many in each row as there are columns.
    notes : tuple of str
        Sentences to print below, because the figures mislead without them.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    @property
    def numeric(self) -> tuple[bool, ...]:
        """Whether each column holds numbers, which stand at the right."""
        return tuple(
            index > 0 and all(_NUMBER.fullmatch(row[index]) for row in self.rows)
            for index in range(len(self.header))
        )

    def markdown(self) -> str:
        """Return the table as Markdown, with its title as a heading."""
        rules = ["---:" if numeric else "---" for numeric in self.numeric]
        lines = [_line(self.header), _line(rules), *map(_line, self.rows)]
        notes = [text for note in self.notes for text in ("", escape_markdown(note))]
        return "\n".join([f"## {escape_markdown(self.title)}", "", *lines, *notes, ""])


def two_columns(title: str, rows: Mapping[str, str], *notes: str) -> Table:
    """Return names and values as a table without a header."""
    return Table(title, ("", ""), tuple(rows.items()), notes)


def _line(cells: list[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(map(escape_markdown, cells))} |"
