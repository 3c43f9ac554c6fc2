"""The command line."""

import argparse
import errno
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

import trilut
from trilut import interrupt
from trilut.commands.boards import add_board, add_host
from trilut.commands.campaigns import add_campaign
from trilut.commands.engine import add_engine
from trilut.commands.exploration import add_explore, add_literature
from trilut.commands.hardware import add_optimize, add_synth, add_verilog
from trilut.commands.inspection import (
    add_compare,
    add_explorer,
    add_faults,
    add_gate,
    add_info,
    add_report,
    add_trace,
    add_wave,
)
from trilut.commands.interchange import add_export, add_import
from trilut.commands.paper import add_paper
from trilut.commands.tapeout import add_layout
from trilut.commands.temporal import add_monitor, add_watch
from trilut.commands.training import add_data, add_eval, add_flow, add_predict, add_train
from trilut.commands.trust import add_calibrate
from trilut.commands.verification import add_verify
from trilut.errors import TrilutError
from trilut.extras import explained
from trilut.text import one_line

__all__ = ["command_parser", "main", "run"]

_SIGNALLED = 128
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}


def run() -> NoReturn:
    """Run the command line as a program."""
    interrupt.install()
    status = main()
    # After SIGHUP there is no terminal any more.
    with suppress(OSError):
        sys.stdout.flush()
    if status > _SIGNALLED:
        # An interrupt inside an import can leave the interpreter believing that nobody handled it.
        os._exit(status)
    sys.exit(status)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    args = command_parser().parse_args(argv)
    try:
        with explained():
            status: int | None = args.run(args)
        sys.stdout.flush()
    except TrilutError as error:
        print(f"trilut: error: {one_line(str(error))}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader has gone, as `head` does.
        _drop_output()
        return 0
    except MemoryError as error:
        print(f"trilut: error: Not enough memory. {error}".rstrip(), file=sys.stderr)
        return 1
    except OSError as error:
        # Commands see to their own files; what they print is all that is left.
        if error.errno not in _FULL or error.filename is not None:
            raise
        print(f"trilut: error: Cannot write the output: {error.strerror}", file=sys.stderr)
        _drop_output()
        return 1
    except KeyboardInterrupt:
        with suppress(OSError):
            print("trilut: interrupted", file=sys.stderr)
        return interrupt.status()
    return status or 0


def _drop_output() -> None:
    """Let what is still to be flushed go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Parser(argparse.ArgumentParser):
    """A parser that answers a wrong call with one line; the usage of a command fills a screen."""

    def error(self, message: str) -> NoReturn:
        hint = "" if " " in self.prog else f"; see {self.prog} --help"
        self.exit(2, f"{self.prog}: error: {message}{hint}\n")


def command_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = _Parser(
        prog="trilut",
        description="RTL for FPGA and ASIC from trained ternary logic gate networks.",
        epilog="example: trilut flow moons -o build/moons",
    )
    parser.add_argument("--version", action="version", version=f"trilut {trilut.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for add in (
        add_flow,
        add_train,
        add_eval,
        add_predict,
        add_calibrate,
        add_monitor,
        add_watch,
        add_info,
        add_report,
        add_explorer,
        add_optimize,
        add_export,
        add_import,
        add_verilog,
        add_verify,
        add_trace,
        add_wave,
        add_faults,
        add_campaign,
        add_compare,
        add_synth,
        add_layout,
        add_board,
        add_engine,
        add_host,
        add_explore,
        add_literature,
        add_gate,
        add_data,
        add_paper,
    ):
        add(commands)
    return parser
