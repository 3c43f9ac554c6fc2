"""Mutants: one wrong entry of one truth table, and what a solver says of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import pairwise

import numpy as np

from trilut.circuit.gates import truth_values
from trilut.circuit.head import Head
from trilut.circuit.interface import HeadOutput
from trilut.circuit.netlist import Netlist
from trilut.circuit.reach import possible_values, reachable_rows
from trilut.circuit.trit import CODES
from trilut.hdl.design import Design
from trilut.verify.proof.aig import FALSE, TRUE, Aig, Literal
from trilut.verify.proof.inputs import Inputs
from trilut.verify.proof.specification import (
    Trit,
    cases,
    certain_answer,
    equal,
    first_highest,
    num_unknown,
    score,
    signed_sum,
)
from trilut.verify.proof.sweep import Sweeper

__all__ = ["Mutant", "MutantProof", "Verdict", "draw_mutants", "wrong_planes"]

_NUM_WORDS = 8


@dataclass(frozen=True, slots=True)
class Mutant:
    """One wrong entry of one truth table.

    Parameters
    ----------
    gate : int
        The gate of the netlist that was built.
    a, b : int
        The input values for which it is wrong.
    value : int
        What it gives instead.
    """

    gate: int
    a: int
    b: int
    value: int


class Verdict(Enum):
    """What is known of a mutant."""

    EQUIVALENT = auto()
    """No output trit ever changes."""
    HIDDEN = auto()
    """Output trits change, but no input shows it at the ports."""
    VISIBLE = auto()
    """Some input shows it at the ports."""


def draw_mutants(netlist: Netlist, count: int, rng: np.random.Generator) -> list[Mutant]:
    """Draw different mutants of a netlist; fewer if it has fewer table entries.

    Any entry may be drawn, one whose inputs never occur too: such a mutant is no fault at all.
    """
    values = _values(netlist)
    rows = [(a, b) for a in values for b in values]
    entries = rng.permutation(netlist.num_gates * len(rows))[:count]
    mutants = []
    for entry in entries.tolist():
        gate, row = divmod(entry, len(rows))
        others = [value for value in values if value != netlist.table[gate, row]]
        a, b = rows[row]
        mutants.append(Mutant(gate, a, b, int(rng.choice(others))))
    return mutants


class MutantProof:
    """Finds out what a mutant of a design changes, for any input at all.

    A wrong value may be one that its readers were not built for, so the mutant is made of the
    formulas of the hardware, not of tables, and compared with the hardware without it.

    Parameters
    ----------
    design : Design
        The design.
    """

    def __init__(self, design: Design):
        self._netlist = design.circuit
        self._outputs: list[int] = self._netlist.outputs.tolist()
        self._gives_certain = HeadOutput.CERTAIN in design.interface.head_outputs
        self._aig = Aig()
        inputs = Inputs(self._aig, self._netlist)
        self._sources = list(zip(self._netlist.a.tolist(), self._netlist.b.tolist(), strict=True))
        self._formulas = {
            gate: formulas
            for plan in design.plans
            for gate, formulas in zip(plan.gates, plan.formulas, strict=True)
        }
        self._possible = possible_values(self._netlist, reachable_rows(self._netlist))
        self._right = list(inputs.trits)
        for gate, (a, b) in enumerate(self._sources):
            self._right.append(self._built(gate, self._right[a], self._right[b]))
        self._size = len(self._aig)
        self._patterns = inputs.patterns(self._aig, _NUM_WORDS)
        self._values = self._aig.simulate(self._patterns)

    def verdict(self, mutant: Mutant, *, is_visible: bool = False) -> Verdict:
        """Return what a mutant changes; whether it is visible is asked unless that is known."""
        changed = self._changed(mutant)
        wrong = {net: changed[net] for net in self._outputs if net in changed}
        differs = self._aig.any(
            self._aig.differ(*planes)
            for net, trit in wrong.items()
            for planes in zip(self._right[net], trit, strict=True)
        )
        if not self._is_possible(differs):
            verdict = Verdict.EQUIVALENT
        elif is_visible or self._netlist.head is None or self._shows(wrong, self._netlist.head):
            verdict = Verdict.VISIBLE
        else:
            verdict = Verdict.HIDDEN
        self._aig.shrink(self._size)
        return verdict

    def _is_possible(self, literal: Literal) -> bool:
        """Say whether a literal can be TRUE: a simulation may show it, else a solver says it."""
        if literal == FALSE:
            return False
        values = self._aig.simulate(self._patterns, self._values)[literal >> 1]
        if np.any(~values if literal & 1 else values):
            return True
        return Sweeper(self._aig).example([literal]) is not None

    def _shows(self, wrong: Mapping[int, Trit], head: Head) -> bool:
        """Say whether a score can be another one, or what is certain, if that comes out."""
        ends = np.cumsum(head.group_sizes).tolist()
        groups = [self._outputs[start:end] for start, end in pairwise([0, *ends])]
        differs = self._aig.any(self._is_wrong_sum(group, wrong) for group in groups)
        if self._gives_certain:
            answers = (self._certain(groups, nets, head.score_bits) for nets in ({}, wrong))
            differs = self._aig.either(differs, self._aig.differ(*answers))
        # Sums may make what they like of a value that they were not built for.
        expected = [self._is_expected(net, trit) for net, trit in wrong.items()]
        return Sweeper(self._aig).example([differs, *expected]) is not None

    def _certain(
        self, groups: Sequence[Sequence[int]], wrong: Mapping[int, Trit], width: int
    ) -> Literal:
        trits = [[wrong.get(net, self._right[net]) for net in group] for group in groups]
        scores = [score(self._aig, group, width) for group in trits]
        unknowns = [num_unknown(self._aig, group, width) for group in trits]
        return certain_answer(self._aig, first_highest(self._aig, scores), scores, unknowns)

    def _is_expected(self, net: int, trit: Trit) -> Literal:
        values = zip(self._possible[net].tolist(), cases(self._aig, trit), strict=True)
        return self._aig.any(literal for is_possible, literal in values if is_possible)

    def _is_wrong_sum(self, group: Sequence[int], wrong: Mapping[int, Trit]) -> Literal:
        """Compare what is added on both sides: what enters with the wrong weight."""
        pairs = [(self._right[net], wrong[net]) for net in group if net in wrong]
        left = [plane for (_, plus), (minus, _) in pairs for plane in (plus, minus)]
        right = [plane for (minus, _), (_, plus) in pairs for plane in (plus, minus)]
        return equal(self._aig, self._count(left), self._count(right)) ^ 1

    def _count(self, literals: Sequence[Literal]) -> list[Literal]:
        total = [FALSE]
        for literal in literals:
            total = signed_sum(self._aig, total, [literal, FALSE], len(total) + 1)
        return total

    def _changed(self, mutant: Mutant) -> dict[int, Trit]:
        """Return the nets that are other nodes with a mutant than without it."""
        changed: dict[int, Trit] = {}
        for gate in range(mutant.gate, self._netlist.num_gates):
            sources = self._sources[gate]
            if gate != mutant.gate and changed.keys().isdisjoint(sources):
                continue
            a, b = (changed.get(net, self._right[net]) for net in sources)
            trit = self._built(gate, a, b)
            if gate == mutant.gate:
                trit = self._mutated(mutant, trit, a, b)
            net = self._netlist.num_inputs + gate
            if trit != self._right[net]:
                changed[net] = trit
        return changed

    def _built(self, gate: int, a: Trit, b: Trit) -> Trit:
        names = ("one", "a_minus", "a_plus", "b_minus", "b_plus")
        literals = zip(names, (TRUE, *a, *b), strict=True)
        wires = {name: _Wire(self._aig, literal) for name, literal in literals}
        plus, minus = (plane.build(wires).literal for plane in self._formulas[gate])
        return minus, plus

    def _mutated(self, mutant: Mutant, trit: Trit, a: Trit, b: Trit) -> Trit:
        aig = self._aig
        here = aig.both(cases(aig, a)[mutant.a + 1], cases(aig, b)[mutant.b + 1])
        flip = wrong_planes(self._netlist, mutant)
        minus, plus = trit
        return (
            aig.differ(minus, here) if flip & 1 else minus,
            aig.differ(plus, here) if flip & 2 else plus,
        )


@dataclass(frozen=True, slots=True)
class _Wire:
    """A literal with the operators that a formula needs."""

    aig: Aig
    literal: Literal

    def __and__(self, other: "_Wire") -> "_Wire":
        return _Wire(self.aig, self.aig.both(self.literal, other.literal))

    def __or__(self, other: "_Wire") -> "_Wire":
        return _Wire(self.aig, self.aig.either(self.literal, other.literal))

    def __xor__(self, other: "_Wire") -> "_Wire":
        return _Wire(self.aig, self.aig.differ(self.literal, other.literal))

    def __invert__(self) -> "_Wire":
        return _Wire(self.aig, self.literal ^ 1)


def wrong_planes(netlist: Netlist, mutant: Mutant) -> int:
    """Return which planes of the gate are wrong in the row of a mutant."""
    values = _values(netlist)
    row = values.index(mutant.a) * len(values) + values.index(mutant.b)
    return CODES[int(netlist.table[mutant.gate, row])] ^ CODES[mutant.value]


def _values(netlist: Netlist) -> list[int]:
    return [int(value) for value in truth_values(netlist.valence)]
