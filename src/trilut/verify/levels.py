"""The levels of verification, from the RTL to the mapped netlist, and one result for all."""

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trilut.errors import ToolError
from trilut.files import make_directory, work_directory, write_atomically
from trilut.format import load
from trilut.hdl import VerilogDesign, write_verilog
from trilut.netlist import Netlist
from trilut.sim import RegressionResult, Vectors, stimulus, verify_rtl
from trilut.summary import percent, plain
from trilut.synth import load_target

__all__ = ["Level", "LevelResult", "Verification", "default_levels", "verify"]

# A proof takes about ten milliseconds a gate.
_MAX_GATES_PROVEN = 10_000


class Level(StrEnum):
    """What is compared with the netlist, and how."""

    RTL = "rtl"
    """The Verilog, simulated."""
    FORMAL = "formal"
    """The Verilog, proven for every input."""
    MAPPED = "mapped"
    """The netlist of the part's cells after synthesis, simulated."""


@dataclass(frozen=True, slots=True)
class LevelResult:
    """What one level found.

    Parameters
    ----------
    level : Level
        The level.
    passed : bool
        Whether nothing was wrong and everything was checked.
    verdict : str
        What was found, in a line.
    seconds : float
        Time it took.
    details : mapping
        Everything, as JSON can hold it.
    """

    level: Level
    passed: bool
    verdict: str
    seconds: float
    details: Mapping[str, Any]

    @property
    def mark(self) -> str:
        """A word for whether it passed."""
        return "passed" if self.passed else "FAILED"


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
        """Whether every level passed."""
        return all(result.passed for result in self.levels)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        return {"passed": self.passed, **plain(self)}

    @property
    def rows(self) -> dict[str, str]:
        """The rows of a table."""
        rows = {}
        for result in self.levels:
            rows[result.level.value] = f"{result.mark} in {result.seconds:.1f} s: {result.verdict}"
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
        Which :class:`Level` to run; by default those of :func:`default_levels`.
    samples : array [sample, feature], optional
        Data to simulate, besides random vectors and corners.
    pipeline : int
        Layers between registers.
    target : str
        The part that the mapped netlist is made for.
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
    chosen = tuple(Level(level) for level in levels) if levels else default_levels(circuit)
    say = progress or (lambda line: None)
    place = scratch or output or Path.cwd()
    with work_directory(place, logs=place / "logs") as work:
        runner = _Runner(circuit, work, pipeline, seed, simulator, say)
        if Level.RTL in chosen or Level.MAPPED in chosen:
            say("vectors")
            runner.make_vectors(samples, num_random)
        actions = {
            Level.RTL: runner.simulate_rtl,
            Level.FORMAL: runner.prove,
            Level.MAPPED: lambda: runner.simulate_mapped(target),
        }
        results = tuple(_timed(level, actions[level]) for level in chosen)
        verification = Verification(results, runner.coverage)
    if output:
        text = json.dumps(verification.to_dict(), indent=2) + "\n"
        write_atomically(make_directory(output) / "verification.json", text)
    return verification


def _timed(level: Level, action: Callable[[], tuple[bool, str, dict[str, Any]]]) -> LevelResult:
    start = time.monotonic()
    passed, verdict, details = action()
    return LevelResult(level, passed, verdict, time.monotonic() - start, details)


class _Runner:
    """The levels of one circuit, which share its design and its vectors."""

    def __init__(
        self,
        net: Netlist,
        work: Path,
        pipeline: int,
        seed: int,
        simulator: str,
        say: Callable[[str], None],
    ):
        self._net = net
        self._work = work
        self._pipeline = pipeline
        self._seed = seed
        self._simulator = simulator
        self._say = say
        self._design: VerilogDesign | None = None
        self._vectors: dict[str, Vectors] = {}
        self.coverage: dict[str, Any] = {}

    def make_vectors(self, samples: ArrayLike | None, num_random: int) -> None:
        """Make the vectors to simulate, and measure what they cover."""
        rng = np.random.default_rng(self._seed)
        self._vectors = stimulus(self._net, samples, rng, num_random=num_random)
        with _needs_solver():
            from trilut.verify.coverage import measure_coverage
        coverage, directed = measure_coverage(self._net, self._vectors)
        if directed is not None:
            self._vectors["directed"] = directed
        self.coverage = {**plain(coverage), "share": coverage.share}

    def _rtl(self) -> VerilogDesign:
        if self._design is None:
            self._say("Verilog")
            self._design = write_verilog(self._net, self._work, pipeline=self._pipeline)
        return self._design

    def simulate_rtl(self) -> tuple[bool, str, dict[str, Any]]:
        """Simulate the Verilog."""
        return self._simulate(self._rtl(), self._work / "rtl")

    def simulate_mapped(self, target: str) -> tuple[bool, str, dict[str, Any]]:
        """Map the Verilog to a part, and simulate the part's cells."""
        from trilut.verify.mapped import map_design

        part = load_target(target)
        directory = self._work / "mapped"
        design = write_verilog(self._net, directory, pipeline=self._pipeline, target=part.sums)
        self._say(f"mapping to {part.name}")
        mapped = map_design(design, part, directory)
        passed, verdict, details = self._simulate(mapped, directory)
        return passed, f"{part.name}, {verdict}", {"target": part.name, **details}

    def _simulate(self, design: VerilogDesign, out: Path) -> tuple[bool, str, dict[str, Any]]:
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
        return result.passed, _regression_text(result), plain(result)

    def prove(self) -> tuple[bool, str, dict[str, Any]]:
        """Prove the Verilog."""
        with _needs_solver():
            from trilut.verify.formal import prove_design

        result = prove_design(
            self._net,
            self._rtl(),
            self._work,
            progress=lambda step: self._say(f"proof: {step}"),
        )
        if result.passed:
            return True, "RTL proven equal to the netlist, for every input", plain(result)
        example = result.counterexample
        where = f"; {example.text}" if example else ""
        return False, f"{result.fault}{where}", plain(result)


@contextmanager
def _needs_solver() -> Iterator[None]:
    """Say how to get the SAT solver if it is not there."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "pysat":
            raise
        raise ToolError(
            "Cannot find the Python package python-sat; install trilut[verify]"
        ) from error


def _regression_text(result: RegressionResult) -> str:
    counts = ", ".join(f"{count} {origin}" for origin, count in result.num_checked.items())
    text = f"{sum(result.num_checked.values())} vectors ({counts})"
    text += f", {result.num_mismatches} mismatches"
    if result.num_faults:
        faults = ", ".join(f"{count} {kind}" for kind, count in result.num_faults.items())
        text += f", faults: {faults}"
    return text


def _coverage_text(coverage: Mapping[str, Any]) -> str:
    text = (
        f"{percent(coverage['share'])} of {coverage['num_rows']} table rows occur "
        f"({coverage['num_directed']} vectors directed, "
        f"{coverage['num_proven_unreachable']} rows proven impossible)"
    )
    missed = ", ".join(f"gate {gate} row {row}" for gate, row in coverage["uncovered"])
    return f"{text}; not: {missed}, …" if missed else text
