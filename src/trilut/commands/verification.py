"""The command that checks hardware against its netlist."""

import argparse
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from trilut.commands.hardware_options import (
    add_hardware_options,
    add_rtl,
    add_target,
    hardware_options,
)
from trilut.commands.options import (
    add_command,
    add_json,
    add_net,
    positive,
    print_result,
    seed,
)
from trilut.errors import TrilutError
from trilut.hdl.options import HardwareOptions
from trilut.verify.result import ALL, Level

__all__ = ["add_verify"]


class InterfaceKind(StrEnum):
    """How a design without a manifest is connected."""

    STREAM = "stream"
    COMBINATIONAL = "combinational"
    LOGIC = "logic"


def add_verify(commands: Any) -> None:
    """Add the command ``verify``."""
    parser = add_command(
        commands,
        "verify",
        _verify,
        "check that the hardware of a netlist computes what the netlist says",
        "trilut verify build/run/net.trilut --level rtl,formal",
    )
    add_net(parser)
    add_target(parser, "level mapped maps to it, and one of the iCE40 is that of level bitstream")
    add_hardware_options(parser)
    add_rtl(parser)
    parser.add_argument(
        "--interface",
        choices=[kind.value for kind in InterfaceKind],
        help="with --rtl of a file without a manifest: stream (clock, handshake), combinational "
        "(the same vectors and results without a clock), or logic (trits in and out of the gates "
        "alone, without a clock); default: stream",
    )
    parser.add_argument(
        "--latency",
        metavar="N",
        type=positive,
        help="with --rtl of a stream without a manifest: clock cycles from a vector to its result; "
        "default: those of the design that the options make",
    )
    parser.add_argument(
        "--level",
        metavar="LEVEL,…",
        type=_levels,
        help="rtl (simulation), formal (proof), mapped (simulation after synthesis), bitstream "
        "(simulation of what an iCE40's bitstream does), or all; default: rtl, and formal up to "
        "10,000 gates",
    )
    parser.add_argument("--data", metavar="NAME", help="data set; default: the trained one")
    parser.add_argument(
        "--random", metavar="N", type=positive, default=10_000, help="number of random vectors"
    )
    parser.add_argument("--seed", metavar="N", type=seed, default=0, help="seed of the stimulus")
    parser.add_argument(
        "--simulator",
        choices=["verilator", "icarus"],
        default="verilator",
        help="Verilog simulator",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        type=Path,
        help="directory for verification.json and the logs; default: none kept, unless a tool "
        "fails",
    )
    add_json(parser)


def _levels(text: str) -> tuple[str, ...]:
    """Read a list of levels."""
    levels = tuple(text.split(","))
    for level in levels:
        if level not in (*Level, ALL):
            raise argparse.ArgumentTypeError(
                f"{level!r} is not a level; there are {', '.join(Level)} and {ALL}"
            )
    return levels


def _described(args: argparse.Namespace) -> tuple[HardwareOptions, dict[str, Any]]:
    """Return what shapes the hardware, and what else is said of a design that is there.

    Raises
    ------
    TrilutError
        If two options do not go together.
    """
    options, kind = hardware_options(args), args.interface
    given = [f"--{name}" for name in ("interface", "latency") if getattr(args, name) is not None]
    if given and args.rtl is None:
        raise TrilutError(f"{' and '.join(given)} describe a file; give --rtl, too")
    if kind in (InterfaceKind.COMBINATIONAL, InterfaceKind.LOGIC) and args.latency is not None:
        raise TrilutError(f"A module with interface {kind!r} has no clock; leave out --latency")
    if kind == InterfaceKind.LOGIC:
        return replace(options, logic_only=True), {}
    return options, {"latency": args.latency, "clocked": kind != InterfaceKind.COMBINATIONAL}


def _verify(args: argparse.Namespace) -> int:
    from trilut.app.verify import verify_file
    from trilut.report.verification import level_rows, verification_document

    options, described = _described(args)
    result = verify_file(
        args.net,
        options,
        output=args.output,
        data=args.data,
        levels=args.level,
        rtl=args.rtl,
        **described,
        target=args.target,
        num_random=args.random,
        seed=args.seed,
        simulator=args.simulator,
    )
    title = f"{args.net.name}: hardware against netlist"
    print_result(args, title, level_rows(result), verification_document(result))
    return 0 if result.passed else 1
