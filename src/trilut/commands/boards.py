"""Commands for boards: building for them, and talking to them."""

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trilut
from trilut.commands.hardware_options import add_pipeline, add_trust, hardware_options
from trilut.commands.options import (
    above_0,
    add_command,
    add_json,
    positive,
    print_result,
    seed,
)
from trilut.commands.tapeout import (
    TINY_TAPEOUT,
    TITLE,
    add_tapeout_options,
    check_tapeout_options,
    tinytapeout,
)
from trilut.text import visible

if TYPE_CHECKING:
    from trilut.boards import BoardBuild

__all__ = ["add_board", "add_host"]

_SIMULATED = "sim"
# As in trilut.boards.protocol, which needs numpy; `--help` does not.
_BAUD = 115_200


def add_board(commands: Any) -> None:
    """Add the command ``board``."""
    parser = add_command(
        commands,
        "board",
        _board,
        "build a bitstream for a board, simulate one, or write a project for a chip",
        "trilut board icebreaker build/run/net.trilut -o build/icebreaker --program; "
        "trilut board tinytapeout build/run/net.trilut -o build/chip --author 'Ada Lovelace'",
    )
    parser.add_argument(
        "name",
        metavar="NAME",
        nargs="?",
        help=f"a board of --list, a file BOARD.toml, or {_SIMULATED!r}: a simulated board behind a "
        f"serial port, until Ctrl-C; {TINY_TAPEOUT!r} is a chip and no board",
    )
    parser.add_argument("net", metavar="NET", type=Path, nargs="?", help="netlist file")
    parser.add_argument("--list", action="store_true", help="list the boards and stop")
    parser.add_argument(
        "-o", "--output", metavar="DIR", type=Path, help="directory; default: build/NAME"
    )
    parser.add_argument("--program", action="store_true", help="load the bitstream into the board")
    parser.add_argument(
        "--baud", metavar="N", type=positive, default=_BAUD, help="bits per second of the line"
    )
    parser.add_argument(
        "--divide",
        metavar="N",
        type=int,
        choices=[1, 2, 4, 8, 16],
        default=1,
        help="divide the board's clock, for a net that is slower than it",
    )
    parser.add_argument("--seed", metavar="N", type=seed, default=1, help="seed of the placer")
    add_pipeline(parser)
    add_trust(parser)
    add_json(parser)
    add_tapeout_options(parser)


def _board(args: argparse.Namespace) -> int | None:
    if args.list:
        from trilut.boards import BOARDS

        titles = {name: board.title for name, board in BOARDS.items()} | {TINY_TAPEOUT: TITLE}
        print_result(args, "boards", titles, titles)
        return None
    if args.name is None or args.net is None:
        print("trilut board: error: NAME and NET are required", file=sys.stderr)
        return 2
    check_tapeout_options(args)
    netlist = trilut.load(args.net)
    if args.name == TINY_TAPEOUT:
        tinytapeout(args, netlist)
        return None
    if args.name == _SIMULATED:
        _simulate(args, netlist)
        return None
    from trilut.app.console import stages
    from trilut.boards import build_board, find_board, program_board

    board = find_board(args.name)
    with stages() as show:
        stage = show.start(board.name)
        build = build_board(
            netlist,
            board,
            args.output or Path("build") / board.name,
            baud=args.baud,
            outputs=hardware_options(args).head_outputs,
            pipeline=args.pipeline,
            divide=args.divide,
            seed=args.seed,
            progress=stage.step,
        )
        stage.finish(str(build.bitstream or build.directory))
    print_result(args, f"{args.net.name} on {board.title}", _rows(build), build)
    if args.program:
        program_board(build)
    return None


def _rows(build: "BoardBuild") -> dict[str, str]:
    rows = {"clock": f"{build.clock_mhz:g} MHz"}
    if build.fmax_mhz is not None:
        rows["Fmax"] = f"{build.fmax_mhz:.1f} MHz, placed and routed"
    rows |= {
        kind: f"{count} of {build.available[kind]} ({count / build.available[kind]:.0%})"
        for kind, count in build.used.items()
    }
    rows["latency"] = f"{build.latency} cycles, {build.latency / build.clock_mhz:.2f} µs"
    rows["line"] = f"{build.baud} baud, 8N1"
    if build.bitstream is None:
        rows["make the bitstream"] = f"sh build_top.sh, in {build.directory}"
    rows["program with"] = shlex.join(build.program)
    return rows


def _simulate(args: argparse.Namespace, netlist: trilut.Netlist) -> None:
    import signal
    import tempfile

    from trilut.app.console import stages, talk
    from trilut.boards import build_simulation

    with tempfile.TemporaryDirectory(prefix="trilut-") as directory:
        with stages() as show:
            stage = show.start("build")
            board = build_simulation(
                netlist,
                args.output or Path(directory),
                outputs=hardware_options(args).head_outputs,
                pipeline=args.pipeline,
            )
            stage.finish("the board is ready")
        with board.start() as live:
            print_result(args, "simulated board", {"port": live.port}, {"port": live.port})
            sys.stdout.flush()
            talk(f"Talk to it, for example with 'trilut host {live.port} status'; Ctrl-C ends it")
            signal.pause()


def add_host(commands: Any) -> None:
    """Add the command ``host``."""
    parser = add_command(
        commands,
        "host",
        _missing_action,
        "talk to a board over its serial port",
        "trilut host /dev/ttyUSB1 classify flowers.csv --check net.trilut -o answers.csv",
    )
    parser.add_argument("port", metavar="PORT", help="serial port, for example /dev/ttyUSB1")
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    classify = add_command(
        actions,
        "classify",
        _classify,
        "classify the rows of a table",
        "trilut host /dev/ttyUSB1 classify flowers.csv --check net.trilut -o answers.csv",
    )
    classify.add_argument(
        "table", metavar="FILE.csv", type=Path, help="table with a column for each feature"
    )
    net = classify.add_mutually_exclusive_group(required=True)
    net.add_argument(
        "--net", metavar="NET", type=Path, help="netlist that the board was built from"
    )
    net.add_argument(
        "--check", metavar="NET", type=Path, help="the same, and compare with the simulator"
    )
    classify.add_argument(
        "-o", "--output", metavar="OUT.csv", type=Path, help="table of answers; default: stdout"
    )
    status = add_command(
        actions,
        "status",
        _status,
        "show what is on the board, and its counters",
        "trilut host /dev/ttyUSB1 status",
    )
    for action in (classify, status):
        action.add_argument(
            "--baud", metavar="N", type=positive, default=_BAUD, help="bits per second of the line"
        )
        action.add_argument(
            "--retries", metavar="N", type=positive, default=8, help="repeats of a request"
        )
        action.add_argument(
            "--timeout",
            metavar="S",
            type=above_0,
            default=1.0,
            help="seconds to wait for an answer",
        )
        add_json(action)


def _missing_action(args: argparse.Namespace) -> int:
    raise AssertionError("argparse asks for an action")


def _classify(args: argparse.Namespace) -> int:
    from trilut.app.console import stages, talk
    from trilut.boards import BoardLink, classify_table, to_csv

    netlist = trilut.load(args.check or args.net)
    options = {"baud": args.baud, "timeout": args.timeout, "retries": args.retries}
    with stages() as show, BoardLink(args.port, **options) as link:
        stage = show.start("classify")
        batch = classify_table(
            link,
            netlist,
            args.table,
            output=args.output,
            check=args.check is not None,
            progress=stage.update,
        )
        stage.finish(f"{len(batch.results)} rows")
    rows = {"rows": str(len(batch.results)), "repeated": str(sum(batch.troubles.values()))}
    rows |= {f"repeated: {reason}": str(count) for reason, count in batch.troubles.items()}
    if batch.mismatches is not None:
        rows["differ from the simulator"] = str(len(batch.mismatches))
    if args.output is not None or args.json:
        print_result(args, str(args.output or args.table), rows, batch)
    else:
        table = to_csv(netlist, batch.results)
        print(visible(table) if sys.stdout.isatty() else table, end="")
    for row in (batch.mismatches or [])[:1]:
        talk(f"Row {row + 1} is the first that the board and the simulator answer differently")
    return 1 if batch.mismatches else 0


def _status(args: argparse.Namespace) -> int:
    from trilut.boards import BoardLink

    options = {"baud": args.baud, "timeout": args.timeout, "retries": args.retries}
    with BoardLink(args.port, **options) as link:
        identity, status = link.identity, link.status()
    rows = {
        "netlist": f"{identity.digest}…",
        "features": f"{identity.num_features}, {identity.value_bytes} bytes each",
        "classes": str(identity.num_classes),
        "clock": f"{identity.clock_hz / 1e6:g} MHz",
        "self-test": "passed" if status.self_test_passed else "FAILED",
        "frames": str(status.frames),
        "latency": f"{status.latency} cycles" if status.latency else "nothing classified yet",
    }
    rows |= {
        f"rejected: {rejection.name.lower()}": str(n) for rejection, n in status.rejections.items()
    }
    rejections = {rejection.name.lower(): number for rejection, number in status.rejections.items()}
    document = {"identity": identity, "status": status, "rejections": rejections}
    print_result(args, args.port, rows, document)
    return 0 if status.self_test_passed else 1
