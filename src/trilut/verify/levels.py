"""The levels of verification, from the RTL to the bitstream, and one result for all."""

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trilut.circuit.format import load
from trilut.circuit.netlist import Netlist
from trilut.errors import ToolError
from trilut.extras import require
from trilut.files import make_directory, work_directory, write_atomically
from trilut.hdl import VerilogDesign, write_verilog
from trilut.report.summary import percent, plain
from trilut.sim import RegressionResult, Vectors, stimulus, verify_rtl
from trilut.synth import Target, load_target

__all__ = [
    "ALL",
    "Level",
    "LevelResult",
    "Outcome",
    "Verification",
    "default_levels",
    "prove",
    "verify",
]

ALL = "all"
"""Stands for every level; one whose tools are missing is then left out, and said to be."""

# A proof takes about ten milliseconds a gate.
_MAX_GATES_PROVEN = 10_000


class Level(StrEnum):
    """What is compared with the netlist, and how."""

    RTL = "rtl"
    """The Verilog, simulated."""
    FORMAL = "formal"
    """The Verilog, proven for every input."""
    MAPPED = "mapped"
    """The netlist of the part's cells after synthesis, simulated, and proven equal to the RTL."""
    BITSTREAM = "bitstream"
    """The bitstream of an iCE40, read back and simulated through its pins."""


class Outcome(StrEnum):
    """How a level ended."""

    PASSED = "passed"
    """Nothing was wrong and everything was checked."""
    FAILED = "FAILED"
    """Something is wrong."""
    UNPROVEN = "not proven"
    """Nothing is known to be wrong, but the proof did not come to its end."""
    NOT_RUN = "not run"
    """A tool is missing or failed, and the level was not asked for by its name."""


@dataclass(frozen=True, slots=True)
class LevelResult:
    """What one level found.

    Parameters
    ----------
    level : Level
        The level.
    outcome : Outcome
        How it ended.
    verdict : str
        What was found, in a line.
    seconds : float
        Time it took.
    details : mapping
        Everything, as JSON can hold it.
    """

    level: Level
    outcome: Outcome
    verdict: str
    seconds: float
    details: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Verification:
    """What a verification found.

    Parameters
    ----------
    levels : tuple of LevelResult
        In the order they were run.
    coverage : mapping
        Functional coverage of the simulated vectors; empty if none were simulated.
    """

    levels: tuple[LevelResult, ...]
    coverage: Mapping[str, Any]

    @property
    def passed(self) -> bool:
        """Whether every level that was run passed."""
        return all(result.outcome in (Outcome.PASSED, Outcome.NOT_RUN) for result in self.levels)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        return {"passed": self.passed, **plain(self)}

    @property
    def rows(self) -> dict[str, str]:
        """The rows of a table."""
        rows = {}
        for result in self.levels:
            took = "" if result.outcome is Outcome.NOT_RUN else f" in {result.seconds:.1f} s"
            rows[result.level.value] = f"{result.outcome.value}{took}: {result.verdict}"
            for claim, text in result.details.get("claims", {}).items():
                rows[f"  {claim}"] = text
        if self.coverage:
            rows["coverage"] = _coverage_text(self.coverage)
        return rows


def default_levels(net: Netlist) -> tuple[Level, ...]:
    """Return the levels that cost little: simulation, and proof unless the circuit is large."""
    return (Level.RTL, Level.FORMAL) if net.num_gates <= _MAX_GATES_PROVEN else (Level.RTL,)


def verify(
    net: Netlist | Path,
    *,
    levels: Iterable[str] | None = None,
    samples: ArrayLike | None = None,
    pipeline: int = 2,
    target: str = "ecp5",
    num_random: int = 10_000,
    seed: int = 0,
    simulator: str = "verilator",
    output: Path | None = None,
    scratch: Path | None = None,
    progress: Callable[[str], None] | None = None,
) -> Verification:
    """Build the hardware of a netlist and check that it computes what the netlist says.

    Parameters
    ----------
    net : Netlist or Path
        The circuit, or its file.
    levels : iterable of str, optional
        Which :class:`Level` to run, or :data:`ALL`; by default those of :func:`default_levels`.
    samples : array [sample, feature], optional
        Data to simulate, besides random vectors and corners.
    pipeline : int
        Layers between registers.
    target : str
        The part. Sums are made of its own cells at every level; a bitstream is made for an iCE40
        if the part is none.
    num_random : int
        Number of random vectors.
    seed : int
        Of the vectors, and of the bench's pauses and resets.
    simulator : str
        ``verilator`` or ``icarus``.
    output : Path, optional
        Directory for ``verification.json``.
    scratch : Path, optional
        Where to make files for the tools, which are removed, and ``logs``, which are kept; by
        default ``output``, or the current directory.
    progress : callable, optional
        Called with a line of text when a step begins.

    Raises
    ------
    TrilutError
        If a tool is missing or fails. A design that is wrong is a result, not an error.
    """
    circuit = load(net) if isinstance(net, Path) else net
    names = tuple(levels or default_levels(circuit))
    chosen = tuple(Level) if ALL in names else tuple(Level(name) for name in names)
    say = progress or (lambda line: None)
    place = scratch or output or Path.cwd()
    logs = place / "logs"
    with work_directory(place, logs=logs) as work:
        runner = _Runner(circuit, work, pipeline, load_target(target), seed, simulator, say)
        if set(chosen) != {Level.FORMAL}:
            say("vectors")
            runner.make_vectors(samples, num_random)
        actions = {
            Level.RTL: runner.simulate_rtl,
            Level.FORMAL: runner.prove,
            Level.MAPPED: runner.simulate_mapped,
            Level.BITSTREAM: runner.simulate_bitstream,
        }
        if ALL in names:
            actions[Level.BITSTREAM] = _optional(actions[Level.BITSTREAM], work, logs)
        results = tuple(_timed(level, actions[level]) for level in chosen)
        verification = Verification(results, runner.coverage)
    if output:
        text = json.dumps(verification.to_dict(), indent=2) + "\n"
        write_atomically(make_directory(output) / "verification.json", text)
    return verification


_Finding = tuple[Outcome, str, dict[str, Any]]


def _timed(level: Level, action: Callable[[], _Finding]) -> LevelResult:
    start = time.monotonic()
    outcome, verdict, details = action()
    return LevelResult(level, outcome, verdict, time.monotonic() - start, details)


def _optional(action: Callable[[], _Finding], work: Path, logs: Path) -> Callable[[], _Finding]:
    """Make a level one that may be left out; say where its logs will be, not where they are."""

    def attempt() -> _Finding:
        try:
            return action()
        except ToolError as error:
            return Outcome.NOT_RUN, str(error).replace(str(work), str(logs)), {}

    return attempt


class _Runner:
    """The levels of one circuit, which share its design and its vectors."""

    def __init__(
        self,
        net: Netlist,
        work: Path,
        pipeline: int,
        target: Target,
        seed: int,
        simulator: str,
        say: Callable[[str], None],
    ):
        self._net = net
        self._work = work
        self._pipeline = pipeline
        self._target = target
        self._seed = seed
        self._simulator = simulator
        self._say = say
        self._design: VerilogDesign | None = None
        self._vectors: dict[str, Vectors] = {}
        self.coverage: dict[str, Any] = {}

    def make_vectors(self, samples: ArrayLike | None, num_random: int) -> None:
        """Make the vectors to simulate, and measure what they cover."""
        require("pysat")
        from trilut.verify.coverage import measure_coverage

        rng = np.random.default_rng(self._seed)
        self._vectors = stimulus(self._net, samples, rng, num_random=num_random)
        coverage, directed = measure_coverage(self._net, self._vectors)
        if directed is not None:
            self._vectors["directed"] = directed
        self.coverage = {**plain(coverage), "share": coverage.share}

    def _rtl(self) -> VerilogDesign:
        if self._design is None:
            self._say("Verilog")
            self._design = write_verilog(
                self._net, self._work, pipeline=self._pipeline, target=self._target.sums
            )
        return self._design

    def simulate_rtl(self) -> _Finding:
        """Simulate the Verilog."""
        return self._simulate(self._rtl(), self._work / "rtl")

    def simulate_mapped(self) -> _Finding:
        """Map the Verilog to a part, and simulate the part's cells."""
        require("pysat")
        from trilut.verify.mapped import map_design, prove_mapping

        part = self._target
        directory = self._work / "mapped"
        self._say(f"mapping to {part.name}")
        mapped = map_design(self._rtl(), part, directory)
        outcome, verdict, details = self._simulate(mapped, directory)
        if self._net.num_gates <= _MAX_GATES_PROVEN:
            self._say("proof: cells")
            details["claims"] = {"cells": prove_mapping(self._rtl(), part, directory)}
        return outcome, f"{part.name}, {verdict}", {"target": part.name, **details}

    def simulate_bitstream(self) -> _Finding:
        """Build the bitstream of an iCE40, read it back, and simulate it."""
        from trilut.verify.bitstream import compare, read_back, suitable_target

        part = suitable_target(self._target)
        directory = self._work / "bitstream"
        chip = read_back(self._net, part, directory, pipeline=self._pipeline, progress=self._say)
        self._say("simulating the chip")
        result = compare(self._net, chip, self._vectors, directory / "simulation")
        counts = f"{_counts(result.num_checked)} through {result.num_pins} pins"
        verdict = f"{part.name}, {counts}, {result.num_mismatches} mismatches"
        if result.first_mismatch:
            verdict += f"; {result.first_mismatch.text}"
        return _outcome(result.passed), verdict, {"target": part.name, **plain(result)}

    def _simulate(self, design: VerilogDesign, out: Path) -> _Finding:
        simulated = self._work / "simulated.v"
        write_atomically(simulated, design.path.read_text() + design.models)
        result = verify_rtl(
            self._net,
            simulated,
            design.top,
            design.latency,
            self._vectors,
            out=out,
            seed=self._seed,
            simulator=self._simulator,
            progress=self._say,
        )
        return _outcome(result.passed), _regression_text(result), plain(result)

    def prove(self) -> _Finding:
        """Prove the Verilog."""
        return _prove(self._net, self._rtl(), self._work, self._say)


def prove(
    net: Netlist,
    design: VerilogDesign,
    work: Path,
    *,
    progress: Callable[[str], None] | None = None,
) -> LevelResult:
    """Prove that a design computes its netlist, as the level ``formal`` does.

    Parameters
    ----------
    work : Path
        Directory for scratch files and logs.
    progress : callable, optional
        Called with a line of text when a step begins.

    Raises
    ------
    ToolError
        If the SAT solver or Yosys is missing or fails.
    """
    say = progress or (lambda line: None)
    return _timed(Level.FORMAL, lambda: _prove(net, design, work, say))


def _prove(net: Netlist, design: VerilogDesign, work: Path, say: Callable[[str], None]) -> _Finding:
    require("pysat")
    from trilut.verify.proof.formal import prove_design

    result = prove_design(net, design, work, progress=lambda step: say(f"proof: {step}"))
    if result.passed:
        verdict = "RTL proven equal to the netlist, for every input"
        return Outcome.PASSED, verdict, result.to_dict()
    outcome = Outcome.UNPROVEN if result.is_open else Outcome.FAILED
    example = result.counterexample
    where = f"; {example.text}" if example else ""
    return outcome, f"{result.objection}{where}", result.to_dict()


def _outcome(passed: bool) -> Outcome:
    return Outcome.PASSED if passed else Outcome.FAILED


def _regression_text(result: RegressionResult) -> str:
    text = f"{_counts(result.num_checked)}, {result.num_mismatches} mismatches"
    if result.num_faults:
        faults = ", ".join(f"{count} {kind}" for kind, count in result.num_faults.items())
        text += f", faults: {faults}"
    return text


def _counts(num_checked: Mapping[str, int]) -> str:
    counts = ", ".join(f"{count} {origin}" for origin, count in num_checked.items())
    return f"{sum(num_checked.values())} vectors ({counts})"


def _coverage_text(coverage: Mapping[str, Any]) -> str:
    text = (
        f"{percent(coverage['share'])} of {coverage['num_rows']} table rows occur "
        f"({coverage['num_directed']} vectors directed, "
        f"{coverage['num_proven_unreachable']} rows proven impossible)"
    )
    missed = ", ".join(f"gate {gate} row {row}" for gate, row in coverage["uncovered"])
    return f"{text}; not: {missed}, …" if missed else text
