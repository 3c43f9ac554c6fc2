"""The command ``calibrate``: netlists with promises about new samples."""

import argparse
from pathlib import Path
from typing import Any

from trilut.commands.options import (
    add_command,
    add_json,
    add_label,
    add_net,
    dataset_name,
    print_result,
    seed,
    share,
)

__all__ = ["add_calibrate"]


def add_calibrate(commands: Any) -> None:
    """Add the command ``calibrate``."""
    parser = add_command(
        commands,
        "calibrate",
        _calibrate,
        "find the margins that keep a promise about the error of answers, or about prediction sets",
        "trilut calibrate run/net.trilut --risk 0.01 --confidence 0.95 -o run/calibrated.trilut",
    )
    add_net(parser)
    parser.add_argument(
        "-o", "--output", metavar="NET", type=Path, required=True, help="netlist file to write"
    )
    parser.add_argument(
        "--risk",
        metavar="P",
        type=share,
        help="the largest error among answered samples; finds the abstention margin",
    )
    parser.add_argument(
        "--confidence",
        metavar="P",
        type=share,
        default=0.95,
        help="of the risk: how often the promise must be kept over all calibrations",
    )
    parser.add_argument(
        "--per-class",
        action="store_true",
        help="keep the risk for the samples answered as each class, not only for all",
    )
    parser.add_argument(
        "--set-coverage",
        metavar="P",
        type=share,
        help="how often the right class is in the prediction set; finds the margin of the sets",
    )
    parser.add_argument(
        "--data",
        metavar="DATASET",
        help="samples that training has not seen; default: half of the trained one's test set",
    )
    add_label(parser)
    parser.add_argument(
        "--seed", metavar="N", type=seed, default=0, help="of the choice of samples"
    )
    add_json(parser)


def _calibrate(args: argparse.Namespace) -> None:
    from trilut.app.calibrate import calibrate_file
    from trilut.report.trust import calibration_rows

    made = calibrate_file(
        args.net,
        args.output,
        risk=args.risk,
        confidence=args.confidence,
        per_class=args.per_class,
        set_coverage=args.set_coverage,
        data=None if args.data is None else dataset_name(args.data, args),
        seed=args.seed,
    )
    document = {
        "calibration": made.netlist.provenance["calibration"],
        "check": made.check,
    }
    rows = calibration_rows(made.samples, made.risk, made.coverage, made.check)
    print_result(args, str(args.output), rows, document)
