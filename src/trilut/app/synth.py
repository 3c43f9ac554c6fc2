"""Synthesis of netlist files: one way from a circuit to its report, whole or partial."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from trilut.app.console import Stage, Stages, stages, tell_missing
from trilut.circuit.format import load
from trilut.circuit.netlist import Netlist
from trilut.errors import ToolError, TrilutError
from trilut.files import work_directory
from trilut.report.page import PAGE_MODULES
from trilut.report.summary import plain

if TYPE_CHECKING:
    from trilut.report.synthesis import SynthesisReport

__all__ = ["synthesize_design", "synthesize_file", "synthesize_targets"]


def synthesize_file(
    path: Path,
    output: Path,
    *,
    target: str = "ecp5",
    pipeline: int | Literal["auto"] = 2,
    hardware: Mapping[str, Any] | None = None,
    **settings: Any,
) -> "SynthesisReport":
    """Place and route a netlist file, and write ``synthesis.json``, ``.md``, ``.html`` and logs.

    Parameters
    ----------
    pipeline : int or "auto"
        Layers between registers; "auto" takes the most that meet the frequency.
    hardware : mapping, optional
        Other arguments of :func:`trilut.hdl.write_verilog`: axi_beat_bits, presence_bits.
    settings
        As of :func:`trilut.synth.synthesize`: frequency, seed, num_seeds, liberty, timeout, cache.

    Raises
    ------
    ToolError
        If a tool fails. If the area is known nevertheless, the files are there with it.
    """
    tell_missing("The page", *PAGE_MODULES)
    with stages() as show:
        return _synthesize_netlist(
            load(path), output, show, target, pipeline, hardware or {}, settings
        )


def synthesize_targets(
    path: Path,
    output: Path,
    targets: Sequence[str],
    *,
    pipeline: int | Literal["auto"] = 2,
    hardware: Mapping[str, Any] | None = None,
    **settings: Any,
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
            return _synthesize_netlist(
                netlist, folder, show, target, pipeline, hardware or {}, settings
            )
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


def _synthesize_netlist(
    netlist: Netlist,
    output: Path,
    show: Stages,
    target: str,
    pipeline: int | Literal["auto"],
    hardware: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> "SynthesisReport":
    from trilut.app.pipeline import choose_pipeline
    from trilut.hdl import write_verilog
    from trilut.report.synthesis import make_section, make_synthesis_report, write_synthesis_report
    from trilut.synth import SynthesisError, load_target

    part = load_target(target)
    tried: dict[str, Any] = {}
    failure = None
    if pipeline == "auto":
        frequency = settings.get("frequency", 200.0)
        others = {name: value for name, value in settings.items() if name != "frequency"}
        stage = show.start("pipeline")
        choice = choose_pipeline(
            netlist,
            part,
            frequency,
            out=output,
            progress=stage.step,
            hardware=hardware,
            **others,
        )
        verdict = "meets" if choice.is_met else "misses"
        stage.finish(f"a register every {choice.pipeline} layers {verdict} {frequency:g} MHz")
        pipeline, tried = choice.pipeline, {"pipeline_choice": plain(choice)}
    logs = output / "logs"
    with work_directory(output, logs=logs) as work:
        design = write_verilog(netlist, work, pipeline=pipeline, target=part.sums, **hardware)
        stage = show.start(f"synth {part.name}")
        try:
            section = synthesize_design(netlist, design, target, work, stage, pipeline, settings)
        except SynthesisError as error:
            stage.finish("no timing")
            failure = str(error).replace(str(work), str(logs))
            partial = dataclasses.replace(error.result, incomplete=failure)
            section = make_section(netlist, design, partial, pipeline=pipeline)
    report = make_synthesis_report(netlist, section | tried)
    write_synthesis_report(report, output)
    if failure is not None:
        raise ToolError(f"{failure}; the area is in {str(output / 'synthesis.json')!r}")
    return report


def synthesize_design(
    netlist: Netlist,
    design: Any,
    target: str,
    work: Path,
    stage: Stage,
    pipeline: int,
    settings: Mapping[str, Any],
) -> dict[str, Any]:
    """Place and route a design, and return the section of a report; see make_section."""
    from trilut.report.synthesis import make_section
    from trilut.synth import load_target, synthesize
    from trilut.synth.traffic import design_traffic

    result = synthesize(
        design.path,
        design.top,
        load_target(target),
        out=work,
        traffic=design_traffic(design),
        progress=stage.step,
        **settings,
    )
    speed = "no timing" if result.timing is None else f"{result.timing.fmax_mhz:.1f} MHz"
    stage.finish(f"{result.cells.summary}, {speed}")
    return make_section(netlist, design, result, pipeline=pipeline)
