"""The pipeline depth that meets a clock frequency."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from trilut.circuit.netlist import Netlist
from trilut.errors import ToolError
from trilut.files import work_directory
from trilut.hdl import HardwareOptions, write_verilog
from trilut.synth.design import synthesize_design
from trilut.synth.runner import SynthesisSettings
from trilut.synth.target import Target

__all__ = ["PipelineChoice", "choose_pipeline"]


@dataclass(frozen=True, slots=True)
class PipelineChoice:
    """How many layers to put between registers.

    Parameters
    ----------
    pipeline : int
        The most layers that meet the goal, or those with the highest frequency if none do.
    is_met : bool
        Whether the goal is met.
    fmax_mhz : mapping
        Frequency after place and route for each number of layers that was tried.
    """

    pipeline: int
    is_met: bool
    fmax_mhz: Mapping[int, float]


def choose_pipeline(
    netlist: Netlist,
    target: Target,
    options: HardwareOptions,
    *,
    out: str | Path,
    settings: SynthesisSettings,
    progress: Callable[[str], None] | None = None,
) -> PipelineChoice:
    """Place and route with fewer and fewer layers between registers until the clock is fast enough.

    Fewer registers mean fewer cycles and less area, so the slowest design that is fast enough wins.

    Parameters
    ----------
    options : HardwareOptions
        What shapes the hardware, but for its pipeline.
    out : path
        Directory for scratch files, which are removed, and for logs if a tool fails.
    settings : SynthesisSettings
        What is asked of the tools; their frequency is the goal.

    Raises
    ------
    ToolError
        If a tool fails, or the target has no place and route to measure with.
    """
    out = Path(out)
    tried: dict[int, float] = {}
    logs = out / "logs"
    for layers in range(max(1, netlist.depth), 0, -1):
        if progress is not None:
            progress(f"a register every {layers} layers")
        with work_directory(out, logs=logs) as work:
            design = write_verilog(netlist, work, replace(options, pipeline=layers))
            result = synthesize_design(
                design, target, work=work, logs=logs, settings=settings, blocks=False
            ).result
        if result.timing is None:
            no_timing = f"Target {target.name!r} has no timing to choose a pipeline by"
            raise ToolError(result.incomplete or no_timing)
        tried[layers] = result.timing.fmax_mhz
        if tried[layers] >= settings.frequency:
            return PipelineChoice(layers, True, tried)
    best = max(tried, key=lambda layers: tried[layers])
    return PipelineChoice(best, False, tried)
