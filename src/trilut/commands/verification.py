"""The command that checks hardware against its netlist."""

import argparse
from pathlib import Path
from typing import Any

from trilut.commands.hardware_options import add_pipeline, hardware_options
from trilut.commands.options import (
    add_command,
    add_json,
    add_net,
    positive,
    print_result,
    seed,
)
from trilut.verify.result import ALL, Level

__all__ = ["add_verify"]


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
    add_pipeline(parser)
    parser.add_argument(
        "--rtl",
        metavar="FILE",
        type=Path,
        help="Verilog that is there, changed or not, with the manifest that 'trilut verilog' wrote "
        "beside it, or its directory; default: make it anew",
    )
    parser.add_argument(
        "--level",
        metavar="LEVEL,…",
        type=_levels,
        help="rtl (simulation), formal (proof), mapped (simulation after synthesis), bitstream "
        "(simulation of what an iCE40's bitstream does), or all; default: rtl, and formal up to "
        "10,000 gates",
    )
    parser.add_argument(
        "--target",
        metavar="NAME",
        default="ecp5",
        help="part of level mapped; one of the iCE40 also of level bitstream",
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


def _verify(args: argparse.Namespace) -> int:
    from trilut.app.verify import verify_file
    from trilut.report.verification import level_rows, verification_document

    result = verify_file(
        args.net,
        output=args.output,
        data=args.data,
        levels=args.level,
        options=hardware_options(args),
        rtl=args.rtl,
        target=args.target,
        num_random=args.random,
        seed=args.seed,
        simulator=args.simulator,
    )
    title = f"{args.net.name}: hardware against netlist"
    print_result(args, title, level_rows(result), verification_document(result))
    return 0 if result.passed else 1
