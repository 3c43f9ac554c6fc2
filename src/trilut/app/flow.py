"""The whole flow: from a data set to verified RTL, a synthesis report and a page that shows it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trilut import interrupt
from trilut.app.console import Stage, stages, tell_missing
from trilut.app.synth import synthesize_design
from trilut.circuit.format import save
from trilut.circuit.netlist import Netlist
from trilut.data import Dataset, load_dataset
from trilut.errors import ToolError
from trilut.files import make_directory, work_directory, write_atomically
from trilut.measure.evaluation import dataset_accuracy
from trilut.report.page import PAGE_MODULES
from trilut.report.run import Report, make_report, write_report
from trilut.report.summary import gap_text, percent, plain

__all__ = ["Trained", "run_flow", "train_to_directory"]

# The flow proves what takes it a few seconds.
_MAX_GATES_PROVEN = 2000


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
        See :func:`trilut.measure.evaluation.dataset_accuracy`. If hardening lost something,
        ``layers`` is the accuracy on the test set with the first n layers hardened.
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
    abstain_margin: int = 1,
    pipeline: int = 2,
    target: str = "ecp5",
    num_random: int = 10_000,
    resume: bool = False,
    restart: bool = False,
    mesh: tuple[int, int] | None = None,
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
    abstain_margin : int
        The margin below which the circuit abstains.
    pipeline : int
        Layers between registers.
    target : str
        Name of a synthesis target.
    num_random : int
        Random vectors of the regression.
    resume : bool
        Whether to go on from a training's checkpoint in the output directory, if there is one.
    restart : bool
        Whether to start anew although there is one of an unfinished training, which is removed.
    mesh : tuple of int, optional
        Number of devices to divide batches over, and gates; see :func:`trilut.training.make_mesh`.

    Raises
    ------
    TrilutError
        If a setting, a tool or a file is wrong.
    """
    from trilut.hdl import write_verilog
    from trilut.sim import find_simulator
    from trilut.synth import load_target
    from trilut.synth.runner import find_tools

    settings = settings or {}
    samples = load_dataset(dataset, seed=settings.get("seed", 0))
    # A wrong name or a missing tool should not wait for the end of the training.
    part = load_target(target)
    find_tools(part)
    find_simulator()
    tell_missing("The page", *PAGE_MODULES)
    with stages() as show:
        trained = _train(
            samples,
            output,
            settings,
            show.start("train"),
            abstain_margin=abstain_margin,
            resume=resume,
            restart=restart,
            mesh=mesh,
        )
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
            if trained.netlist.num_gates <= _MAX_GATES_PROVEN:
                proof = _prove(trained.netlist, design, work, show.start("prove"))
                verification["formal"] = proof
                verification["passed"] &= proof["outcome"] != "FAILED"
            synthesis = synthesize_design(
                trained.netlist, design, target, work, show.start("synth"), pipeline, {}
            )
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
    dataset: str,
    output: Path,
    settings: Mapping[str, Any],
    *,
    abstain_margin: int = 1,
    resume: bool = False,
    restart: bool = False,
    mesh: tuple[int, int] | None = None,
) -> Trained:
    """Train on a data set and write ``net.trilut`` and ``metrics.jsonl`` into a directory.

    Parameters
    ----------
    abstain_margin : int
        The margin below which the circuit abstains.
    resume : bool
        Whether to go on from the checkpoint in the directory, if there is one.
    restart : bool
        Whether to start anew although there is one of an unfinished training, which is removed.
    mesh : tuple of int, optional
        Number of devices to divide batches over, and gates.

    Raises
    ------
    TrilutError
        If a setting or a file is wrong, or there is an unfinished training.
    """
    samples = load_dataset(dataset, seed=settings.get("seed", 0))
    with stages() as show:
        return _train(
            samples,
            output,
            settings,
            show.start("train"),
            abstain_margin=abstain_margin,
            resume=resume,
            restart=restart,
            mesh=mesh,
        )


def _train(
    dataset: Dataset,
    output: Path,
    settings: Mapping[str, Any],
    stage: Stage,
    *,
    abstain_margin: int = 1,
    resume: bool = False,
    restart: bool = False,
    mesh: tuple[int, int] | None = None,
) -> Trained:
    make_directory(output)
    stage.step("compiling")

    def progress(measured: Mapping[str, Any], steps: int) -> None:
        stage.update(measured["step"], steps, _progress_text(measured), unit="step")

    with interrupt.deferred():
        from trilut.training import TrainingConfig, layer_accuracies, make_mesh, train
        from trilut.training.checkpoint import check_finished

        if not (resume or restart):
            check_finished(output)
        config = TrainingConfig.for_dataset(dataset, **settings)
        result = train(
            dataset,
            config,
            abstain_margin=abstain_margin,
            progress=progress,
            directory=output,
            resume=resume,
            mesh=None if mesh is None else make_mesh(batch=mesh[0], gate=mesh[1]),
        )
    netlist = result.netlist
    accuracy = dataset_accuracy(netlist, dataset)
    if not result.fitted.recipe.is_circuit:
        accuracy["layers"] = layer_accuracies(result.fitted, dataset.test)
    history: list[dict[str, Any]] = [dict(line) for line in result.history]
    save(netlist, output / "net.trilut")
    stage.finish(
        f"{netlist.num_gates} gates, validation {percent(accuracy['validation'])}, "
        f"hardened {percent(accuracy['hardened'])}, "
        f"ceiling {percent(accuracy['evaluation']['ceiling'])}"
    )
    return Trained(netlist, dataset, accuracy, history)


def _progress_text(measured: Mapping[str, Any]) -> str:
    text = f"loss {measured['loss']:.4f}, validation {percent(measured['accuracy'])}"
    return f"{text}, gap {gap_text(measured['layers'])}" if "layers" in measured else text


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


def _prove(netlist: Netlist, design: Any, work: Path, stage: Stage) -> dict[str, Any]:
    """Prove a design, if the tools are there: what was simulated is verified without a proof."""
    from trilut.verify import prove

    try:
        result = prove(netlist, design, work, progress=stage.step)
    except ToolError as error:
        stage.finish(f"not run: {error}")
        return {"outcome": "not run", "verdict": str(error)}
    stage.finish(f"{result.outcome.value}: {result.verdict}")
    return dict(plain(result))
