"""Tables of a TOML file, whose every value is checked when it is asked for."""

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from trilut.errors import FormatError
from trilut.files import parse_toml

__all__ = ["TomlTable"]


class TomlTable:
    """A table of a TOML file that a user may have written.

    A complaint names the file, the table, the key and the value, and says what was expected.

    Parameters
    ----------
    content : mapping
        What the table holds.
    origin : str
        What a complaint calls the file.
    path : str
        Where in the file the table stands, as its heading says; empty for the whole file.
    """

    def __init__(self, content: dict[str, Any], origin: str, path: str = ""):
        self._content = content
        self._origin = origin
        self._path = path

    @classmethod
    def parse(cls, content: bytes, origin: str) -> "TomlTable":
        """Read a file.

        Raises
        ------
        FormatError
            If it is not TOML.
        """
        return cls(parse_toml(content, origin), origin)

    def __contains__(self, key: str) -> bool:
        return key in self._content

    def __iter__(self) -> Iterator[str]:
        return iter(self._content)

    def get(self, key: str) -> Any:
        """Return a value of any type, None if there is none."""
        return self._content.get(key)

    def wrong(self, key: str, expected: str) -> FormatError:
        """Return the complaint about a value that is wrong or missing."""
        value = self._content.get(key)
        state = "is missing" if value is None else f"is {repr(value)[:80]}"
        return self._error(f"{key!r} {state}, expected {expected}")

    def check_keys(self, known: Collection[str]) -> None:
        """Refuse all keys but these."""
        for key in self._content:
            if key not in known:
                raise self._error(f"{key!r} is unknown, expected {', '.join(map(repr, known))}")

    def match_keys(
        self, pattern: re.Pattern[str], expected: str, refused: Collection[str] = ()
    ) -> None:
        """Refuse keys that are not like the pattern, and some that are."""
        for key in self._content:
            if not pattern.fullmatch(key) or key in refused:
                raise self._error(f"{key!r} is unknown, expected {expected}")

    def table(self, key: str, *, optional: bool = False) -> "TomlTable":
        """Return a table in this one; an optional one that is missing is empty."""
        value = self._content.get(key, {} if optional else None)
        if not isinstance(value, dict):
            raise self.wrong(key, "a table")
        return TomlTable(value, self._origin, f"{self._path}.{key}".removeprefix("."))

    def text(
        self, key: str, pattern: re.Pattern[str], expected: str, default: str | None = None
    ) -> str:
        """Return a text that is like the pattern."""
        value = self._content.get(key, default)
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise self.wrong(key, expected)
        return value

    def words(
        self, key: str, pattern: re.Pattern[str], expected: str, *, optional: bool = False
    ) -> tuple[str, ...]:
        """Return a list of texts, each like the pattern."""
        value = self._content.get(key, [] if optional else None)
        if not isinstance(value, list) or not all(
            isinstance(word, str) and pattern.fullmatch(word) for word in value
        ):
            raise self.wrong(key, f"a list of {expected}")
        return tuple(value)

    def choice(self, key: str, choices: Sequence[str], default: str | None = None) -> str:
        """Return one of several texts."""
        value = self._content.get(key, default)
        if value not in choices:
            raise self.wrong(key, f"one of {', '.join(map(str, choices))}")
        return str(value)

    def flag(self, key: str) -> bool:
        """Return whether a key is true; one that is missing is not."""
        value = self._content.get(key, False)
        if not isinstance(value, bool):
            raise self.wrong(key, "true or false")
        return value

    def _error(self, message: str) -> FormatError:
        heading = f"[{self._path}] " if self._path else ""
        return FormatError(f"{self._origin}: {heading}{message}")
