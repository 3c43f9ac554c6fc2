"""What several commands share: options, their types, and how results are printed."""

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from trilut.report.tables import Table

__all__ = [
    "above_0",
    "add_command",
    "add_dataset",
    "add_json",
    "add_label",
    "add_net",
    "add_output",
    "add_training_options",
    "mesh_shape",
    "number_or_auto",
    "numbers",
    "positive",
    "print_result",
    "print_tables",
    "seed",
    "share",
    "shares",
    "training_settings",
    "with_label",
]

# As in trilut.training.config, which cannot be asked here: `--help` must not wait for JAX.
_RECIPES = ["hard", "paper", "paper-then-hard", "noise", "dlgn", "dlgn-naive"]
_WIRINGS = ["random", "unique", "local", "learned"]

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


def add_dataset(parser: argparse.ArgumentParser) -> None:
    """Add the argument that names a data set, and its label column."""
    parser.add_argument(
        "dataset",
        metavar="DATASET",
        help="name of a data set, or a file: .csv, .npz, or a directory of images",
    )
    add_label(parser)


def add_label(parser: argparse.ArgumentParser) -> None:
    """Add the option that names the label column of a table."""
    parser.add_argument(
        "--label", metavar="COLUMN", help="column of a .csv with the classes; default: the last"
    )


def with_label(dataset: str, label: str | None) -> str:
    """Return the name that stands for a table with this label column."""
    return dataset if label is None else f"{dataset}:label={label}"


def add_output(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the option that names the output directory."""
    parser.add_argument(
        "-o", "--output", metavar="DIR", type=Path, required=True, help=f"directory for {what}"
    )


def add_training_options(parser: argparse.ArgumentParser, *, is_single: bool = False) -> None:
    """Add the options that become a TrainingConfig; left out, the data set's own defaults hold.

    Parameters
    ----------
    is_single : bool
        Whether the command trains once: then any setting can be given as KEY=VALUE, the margin to
        abstain below be chosen, and an unfinished training in its directory be started anew.
    """
    options = parser.add_argument_group("training (defaults depend on the data set)")
    options.add_argument("--recipe", choices=_RECIPES, help="how the gates are trained")
    options.add_argument("--layers", metavar="N,N,…", type=numbers, help="gates of each layer")
    options.add_argument("--wiring", choices=_WIRINGS, help="how the parents of gates are chosen")
    options.add_argument("--window", metavar="N", type=int, help="values that local wiring reaches")
    options.add_argument(
        "--candidates", metavar="N", type=int, help="values that learned wiring chooses from"
    )
    options.add_argument(
        "--distance-cost", metavar="C", type=float, help="what learned wiring charges for distance"
    )
    options.add_argument(
        "--skip", action="store_const", const=True, help="let all layers read the inputs"
    )
    options.add_argument(
        "--output-layers", metavar="N", type=int, help="how many of the last layers are outputs"
    )
    options.add_argument("--thresholds", metavar="K", type=int, help="thresholds of each feature")
    options.add_argument("--bits", metavar="N", type=int, help="bits of each feature")
    options.add_argument("--delta", metavar="D", type=float, help="width of the UNKNOWN band, 0…1")
    options.add_argument(
        "--spacing",
        choices=["uniform", "quantile"],
        help="what the thresholds cut into equal parts: the range or the samples",
    )
    options.add_argument(
        "--minority", metavar="P", type=float, help="leave out trits that fewer samples differ in"
    )
    options.add_argument(
        "--shift", metavar="N", type=int, help="train on images moved by up to N pixels, too"
    )
    options.add_argument(
        "--turn", metavar="A", type=float, help="train on images turned by up to A degrees, too"
    )
    options.add_argument(
        "--mirror",
        action="store_const",
        const=True,
        help="train on images with left and right exchanged, too",
    )
    options.add_argument("--valence", metavar="Q", type=int, help="truth values: 3, or 2")
    options.add_argument(
        "--area-weight", metavar="W", type=float, help="weight of the area in the loss, such as 0.1"
    )
    options.add_argument(
        "--prune", metavar="SHARE", type=float, help="share of the gates to free of logic, 0…1"
    )
    options.add_argument(
        "--prune-steps", metavar="N", type=int, help="number of batches while and after pruning"
    )
    options.add_argument("--steps", metavar="N", type=int, help="number of batches")
    options.add_argument("--batch", metavar="N", type=int, help="samples in a batch")
    options.add_argument("--learning-rate", metavar="R", type=float, help="step size of Adam")
    options.add_argument("--seed", metavar="N", type=seed, help="seed of data, wiring and training")
    options.add_argument(
        "--mesh",
        metavar="BATCHxGATE",
        type=mesh_shape,
        help="devices to divide batches and gates over, such as 2x4",
    )
    start = options.add_mutually_exclusive_group()
    start.add_argument(
        "--resume", action="store_true", help="go on from the checkpoint in DIR, if there is one"
    )
    if not is_single:
        return
    options.add_argument(
        "--abstain-margin",
        metavar="N",
        type=positive,
        default=1,
        help="abstain if the best class is ahead by less",
    )
    start.add_argument(
        "--restart",
        action="store_true",
        help="start anew, though DIR has a checkpoint of an unfinished training",
    )
    options.add_argument(
        "--set",
        metavar="KEY=VALUE",
        type=_key_value,
        action="append",
        default=[],
        help="any other setting of TrainingConfig, such as tau=4 or loss=squared-error; "
        "again for more",
    )


def mesh_shape(text: str) -> tuple[int, int]:
    """Read the shape of a mesh of devices."""
    try:
        batch, gate = (positive(number) for number in text.split("x"))
    except (ValueError, argparse.ArgumentTypeError):
        raise argparse.ArgumentTypeError(f"{text!r} is not a mesh like 2x4") from None
    return batch, gate


def _key_value(text: str) -> str:
    key, equals, value = text.partition("=")
    if not (key and equals and value):
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return text


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


def training_settings(args: argparse.Namespace) -> dict[str, Any]:
    """Return the training options that were given.

    Raises
    ------
    TrainingError
        If there is no setting KEY, or it is not of the type of VALUE.
    """
    names = (
        *("recipe", "layers", "wiring", "window", "candidates", "distance_cost", "skip"),
        *("output_layers", "thresholds", "delta", "valence", "steps", "batch", "learning_rate"),
        *("spacing", "minority", "shift", "turn", "mirror", "bits", "area_weight", "prune"),
        *("prune_steps", "seed"),
    )
    settings = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    texts = getattr(args, "set", [])
    if not texts:
        return settings
    from trilut.training.config import add_settings

    return add_settings(settings, texts)


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
