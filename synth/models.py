"""The mapped design as Verilog that any simulator can run."""

import json
from dataclasses import dataclass
from pathlib import Path

from trilut.errors import ToolError
from trilut.files import read_bytes, write_atomically
from trilut.synth.asic.behaviour import cell_models
from trilut.synth.asic.library import Library
from trilut.synth.asic.sources import load_library
from trilut.synth.runner import find_tools
from trilut.synth.target import Target
from trilut.tools import run

__all__ = ["MappedVerilog", "write_mapped_verilog"]


@dataclass(frozen=True, slots=True)
class MappedVerilog:
    """A mapped design as Verilog.

    Parameters
    ----------
    path : Path
        The file ``mapped.v``. Its ports are those of the design.
    models : str
        Modules of the cells that it instantiates, also in ``cells.v`` beside it; empty if it holds
        what they do.
    """

    path: Path
    models: str = ""


def write_mapped_verilog(
    out: Path, top: str, target: Target, *, library: Library | None = None, timeout: float = 600.0
) -> MappedVerilog:
    """Write what Yosys made of a design as ``mapped.v``.

    For an FPGA every cell is replaced by what it does, as Yosys's own models say. For an ASIC the
    cells stay, as they were counted and timed, and models say what they do.

    Parameters
    ----------
    out : Path
        The directory in which :func:`synthesize` has run.
    top : str
        Name of the top module.
    target : Target
        What the design was mapped to.
    library : Library, optional
        The cells of an ASIC; by default the target's own.

    Raises
    ------
    ToolError
        If the target has no models, or Yosys fails.
    FormatError
        If Verilog has no words for a cell of the library.
    """
    if not target.models and not target.library:
        raise ToolError(f"Target {target.name!r} names no models of its cells to simulate with")
    document = json.loads(read_bytes(out / "yosys.json"))
    # The other modules are the cells as black boxes, in the way of the models.
    document["modules"] = {top: document["modules"][top]}
    models = ""
    if target.library:
        # A flip-flop of silicon starts with anything, whatever the Verilog says.
        for net in document["modules"][top]["netnames"].values():
            net["attributes"].pop("init", None)
        commands = [
            "read_liberty -lib -ignore_miss_dir library.lib",
            "delete t:$scopeinfo",
            "opt_clean -purge",
        ]
        types = (cell["type"] for cell in document["modules"][top]["cells"].values())
        models = cell_models(library or load_library(target.library), types)
        write_atomically(out / "cells.v", models)
    else:
        # The models of ECP5 define some cells twice; those of RAMs take minutes if not deferred.
        commands = [f"read_verilog -overwrite -defer +/{model}" for model in target.models]
        commands += [f"hierarchy -check -top {top}", "proc", "flatten", "opt_clean -purge"]
    write_atomically(out / "mapped.json", json.dumps(document))
    write = [f"select {top}", "write_verilog -noattr -selected mapped.v"]
    script = "\n".join(["read_json mapped.json", *commands, *write, ""])
    write_atomically(out / "mapped.ys", script)
    yosys = find_tools(target)["yosys"]
    log = out / "mapped.log"
    run(yosys, ["-q", "-s", "mapped.ys"], step="models", log=log, cwd=out, timeout=timeout)
    return MappedVerilog(out / "mapped.v", models)
