"""The mapped netlist of a design, with models of the part's cells, ready to be simulated."""

from dataclasses import replace
from pathlib import Path

from trilut.hdl import VerilogDesign
from trilut.synth import Target, synthesize
from trilut.synth.simulated import write_mapped_verilog

__all__ = ["map_design"]


def map_design(design: VerilogDesign, target: Target, work: Path) -> VerilogDesign:
    """Map a design to a part, and return what the part's cells do as a design of its own.

    Parameters
    ----------
    design : VerilogDesign
        The design, made for the sums of this part.
    target : Target
        The part.
    work : Path
        Directory for scratch files, logs and the result.

    Raises
    ------
    ToolError
        If there are no models for the part, or Yosys is missing or fails.
    """
    unplaced = replace(target, place_and_route=None)
    synthesize(design.path, design.top, unplaced, out=work, blocks=False, timeout=1800.0)
    path = write_mapped_verilog(work, design.top, target, timeout=1800.0)
    return replace(design, path=path, models="")
