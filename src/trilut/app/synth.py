"""Synthesis of netlist files: the design, the tools, and the report, whole or partial."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from trilut.app.budget import budget_text
from trilut.app.console import Stages, stages, talk, tell_missing
from trilut.circuit.format import load_circuit
from trilut.circuit.sequential import Circuit, SequentialNetlist
from trilut.errors import NetlistError, ToolError, TrilutError
from trilut.files import work_directory
from trilut.hdl.options import DEFAULT_TARGET, PORTABLE, HardwareOptions
from trilut.report.page import PAGE_MODULES

if TYPE_CHECKING:
    from trilut.hdl import Design
    from trilut.report.synthesis import SynthesisReport
    from trilut.synth import PipelineChoice, SynthesisSettings
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
    path: str | Path,
    output: str | Path,
    options: HardwareOptions | None = None,
    *,
    target: str = DEFAULT_TARGET,
    rtl: str | Path | None = None,
    pipeline: Pipeline | None = None,
    settings: "SynthesisSettings | None" = None,
) -> "SynthesisReport":
    """Place and route a netlist file, and write ``synthesis.json``, ``.md``, ``.html`` and logs.

    Parameters
    ----------
    options : HardwareOptions, optional
        What shapes the hardware; its sums are made of the cells of the part, unless it says
        otherwise.
    rtl : path, optional
        A design that is there, changed or from elsewhere, instead of a new one; as of
        :func:`trilut.hdl.read_design`.
    pipeline : int or "auto", optional
        Layers between registers, if not as the options say.
    settings : SynthesisSettings, optional
        What is asked of the tools.

    Raises
    ------
    ToolError
        If a tool fails. If the area is known nevertheless, the files are there with it.
    """
    rtl = None if rtl is None else Path(rtl)
    output = Path(output)
    path = Path(path)
    return synthesize_to_directory(
        load_circuit(path),
        output,
        options,
        target=target,
        rtl=rtl,
        pipeline=pipeline,
        settings=settings,
    )


def synthesize_to_directory(
    netlist: Circuit,
    output: str | Path,
    options: HardwareOptions | None = None,
    *,
    target: str = DEFAULT_TARGET,
    rtl: str | Path | None = None,
    pipeline: Pipeline | None = None,
    settings: "SynthesisSettings | None" = None,
) -> "SynthesisReport":
    """Do as :func:`synthesize_file` with a netlist that is there."""
    rtl = None if rtl is None else Path(rtl)
    tell_missing("The page", *PAGE_MODULES)
    with stages() as show:
        return _synthesize(netlist, Path(output), show, target, options, rtl, pipeline, settings)


def synthesize_targets(
    path: str | Path,
    output: str | Path,
    targets: Sequence[str],
    options: HardwareOptions | None = None,
    *,
    rtl: str | Path | None = None,
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
    rtl = None if rtl is None else Path(rtl)
    output = Path(output)
    path = Path(path)
    from trilut.synth import in_parallel, load_target

    netlist = load_circuit(path)
    names = [load_target(target).name for target in targets]
    _check_different(names, targets)
    tell_missing("The page", *PAGE_MODULES)

    def synthesize_one(target: str) -> "SynthesisReport | TrilutError":
        folder = output / load_target(target).name
        try:
            return _synthesize(netlist, folder, show, target, options, rtl, pipeline, settings)
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
    netlist: Circuit,
    output: Path,
    show: Stages,
    target: str,
    options: HardwareOptions | None,
    rtl: Path | None,
    pipeline: Pipeline | None,
    settings: "SynthesisSettings | None",
) -> "SynthesisReport":
    from trilut.synth import SynthesisSettings, choose_pipeline, load_target
    from trilut.synth.runner import find_tools

    part = load_target(target)
    # Before the Verilog is written, which can take a minute.
    find_tools(part)
    wanted = settings or SynthesisSettings()
    choice = None
    if rtl is not None:
        design = _design_for(part, rtl, netlist, options, pipeline)
        return _reported(synthesize_in(output, design, part, wanted, show), choice, output)
    shaped = (options or HardwareOptions()).for_part(part.sums)
    if pipeline == "auto":
        if isinstance(netlist, SequentialNetlist):
            raise NetlistError(
                f"Netlist {netlist.name!r} has state, and a step takes one cycle; leave out "
                "--pipeline"
            )
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
    return _reported(synthesis, choice, output)


def _design_for(
    part: "Target",
    rtl: Path,
    netlist: Circuit,
    options: HardwareOptions | None,
    pipeline: Pipeline | None,
) -> "Design":
    """Return a design that is there, if a part has the cells that it is made of."""
    from trilut.hdl import read_design

    if pipeline is not None:
        raise ToolError("A design that is there has its registers; leave out --pipeline")
    design = read_design(rtl, netlist, options, sums=part.sums)
    if design.models and design.options.sums != part.sums:
        raise ToolError(
            f"Design {str(design.path)!r} is made of cells of {design.options.sums!r}, which "
            f"target {part.name!r} does not have; make it with --target {part.name} or "
            f"--target {PORTABLE}"
        )
    return design


def _reported(
    synthesis: "Synthesis", choice: "PipelineChoice | None", output: Path
) -> "SynthesisReport":
    """Write the report of a synthesis and return it."""
    from trilut.report.synthesis import make_synthesis_report, write_synthesis_report

    report = make_synthesis_report(synthesis, choice)
    write_synthesis_report(report, output)
    if synthesis.result.incomplete:
        place = str(output / "synthesis.json")
        area = synthesis.result.cells.summary
        raise ToolError(f"{synthesis.result.incomplete}; the area, {area}, is in {place!r}")
    return report


def synthesize_netlist(
    netlist: Circuit,
    target: "Target",
    options: HardwareOptions,
    output: str | Path,
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
    output = Path(output)
    from trilut.hdl import write_verilog

    with work_directory(output, logs=output / "logs") as work:
        design = write_verilog(netlist, work, options)
        return synthesize_in(output, design, target, settings, show)


def synthesize_in(
    output: Path,
    design: "Design",
    target: "Target",
    settings: "SynthesisSettings",
    show: Stages | None = None,
) -> "Synthesis":
    """Synthesise a design, with ``logs`` in the output directory; as :func:`synthesize_netlist`."""
    from trilut.synth import synthesize_design
    from trilut.synth.asic.handoff import write_handoff

    logs = output / "logs"
    stage = show.start(f"synth {target.name}") if show else None
    with work_directory(output, logs=logs) as work:
        progress = stage.step if stage else None
        synthesis = synthesize_design(
            design, target, work=work, logs=logs, settings=settings, progress=progress
        )
        if target.library:
            write_handoff(synthesis, target, settings, work=work, output=output)
    if stage:
        stage.finish(describe_synthesis(synthesis))
        if closeness := budget_text(design.netlist, synthesis):
            talk(closeness)
    return synthesis


def describe_synthesis(synthesis: "Synthesis") -> str:
    """Return area and frequency in a few words."""
    result = synthesis.result
    speed = "no timing" if result.timing is None else f"{result.timing.fmax_mhz:.1f} MHz"
    cells = result.utilization.get("lc")
    placed = "" if cells is None else f" in {cells.used} logic cells"
    return f"{result.cells.summary}{placed}, {speed}"
