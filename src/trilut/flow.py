"""The whole flow: from a data set to verified RTL, a synthesis report and a page that shows it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from trilut import interrupt
from trilut.blif import to_blif, to_blif_mv
from trilut.console import Stage, stages
from trilut.data import Dataset, load_dataset
from trilut.errors import DataError
from trilut.evaluation import evaluate_split
from trilut.files import make_directory, work_directory, write_atomically
from trilut.format import load, save
from trilut.identifier import check_identifier
from trilut.metrics import cell_vote_accuracy
from trilut.narrow import narrow_features, search_feature_bits
from trilut.netlist import Netlist
from trilut.optimize import optimize
from trilut.report import Report, make_report, write_report
from trilut.summary import percent, plain

__all__ = [
    "Trained",
    "netlist_dataset",
    "optimize_file",
    "run_flow",
    "synthesize_file",
    "train_to_directory",
    "verify_file",
    "write_blif",
]


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """A trained circuit and how good it is.

    Parameters
    ----------
    netlist : Netlist
        The hardened circuit.
    dataset : Dataset
        What it was trained on.
    accuracy : mapping
        On the test set: ``hardened``, ``soft``, ``cell_vote`` and the whole ``evaluation``.
    history : list of dict
        The course of the training.
    """

    netlist: Netlist
    dataset: Dataset
    accuracy: Mapping[str, Any]
    history: list[dict[str, Any]]


def run_flow(
    dataset: str,
    output: Path,
    *,
    settings: Mapping[str, Any] | None = None,
    pipeline: int = 2,
    target: str = "ecp5",
    num_random: int = 10_000,
    resume: bool = False,
) -> Report:
    """Train, harden, write Verilog, verify it, place and route it, and report.

    Writes ``net.trilut``, ``metrics.jsonl``, ``trilut_top.v``, ``logs/``, ``report.json`` and
    ``report.html`` into the output directory.

    Parameters
    ----------
    dataset : str
        Name of a data set.
    output : Path
        Directory for all that is made.
    settings : mapping, optional
        Fields of TrainingConfig that differ from the data set's defaults.
    pipeline : int
        Layers between registers.
    target : str
        Name of a synthesis target.
    num_random : int
        Random vectors of the regression.
    resume : bool
        Whether to go on from a training's checkpoint in the output directory, if there is one.

    Raises
    ------
    TrilutError
        If a setting, a tool or a file is wrong.
    """
    from trilut.hdl import write_verilog
    from trilut.synth import load_target

    settings = settings or {}
    samples = load_dataset(dataset, seed=settings.get("seed", 0))
    # A wrong name should not wait for the end of the training.
    part = load_target(target)
    with stages() as show:
        trained = _train(samples, output, settings, show.start("train"), resume=resume)
        stage = show.start("Verilog")
        design = write_verilog(trained.netlist, output, pipeline=pipeline, target=part.sums)
        stage.finish(f"{design.path}, latency {design.latency} cycles")
        with work_directory(output, logs=output / "logs") as work:
            verification = _verify(
                trained.netlist,
                design,
                samples.test.x,
                work,
                show.start("verify"),
                num_random=num_random,
            )
            synthesis = _synthesize(design, target, work, show.start("synth"))
        stage = show.start("report")
        report = make_report(
            trained.netlist,
            accuracy=trained.accuracy,
            history=trained.history,
            verification=verification,
            synthesis=synthesis,
        )
        write_report(report, trained.netlist, samples.test, output)
        stage.finish(str(output / "report.html"))
    # Kept until here, so that a flow that fails later need not train again.
    for checkpoint in output.glob("checkpoint*"):
        checkpoint.unlink()
    return report


def train_to_directory(
    dataset: str, output: Path, settings: Mapping[str, Any], *, resume: bool = False
) -> Trained:
    """Train on a data set and write ``net.trilut`` and ``metrics.jsonl`` into a directory.

    Parameters
    ----------
    resume : bool
        Whether to go on from the checkpoint in the directory, if there is one.
    """
    samples = load_dataset(dataset, seed=settings.get("seed", 0))
    with stages() as show:
        return _train(samples, output, settings, show.start("train"), resume=resume)


def verify_file(
    path: Path,
    *,
    output: Path | None = None,
    data: str | None = None,
    pipeline: int = 2,
    num_random: int = 10_000,
    seed: int = 0,
    simulator: str = "verilator",
) -> dict[str, Any]:
    """Simulate the Verilog of a netlist file against the reference.

    Parameters
    ----------
    output : Path, optional
        Directory for the logs; by default they are kept only if a tool fails, beside the netlist.
    data : str, optional
        The data set whose test samples are driven too; by default the one that the netlist was
        trained on, if it says so.
    """
    from trilut.hdl import write_verilog

    netlist = load(path)
    known = data is not None or "data" in netlist.provenance
    samples = netlist_dataset(netlist, name=data).test.x if known else None
    logs = (output or path.parent) / "logs"
    with stages() as show, work_directory(output or path.parent, logs=logs) as work:
        design = write_verilog(netlist, work, pipeline=pipeline)
        return _verify(
            netlist,
            design,
            samples,
            work,
            show.start("verify"),
            num_random=num_random,
            seed=seed,
            simulator=simulator,
        )


def synthesize_file(
    path: Path,
    output: Path,
    *,
    target: str = "ecp5",
    pipeline: int | Literal["auto"] = 2,
    frequency: float = 200.0,
    seed: int = 1,
) -> dict[str, Any]:
    """Place and route a netlist file; write ``synth-TARGET.json`` and logs into a directory.

    Parameters
    ----------
    pipeline : int or "auto"
        Layers between registers; "auto" takes the most that meet the frequency.
    frequency : float
        Goal of place and route, in MHz.
    """
    from trilut.hdl import write_verilog
    from trilut.synth import choose_pipeline, load_target

    netlist = load(path)
    part = load_target(target)
    with stages() as show:
        tried: dict[str, Any] = {}
        if pipeline == "auto":
            stage = show.start("pipeline")
            choice = choose_pipeline(netlist, part, frequency, out=output, progress=stage.step)
            verdict = "meets" if choice.is_met else "misses"
            stage.finish(f"a register every {choice.pipeline} layers {verdict} {frequency:g} MHz")
            pipeline, tried = choice.pipeline, {"pipeline_choice": plain(choice)}
        with work_directory(output, logs=output / "logs") as work:
            design = write_verilog(netlist, work, pipeline=pipeline, target=part.sums)
            result = _synthesize(
                design, target, work, show.start("synth"), seed=seed, frequency=frequency
            )
    result |= tried
    write_atomically(output / f"synth-{part.name}.json", json.dumps(result, indent=2) + "\n")
    return result


def write_blif(path: Path, output: Path, language: str, *, top: str = "trilut_top") -> Path:
    """Write the optimised gates of a netlist file as ``TOP.blif`` or ``TOP.mv``."""
    netlist = optimize(load(path)).netlist
    suffix, convert = {"blif": ("blif", to_blif), "blif-mv": ("mv", to_blif_mv)}[language]
    written = make_directory(output) / f"{check_identifier(top)}.{suffix}"
    write_atomically(written, convert(netlist, model=top))
    return written


def optimize_file(
    path: Path,
    output: Path,
    *,
    lossy: bool = False,
    feature_bits: int | Literal["auto"] | None = None,
) -> dict[str, Any]:
    """Optimise a netlist file into another one, and return what changed.

    The last two options change what the circuit computes. For them the netlist must say what it was
    trained on, and the test accuracy before and after is returned too.

    Parameters
    ----------
    lossy : bool
        Treat rows that no training sample causes as free.
    feature_bits : int or "auto", optional
        Bits of a feature; "auto" takes the fewest that lose at most 0.1 pp on the validation set.
    """
    netlist = load(path)
    changes_meaning = lossy or feature_bits is not None
    dataset = netlist_dataset(netlist) if changes_meaning else None
    smaller = netlist
    if feature_bits == "auto" and dataset is not None:
        smaller = search_feature_bits(smaller, dataset.validation)
    elif isinstance(feature_bits, int):
        smaller = narrow_features(smaller, feature_bits)
    trits = None
    if lossy and dataset is not None:
        if smaller.encoder is None:
            raise DataError(f"Netlist {netlist.name!r} has no encoder, so it takes no samples")
        trits = smaller.encoder.encode(dataset.train.x)
    smaller = optimize(smaller, training_trits=trits).netlist
    save(smaller, output)
    facts: dict[str, Any] = {
        "gates_before": netlist.num_gates,
        "gates_after": smaller.num_gates,
        "layers_before": netlist.depth,
        "layers_after": smaller.depth,
    }
    if dataset is not None:
        facts["accuracy_before"] = evaluate_split(netlist, dataset.test).accuracy
        facts["accuracy_after"] = evaluate_split(smaller, dataset.test).accuracy
    if smaller.encoder is not None:
        facts["feature_bits"] = max(feature.bits for feature in smaller.encoder.features)
    return facts


def netlist_dataset(
    netlist: Netlist, *, name: str | None = None, seed: int | None = None
) -> Dataset:
    """Load a data set by name, or the one that a netlist was trained on.

    Raises
    ------
    DataError
        If no name is given and the netlist does not say.
    """
    origin = netlist.provenance.get("data")
    origin = origin if isinstance(origin, dict) else {}
    chosen = name or origin.get("name")
    if not isinstance(chosen, str):
        raise DataError(
            f"Netlist {netlist.name!r} does not say what it was trained on; name a data set"
        )
    if seed is None:
        recorded = origin.get("seed")
        seed = recorded if chosen == origin.get("name") and isinstance(recorded, int) else 0
    return load_dataset(chosen, seed=seed)


def _train(
    dataset: Dataset,
    output: Path,
    settings: Mapping[str, Any],
    stage: Stage,
    *,
    resume: bool = False,
) -> Trained:
    make_directory(output)
    stage.step("compiling")

    def progress(step: int, steps: int, loss: float, accuracy: float) -> None:
        stage.update(step, steps, f"loss {loss:.4f}, hardened {percent(accuracy)}")

    with interrupt.deferred():
        from trilut.training import TrainingConfig, train

        config = TrainingConfig.for_dataset(dataset, **settings)
        result = train(dataset, config, progress=progress, directory=output, resume=resume)
    netlist = result.netlist
    assert netlist.encoder is not None
    evaluation = evaluate_split(netlist, dataset.test)
    accuracy = {
        "hardened": evaluation.accuracy,
        "soft": result.soft.test,
        "cell_vote": cell_vote_accuracy(
            netlist.encoder.encode(dataset.train.x),
            dataset.train.y,
            netlist.encoder.encode(dataset.test.x),
            dataset.test.y,
        ),
        "evaluation": plain(evaluation),
    }
    history: list[dict[str, Any]] = [dict(line) for line in result.history]
    save(netlist, output / "net.trilut")
    stage.finish(
        f"{netlist.num_gates} gates, hardened {percent(evaluation.accuracy)}, "
        f"ceiling {percent(evaluation.ceiling)}"
    )
    return Trained(netlist, dataset, accuracy, history)


def _verify(
    netlist: Netlist,
    design: Any,
    samples: Any,
    work: Path,
    stage: Stage,
    *,
    num_random: int,
    seed: int = 0,
    simulator: str = "verilator",
) -> dict[str, Any]:
    from trilut.hdl import InputKind
    from trilut.sim import stimulus, verify_rtl

    vectors = stimulus(
        netlist,
        samples,
        np.random.default_rng(seed),
        num_random=num_random,
        as_trits=design.input_kind is InputKind.TRITS,
    )
    simulated = work / "simulated.v"
    write_atomically(simulated, design.path.read_text() + design.models)
    result = verify_rtl(
        netlist,
        simulated,
        design.top,
        design.latency,
        vectors,
        out=work,
        seed=seed,
        simulator=simulator,
        progress=stage.step,
    )
    checked = sum(result.num_checked.values())
    stage.finish(f"{checked} vectors, {result.num_mismatches} mismatches")
    return {**plain(result), "passed": result.passed}


def _synthesize(
    design: Any, target: str, work: Path, stage: Stage, *, seed: int = 1, frequency: float = 200.0
) -> dict[str, Any]:
    from trilut.synth import load_target, synthesize

    result = synthesize(
        design.path,
        design.top,
        load_target(target),
        out=work,
        seed=seed,
        frequency=frequency,
        progress=stage.step,
    )
    speed = "no timing" if result.timing is None else f"{result.timing.fmax_mhz:.1f} MHz"
    stage.finish(f"{result.cells.lut4} LUT4, {result.cells.ff} FF, {speed}")
    return {**result.to_dict(), "latency_cycles": design.latency}
