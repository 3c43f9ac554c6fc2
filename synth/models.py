"""The mapped design as Verilog that any simulator can run."""

import json
from pathlib import Path

from trilut.errors import ToolError
from trilut.files import read_bytes, write_atomically
from trilut.synth.runner import find_tools
from trilut.synth.target import Target
from trilut.tools import run

__all__ = ["write_mapped_verilog"]


def write_mapped_verilog(out: Path, top: str, target: Target, *, timeout: float = 600.0) -> Path:
    """Write what Yosys made of a design as ``mapped.v``, and return that file.

    Every cell of the part is replaced by its behaviour: that of Yosys's own models for an FPGA, and
    the functions of the library for an ASIC. The ports are those of the design.

    Parameters
    ----------
    out : Path
        The directory in which :func:`synthesize` has run.
    top : str
        Name of the top module.
    target : Target
        What the design was mapped to.

    Raises
    ------
    ToolError
        If the target has no models, or Yosys fails.
    """
    if not target.models and not target.library:
        raise ToolError(f"Target {target.name!r} names no models of its cells to simulate with")
    document = json.loads(read_bytes(out / "yosys.json"))
    # The other modules are the cells as black boxes, in the way of the models.
    document["modules"] = {top: document["modules"][top]}
    write_atomically(out / "mapped.json", json.dumps(document))
    # The models of ECP5 define some cells twice, and those of RAMs take minutes if not deferred.
    models = [f"read_verilog -overwrite -defer +/{model}" for model in target.models]
    if target.library:
        models = ["read_liberty -ignore_miss_func library.lib"]
    commands = [
        "read_json mapped.json",
        *models,
        f"hierarchy -check -top {top}",
        "proc",
        "flatten",
        "opt_clean -purge",
        "write_verilog -noattr mapped.v",
    ]
    write_atomically(out / "mapped.ys", "\n".join(commands) + "\n")
    yosys = find_tools(target)["yosys"]
    log = out / "mapped.log"
    run(yosys, ["-q", "-s", "mapped.ys"], step="models", log=log, cwd=out, timeout=timeout)
    return out / "mapped.v"
