"""The commands ``monitor`` and ``watch``: circuits that watch a formula of temporal logic."""

import argparse
from pathlib import Path
from typing import Any

from trilut.commands.options import add_command, add_header, add_json, add_net, print_result

__all__ = ["add_monitor", "add_watch"]


def add_monitor(commands: Any) -> None:
    """Add the command ``monitor``."""
    parser = add_command(
        commands,
        "monitor",
        _monitor,
        "compile a formula of temporal logic into a three-valued circuit with state",
        'trilut monitor "always[0,1000](x >= 0.7 -> eventually[0,5] y >= 0.5)" '
        "--features x:8,y:8 -o net.trilut",
    )
    parser.add_argument(
        "formula",
        metavar="FORMULA",
        help="not, and, or, ->, once, historically, since, eventually, always, until; windows in "
        "steps as in always[0,10], and atoms as in x >= 0.7",
    )
    parser.add_argument(
        "--features",
        metavar="LIST",
        required=True,
        help="NAME, NAME:BITS or NAME:BITS:LOWEST..HIGHEST, with commas between; one bit and 0..1 "
        "unless said",
    )
    parser.add_argument(
        "-o", "--output", metavar="NET", type=Path, help="netlist file to write; default: none"
    )
    parser.add_argument(
        "--mode",
        choices=["delay", "early"],
        default="delay",
        help="delay: at each step the verdict about the step one horizon before; early: at each "
        "step what is known about step 0",
    )
    parser.add_argument(
        "--period",
        metavar="TIME",
        help="from one sample to the next, as in 10ms, for windows as in always[0,2s]",
    )
    parser.add_argument("--name", metavar="TEXT", default="monitor", help="name of the netlist")
    add_json(parser)


def _monitor(args: argparse.Namespace) -> None:
    from trilut.app.monitor import monitor_file
    from trilut.report.monitor import monitor_facts, monitor_rows
    from trilut.temporal import Mode

    monitor = monitor_file(
        args.formula,
        args.features,
        args.output,
        mode=Mode(args.mode),
        period=args.period,
        name=args.name,
    )
    facts = monitor_facts(monitor)
    print_result(args, args.name, monitor_rows(facts), facts)


def add_watch(commands: Any) -> None:
    """Add the command ``watch``."""
    parser = add_command(
        commands,
        "watch",
        _watch,
        "run a monitor over a recorded trace, a row a step",
        "trilut watch net.trilut trace.csv -o verdicts.csv",
    )
    add_net(parser)
    parser.add_argument(
        "trace",
        metavar="FILE",
        help="table with a column for each feature; an empty cell is a missing sample; - is stdin",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="table of verdicts to write; default: stdout"
    )
    add_header(parser)


def _watch(args: argparse.Namespace) -> None:
    from trilut.app.console import talk
    from trilut.app.monitor import watch_file
    from trilut.circuit.format import load_circuit
    from trilut.circuit.sequential import SequentialNetlist
    from trilut.errors import NetlistError

    netlist = load_circuit(args.net)
    if not isinstance(netlist, SequentialNetlist):
        raise NetlistError(f"Netlist {netlist.name!r} has no state, so it watches nothing")
    watched = watch_file(netlist, args.trace, args.output, header=args.header)
    talk(
        f"{watched.steps} steps: {watched.true} true, {watched.false} false, "
        f"{watched.unknown} unknown"
    )
