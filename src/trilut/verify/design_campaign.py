"""A campaign of whole designs: which mutants the levels ``rtl`` and ``formal`` refuse.

All mutants but those with a second driver are in one simulation, and a register chooses the one
that acts; so a campaign compiles twice. The proof reads a file for each mutant.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

import numpy as np

from trilut.circuit.interface import Interface, Values, Vectors, VerilogModule, result_values
from trilut.circuit.netlist import Netlist
from trilut.errors import NetlistError, ToolError
from trilut.files import make_directory, read_bytes, write_atomically
from trilut.hdl.design import Design
from trilut.hdl.faulty import select_wrapper
from trilut.sim.bench.regression import (
    FAULTS_A_RUN,
    faults_seen,
    reference_model,
    verify_rtl,
)
from trilut.sim.bench.rtl import RtlModel, build_rtl
from trilut.sim.bench.simulator import find_simulator
from trilut.sim.equivalence import all_inputs
from trilut.verify.campaigns import MutationResult, joined
from trilut.verify.cells import Structure, read_structure, write_structures
from trilut.verify.kinds import MutationKind
from trilut.verify.model_check import differs
from trilut.verify.mutants import Mutant
from trilut.verify.mutations import Mutation
from trilut.verify.proof.design import PipelineError, read_design
from trilut.verify.proof.equivalence import prove_equivalence
from trilut.verify.proof.formal import prove_design

__all__ = [
    "DesignCampaign",
    "KindResult",
    "MutantResult",
    "Opinion",
    "kind_results",
    "table_results",
    "total",
]

_TIMEOUT = 1800.0
_MAX_EXHAUSTIVE = 1 << 14
# What these change lies behind the encoder.
_INNER_KINDS = frozenset(
    {MutationKind.PLANE, MutationKind.ADDER, MutationKind.TIE, MutationKind.ABSTAIN}
)
# What these change shows in the values that leave, whatever the pauses are.
_VALUE_KINDS = _INNER_KINDS | {MutationKind.WIRES, MutationKind.THRESHOLD}


class Opinion(StrEnum):
    """What a proof says of a mutant."""

    PROVEN = "proven"
    """It computes the netlist."""
    REFUSED = "refused"
    """It does not, or that could not be proven."""


@dataclass(frozen=True, slots=True)
class MutantResult:
    """What became of one mutant.

    Parameters
    ----------
    kind : MutationKind
        What kind of mistake it is.
    text : str
        What is wrong where.
    is_killed : bool
        Whether the regression saw it, with every seed.
    opinion : Opinion
        What the proof says.
    reason : str
        Why it was not proven.
    is_equivalent : bool
        Whether it is proven to do in every cycle what the design does, or to compute the netlist.
    is_hidden : bool
        Whether no input, or no run of so many cycles, shows it, though it is not what the proof
        asks for.
    """

    kind: MutationKind
    text: str
    is_killed: bool
    opinion: Opinion
    reason: str
    is_equivalent: bool
    is_hidden: bool


@dataclass(frozen=True, slots=True)
class KindResult:
    """What became of all mutants of one kind.

    Parameters
    ----------
    kind : str
        The kind.
    num_mutants : int
        Number of mutants.
    num_equivalent : int
        Number of those that are proven to be no mistakes.
    num_killed, num_refused : int
        Number of the others that the regression saw, and that the proof did not pass.
    num_hidden : int
        Number of those that nothing shows, though the proof does not pass them: scores that never
        occur would be judged wrongly, or a register is another that does not matter.
    missed : tuple of str
        Those that the regression did not see, though they are not hidden.
    believed : tuple of str
        Those that the regression saw and the proof passed: here the proof is wrong.
    """

    kind: str
    num_mutants: int
    num_equivalent: int
    num_killed: int
    num_refused: int
    num_hidden: int
    missed: tuple[str, ...]
    believed: tuple[str, ...]

    @property
    def num_faults(self) -> int:
        """Number of mutants that are not proven to be no mistakes."""
        return self.num_mutants - self.num_equivalent


def kind_results(results: Sequence[MutantResult]) -> list[KindResult]:
    """Count results by their kind."""
    return [
        _kind_result(kind, [result for result in results if result.kind is kind])
        for kind in dict.fromkeys(result.kind for result in results)
    ]


def table_results(mutants: Sequence[Mutant], result: MutationResult) -> list[MutantResult]:
    """Return what became of wrong table entries, one by one."""
    faults = {*result.killed, *result.refused}
    return [
        MutantResult(
            MutationKind.TABLE,
            str(mutant),
            mutant in result.killed,
            Opinion.REFUSED if mutant in result.refused else Opinion.PROVEN,
            "An output trit is wrong" if mutant in result.refused else "",
            mutant not in faults,
            mutant in result.hidden,
        )
        for mutant in mutants
    ]


def total(kind: str, results: Sequence[KindResult]) -> KindResult:
    """Add what came of several campaigns."""
    return KindResult(
        kind,
        sum(result.num_mutants for result in results),
        sum(result.num_equivalent for result in results),
        sum(result.num_killed for result in results),
        sum(result.num_refused for result in results),
        sum(result.num_hidden for result in results),
        tuple(text for result in results for text in result.missed),
        tuple(text for result in results for text in result.believed),
    )


def _kind_result(kind: MutationKind, results: Sequence[MutantResult]) -> KindResult:
    faults = [result for result in results if not result.is_equivalent]
    refused = [result for result in faults if result.opinion is Opinion.REFUSED]
    return KindResult(
        str(kind),
        len(results),
        len(results) - len(faults),
        sum(result.is_killed for result in faults),
        len(refused),
        sum(result.is_hidden for result in faults),
        tuple(result.text for result in faults if not (result.is_killed or result.is_hidden)),
        tuple(result.text for result in faults if result.opinion is Opinion.PROVEN),
    )


class DesignCampaign:
    """Mutants of one design, written and built.

    Parameters
    ----------
    design : Design
        The design, with a stream of vectors in and one of results out.
    mutations : sequence of Mutation
        What to try.
    vectors : mapping
        The regression of each seed: vectors by origin, as :func:`trilut.sim.stimulus` gives them.
        The seed is that of the pauses and resets, too.
    out : Path
        Directory for the mutants, the builds and the logs.

    Raises
    ------
    ToolError
        If a tool is missing or fails, or the design is wrong before anything is changed.
    """

    def __init__(
        self,
        design: Design,
        mutations: Sequence[Mutation],
        vectors: Mapping[int, Mapping[str, Vectors]],
        out: Path,
    ):
        self._design = design
        self._mutations = mutations
        self._vectors = vectors
        self._out = make_directory(out)
        self._joined = {seed: joined(groups) for seed, groups in vectors.items()}
        self._expected = {
            seed: _reference(design.stateless, joined, design.interface)
            for seed, joined in self._joined.items()
        }
        structure = read_structure(design, self._out)
        self._paths = [self._out / f"mutant_{number}.v" for number in range(1, len(mutations) + 1)]
        selectable = self._write(structure)
        interface = design.interface
        self._library: Path | None = None
        if interface.axi is None and interface.margin is None:
            build_rtl(design.stateless, selectable, out=out / "library", has_select=True)
            self._library = (out / "library" / "model.so").absolute()
        self._build(selectable)
        if any(self._sees_traffic([0], seed)[0] for seed in vectors):
            raise ToolError("The design is not what its netlist says, without any mutation")

    def results(self) -> Iterator[MutantResult]:
        """Prove and simulate all mutants, a few at a time, and give what became of each."""
        for first in range(0, len(self._mutations), FAULTS_A_RUN):
            part = range(first, min(first + FAULTS_A_RUN, len(self._mutations)))
            seen = [self._seen(part, seed) for seed in self._vectors]
            for place, index in enumerate(part):
                yield self._result(index, [by[place] for by in seen])

    def _result(self, index: int, seen: Sequence[bool]) -> MutantResult:
        mutation = self._mutations[index]
        reason = self.objection(index)
        is_proven = not reason
        is_equivalent = not any(seen) and (is_proven or self._is_same(self._paths[index]))
        return MutantResult(
            mutation.kind,
            mutation.text,
            all(seen),
            Opinion.PROVEN if is_proven else Opinion.REFUSED,
            reason,
            is_equivalent,
            not any(seen) and not is_equivalent and self._is_hidden(index),
        )

    def _seen(self, part: Iterable[int], seed: int) -> list[bool]:
        """Say of some mutants whether the regression of a seed sees them.

        A mistake in values is first looked for at full speed, with the same vectors; what that does
        not show goes through the bench, with its pauses and resets.
        """
        seen = {index: self._sees_at_once(index, seed) for index in part}
        left = [index for index, is_seen in seen.items() if is_seen is None]
        traffic = self._sees_traffic([index + 1 for index in left], seed)
        seen |= dict(zip(left, traffic, strict=True))
        return [bool(is_seen) for is_seen in seen.values()]

    def _sees_at_once(self, index: int, seed: int) -> bool | None:
        """Say whether a mutant is seen without the bench of all; None if that must say."""
        mutation = self._mutations[index]
        if not mutation.is_selectable:
            return self._sees_alone(index, seed)
        if mutation.kind not in _VALUE_KINDS:
            return None
        return self._sees_values(index + 1, self._joined[seed], self._expected[seed]) or None

    def _sees_traffic(self, numbers: Sequence[int], seed: int) -> list[bool]:
        return faults_seen(
            self._design.stateless,
            self._bench,
            self._vectors[seed],
            numbers,
            program=self._program,
            out=self._out / "regression",
            seed=seed,
            simulator=self._simulator,
        )

    def _sees_alone(self, index: int, seed: int) -> bool:
        """Say whether a mutant is seen that cannot be one of many."""
        mutant = VerilogModule(
            self._paths[index], self._design.top, self._design.interface, self._design.models
        )
        try:
            result = verify_rtl(
                self._design.stateless,
                mutant,
                self._vectors[seed],
                out=self._out / "regression",
                seed=seed,
                simulator=self._simulator,
            )
        except ToolError:
            return True
        return not result.passed

    def objection(self, index: int) -> str:
        """Return why the proof does not pass a mutant; empty if it does."""
        mutant = replace(self._design, path=self._paths[index])
        try:
            proof = prove_design(self._design.stateless, mutant, self._out)
        except ToolError as error:
            return str(error)
        return proof.objection

    def _write(self, structure: Structure) -> VerilogModule:
        """Write each mutant, and all that can be chosen from in one."""
        together = structure.copy()
        together.add_select()
        files = {}
        for number, mutation in enumerate(self._mutations, start=1):
            mutant = structure.copy()
            mutation.change(mutant.editor())
            files[self._paths[number - 1]] = mutant
            if mutation.is_selectable:
                mutation.change(together.editor(number))
        path = self._out / "mutants.v"
        write_structures({**files, path: together}, self._out)
        design = self._design
        return VerilogModule(path, design.top, design.interface, design.models)

    def _build(self, selectable: VerilogModule) -> None:
        """Build the simulation in which a register chooses the mutant."""
        top = f"{selectable.top}_mutants"
        path = self._out / "bench.v"
        text = read_bytes(selectable.path).decode() + select_wrapper(selectable, top)
        write_atomically(path, text)
        self._bench = VerilogModule(path, top, selectable.interface, selectable.models)
        self._simulator = find_simulator()
        directory = make_directory(self._out / "bench")
        self._simulator.build(self._bench, directory, timeout=_TIMEOUT)
        self._program = directory / top

    def _is_hidden(self, index: int) -> bool:
        """Say whether nothing shows a mistake, whatever comes in.

        Of a mistake behind the encoder every input that the netlist can tell apart is tried, if
        there are not too many. Others are left to a model checker, which looks at all runs of a few
        cycles more than the latency.
        """
        mutation = self._mutations[index]
        if mutation.kind not in _INNER_KINDS or self._library is None:
            has_clocks = mutation.kind is MutationKind.CLOCK
            try:
                return not differs(self._design, self._paths[index], self._out, clocks=has_clocks)
            except ToolError:
                return False
        netlist = self._design.circuit
        try:
            parts = list(all_inputs(netlist, limit=_MAX_EXHAUSTIVE))
        except NetlistError:
            return False
        return not any(
            self._sees_values(index + 1, part, _reference(netlist, part, self._design.interface))
            for part in parts
        )

    def _sees_values(self, number: int, vectors: Vectors, expected: Values) -> bool:
        if self._library is None:
            return False
        # A model of its own: what a mutant leaves in the registers is none of the next one's.
        model = RtlModel(
            self._design.stateless, self._library, self._design.interface, has_select=True
        )
        model.select = number
        try:
            results = model.results(vectors)
        except ToolError:
            return True
        return any(np.any(got != expected[f"out_{name}"]) for name, got in results.items())

    def _is_same(self, mutant: Path) -> bool:
        """Say whether a mutant is proven to do in every cycle what the design does."""
        forms = []
        for name, path in (("first", self._design.path), ("other", mutant)):
            source = self._out / f"{name}-form.v"
            write_atomically(source, read_bytes(path) + self._design.models.encode())
            try:
                read = read_design(source, self._design.top, self._out, name=f"read-{name}")
            except (ToolError, PipelineError):
                return False
            forms.append(read[self._design.top])
        try:
            return not prove_equivalence(*forms).objection
        except PipelineError:
            return False


def _reference(netlist: Netlist, vectors: Vectors, interface: Interface) -> Values:
    return result_values(reference_model(netlist, [vectors], 0, interface).results)
