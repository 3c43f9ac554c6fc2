"""And-inverter graphs: logic in one normal form, to be simulated and proven equal."""

from collections.abc import Container, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["FALSE", "TRUE", "Aig", "Literal", "Words"]

Literal = int
"""A node and whether it is inverted: twice the node's number, plus one if it is."""

Words = NDArray[np.uint64]
"""One bit of many patterns, 64 a word."""

FALSE: Literal = 0
TRUE: Literal = 1


class Aig:
    """A growing graph of inputs and two-input ands.

    Node 0 is the constant FALSE. An and has a higher number than what it reads, and no two ands
    read the same literals.

    Attributes
    ----------
    fanins : list of tuple
        The two literals that each node reads; an input, and node 0, has none.
    """

    def __init__(self) -> None:
        self.fanins: list[tuple[Literal, Literal] | None] = [None]
        self._ands: dict[tuple[Literal, Literal], Literal] = {}

    def __len__(self) -> int:
        return len(self.fanins)

    def input(self) -> Literal:
        """Add an input."""
        self.fanins.append(None)
        return 2 * len(self.fanins) - 2

    def inputs(self, count: int) -> list[Literal]:
        """Add several inputs."""
        return [self.input() for _ in range(count)]

    def both(self, a: Literal, b: Literal) -> Literal:
        """Return a and b."""
        if a > b:
            a, b = b, a
        if a == FALSE or a ^ 1 == b:
            return FALSE
        if a in (TRUE, b):
            return b
        found = self._ands.get((a, b))
        if found is None:
            self.fanins.append((a, b))
            found = self._ands[a, b] = 2 * len(self.fanins) - 2
        return found

    def either(self, a: Literal, b: Literal) -> Literal:
        """Return a or b."""
        return self.both(a ^ 1, b ^ 1) ^ 1

    def differ(self, a: Literal, b: Literal) -> Literal:
        """Return a exclusive-or b."""
        return self.either(self.both(a, b ^ 1), self.both(a ^ 1, b))

    def choose(self, condition: Literal, then: Literal, otherwise: Literal) -> Literal:
        """Return one of two literals."""
        if then == otherwise:
            return then
        return self.either(self.both(condition, then), self.both(condition ^ 1, otherwise))

    def all(self, literals: Iterable[Literal]) -> Literal:
        """Return the and of some literals."""
        result = TRUE
        for literal in literals:
            result = self.both(result, literal)
        return result

    def any(self, literals: Iterable[Literal]) -> Literal:
        """Return the or of some literals."""
        return self.all(literal ^ 1 for literal in literals) ^ 1

    def substitute(
        self, literals: Sequence[Literal], leaves: Mapping[int, Literal]
    ) -> list[Literal]:
        """Return literals with some inputs replaced by other literals, given by their nodes."""
        known = {0: FALSE, **leaves}
        for node in self.cone(literals, known):
            fanins = self.fanins[node]
            known[node] = (
                2 * node
                if fanins is None
                else self.both(*(known[each >> 1] ^ each & 1 for each in fanins))
            )
        return [known[literal >> 1] ^ literal & 1 for literal in literals]

    def shrink(self, size: int) -> None:
        """Forget all nodes but the first ones."""
        for fanin in self.fanins[size:]:
            if fanin is not None:
                del self._ands[fanin]
        del self.fanins[size:]

    def simulate(self, patterns: Mapping[Literal, Words], before: Words | None = None) -> Words:
        """Return the value of every node [node, word] for patterns of the inputs.

        Inputs that have no pattern are FALSE. What was returned before the graph grew, for the same
        patterns, need not be computed again.
        """
        width = len(next(iter(patterns.values()))) if patterns else 1
        values = np.zeros((len(self), width), dtype=np.uint64)
        for literal, words in patterns.items():
            values[literal >> 1] = words
        first = 0 if before is None else len(before)
        if before is not None:
            values[:first] = before
        for node in range(first, len(self)):
            if (fanin := self.fanins[node]) is not None:
                a, b = fanin
                left, right = values[a >> 1], values[b >> 1]
                np.bitwise_and(
                    ~left if a & 1 else left, ~right if b & 1 else right, out=values[node]
                )
        return values

    def cone(self, roots: Iterable[Literal], known: Container[int] = (0,)) -> list[int]:
        """Return the nodes that literals depend on, in order, not past those that are known."""
        seen: set[int] = set()
        pending = [literal >> 1 for literal in roots]
        while pending:
            node = pending.pop()
            if node not in seen and node not in known:
                seen.add(node)
                pending += [literal >> 1 for literal in self.fanins[node] or ()]
        return sorted(seen)
