"""The options of commands that become a HardwareOptions."""

import argparse

from trilut.circuit.interface import InputKind
from trilut.commands.options import positive
from trilut.hdl.options import Fabric, HardwareOptions
from trilut.hdl.sums.plan import SUM_TARGETS

__all__ = [
    "add_axi",
    "add_hardware_options",
    "add_pipeline",
    "add_trust",
    "hardware_flags",
    "hardware_options",
]

_DEFAULT = HardwareOptions()
# The name of an option on the command line that is not that of its field.
_ARGUMENTS = {"input_kind": "input", "axi_beat_bits": "axi", "prediction_set": "set"}
_NEGATED = {"presence_bits": "no_missing", "optimized": "no_optimize"}


def add_pipeline(parser: argparse.ArgumentParser) -> None:
    """Add the option of the pipeline."""
    parser.add_argument(
        "--pipeline",
        metavar="N",
        type=positive,
        default=_DEFAULT.pipeline,
        help="layers between registers",
    )


def add_axi(parser: argparse.ArgumentParser) -> None:
    """Add the options of AXI4-Streams."""
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


def add_trust(parser: argparse.ArgumentParser) -> None:
    """Add the options of what tells how far an answer can be trusted."""
    parser.add_argument(
        "--certain",
        action="store_true",
        help="a port that says that no value of a missing feature could change the class",
    )
    parser.add_argument(
        "--set",
        action="store_true",
        help="a port with the prediction set, a bit for each class; see trilut calibrate",
    )


def add_hardware_options(parser: argparse.ArgumentParser) -> None:
    """Add all options that shape hardware."""
    add_pipeline(parser)
    parser.add_argument(
        "--input",
        choices=[kind.value for kind in InputKind],
        help="what enters; default: features if the netlist has an encoder",
    )
    parser.add_argument("--top", metavar="NAME", default=_DEFAULT.top, help="name of the module")
    parser.add_argument(
        "--no-optimize", action="store_true", help="build every gate of the netlist as it is"
    )
    add_axi(parser)
    parser.add_argument(
        "--sums",
        choices=SUM_TARGETS,
        default=_DEFAULT.sums,
        help="what adds the trits: any logic, or the carry chains of a family",
    )
    parser.add_argument(
        "--fabric",
        choices=[fabric.value for fabric in Fabric],
        default=_DEFAULT.fabric.value,
        help="layers as Verilog text, or every gate an Amaranth component, a module of its own",
    )
    parser.add_argument("--scores", action="store_true", help="a port with the class scores")
    add_trust(parser)
    parser.add_argument(
        "--margin-port", action="store_true", help="a port that sets the abstention margin"
    )


def hardware_options(args: argparse.Namespace) -> HardwareOptions:
    """Return the options that a command has, and the defaults of those that it has not.

    Raises
    ------
    NetlistError
        If one is out of its range, or two do not go together.
    """
    given = {
        field: getattr(args, _ARGUMENTS.get(field, field))
        for field in HardwareOptions.__dataclass_fields__
        if hasattr(args, _ARGUMENTS.get(field, field))
    }
    given |= {field: not getattr(args, name) for field, name in _NEGATED.items() if name in args}
    if given.get("input_kind") is not None:
        given["input_kind"] = InputKind(given["input_kind"])
    if "fabric" in given:
        given["fabric"] = Fabric(given["fabric"])
    # Another command searches for the pipeline.
    if given.get("pipeline") == "auto":
        del given["pipeline"]
    return HardwareOptions(**given)


def hardware_flags(args: argparse.Namespace) -> list[str]:
    """Return the options on the command line that shape hardware and are not at their defaults."""
    flags = {
        "--input features": args.input == InputKind.FEATURES,
        "--pipeline": args.pipeline != _DEFAULT.pipeline,
        "--axi": args.axi is not None,
        "--no-missing": args.no_missing,
        "--sums": args.sums != _DEFAULT.sums,
        "--fabric": args.fabric != _DEFAULT.fabric,
        "--scores": args.scores,
        "--certain": args.certain,
        "--set": args.set,
        "--margin-port": args.margin_port,
    }
    return [flag for flag, is_given in flags.items() if is_given]
