"""Running Yosys and nextpnr on a design, and reading what they say."""

import dataclasses
import json
import os
import re
import statistics
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trilut.errors import SlowToolError, ToolError
from trilut.files import make_directory, read_bytes, write_atomically
from trilut.synth.asic.figures import CONSTRAINTS, AsicDesign, mapping_script
from trilut.synth.asic.library import Library
from trilut.synth.asic.sources import load_library
from trilut.synth.cache import Cache, digest
from trilut.synth.mapped import PORT_BLOCK, TOP_BLOCK, MappedDesign
from trilut.synth.parallel import in_parallel
from trilut.synth.result import Cells, Hop, SynthesisResult, Timing, Utilization
from trilut.synth.target import PlaceAndRoute, Target
from trilut.synth.traffic import Traffic
from trilut.tools import Tool, find_tool, run

__all__ = [
    "SynthesisError",
    "SynthesisSettings",
    "find_tools",
    "run_step",
    "synthesize",
    "tool_version",
]

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_UTILIZATION = re.compile(r"^Info:\s+(\w+):\s*([0-9]+)/\s*([0-9]+)\s+[0-9]+%", re.MULTILINE)
# What nextpnr says where a placement can't be routed, as happens to clocks of a MachXO3.
_UNROUTED = "Failed to route"
_VERSION = re.compile(r"\b[0-9]+\.[0-9]+[\w.+-]*")
# ABC9 numbers the bits of ports, and Yosys stops when a wire is already named like one of them, as
# Amaranth names the fields of an array: "o[0]" beside "o". Such wires lose their names.
_SCRIPT = """\
read_verilog design.v
rename -hide w:*[[]*
"""
# However many designs are under way, as many tools run as there are cores.
_SLOTS = threading.BoundedSemaphore(os.cpu_count() or 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthesisSettings:
    """What is asked of the tools.

    Parameters
    ----------
    frequency : float
        Clock frequency to aim at, in MHz. Missing it is not an error.
    seed : int
        Seed of the placer.
    num_seeds : int
        How many seeds to try, from ``seed`` on, in parallel up to the number of cores.
    liberty : Path, optional
        Standard cells for an ASIC, instead of the target's own.
    buffers : bool
        Whether nets of an ASIC that drive too much get trees of buffers.
    timeout : float
        Seconds that each step may take.
    cache : Cache, optional
        Where steps that have run before are looked up and those that run are kept.
    """

    frequency: float = 200.0
    seed: int = 1
    num_seeds: int = 1
    liberty: Path | None = None
    buffers: bool = True
    timeout: float = 600.0
    cache: Cache | None = None


class SynthesisError(ToolError):
    """Place and route that gave no timing, for a design whose area is known.

    Parameters
    ----------
    message : str
        What went wrong.
    result : SynthesisResult
        What is known nevertheless; its ``incomplete`` is the message.
    """

    def __init__(self, message: str, result: SynthesisResult):
        super().__init__(message)
        self.result = result


def synthesize(
    verilog: str | Path,
    top: str,
    target: Target,
    *,
    out: str | Path,
    settings: SynthesisSettings | None = None,
    blocks: bool = True,
    traffic: Traffic | None = None,
    progress: Callable[[str], None] | None = None,
) -> SynthesisResult:
    """Map a design to a target, place and route it, and report its area and timing.

    The clock is the port ``clk``. The result depends on nothing but the design, the target, the
    seeds and the versions of the tools.

    Parameters
    ----------
    verilog : path
        The design in one file.
    top : str
        Name of its top module, a plain identifier.
    out : path
        Directory for scripts, netlists and the logs of all tools; made if necessary.
    settings : SynthesisSettings, optional
        What is asked of the tools.
    blocks : bool
        Whether to map the design a second time for the area of each block.
    traffic : Traffic, optional
        How vectors reach the design, for the energy of an ASIC; by default one enters in each
        cycle. A design that takes packets has no energy without it.
    progress : callable, optional
        Called with the name of each step when it begins.

    Raises
    ------
    ValueError
        If ``top`` is not a plain identifier.
    SynthesisError
        If the part is too small or place and route fails. It has the area.
    ToolError
        If a tool is missing, too old, fails or takes too long.
    FormatError
        If the design or a library cannot be read, or ``out`` cannot be written.
    """
    out = Path(out)
    verilog = Path(verilog)
    if not _IDENTIFIER.fullmatch(top):
        raise ValueError(f"Top module name {top!r} is not a plain Verilog identifier")
    wanted = settings or SynthesisSettings()
    if wanted.liberty is not None and not target.library:
        raise ToolError(f"Target {target.name!r} is no ASIC and takes no liberty file")
    say = progress or (lambda step: None)
    tools = find_tools(target)
    versions = {
        name: tool_version(tool, make_directory(out), wanted.timeout)
        for name, tool in tools.items()
    }
    # The scripts name only files in the work directory: no text of the user's enters them.
    write_atomically(out / "design.v", read_bytes(verilog))
    library = load_library(target.library, wanted.liberty, progress=say) if target.library else None
    steps = _Steps(out, wanted, say, versions, library)

    if library is not None:
        target = library.target(target)
    areas = None if library is None else library.areas
    design = steps.map(tools["yosys"], target, top, flat=True)
    result = SynthesisResult(
        target=target.name,
        device=target.device,
        title=target.title,
        cells=(cells := design.count(target, areas)),
        blocks=steps.map(tools["yosys"], target, top, flat=False).count_blocks(target, areas)
        if blocks
        else {},
        utilization=_utilization(None, cells, target),
        timing=None,
        port_registers=0,
        tools=versions,
        seconds=steps.seconds,
        levels=design.levels(target),
        counted=target.counted,
    )
    if cells.ff and not design.has_clock and (target.place_and_route or library):
        raise ToolError(f"Module {top!r} has {cells.ff} flip-flops but no port 'clk'")
    if library is not None:
        return AsicDesign(design, library, traffic).complete(result, wanted.frequency)
    if target.place_and_route is None:
        return result
    ports = design.register_ports(target.place_and_route.register, target.place_and_route.clock)
    design.open_carries()
    result = dataclasses.replace(result, port_registers=ports)
    try:
        _check_capacity(cells, ports, target)
        design.save(out / "registered.json")
        reports = steps.place_and_route(
            tools[target.place_and_route.program],
            target.place_and_route,
            top,
            range(wanted.seed, wanted.seed + wanted.num_seeds),
        )
    except ToolError as error:
        message = str(error)
        raise SynthesisError(message, dataclasses.replace(result, incomplete=message)) from error
    middle = _middle(reports)
    return dataclasses.replace(
        result,
        utilization=_utilization(reports[middle], cells, target),
        timing=_timing(reports, middle, design),
        seconds=steps.seconds,
    )


def find_tools(target: Target) -> dict[str, Tool]:
    """Find the tools that a target needs.

    Raises
    ------
    ToolError
        If one cannot be found.
    """
    return {name: find_tool(name) for name in target.programs}


def tool_version(tool: Tool, work: Path, timeout: float) -> str:
    """Ask a tool for its version."""
    log = work / f"{tool.name}-version.log"
    run(tool, ["-V"], step="version", log=log, cwd=work, timeout=timeout)
    match = _VERSION.search(read_bytes(log).decode(errors="replace"))
    if match is None:
        raise ToolError(f"{tool.name} does not tell its version; log: {str(log)!r}")
    return match[0]


def _check_capacity(cells: Cells, ports: int, target: Target) -> None:
    needs = {
        "lut4": ("LUT4", cells.lut4_equivalents),
        "lut6": ("LUT6", cells.lut6_equivalents),
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

    def __init__(
        self,
        work: Path,
        settings: SynthesisSettings,
        progress: Callable[[str], None],
        versions: Mapping[str, str],
        library: Library | None,
    ):
        self._work = work
        self._timeout = settings.timeout
        self._progress = progress
        self._cache = settings.cache
        self._versions = versions
        self._library = library
        self._frequency = settings.frequency
        self._buffers = settings.buffers
        self.seconds: dict[str, float] = {}

    def map(self, yosys: Tool, target: Target, top: str, *, flat: bool) -> MappedDesign:
        """Map ``design.v`` with Yosys, as a whole or block by block."""
        name = "yosys" if flat else "yosys-blocks"
        script = _SCRIPT + self._commands(target, top, flat=flat) + f"write_json {name}.json\n"
        write_atomically(self._work / f"{name}.ys", script)
        sources: list[bytes | str] = [script, read_bytes(self._work / "design.v")]
        if self._library is not None:
            write_atomically(self._work / "library.lib", self._library.text)
            write_atomically(self._work / "library.constr", CONSTRAINTS)
            sources.append(self._library.text)
        # The console of the WebAssembly build falls silent once ABC has run; the log file does not.
        self._run(
            yosys,
            ["-q", "-L", f"{name}.log", "-s", f"{name}.ys"],
            sources,
            step="synthesis" if flat else "blocks",
            log=self._work / f"{name}.log",
            console=self._work / f"{name}-console.log",
            result=self._work / f"{name}.json",
        )
        design = MappedDesign(self._work / f"{name}.json", top)
        is_changed = target.pairs_tables and design.combine_tables(target)
        if self._library is not None and flat and self._buffers:
            is_changed = AsicDesign(design, self._library).buffer()
        if is_changed:
            design.save(self._work / f"{name}.json")
        return design

    def _commands(self, target: Target, top: str, *, flat: bool) -> str:
        if self._library is not None:
            return mapping_script(top, self._library, self._frequency, flat=flat)
        options = ["-flatten"] if flat and target.keeps_hierarchy else []
        if not flat and not target.keeps_hierarchy:
            options = ["-noflatten"]
        return " ".join([*target.synthesis, *options, "-top", top]) + "\n"

    def place_and_route(
        self, nextpnr: Tool, settings: PlaceAndRoute, top: str, seeds: Sequence[int]
    ) -> dict[int, dict[str, Any]]:
        """Place and route ``registered.json`` and return nextpnr's report for each seed."""

        def route(seed: int) -> dict[str, Any]:
            name = "nextpnr" if seed == seeds[0] else f"nextpnr-{seed}"
            step = "place and route" if seed == seeds[0] else f"place and route, seed {seed}"
            files = ["--json", "registered.json", "--top", top, "--report", f"{name}.json"]
            goal = ["--freq", f"{self._frequency:g}", "--timing-allow-fail", "--seed", str(seed)]
            log, result = self._work / f"{name}.log", self._work / f"{name}.json"
            arguments = [*settings.options, *files, *goal]
            sources = [read_bytes(self._work / "registered.json")]
            self._run(nextpnr, arguments, sources, step=step, log=log, console=log, result=result)
            report: dict[str, Any] = json.loads(read_bytes(result))
            return report

        return dict(zip(seeds, in_parallel(route, seeds), strict=True))

    def _run(
        self,
        tool: Tool,
        arguments: Sequence[str],
        sources: Sequence[bytes | str],
        *,
        step: str,
        log: Path,
        console: Path,
        result: Path,
    ) -> None:
        # What an earlier run left must not pass for this one's.
        for path in (log, result):
            path.unlink(missing_ok=True)
        key = digest(tool.name, self._versions[tool.name], *arguments, *sources)
        if self._cache is not None and (made := self._cache.get(key)):
            self._progress(f"{step}, done before")
            text, self.seconds[step] = made
            write_atomically(result, text)
            return
        with _SLOTS:
            self._progress(step)
            self.seconds[step] = run_step(
                tool,
                arguments,
                step=step,
                log=log,
                console=console,
                cwd=self._work,
                timeout=self._timeout,
            )
        if self._cache is not None:
            self._cache.put(key, read_bytes(result).decode(), self.seconds[step])


def run_step(
    tool: Tool,
    arguments: Sequence[str],
    *,
    step: str,
    log: Path,
    console: Path | None = None,
    cwd: Path,
    timeout: float,
) -> float:
    """Run a tool, return the seconds it took, and say why it failed if its log tells.

    Parameters
    ----------
    log : Path
        Where the tool writes what it does.
    console : Path, optional
        Where what it prints goes, if that is another file.

    Raises
    ------
    ToolError
        If it fails; a part that is too small is said to be.
    """
    try:
        return run(tool, arguments, step=step, log=console or log, cwd=cwd, timeout=timeout)
    except SlowToolError as error:
        raise SlowToolError(f"{error}; --timeout S allows more") from error
    except ToolError as error:
        if line := _overfull(log) or _last_error(log):
            advice = "; another seed may be routed" if _UNROUTED in line else ""
            raise ToolError(
                f"{tool.name} failed in step {step!r}: {line}{advice}; log: {str(log)!r}"
            ) from error
        raise


def _overfull(log: Path) -> str | None:
    """Return which resource nextpnr needs more of than the part has.

    Packing adds to what mapping counts, so a design can turn out too large only then; nextpnr's own
    message speaks of a region that it cannot expand.
    """
    if not log.exists():
        return None
    for name, used, available in _UTILIZATION.findall(log.read_text(errors="replace")):
        if int(used) > int(available):
            return f"the design takes {used} {name} when packed, but the part has {available}"
    return None


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
            "lut6": cells.lut6_equivalents,
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


def _middle(reports: Mapping[int, Mapping[str, Any]]) -> int:
    """Return the seed with the middle frequency, the slower of two."""
    speeds = {seed: _clock(report)[1] for seed, report in reports.items()}
    middle = statistics.median_low(speeds.values())
    return next(seed for seed, speed in speeds.items() if speed == middle)


def _clock(report: Mapping[str, Any]) -> tuple[str, float, float]:
    """Return the slowest clock, its frequency and the one that it was asked for."""
    clocks = [
        (name, float(clock["achieved"]), float(clock["constraint"]))
        for name, clock in report["fmax"].items()
    ]
    return min(clocks, key=lambda clock: clock[1], default=("", 0.0, 0.0))


def _timing(
    reports: Mapping[int, Mapping[str, Any]], middle: int, design: MappedDesign
) -> Timing | None:
    """Read the slowest clock and its path."""
    report = reports[middle]
    clock, achieved, goal = _clock(report)
    if not clock:
        return None
    ends = f" {clock}"
    paths: list[list[Mapping[str, Any]]] = [
        path["path"]
        for path in report["critical_paths"]
        if path["from"].endswith(ends) and path["to"].endswith(ends)
    ]
    return Timing(
        fmax_mhz=achieved,
        goal_mhz=round(goal, 2),
        critical_path=_hops(paths[0], design) if paths else (),
        seeds={seed: _clock(each)[1] for seed, each in reports.items()},
    )


def _hops(path: Sequence[Mapping[str, Any]], design: MappedDesign) -> tuple[Hop, ...]:
    end = design.block_of(path[-1]["to"]["cell"])
    signals = design.signals
    hops = []
    for piece in path:
        cell = piece["to"]["cell"]
        block = design.block_of(cell)
        if block == TOP_BLOCK and piece["type"] in ("logic", "routing") and end != PORT_BLOCK:
            # Logic that is named after a port of the design goes with the register it leads to.
            block = end
        delay = round(float(piece["delay"]), 3)
        is_end = piece["type"] == "setup"
        net = signals.register_name(cell) if is_end else signals.name(piece.get("net", ""))
        hops.append(Hop(piece["type"], delay, block, cell, net))
    return tuple(hops)
