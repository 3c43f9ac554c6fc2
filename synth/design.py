"""Synthesis of a design: one way from what the generator wrote to its area and timing."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from trilut.hdl.design import Design
from trilut.synth.result import SynthesisResult
from trilut.synth.runner import SynthesisError, SynthesisSettings, synthesize
from trilut.synth.target import Target
from trilut.synth.traffic import design_traffic

__all__ = ["Synthesis", "synthesize_design"]


@dataclass(frozen=True, slots=True)
class Synthesis:
    """A design on a target.

    Parameters
    ----------
    design : Design
        What was synthesised.
    result : SynthesisResult
        What the tools found. If place and route failed, its ``incomplete`` says why, and there is
        area and no timing.
    sha256 : str
        Of the Verilog file that was synthesised.
    """

    design: Design
    result: SynthesisResult
    sha256: str = ""


def synthesize_design(
    design: Design,
    target: Target,
    *,
    work: str | Path,
    logs: str | Path,
    settings: SynthesisSettings | None = None,
    blocks: bool = True,
    progress: Callable[[str], None] | None = None,
) -> Synthesis:
    """Map a design to a target, and place and route it.

    Place and route that fails is a result, not an error: the area is known nevertheless.

    Parameters
    ----------
    work : path
        Directory for the files of the tools.
    logs : path
        Where the logs will be, for a message that names one.
    settings, blocks, progress
        As of :func:`trilut.synth.synthesize`.

    Raises
    ------
    ToolError
        If the design cannot be mapped, or a tool is missing.
    """
    logs = Path(logs)
    work = Path(work)
    try:
        result = synthesize(
            design.path,
            design.top,
            target,
            out=work,
            settings=settings,
            blocks=blocks,
            traffic=design_traffic(design.interface),
            progress=progress,
        )
    except SynthesisError as error:
        reason = str(error).replace(str(work), str(logs))
        result = dataclasses.replace(error.result, incomplete=reason)
    return Synthesis(design, result, design.sha256)
