"""What several commands share: options, their types, and how results are printed."""

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from trilut.circuit.tolerance import Tolerance
from trilut.errors import NetlistError, TrilutError
from trilut.report.tables import Table

__all__ = [
    "above_0",
    "add_command",
    "add_dataset",
    "add_header",
    "add_json",
    "add_label",
    "add_net",
    "add_output",
    "columns",
    "dataset_name",
    "number_or_auto",
    "numbers",
    "positive",
    "print_result",
    "print_tables",
    "seed",
    "share",
    "shares",
    "tolerance",
    "tolerances",
]


# Beyond these no machine has the memory, and no tool the type.
_MOST = 1_000_000_000
_LAST_SEED = 2**31 - 1


class _HelpFormatter(argparse.ArgumentDefaultsHelpFormatter):
    """Shows the defaults that say something."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        if action.default is None or action.default is False or action.default == []:
            return action.help
        return super()._get_help_string(action)


def add_command(
    commands: Any, name: str, run: Any, summary: str, example: str
) -> argparse.ArgumentParser:
    """Add a command with its summary and an example, and return its parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        epilog=f"example: {example}",
        formatter_class=_HelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the option that prints JSON."""
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def add_net(parser: argparse.ArgumentParser) -> None:
    """Add the argument that names a netlist file."""
    parser.add_argument("net", metavar="NET", type=Path, help="netlist file, NAME.trilut")


def add_dataset(parser: argparse.ArgumentParser, **options: Any) -> None:
    """Add the argument that names a data set, and how to take the columns of a table."""
    parser.add_argument(
        "dataset",
        metavar="DATASET",
        help="name of a data set, or a file: .csv, .parquet, .npz, or a directory of images",
        **options,
    )
    table = parser.add_argument_group("columns of a table")
    add_label(table)
    table.add_argument(
        "--drop", metavar="COLUMNS", type=columns, help="columns to leave out, as in id,date"
    )
    table.add_argument(
        "--features", metavar="COLUMNS", type=columns, help="use these columns and no others"
    )
    table.add_argument(
        "--categories",
        metavar="COLUMNS",
        type=columns,
        help="columns whose numbers are names, such as codes",
    )
    add_header(table)


def add_label(parser: Any) -> None:
    """Add the option that names the label column of a table."""
    parser.add_argument(
        "--label", metavar="COLUMN", help="column of a table with the classes; default: the last"
    )


def add_header(parser: Any) -> None:
    """Add the options that say whether the first line of a table names the columns."""
    parser.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        help="the first line names the columns, or not: then they are column_1, column_2, …",
    )


def columns(text: str) -> tuple[str, ...]:
    """Read names of columns."""
    from trilut.data.naming import read_columns

    try:
        names = read_columns(text)
    except TrilutError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if not names:
        raise argparse.ArgumentTypeError("expected names of columns like id,date")
    return names


def dataset_name(dataset: str, args: argparse.Namespace) -> str:
    """Return the name of a data set, with how to take its columns if it is a table."""
    keys = ("label", "drop", "features", "categories", "header")
    given = {key: getattr(args, key) for key in keys if getattr(args, key, None) is not None}
    if not given:
        return dataset
    from trilut.data.naming import table_name
    from trilut.data.selection import TableOptions

    return table_name(dataset, TableOptions(**given))


def add_output(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the option that names the output directory."""
    parser.add_argument(
        "-o", "--output", metavar="DIR", type=Path, required=True, help=f"directory for {what}"
    )


def numbers(text: str) -> tuple[int, ...]:
    """Read a list of whole numbers."""
    try:
        return tuple(int(width) for width in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a list of numbers like 64,64,32"
        ) from None


def share(text: str) -> float:
    """Read a share from 0 to 1."""
    try:
        (number,) = shares(text)
    except (ValueError, argparse.ArgumentTypeError):
        raise argparse.ArgumentTypeError(f"{text!r} is not a share 0…1 like 0.9") from None
    return number


def shares(text: str) -> tuple[float, ...]:
    """Read a list of shares from 0 to 1."""
    try:
        shares = tuple(float(share) for share in text.split(","))
    except ValueError:
        shares = (-1.0,)
    if not all(0 <= share <= 1 for share in shares):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of shares 0…1 like 0.1,0.2")
    return shares


def tolerances(text: str) -> tuple[Tolerance, ...]:
    """Read a list of tolerances: numbers, or percentages of the range of a feature."""
    return tuple(map(tolerance, text.split(",")))


def tolerance(text: str) -> Tolerance:
    """Read a tolerance."""
    is_share = text.endswith("%")
    try:
        amount = float(text.removesuffix("%")) / (100 if is_share else 1)
        return Tolerance(amount, is_share)
    except (NetlistError, ValueError):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a tolerance, expected a number from 0 up, or with % a share"
        ) from None


def positive(text: str) -> int:
    """Read a whole number above 0."""
    number = _whole(text)
    if not number:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    if number > _MOST:
        raise argparse.ArgumentTypeError(f"{text!r} is above {_MOST}")
    return number


def seed(text: str) -> int:
    """Read a seed, which numpy, JAX and nextpnr all take."""
    number = _whole(text)
    if number is None or number > _LAST_SEED:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to {_LAST_SEED}")
    return number


def _whole(text: str) -> int | None:
    """Read a whole number from 0 up; None if the text is something else."""
    return int(text) if text.isascii() and text.isdigit() else None


def above_0(text: str) -> float:
    """Read a number above 0."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < _MOST:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return number


def number_or_auto(text: str) -> int | str:
    """Read a whole number above 0, or the word ``auto``."""
    return text if text == "auto" else positive(text)


def print_result(
    args: argparse.Namespace, title: str, rows: dict[str, str], document: object
) -> None:
    """Print a result as a table, or as JSON if that was asked for."""
    if args.json:
        from trilut.report.summary import plain

        print(json.dumps(plain(document), indent=2))
        return
    from trilut.app.console import print_table

    print_table(title, rows)


def print_tables(args: argparse.Namespace, tables: Iterable[Table], document: object) -> None:
    """Print a result as tables, or as JSON if that was asked for."""
    if args.json:
        print(json.dumps(document, indent=2))
        return
    from trilut.app import console

    console.print_tables(tables)
