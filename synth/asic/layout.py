"""Placed and routed standard cells, by the open tools that qflow joins: graywolf, qrouter, magic.

The cells of its packages are abstracts: outlines, pins and what routing must leave alone. So the
wires are real, and checked, but the transistors are not there.
"""

import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from trilut.errors import FormatError, ToolError
from trilut.files import make_directory, read_bytes, write_atomically
from trilut.synth.asic.sources import load_library
from trilut.tools import Tool, find_tool, run

__all__ = [
    "CELLS",
    "LIBRARY",
    "Layout",
    "check_layout_tools",
    "enlarge_lone_pins",
    "lay_out",
    "measure_wires",
]

LIBRARY = "osu018"
"""The cells: Oklahoma State University's for TSMC 0.18 µm."""
_SCRIPTS = Path("/usr/lib/qflow/scripts")
_PROGRAMS = Path("/usr/lib/qflow/bin")
_TECHNOLOGY = Path("/usr/share/qflow/tech") / LIBRARY
CELLS = _TECHNOLOGY / f"{LIBRARY}_stdcells.lef"
"""The abstracts of the cells."""
_PACKAGES = "qflow qflow-tech-osu018 graywolf qrouter magic netgen-lvs tcsh"
# The scripts of qflow pass paths on unquoted.
_PLAIN = re.compile(r"[A-Za-z0-9_./-]+")
_TOP = "design"
# A metal must have 0.2 µm²; the next wire, 0.3 µm wide and away, is 0.8 µm from the centre.
_LONE_PIN_UM = 0.5
_DIE = re.compile(r"DIEAREA \( (-?\d+) (-?\d+) \) \( (-?\d+) (-?\d+) \)")
_UNITS = re.compile(r"UNITS DISTANCE MICRONS (\d+)")
_COMPONENT = re.compile(r"^- (\w+) (\w+)", re.MULTILINE)
_SEGMENT = re.compile(r"(?:ROUTED|NEW) (\w+)((?: \( \S+ \S+ \))+)")
_POINT = re.compile(r"\( (\S+) (\S+) \)")
_PIN = re.compile(r"^- \S+ \+ NET (\S+)\s+\+ LAYER \w+ (\( \S+ \S+ \) \( \S+ \S+ \))", re.MULTILINE)
_RULE = re.compile(r"^rule (\d+) (.*)$", re.MULTILINE)
_CHECK = f"""\
lef read {CELLS}
load {_TOP}
drc on
select top cell
expand
drc check
drc catchup
puts "technology [tech name]"
puts "total [drc list count total]"
foreach {{why boxes}} [drc listall why] {{ puts "rule [llength $boxes] $why" }}
quit -noprompt
"""


@dataclass(frozen=True, slots=True)
class Layout:
    """A layout.

    Parameters
    ----------
    library : str
        Its cells, of which there are outlines and pins only.
    width_um, height_um : float
        Size of its outline.
    cells : int
        Standard cells, without those that fill gaps.
    wires_um : mapping
        Length of the wires of each metal.
    drc : mapping
        How often each rule of the process is broken by wires and pins; empty if none is.
    is_matched : bool
        Whether the circuit that is read back from the layout is the one that was to be made.
    seconds : mapping
        What each step took.
    tools : mapping
        Versions of the tools.
    """

    library: str
    width_um: float
    height_um: float
    cells: int
    wires_um: Mapping[str, float]
    drc: Mapping[str, int]
    is_matched: bool
    seconds: Mapping[str, float]
    tools: Mapping[str, str]

    @property
    def area_um2(self) -> float:
        """Area of its outline."""
        return round(self.width_um * self.height_um, 1)

    @property
    def wire_mm(self) -> float:
        """Length of all wires."""
        return round(sum(self.wires_um.values()) / 1000, 2)


def check_layout_tools() -> None:
    """Check that everything is installed.

    Raises
    ------
    ToolError
        If something is missing; the message says how to install all of it.
    """
    needed = [_SCRIPTS / "placement.sh", CELLS]
    needed += [_PROGRAMS / name for name in ("graywolf", "qrouter", "magic", "netgen")]
    needed.append(Path("/usr/bin/tcsh"))
    for path in needed:
        if not path.exists():
            raise ToolError(
                f"A layout needs {str(path)!r}, which is not there; install the Debian packages "
                f"with: apt-get install --no-install-recommends {_PACKAGES}"
            )


def lay_out(
    mapped: Path,
    top: str,
    out: Path,
    *,
    timeout: float = 3600.0,
    progress: Callable[[str], None] | None = None,
) -> Layout:
    """Place and route a netlist of standard cells, and check what comes out.

    Parameters
    ----------
    mapped : Path
        Verilog of cells of :data:`LIBRARY`.
    top : str
        Name of its module.
    out : Path
        Where ``layout.def``, ``layout.mag``, ``lvs.txt`` and ``logs`` go; made if necessary.
    timeout : float
        Seconds that each step may take.
    progress : callable, optional
        Called with the name of each step when it begins.

    Raises
    ------
    ToolError
        If a tool is missing or fails, not all nets can be routed, or the netlist has constants, for
        which the library has no cell.
    """
    check_layout_tools()
    say = progress or (lambda step: None)
    logs = make_directory(out / "logs")
    seconds: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="trilut-layout-") as folder:
        if not _PLAIN.fullmatch(folder):
            raise ToolError(
                f"The tools of qflow work in no directory like {folder!r}, expected one of letters "
                "and digits; set TMPDIR"
            )
        work = Path(folder)
        _prepare(work, mapped, top, logs, timeout)
        steps = {"place": ["placement.sh", "-d"], "route": ["router.sh"], "extract": ["migrate.sh"]}
        for step, (script, *options) in steps.items():
            say(step)
            seconds[step] = _qflow(script, [*options, folder, _TOP], step, logs, work, timeout)
            if step == "route":
                routed = work / "layout" / f"{_TOP}.def"
                write_atomically(routed, enlarge_lone_pins(routed.read_text()))
        say("check")
        drc = _design_rules(work / "layout", logs, timeout)
        seconds["compare"] = _qflow("lvs.sh", [folder, _TOP], "compare", logs, work, timeout)
        told = (work / "log" / "lvs.log").read_text(errors="replace")
        text = (work / "layout" / f"{_TOP}.def").read_text()
        for source, name in {f"{_TOP}.def": "layout.def", f"{_TOP}.mag": "layout.mag"}.items():
            write_atomically(out / name, read_bytes(work / "layout" / source))
        write_atomically(out / "lvs.txt", told)
    width, height = _size(text)
    kinds = [cell for _, cell in _COMPONENT.findall(_section(text, "COMPONENTS"))]
    return Layout(
        library=LIBRARY,
        width_um=width,
        height_um=height,
        cells=sum(kind != "FILL" for kind in kinds),
        wires_um=measure_wires(text),
        drc=drc,
        is_matched="Circuits match uniquely." in told and "Total errors = 0" in told,
        seconds={step: round(value, 1) for step, value in seconds.items()},
        tools=_versions(logs, timeout),
    )


def _prepare(work: Path, mapped: Path, top: str, logs: Path, timeout: float) -> None:
    """Make a project of qflow, as if it had done the synthesis."""
    folders = {
        name: make_directory(work / name) for name in ("source", "synthesis", "layout", "log")
    }
    _write_blif(work, mapped, top, logs, timeout)
    blif = (work / "mapped.blif").read_text()
    # The first lines define the constants, which no cell drives.
    body = re.sub(r"^\.names .*\n(1\n)?", "", blif, flags=re.MULTILINE)
    if used := re.search(r"\$(false|true|undef)", body):
        raise ToolError(
            f"Library {LIBRARY!r} has no cell for the constant {used[1]!r}, which the design needs "
            "at a port or a pin"
        )
    write_atomically(folders["synthesis"] / f"{_TOP}.blif", body)
    write_atomically(
        folders["synthesis"] / f"{_TOP}_powerground", "set vddnet=vdd\nset gndnet=gnd\n"
    )
    write_atomically(folders["log"] / "synth.log", "done\n")
    variables = {
        "projectpath": work,
        "techdir": _TECHNOLOGY,
        "sourcedir": folders["source"],
        "synthdir": folders["synthesis"],
        "layoutdir": folders["layout"],
        "techname": LIBRARY,
        "scriptdir": _SCRIPTS,
        "bindir": _PROGRAMS,
        "logdir": folders["log"],
    }
    lines = "".join(f"set {name}={value}\n" for name, value in variables.items())
    write_atomically(work / "qflow_vars.sh", lines)
    # The package has no drawings of the cells, and graywolf must not look for a display.
    write_atomically(work / "project_vars.sh", 'set gdsfile=""\nset graywolf_options="-n"\n')
    for source, name in {".par": f"{_TOP}.par", ".magicrc": ".magicrc"}.items():
        content = read_bytes(_TECHNOLOGY / f"{LIBRARY}{source}")
        write_atomically(folders["layout"] / name, content)


def _write_blif(work: Path, mapped: Path, top: str, logs: Path, timeout: float) -> None:
    """Write ``mapped.blif``, whose names are plain words."""
    write_atomically(work / "mapped.v", read_bytes(mapped))
    write_atomically(work / "library.lib", load_library(LIBRARY).text)
    script = f"""\
read_liberty -lib -ignore_miss_func library.lib
read_verilog mapped.v
hierarchy -check -top {top}
splitnets -ports -format __
opt_clean -purge
rename {top} {_TOP}
write_blif -gates -buf BUFX2 A Y mapped.blif
"""
    write_atomically(work / "blif.ys", script)
    log = logs / "blif.log"
    run(
        find_tool("yosys"),
        ["-q", "-s", "blif.ys"],
        step="blif",
        log=log,
        cwd=work,
        timeout=timeout,
    )


def _qflow(
    script: str, arguments: list[str], step: str, logs: Path, work: Path, timeout: float
) -> float:
    """Run a script of qflow, and keep what it says."""
    tool = Tool("qflow", (str(_SCRIPTS / script),))
    try:
        return run(tool, arguments, step=step, log=logs / f"{step}.log", cwd=work, timeout=timeout)
    finally:
        for log in (work / "log").glob("*.log"):
            write_atomically(logs / f"qflow-{log.name}", read_bytes(log))


def _design_rules(folder: Path, logs: Path, timeout: float) -> dict[str, int]:
    """Count how often each rule is broken.

    Raises
    ------
    ToolError
        If magic did not know the process: it would then find nothing wrong.
    """
    write_atomically(folder / "check.tcl", _CHECK)
    log = logs / "check.log"
    arguments = ["-dnull", "-noconsole", "-rcfile", ".magicrc", "check.tcl"]
    magic = Tool("magic", (str(_PROGRAMS / "magic"),))
    run(magic, arguments, step="check", log=log, cwd=folder, timeout=timeout)
    told = log.read_text(errors="replace")
    total = re.search(r"^total (\d+)$", told, re.MULTILINE)
    if total is None or "technology scmos" not in told or "(Error)" in told:
        raise ToolError(f"magic did not read the cells of the process; log: {str(log)!r}")
    rules = {why: int(count) for count, why in _RULE.findall(told)}
    if int(total[1]) and not rules:
        rules["rules that are not named"] = int(total[1])
    return rules


def _versions(logs: Path, timeout: float) -> dict[str, str]:
    """Return the versions of the tools that tell them."""
    versions = {}
    for name, arguments in {"magic": ["--version"], "qrouter": ["-v", "0", "-h"]}.items():
        log = logs / f"{name}-version.log"
        tool = Tool(name, (str(_PROGRAMS / name),))
        run(tool, arguments, step="version", log=log, cwd=logs, timeout=timeout)
        versions[name] = log.read_text(errors="replace").split()[-1]
    return versions


def _section(text: str, name: str) -> str:
    match = re.search(rf"^{name} .*?^END {name}", text, re.DOTALL | re.MULTILINE)
    if match is None:
        raise FormatError(f"The layout has no section {name}")
    return match[0]


def _size(text: str) -> tuple[float, float]:
    die, units = _DIE.search(text), _UNITS.search(text)
    if die is None or units is None:
        raise FormatError("The layout has no outline")
    left, bottom, right, top = map(int, die.groups())
    return (right - left) / int(units[1]), (top - bottom) / int(units[1])


def enlarge_lone_pins(text: str) -> str:
    """Return a DEF file whose pins without a wire have the smallest area of the process.

    A bit of a feature that no threshold looks at has such a pin. Other pins have their wire's area.

    Raises
    ------
    FormatError
        If it has no nets, no pins or no unit.
    """
    nets = _section(text, "NETS").split("\n- ")[1:]
    lone = {net.split()[0] for net in nets if "ROUTED" not in net.split()}
    half = round(_LONE_PIN_UM * _units(text) / 2)
    square = f"( {-half} {-half} ) ( {half} {half} )"
    pins = _section(text, "PINS")
    enlarged = _PIN.sub(
        lambda pin: pin[0].replace(pin[2], square) if pin[1] in lone else pin[0], pins
    )
    return text.replace(pins, enlarged)


def _units(text: str) -> int:
    """Return how many units of a DEF file a µm has."""
    units = _UNITS.search(text)
    if units is None:
        raise FormatError("The layout has no unit of length")
    return int(units[1])


def measure_wires(text: str) -> dict[str, float]:
    """Return the length of the wires of each metal in a DEF file, in µm, without supplies.

    Raises
    ------
    FormatError
        If it has no nets or no unit.
    """
    units = _units(text)
    lengths: Counter[str] = Counter()
    for layer, points in _SEGMENT.findall(_section(text, "NETS")):
        path = list(_points(points))
        for (x, y), (next_x, next_y) in pairwise(path):
            lengths[layer] += abs(next_x - x) + abs(next_y - y)
    return {layer: lengths[layer] / units for layer in sorted(lengths)}


def _points(text: str) -> Iterator[tuple[int, int]]:
    """Give the points of a path; a star stands for the number before it."""
    x = y = 0
    for across, up in _POINT.findall(text):
        x = x if across == "*" else int(across)
        y = y if up == "*" else int(up)
        yield x, y
