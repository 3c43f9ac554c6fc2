"""Campaigns against the RTL: which wrong gates a regression sees, and what bit flips do.

Many faulty designs are one Verilog file. An input ``select`` of the top module chooses which fault
acts, 0 for none, and the layers see it by its hierarchical name; so a campaign compiles once.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trilut.circuit.encoder import FeatureVectors
from trilut.circuit.interface import Interface, Vectors, result_values
from trilut.circuit.netlist import Netlist
from trilut.errors import NetlistError, ToolError
from trilut.hdl.design import Design
from trilut.hdl.fabric import LayerFaults
from trilut.hdl.faulty import select_signal, write_faulty
from trilut.hdl.plan import LayerPlan
from trilut.sim.bench.regression import reference_model
from trilut.sim.bench.rtl import RtlModel, build_rtl
from trilut.sim.bench.stimulus import stimulus
from trilut.sim.equivalence import all_inputs
from trilut.verify.coverage import measure_coverage
from trilut.verify.mutants import Mutant, MutantProof, Verdict, wrong_wires

__all__ = [
    "FlipSurvey",
    "MutationResult",
    "flip_survey",
    "joined",
    "mutation_campaign",
    "regression_vectors",
]

Progress = Callable[[int, int], None]
"""Called with the number of faults done and of all faults."""

# Rows of tables that a SAT solver may look for a vector for.
_MAX_QUESTIONS = 300
_MAX_EXHAUSTIVE = 1 << 14


@dataclass(frozen=True, slots=True)
class MutationResult:
    """What a regression and a proof see of mutants, each without regard to the other.

    Parameters
    ----------
    num_mutants : int
        Number of mutants.
    num_vectors : int
        Number of vectors that each was tried on, at most.
    killed : tuple of Mutant
        Those that some vector told from the netlist.
    refused : tuple of Mutant
        Those for which a solver has an input with another output trit.
    hidden : tuple of Mutant
        Those of them that were not killed, and that no input shows at the ports: scores, and what
        is certain if the design says it, come out right, or an output trit takes a value that it
        never takes in the netlist, of which the sums may make anything.
    """

    num_mutants: int
    num_vectors: int
    killed: tuple[Mutant, ...]
    refused: tuple[Mutant, ...]
    hidden: tuple[Mutant, ...]

    @property
    def num_faults(self) -> int:
        """Number of mutants that are not proven to change no output trit, whatever comes in."""
        return len({*self.killed, *self.refused})

    @property
    def missed(self) -> tuple[Mutant, ...]:
        """The mutants that some input shows at the ports, but none of the vectors."""
        seen = {*self.killed, *self.hidden}
        return tuple(mutant for mutant in self.refused if mutant not in seen)

    @property
    def kill_rate(self) -> float:
        """Share of the faults that were killed."""
        return len(self.killed) / self.num_faults if self.num_faults else 1.0


def regression_vectors(
    netlist: Netlist, samples: ArrayLike | None, rng: np.random.Generator, num_random: int
) -> Vectors:
    """Return the vectors of a regression, with directed ones for rows of tables that they miss.

    A circuit that can tell only a few inputs apart gets all of them.
    """
    groups = stimulus(netlist, samples, rng, num_random=num_random)
    _, directed = measure_coverage(netlist, groups, max_questions=_MAX_QUESTIONS)
    parts = [*groups.values(), *([] if directed is None else [directed])]
    with suppress(NetlistError):
        parts += all_inputs(netlist, limit=_MAX_EXHAUSTIVE)
    return _concatenated(parts)


def joined(vectors: Mapping[str, Vectors]) -> Vectors:
    """Join the vectors of all origins."""
    return _concatenated(vectors.values())


def _concatenated(parts: Iterable[Vectors]) -> Vectors:
    features: list[FeatureVectors] = []
    trits: list[NDArray[np.int8]] = []
    for part in parts:
        if isinstance(part, FeatureVectors):
            features.append(part)
        else:
            trits.append(part)
    return FeatureVectors.concatenate(features) if features else np.concatenate(trits)


def mutation_campaign(
    design: Design,
    mutants: Sequence[Mutant],
    vectors: Vectors,
    *more: Vectors,
    out: Path,
    progress: Progress | None = None,
) -> MutationResult:
    """Simulate every mutant of a design until a vector tells it from the netlist, and prove it.

    Every mutant is given to a solver too, which finds an input for which an output trit is wrong or
    proves that there is none.

    Parameters
    ----------
    design : Design
        The design; with a port for the scores more faults show.
    mutants : sequence of Mutant
        What to try, as :func:`draw_mutants` gives it for ``design.circuit``.
    vectors, *more : FeatureVectors or array of trits
        The regression, or several of other seeds: a mutant is killed if each of them sees it.
    out : Path
        Directory for the build.
    progress : callable, optional
        Called after each mutant.

    Raises
    ------
    ToolError
        If the design cannot be built, or is wrong before anything is changed.
    """
    model, expected = _prepared(design, _wrong_entries(design, mutants), vectors, out)
    regressions = [(vectors, expected)]
    for other in more:
        values = _reference(design.circuit, other, design.interface)
        regressions.append((other, {name: values[name] for name in expected}))
    proof = MutantProof(design)
    killed: list[Mutant] = []
    refused: list[Mutant] = []
    hidden: list[Mutant] = []
    for number, mutant in enumerate(mutants, start=1):
        model.select = number
        is_killed = all(_differs(model, *each) for each in regressions)
        verdict = proof.verdict(mutant, is_visible=is_killed)
        killed += [mutant] if is_killed else []
        refused += [mutant] if verdict is not Verdict.EQUIVALENT else []
        hidden += [mutant] if verdict is Verdict.HIDDEN else []
        if progress:
            progress(number, len(mutants))
    num_vectors = max(len(each) for each in (vectors, *more))
    return MutationResult(len(mutants), num_vectors, tuple(killed), tuple(refused), tuple(hidden))


def _differs(model: RtlModel, vectors: Vectors, expected: dict[str, NDArray[np.int64]]) -> bool:
    """Say whether some result is wrong; most mutants show in the first vectors."""
    size = 64
    start = 0
    while start < len(vectors):
        part = slice(start, start + size)
        results = model.results(vectors[part])
        if any(np.any(results[name] != expected[name][part]) for name in expected):
            return True
        start += size
        size *= 4
    return False


@dataclass(frozen=True, slots=True)
class FlipSurvey:
    """What single-bit flips in pipeline registers do; each flip meets each vector once.

    Parameters
    ----------
    num_bits : int
        Number of register bits that were flipped.
    num_flips : int
        Number of flips: bits times vectors.
    changed, abstained, masked : int
        Flips after which the class was another one and the design did not abstain; after which it
        abstained though it had not; and after which class and ``unknown`` were as before, or the
        design had abstained anyway.
    """

    num_bits: int
    num_flips: int
    changed: int
    abstained: int
    masked: int


def flip_survey(
    design: Design,
    vectors: Vectors,
    *,
    out: Path,
    num_bits: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> FlipSurvey:
    """Flip bits of the layers' pipeline registers, one at a time, and count what comes of it.

    Parameters
    ----------
    design : Design
        A design with a head.
    vectors : FeatureVectors or array of trits
        What passes through the pipeline.
    out : Path
        Directory for the build.
    num_bits : int, optional
        Draw so many of the bits by chance; all of them if not given.
    seed : int
        Of the draw.
    progress : callable, optional
        Called after each bit.

    Raises
    ------
    NetlistError
        If the design has no head, or no register after a layer.
    ToolError
        If the design cannot be built, or is wrong before anything is changed.
    """
    netlist = design.circuit
    if netlist.head is None:
        raise NetlistError(
            f"Netlist {netlist.name!r} has no head, so a flip can change no decision"
        )
    widths = [plan.width_out if plan.registered else 0 for plan in design.plans]
    if not any(widths):
        raise NetlistError(
            f"No layer of netlist {netlist.name!r} has a register whose bits could be flipped; it "
            f"has {netlist.depth} layers, expected more than there are between registers"
        )
    model, expected = _prepared(design, _flips(design, widths), vectors, out)
    bits = np.arange(sum(widths))
    if num_bits is not None and num_bits < len(bits):
        bits = np.sort(np.random.default_rng(seed).choice(bits, num_bits, replace=False))
    counts = np.zeros(3, dtype=np.int64)
    for done, bit in enumerate(bits.tolist(), start=1):
        model.select = bit + 1
        counts += _effects(model.results(vectors), expected)
        if progress:
            progress(done, len(bits))
    changed, abstained, masked = counts.tolist()
    return FlipSurvey(len(bits), len(bits) * len(vectors), changed, abstained, masked)


def _effects(
    results: dict[str, NDArray[np.int64]], expected: dict[str, NDArray[np.int64]]
) -> NDArray[np.int64]:
    silent, was_silent = results["unknown"] != 0, expected["unknown"] != 0
    wrong = ~silent & (was_silent | (results["class"] != expected["class"]))
    abstained = silent & ~was_silent
    return np.array([wrong.sum(), abstained.sum(), (~wrong & ~abstained).sum()])


def _prepared(
    design: Design, faults: Mapping[int, LayerFaults], vectors: Vectors, out: Path
) -> tuple[RtlModel, dict[str, NDArray[np.int64]]]:
    """Build a design with faults, and check that without one it does what the netlist says."""
    netlist = design.circuit
    model = build_rtl(netlist, write_faulty(design, faults, out), out=out, has_select=True)
    expected = _reference(netlist, vectors, design.interface)
    results = model.results(vectors)
    expected = {name: expected[name] for name in results}
    for name, values in expected.items():
        if np.any(results[name] != values):
            raise ToolError(f"The design gives another {name!r} than its netlist without any fault")
    return model, expected


def _reference(
    netlist: Netlist, vectors: Vectors, interface: Interface
) -> dict[str, NDArray[np.int64]]:
    values = result_values(reference_model(netlist, [vectors], 0, interface).results)
    return {name.removeprefix("out_"): port.astype(np.int64) for name, port in values.items()}


def _wrong_entries(design: Design, mutants: Sequence[Mutant]) -> dict[int, LayerFaults]:
    """Return the faults by which ``select`` = n makes mutant n, counted from 1."""
    numbers: dict[int, list[int]] = {}
    for number, mutant in enumerate(mutants, start=1):
        numbers.setdefault(mutant.gate, []).append(number)
    faults = {}
    for plan in design.plans:
        terms = {
            neuron: " ^ ".join(
                _wrong_entry(design, plan, number, mutants[number - 1]) for number in numbers[gate]
            )
            for neuron, gate in enumerate(plan.gates)
            if gate in numbers
        }
        faults[plan.level] = LayerFaults(neurons=terms)
    return faults


def _wrong_entry(design: Design, plan: LayerPlan, number: int, mutant: Mutant) -> str:
    """Return an expression for the wires that are wrong if a mutant acts and its row occurs."""
    netlist = design.circuit
    places = plan.wires.places(plan.nets_in)
    conditions = [f"{select_signal(design)} == {number}"]
    for net, value in zip(netlist.reads(mutant.gate), mutant.inputs, strict=True):
        place = places[net]
        code = f"{len(place)}'d{plan.wires.code(net, value)}"
        conditions.append(f"i[{place[-1]}:{place[0]}] == {code}")
    width = int(plan.wires.num_wires[netlist.num_inputs + mutant.gate])
    wrong = wrong_wires(netlist, plan.wires, mutant)
    return f"(({' && '.join(conditions)}) ? {width}'d{wrong} : {width}'d0)"


def _flips(design: Design, widths: Sequence[int]) -> dict[int, LayerFaults]:
    """Let ``select`` − 1 number the bit of a layer's register that takes the wrong value."""
    select = select_signal(design)
    faults = {}
    first = 1
    for plan, width in zip(design.plans, widths, strict=True):
        if width:
            hit = f"{select} >= {first} && {select} < {first + width}"
            flip = f"({hit}) ? {width}'d1 << ({select} - {first}) : {width}'d0"
            faults[plan.level] = LayerFaults(output=flip)
        first += width
    return faults
