"""Reading liberty, the language of standard cell libraries.

The only reader on PyPI is under a licence that ours cannot take in, and the language is small.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from trilut.errors import FormatError
from trilut.files import decompress, read_bytes

__all__ = ["Group", "LookupTable", "parse_liberty", "read_liberty"]

_MAX_BYTES = 256 << 20
_MAX_DEPTH = 32

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*|\\\r?\n", re.DOTALL)
# name : value ;   name (values) ;   name (values) {   }   and stray semicolons
_STATEMENT = re.compile(
    r"[\s;]*(?:(?P<end>\})|(?P<name>[A-Za-z_]\w*)\s*"
    r"(?::\s*(?P<value>\"[^\"]*\"|[^;\n{}\"]*)"
    r"|\((?P<values>(?:\"[^\"]*\"|[^\")])*)\)\s*(?P<open>\{)?))"
)
_REST = re.compile(r"[\s;]*\Z")
_VALUE = re.compile(r"\"([^\"]*)\"|([^\s,\"]+)")


@dataclass(slots=True)
class Group:
    """A group of statements, such as a cell, a pin or a table.

    Parameters
    ----------
    kind : str
        Its name in the language, for example ``cell``.
    names : tuple of str
        What stands in its parentheses.
    values : dict
        Attributes with one value.
    lists : dict
        Attributes with several values; of those that come again, the last.
    repeats : dict
        Attributes with several values, each time that they come.
    groups : list of Group
        The groups inside.
    """

    kind: str
    names: tuple[str, ...]
    values: dict[str, str] = field(default_factory=dict)
    lists: dict[str, tuple[str, ...]] = field(default_factory=dict)
    repeats: dict[str, list[tuple[str, ...]]] = field(default_factory=dict)
    groups: list["Group"] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The first of its names, or nothing."""
        return self.names[0] if self.names else ""

    def all(self, kind: str) -> Iterator["Group"]:
        """Give the groups of one kind."""
        return (group for group in self.groups if group.kind == kind)

    def number(self, name: str) -> float | None:
        """Return an attribute as a number, or None if there is none."""
        return _number(self.values.get(name, ""))


def read_liberty(path: Path) -> tuple[Group, bytes]:
    """Read a file, compressed with gzip or not; return the library and the plain text.

    Raises
    ------
    FormatError
        If the file cannot be read, is too large or is not liberty.
    """
    data = decompress(read_bytes(path, _MAX_BYTES), str(path), _MAX_BYTES)
    return parse_liberty(data.decode(errors="replace"), repr(str(path))), data


def parse_liberty(text: str, origin: str) -> Group:
    """Parse the text of a library; ``origin`` says in messages where it is from.

    Raises
    ------
    FormatError
        If it is not liberty.
    """
    # Lines must still count after comments and continued lines are gone.
    text = _COMMENT.sub(lambda match: "\n" * match[0].count("\n") or " ", text)
    root = Group("file", ())
    stack = [root]
    position = 0
    while match := _STATEMENT.match(text, position):
        position = match.end()
        if match["end"]:
            stack.pop()
        elif match["value"] is not None:
            stack[-1].values[match["name"]] = match["value"].strip().strip('"')
        else:
            values = tuple(quoted or plain for quoted, plain in _VALUE.findall(match["values"]))
            if match["open"]:
                group = Group(match["name"], values)
                stack[-1].groups.append(group)
                stack.append(group)
            else:
                stack[-1].lists[match["name"]] = values
                stack[-1].repeats.setdefault(match["name"], []).append(values)
        if not stack or len(stack) > _MAX_DEPTH:
            break
        if len(stack) == 1 and root.groups:
            break
    libraries = list(root.all("library"))
    if stack != [root] or not libraries or not _REST.match(text, position):
        line = text.count("\n", 0, position) + 1
        raise FormatError(
            f"{origin} is not a liberty file: line {line} is not part of a group 'library'"
        )
    return libraries[0]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _numbers(texts: tuple[str, ...]) -> list[float]:
    return [float(number) for text in texts for number in text.replace(",", " ").split()]


@dataclass(frozen=True, slots=True)
class LookupTable:
    """A value that depends on at most two variables, linear between the points of a grid.

    Parameters
    ----------
    variables : tuple of str
        What it depends on, as liberty calls it.
    axes : tuple of list
        Points of each variable.
    values : list
        The values, the last variable running fastest.
    """

    variables: tuple[str, ...]
    axes: tuple[list[float], ...]
    values: list[float]

    @classmethod
    def read(cls, group: Group, templates: Mapping[str, Group]) -> "LookupTable":
        """Read a table of a cell.

        Raises
        ------
        FormatError
            If it has the wrong number of values, or depends on more than two variables.
        """
        template = templates.get(group.name, Group("", ()))
        variables: list[str] = []
        axes: list[list[float]] = []
        try:
            for index in ("1", "2", "3"):
                if variable := template.values.get(f"variable_{index}"):
                    points = group.lists.get(f"index_{index}") or template.lists[f"index_{index}"]
                    variables.append(variable)
                    axes.append(_numbers(points))
            values = _numbers(group.lists["values"])
        except (ValueError, KeyError) as error:
            raise FormatError(f"Table {group.kind!r} ({group.name}) is damaged") from error
        size = 1
        for axis in axes:
            size *= len(axis)
            if not axis or any(a >= b for a, b in pairwise(axis)):
                raise FormatError(f"Table {group.kind!r} has an axis that does not rise")
        if len(axes) > 2 or len(values) != size:
            raise FormatError(f"Table {group.kind!r} has {len(values)} values, expected {size}")
        return cls(tuple(variables), tuple(axes), values)

    def at(self, point: Mapping[str, float]) -> float:
        """Look a value up, beyond the grid along its last piece; a variable not given is 0."""
        rows = self.values
        for variable, axis in zip(reversed(self.variables), reversed(self.axes), strict=True):
            rows = _interpolate(axis, rows, point.get(variable, 0.0))
        return rows[0]

    @property
    def least(self) -> dict[str, float]:
        """The lowest point of each axis."""
        return {name: axis[0] for name, axis in zip(self.variables, self.axes, strict=True)}


def _interpolate(axis: list[float], values: list[float], at: float) -> list[float]:
    """Look up along the variable that runs fastest."""
    width = len(axis)
    if width == 1:
        return values
    index = min(max(bisect_right(axis, at) - 1, 0), width - 2)
    share = (at - axis[index]) / (axis[index + 1] - axis[index])
    return [
        values[row + index] * (1 - share) + values[row + index + 1] * share
        for row in range(0, len(values), width)
    ]
