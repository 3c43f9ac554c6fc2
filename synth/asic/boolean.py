"""Functions of standard cells, as liberty writes them: ``!(A B) + C'``."""

import re
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from trilut.errors import FormatError

__all__ = ["Bits", "Function", "function_names", "parse_function"]

Bits = NDArray[np.bool_]
Function = Callable[[Mapping[str, Bits]], Bits]
"""The value of a function for values of the pins that it names."""

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
    parser = _Parser(text)
    function = parser.either(0)
    if parser.next is not None:
        raise parser.error()
    return function


def function_names(text: str) -> frozenset[str]:
    """Return what a function reads: pins, or the state of a flip-flop."""
    return frozenset(_NAME.findall(text))


class _Parser:
    def __init__(self, text: str):
        self._text = text
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

    def either(self, depth: int) -> Function:
        if depth > _MAX_DEPTH:
            raise self.error()
        terms = [self._both(depth)]
        while self.next is not None and self.next in "|+":
            self._take()
            terms.append(self._both(depth))
        return _fold(np.logical_or, terms)

    def _both(self, depth: int) -> Function:
        terms = [self._differ(depth)]
        while self.next is not None and self.next not in "|+)":
            if self.next in "&*":
                self._take()
            terms.append(self._differ(depth))
        return _fold(np.logical_and, terms)

    def _differ(self, depth: int) -> Function:
        terms = [self._pin(depth)]
        while self.next == "^":
            self._take()
            terms.append(self._pin(depth))
        return _fold(np.logical_xor, terms)

    def _pin(self, depth: int) -> Function:
        token = self._take()
        inverted = False
        while token == "!":
            inverted, token = not inverted, self._take()
        if token == "(":
            function = self.either(depth + 1)
            if self._take() != ")":
                raise self.error()
        elif token in "01":
            value = np.array([token == "1"])
            function = lambda pins: value  # noqa: E731 - a function like the others
        elif token[0].isalpha() or token[0] == "_":
            function = lambda pins: pins[token]  # noqa: E731
        else:
            raise self.error()
        while self.next == "'":
            self._take()
            inverted = not inverted
        return (lambda pins: ~function(pins)) if inverted else function


def _fold(operation: Callable[[Bits, Bits], Bits], terms: list[Function]) -> Function:
    if len(terms) == 1:
        return terms[0]

    def folded(pins: Mapping[str, Bits]) -> Bits:
        value = terms[0](pins)
        for term in terms[1:]:
            value = operation(value, term(pins))
        return value

    return folded
