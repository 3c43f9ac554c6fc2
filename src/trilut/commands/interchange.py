"""Commands that write netlists in other formats and read those of others."""

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from trilut.commands.options import add_command, add_json, print_result

__all__ = ["add_export"]


def add_export(commands: Any) -> None:
    """Add the command ``export``."""
    parser = add_command(
        commands,
        "export",
        _export,
        "write a netlist as C or in a format of other tools",
        "trilut export build/run/net.trilut --format c -o build/c",
    )
    parser.add_argument("net", metavar="NET", type=Path, nargs="?", help="netlist file")
    parser.add_argument("--list", action="store_true", help="list the formats and stop")
    parser.add_argument("--format", metavar="NAME", help="format, one of --list")
    parser.add_argument("-o", "--output", metavar="DIR", type=Path, help="directory for the files")
    parser.add_argument(
        "--name",
        default="trilut_net",
        help="name of the files, and prefix of what is in them",
    )
    parser.add_argument(
        "--no-optimize", action="store_true", help="keep gates that make no difference"
    )
    add_json(parser)


def _export(args: argparse.Namespace) -> int | None:
    if args.list:
        from trilut.interchange import EXPORTERS

        _list(args, "formats to write", EXPORTERS)
        return None
    if args.net is None or args.output is None or args.format is None:
        print("trilut export: error: NET, --format and -o DIR are required", file=sys.stderr)
        return 2
    from trilut.app.export import export_file

    files = export_file(
        args.net, args.output, args.format, name=args.name, optimized=not args.no_optimize
    )
    names = [str(path) for path in files]
    print_result(args, args.format, {"files": "\n".join(names)}, {"files": names})
    return None


def _list(args: argparse.Namespace, title: str, formats: Iterable[Any]) -> None:
    rows = {each.name: each.summary for each in formats}
    print_result(args, title, rows, rows)
