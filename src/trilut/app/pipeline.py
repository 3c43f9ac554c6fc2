"""The pipeline depth that meets a clock frequency."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trilut.circuit.netlist import Netlist
from trilut.errors import ToolError
from trilut.files import work_directory
from trilut.hdl import write_verilog
from trilut.synth.runner import synthesize
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
    frequency: float,
    *,
    out: Path,
    progress: Callable[[str], None] | None = None,
    hardware: Mapping[str, Any] | None = None,
    **settings: Any,
) -> PipelineChoice:
    """Place and route with fewer and fewer layers between registers until the clock is fast enough.

    Fewer registers mean fewer cycles and less area, so the slowest design that is fast enough wins.

    Parameters
    ----------
    frequency : float
        The goal in MHz.
    out : Path
        Directory for scratch files, which are removed, and for logs if a tool fails.
    hardware : mapping, optional
        Arguments of :func:`trilut.hdl.write_verilog`.
    settings
        As of :func:`trilut.synth.synthesize`.

    Raises
    ------
    ToolError
        If a tool fails, or the target has no place and route to measure with.
    """
    tried: dict[int, float] = {}
    for layers in range(max(1, netlist.depth), 0, -1):
        if progress is not None:
            progress(f"a register every {layers} layers")
        with work_directory(out, logs=out / "logs") as work:
            design = write_verilog(
                netlist, work, pipeline=layers, target=target.sums, **(hardware or {})
            )
            result = synthesize(
                design.path,
                design.top,
                target,
                out=work,
                frequency=frequency,
                blocks=False,
                **settings,
            )
        if result.timing is None:
            raise ToolError(f"Target {target.name!r} has no timing to choose a pipeline by")
        tried[layers] = result.timing.fmax_mhz
        if tried[layers] >= frequency:
            return PipelineChoice(layers, True, tried)
    best = max(tried, key=lambda layers: tried[layers])
    return PipelineChoice(best, False, tried)
