"""Proof that adders add: a sum is taken apart, level by level, back to the trits.

A SAT solver cannot compare two trees of adders that add in different orders. But every level of a
tree keeps the weighted sum of its bits. So the sum of the outputs is written as a weighted sum of
the bits one level below, each small group of adders that share inputs is tried on all values of
these, and so on, until only trits are left and each has the weight one.
"""

import math
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trilut.verify.aig import Aig, Literal, bits_to_words
from trilut.verify.specification import Trit

__all__ = ["SumError", "TritInput", "prove_sum"]

# A group of adders is tried on no more values than this.
_MAX_CASES = 1 << 22


class SumError(Exception):
    """A sum is not the sum of its trits, or could not be shown to be."""


@dataclass(frozen=True, slots=True)
class TritInput:
    """A trit that a sum may read.

    Parameters
    ----------
    planes : Trit
        Its two inputs of the graph.
    values : tuple of int
        The values that it can take.
    """

    planes: Trit
    values: tuple[int, ...]


def prove_sum(
    aig: Aig,
    number: Sequence[Literal],
    trits: Sequence[TritInput],
    signs: Sequence[int],
    cuts: Iterable[int],
) -> int:
    """Prove that a signed number is a sum of trits plus a constant, and return the constant.

    Parameters
    ----------
    number : sequence of Literal
        Bits of the number, the lowest first.
    trits : sequence of TritInput
        All trits.
    signs : sequence of int
        How often each trit counts; 0 if it is no part of the sum.
    cuts : iterable of int
        Nodes to stop at on the way back: the bits between the levels.

    Raises
    ------
    SumError
        If that is not so.
    """
    bits = list(number)
    # Copies of the sign say nothing, and adders do not make them.
    while len(bits) > 1 and bits[-1] == bits[-2]:
        bits.pop()
    half = 1 << len(bits) - 1
    rest = _Rewriter(aig, trits, cuts, len(bits)).run(bits, signs)
    terms = [[sign * v for v in trit.values] for trit, sign in zip(trits, signs, strict=True)]
    lowest, highest = sum(map(min, terms)), sum(map(max, terms))
    # The sum is right modulo 2·half; it is right if it also fits.
    constant = (lowest + rest + half) % (2 * half) - half - lowest
    if highest + constant >= half:
        raise SumError(f"a sum from {lowest} to {highest} does not fit {len(bits)} bits")
    return constant


class _Rewriter:
    def __init__(self, aig: Aig, trits: Sequence[TritInput], cuts: Iterable[int], width: int):
        self._aig = aig
        self._trits = trits
        self._modulus = 1 << width
        # Nodes that are functions of one trit: its planes, and other codes for it.
        self._trit_of = {
            plane >> 1: index for index, trit in enumerate(trits) for plane in trit.planes
        }
        self._support: dict[int, frozenset[int]] = {}
        self._level: dict[int, int] = {}
        for node in sorted(set(cuts)):
            self._add_cut(node)

    def _add_cut(self, node: int) -> None:
        """Note what a node depends on: cuts below it, and codes of trits."""
        if node == 0 or node in self._trit_of or node in self._support:
            return
        found = self._sources(node)
        trits = {self._trit_of.get(source) for source in found}
        if len(trits) == 1 and None not in trits:
            self._trit_of[node] = trits.pop() or 0
            return
        self._support[node] = found
        self._level[node] = 1 + max((self._level.get(source, 0) for source in found), default=0)

    def _sources(self, node: int, passed: Container[int] = ()) -> frozenset[int]:
        found, pending, seen = set(), [node], {node}
        while pending:
            current = pending.pop()
            is_cut = current in self._trit_of or current in self._support
            if is_cut and current != node and current not in passed:
                found.add(current)
                continue
            for literal in self._aig.fanins[current] or ():
                if literal >> 1 and literal >> 1 not in seen:
                    seen.add(literal >> 1)
                    pending.append(literal >> 1)
        return frozenset(found)

    def run(self, number: Sequence[Literal], signs: Sequence[int]) -> int:
        weights: dict[int, int] = defaultdict(int)
        constant = 0
        for place, literal in enumerate(number):
            constant += _count(weights, literal, 1 << place)
            self._add_cut(literal >> 1)
        totals = [dict.fromkeys(trit.values, 0) for trit in self._trits]
        while levels := [self._level[node] for node in weights if node in self._level]:
            highest = max(levels)
            starts = [node for node in weights if self._level.get(node) == highest]
            for group in self._groups(starts, weights):
                own = {node: weights.pop(node) for node in group}
                constant += self._rewrite(own, weights, totals)
        self._decode(weights, totals)
        return (constant + self._constant(totals, signs)) % self._modulus

    def _groups(self, starts: Sequence[int], nodes: Iterable[int]) -> list[list[int]]:
        """Return the groups of nodes that share sources and hold one of the starts.

        Whatever reads a bit is one adder, so that its outputs are in one group.
        """
        readers: dict[int, list[int]] = defaultdict(list)
        for node in nodes:
            for source in self._support.get(node, ()):
                readers[source].append(node)
        groups: list[list[int]] = []
        seen: set[int] = set()
        for start in starts:
            group = [] if start in seen else [start]
            seen.add(start)
            for node in group:
                for source in self._support[node]:
                    found = [other for other in readers[source] if other not in seen]
                    seen.update(found)
                    # The list grows while it is read.
                    group += found
            if group:
                groups.append(group)
        return groups

    def _rewrite(
        self, own: Mapping[int, int], weights: dict[int, int], totals: list[dict[int, int]]
    ) -> int:
        """Replace nodes by what they are made of; return the constant that is left over."""
        fault = ""
        # What a group is found to add of any sources is true; those furthest below are the best.
        for found in reversed(self._own_sources(own)):
            sources = sorted(set(map(self._variable, found)))
            try:
                base, lines = self._addends(own, sources)
            except SumError as error:
                fault = fault or str(error)
                continue
            for source, line in zip(sources, lines, strict=True):
                if source < 0:
                    for choice, amount in zip(self._choices(source), line, strict=True):
                        totals[-1 - source][choice] += amount - base
                else:
                    weights[source] += line[1] - base
            return base
        raise SumError(fault)

    def _addends(
        self, own: Mapping[int, int], sources: Sequence[int]
    ) -> tuple[int, list[list[int]]]:
        """Return what nodes come to where all sources are lowest, and with each one's values."""
        choices = [self._choices(source) for source in sources]
        cases = math.prod(map(len, choices))
        if cases > _MAX_CASES:
            raise SumError(f"a group of adders has {cases} cases, too many to try")
        value = self._evaluate(own, sources, choices, cases)
        grid = value.reshape([len(choice) for choice in choices])
        base = int(grid[(0,) * len(sources)])
        expected = np.full(grid.shape, base, dtype=np.int64)
        lines = []
        for axis, choice in enumerate(choices):
            line = np.moveaxis(grid, axis, 0).reshape(len(choice), -1)[:, 0]
            shape = [1] * len(sources)
            shape[axis] = -1
            expected = expected + (line - base).reshape(shape)
            lines.append(line.tolist())
        if np.any((expected - grid) % self._modulus):
            raise SumError("a group of adders does not add")
        return base, lines

    def _variable(self, source: int) -> int:
        """Return what varies: a cut, or a trit as a negative number."""
        trit = self._trit_of.get(source)
        return source if trit is None else -1 - trit

    def _own_sources(self, own: Mapping[int, int]) -> list[set[int]]:
        """Return what a group may be said to depend on, from the nearest to the furthest below.

        An adder reads a bit that no other reads. So a bit that reads another source is mostly but a
        node that two adders have in common, and so is one that is in the group itself.
        """
        passed = set(own)
        found = []
        while True:
            sources = {source for node in own for source in self._sources(node, passed)}
            found.append(sources)
            shared = {node for node in sources if self._support.get(node, frozenset()) & sources}
            if not shared:
                return found
            passed |= shared

    def _choices(self, source: int) -> tuple[int, ...]:
        return self._trits[-1 - source].values if source < 0 else (0, 1)

    def _evaluate(
        self,
        own: Mapping[int, int],
        sources: Sequence[int],
        choices: Sequence[tuple[int, ...]],
        cases: int,
    ) -> NDArray[np.int64]:
        """Return the weighted sum of some nodes in every case."""
        inputs = {}
        repeat = cases
        for source, choice in zip(sources, choices, strict=True):
            repeat //= len(choice)
            column = np.tile(np.repeat(np.array(choice), repeat), cases // (repeat * len(choice)))
            if source >= 0:
                inputs[source] = bits_to_words(column)
                continue
            for plane, value in zip(self._trits[-1 - source].planes, (-1, 1), strict=True):
                inputs[plane >> 1] = bits_to_words(column == value)
        values = self._aig.simulate_cone([2 * node for node in own], inputs)
        total = np.zeros(cases, dtype=np.int64)
        for node, weight in own.items():
            bits = np.unpackbits(values[node].view(np.uint8), bitorder="little")[:cases]
            total += bits.astype(np.int64) * weight
        return total

    def _decode(self, weights: Mapping[int, int], totals: list[dict[int, int]]) -> None:
        """Count what is left: nodes that are functions of one trit each."""
        for node, weight in weights.items():
            if node == 0 or weight % self._modulus == 0:
                continue
            source = self._variable(node)
            choices = self._choices(source)
            values = self._evaluate({node: weight}, [source], [choices], len(choices))
            for choice, amount in zip(choices, values.tolist(), strict=True):
                totals[-1 - source][choice] += amount

    def _constant(self, totals: Sequence[Mapping[int, int]], signs: Sequence[int]) -> int:
        constant = 0
        for index, (total, sign) in enumerate(zip(totals, signs, strict=True)):
            rests = {(amount - sign * value) % self._modulus for value, amount in total.items()}
            if len(rests) > 1:
                raise SumError(f"output {index} does not count as {sign:+d} times its value")
            constant += rests.pop()
        return constant


def _count(weights: dict[int, int], literal: Literal, weight: int) -> int:
    """Count a literal, an inverse as 1 minus its node; return the constant."""
    weights[literal >> 1] += -weight if literal & 1 else weight
    return weight if literal & 1 else 0
