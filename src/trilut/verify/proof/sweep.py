"""Proof of equal nodes: a SAT solver that goes through a graph and remembers what it has proven.

Two circuits that are built alike have equal nodes inside. Those that are equal in a simulation are
proven equal one after the other, from the inputs on, and each proof may use those before. A proof
first looks at a small window around its two nodes and takes the rest to be free; mostly that is
enough, and if not the window grows.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from pysat.solvers import Solver

from trilut.verify.proof.aig import Aig, Literal, Words

__all__ = ["HARD_SOLVER", "Sweeper"]

# Many small questions are MiniSat's, one that is hard is CaDiCaL's.
_SOLVER = "minisat22"
HARD_SOLVER = "cadical195"
# Nodes of the first window, and by how much it grows.
_FIRST_WINDOW = 100
_GROWTH = 4
# A guess takes no more conflicts than this; what must be proven has no limit.
_MAX_CONFLICTS = 2000


class Sweeper:
    """Questions about a graph, answered by proof.

    Parameters
    ----------
    aig : Aig
        The graph. It may grow between questions.
    constraints : sequence of Literal
        Literals to be taken as TRUE.
    solver : str
        Name of the SAT solver, as python-sat knows it.
    """

    def __init__(self, aig: Aig, constraints: Sequence[Literal] = (), solver: str = _SOLVER):
        self._aig = aig
        self._constraints = tuple(constraints)
        self._solver = solver
        self._equal: dict[int, Literal] = {}
        self.num_questions = 0
        self.num_merged = 0

    def example(
        self, literals: Sequence[Literal], *, max_conflicts: int | None = None
    ) -> dict[Literal, bool] | None:
        """Return inputs that make all literals TRUE, or None if there are none.

        Inputs that do not matter are left out.

        Raises
        ------
        TimeoutError
            If that takes more conflicts than allowed.
        """
        self.num_questions += 1
        window = _FIRST_WINDOW
        roots = (*self._constraints, *literals)
        while True:
            clauses, numbers, is_whole = self._window(roots, window)
            clauses += [[_signed(literal, numbers)] for literal in roots]
            with Solver(self._solver, bootstrap_with=clauses) as solver:
                if not _solve(solver, max_conflicts):
                    return None
                if is_whole:
                    model = solver.get_model()
                    return {
                        2 * node: model[number - 1] > 0
                        for node, number in numbers.items()
                        if self._is_input(node) and number <= len(model)
                    }
            window *= _GROWTH

    def _is_input(self, node: int) -> bool:
        return node > 0 and node not in self._equal and self._aig.fanins[node] is None

    def _window(
        self, roots: Sequence[Literal], size: int
    ) -> tuple[list[list[int]], dict[int, int], bool]:
        """Return what a window says, the variables of its nodes, and whether it leaves nothing out.

        The window takes in what is nearest to the roots.
        """
        numbers = {0: 1}
        clauses = [[-1]]
        pending = list({literal >> 1: None for literal in roots if literal >> 1})
        for node in pending:
            numbers[node] = len(numbers) + 1
        for count, node in enumerate(pending):
            if count >= size:
                return clauses, numbers, False
            same = self._equal.get(node)
            sources = self._aig.fanins[node] if same is None else (same,)
            for literal in sources or ():
                if literal >> 1 not in numbers:
                    numbers[literal >> 1] = len(numbers) + 1
                    pending.append(literal >> 1)
            own = numbers[node]
            if same is not None:
                other = _signed(same, numbers)
                clauses += [[-own, other], [own, -other]]
            elif sources is not None:
                a, b = (_signed(literal, numbers) for literal in sources)
                clauses += [[-own, a], [-own, b], [own, -a, -b]]
        return clauses, numbers, True

    def difference(
        self, a: Literal, b: Literal, *, max_conflicts: int | None = None
    ) -> dict[Literal, bool] | None:
        """Return inputs for which two literals differ; None, and remember it, if there are none."""
        if a == b:
            return None
        example = self.example([self._aig.differ(a, b)], max_conflicts=max_conflicts)
        if example is None:
            low, high = sorted((a, b))
            self._equal[high >> 1] = low ^ high & 1
            self.num_merged += 1
        return example

    def sweep(
        self, targets: Iterable[int], anchors: Iterable[int], patterns: Mapping[Literal, Words]
    ) -> None:
        """Prove nodes equal to earlier ones, where they are and it is easy.

        Parameters
        ----------
        targets : iterable of int
            Nodes to explain.
        anchors : iterable of int
            Nodes to explain them by, besides earlier targets.
        patterns : mapping
            Values of the inputs to simulate.
        """
        todo, known = sorted(set(targets)), set(anchors)
        while todo:
            examples = self._sweep_once(todo, known, patterns)
            if not examples:
                return
            patterns = _with_examples(patterns, examples)
            todo = [node for node in todo if node not in self._equal]

    def _sweep_once(
        self, targets: Sequence[int], anchors: set[int], patterns: Mapping[Literal, Words]
    ) -> list[dict[Literal, bool]]:
        values = self._aig.simulate(patterns)
        # A node and its inverse have the same key.
        flipped = (values[:, 0] & np.uint64(1)).astype(bool)
        first: dict[bytes, int] = {}
        examples = []
        for node in sorted({0, *anchors, *targets}):
            key = (~values[node] if flipped[node] else values[node]).tobytes()
            other = first.setdefault(key, node)
            if other == node or node in anchors or node in self._equal:
                continue
            literal = 2 * other + int(flipped[node] != flipped[other])
            try:
                example = self.difference(2 * node, literal, max_conflicts=_MAX_CONFLICTS)
            except TimeoutError:
                continue
            if example is not None:
                examples.append(example)
        return examples


def _solve(solver: Solver, max_conflicts: int | None) -> bool:
    if max_conflicts is None:
        return bool(solver.solve())
    solver.conf_budget(max_conflicts)
    answer = solver.solve_limited()
    if answer is None:
        raise TimeoutError(f"No answer after {max_conflicts} conflicts")
    return bool(answer)


def _signed(literal: Literal, numbers: Mapping[int, int]) -> int:
    """Return the solver's name of a literal."""
    number = numbers[literal >> 1]
    return -number if literal & 1 else number


def _with_examples(
    patterns: Mapping[Literal, Words], examples: Sequence[Mapping[Literal, bool]]
) -> dict[Literal, Words]:
    """Add examples to patterns, in words of their own, 64 in each."""
    num_words = -(-len(examples) // 64)
    result = {}
    for literal, words in patterns.items():
        bits = np.zeros(64 * num_words, dtype=np.uint8)
        bits[: len(examples)] = [example.get(literal, False) for example in examples]
        result[literal] = np.concatenate([words, np.packbits(bits, bitorder="little").view("<u8")])
    return result
