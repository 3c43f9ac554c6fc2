# amaranth: UnusedElaboratable=no
# A tool can be missing before a design is used.
"""From a netlist to a board's bitstream."""

import itertools
import json
import os
import shlex
import struct
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amaranth.build.res import ResourceError
from amaranth.hdl import (
    ClockDomain,
    ClockSignal,
    DomainRenamer,
    Elaboratable,
    Module,
    ResetSignal,
    Signal,
)
from amaranth.lib.cdc import ResetSynchronizer
from amaranth.lib.io import Buffer

from trilut.boards.board import Board, Family
from trilut.boards.design import BoardDesign
from trilut.boards.protocol import DEFAULT_BAUD
from trilut.circuit.interface import HeadOutput
from trilut.circuit.netlist import Netlist
from trilut.errors import ToolError
from trilut.files import make_directory, read_bytes, write_atomically
from trilut.hdl.plan import LayerPlan
from trilut.tools import Tool, find_tool, run

__all__ = ["BoardBuild", "build_board", "program_board"]

_NAME = "top"
_REPORT = "report.json"


@dataclass(frozen=True, slots=True)
class BoardBuild:
    """What was built for a board.

    Parameters
    ----------
    board : str
        Its title.
    directory : Path
        Where all files are.
    bitstream : Path, optional
        The bitstream; None if the vendor's tools must make it.
    clock_mhz : float
        Frequency of the design's clock.
    fmax_mhz : float, optional
        The highest frequency after place and route.
    used, available : mapping
        Cells of each kind, as nextpnr counts them.
    latency : int
        Clock cycles of the classifier.
    baud : int
        Speed of the line.
    program : tuple of str
        The command that loads the bitstream.
    """

    board: str
    directory: Path
    bitstream: Path | None
    clock_mhz: float
    fmax_mhz: float | None
    used: Mapping[str, int]
    available: Mapping[str, int]
    latency: int
    baud: int
    program: tuple[str, ...]


def build_board(
    netlist: Netlist,
    board: Board,
    directory: str | Path,
    *,
    baud: int = DEFAULT_BAUD,
    outputs: Collection[HeadOutput] = (),
    pipeline: int = 2,
    divide: int = 1,
    seed: int = 1,
    timeout: float = 3600.0,
    progress: Callable[[str], None] | None = None,
) -> BoardBuild:
    """Build the bitstream of a netlist for a board.

    For a part whose tools are the vendor's, the Verilog, the constraints and the script for these
    tools are written.

    Parameters
    ----------
    netlist : Netlist
        A circuit with an encoder and a head.
    board : Board
        Where it shall run.
    directory : path
        Where all files go; made if necessary.
    baud : int
        Speed of the serial line.
    outputs : collection of HeadOutput
        What results have beside class, margin and abstention.
    pipeline : int
        Layers between registers.
    divide : int
        What the board's clock is divided by, a power of two, for a design that is slower than it.
    seed : int
        Seed of the placer.
    timeout : float
        Seconds that the tools may take.
    progress : callable, optional
        Called with the name of each step.

    Raises
    ------
    ToolError
        If a tool is missing or fails, or the clock is too fast for the design.
    NetlistError, TrilutError
        If the netlist or the speed of the line do not fit.
    """
    directory = Path(directory)
    if divide < 1 or divide & divide - 1:
        raise ValueError(f"A clock is divided by a power of two, not {divide}")
    progress = progress or (lambda step: None)
    tools = _find_tools(board.family)
    progress("design")
    platform = board.platform()
    clock_hz = platform.default_clk_frequency / divide
    design = BoardDesign(
        netlist,
        clock_hz=clock_hz,
        baud=baud,
        outputs=outputs,
        pipeline=pipeline,
        target=board.family.sums,
        layer_module=_layer_module,
    )
    platform.add_file("layers.v", design.layers_verilog())
    make_directory(directory)
    with _environment({"YOSYS": find_tool("yosys").command[0]}):
        plan = platform.prepare(
            _Top(design, divide), _NAME, **_overrides(board.family, clock_hz, seed)
        )
    for name, content in plan.files.items():
        write_atomically(directory / name, content)
    bitstream, fmax, used, available = None, None, {}, {}
    if tools:
        progress("synthesis, place and route")
        bitstream = _run_tools(board, tools, directory, timeout)
        report = json.loads(read_bytes(directory / _REPORT))
        fmax = _slowest_clock(report, board, divide)
        used = {kind: cells["used"] for kind, cells in report["utilization"].items()}
        available = {kind: cells["available"] for kind, cells in report["utilization"].items()}
    return BoardBuild(
        board=board.title,
        directory=directory,
        bitstream=bitstream,
        clock_mhz=clock_hz / 1e6,
        fmax_mhz=fmax,
        used={kind: count for kind, count in used.items() if count},
        available=available,
        latency=design.classifier.latency,
        baud=baud,
        program=(*board.programmer, str(bitstream or directory / f"{_NAME}.bit")),
    )


def program_board(build: BoardBuild, *, timeout: float = 600.0) -> None:
    """Load a bitstream into its board.

    Raises
    ------
    ToolError
        If the programmer is missing or fails, or the vendor's tools must make the bitstream first.
    """
    command = shlex.join(build.program)
    if build.bitstream is None:
        raise ToolError(
            f"There is no bitstream for {build.board} yet; make it with the vendor's tools in "
            f"{str(build.directory)!r}, then: {command}"
        )
    program, *arguments = build.program
    tool = find_tool(program, hint=f"install it and run: {command}")
    log = build.directory / "program.log"
    run(tool, arguments, step="program", log=log, cwd=Path.cwd(), timeout=timeout)


class _Top(Elaboratable):
    """A design on its platform: the pins of its line, LEDs, and its clock."""

    def __init__(self, design: BoardDesign, divide: int):
        self.design = design
        self.divide = divide

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        uart = platform.request("uart", 0, dir="-")
        m.submodules.rx = rx = Buffer("i", uart.rx)
        m.submodules.tx = tx = Buffer("o", uart.tx)
        m.d.comb += [self.design.rx.eq(rx.i), tx.o.eq(self.design.tx)]
        for index, (light, port) in enumerate(
            zip(self.design.lights, _leds(platform), strict=False)
        ):
            m.submodules[f"led_{index}"] = led = Buffer("o", port)
            m.d.comb += led.o.eq(light)
        if self.divide == 1:
            m.submodules.board = self.design
            return m
        counter = Signal(range(self.divide))
        clock = Signal()
        m.domains.divided = ClockDomain()
        reset = ResetSignal("sync", allow_reset_less=True)
        m.submodules.reset = ResetSynchronizer(reset, domain="divided")
        m.d.sync += counter.eq(counter + 1)
        # The highest bit is a flip-flop, so the clock has no glitches.
        m.d.comb += [clock.eq(counter[-1]), ClockSignal("divided").eq(clock)]
        platform.add_clock_constraint(clock, self.design.clock_hz)
        m.submodules.board = DomainRenamer("divided")(self.design)
        return m


def _leds(platform: Any) -> Iterator[Any]:
    """Give the ports of a board's LEDs."""
    for number in itertools.count():
        try:
            yield platform.request("led", number, dir="-")
        except ResourceError:
            break
    with suppress(ResourceError):
        led = platform.request("rgb_led", 0, dir="-")
        # Green is for the self-test, as it is the first.
        yield from (led.g, led.r, led.b)


def _layer_module(plan: LayerPlan) -> str:
    return f"layer_{plan.level}"


def _find_tools(family: Family) -> dict[str, Tool]:
    """Find the tools of a family, by the names of the variables in which its script wants them."""
    return {name.upper().replace("-", "_"): find_tool(name) for name in family.tools}


def _overrides(family: Family, clock_hz: float, seed: int) -> dict[str, str]:
    """Return what the tools are told beyond what the platform says."""
    if family is Family.XC7:
        return {}
    overrides = {
        # The platform's constraints come first; where it has none, this holds.
        "nextpnr_opts": f"--freq {clock_hz / 1e6:g} --seed {seed} --report {_REPORT} "
        "--timing-allow-fail"
    }
    if family is Family.ECP5:
        # Wide multiplexers would take several times the LUTs in sums and comparisons.
        overrides["synth_opts"] = "-nowidelut"
    return overrides


def _run_tools(board: Board, tools: Mapping[str, Tool], directory: Path, timeout: float) -> Path:
    """Run the platform's script, and return the bitstream."""
    bitstream = directory / f"{_NAME}{board.family.bitstream}"
    # What an earlier run left must not pass for this one's.
    for path in (bitstream, directory / _REPORT):
        path.unlink(missing_ok=True)
    run(
        Tool("The tools", ("sh",), {name: tool.command[0] for name, tool in tools.items()}),
        [f"build_{_NAME}.sh"],
        step="build",
        log=directory / "build.log",
        cwd=directory,
        timeout=timeout,
    )
    if board.dfu is None:
        return bitstream
    wrapped = bitstream.with_suffix(".dfu")
    write_atomically(wrapped, _with_dfu_suffix(read_bytes(bitstream), *board.dfu))
    return wrapped


def _with_dfu_suffix(data: bytes, vendor: int, product: int) -> bytes:
    """Append what tells a USB loader that a file is meant for it; see the DFU 1.1 specification."""
    any_device, version, length = 0xFFFF, 0x0100, 16
    data += struct.pack("<HHHH3sB", any_device, product, vendor, version, b"UFD", length)
    return data + struct.pack("<I", zlib.crc32(data) ^ 0xFFFFFFFF)


def _slowest_clock(report: Mapping[str, Any], board: Board, divide: int) -> float:
    """Return the lowest of the frequencies that the clocks reach, if none is too low."""
    for clock in report["fmax"].values():
        if clock["achieved"] < clock["constraint"]:
            raise ToolError(
                f"The design reaches {clock['achieved']:.1f} MHz on {board.title} after place and "
                f"route, but its clock has {clock['constraint']:.1f} MHz; divide the clock "
                f"(--divide {2 * divide}) or put registers after fewer layers (--pipeline 1)"
            )
    return min(float(clock["achieved"]) for clock in report["fmax"].values())


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set variables for a while: Amaranth finds Yosys by one."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
