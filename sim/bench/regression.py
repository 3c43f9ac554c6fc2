"""Regression of a Verilog design against its netlist, vector by vector, in a Verilog simulator."""

import dataclasses
import json
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.encoder import FeatureVectors
from trilut.circuit.head import Decisions
from trilut.circuit.interface import HeadOutput, Interface, Steps, Vectors, VerilogModule
from trilut.circuit.netlist import Netlist
from trilut.circuit.sequential import Circuit, SequentialNetlist
from trilut.errors import DataError, NetlistError, ToolError
from trilut.files import make_directory, read_bytes, write_atomically
from trilut.identifier import check_identifier
from trilut.sim.bench.job import JOB_VARIABLE, Job, Model, ViolationKind
from trilut.sim.bench.simulator import Simulator, Verilator, child_tool, find_simulator
from trilut.sim.engines.dispatch import classify, evaluate, input_trits
from trilut.sim.sequences import run_steps
from trilut.tools import run

__all__ = [
    "FAULTS_A_RUN",
    "Mismatch",
    "RegressionResult",
    "Violation",
    "faults_seen",
    "reference_model",
    "verify_rtl",
]

FAULTS_A_RUN = 12
"""A simulation of few faults ends in time, and of many the start does not matter."""

# Vectors of a simulation that is only about what registers hold at first.
_NUM_AT_START = 100


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A vector whose result was not what the netlist says.

    Parameters
    ----------
    vector : int
        Its number, counted over all groups.
    origin : str
        The group that it is from.
    inputs : tuple of int or None
        Features, None where missing; or trits.
    expected, got : mapping
        Values of the output ports.
    """

    vector: int
    origin: str
    inputs: tuple[int | None, ...]
    expected: Mapping[str, object]
    got: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Violation:
    """A breach of the contract of the ports."""

    kind: ViolationKind
    cycle: int
    message: str


@dataclass(frozen=True, slots=True)
class RegressionResult:
    """What a regression found.

    Parameters
    ----------
    num_vectors : mapping
        Number of vectors of each origin.
    num_checked : mapping
        Number of those whose results were compared with the netlist.
    num_mismatches : int
        Number of vectors with a wrong result.
    mismatches : tuple of Mismatch
        The first of them.
    num_violations : mapping
        Number of violations of each kind that occurred.
    violations : tuple of Violation
        The first of each kind.
    num_driven : int
        Number of vectors that went in; more than there are, for some go in again after a reset.
    cycles : int
        Clock cycles simulated.
    input_stalls, output_stalls : int
        Cycles in which the design, and in which the bench, let the other side wait.
    resets : int
        How often the design was reset.
    latency : int
        Cycles from a vector to its result without stalls, as promised.
    max_latency : int
        The longest that a vector took, stalls included.
    simulator : str
        Name and version of the simulator.
    build_seconds, run_seconds : float
        Time to build and to run the simulation.
    """

    num_vectors: Mapping[str, int]
    num_checked: Mapping[str, int]
    num_mismatches: int
    mismatches: tuple[Mismatch, ...]
    num_violations: Mapping[ViolationKind, int]
    violations: tuple[Violation, ...]
    num_driven: int
    cycles: int
    input_stalls: int
    output_stalls: int
    resets: int
    latency: int
    max_latency: int
    simulator: str
    build_seconds: float
    run_seconds: float

    @property
    def passed(self) -> bool:
        """Whether every vector was checked and nothing was wrong."""
        complete = dict(self.num_checked) == dict(self.num_vectors)
        return complete and self.num_mismatches == 0 and not self.num_violations


def verify_rtl(
    netlist: Circuit,
    design: VerilogModule,
    vectors: Vectors | Steps | Mapping[str, Vectors] | Mapping[str, Steps],
    *,
    out: str | Path,
    seed: int = 0,
    simulator: str | Simulator = "verilator",
    progress: Callable[[str], None] | None = None,
    timeout: float = 1800.0,
) -> RegressionResult:
    """Simulate a Verilog design and compare all that it does with its netlist.

    Parameters
    ----------
    netlist : Netlist or SequentialNetlist
        What the design must compute.
    design : VerilogModule
        The design.
    vectors : FeatureVectors, array of trits, Steps, or mapping from origin to one of them
        What to drive: feature vectors into a design that takes features, trits into one that takes
        trits; steps of them into one with state.
    out : path
        Directory for the build, the logs and the results.
    seed : int
        Of the pauses, the resets, and the values of missing features and unset registers.
    simulator : str or Simulator
        ``verilator``, ``icarus``, or one that is already found.
    progress : callable, optional
        Called with a line of text when a step begins.
    timeout : float
        Seconds that the build may take, and again the run.

    Raises
    ------
    ToolError
        If the simulator is missing, cannot build the design, or does not come to an end. A design
        that computes something wrong is a result, not an error.
    NetlistError
        If the top module is not a plain Verilog identifier, or has other ports than its interface
        says.
    DataError
        If the vectors do not fit the netlist.
    FormatError
        If the Verilog cannot be read, or the directory written.
    """
    out = Path(out)
    check_identifier(design.top)
    tool = find_simulator(simulator) if isinstance(simulator, str) else simulator
    say = progress or (lambda line: None)
    groups = vectors if isinstance(vectors, Mapping) else {"vectors": vectors}
    model = reference_model(netlist, list(groups.values()), seed, design.interface)
    origins = {origin: len(group) for origin, group in groups.items()}
    job = Job(design.interface, seed, origins)
    directory = out.absolute() / "simulation"
    shutil.rmtree(directory, ignore_errors=True)
    make_directory(directory)
    say(f"Building with {tool.name} {tool.version}")
    start = time.monotonic()
    tool.build(design, directory, timeout=timeout)
    build_seconds = time.monotonic() - start
    say(f"Simulating {len(model):,} vectors")
    report, run_seconds = _simulate(tool, design.top, job, model, directory, timeout)
    if objection := report.get("objection"):
        raise NetlistError(f"Module {design.top!r} {objection}")
    result = _result(job, report, tool, build_seconds, run_seconds)
    for level in _levels_to_start_with(tool, model, design.interface):
        if result.passed:
            few = _first_vectors(job, model)
            report, _ = _simulate(tool, design.top, *few, directory, timeout, level)
            result = _joined(result, _result(few[0], report, tool, 0.0, 0.0))
    return result


def faults_seen(
    netlist: Netlist,
    design: VerilogModule,
    vectors: Mapping[str, Vectors],
    selects: Sequence[int],
    *,
    program: Path,
    out: Path,
    seed: int,
    simulator: Simulator,
    timeout: float = 1800.0,
) -> list[bool]:
    """Say of faults that a design can choose from whether a regression sees them.

    Parameters
    ----------
    design : VerilogModule
        The design, with a register ``select`` in its top module.
    selects : sequence of int
        The faults; 0 is none.
    program : Path
        The simulation of the design, built.
    netlist, vectors, out, seed, simulator, timeout
        As of :func:`verify_rtl`; the time is that of a few faults.

    Raises
    ------
    DataError
        If the vectors do not fit the netlist.
    """
    model = reference_model(netlist, list(vectors.values()), seed, design.interface)
    job = Job(design.interface, seed, {origin: len(group) for origin, group in vectors.items()})
    directory = make_directory(out.absolute() / "simulation")
    shutil.copy(program, directory / design.top)

    def seen(
        job: Job, model: Model, selects: Sequence[int], level: int | None = None
    ) -> dict[int, bool]:
        found = _seen(simulator, design.top, job, model, selects, directory, timeout, level)
        return dict(zip(selects, found, strict=True))

    found = seen(job, model, selects)
    for level in _levels_to_start_with(simulator, model, design.interface):
        # One at a time: what registers hold behind another fault is not what they start with.
        for each in [select for select in selects if not found[select]]:
            found |= seen(*_first_vectors(job, model), [each], level)
    return [found[each] for each in selects]


def _seen(
    simulator: Simulator,
    top: str,
    job: Job,
    model: Model,
    selects: Sequence[int],
    directory: Path,
    timeout: float,
    level: int | None,
) -> list[bool]:
    results = directory / "job.results.json"
    seen: list[bool] = []
    while len(seen) < len(selects):
        part = tuple(selects[len(seen) : len(seen) + FAULTS_A_RUN])
        results.unlink(missing_ok=True)
        job = dataclasses.replace(job, selects=part)
        try:
            report, _ = _simulate(simulator, top, job, model, directory, timeout, level)
            seen += report["seen"]
        except ToolError:
            # One of them has brought the simulator down, or does not come to an end.
            seen += [*(json.loads(results.read_text())["seen"] if results.exists() else ()), True]
    return seen


def _levels_to_start_with(simulator: Simulator, model: Model, interface: Interface) -> list[int]:
    """Return what registers must hold at first for one that is never loaded to show.

    If it holds what it should by chance, and always should hold that, nothing shows it. So where
    bits are the same in all results, registers start with the other value once more.
    """
    if simulator.name != Verilator.name or interface.is_combinational:
        return []
    ports = interface.pack_results(model.results).values()
    bits = np.concatenate([np.asarray(port) for port in ports], axis=1)
    return [level for level in (1, 0) if (bits != level).all(axis=0).any()]


def _first_vectors(job: Job, model: Model) -> tuple[Job, Model]:
    """Return the first vectors of a job."""
    ends = np.minimum(np.cumsum([0, *job.origins.values()]), _NUM_AT_START)
    origins = dict(zip(job.origins, np.diff(ends).tolist(), strict=True))
    first = slice(_NUM_AT_START)
    return dataclasses.replace(job, origins=origins), Model(
        model.vectors[first], model.results[first]
    )


def _joined(result: RegressionResult, start: RegressionResult) -> RegressionResult:
    """Return a regression that has passed with what came of another start."""
    return dataclasses.replace(
        result,
        num_mismatches=start.num_mismatches,
        mismatches=start.mismatches,
        num_violations=start.num_violations,
        violations=start.violations,
    )


def reference_model(
    netlist: Circuit, groups: Sequence[Vectors | Steps], seed: int, interface: Interface
) -> Model:
    """Join the vectors and ask the reference about all that an interface has of them.

    Missing features have arbitrary values, which count if the design takes all to be present.
    """
    steps = [group for group in groups if isinstance(group, Steps)]
    if isinstance(netlist, SequentialNetlist) != bool(steps) or len(steps) not in (0, len(groups)):
        raise TypeError("Vectors are steps if the circuit has state, and only then")
    last = np.concatenate([group.last for group in steps]) if steps else None
    vectors = [group.vectors if isinstance(group, Steps) else group for group in groups]
    driven, results = _driven(netlist, vectors, seed, interface, last)
    return Model(driven if last is None else Steps(driven, last), results)


def _driven(
    netlist: Circuit,
    groups: Sequence[Vectors],
    seed: int,
    interface: Interface,
    last: NDArray[np.bool_] | None,
) -> tuple[Vectors, Decisions | NDArray[np.int8]]:
    """Return all vectors as they are driven, and what the reference says about them."""
    features = [group for group in groups if isinstance(group, FeatureVectors)]
    trits = [group for group in groups if not isinstance(group, FeatureVectors)]
    if sum(map(len, groups)) == 0:
        raise DataError("There are no vectors to simulate")
    if features and trits:
        raise TypeError("Vectors are in part features and in part trits, expected one of them")
    if trits:
        inputs = np.concatenate(trits)
        plain: Circuit = dataclasses.replace(netlist, encoder=None)
        return inputs.astype(np.int8), _reference(plain, inputs, interface, last)
    vectors = FeatureVectors.concatenate(features)
    _check_features(netlist, vectors)
    driven = _scrambled(netlist, vectors, seed)
    if not interface.has_presence:
        vectors = driven = FeatureVectors(driven.values, np.ones_like(driven.valid))
    return driven, _reference(netlist, vectors, interface, last)


def _check_features(netlist: Circuit, vectors: FeatureVectors) -> None:
    if netlist.encoder is None:
        raise NetlistError(
            f"Netlist {netlist.name!r} has no encoder, so it takes no feature vectors"
        )
    num_features = len(netlist.encoder.features)
    if vectors.values.shape != (len(vectors), num_features):
        raise DataError(
            f"Vectors have shape {vectors.values.shape}, expected (vectors, {num_features})"
        )
    for number, feature in enumerate(netlist.encoder.features):
        column = vectors.values[:, number]
        outside = vectors.valid[:, number] & (
            (column < feature.minimum) | (column > feature.maximum)
        )
        for vector in np.flatnonzero(outside):
            raise DataError(
                f"Vector {vector} has {column[vector]} as feature {feature.name!r}, "
                f"expected {feature.minimum}…{feature.maximum}"
            )


def _scrambled(netlist: Circuit, vectors: FeatureVectors, seed: int) -> FeatureVectors:
    """Give missing features arbitrary values, which the design must not look at."""
    assert netlist.encoder is not None
    lowest = [feature.minimum for feature in netlist.encoder.features]
    highest = [feature.maximum for feature in netlist.encoder.features]
    rng = np.random.default_rng(seed)
    arbitrary = rng.integers(lowest, highest, vectors.values.shape, endpoint=True)
    return FeatureVectors(np.where(vectors.valid, vectors.values, arbitrary), vectors.valid)


def _reference(
    netlist: Circuit, vectors: Vectors, interface: Interface, last: NDArray[np.bool_] | None
) -> Decisions | NDArray[np.int8]:
    if isinstance(netlist, SequentialNetlist):
        assert last is not None
        if isinstance(vectors, FeatureVectors):
            assert netlist.encoder is not None
            vectors = netlist.encoder.trits(vectors)
        return run_steps(netlist, vectors, last)
    if netlist.head is not None:
        certain = HeadOutput.CERTAIN in interface.head_outputs
        return classify(netlist, vectors, certain=certain, engine="reference")
    return evaluate(netlist, input_trits(netlist, vectors), engine="reference")


def _simulate(
    simulator: Simulator,
    top: str,
    job: Job,
    model: Model,
    directory: Path,
    timeout: float,
    level: int | None = None,
) -> tuple[dict[str, Any], float]:
    """Run the test bench; return its report and the seconds it took."""
    path = directory / "job.json"
    job.write(path)
    model.write(path.with_suffix(".npz"))
    description = {
        "simulator": simulator.name,
        "top": top,
        "directory": str(directory),
        "seed": job.seed,
        "arguments": simulator.arguments(job.seed, level),
        "environment": {JOB_VARIABLE: str(path)},
    }
    write_atomically(directory / "simulate.json", json.dumps(description, indent=1))
    seconds = run(
        child_tool(simulator.name),
        ["simulate", "simulate.json"],
        step="simulate",
        log=directory / "simulate.log",
        cwd=directory,
        timeout=timeout,
        environment=simulator.environment,
    )
    return json.loads(read_bytes(path.with_suffix(".results.json"))), seconds


def _result(
    job: Job,
    report: dict[str, Any],
    simulator: Simulator,
    build_seconds: float,
    run_seconds: float,
) -> RegressionResult:
    mismatches = [
        Mismatch(**{**mismatch, "inputs": tuple(mismatch["inputs"])})
        for mismatch in report.pop("mismatches")
    ]
    violations = [
        Violation(ViolationKind(violation["kind"]), violation["cycle"], violation["message"])
        for violation in report.pop("violations")
    ]
    num_violations = {
        ViolationKind(kind): count for kind, count in report.pop("num_violations").items()
    }
    return RegressionResult(
        num_vectors=job.origins,
        mismatches=tuple(mismatches),
        num_violations=num_violations,
        violations=tuple(violations),
        latency=job.latency,
        simulator=f"{simulator.name} {simulator.version}",
        build_seconds=build_seconds,
        run_seconds=run_seconds,
        **report,
    )
