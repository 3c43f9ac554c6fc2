"""The cheapest formula of a gate over dual-rail trits.

A dual-rail trit is two bits, *plus* = [v = +1] and *minus* = [v = −1]; both at once is illegal and
never occurs. A gate is two *planes*, one bit function each, of the four bits of its inputs. Only
the pairs of values that its inputs can take matter, so a plane is fully described by its bits on
those pairs, and every formula that agrees there is equally right. For the gate ``and`` the cheapest
pair is plus = a.plus & b.plus, minus = a.minus | b.minus.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["ALL_ROWS", "Formula", "gate_formulas", "netlist_formulas", "plane_formulas"]

Operator = Literal["&", "|", "^"]

ALL_ROWS = tuple(range(9))
"""The rows of a ternary table; row 3(a+1) + (b+1) is the pair of values (a, b)."""

# Cost in nodes of an and-inverter graph, where inversion is free.
_COST: dict[Operator, int] = {"&": 1, "|": 1, "^": 3}


@dataclass(frozen=True, slots=True, eq=False)
class Formula:
    """A tree of two-input operators; inversions stand at the leaves only.

    Each is made once, by :func:`plane_formulas`, and compared by identity: as the key of a
    dictionary it costs no more than a number.

    Parameters
    ----------
    operator : str or None
        ``&``, ``|`` or ``^`` of the two operands, or None at a leaf.
    operands : tuple of Formula
        Two, or none at a leaf.
    leaf : str
        ``a_plus``, ``a_minus``, ``b_plus``, ``b_minus`` or ``one``.
    inverted : bool
        Whether the leaf is inverted; ``one`` inverted is the constant 0.
    """

    operator: Operator | None = None
    operands: tuple["Formula", ...] = ()
    leaf: str = ""
    inverted: bool = False

    @property
    def leaves(self) -> frozenset[str]:
        """Names of the bits that the formula reads."""
        if self.operator is None:
            return frozenset() if self.leaf == "one" else frozenset({self.leaf})
        return self.operands[0].leaves | self.operands[1].leaves

    @property
    def num_nodes(self) -> int:
        """Number of operators, an exclusive-or counted as three."""
        if self.operator is None:
            return 0
        return _COST[self.operator] + sum(operand.num_nodes for operand in self.operands)

    def build(self, bits: Mapping[str, Any]) -> Any:
        """Evaluate over anything that has ``& | ^ ~``; ``bits`` maps leaf names to values."""
        if self.operator is None:
            return ~bits[self.leaf] if self.inverted else bits[self.leaf]
        left, right = (operand.build(bits) for operand in self.operands)
        match self.operator:
            case "&":
                return left & right
            case "|":
                return left | right
            case "^":
                return left ^ right

    def text(self, names: Mapping[str, str]) -> str:
        """Write as a Verilog expression; ``names`` maps leaf names to names of bits."""
        if self.operator is None:
            if self.leaf == "one":
                return "1'b0" if self.inverted else "1'b1"
            return ("~" if self.inverted else "") + names[self.leaf]
        left, right = (
            f"({operand.text(names)})" if operand.operator else operand.text(names)
            for operand in self.operands
        )
        return f"{left} {self.operator} {right}"


def netlist_formulas(
    tables: NDArray[np.int8], rows: NDArray[np.bool_]
) -> list[tuple[Formula, Formula]]:
    """Return the cheapest formulas (plus, minus) of many gates.

    Parameters
    ----------
    tables : int8 array [gate, 9]
        Ternary truth tables.
    rows : bool array [gate, 9]
        The rows that can occur.
    """
    plus = np.zeros(len(tables), dtype=np.int64)
    minus = np.zeros(len(tables), dtype=np.int64)
    row_sets = rows @ (1 << np.arange(9))
    chosen: list[tuple[Formula, ...]] = [()] * 512
    for row_set in np.unique(row_sets).tolist():
        own = row_sets == row_set
        members = tuple(row for row in range(9) if row_set >> row & 1)
        chosen[row_set] = plane_formulas(members)
        bits = 1 << np.arange(len(members))
        plus[own] = (tables[own][:, members] == 1) @ bits
        minus[own] = (tables[own][:, members] == -1) @ bits
    return [
        (chosen[row_set][p], chosen[row_set][m])
        for row_set, p, m in zip(row_sets.tolist(), plus.tolist(), minus.tolist(), strict=True)
    ]


def gate_formulas(table: Sequence[int], rows: Iterable[int] = ALL_ROWS) -> tuple[Formula, Formula]:
    """Return the cheapest formulas (plus, minus) of a ternary table.

    Parameters
    ----------
    table : sequence of 9 trits
        The gate.
    rows : iterable of int
        The rows that can occur; what the gate does on others is free.
    """
    rows = tuple(rows)
    formulas = plane_formulas(rows)
    plus = sum((table[row] == 1) << bit for bit, row in enumerate(rows))
    minus = sum((table[row] == -1) << bit for bit, row in enumerate(rows))
    return formulas[plus], formulas[minus]


@cache
def plane_formulas(rows: tuple[int, ...]) -> tuple[Formula, ...]:
    """Return the cheapest formula of every bit function on the given rows.

    Entry m is the function whose value on the r-th of the rows is bit r of m. Formulas are found in
    order of cost: the cheapest of cost c join two of costs that add up to c. Among equally cheap
    ones, the one that reads the fewest bits is kept.
    """
    pairs = [(row // 3 - 1, row % 3 - 1) for row in rows]
    num_functions = 1 << len(pairs)
    best: dict[int, tuple[int, int, Formula]] = {}
    by_cost: list[list[int]] = [[]]
    for function, leaf in _leaf_functions(pairs):
        if function not in best:
            best[function] = (0, len(leaf.leaves), leaf)
            by_cost[0].append(function)
    while len(best) < num_functions:
        found = _join(best, by_cost)
        best.update(found)
        by_cost.append(sorted(found))
    return tuple(best[function][2] for function in range(num_functions))


def _leaf_functions(pairs: list[tuple[int, int]]) -> list[tuple[int, Formula]]:
    bits = {
        "one": [True for _ in pairs],
        "a_plus": [a == 1 for a, _ in pairs],
        "a_minus": [a == -1 for a, _ in pairs],
        "b_plus": [b == 1 for _, b in pairs],
        "b_minus": [b == -1 for _, b in pairs],
    }
    everything = (1 << len(pairs)) - 1
    functions = []
    for name, values in bits.items():
        function = sum(value << bit for bit, value in enumerate(values))
        functions.append((function, Formula(leaf=name)))
        functions.append((function ^ everything, Formula(leaf=name, inverted=True)))
    # Without any row all functions are equal; a gate is then the constant 0 and not illegal.
    return functions if pairs else functions[1:]


def _join(
    best: dict[int, tuple[int, int, Formula]], by_cost: list[list[int]]
) -> dict[int, tuple[int, int, Formula]]:
    """Return the new functions whose cheapest formula costs one more than the costs so far."""
    cost = len(by_cost)
    found: dict[int, tuple[int, int, Formula]] = {}
    for operator, weight in _COST.items():
        for left_cost in range((cost - weight) // 2 + 1 if cost >= weight else 0):
            for left in by_cost[left_cost]:
                for right in by_cost[cost - weight - left_cost]:
                    function = _apply(operator, left, right)
                    if function in best:
                        continue
                    leaves = len(best[left][2].leaves | best[right][2].leaves)
                    if function not in found or leaves < found[function][1]:
                        formula = Formula(operator, (best[left][2], best[right][2]))
                        found[function] = (cost, leaves, formula)
    return found


def _apply(operator: Operator, left: int, right: int) -> int:
    match operator:
        case "&":
            return left & right
        case "|":
            return left | right
        case "^":
            return left ^ right
