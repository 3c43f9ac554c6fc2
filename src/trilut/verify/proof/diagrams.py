"""Decision diagrams: functions of variables that take a few values each, in one normal form."""

from collections.abc import Iterable, Sequence
from itertools import repeat

__all__ = ["Diagrams", "Function"]

Function = int
"""Twice a node's number, plus one if it is inverted; 0 is FALSE and 1 is TRUE."""


class Diagrams:
    """Functions that are equal if and only if their numbers are.

    A node asks for one variable and has a function for each of its values. Variables are asked in
    the order of their numbers.

    Parameters
    ----------
    max_nodes : int
        How large the diagrams may become.
    """

    def __init__(self, max_nodes: int):
        self._max_nodes = max_nodes
        self._nodes: list[tuple[int, tuple[Function, ...]] | None] = [None]
        self._numbers: dict[tuple[int, tuple[Function, ...]], Function] = {}
        self._ands: dict[tuple[Function, Function], Function] = {}

    def choose(self, variable: int, functions: Sequence[Function]) -> Function:
        """Return the function that is another one for each value of a variable.

        Raises
        ------
        MemoryError
            If the diagrams become too large.
        """
        if len(set(functions)) == 1:
            return functions[0]
        # Of a node and its inverse only that exists which is regular for the first value.
        flip = functions[0] & 1
        key = (variable, tuple(function ^ flip for function in functions))
        found = self._numbers.get(key)
        if found is None:
            if len(self._nodes) >= self._max_nodes:
                raise MemoryError(f"Diagrams of more than {self._max_nodes} nodes")
            found = self._numbers[key] = 2 * len(self._nodes)
            self._nodes.append(key)
        return found ^ flip

    def both(self, f: Function, g: Function) -> Function:
        """Return f and g."""
        if f > g:
            f, g = g, f
        if f == 0 or f ^ 1 == g:
            return 0
        if f in (1, g):
            return g
        found = self._ands.get((f, g))
        if found is None:
            variable = self.first_variable((f, g))
            pairs = zip(self.parts(f, variable), self.parts(g, variable), strict=False)
            found = self.choose(variable, [self.both(*pair) for pair in pairs])
            self._ands[f, g] = found
        return found

    def first_variable(self, functions: Iterable[Function]) -> int:
        """Return the first variable that functions ask for, which are not all constant."""
        nodes = (self._nodes[function >> 1] for function in functions)
        return min(node[0] for node in nodes if node is not None)

    def parts(self, function: Function, variable: int) -> Iterable[Function]:
        """Return what a function is for each value of a variable, for ever if it does not matter.

        The function asks for no variable before that one.
        """
        node = self._nodes[function >> 1]
        if node is None or node[0] != variable:
            return repeat(function)
        return [part ^ function & 1 for part in node[1]]
