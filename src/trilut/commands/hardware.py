"""Commands that turn netlists into hardware."""

import argparse
import sys
from pathlib import Path
from typing import Any, get_args

from trilut.commands.exploration import compare_files
from trilut.commands.hardware_options import (
    add_hardware_options,
    add_rtl,
    add_target,
    hardware_options,
)
from trilut.commands.options import (
    above_0,
    add_command,
    add_json,
    add_net,
    add_output,
    number_or_auto,
    positive,
    print_result,
    print_tables,
    seed,
    tolerance,
)
from trilut.errors import TrilutError
from trilut.hdl.options import DEFAULT_TARGET, PORTABLE
from trilut.interchange.projects import PROJECTS
from trilut.text import one_line
from trilut.training.names import OutOfRange

__all__ = [
    "add_optimize",
    "add_synth",
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
    parser.add_argument(
        "--tolerance",
        metavar="E",
        type=tolerance,
        help="move thresholds apart, so that what is certain stays so if every feature is off by "
        "so much: 0.5 in its unit, or 2%% of its range",
    )
    parser.add_argument(
        "--out-of-range",
        choices=get_args(OutOfRange),
        help="take a value outside of what training saw as the nearest one, or as missing",
    )
    parser.add_argument(
        "--drop-features", action="store_true", help="leave out features that nothing looks at"
    )
    parser.add_argument(
        "--cover",
        metavar="WIRES",
        type=int,
        choices=range(2, 7),
        help="join gates to larger ones that read up to so many wires, 2 to 6; a trit is two",
    )
    add_json(parser)


def _optimize(args: argparse.Namespace) -> None:
    from trilut.app.optimize import optimize_file

    facts = optimize_file(
        args.net,
        args.output,
        lossy=args.lossy,
        feature_bits=args.feature_bits,
        tolerance=args.tolerance,
        out_of_range=args.out_of_range,
        unread=not args.drop_features,
        cover=args.cover,
    ).facts
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
    add_target(parser, f"{PORTABLE}: none, portable Verilog")
    add_hardware_options(parser)
    parser.add_argument(
        "--format",
        choices=["verilog", "rtlil"],
        default="verilog",
        help="language; others are those of trilut export",
    )
    parser.add_argument(
        "--with-testbench",
        action="store_true",
        help="also write DIR/testbench, where 'make' simulates the design with cocotb",
    )
    parser.add_argument(
        "--bus",
        choices=["axi-lite", "wishbone"],
        help="also write a module with registers that puts the design on a bus, and drivers",
    )
    parser.add_argument(
        "--project",
        metavar="TOOL,…",
        type=_project_names,
        default=[],
        help=f"also write project files, of {', '.join(PROJECTS)}",
    )
    add_json(parser)


def _project_names(text: str) -> list[str]:
    names = text.split(",")
    for name in names:
        if name not in PROJECTS:
            raise argparse.ArgumentTypeError(
                f"expected some of {', '.join(PROJECTS)}, got {one_line(name)!r}"
            )
    return names


def _verilog(args: argparse.Namespace) -> None:
    from trilut.app.export import write_bench, write_bus, write_projects
    from trilut.circuit.format import load_circuit
    from trilut.hdl import DesignFormat, write_verilog
    from trilut.synth.target import sums_of

    if args.logic_only:
        _refuse_around_gates(args)
    options = hardware_options(args)
    if args.with_testbench and (args.axi or args.margin_port or args.format != "verilog"):
        raise TrilutError(
            "A test bench drives plain streams of a Verilog design; "
            "leave out --axi, --margin-port and --format"
        )
    if args.bus and (args.axi or args.logic_only or args.format != "verilog"):
        raise TrilutError(
            "A peripheral is Verilog with plain streams inside; "
            "leave out --axi, --logic-only and --format"
        )
    design = write_verilog(
        load_circuit(args.net),
        args.output,
        options.for_part(sums_of(args.target)),
        design_format=DesignFormat[args.format.upper()],
    )
    facts = {
        "file": str(design.path),
        "sha256": design.sha256,
        "top": design.top,
        "input": str(design.interface.input_kind),
        "latency_cycles": design.interface.latency,
        "part_cells": list(design.part_cells),
    }
    rows = {key: str(value) for key, value in facts.items()}
    # A table would cut it anyway; all of it is in the JSON and in the manifest.
    rows |= {"sha256": f"{design.sha256[:16]}…", "part_cells": _part_cells(design)}
    if args.with_testbench:
        facts["testbench"] = rows["testbench"] = str(write_bench(design, args.output / "testbench"))
    if args.bus:
        files = [str(path) for path in write_bus(design, args.bus)]
        facts["bus"], rows["bus"] = files, "\n".join(files)
    if args.project:
        files = [str(path) for path in write_projects(design, args.project)]
        facts["project"], rows["project"] = files, "\n".join(files)
    print_result(args, "Verilog", rows, facts)


def _refuse_around_gates(args: argparse.Namespace) -> None:
    """Raise a TrilutError if something is asked for around the gates, where there is nothing."""
    given = ["--format rtlil"] if args.format == "rtlil" else []
    given += hardware_options(argparse.Namespace(**{**vars(args), "logic_only": False})).flags
    given += ["--with-testbench"] if args.with_testbench else []
    if given:
        raise TrilutError(
            f"With --logic-only only the gates are written, without {', '.join(given)}; leave out "
            "one or the other"
        )


def _part_cells(design: Any) -> str:
    """Say whether the text of a design needs a part's cells, and how to do without."""
    if not design.part_cells:
        return "none: portable Verilog"
    cells = ", ".join(design.part_cells)
    return f"{cells} of {design.options.sums}; portable Verilog: --target {PORTABLE}"


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
        help="targets, several at once; asic:LIBRARY for standard cells; default: "
        f"{DEFAULT_TARGET}",
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
    add_rtl(parser)
    add_hardware_options(parser, auto_pipeline=True)
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
    from trilut.synth import Cache, SynthesisSettings

    targets = [name for names in args.target or [] for name in names]
    targets += [_target_file(name) for name in args.target_file]
    options = hardware_options(args)
    settings = SynthesisSettings(
        frequency=args.frequency,
        seed=args.seed,
        num_seeds=args.seeds,
        liberty=args.liberty,
        timeout=args.timeout,
        cache=None if args.no_cache else Cache(),
    )
    pipeline = "auto" if args.pipeline == "auto" else None
    wanted: dict[str, Any] = {"rtl": args.rtl, "pipeline": pipeline, "settings": settings}
    if len(targets) < 2:
        default = DEFAULT_TARGET if args.liberty is None else "asic"
        target = targets[0] if targets else default
        report = synthesize_file(args.net, args.output, options, target=target, **wanted)
        print_tables(args, report.tables, report.document)
        return None
    reports = synthesize_targets(args.net, args.output, targets, options, **wanted)
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
