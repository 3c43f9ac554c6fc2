"""Text from files, made fit to be shown: short enough, and without commands to a terminal."""

import difflib
import json
import re
from collections.abc import Iterable

__all__ = ["cut", "did_you_mean", "escape_markdown", "one_line", "quote", "visible"]

# Enough to see what a message is about, whatever a name in it has.
_MOST_CHARACTERS = 4000
# The control characters but tab and newline, and those that turn the direction of writing.
_INVISIBLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def cut(text: str, most: int) -> str:
    """Return text of at most so many characters; "…" stands for what is left out."""
    return text if len(text) <= most else text[: most - 1] + "…"


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return the end of a message that guesses what was meant, or nothing."""
    close = difflib.get_close_matches(name, list(names), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def escape_markdown(text: str) -> str:
    """Return text on one line that Markdown does not read as markup: it may be a name."""
    return re.sub(r"([\\`*_\[\]<>|#$&])", r"\\\1", visible(" ".join(text.split())))


def one_line(text: str) -> str:
    """Return a message as one line, not too long, whatever the names in it contain."""
    return cut(visible(" ".join(text.split())), _MOST_CHARACTERS)


def quote(value: object, most: int) -> str:
    """Return JSON on one line of ASCII for people; after so many characters it only counts them.

    What JSON has no form for is written as its ``str``.
    """
    text = visible(json.dumps(value, default=str))
    rest = len(text) - most
    return text if rest <= 0 else f"{text[:most]}... ({rest} more characters)"


def visible(text: str) -> str:
    r"""Return text in which control characters are written as escapes, such as ``\x1b``."""
    return _INVISIBLE.sub(lambda match: ascii(match.group())[1:-1], text)
