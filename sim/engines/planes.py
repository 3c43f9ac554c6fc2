"""Bit planes, and the instructions that compute on them.

A *plane* holds one bit of one net for many samples, 64 in a word. A ternary net has two planes side
by side, *plus* = [v = +1] at an even number and *minus* = [v = −1] at the odd number after it; a
binary net has only plus. An instruction computes one plane from two operands, each of them a plane
and its neighbour, number ^ 1. To negate an operand is to name its other plane, and to exchange
operands is free, so 512 functions of two trits are only 102 up to these: one *kernel* each.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import CodeType
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "FIRST_LUT",
    "Kernel",
    "PlaneFunctions",
    "binary_functions",
    "kernels",
    "lut",
    "lut_inputs",
    "ternary_functions",
]

FIRST_LUT = 118
"""The number of the kernel of LUTs of three inputs; those of four, five and six are the next."""

# For the rows where it is true: the operations that an expression takes, and the expression.
_Table = dict[int, tuple[int, str]]

_LEAVES = ("ap", "am", "bp", "bm")


@dataclass(frozen=True, slots=True)
class Kernel:
    """What an instruction computes.

    Parameters
    ----------
    expression : str
        Over the planes ``ap``, ``am`` of the first operand, ``bp``, ``bm`` of the second, and the
        constants ``zero`` and ``one``; with the operators ``& | ^ ~`` it means the same in C and in
        Python.
    """

    expression: str

    @property
    def leaves(self) -> tuple[str, ...]:
        """The planes that the kernel reads."""
        return tuple(leaf for leaf in _LEAVES if leaf in self.expression)

    def apply(self, bits: Mapping[str, Any]) -> Any:
        """Compute over anything that has ``& | ^ ~``, such as numpy arrays of words."""
        return eval(_compiled(self.expression), {}, dict(bits))


@dataclass(frozen=True, slots=True, eq=False)
class PlaneFunctions:
    """How to compute each function of two truth values, as arrays indexed by the function.

    A function is a number: bit r is its value on row r of a table.

    Parameters
    ----------
    kernel : int64 array [function]
        The kernel that computes it.
    swap, negate_a, negate_b : bool array [function]
        What to do to the operands first: negate them, then exchange them.
    """

    kernel: NDArray[np.int64]
    swap: NDArray[np.bool_]
    negate_a: NDArray[np.bool_]
    negate_b: NDArray[np.bool_]


def _search(leaves: Mapping[int, str], num_rows: int) -> _Table:
    """Find an expression with the fewest operations for every function of some rows."""
    everything = (1 << num_rows) - 1
    best: _Table = {0: (0, "zero"), everything: (0, "one")}
    best.update({function: (0, leaf) for function, leaf in leaves.items()})
    by_cost = [list(best)]
    while len(best) <= everything:
        cost = len(by_cost)
        found: _Table = {}
        for left_cost in range(cost):
            for left in by_cost[left_cost]:
                for right in by_cost[cost - 1 - left_cost]:
                    _join(left, right, cost, everything, best, found)
        best.update(found)
        by_cost.append(sorted(found))
    return best


def _join(left: int, right: int, cost: int, mask: int, best: _Table, found: _Table) -> None:
    x, y = best[left][1], best[right][1]
    # The last is one operation of vector units: and-not.
    joined = (
        (left & right, f"({x} & {y})"),
        (left | right, f"({x} | {y})"),
        (left ^ right, f"({x} ^ {y})"),
        (~left & right & mask, f"(~{x} & {y})"),
    )
    for function, expression in joined:
        if function not in best and function not in found:
            found[function] = (cost, expression)


def _function(pairs: Sequence[tuple[int, int]], port: int, value: int) -> int:
    return sum((pair[port] == value) << row for row, pair in enumerate(pairs))


_TRITS = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1)]
_BITS = [(a, b) for a in (-1, 1) for b in (-1, 1)]

# The ways to present the operands: (swap, negate a, negate b).
_VIEWS = [(swap, a, b) for swap in (0, 1) for a in (0, 1) for b in (0, 1)]


def _seen(function: int, swap: int, negate_a: int, negate_b: int) -> int:
    """Return a ternary function as one of its operands after negation and exchange."""
    result = 0
    for row, (a, b) in enumerate(_TRITS):
        if function >> row & 1:
            x, y = (-a if negate_a else a), (-b if negate_b else b)
            if swap:
                x, y = y, x
            result |= 1 << 3 * (x + 1) + y + 1
    return result


@cache
def _ternary() -> tuple[tuple[Kernel, ...], PlaneFunctions]:
    leaves = {
        _function(_TRITS, port, value): name + sign
        for port, name in enumerate("ab")
        for value, sign in ((1, "p"), (-1, "m"))
    }
    table = _search(leaves, 9)
    # Among the functions of a class, the one whose expression is cheapest, then plainest.
    views = [
        min(
            (*table[_seen(function, *view)], _seen(function, *view), number)
            for number, view in enumerate(_VIEWS)
        )
        for function in range(512)
    ]
    classes = sorted({view[2] for view in views})
    kernels = tuple(Kernel(table[function][1]) for function in classes)
    chosen = np.array([_VIEWS[view[3]] for view in views], dtype=np.bool_)
    number = {function: index for index, function in enumerate(classes)}
    return kernels, PlaneFunctions(np.array([number[view[2]] for view in views]), *chosen.T)


@cache
def _binary() -> tuple[tuple[Kernel, ...], PlaneFunctions]:
    leaves = {_function(_BITS, port, 1): name + "p" for port, name in enumerate("ab")}
    table = _search(leaves, 4)
    kernels = tuple(Kernel(table[function][1]) for function in range(16))
    none = np.zeros(16, dtype=np.bool_)
    return kernels, PlaneFunctions(len(_ternary()[0]) + np.arange(16), none, none, none)


def ternary_functions() -> PlaneFunctions:
    """Return how to compute the 512 functions of two trits."""
    return _ternary()[1]


def binary_functions() -> PlaneFunctions:
    """Return how to compute the 16 functions of two bits, from plus planes alone."""
    return _binary()[1]


def kernels() -> tuple[Kernel, ...]:
    """Return all kernels of two operands; instructions name them by their index."""
    both = _ternary()[0] + _binary()[0]
    assert len(both) == FIRST_LUT
    return both


def lut(bits: Callable[[int], Any], inputs: Sequence[Any]) -> Any:
    """Look up a table over anything that has ``& ^``, such as arrays of words, by halving it.

    Parameters
    ----------
    bits : callable
        Gives the value of a row of the table, for all samples.
    inputs : sequence
        The inputs; input k is bit k of a row.
    """
    if not inputs:
        return bits(0)
    *rest, last = inputs
    half = 1 << len(rest)
    low, high = lut(bits, rest), lut(lambda row: bits(row + half), rest)
    return low ^ (last & (low ^ high))


def lut_inputs(kernel: int) -> int:
    """Return how many inputs the LUTs of a kernel have."""
    return kernel - FIRST_LUT + 3


@cache
def _compiled(expression: str) -> CodeType:
    return compile(expression, "<kernel>", "eval")
