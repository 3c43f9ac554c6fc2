"""Commands that write netlists in other formats and read those of others."""

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from trilut.commands.options import add_command, add_json, positive, print_result

__all__ = ["add_export", "add_import"]


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


def add_import(commands: Any) -> None:
    """Add the command ``import``."""
    parser = add_command(
        commands,
        "import",
        _import,
        "read a network or logic of another project",
        "trilut import model.pt --format difflogic -o build/net.trilut",
    )
    parser.add_argument("file", metavar="FILE", type=Path, nargs="?", help="file to read")
    parser.add_argument("--list", action="store_true", help="list the formats and stop")
    parser.add_argument(
        "--format", metavar="NAME", help="format, one of --list; default: by the name of the file"
    )
    parser.add_argument(
        "--classes", metavar="N", type=positive, help="sum the outputs by class, as many for each"
    )
    parser.add_argument("-o", "--output", metavar="NET", type=Path, help="netlist file to write")
    add_json(parser)


def _import(args: argparse.Namespace) -> int | None:
    if args.list:
        from trilut.interchange import IMPORTERS

        _list(args, "formats to read", IMPORTERS)
        return None
    if args.file is None or args.output is None:
        print("trilut import: error: FILE and -o NET are required", file=sys.stderr)
        return 2
    from trilut.app.export import import_file

    netlist = import_file(args.file, args.output, args.format, num_classes=args.classes)
    facts = {
        "file": str(args.output),
        "inputs": netlist.num_inputs,
        "gates": netlist.num_gates,
        "layers": netlist.depth,
        "outputs": len(netlist.outputs),
        "classes": 0 if netlist.head is None else len(netlist.head.classes),
    }
    rows = {key: str(value) for key, value in facts.items()}
    print_result(args, str(args.output), rows, facts)
    return None


def _list(args: argparse.Namespace, title: str, formats: Iterable[Any]) -> None:
    rows = {each.name: each.summary for each in formats}
    print_result(args, title, rows, rows)
