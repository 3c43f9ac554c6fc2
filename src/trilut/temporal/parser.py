"""From text to a formula.

From loosest to tightest: ``->`` (to the right), ``or``, ``and``, ``since`` and ``until`` (to the
left), then ``not`` and the operators of one formula, then comparisons. ``G F U H O S`` before a
bracket stand for ``always eventually until historically once since``, and ``! & | =>`` for ``not
and or ->``.
"""

import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from trilut.errors import FormulaError
from trilut.temporal.formula import (
    Atom,
    Comparison,
    Constant,
    Formula,
    Future,
    Join,
    Joint,
    Not,
    Past,
    Window,
    horizon,
)

__all__ = ["MAX_STEPS", "parse", "seconds"]

MAX_STEPS = 1 << 24
"""Longest window, and longest horizon of a formula, in steps."""

_MAX_DEPTH = 100
_MAX_TEXT = 1 << 16

_TOKEN = re.compile(
    r"""\s*(?:(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)
    |(?P<name>[^\W\d]\w*(?:\.\w+)*)
    |"(?P<quoted>[^"]*)"
    |(?P<sign>->|=>|>=|<=|&&|\|\||[-!&|()\[\],<>]))""",
    re.VERBOSE,
)
_SHORT = {
    **{"G": "always", "F": "eventually", "U": "until"},
    **{"H": "historically", "O": "once", "S": "since"},
}
_SIGNS = {"=>": "->", "&&": "and", "&": "and", "||": "or", "|": "or", "!": "not"}
_BINARY: dict[str, Past | Future] = {"since": Past.SINCE, "until": Future.UNTIL}
_OPERATORS: dict[str, Past | Future] = {
    each.value: each for each in (Past.ONCE, Past.HISTORICALLY, Future.EVENTUALLY, Future.ALWAYS)
}
_COMPARISONS = {each.value: each for each in Comparison}
# What a comparison says when its sides are exchanged.
_MIRRORED = {">=": "<=", ">": "<", "<=": ">=", "<": ">"}
_RESERVED = {"not", "and", "or", "true", "false", "inf", *_OPERATORS, *_BINARY}
_SECONDS = {"s": Decimal(1), "ms": Decimal("1e-3"), "us": Decimal("1e-6"), "ns": Decimal("1e-9")}


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    column: int


def parse(text: str, *, period: Decimal | None = None) -> Formula:
    """Read a formula.

    Parameters
    ----------
    period : Decimal, optional
        Seconds from one step to the next, for bounds that have a unit (``s``, ``ms``, ``us``,
        ``ns``). Bounds without one count steps.

    Raises
    ------
    FormulaError
        If the text is no formula; it names the column.
    """
    if len(text) > _MAX_TEXT:
        raise FormulaError(f"The formula has {len(text)} characters, expected at most {_MAX_TEXT}")
    reader = _Reader(_tokens(text), period)
    formula = reader.formula()
    reader.expect_end()
    if horizon(formula) > MAX_STEPS:
        raise FormulaError(
            f"The formula looks {horizon(formula)} steps ahead, expected at most {MAX_STEPS}"
        )
    return formula


def seconds(text: str) -> Decimal:
    """Read a time with its unit, such as ``10ms``.

    Raises
    ------
    FormulaError
        If it is none, or not above 0.
    """
    found = re.fullmatch(r"\s*([\d.eE+-]+)\s*(s|ms|us|ns)\s*", text)
    try:
        time = Decimal(found[1]) * _SECONDS[found[2]] if found else Decimal(0)
    except InvalidOperation:
        time = Decimal(0)
    if not (time.is_finite() and time > 0):
        raise FormulaError(
            f"{text!r} is no time, expected for example '10ms' ({', '.join(_SECONDS)})"
        )
    return time


def _tokens(text: str) -> list[_Token]:
    tokens, position = [], 0
    while position < len(text.rstrip()):
        found = _TOKEN.match(text, position)
        if not found:
            rest = text[position:].lstrip()
            column = len(text) - len(rest) + 1
            raise FormulaError(f"Column {column}: {rest[0]!r} has no place in a formula")
        kind = str(found.lastgroup)
        word = found[kind]
        column = found.start(kind) + 1
        if kind == "name" and word in _SHORT and text[found.end() : found.end() + 1] == "[":
            word = _SHORT[word]
        tokens.append(_Token(kind, _SIGNS.get(word, word) if kind == "sign" else word, column))
        position = found.end()
    tokens.append(_Token("end", "", len(text) + 1))
    return tokens


class _Reader:
    """Reads tokens by recursive descent, a method for each level."""

    def __init__(self, tokens: list[_Token], period: Decimal | None) -> None:
        self._tokens = tokens
        self._period = period
        self._at = 0
        self._depth = 0

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at]

    def _take(self) -> _Token:
        token = self._next
        self._at += 1
        return token

    def _is(self, *texts: str) -> bool:
        return self._next.kind != "quoted" and self._next.text in texts

    def _expect(self, text: str) -> None:
        if not self._is(text):
            raise self._wrong(f"{text!r}")
        self._take()

    def expect_end(self) -> None:
        if self._next.kind != "end":
            raise self._wrong("an operator or the end")

    def _wrong(self, expected: str) -> FormulaError:
        token = self._next
        found = "the end" if token.kind == "end" else repr(token.text)
        return FormulaError(f"Column {token.column}: expected {expected}, not {found}")

    def formula(self) -> Formula:
        left = self._or()
        if not self._is("->"):
            return left
        self._deeper()
        self._take()
        right = self.formula()
        self._depth -= 1
        return Join(Joint.IMPLIES, left, right)

    def _or(self) -> Formula:
        left = self._and()
        while self._is("or"):
            self._take()
            left = Join(Joint.OR, left, self._and())
        return left

    def _and(self) -> Formula:
        left = self._two_sided()
        while self._is("and"):
            self._take()
            left = Join(Joint.AND, left, self._two_sided())
        return left

    def _two_sided(self) -> Formula:
        left = self._unary()
        while self._is(*_BINARY):
            operator = _BINARY[self._next.text]
            lower, upper = self._bounds_of(operator)
            left = Window(operator, lower, upper, self._unary(), left)
        return left

    def _unary(self) -> Formula:
        self._deeper()
        if self._is("not"):
            self._take()
            formula: Formula = Not(self._unary())
        elif self._is(*_OPERATORS):
            operator = _OPERATORS[self._next.text]
            lower, upper = self._bounds_of(operator)
            formula = Window(operator, lower, upper, self._unary())
        else:
            formula = self._primary()
        self._depth -= 1
        return formula

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise FormulaError(f"Column {self._next.column}: nested more than {_MAX_DEPTH} deep")

    def _primary(self) -> Formula:
        if self._is("("):
            self._take()
            formula = self.formula()
            self._expect(")")
            return formula
        if self._is("true", "false"):
            return Constant(self._take().text == "true")
        if self._next.kind == "number" or self._is("-"):
            return self._mirrored()
        feature = self._feature()
        if not self._is(*_COMPARISONS):
            return Atom(feature, Comparison.ABOVE, 0.0)
        comparison = _COMPARISONS[self._take().text]
        return Atom(feature, comparison, self._number())

    def _mirrored(self) -> Formula:
        limit = self._number()
        if not self._is(*_COMPARISONS):
            raise self._wrong("a comparison")
        comparison = _COMPARISONS[_MIRRORED[self._take().text]]
        return Atom(self._feature(), comparison, limit)

    def _feature(self) -> str:
        token = self._next
        is_name = token.kind == "quoted" or (token.kind == "name" and token.text not in _RESERVED)
        if not is_name:
            raise self._wrong("a feature, a number or '('")
        return self._take().text

    def _number(self) -> float:
        is_negative = self._is("-")
        if is_negative:
            self._take()
        if self._next.kind != "number":
            raise self._wrong("a number")
        number = float(self._take().text)
        if number == float("inf"):
            raise FormulaError(f"Column {self._tokens[self._at - 1].column}: too large a number")
        return -number if is_negative else number

    def _bounds_of(self, operator: Past | Future) -> tuple[int, int | None]:
        """Read an operator with its bounds."""
        column = self._take().column
        is_future = isinstance(operator, Future)
        if not self._is("["):
            if is_future:
                raise FormulaError(
                    f"Column {column}: {operator.value!r} looks ahead, so it needs bounds, for "
                    f"example {operator.value}[0,10]"
                )
            return 0, None
        self._take()
        lower = self._steps()
        self._expect(",")
        upper: int | None = None
        if self._is("inf") and not is_future:
            self._take()
        else:
            upper = self._steps()
        self._expect("]")
        if upper is not None and upper < lower:
            raise FormulaError(f"Column {column}: the window [{lower},{upper}] is empty")
        return lower, upper

    def _steps(self) -> int:
        token = self._next
        if token.kind != "number":
            raise self._wrong("a number of steps")
        self._take()
        number = Decimal(token.text)
        if self._next.kind == "name" and self._next.text in _SECONDS:
            if self._period is None:
                raise FormulaError(
                    f"Column {token.column}: a time needs the period of the samples (--period)"
                )
            number = number * _SECONDS[self._take().text] / self._period
        if number != int(number):
            raise FormulaError(f"Column {token.column}: {number:g} is no whole number of steps")
        if number > MAX_STEPS:
            raise FormulaError(
                f"Column {token.column}: {token.text} steps, expected at most {MAX_STEPS}"
            )
        return int(number)
