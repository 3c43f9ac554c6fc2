"""Formulas of temporal logic over sampled signals.

A formula is true, false or UNKNOWN at each step of a trace. Its atoms compare a feature with a
number. Operators of the past look at the steps up to the present one, those of the future at the
steps from the present one on; bounds count steps, and both are included.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

__all__ = [
    "Atom",
    "Comparison",
    "Constant",
    "Formula",
    "Future",
    "Join",
    "Joint",
    "Not",
    "Past",
    "Window",
    "atoms",
    "horizon",
]


_PLAIN = re.compile(
    r"(?!(?:not|and|or|true|false|inf|once|historically|since|eventually|always|until)$)[^\W\d]\w*(?:\.\w+)*"
)


class Comparison(Enum):
    """How an atom compares a feature with a number."""

    AT_LEAST = ">="
    ABOVE = ">"
    AT_MOST = "<="
    BELOW = "<"


class Joint(Enum):
    """What joins two formulas of one step."""

    AND = "and"
    OR = "or"
    IMPLIES = "->"


class Past(Enum):
    """Operators that look back."""

    ONCE = "once"
    HISTORICALLY = "historically"
    SINCE = "since"


class Future(Enum):
    """Operators that look ahead."""

    EVENTUALLY = "eventually"
    ALWAYS = "always"
    UNTIL = "until"


@dataclass(frozen=True, slots=True)
class Atom:
    """A feature compared with a number."""

    feature: str
    comparison: Comparison
    limit: float

    def __str__(self) -> str:
        name = self.feature if _PLAIN.fullmatch(self.feature) else f'"{self.feature}"'
        return f"{name} {self.comparison.value} {self.limit!r}"


@dataclass(frozen=True, slots=True)
class Constant:
    """True or false at every step."""

    is_true: bool

    def __str__(self) -> str:
        return "true" if self.is_true else "false"


@dataclass(frozen=True, slots=True)
class Not:
    """The negation of a formula."""

    child: "Formula"

    def __str__(self) -> str:
        return f"not {_inner(self.child)}"


@dataclass(frozen=True, slots=True)
class Join:
    """Two formulas of the same step."""

    joint: Joint
    left: "Formula"
    right: "Formula"

    def __str__(self) -> str:
        return f"{_inner(self.left)} {self.joint.value} {_inner(self.right)}"


@dataclass(frozen=True, slots=True)
class Window:
    """An operator over a window of steps.

    Parameters
    ----------
    operator : Past or Future
        What it asks of the window.
    lower, upper : int
        The first and the last step of the window, counted from the present one; an operator of the
        past may have no last step, which is then None.
    right : Formula
        What must hold in the window.
    left : Formula, optional
        What must hold until then, of ``since`` and ``until``.
    """

    operator: Past | Future
    lower: int
    upper: int | None
    right: "Formula"
    left: "Formula | None" = None

    def __str__(self) -> str:
        bounds = "" if self.upper is None and self.lower == 0 else f"[{self._bounds()}]"
        operator = f"{self.operator.value}{bounds}"
        if self.left is None:
            return f"{operator} {_inner(self.right)}"
        return f"{_inner(self.left)} {operator} {_inner(self.right)}"

    def _bounds(self) -> str:
        return f"{self.lower},{'inf' if self.upper is None else self.upper}"


Formula = Atom | Constant | Not | Join | Window


def _inner(formula: Formula) -> str:
    is_plain = isinstance(formula, Atom | Constant | Not)
    return str(formula) if is_plain else f"({formula})"


def horizon(formula: Formula) -> int:
    """Return how many steps after a step its verdict may still be open."""
    match formula:
        case Window(operator, _, upper, right, left):
            inner = max(horizon(right), horizon(left) if left is not None else 0)
            return inner + (upper or 0 if isinstance(operator, Future) else 0)
        case Not(child):
            return horizon(child)
        case Join(_, left, right):
            return max(horizon(left), horizon(right))
    return 0


def atoms(formula: Formula) -> Iterator[Atom]:
    """Give the atoms of a formula from left to right, each as often as it stands there."""
    match formula:
        case Atom():
            yield formula
        case Not(child):
            yield from atoms(child)
        case Join(_, left, right):
            yield from atoms(left)
            yield from atoms(right)
        case Window(_, _, _, right, left):
            if left is not None:
                yield from atoms(left)
            yield from atoms(right)
