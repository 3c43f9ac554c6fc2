"""The options of a training, which its settings declare."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from trilut.commands.options import numbers, positive, seed, shares
from trilut.data.groups import read_groups
from trilut.errors import TrilutError
from trilut.extras import require
from trilut.training.config import add_settings, built_in_settings
from trilut.training.settings.setting import Setting
from trilut.training.settings.tables import Effort

if TYPE_CHECKING:
    from trilut.app.budget import Budget

__all__ = ["add_training_options", "mesh_shape", "training_budget", "training_settings"]


def add_training_options(parser: argparse.ArgumentParser, *, is_single: bool = False) -> None:
    """Add the options that become a TrainingConfig; left out, the data set's own defaults hold.

    Parameters
    ----------
    is_single : bool
        Whether the command trains once: then any setting can be given as KEY=VALUE, the margin to
        abstain below be chosen, and an unfinished training in its directory be started anew.
    """
    options = parser.add_argument_group("training (defaults depend on the data set)")
    for setting in _with_option():
        options.add_argument(_flag(setting), help=setting.option, **_form(setting))
    options.add_argument(
        "--missing-groups",
        metavar="FILE",
        type=Path,
        help="features that are lost together: a line of names for each sensor",
    )
    # By hand, because it is the seed of the data too.
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
        "--effort",
        choices=get_args(Effort),
        default="normal",
        help="how long to train on a table; best searches for settings by validation accuracy",
    )
    size = options.add_mutually_exclusive_group()
    size.add_argument(
        "--budget",
        metavar="N",
        help="as many gates as have room in about so many LUTs, such as 1000lut4 or 2000lut6",
    )
    size.add_argument(
        "--fit",
        metavar="TARGET",
        help="as many gates as a part has room for, such as ice40-up5k",
    )
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
        help="start anew, though DIR has a training, finished or not",
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


def _with_option() -> list[Setting]:
    return [setting for setting in built_in_settings().values() if setting.option]


def _flag(setting: Setting) -> str:
    return f"--{setting.name.replace('_', '-')}"


def _form(setting: Setting) -> dict[str, Any]:
    """Return what argparse has to know of the values of an option."""
    if setting.choices:
        return {"choices": setting.choices}
    if setting.kind is bool:
        return {"action": "store_const", "const": True}
    read = {tuple: numbers, tuple[float, ...]: shares}.get(setting.kind, setting.kind)
    return {"type": read, "metavar": setting.metavar}


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


def training_settings(args: argparse.Namespace) -> dict[str, Any]:
    """Return the training options that were given.

    Raises
    ------
    TrainingError
        If there is no setting KEY, or it is not of the type of VALUE.
    """
    names = (*(setting.name for setting in _with_option()), "seed")
    settings = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    if args.missing_groups is not None:
        settings["missing_groups"] = read_groups(args.missing_groups)
    return add_settings(settings, getattr(args, "set", []))


def training_budget(args: argparse.Namespace) -> "Budget | None":
    """Return the budget that was given, as a number of tables or as a part.

    Raises
    ------
    TrilutError
        If it cannot be read, or the layers are given too.
    """
    from trilut.app.budget import parse_budget, part_budget

    if args.budget is None and args.fit is None:
        return None
    if args.layers is not None:
        raise TrilutError("A budget chooses the number of gates; leave out --layers")
    require("amaranth")
    return part_budget(args.fit) if args.budget is None else parse_budget(args.budget)
