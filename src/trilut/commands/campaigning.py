"""The command that makes hardware faulty on purpose, and counts what comes of it."""

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from trilut.commands.hardware_options import add_pipeline, hardware_options
from trilut.commands.options import (
    add_command,
    add_json,
    add_net,
    positive,
    print_result,
    seed,
)

__all__ = ["add_campaign"]


def add_campaign(commands: Any) -> None:
    """Add the command ``campaign``."""
    parser = add_command(
        commands,
        "campaign",
        _campaign,
        "put faults into the RTL: wrong table entries, or bit flips in its registers",
        "trilut campaign mutants build/run/net.trilut --count 500",
    )
    parser.add_argument(
        "kind",
        choices=["mutants", "flips"],
        help="mutants: does a regression see wrong table entries? flips: what does a flipped bit "
        "of a pipeline register do to the decision?",
    )
    add_net(parser)
    add_pipeline(parser)
    parser.add_argument(
        "--count", metavar="N", type=positive, default=500, help="mutants, or bits, drawn by chance"
    )
    parser.add_argument("--data", metavar="NAME", help="data set; default: the trained one")
    parser.add_argument(
        "--random", metavar="N", type=positive, default=10_000, help="random vectors for mutants"
    )
    parser.add_argument("--seed", metavar="N", type=seed, default=0, help="seed of all chance")
    parser.add_argument(
        "-o", "--output", metavar="DIR", type=Path, help="directory that keeps the faulty design"
    )
    add_json(parser)


def _campaign(args: argparse.Namespace) -> None:
    from trilut.app.campaign import campaign_file
    from trilut.verify.campaigns import FlipSurvey

    result = campaign_file(
        args.net,
        args.kind,
        count=args.count,
        data=args.data,
        num_random=args.random,
        options=hardware_options(args),
        seed=args.seed,
        output=args.output,
    )
    if isinstance(result, FlipSurvey):
        shares = {
            name: f"{getattr(result, name):,} ({getattr(result, name) / result.num_flips:.2%})"
            for name in ("changed", "abstained", "masked")
        }
        rows = {
            "register bits": f"{result.num_bits:,}",
            "flips": f"{result.num_flips:,}, each bit with each vector",
            "another class": shares["changed"],
            "abstained": shares["abstained"],
            "no effect on the decision": shares["masked"],
        }
    else:
        rows = {
            "mutants": f"{result.num_mutants:,}",
            "equivalent": f"{result.num_mutants - result.num_faults:,}, proven to change no "
            "output trit",
            "refused by the proof": f"{len(result.refused):,} of {result.num_faults:,}",
            "killed by vectors": f"{len(result.killed):,} of {result.num_faults:,} "
            f"({result.kill_rate:.2%}) with {result.num_vectors:,} vectors",
            "not killed": f"{len(result.missed):,} missed, {len(result.hidden):,} hidden: no input "
            "shows them at the ports",
        }
    print_result(args, f"{args.net.name}: {args.kind}", rows, asdict(result))
