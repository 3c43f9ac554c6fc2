"""The whole flow: from a data set to verified RTL, a synthesis report and a page that shows it."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trilut.app.budget import Budget, budget_text
from trilut.app.console import stages, talk, tell_missing
from trilut.app.synth import describe_synthesis
from trilut.app.train import load_samples, resumable, train_in_stage
from trilut.app.verify import describe_verification
from trilut.errors import ToolError
from trilut.extras import require
from trilut.files import work_directory
from trilut.hdl.options import DEFAULT_TARGET, HardwareOptions
from trilut.report.page import PAGE_MODULES
from trilut.report.verification import verification_document
from trilut.training.settings.tables import Effort

if TYPE_CHECKING:
    from trilut.report.run import Report

__all__ = ["run_flow"]


def run_flow(
    dataset: str,
    output: str | Path,
    *,
    settings: Mapping[str, Any] | None = None,
    effort: Effort = "normal",
    budget: Budget | None = None,
    abstain_margin: int = 1,
    options: "HardwareOptions | None" = None,
    target: str = DEFAULT_TARGET,
    num_random: int = 10_000,
    resume: bool = False,
    restart: bool = False,
    mesh: tuple[int, int] | None = None,
) -> "Report":
    """Train, harden, write Verilog, verify it, place and route it, and report.

    Writes ``net.trilut``, ``metrics.jsonl``, ``trilut_top.v``, ``logs/``, ``report.json`` and
    ``report.html`` into the output directory.

    Parameters
    ----------
    dataset : str
        Name of a data set.
    output : path
        Directory for all that is made.
    settings : mapping, optional
        Fields of TrainingConfig that differ from the data set's defaults.
    effort, budget
        See :func:`trilut.app.train.train_to_directory`.
    abstain_margin : int
        The margin below which the circuit abstains.
    options : HardwareOptions, optional
        What shapes the hardware; its sums are made of the cells of the part, unless it says
        otherwise.
    target : str
        Name of a synthesis target.
    num_random : int
        Random vectors of the regression.
    resume : bool
        Whether to go on from a training's checkpoint in the output directory, if there is one.
    restart : bool
        Whether to start anew although there is a training, finished or not, which is replaced.
    mesh : tuple of int, optional
        Number of devices to divide batches over, and gates; see :func:`trilut.training.make_mesh`.

    Raises
    ------
    TrilutError
        If a setting, a tool or a file is wrong.
    """
    output = Path(output)
    from trilut.hdl import write_verilog
    from trilut.report.run import make_report, write_report
    from trilut.report.synthesis import make_section
    from trilut.sim import find_simulator
    from trilut.synth import load_target, synthesize_design
    from trilut.synth.runner import find_tools
    from trilut.verify import verify_design

    settings = settings or {}
    samples = load_samples(dataset, seed=settings.get("seed", 0))
    # A wrong name or a missing tool should not wait for the end of the training.
    part = load_target(target)
    find_tools(part)
    find_simulator()
    require("amaranth")
    tell_missing("The page", *PAGE_MODULES)
    shaped = (options or HardwareOptions()).for_part(part.sums)
    logs = output / "logs"
    with resumable(output), stages() as show:
        trained = train_in_stage(
            samples,
            output,
            settings,
            show.start("train"),
            effort=effort,
            budget=budget,
            abstain_margin=abstain_margin,
            resume=resume,
            restart=restart,
            mesh=mesh,
        )
        stage = show.start("Verilog")
        design = write_verilog(trained.netlist, output, shaped)
        stage.finish(f"{design.path}, latency {design.interface.latency} cycles")
        with work_directory(output, logs=logs) as work:
            stage = show.start("verify")
            verification = verify_design(
                design,
                work=work,
                logs=logs,
                samples=samples.test.x,
                target=target,
                num_random=num_random,
                progress=stage.step,
            )
            stage.finish(describe_verification(verification))
            stage = show.start("synth")
            synthesis = synthesize_design(design, part, work=work, logs=logs, progress=stage.step)
            stage.finish(describe_synthesis(synthesis))
            if closeness := budget_text(trained.netlist, synthesis):
                talk(closeness)
        stage = show.start("report")
        report = make_report(
            trained.netlist,
            accuracy=trained.accuracy,
            history=trained.history,
            verification=verification_document(verification),
            synthesis=make_section(synthesis),
        )
        write_report(report, trained.netlist, samples.test, output)
        stage.finish(str(output / "report.html"))
    # Kept until here, so that a flow that fails later need not train again.
    for checkpoint in output.glob("checkpoint*"):
        checkpoint.unlink()
    if synthesis.result.incomplete:
        place = str(output / "report.json")
        area = synthesis.result.cells.summary
        raise ToolError(f"{synthesis.result.incomplete}; the area, {area}, is in {place!r}")
    return report
