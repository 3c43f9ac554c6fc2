"""A setting: a field of a dataclass that knows what it may be, and how it is written as text."""

import math
from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, field, fields
from types import NoneType
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from trilut.training.errors import TrainingError

__all__ = [
    "NOT_NEGATIVE",
    "POSITIVE",
    "SHARE",
    "Expected",
    "Setting",
    "Settings",
    "setting",
    "settings_of",
    "within",
]


class Expected(NamedTuple):
    """What a number has to be: in words, as in "expected a positive number", and as a test."""

    text: str
    holds: Callable[[float], bool]


def within(lowest: int, highest: float = math.inf) -> Expected:
    """Expect a number from one bound to another, both included."""
    text = f"at least {lowest}" if highest == math.inf else f"{lowest}…{highest}"
    return Expected(text, lambda value: lowest <= value <= highest)


SHARE = within(0, 1)
POSITIVE = Expected("a positive number", lambda value: 0 < value < math.inf)
NOT_NEGATIVE = Expected("0 or a positive number", lambda value: 0 <= value < math.inf)

_KEY = "trilut"


def setting(
    default: Any = MISSING,
    expected: Expected | None = None,
    *,
    option: str = "",
    metavar: str = "",
) -> Any:
    """Return a field of a dataclass of settings.

    Parameters
    ----------
    default
        What it is if it is left out; without a default it cannot be.
    expected : Expected, optional
        What a number has to be. The choices of a word are those of its type, a ``Literal``.
    option : str
        Help of its command-line option. Without, and in a package's own parts, for which nothing
        is loaded before they are chosen, it can be given by ``--set`` only.
    metavar : str
        What stands for the value in that help.
    """
    return field(default=default, metadata={_KEY: (expected, option, metavar)})


@dataclass(frozen=True, slots=True)
class Setting:
    """What is known of a setting.

    Parameters
    ----------
    name : str
        Its name, which is the same in Python, after ``--set`` and in a netlist's provenance.
    kind : type
        ``int``, ``float``, ``bool``, ``str``, ``tuple`` of whole numbers, or the type of a tuple of
        other things.
    default
        What it is if it is left out; None if it cannot be.
    is_optional : bool
        Whether it may be None.
    choices : tuple of str
        The words that it may be; empty if it is no word.
    expected, option, metavar
        See :func:`setting`.
    """

    name: str
    kind: Any
    default: Any = None
    is_optional: bool = False
    choices: tuple[str, ...] = ()
    expected: Expected | None = None
    option: str = ""
    metavar: str = ""

    def check(self, value: Any) -> None:
        """Raise a TrainingError if it cannot have a value."""
        if value is None and self.is_optional:
            return
        if self.choices and value not in self.choices:
            raise TrainingError(
                f"Setting {self.name!r} is {value!r}, "
                f"expected {' or '.join(map(repr, self.choices))}"
            )
        if self.expected is not None and not self.expected.holds(value):
            raise TrainingError(f"Setting {self.name!r} is {value}, expected {self.expected.text}")

    def read(self, text: str) -> Any:
        """Return the value that a text stands for.

        Numbers and names have commas between them, groups of names semicolons, switches are
        ``true`` or ``false``, and what may be None may be ``none``.

        Raises
        ------
        TrainingError
            If the text is not of the type.
        """
        if self.is_optional and text == "none":
            return None
        # Of words there are choices, which the settings check when they are made.
        read, wanted = _READERS.get(self.kind, (str, "a word"))
        try:
            return read(text)
        except (ValueError, KeyError):
            raise TrainingError(f"Setting {self.name!r} is {text!r}, expected {wanted}") from None


def _parts(text: str, between: str) -> list[str]:
    return text.split(between) if text else []


_READERS: dict[Any, tuple[Callable[[str], Any], str]] = {
    bool: ({"true": True, "false": False}.__getitem__, "true or false"),
    float: (float, "a number"),
    int: (int, "a whole number"),
    tuple: (lambda text: tuple(map(int, text.split(","))), "whole numbers like 64,64,32"),
    tuple[float, ...]: (lambda text: tuple(map(float, _parts(text, ","))), "numbers like 0,0.5"),
    tuple[tuple[str, ...], ...]: (
        lambda text: tuple(tuple(_parts(group, ",")) for group in _parts(text, ";")),
        "names like a,b;c,d",
    ),
}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings that belong together. They are checked when they are made, so what exists is valid.

    A subclass is a frozen dataclass too. A field need not be made by :func:`setting`, but then it
    has neither bounds nor an option.

    Raises
    ------
    TrainingError
        If a setting is out of its range, or if settings do not go together.
    """

    def __post_init__(self) -> None:
        for name, known in settings_of(type(self)).items():
            known.check(getattr(self, name))
        self.check()

    def check(self) -> None:
        """Raise a TrainingError if settings, each in its range, do not go together."""


def settings_of(part: type[Settings]) -> dict[str, Setting]:
    """Return the settings of a dataclass by their names."""
    hints = get_type_hints(part)
    return {each.name: _setting(each, hints[each.name]) for each in fields(part)}


def _setting(declared: Field[Any], hint: Any) -> Setting:
    is_optional = NoneType in get_args(hint)
    if is_optional:
        (hint,) = (each for each in get_args(hint) if each is not NoneType)
    choices = get_args(hint) if get_origin(hint) is Literal else ()
    kind = str if choices else hint if hint in _READERS else get_origin(hint) or hint
    expected, option, metavar = declared.metadata.get(_KEY, (None, "", ""))
    default = None if declared.default is MISSING else declared.default
    return Setting(declared.name, kind, default, is_optional, choices, expected, option, metavar)
