"""Synthesis of netlist files: the design, the tools, and the report, whole or partial."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from trilut.app.budget import budget_text
from trilut.app.console import Stages, stages, talk, tell_missing
from trilut.circuit.format import load
from trilut.circuit.netlist import Netlist
from trilut.errors import ToolError, TrilutError
from trilut.files import work_directory
from trilut.hdl.options import HardwareOptions
from trilut.report.page import PAGE_MODULES

if TYPE_CHECKING:
    from trilut.report.synthesis import SynthesisReport
    from trilut.synth import SynthesisSettings
    from trilut.synth.design import Synthesis
    from trilut.synth.target import Target

__all__ = [
    "describe_synthesis",
    "synthesize_file",
    "synthesize_netlist",
    "synthesize_targets",
    "synthesize_to_directory",
]

Pipeline = int | Literal["auto"]
"""Layers between registers; "auto" takes the most that meet the frequency."""


def synthesize_file(
    path: Path,
    output: Path,
    options: HardwareOptions | None = None,
    *,
    target: str = "ecp5",
    pipeline: Pipeline | None = None,
    settings: "SynthesisSettings | None" = None,
) -> "SynthesisReport":
    """Place and route a netlist file, and write ``synthesis.json``, ``.md``, ``.html`` and logs.

    Parameters
    ----------
    options : HardwareOptions, optional
        What shapes the hardware; its sums are made of the cells of the part.
    pipeline : int or "auto", optional
        Layers between registers, if not as the options say.
    settings : SynthesisSettings, optional
        What is asked of the tools.

    Raises
    ------
    ToolError
        If a tool fails. If the area is known nevertheless, the files are there with it.
    """
    return synthesize_to_directory(
        load(path), output, options, target=target, pipeline=pipeline, settings=settings
    )


def synthesize_to_directory(
    netlist: Netlist,
    output: str | Path,
    options: HardwareOptions | None = None,
    *,
    target: str = "ecp5",
    pipeline: Pipeline | None = None,
    settings: "SynthesisSettings | None" = None,
) -> "SynthesisReport":
    """Do as :func:`synthesize_file` with a netlist that is there."""
    tell_missing("The page", *PAGE_MODULES)
    with stages() as show:
        return _synthesize(netlist, Path(output), show, target, options, pipeline, settings)


def synthesize_targets(
    path: Path,
    output: Path,
    targets: Sequence[str],
    options: HardwareOptions | None = None,
    *,
    pipeline: Pipeline | None = None,
    settings: "SynthesisSettings | None" = None,
) -> dict[str, "SynthesisReport | TrilutError"]:
    """Do as :func:`synthesize_file` for several targets at once, each in a directory of its name.

    Returns
    -------
    dict
        The report of each target, or why there is none.

    Raises
    ------
    ToolError
        If a target is unknown, or two have the same name.
    """
    from trilut.synth import in_parallel, load_target

    netlist = load(path)
    names = [load_target(target).name for target in targets]
    _check_different(names, targets)
    tell_missing("The page", *PAGE_MODULES)

    def synthesize_one(target: str) -> "SynthesisReport | TrilutError":
        folder = output / load_target(target).name
        try:
            return _synthesize(netlist, folder, show, target, options, pipeline, settings)
        except TrilutError as error:
            return error

    with stages() as show:
        return dict(zip(names, in_parallel(synthesize_one, targets), strict=True))


def _check_different(names: Sequence[str], targets: Sequence[str]) -> None:
    first: dict[str, str] = {}
    for name, target in zip(names, targets, strict=True):
        if name in first:
            raise ToolError(
                f"Targets {first[name]!r} and {target!r} are both called {name!r}, expected a name "
                "for each, since its report goes into a directory of that name"
            )
        first[name] = target


def _synthesize(
    netlist: Netlist,
    output: Path,
    show: Stages,
    target: str,
    options: HardwareOptions | None,
    pipeline: Pipeline | None,
    settings: "SynthesisSettings | None",
) -> "SynthesisReport":
    from trilut.report.synthesis import make_synthesis_report, write_synthesis_report
    from trilut.synth import SynthesisSettings, choose_pipeline, load_target
    from trilut.synth.runner import find_tools

    part = load_target(target)
    # Before the Verilog is written, which can take a minute.
    find_tools(part)
    shaped = replace(options or HardwareOptions(), sums=part.sums)
    wanted = settings or SynthesisSettings()
    choice = None
    if pipeline == "auto":
        stage = show.start("pipeline")
        choice = choose_pipeline(
            netlist, part, shaped, out=output, settings=wanted, progress=stage.step
        )
        verdict = "meets" if choice.is_met else "misses"
        stage.finish(
            f"a register every {choice.pipeline} layers {verdict} {wanted.frequency:g} MHz"
        )
        pipeline = choice.pipeline
    if pipeline is not None:
        shaped = replace(shaped, pipeline=pipeline)
    synthesis = synthesize_netlist(netlist, part, shaped, output, wanted, show)
    report = make_synthesis_report(synthesis, choice)
    write_synthesis_report(report, output)
    if synthesis.result.incomplete:
        place = str(output / "synthesis.json")
        area = synthesis.result.cells.summary
        raise ToolError(f"{synthesis.result.incomplete}; the area, {area}, is in {place!r}")
    return report


def synthesize_netlist(
    netlist: Netlist,
    target: "Target",
    options: HardwareOptions,
    output: Path,
    settings: "SynthesisSettings",
    show: Stages | None = None,
) -> "Synthesis":
    """Write the design of a netlist and synthesise it, with ``logs`` in the output directory.

    Of an ASIC the mapped netlist and what belongs to it are written there, too.

    Parameters
    ----------
    show : Stages, optional
        Where to show the synthesis as a stage.

    Raises
    ------
    ToolError
        If the design cannot be mapped, or a tool is missing.
    """
    from trilut.hdl import write_verilog
    from trilut.synth import synthesize_design
    from trilut.synth.asic.handoff import write_handoff

    logs = output / "logs"
    with work_directory(output, logs=logs) as work:
        design = write_verilog(netlist, work, options)
        stage = show.start(f"synth {target.name}") if show else None
        progress = stage.step if stage else None
        synthesis = synthesize_design(
            design, target, work=work, logs=logs, settings=settings, progress=progress
        )
        if target.library:
            write_handoff(synthesis, target, settings, work=work, output=output)
    if stage:
        stage.finish(describe_synthesis(synthesis))
        if closeness := budget_text(netlist, synthesis):
            talk(closeness)
    return synthesis


def describe_synthesis(synthesis: "Synthesis") -> str:
    """Return area and frequency in a few words."""
    result = synthesis.result
    speed = "no timing" if result.timing is None else f"{result.timing.fmax_mhz:.1f} MHz"
    return f"{result.cells.summary}, {speed}"
