"""Mutants: one wrong entry of one truth table, and what a solver says of it."""

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.formula import Formula
from trilut.circuit.head import Head
from trilut.circuit.interface import HeadOutput
from trilut.circuit.kinds import Kind
from trilut.circuit.netlist import Netlist
from trilut.circuit.reach import reachable_rows
from trilut.circuit.shapes import row_values
from trilut.circuit.vectors import Function, NetWires
from trilut.hdl.design import Design
from trilut.hdl.lookup import built_table
from trilut.hdl.plan import LayerPlan
from trilut.sim.engines.planes import lut
from trilut.verify.proof.aig import FALSE, TRUE, Aig, Literal
from trilut.verify.proof.inputs import Inputs
from trilut.verify.proof.specification import (
    Trit,
    certain_answer,
    equal,
    first_highest,
    num_unknown,
    score,
    signed_sum,
)
from trilut.verify.proof.sweep import Sweeper

__all__ = ["Mutant", "MutantProof", "Verdict", "draw_mutants", "wrong_wires"]

_NUM_WORDS = 8

NetLiterals = tuple[Literal, ...]
"""The wires of a net, the first in the lowest place."""

_Read = Callable[[int], NetLiterals]
# Makes the wires of a gate, given how to read other nets.
_Built = Callable[[_Read], NetLiterals]


@dataclass(frozen=True, slots=True)
class Mutant:
    """One wrong entry of one truth table.

    Parameters
    ----------
    gate : int
        The gate of the netlist that was built.
    inputs : tuple of int
        The values of its inputs for which it is wrong.
    value : int
        What it gives instead.
    """

    gate: int
    inputs: tuple[int, ...]
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

    Any entry may be drawn, one whose inputs never occur too: such a mutant is no fault at all. A
    score is wrong by a value that other rows of its gate have.
    """
    ends = np.cumsum(netlist.num_rows)
    entries = rng.permutation(int(ends[-1]) if len(ends) else 0)[:count]
    possible = reachable_rows(netlist)
    mutants = []
    for entry, gate in zip(
        entries.tolist(), np.searchsorted(ends, entries, side="right").tolist(), strict=True
    ):
        row = entry - int(ends[gate] - netlist.num_rows[gate])
        others = _other_values(netlist, possible, gate, row)
        if others:
            kinds = netlist.kinds[list(netlist.reads(gate))].tolist()
            inputs = tuple(row_values(kinds)[row].tolist())
            mutants.append(Mutant(gate, inputs, int(rng.choice(others))))
    return mutants


def _other_values(netlist: Netlist, possible: NDArray[np.bool_], gate: int, row: int) -> list[int]:
    """Return what an entry could be instead: of a score what others are, for which it has wires."""
    kind = Kind(netlist.kinds[netlist.num_inputs + gate])
    values: Iterable[int] = kind.values
    if kind is Kind.SCORE:
        values = np.unique(netlist.table[gate, possible[gate]]).tolist()
    return [value for value in values if value != netlist.table[gate, row]]


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
        self._rows = reachable_rows(self._netlist)
        self._wires = NetWires(self._netlist, self._rows)
        self._gates: dict[int, _Built] = {
            gate: build
            for plan in design.plans
            for gate, build in zip(plan.gates, self._builders(plan), strict=True)
        }
        self._right: list[NetLiterals] = [
            # A bit has no minus.
            trit[-width:]
            for trit, width in zip(inputs.trits, self._wires.num_wires.tolist(), strict=False)
        ]
        for gate in range(self._netlist.num_gates):
            self._right.append(self._gates[gate](self._right.__getitem__))
        self._size = len(self._aig)
        self._patterns = inputs.patterns(self._aig, _NUM_WORDS)
        self._values = self._aig.simulate(self._patterns)

    def _builders(self, plan: LayerPlan) -> Iterator[_Built]:
        """Give what makes the wires of each gate of a layer from those of others, as built."""
        sources = self._netlist.sources.tolist()
        for gate, planes in zip(plan.gates, plan.formulas, strict=False):
            yield functools.partial(self._of_formulas, sources[gate], planes)
        for functions in plan.functions:
            yield functools.partial(self._of_functions, functions)

    def _of_formulas(
        self, sources: Sequence[int], planes: tuple[Formula, Formula], read: _Read
    ) -> NetLiterals:
        names = ("one", "a_minus", "a_plus", "b_minus", "b_plus")
        literals = zip(names, (TRUE, *read(sources[0]), *read(sources[1])), strict=True)
        wires = {name: _Wire(self._aig, literal) for name, literal in literals}
        plus, minus = (plane.build(wires).literal for plane in planes)
        return minus, plus

    def _of_functions(self, functions: Sequence[Function], read: _Read) -> NetLiterals:
        return tuple(self._of_function(function, read) for function in functions)

    def _of_function(self, function: Function, read: _Read) -> Literal:
        table, constants = built_table(function), (FALSE, TRUE)
        wires = [_Wire(self._aig, read(net)[place]) for net, place in function.wires]
        made: _Wire = lut(lambda row: _Wire(self._aig, constants[table >> row & 1]), wires)
        return made.literal

    def verdict(self, mutant: Mutant, *, is_visible: bool = False) -> Verdict:
        """Return what a mutant changes; whether it is visible is asked unless that is known."""
        changed = self._changed(mutant)
        wrong = {net: changed[net] for net in self._outputs if net in changed}
        differs = self._aig.any(
            self._aig.differ(*planes)
            for net, wires in wrong.items()
            for planes in zip(self._right[net], wires, strict=True)
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

    def _shows(self, wrong: Mapping[int, NetLiterals], head: Head) -> bool:
        """Say whether a score can be another one, or what is certain, if that comes out."""
        ends = np.cumsum(head.group_sizes).tolist()
        groups = [self._outputs[start:end] for start, end in pairwise([0, *ends])]
        differs = self._aig.any(self._is_wrong_sum(group, wrong) for group in groups)
        if self._gives_certain:
            answers = (self._certain(groups, nets, head.score_bits) for nets in ({}, wrong))
            differs = self._aig.either(differs, self._aig.differ(*answers))
        # Sums may make what they like of a value that they were not built for.
        expected = [self._is_expected(net, wires) for net, wires in wrong.items()]
        return Sweeper(self._aig).example([differs, *expected]) is not None

    def _certain(
        self, groups: Sequence[Sequence[int]], wrong: Mapping[int, NetLiterals], width: int
    ) -> Literal:
        trits = [[_as_trit(wrong.get(net, self._right[net])) for net in group] for group in groups]
        scores = [score(self._aig, group, width) for group in trits]
        unknowns = [num_unknown(self._aig, group, width) for group in trits]
        return certain_answer(self._aig, first_highest(self._aig, scores), scores, unknowns)

    def _is_expected(self, net: int, wires: NetLiterals) -> Literal:
        """Return whether a gate has a value that it can have without a mutant."""
        gate = net - self._netlist.num_inputs
        possible = np.unique(self._netlist.table[gate, self._rows[gate]]).tolist()
        return self._aig.any(self._has_value(net, wires, value) for value in possible)

    def _has_value(self, net: int, wires: NetLiterals, value: int) -> Literal:
        code = self._wires.code(net, value)
        return self._aig.all(wire ^ 1 ^ (code >> place & 1) for place, wire in enumerate(wires))

    def _is_wrong_sum(self, group: Sequence[int], wrong: Mapping[int, NetLiterals]) -> Literal:
        """Compare what is added on both sides: what enters with the wrong weight."""
        nets = [net for net in group if net in wrong]
        right = [term for net in nets for term in self._terms(net, self._right[net])]
        other = [term for net in nets for term in self._terms(net, wrong[net])]
        more = [(place, wire) for place, sign, wire in right if sign > 0]
        more += [(place, wire) for place, sign, wire in other if sign < 0]
        less = [(place, wire) for place, sign, wire in other if sign > 0]
        less += [(place, wire) for place, sign, wire in right if sign < 0]
        return equal(self._aig, self._sum(more), self._sum(less)) ^ 1

    def _terms(self, net: int, wires: NetLiterals) -> list[tuple[int, int, Literal]]:
        """Return what a net is in a sum but for a constant: ±2^place for each wire that is set."""
        number = self._wires.number(net)
        if number is None:
            minus, plus = wires
            return [(0, 1, plus), (0, -1, minus)]
        return [(number.shift + place, 1, wire) for place, wire in enumerate(wires)]

    def _sum(self, terms: Sequence[tuple[int, Literal]]) -> list[Literal]:
        total = [FALSE]
        for place, wire in terms:
            width = max(len(total), place + 2) + 1
            total = signed_sum(self._aig, total, [*[FALSE] * place, wire, FALSE], width)
        return total

    def _changed(self, mutant: Mutant) -> dict[int, NetLiterals]:
        """Return the nets that are other nodes with a mutant than without it."""
        changed: dict[int, NetLiterals] = {}

        def read(net: int) -> NetLiterals:
            return changed.get(net, self._right[net])

        for gate in range(mutant.gate, self._netlist.num_gates):
            if gate != mutant.gate and changed.keys().isdisjoint(self._netlist.reads(gate)):
                continue
            wires = self._gates[gate](read)
            if gate == mutant.gate:
                wires = self._mutated(mutant, wires)
            net = self._netlist.num_inputs + gate
            if wires != self._right[net]:
                changed[net] = wires
        return changed

    def _mutated(self, mutant: Mutant, wires: NetLiterals) -> NetLiterals:
        """Return the wires of a mutant's own gate, all of whose inputs are right."""
        sources = self._netlist.reads(mutant.gate)
        here = self._aig.all(
            self._has_value(net, self._right[net], value)
            for net, value in zip(sources, mutant.inputs, strict=True)
        )
        flip = wrong_wires(self._netlist, self._wires, mutant)
        return tuple(
            self._aig.differ(wire, here) if flip >> place & 1 else wire
            for place, wire in enumerate(wires)
        )


def _as_trit(wires: NetLiterals) -> Trit:
    """Return a bit or a trit as minus and plus."""
    minus, plus = wires if len(wires) == 2 else (wires[0] ^ 1, wires[0])
    return minus, plus


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


def wrong_wires(netlist: Netlist, wires: NetWires, mutant: Mutant) -> int:
    """Return which wires of the gate are wrong in the row of a mutant, the first lowest."""
    net = netlist.num_inputs + mutant.gate
    kinds = netlist.kinds[list(netlist.reads(mutant.gate))].tolist()
    row = row_values(kinds).tolist().index(list(mutant.inputs))
    right = int(netlist.table[mutant.gate, row])
    every = (1 << int(wires.num_wires[net])) - 1
    # A score in a row that never occurs may be one that it has no wires for.
    return (wires.code(net, right) ^ wires.code(net, mutant.value)) & every
