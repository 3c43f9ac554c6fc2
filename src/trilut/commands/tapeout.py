"""Chips on the command line: layouts, and what ``board tinytapeout`` asks for and prints."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trilut
from trilut.commands.hardware_options import add_pipeline, hardware_options
from trilut.commands.options import (
    above_0,
    add_command,
    add_json,
    add_net,
    add_output,
    print_result,
)
from trilut.errors import ToolError

if TYPE_CHECKING:
    from trilut.app.tapeout import TinyTapeout
    from trilut.synth.asic.layout import Layout

__all__ = [
    "TINY_TAPEOUT",
    "TITLE",
    "add_layout",
    "add_tapeout_options",
    "check_tapeout_options",
    "tinytapeout",
]

TINY_TAPEOUT = "tinytapeout"
"""What to call it among the boards."""
TITLE = "Tiny Tapeout, a project directory for a chip on sky130 or IHP sg13g2"
# As in trilut.boards.shuttle; `--help` loads no stage.
_SHUTTLES = ("sky130", "ihp")
_OPTIONS = ("shuttle", "author", "top", "tiles", "clock", "liberty")


def add_tapeout_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of Tiny Tapeout."""
    group = parser.add_argument_group(f"with {TINY_TAPEOUT}")
    group.add_argument("--shuttle", choices=_SHUTTLES, help="process; default: sky130")
    group.add_argument("--author", metavar="TEXT", help="whose project it is")
    group.add_argument(
        "--top", metavar="NAME", help="top module, tt_um_…; default: made of the netlist's name"
    )
    group.add_argument(
        "--tiles", metavar="WxH", help="block of tiles; default: the smallest that fits"
    )
    group.add_argument(
        "--clock", metavar="MHZ", type=above_0, help="frequency of the clock; default: 10"
    )
    group.add_argument(
        "--liberty",
        metavar="FILE",
        type=Path,
        help="standard cells of the process, with delays; needed for ihp",
    )


def check_tapeout_options(args: argparse.Namespace) -> None:
    """Refuse options that do not go with the board.

    Raises
    ------
    ToolError
        If one is given for another board, or a bitstream is to be loaded into a chip.
    """
    if args.name == TINY_TAPEOUT:
        if args.program:
            raise ToolError("A chip is made and not programmed; leave out --program")
        return
    for option in _OPTIONS:
        if getattr(args, option) is not None:
            raise ToolError(f"Only the board {TINY_TAPEOUT!r} takes --{option}")


def tinytapeout(args: argparse.Namespace, netlist: trilut.Netlist) -> None:
    """Write a Tiny Tapeout project, and say what it is."""
    from trilut.app.console import stages, talk
    from trilut.app.tapeout import make_tinytapeout

    with stages() as show:
        stage = show.start(TINY_TAPEOUT)
        project = make_tinytapeout(
            netlist,
            args.output or Path("build") / TINY_TAPEOUT,
            shuttle=args.shuttle or "sky130",
            top=args.top,
            author=args.author or "",
            tiles=args.tiles,
            clock_mhz=args.clock or 10.0,
            liberty=args.liberty,
            progress=stage.step,
        )
        stage.finish(str(project.directory))
    if project.block.is_doubtful:
        talk(
            f"The cells take {project.block.utilization:.0%} of {project.block.tiles} tiles: "
            "above 40 % place and route may fail"
        )
    print_result(args, f"{args.net.name} on {project.process}", _rows(project), project)


def _rows(project: "TinyTapeout") -> dict[str, str]:
    block = project.block
    fmax = "not known: the cells come without delays"
    if project.fmax_mhz is not None:
        fmax = f"{project.fmax_mhz:.1f} MHz, cells alone"
    return {
        "top module": project.top,
        "author": project.author or "missing: put it into info.yaml, Tiny Tapeout asks for it",
        "cells": f"{project.cell_area:,.0f} µm², {project.flip_flops} of them flip-flops",
        "tiles": f"{block.tiles}, {block.area:,.0f} µm²",
        "utilisation": f"{block.utilization:.1%}, before clock tree and repair",
        "clock": f"{project.clock_mhz:g} MHz",
        "Fmax": fmax,
        "a sample": f"{project.packet_bytes} bytes in, result {project.latency} cycles later",
        "simulate": f"make, or make GATES=yes, in {project.directory / 'test'}",
    }


def add_layout(commands: Any) -> None:
    """Add the command ``layout``."""
    parser = add_command(
        commands,
        "layout",
        _layout,
        "place and route a netlist in standard cells of osu018, and draw it",
        "trilut layout build/run/net.trilut -o build/layout",
    )
    add_net(parser)
    add_output(parser, "the layout, its picture, its checks and all logs")
    add_pipeline(parser)
    parser.add_argument(
        "--frequency", metavar="MHZ", type=above_0, default=200.0, help="clock frequency to aim at"
    )
    parser.add_argument(
        "--timeout", metavar="S", type=above_0, default=3600.0, help="seconds that a step may take"
    )
    add_json(parser)


def _layout(args: argparse.Namespace) -> None:
    from trilut.app.layout import make_layout
    from trilut.synth import SynthesisSettings

    layout = make_layout(
        trilut.load(args.net),
        args.output,
        hardware_options(args),
        settings=SynthesisSettings(frequency=args.frequency, timeout=args.timeout),
    )
    rows = _layout_rows(layout, args.output)
    print_result(args, f"{args.net.name} in {layout.library}", rows, layout)


def _layout_rows(layout: "Layout", output: Path) -> dict[str, str]:
    broken = ", ".join(f"{count}× {rule}" for rule, count in layout.drc.items())
    match = "matches the netlist" if layout.is_matched else "does NOT match the netlist"
    rows = {
        "size": f"{layout.width_um:.1f} × {layout.height_um:.1f} µm, {layout.area_um2:,.0f} µm²",
        "cells": f"{layout.cells}, as abstracts: outlines and pins, no transistors",
        "wires": f"{layout.wire_mm:.1f} mm: "
        + ", ".join(f"{layer} {um / 1000:.1f}" for layer, um in layout.wires_um.items()),
        "DRC of wires and pins": f"NOT clean: {broken}" if broken else "clean",
        "LVS": f"the circuit read back {match}",
        "time": ", ".join(f"{step} {value:.0f} s" for step, value in layout.seconds.items()),
    }
    if (output / "layout.png").is_file():
        rows["picture"] = str(output / "layout.png")
    return rows
