"""The one verification: a design against its netlist, from the RTL to the bitstream."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from trilut.circuit.format import digest, load_circuit
from trilut.circuit.interface import Steps, Vectors, VerilogModule
from trilut.circuit.sequential import Circuit, SequentialNetlist
from trilut.errors import ToolError
from trilut.extras import missing, require
from trilut.files import keep_logs, work_directory
from trilut.hdl import (
    DEFAULT_TARGET,
    PORTABLE,
    Design,
    HardwareOptions,
    read_design,
    write_verilog,
)
from trilut.sim import RegressionResult, step_stimulus, stimulus, verify_rtl
from trilut.synth import Target, load_target
from trilut.synth.target import sums_of
from trilut.tools import find_tool
from trilut.verify.result import ALL, Level, LevelResult, MappedResult, Outcome, Verification

if TYPE_CHECKING:
    from trilut.verify.coverage import Coverage

__all__ = ["default_levels", "verify", "verify_design"]

# A proof takes about ten milliseconds a gate.
_MAX_GATES_PROVEN = 10_000

Progress = Callable[[str], None]
"""Called with a line of text when a step begins."""


def default_levels(netlist: Circuit) -> tuple[Level, ...]:
    """Return the levels that cost little: simulation, and proof unless the circuit is large."""
    return (Level.RTL, Level.FORMAL) if netlist.num_gates <= _MAX_GATES_PROVEN else (Level.RTL,)


def verify(
    netlist: Circuit | str | Path,
    options: HardwareOptions | None = None,
    *,
    rtl: str | Path | None = None,
    latency: int | None = None,
    clocked: bool = True,
    levels: Iterable[str] | None = None,
    samples: ArrayLike | None = None,
    target: str = DEFAULT_TARGET,
    num_random: int = 10_000,
    seed: int = 0,
    simulator: str = "verilator",
    scratch: str | Path | None = None,
    progress: Progress | None = None,
) -> Verification:
    """Check that hardware computes what a netlist says: what is made of it, or what is there.

    Parameters
    ----------
    netlist : Netlist, SequentialNetlist, or path
        The circuit, or its file.
    options : HardwareOptions, optional
        What shapes the hardware; its sums are made of the cells of the target unless it says
        otherwise.
    rtl, latency, clocked : path, int, bool, optional
        A design that is there, changed or from elsewhere, instead of a new one; as of
        :func:`trilut.hdl.read_design`.
    scratch : path, optional
        Where to make files for the tools, which are removed, and ``logs``, which are kept; by
        default the current directory, where logs stay only if a message names one.
    levels, samples, target, num_random, seed, simulator, progress
        As of :func:`verify_design`.

    Raises
    ------
    TrilutError
        If a tool is missing or fails. A design that is wrong is a result, not an error.
    """
    scratch = None if scratch is None else Path(scratch)
    rtl = None if rtl is None else Path(rtl)
    circuit = load_circuit(netlist) if isinstance(netlist, str | Path) else netlist
    place = scratch or Path.cwd()
    if rtl is None and (latency is not None or not clocked):
        raise ValueError("A latency or clock is said of a design that is there, but 'rtl' is none")
    wanted, sums = options or HardwareOptions(), sums_of(target)
    names = None if levels is None else tuple(levels)
    if rtl is not None and names is not None:
        names = _levels_of_files(names)
    logs = place / "logs"
    with work_directory(place, logs=logs if scratch else None) as work:
        if progress:
            progress("Verilog")
        if rtl is None:
            design = write_verilog(circuit, work, wanted.for_part(sums))
        else:
            design = read_design(rtl, circuit, wanted, latency=latency, clocked=clocked, sums=sums)
        result = verify_design(
            design,
            levels=names,
            samples=samples,
            target=target,
            num_random=num_random,
            seed=seed,
            simulator=simulator,
            work=work,
            logs=logs,
            progress=progress,
        )
        if any(str(logs) in level.verdict for level in result.levels):
            keep_logs(work, logs)
    return result


def _levels_of_files(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the levels that look at a design that is there: a bitstream is of one of its own."""
    if Level.BITSTREAM in names:
        raise ToolError(
            f"Level {Level.BITSTREAM.value!r} makes a design of its own, so it cannot look at one "
            "that is there"
        )
    return tuple(set(Level) - {Level.BITSTREAM}) if ALL in names else names


def verify_design(
    design: Design,
    *,
    work: str | Path,
    levels: Iterable[str] | None = None,
    samples: ArrayLike | None = None,
    target: str = DEFAULT_TARGET,
    num_random: int = 10_000,
    seed: int = 0,
    simulator: str = "verilator",
    logs: str | Path | None = None,
    progress: Progress | None = None,
) -> Verification:
    """Check that a design computes what its netlist says.

    The rule of all verification: the level ``rtl`` must run. Another level that was not asked for
    by its name may be left out if its tools are not there, and is then *not run*. The design passes
    if some level passed and every level that was run did; what is *not proven* has not passed.

    Parameters
    ----------
    design : Design
        The design. The level ``bitstream`` builds one of its own, with other ports.
    work : path
        Directory for the files of the tools, and their logs.
    levels : iterable of str, optional
        Which :class:`Level` to run, or :data:`ALL`; by default those of :func:`default_levels`.
    samples : array [sample, feature], optional
        Data to simulate, besides random vectors, corners, and vectors directed at rows of tables
        that the others miss.
    target : str
        The part that ``mapped`` maps to, or :data:`~trilut.hdl.options.PORTABLE` for none; a
        bitstream is made for an iCE40 if the part is none.
    num_random : int
        Number of random vectors.
    seed : int
        Of the vectors, and of the bench's pauses and resets.
    simulator : str
        ``verilator`` or ``icarus``.
    logs : path, optional
        Where the logs will be, for messages that name one; by default they stay.
    progress : callable, optional
        Called with a line of text when a step begins.

    Raises
    ------
    TrilutError
        If a tool is missing or fails. A design that is wrong is a result, not an error.
    """
    logs = None if logs is None else Path(logs)
    work = Path(work)
    names = tuple(levels or default_levels(design.netlist))
    chosen = tuple(Level) if ALL in names else tuple(Level(name) for name in names)
    must_run = {Level.RTL, *(names if levels else ())}
    part = None if target == PORTABLE else load_target(target)
    obstacles = {level: _obstacle(level, design, part) for level in chosen}
    for level, obstacle in obstacles.items():
        # What cannot be done should not wait for the end of the simulation.
        if level in must_run and obstacle:
            raise ToolError(obstacle)
    runner = _Runner(design, work, part, seed, simulator, progress)
    if set(chosen) != {Level.FORMAL}:
        runner.make_vectors(samples, num_random)
    sha256 = design.sha256
    results = []
    for level in chosen:
        start = time.monotonic()
        if obstacles[level]:
            results.append(LevelResult(level, Outcome.NOT_RUN, obstacles[level], 0.0))
            continue
        try:
            result = runner.run(level)
        except ToolError as error:
            # A bitstream may not fit its part; what else stops for a reason must be seen.
            if level in must_run or level is not Level.BITSTREAM:
                raise
            reason = str(error).replace(str(work), str(logs or work))
            result = LevelResult(level, Outcome.NOT_RUN, reason, 0.0)
        results.append(replace(result, seconds=time.monotonic() - start))
    return Verification(tuple(results), runner.coverage, sha256, digest(design.netlist))


def _obstacle(level: Level, design: Design, part: Target | None) -> str:
    """Say why a level cannot be run: it does not suit the design, or a tool is missing.

    Those of simulation and place and route are looked for before anything is done.
    """
    if level in (Level.MAPPED, Level.BITSTREAM) and design.interface.is_combinational:
        return f"Level {level.value!r} takes a design with a clock"
    if level is Level.BITSTREAM and isinstance(design.netlist, SequentialNetlist):
        return f"Level {level.value!r} takes a circuit without state"
    if level is Level.MAPPED and part is None:
        return f"Level {level.value!r} takes a part, and target {PORTABLE!r} is none"
    if level not in (Level.FORMAL, Level.MAPPED):
        return ""
    try:
        require("pysat")
        find_tool("yosys")
    except ToolError as error:
        return str(error)
    return ""


class _Runner:
    """The levels of one design, which share its vectors."""

    def __init__(
        self,
        design: Design,
        work: Path,
        target: Target | None,
        seed: int,
        simulator: str,
        progress: Progress | None,
    ):
        self._design = design
        self._netlist = design.specification
        self._work = work
        self._target = target
        self._seed = seed
        self._simulator = simulator
        self._say = progress or (lambda line: None)
        self._vectors: dict[str, Vectors] = {}
        self._steps: dict[str, Steps] = {}
        self.coverage: Coverage | None = None

    def make_vectors(self, samples: ArrayLike | None, num_random: int) -> None:
        """Make the vectors to simulate, and measure what they cover if a solver is there."""
        self._say("vectors")
        rng = np.random.default_rng(self._seed)
        encoder = self._design.netlist.encoder
        if samples is not None and encoder is not None and self._netlist.encoder is None:
            samples = encoder.trits(encoder.quantize(samples))
        if isinstance(self._netlist, SequentialNetlist):
            self._steps = step_stimulus(self._netlist, samples, rng, num_random=num_random)
            return
        vectors = stimulus(self._netlist, samples, rng, num_random=num_random)
        if not missing("pysat"):
            from trilut.verify.coverage import measure_coverage

            self.coverage, directed = measure_coverage(self._netlist, vectors)
            vectors |= {} if directed is None else {"directed": directed}
        self._vectors = vectors

    def run(self, level: Level) -> LevelResult:
        """Run one level."""
        run = {
            Level.RTL: self._simulate_rtl,
            Level.FORMAL: self._prove,
            Level.MAPPED: self._simulate_mapped,
            Level.BITSTREAM: self._simulate_bitstream,
        }
        return run[level]()

    def _simulate_rtl(self) -> LevelResult:
        result = self._simulate(self._design, self._work / "rtl")
        return LevelResult(
            Level.RTL, _outcome(result.passed), _regression_text(result), 0.0, result
        )

    def _prove(self) -> LevelResult:
        require("pysat")
        from trilut.verify.proof.formal import prove_design

        say = self._say
        result = prove_design(
            self._netlist, self._design, self._work, progress=lambda step: say(f"proof: {step}")
        )
        if result.passed:
            verdict = "RTL proven equal to the netlist, for every input"
            return LevelResult(Level.FORMAL, Outcome.PASSED, verdict, 0.0, result)
        outcome = Outcome.UNPROVEN if result.is_open else Outcome.FAILED
        where = f"; {result.counterexample.text}" if result.counterexample else ""
        return LevelResult(Level.FORMAL, outcome, f"{result.objection}{where}", 0.0, result)

    def _simulate_mapped(self) -> LevelResult:
        """Map the Verilog to a part, simulate the part's cells, and prove them."""
        require("pysat")
        from trilut.verify.mapped import map_design, prove_mapping

        part, directory = self._target, self._work / "mapped"
        assert part is not None
        self._say(f"mapping to {part.name}")
        mapped = map_design(self._design, part, directory)
        result = self._simulate(mapped, directory)
        cells = ""
        if self._netlist.num_gates <= _MAX_GATES_PROVEN:
            self._say("proof: cells")
            cells = prove_mapping(self._design, part, directory)
        verdict = f"{part.name}, {_regression_text(result)}"
        finding = MappedResult(part.name, result, cells)
        return LevelResult(Level.MAPPED, _outcome(result.passed), verdict, 0.0, finding)

    def _simulate_bitstream(self) -> LevelResult:
        """Build the bitstream of an iCE40, read it back, and simulate it."""
        from trilut.verify.bitstream import compare, read_back, suitable_target

        part = suitable_target(self._target)
        directory = self._work / "bitstream"
        options = self._design.options
        netlist = self._design.interface.specification(self._design.stateless)
        chip = read_back(netlist, part, directory, options=options, progress=self._say)
        self._say("simulating the chip")
        result = compare(netlist, chip, self._vectors, directory / "simulation")
        counts = f"{_counts(result.num_checked)} through {result.num_pins} pins"
        verdict = f"{part.name}, {counts}, {result.num_mismatches} mismatches"
        if result.first_mismatch:
            verdict += f"; {result.first_mismatch.text}"
        return LevelResult(Level.BITSTREAM, _outcome(result.passed), verdict, 0.0, result)

    def _simulate(self, design: VerilogModule, out: Path) -> RegressionResult:
        return verify_rtl(
            self._netlist,
            design,
            self._steps or self._vectors,
            out=out,
            seed=self._seed,
            simulator=self._simulator,
            progress=self._say,
        )


def _outcome(passed: bool) -> Outcome:
    return Outcome.PASSED if passed else Outcome.FAILED


def _regression_text(result: RegressionResult) -> str:
    text = f"{_counts(result.num_checked)}, {result.num_mismatches} mismatches"
    if result.num_violations:
        violations = ", ".join(f"{count} {kind}" for kind, count in result.num_violations.items())
        text += f", protocol violations: {violations}"
    return text


def _counts(num_checked: Mapping[str, int]) -> str:
    counts = ", ".join(f"{count} {origin}" for origin, count in num_checked.items())
    return f"{sum(num_checked.values())} vectors ({counts})"
