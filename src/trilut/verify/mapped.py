"""The mapped netlist of a design, with models of the part's cells: to simulate, and to prove."""

from dataclasses import replace
from pathlib import Path

from trilut.errors import ToolError
from trilut.files import read_bytes, write_atomically
from trilut.hdl import Design
from trilut.synth import SynthesisSettings, Target, synthesize
from trilut.synth.models import write_mapped_verilog
from trilut.verify.proof.design import PipelineError, read_design, read_mapped
from trilut.verify.proof.equivalence import prove_equivalence

__all__ = ["map_design", "prove_mapping"]


def map_design(design: Design, target: Target, work: Path) -> Design:
    """Map a design to a part, and return what the part's cells do as a design of its own.

    Parameters
    ----------
    design : Design
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
    synthesize(
        design.path,
        design.top,
        unplaced,
        out=work,
        blocks=False,
        settings=SynthesisSettings(timeout=1800.0),
    )
    mapped = write_mapped_verilog(work, design.top, target, timeout=1800.0)
    return replace(design, path=mapped.path, models=mapped.models)


def prove_mapping(design: Design, target: Target, work: Path) -> str:
    """Prove that what :func:`map_design` made of a design is equal to it; say so, or why not.

    Parameters
    ----------
    design : Design
        The design.
    target : Target
        What it was mapped to.
    work : Path
        The directory in which it was.
    """
    models = [f"+/{model}" for model in target.models]
    if target.library:
        models = ["cells.v"]
    if not models:
        return f"not proven: target {target.name!r} names no models of its cells"
    source = work / "rtl.v"
    write_atomically(source, read_bytes(design.path) + design.models.encode())

    try:
        rtl = read_design(source, design.top, work, name="read-rtl")[design.top]
        mapped = read_mapped(
            work / "mapped.json", design.top, work, name="read-mapped", models=models
        )
        if target.library:
            # Silicon has no initial values: both start from registers that are equal.
            found = prove_equivalence(replace(rtl, initial={}), mapped)
            return found.text if found.objection else f"{found.text}, once it was reset"
        return prove_equivalence(rtl, mapped).text
    except (ToolError, PipelineError) as error:
        return f"not proven: {error}"
