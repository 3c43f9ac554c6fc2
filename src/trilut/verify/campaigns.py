"""Campaigns against the RTL: which wrong gates a regression sees, and what bit flips do.

Many faulty designs are one Verilog file. An input ``select`` of the top module chooses which fault
acts, 0 for none, and the layers see it by its hierarchical name; so a campaign compiles once.
"""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trilut.encoder import FeatureVectors
from trilut.errors import NetlistError, ToolError
from trilut.files import make_directory, write_atomically
from trilut.gates import truth_values
from trilut.hdl.verilog import VerilogDesign
from trilut.head import Decisions
from trilut.netlist import Netlist
from trilut.reach import possible_values, reachable_rows
from trilut.sim.equivalence import all_inputs
from trilut.sim.regression import reference_model
from trilut.sim.rtl import RtlModel, build_rtl
from trilut.sim.stimulus import Vectors, stimulus
from trilut.verify.aig import FALSE, TRUE, Aig, Literal
from trilut.verify.coverage import measure_coverage
from trilut.verify.inputs import Inputs
from trilut.verify.specification import Trit, cases, equal, signed_sum
from trilut.verify.sweep import Sweeper

__all__ = [
    "FlipSurvey",
    "Mutant",
    "MutationResult",
    "draw_mutants",
    "flip_survey",
    "mutation_campaign",
    "regression_vectors",
]

Progress = Callable[[int, int], None]
"""Called with the number of faults done and of all faults."""

# Rows of tables that a SAT solver may look for a vector for.
_MAX_QUESTIONS = 300
_MAX_EXHAUSTIVE = 1 << 14
# The dual-rail code of each trit, plus in the higher bit.
_CODES = {-1: 0b01, 0: 0b00, 1: 0b10}


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


@dataclass(frozen=True, slots=True)
class MutationResult:
    """What a regression saw of mutants.

    Parameters
    ----------
    num_mutants : int
        Number of mutants.
    num_vectors : int
        Number of vectors that each was tried on, at most.
    equivalent : tuple of Mutant
        Those that are proven to change nothing at the ports, whatever comes in, as long as output
        trits take values that they can take in the netlist; of others the sums may make anything.
        They count as no faults.
    missed : tuple of Mutant
        Those that change some output, but for none of the vectors.
    """

    num_mutants: int
    num_vectors: int
    equivalent: tuple[Mutant, ...]
    missed: tuple[Mutant, ...]

    @property
    def num_faults(self) -> int:
        """Number of mutants that can be told from the netlist at the ports."""
        return self.num_mutants - len(self.equivalent)

    @property
    def num_killed(self) -> int:
        """Number of mutants that some vector told from the netlist."""
        return self.num_faults - len(self.missed)

    @property
    def kill_rate(self) -> float:
        """Share of the faults that some vector told from the netlist."""
        return self.num_killed / self.num_faults if self.num_faults else 1.0


def draw_mutants(net: Netlist, count: int, rng: np.random.Generator) -> list[Mutant]:
    """Draw different mutants of a netlist; fewer if it has fewer table entries.

    Any entry may be drawn, one whose inputs never occur too: such a mutant is no fault at all.
    """
    values = _values(net)
    rows = [(a, b) for a in values for b in values]
    entries = rng.permutation(net.num_gates * len(rows))[:count]
    mutants = []
    for entry in entries.tolist():
        gate, row = divmod(entry, len(rows))
        others = [value for value in values if value != net.table[gate, row]]
        a, b = rows[row]
        mutants.append(Mutant(gate, a, b, int(rng.choice(others))))
    return mutants


def regression_vectors(
    net: Netlist, samples: ArrayLike | None, rng: np.random.Generator, num_random: int
) -> Vectors:
    """Return the vectors of a regression, with directed ones for rows of tables that they miss.

    A circuit that can tell only a few inputs apart gets all of them.
    """
    groups = stimulus(net, samples, rng, num_random=num_random)
    _, directed = measure_coverage(net, groups, max_questions=_MAX_QUESTIONS)
    parts = [*groups.values(), *([] if directed is None else [directed])]
    with suppress(NetlistError):
        parts += all_inputs(net, limit=_MAX_EXHAUSTIVE)
    features = [part for part in parts if isinstance(part, FeatureVectors)]
    trits = [part for part in parts if not isinstance(part, FeatureVectors)]
    return FeatureVectors.concatenate(features) if features else np.concatenate(trits)


def mutation_campaign(
    design: VerilogDesign,
    mutants: Sequence[Mutant],
    vectors: Vectors,
    *,
    out: Path,
    progress: Progress | None = None,
) -> MutationResult:
    """Simulate every mutant of a design until a vector tells it from the netlist.

    Of those that no vector tells, a SAT solver finds out whether they are faults at all.

    Parameters
    ----------
    design : VerilogDesign
        The design; with a port for the scores more faults show.
    mutants : sequence of Mutant
        What to try, as :func:`draw_mutants` gives it for ``design.classifier.netlist``.
    vectors : FeatureVectors or array of trits
        The regression.
    out : Path
        Directory for the build.
    progress : callable, optional
        Called after each mutant.

    Raises
    ------
    ToolError
        If the design cannot be built, or is wrong before anything is changed.
    """
    text = _mutated(design, mutants)
    model, expected = _prepared(design, text, vectors, out)
    proof = _MutantProof(design)
    equivalent: list[Mutant] = []
    missed: list[Mutant] = []
    for number, mutant in enumerate(mutants, start=1):
        model.select = number
        if not _differs(model, vectors, expected):
            (missed if proof.is_fault(mutant) else equivalent).append(mutant)
        if progress:
            progress(number, len(mutants))
    return MutationResult(len(mutants), len(vectors), tuple(equivalent), tuple(missed))


class _MutantProof:
    """Finds out whether a mutant changes a score, or an output trit without a head, for any input.

    A wrong value may be one that its readers were not built for, so the mutant is made of the
    formulas of the hardware, not of tables.
    """

    def __init__(self, design: VerilogDesign) -> None:
        self._net = design.classifier.netlist
        self._aig = Aig()
        self._inputs = Inputs(self._aig, self._net).trits
        self._formulas = {
            gate: formulas
            for plan in design.classifier.plans
            for gate, formulas in zip(plan.gates, plan.formulas, strict=True)
        }
        self._possible = possible_values(self._net, reachable_rows(self._net))
        self._right = self._nets(None)
        self._sweeper = Sweeper(self._aig)

    def is_fault(self, mutant: Mutant) -> bool:
        nets = self._nets(mutant)
        outputs = self._net.outputs.tolist()
        pairs = [(self._right[net], nets[net]) for net in outputs]
        head = self._net.head
        ends = np.cumsum(head.group_sizes if head else [1] * len(pairs)).tolist()
        groups = [pairs[start:end] for start, end in pairwise([0, *ends])]
        differs = self._aig.any(self._differs(group, head is not None) for group in groups)
        # Sums may make what they like of a value that they were not built for.
        expected = [self._is_expected(net, nets[net]) for net in outputs] if head else []
        return self._sweeper.example([differs, *dict.fromkeys(expected)]) is not None

    def _is_expected(self, net: int, trit: Trit) -> Literal:
        values = zip(self._possible[net].tolist(), cases(self._aig, trit), strict=True)
        return self._aig.any(literal for is_possible, literal in values if is_possible)

    def _differs(self, pairs: Sequence[tuple[Trit, Trit]], is_summed: bool) -> Literal:
        """Return whether some trits, or only their sums, are not what they should be."""
        wrong = [pair for pair in pairs if pair[0] != pair[1]]
        if not is_summed:
            planes = [self._aig.differ(*both) for pair in wrong for both in zip(*pair, strict=True)]
            return self._aig.any(planes)
        # A sum is wrong by what enters with the wrong weight: compare what is added on both sides.
        left = [plane for (_, plus), (minus, _) in wrong for plane in (plus, minus)]
        right = [plane for (minus, _), (_, plus) in wrong for plane in (plus, minus)]
        return equal(self._aig, self._count(left), self._count(right)) ^ 1

    def _count(self, literals: Sequence[Literal]) -> list[Literal]:
        total = [FALSE]
        for literal in literals:
            total = signed_sum(self._aig, total, [literal, FALSE], len(total) + 1)
        return total

    def _nets(self, mutant: Mutant | None) -> list[Trit]:
        """Return every net; what a mutant does not reach is the same nodes as without it."""
        aig = self._aig
        nets = list(self._inputs)
        sources = zip(self._net.a.tolist(), self._net.b.tolist(), strict=True)
        for gate, (a, b) in enumerate(sources):
            bits = {"one": TRUE}
            bits |= {"a_minus": nets[a][0], "a_plus": nets[a][1]}
            bits |= {"b_minus": nets[b][0], "b_plus": nets[b][1]}
            wires = {name: _Wire(aig, literal) for name, literal in bits.items()}
            plus, minus = (plane.build(wires).literal for plane in self._formulas[gate])
            if mutant is not None and gate == mutant.gate:
                here = aig.both(
                    cases(aig, nets[a])[mutant.a + 1], cases(aig, nets[b])[mutant.b + 1]
                )
                flip = _flip(self._net, mutant)
                plus = aig.differ(plus, here) if flip & 2 else plus
                minus = aig.differ(minus, here) if flip & 1 else minus
            nets.append((minus, plus))
        return nets


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


def _flip(net: Netlist, mutant: Mutant) -> int:
    """Return which planes of the gate are wrong in the row of a mutant."""
    values = _values(net)
    row = values.index(mutant.a) * len(values) + values.index(mutant.b)
    return _CODES[int(net.table[mutant.gate, row])] ^ _CODES[mutant.value]


def _values(net: Netlist) -> list[int]:
    return [int(value) for value in truth_values(net.valence)]


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
    design: VerilogDesign,
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
    design : VerilogDesign
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
    """
    widths = [2 * len(plan.nets_out) if plan.registered else 0 for plan in design.classifier.plans]
    model, expected = _prepared(design, _with_flips(design, widths), vectors, out)
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
    design: VerilogDesign, text: str, vectors: Vectors, out: Path
) -> tuple[RtlModel, dict[str, NDArray[np.int64]]]:
    """Build a design with faults, and check that without one it does what the netlist says."""
    path = make_directory(out) / "faulty.v"
    write_atomically(path, _with_select(text, design.top) + design.models)
    net = design.classifier.netlist
    model = build_rtl(net, path, design.top, out=out)
    expected = _reference(net, vectors)
    results = model.results(vectors)
    expected = {name: expected[name] for name in results}
    for name, values in expected.items():
        if np.any(results[name] != values):
            raise ToolError(f"The design gives another {name!r} than its netlist without any fault")
    return model, expected


def _reference(net: Netlist, vectors: Vectors) -> dict[str, NDArray[np.int64]]:
    results = reference_model(net, [vectors], 0).results
    if not isinstance(results, Decisions):
        return {"trits": results.astype(np.int64)}
    return {
        "class": results.chosen[:, None],
        "margin": results.margin[:, None],
        "unknown": results.unknown[:, None].astype(np.int64),
        "scores": results.scores,
    }


def _with_select(text: str, top: str) -> str:
    """Give the top module the input ``select``."""
    return _replaced(
        rf"^module {top}\s*\((.*?)\);",
        rf"module {top}(\1, select);\n  input [31:0] select;",
        text,
    )


def _replaced(pattern: str, replacement: str, text: str) -> str:
    text, count = re.subn(pattern, replacement, text, count=1, flags=re.MULTILINE | re.DOTALL)
    if count != 1:
        raise ToolError(f"The Verilog has no text like {pattern!r}, so no fault can go there")
    return text


def _mutated(design: VerilogDesign, mutants: Sequence[Mutant]) -> str:
    net = design.classifier.netlist
    faults: dict[int, list[str]] = {}
    places = {}
    for plan in design.classifier.plans:
        position = {number: index for index, number in enumerate(plan.nets_in)}
        for neuron, gate in enumerate(plan.gates):
            places[gate] = (plan.level, neuron, position)
    for number, mutant in enumerate(mutants, start=1):
        _, _, position = places[mutant.gate]
        flip = _flip(net, mutant)
        conditions = [f"{design.top}.select == {number}"]
        for source, value in ((net.a, mutant.a), (net.b, mutant.b)):
            place = 2 * position[int(source[mutant.gate])]
            conditions.append(f"i[{place + 1}:{place}] == 2'd{_CODES[value]}")
        fault = f"(({' && '.join(conditions)}) ? 2'd{flip} : 2'd0)"
        faults.setdefault(mutant.gate, []).append(fault)
    text = design.path.read_text()
    for gate, terms in faults.items():
        level, neuron, _ = places[gate]
        head = (
            rf"(^module {design.top}_layer_{level} \(.*?^  wire \[1:0\] neuron_{neuron} = )(.*?);"
        )
        text = _replaced(head, rf"\1(\2) ^ {' ^ '.join(terms)};", text)
    return text


def _with_flips(design: VerilogDesign, widths: Sequence[int]) -> str:
    """Let ``select`` − 1 number the bit of a layer's register that takes the wrong value."""
    text = design.path.read_text()
    first = 1
    for plan, width in zip(design.classifier.plans, widths, strict=True):
        if width:
            flip = f"({width}'d1 << ({design.top}.select - {first}))"
            hit = f"{design.top}.select >= {first} && {design.top}.select < {first + width}"
            text = _replaced(
                rf"(^module {design.top}_layer_{plan.level} \(.*?o <= )(\{{.*?\}});",
                rf"\1\2 ^ (({hit}) ? {flip} : {width}'d0);",
                text,
            )
        first += width
    return text
