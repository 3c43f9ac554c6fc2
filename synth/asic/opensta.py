"""The timing of a design by OpenSTA, for comparison with ours."""

import re
from pathlib import Path

from trilut.errors import ToolError
from trilut.files import make_directory, read_bytes, write_atomically
from trilut.synth.asic.library import Library
from trilut.synth.asic.wires import WireLoad
from trilut.synth.mapped import MappedDesign
from trilut.tools import Tool, find_tool, run

__all__ = ["find_opensta", "opensta_period"]

_TIMEOUT = 1800.0
# Too short for any design, in ns: the slack then has all digits of the answer.
_PERIOD = 0.001
_SCRIPT = """\
read_liberty library.lib
read_verilog registered.v
link_design {top}
create_clock -name clk -period {period} [get_ports clk]
{wires}
set path [lindex [find_timing_paths -path_delay max] 0]
puts "slack [get_property $path slack]"
report_checks -path_delay max -digits 6 -fields {{slew capacitance fanout}}
exit
"""
_SLACK = re.compile(r"^slack ([0-9.e+-]+)$", re.MULTILINE)
_WORD = re.compile(r"[\w.+-]+")


def find_opensta() -> Tool:
    """Find OpenSTA.

    Raises
    ------
    ToolError
        If it cannot be found.
    """
    hint = "install it with 'apt install --no-install-recommends opensta'"
    return find_tool("sta", hint=hint)


def opensta_period(
    design: MappedDesign, top: str, library: Library, work: Path, wires: WireLoad | None = None
) -> float:
    """Return the shortest clock period of a design with registers at its ports, in ns.

    Parameters
    ----------
    design : MappedDesign
        The flattened design of standard cells.
    top : str
        Name of its top module, a plain identifier.
    library : Library
        Its cells.
    work : Path
        Directory for scratch files and logs; made if necessary.
    wires : WireLoad, optional
        A model of the library for the wires; by default they have no load.

    Raises
    ------
    ToolError
        If OpenSTA or Yosys is missing or fails, or the model has no plain name.
    """
    opensta, yosys = find_opensta(), find_tool("yosys")
    make_directory(work)
    design.save(work / "registered.json")
    # OpenSTA takes the library's default for wires unless it has none.
    write_atomically(
        work / "library.lib", re.sub(rb"default_wire_load\w*\s*:[^;]*;", b"", library.text)
    )
    commands = [
        "read_json registered.json",
        "delete t:$scopeinfo",
        f"select {top}",
        "write_verilog -noattr -selected registered.v",
    ]
    write_atomically(work / "registered.ys", "\n".join(commands) + "\n")
    log = work / "registered.log"
    run(yosys, ["-q", "-s", "registered.ys"], step="netlist", log=log, cwd=work, timeout=_TIMEOUT)
    script = _SCRIPT.format(top=top, period=_PERIOD / library.ns, wires=_wires(wires))
    write_atomically(work / "sta.tcl", script)
    log = work / "sta.log"
    run(
        opensta,
        ["-no_splash", "-exit", "sta.tcl"],
        step="timing",
        log=log,
        cwd=work,
        timeout=_TIMEOUT,
    )
    slack = _SLACK.search(read_bytes(log).decode(errors="replace"))
    if slack is None:
        raise ToolError(f"OpenSTA found no path; log: {str(log)!r}")
    return _PERIOD - float(slack[1]) * library.ns


def _wires(wires: WireLoad | None) -> str:
    if wires is None:
        return ""
    if not _WORD.fullmatch(wires.name):
        raise ToolError(f"Wire load {wires.name!r} is not a plain word")
    return f"set_wire_load_mode top\nset_wire_load_model -name {{{wires.name}}}"
