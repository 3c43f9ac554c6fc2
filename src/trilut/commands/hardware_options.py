"""The options of commands that become a HardwareOptions."""

import argparse
from pathlib import Path

from trilut.circuit.interface import InputKind
from trilut.commands.options import number_or_auto, positive
from trilut.hdl.options import DEFAULT_TARGET, PORTABLE, Fabric, HardwareOptions
from trilut.hdl.sums.plan import SUM_TARGETS

__all__ = [
    "add_hardware_options",
    "add_pipeline",
    "add_rtl",
    "add_target",
    "add_trust",
    "hardware_options",
]

_DEFAULT = HardwareOptions()
# The name of an option on the command line that is not that of its field.
_ARGUMENTS = {"input_kind": "input", "axi_beat_bits": "axi"}
_NEGATED = {"presence_bits": "no_missing", "optimized": "no_optimize", "margin": "no_margin"}


def add_pipeline(parser: argparse.ArgumentParser) -> None:
    """Add the option of the pipeline."""
    parser.add_argument(
        "--pipeline",
        metavar="N",
        type=positive,
        default=_DEFAULT.pipeline,
        help="layers between registers",
    )


def add_target(parser: argparse.ArgumentParser, use: str) -> None:
    """Add the option of the part, with what it is for besides the sums."""
    parser.add_argument(
        "--target",
        metavar="NAME",
        default=DEFAULT_TARGET,
        help=f"part that the design is made for, by its name in 'trilut synth --list'; {use} "
        "(default: %(default)s)",
    )


def add_rtl(parser: argparse.ArgumentParser) -> None:
    """Add the option of a design that is there."""
    parser.add_argument(
        "--rtl",
        metavar="FILE|DIR",
        type=Path,
        help="Verilog that is there, instead of a new design: the directory that 'trilut verilog' "
        "wrote, or a file, changed or from another tool; what its ports are is said by the "
        "manifest beside it or else by the options",
    )


def add_trust(parser: argparse.ArgumentParser) -> None:
    """Add the options of what tells how far an answer can be trusted."""
    parser.add_argument(
        "--certain",
        action="store_true",
        help="a port that says that no value of a missing feature could change the class",
    )
    parser.add_argument(
        "--prediction-set",
        action="store_true",
        help="a port with the prediction set, a bit for each class; see trilut calibrate",
    )


def add_hardware_options(
    parser: argparse.ArgumentParser,
    *,
    auto_pipeline: bool = False,
    logic_only: bool = True,
) -> None:
    """Add all options that shape hardware, but for the target.

    Parameters
    ----------
    auto_pipeline : bool
        Whether the pipeline may be ``auto``.
    logic_only : bool
        Whether the gates alone are a design here.
    """
    if auto_pipeline:
        parser.add_argument(
            "--pipeline",
            metavar="N|auto",
            type=number_or_auto,
            default=_DEFAULT.pipeline,
            help="layers between registers; auto: the most that meet the frequency",
        )
    else:
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
        help="no presence bits, as all features are always there",
    )
    parser.add_argument(
        "--sums",
        choices=SUM_TARGETS,
        help=f"what adds the trits: any logic ({PORTABLE}), or the carry chains of a family; "
        "default: what the target has for it",
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
        "--no-margin",
        action="store_true",
        help="no port for the margin, which makes the argmax smaller where only a tie abstains",
    )
    parser.add_argument(
        "--margin-port", action="store_true", help="a port that sets the abstention margin"
    )
    if logic_only:
        parser.add_argument(
            "--logic-only",
            action="store_true",
            help="a combinational module of the gates alone, trits in and out",
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
