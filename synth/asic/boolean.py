"""Functions of standard cells, as liberty writes them: ``!(A B) + C'``."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_, xor
from typing import Generic, TypeVar

from trilut.errors import FormatError

__all__ = ["Function", "function_names", "function_verilog", "parse_function"]

Function = Callable[[Mapping[str, int]], int]
"""The value of a function for values of the pins that it names.

A value is an integer of many bits, each a case of its own; a negation sets all bits above them.
"""

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class _Algebra(Generic[_Value]):
    """What a function is made into: of a pin or a constant, a negation, an operator and terms."""

    leaf: Callable[[str], _Value]
    negated: Callable[[_Value], _Value]
    joined: Callable[[str, list[_Value]], _Value]


_TOKEN = re.compile(r"\s*([A-Za-z_][\w\[\]]*|[01]|[!'()&*|+^])")
_NAME = re.compile(r"[A-Za-z_][\w\[\]]*")
_MAX_LENGTH = 10_000
_MAX_DEPTH = 50


def parse_function(text: str) -> Function:
    """Read a function: ``!`` and ``'`` negate, then ``^``, then and (also by nothing), then or.

    Raises
    ------
    FormatError
        If the text is no function.
    """
    return _parse(text, _FUNCTIONS)


def function_verilog(text: str) -> str:
    """Return a function as Verilog writes it.

    Raises
    ------
    FormatError
        If the text is no function.
    """
    return _parse(text, _VERILOG)


def _parse(text: str, algebra: _Algebra[_Value]) -> _Value:
    parser = _Parser(text, algebra)
    result = parser.either(0)
    if parser.next is not None:
        raise parser.error()
    return result


def function_names(text: str) -> frozenset[str]:
    """Return what a function reads: pins, or the state of a flip-flop."""
    return frozenset(_NAME.findall(text))


class _Parser(Generic[_Value]):
    def __init__(self, text: str, algebra: _Algebra[_Value]):
        self._text = text
        self._algebra = algebra
        self._tokens = iter(self._split())
        self.next = next(self._tokens, None)

    def _split(self) -> list[str]:
        tokens, position, text = [], 0, self._text.rstrip()
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None or len(text) > _MAX_LENGTH:
                raise self.error()
            tokens.append(match[1])
            position = match.end()
        return tokens

    def error(self) -> FormatError:
        return FormatError(f"{self._text[:60]!r} is not the function of a cell")

    def _take(self) -> str:
        token = self.next
        if token is None:
            raise self.error()
        self.next = next(self._tokens, None)
        return token

    def either(self, depth: int) -> _Value:
        if depth > _MAX_DEPTH:
            raise self.error()
        terms = [self._both(depth)]
        while self.next is not None and self.next in "|+":
            self._take()
            terms.append(self._both(depth))
        return self._join("|", terms)

    def _both(self, depth: int) -> _Value:
        terms = [self._differ(depth)]
        while self.next is not None and self.next not in "|+)":
            if self.next in "&*":
                self._take()
            terms.append(self._differ(depth))
        return self._join("&", terms)

    def _differ(self, depth: int) -> _Value:
        terms = [self._pin(depth)]
        while self.next == "^":
            self._take()
            terms.append(self._pin(depth))
        return self._join("^", terms)

    def _pin(self, depth: int) -> _Value:
        token = self._take()
        inverted = False
        while token == "!":
            inverted, token = not inverted, self._take()
        if token == "(":
            value = self.either(depth + 1)
            if self._take() != ")":
                raise self.error()
        elif token in "01" or token[0].isalpha() or token[0] == "_":
            value = self._algebra.leaf(token)
        else:
            raise self.error()
        while self.next == "'":
            self._take()
            inverted = not inverted
        return self._algebra.negated(value) if inverted else value

    def _join(self, operator: str, terms: list[_Value]) -> _Value:
        return terms[0] if len(terms) == 1 else self._algebra.joined(operator, terms)


_CONSTANTS = {"0": 0, "1": -1}
_OPERATORS = {"&": and_, "|": or_, "^": xor}


def _read(name: str) -> Function:
    if name in _CONSTANTS:
        return lambda pins: _CONSTANTS[name]
    return lambda pins: pins[name]


def _fold(operator: str, terms: list[Function]) -> Function:
    operation = _OPERATORS[operator]
    if len(terms) == 2:
        first, second = terms
        return lambda pins: operation(first(pins), second(pins))
    return lambda pins: reduce(operation, [term(pins) for term in terms])


_FUNCTIONS: _Algebra[Function] = _Algebra(
    _read, lambda function: lambda pins: ~function(pins), _fold
)
_VERILOG: _Algebra[str] = _Algebra(
    lambda name: f"1'b{name}" if name in _CONSTANTS else name,
    lambda text: f"~{text}",
    lambda operator, terms: f"({f' {operator} '.join(terms)})",
)
