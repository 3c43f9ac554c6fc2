"""Commands that turn netlists into hardware."""

import argparse
import sys
from pathlib import Path
from typing import Any

import trilut
from trilut.commands.exploring import compare_files
from trilut.commands.options import (
    PIPELINE,
    above_0,
    add_command,
    add_hardware_options,
    add_json,
    add_net,
    add_output,
    number_or_auto,
    positive,
    print_result,
    print_tables,
    seed,
)
from trilut.errors import TrilutError
from trilut.text import one_line

__all__ = [
    "add_optimize",
    "add_synth",
    "add_verilog",
]


# As in trilut.hdl, which cannot be asked here: `--help` must not wait for Amaranth.
_SUMS = ("generic", "carry", "ecp5", "xilinx")


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
    parser.add_argument(
        "--drop-features", action="store_true", help="leave out features that nothing looks at"
    )
    add_json(parser)


def _optimize(args: argparse.Namespace) -> None:
    from trilut.app.optimize import optimize_file

    facts = optimize_file(
        args.net,
        args.output,
        lossy=args.lossy,
        feature_bits=args.feature_bits,
        unread=not args.drop_features,
    )
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
    _add_axi(parser)
    parser.add_argument(
        "--sums",
        choices=_SUMS,
        default=_SUMS[0],
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
    parser.add_argument(
        "--with-testbench",
        action="store_true",
        help="also write DIR/testbench, where 'make' simulates the design with cocotb",
    )
    add_json(parser)


def _add_axi(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--axi",
        "--beat-bits",
        dest="axi",
        metavar="BITS",
        type=positive,
        help="AXI4-Streams at both ends, with input beats of so many bits, a multiple of 8",
    )
    parser.add_argument(
        "--no-missing",
        action="store_true",
        help="with --axi: packets without presence bits, as all features are always there",
    )


def _axi_settings(args: argparse.Namespace) -> dict[str, Any]:
    """Return what the options of AXI4-Streams say, as arguments of ``write_verilog``."""
    if args.axi is not None and args.axi % 8:
        raise TrilutError(f"Beats of an AXI stream are whole bytes, not {args.axi} bits")
    if args.no_missing and args.axi is None:
        raise TrilutError("Only packets can leave out the presence bits; give --axi, too")
    return {"axi_beat_bits": args.axi, "presence_bits": not args.no_missing}


def _refuse_hardware(args: argparse.Namespace, reason: str) -> None:
    """Raise a TrilutError if there are options of hardware where the gates alone are written."""
    shaped = {
        "--format rtlil": args.format == "rtlil",
        "--input features": args.input == "features",
        "--pipeline": args.pipeline != PIPELINE,
        "--axi": args.axi is not None,
        "--no-missing": args.no_missing,
        "--sums": args.sums != _SUMS[0],
        "--scores": args.scores,
        "--margin-port": args.margin_port,
        "--with-testbench": args.with_testbench,
    }
    given = [option for option, is_given in shaped.items() if is_given]
    if given:
        raise TrilutError(
            f"With {reason} only the gates are written, without {', '.join(given)}; leave out one "
            "or the other"
        )


def _verilog(args: argparse.Namespace) -> None:
    from trilut.app.export import write_bench, write_blif

    if args.format in ("blif", "blif-mv"):
        _refuse_hardware(args, f"--format {args.format}")
        path = write_blif(
            args.net, args.output, args.format, top=args.top, optimized=not args.no_optimize
        )
        print_result(args, args.format, {"file": str(path)}, {"file": str(path)})
        return
    from trilut.hdl import DesignFormat, InputKind, write_logic, write_verilog

    if args.logic_only:
        _refuse_hardware(args, "--logic-only")
        path = write_logic(
            trilut.load(args.net), args.output, top=args.top, optimized=not args.no_optimize
        )
        print_result(args, "logic", {"file": str(path)}, {"file": str(path)})
        return
    interface = _axi_settings(args)
    if args.with_testbench and (args.axi or args.margin_port or args.format != "verilog"):
        raise TrilutError(
            "A test bench drives plain streams of a Verilog design; "
            "leave out --axi, --margin-port and --format"
        )
    net = trilut.load(args.net)
    design = write_verilog(
        net,
        args.output,
        top=args.top,
        pipeline=args.pipeline,
        input_kind=InputKind(args.input) if args.input else None,
        optimized=not args.no_optimize,
        target=args.sums,
        scores=args.scores,
        margin_port=args.margin_port,
        **interface,
        design_format=DesignFormat[args.format.upper()],
    )
    facts = {
        "file": str(design.path),
        "top": design.top,
        "input": str(design.input_kind),
        "latency_cycles": design.latency,
    }
    if args.with_testbench:
        facts["testbench"] = str(write_bench(net, design, args.output / "testbench"))
    print_result(args, "Verilog", {key: str(value) for key, value in facts.items()}, facts)


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
    parser.add_argument(
        "--compare",
        metavar="FILE",
        type=Path,
        nargs="+",
        help="print files synthesis.json side by side, with ratios to the first, and stop",
    )
    parser.add_argument(
        "--target",
        metavar="NAME,…",
        action="append",
        type=_target_names,
        help="targets, several at once; asic:LIBRARY for standard cells; default: ecp5",
    )
    parser.add_argument(
        "--target-file",
        metavar="FILE.toml",
        action="append",
        default=[],
        help="a target of your own, as docs/synthesis.md describes it",
    )
    parser.add_argument(
        "--liberty", metavar="FILE", type=Path, help="standard cells of an ASIC, .lib or .lib.gz"
    )
    parser.add_argument(
        "--pipeline",
        metavar="N|auto",
        type=number_or_auto,
        default=2,
        help="layers between registers; auto: the most that meet the frequency",
    )
    _add_axi(parser)
    parser.add_argument("--seed", metavar="N", type=seed, default=1, help="seed of the placer")
    parser.add_argument(
        "--seeds", metavar="N", type=positive, default=1, help="number of seeds, from --seed on"
    )
    parser.add_argument(
        "--frequency", metavar="MHZ", type=above_0, default=200.0, help="clock frequency to aim at"
    )
    parser.add_argument(
        "--timeout", metavar="S", type=above_0, default=600.0, help="seconds that a step may take"
    )
    parser.add_argument(
        "--no-cache", action="store_true", help="run the tools even if they did all this before"
    )
    parser.add_argument(
        "-o", "--output", metavar="DIR", type=Path, help="directory for logs and reports"
    )
    add_json(parser)


def _target_names(text: str) -> list[str]:
    return text.split(",")


def _synth(args: argparse.Namespace) -> int | None:
    if args.list:
        _list_targets(args)
        return None
    if args.compare is not None:
        compare_files(args, args.compare)
        return None
    if args.net is None or args.output is None:
        print("trilut synth: error: NET and -o DIR are required", file=sys.stderr)
        return 2
    from trilut.app.synth import synthesize_file, synthesize_targets
    from trilut.synth import Cache

    targets = [name for names in args.target or [] for name in names]
    targets += [_target_file(name) for name in args.target_file]
    settings = {
        "pipeline": args.pipeline,
        "hardware": _axi_settings(args),
        "frequency": args.frequency,
        "seed": args.seed,
        "num_seeds": args.seeds,
        "liberty": args.liberty,
        "timeout": args.timeout,
        "cache": None if args.no_cache else Cache(),
    }
    if len(targets) < 2:
        target = targets[0] if targets else "ecp5" if args.liberty is None else "asic"
        report = synthesize_file(args.net, args.output, target=target, **settings)
        print_tables(args, report.tables, report.document)
        return None
    reports = synthesize_targets(args.net, args.output, targets, **settings)
    return _print_reports(args, reports)


def _target_file(name: str) -> str:
    if not name.endswith(".toml"):
        raise TrilutError(f"Target file {name!r} is not named NAME.toml")
    return name


def _list_targets(args: argparse.Namespace) -> None:
    from trilut.synth import load_target, target_names

    targets = [load_target(name) for name in target_names()]
    rows = {
        target.name: f"{target.title}; {' and '.join(target.programs)}; timing: {target.timing}"
        for target in targets
    }
    document = [
        {
            "name": target.name,
            "title": target.title,
            "device": target.device,
            "tools": list(target.programs),
            "timing": target.timing,
        }
        for target in targets
    ]
    print_result(args, "targets", rows, document)


def _print_reports(args: argparse.Namespace, reports: dict[str, Any]) -> int:
    """Print the reports of several targets, then why others failed; return the exit status."""
    errors = {name: item for name, item in reports.items() if isinstance(item, TrilutError)}
    done = {name: item for name, item in reports.items() if name not in errors}
    tables = [table for report in done.values() for table in report.tables]
    documents = {name: report.document for name, report in done.items()}
    print_tables(args, tables, documents)
    for name, error in errors.items():
        print(f"trilut: error: {name}: {one_line(str(error))}", file=sys.stderr)
    return 1 if errors else 0
