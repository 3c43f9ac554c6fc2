"""Commands that turn netlists into hardware."""

import argparse
import sys
from pathlib import Path
from typing import Any

import trilut
from trilut.commands.options import (
    add_command,
    add_hardware_options,
    add_json,
    add_net,
    add_output,
    number_or_auto,
    positive,
    print_result,
)
from trilut.errors import TrilutError

__all__ = [
    "add_optimize",
    "add_synth",
    "add_verify",
    "add_verilog",
]


def add_optimize(commands: Any) -> None:
    """Add the command ``optimize``."""
    parser = add_command(
        commands,
        "optimize",
        _optimize,
        "write a smaller netlist with the same outputs",
        "trilut optimize build/run/net.trilut -o build/small.trilut",
    )
    add_net(parser)
    parser.add_argument(
        "-o", "--output", metavar="NET", type=Path, required=True, help="netlist file to write"
    )
    parser.add_argument(
        "--lossy",
        action="store_true",
        help="also drop behaviour that no training sample shows, and report what that costs",
    )
    parser.add_argument(
        "--feature-bits",
        metavar="N|auto",
        type=number_or_auto,
        help="narrower features; auto: the fewest bits that lose at most 0.1 pp in validation",
    )
    add_json(parser)


def _optimize(args: argparse.Namespace) -> None:
    from trilut.flow import optimize_file

    facts = optimize_file(args.net, args.output, lossy=args.lossy, feature_bits=args.feature_bits)
    print_result(args, str(args.output), {key: str(value) for key, value in facts.items()}, facts)


def add_verilog(commands: Any) -> None:
    """Add the command ``verilog``."""
    parser = add_command(
        commands,
        "verilog",
        _verilog,
        "write Verilog for a netlist",
        "trilut verilog build/run/net.trilut -o build/rtl",
    )
    add_net(parser)
    add_output(parser, "the Verilog file")
    add_hardware_options(parser)
    parser.add_argument(
        "--input",
        choices=["features", "trits"],
        help="what enters; default: features if the netlist has an encoder",
    )
    parser.add_argument("--top", metavar="NAME", default="trilut_top", help="name of the module")
    parser.add_argument(
        "--no-optimize", action="store_true", help="build every gate of the netlist as it is"
    )
    parser.add_argument(
        "--axi",
        metavar="BITS",
        type=positive,
        help="AXI4-Streams at both ends, with input beats of so many bits, a multiple of 8",
    )
    parser.add_argument(
        "--sums",
        choices=["generic", "carry", "ecp5", "xilinx"],
        default="generic",
        help="what adds the trits: any logic, or the carry chains of a family",
    )
    parser.add_argument("--scores", action="store_true", help="a port with the class scores")
    parser.add_argument(
        "--margin-port", action="store_true", help="a port that sets the abstention margin"
    )
    parser.add_argument(
        "--logic-only",
        action="store_true",
        help="a combinational module of the gates alone, trits in and out",
    )
    parser.add_argument(
        "--format",
        choices=["verilog", "rtlil", "blif", "blif-mv"],
        default="verilog",
        help="language; blif and blif-mv hold the gates only",
    )
    add_json(parser)


def _verilog(args: argparse.Namespace) -> None:
    from trilut.flow import write_blif
    from trilut.hdl import DesignFormat, InputKind, write_logic, write_verilog

    if args.format in ("blif", "blif-mv"):
        path = write_blif(args.net, args.output, args.format, top=args.top)
        print_result(args, args.format, {"file": str(path)}, {"file": str(path)})
        return
    if args.logic_only:
        path = write_logic(
            trilut.load(args.net), args.output, top=args.top, optimized=not args.no_optimize
        )
        print_result(args, "logic", {"file": str(path)}, {"file": str(path)})
        return
    if args.axi is not None and args.axi % 8:
        raise TrilutError(f"Beats of an AXI stream are whole bytes, not {args.axi} bits")
    design = write_verilog(
        trilut.load(args.net),
        args.output,
        top=args.top,
        pipeline=args.pipeline,
        input_kind=InputKind(args.input) if args.input else None,
        optimized=not args.no_optimize,
        target=args.sums,
        scores=args.scores,
        margin_port=args.margin_port,
        axi_beat_bits=args.axi,
        design_format=DesignFormat[args.format.upper()],
    )
    facts = {
        "file": str(design.path),
        "top": design.top,
        "input": str(design.input_kind),
        "latency_cycles": design.latency,
    }
    print_result(args, "Verilog", {key: str(value) for key, value in facts.items()}, facts)


def add_verify(commands: Any) -> None:
    """Add the command ``verify``."""
    parser = add_command(
        commands,
        "verify",
        _verify,
        "simulate the Verilog of a netlist against the reference, bit for bit",
        "trilut verify build/run/net.trilut",
    )
    add_net(parser)
    add_hardware_options(parser)
    parser.add_argument("--data", metavar="NAME", help="data set; default: the trained one")
    parser.add_argument(
        "--random", metavar="N", type=positive, default=10_000, help="number of random vectors"
    )
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="seed of the stimulus")
    parser.add_argument(
        "--simulator",
        choices=["verilator", "icarus"],
        default="verilator",
        help="Verilog simulator",
    )
    parser.add_argument(
        "-o", "--output", metavar="DIR", type=Path, help="directory for the log; default: none kept"
    )
    add_json(parser)


def _verify(args: argparse.Namespace) -> int:
    from trilut.flow import verify_file

    result = verify_file(
        args.net,
        output=args.output,
        pipeline=args.pipeline,
        data=args.data,
        num_random=args.random,
        seed=args.seed,
        simulator=args.simulator,
    )
    from trilut.summary import verification_rows

    print_result(args, f"{args.net.name}: RTL against reference", verification_rows(result), result)
    return 0 if result["passed"] else 1


def add_synth(commands: Any) -> None:
    """Add the command ``synth``."""
    parser = add_command(
        commands,
        "synth",
        _synth,
        "synthesise, place and route a netlist",
        "trilut synth build/run/net.trilut --target ecp5 -o build/synth",
    )
    parser.add_argument("net", metavar="NET", type=Path, nargs="?", help="netlist file")
    parser.add_argument("--list", action="store_true", help="list the targets and stop")
    parser.add_argument("--target", metavar="NAME", default="ecp5", help="target name or file")
    parser.add_argument(
        "--pipeline",
        metavar="N|auto",
        type=number_or_auto,
        default=2,
        help="layers between registers; auto: the most that meet the frequency",
    )
    parser.add_argument("--seed", metavar="N", type=int, default=1, help="seed of the placer")
    parser.add_argument(
        "--frequency", metavar="MHZ", type=float, default=200.0, help="clock frequency to aim at"
    )
    parser.add_argument(
        "-o", "--output", metavar="DIR", type=Path, help="directory for logs and reports"
    )
    add_json(parser)


def _synth(args: argparse.Namespace) -> int | None:
    from trilut.synth import target_names

    if args.list:
        print_result(args, "targets", dict.fromkeys(target_names(), ""), list(target_names()))
        return None
    if args.net is None or args.output is None:
        print("trilut synth: error: NET and -o DIR are required", file=sys.stderr)
        return 2
    from trilut.flow import synthesize_file
    from trilut.summary import synthesis_rows

    result = synthesize_file(
        args.net,
        args.output,
        target=args.target,
        pipeline=args.pipeline,
        frequency=args.frequency,
        seed=args.seed,
    )
    print_result(args, f"{args.net.name} on {args.target}", synthesis_rows(result), result)
    return None
