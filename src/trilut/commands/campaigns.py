"""The command that makes hardware faulty on purpose, and counts what comes of it."""

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from trilut.commands.hardware_options import add_pipeline, add_trust, hardware_options
from trilut.commands.options import (
    add_command,
    add_json,
    add_net,
    positive,
    print_result,
    print_tables,
    seed,
)
from trilut.errors import TrilutError
from trilut.verify.kinds import MutationKind
from trilut.verify.result import ALL

__all__ = ["add_campaign"]


def add_campaign(commands: Any) -> None:
    """Add the command ``campaign``."""
    parser = add_command(
        commands,
        "campaign",
        _campaign,
        "put faults into the RTL: mistakes of many kinds, or bit flips in its registers",
        "trilut campaign mutants build/run/net.trilut --count 500",
    )
    parser.add_argument(
        "kind",
        choices=["mutants", "flips"],
        help="mutants: what does a regression see, what a proof? flips: what does a flipped bit "
        "of a pipeline register do to the decision?",
    )
    add_net(parser)
    add_pipeline(parser)
    add_trust(parser)
    parser.add_argument(
        "--kind",
        metavar="KIND,…",
        type=_kinds,
        dest="mutation_kinds",
        default=(MutationKind.TABLE,),
        help=f"what is wrong in mutants: {', '.join(MutationKind)}, or {ALL}; default: "
        f"{MutationKind.TABLE}",
    )
    parser.add_argument(
        "--count",
        metavar="N",
        type=positive,
        default=500,
        help="mutants of each kind, or bits, drawn by chance",
    )
    parser.add_argument("--data", metavar="NAME", help="data set; default: the trained one")
    parser.add_argument(
        "--random", metavar="N", type=positive, default=10_000, help="random vectors for mutants"
    )
    parser.add_argument("--seed", metavar="N", type=seed, default=0, help="seed of all chance")
    parser.add_argument(
        "--seeds",
        metavar="N",
        type=positive,
        default=1,
        help="how often mutants of --kind meet the regression, each time with another seed; one "
        "is killed if it is seen each time (default: %(default)s)",
    )
    parser.add_argument(
        "-o", "--output", metavar="DIR", type=Path, help="directory that keeps the faulty design"
    )
    add_json(parser)


def _kinds(text: str) -> tuple[MutationKind, ...]:
    """Read a list of kinds of mutants."""
    kinds = text.split(",")
    for kind in kinds:
        if kind not in (*MutationKind, ALL):
            raise argparse.ArgumentTypeError(
                f"{kind!r} is not a kind of mutant; there are {', '.join(MutationKind)} and {ALL}"
            )
    return tuple(MutationKind) if ALL in kinds else tuple(map(MutationKind, kinds))


def _campaign(args: argparse.Namespace) -> None:
    if args.kind == "flips" and args.mutation_kinds != (MutationKind.TABLE,):
        raise TrilutError("Flips have no kind of mutant; leave --kind out")
    if args.kind == "flips" and (args.certain or args.prediction_set):
        raise TrilutError(
            "Flips are counted by class and abstention; leave --certain and --prediction-set out"
        )
    if args.mutation_kinds != (MutationKind.TABLE,):
        _mutate(args)
        return
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


def _mutate(args: argparse.Namespace) -> None:
    from trilut.app.campaign import mutate_file
    from trilut.report.mutants import mutant_table
    from trilut.verify.design_campaign import kind_results

    found = mutate_file(
        args.net,
        args.mutation_kinds,
        count=args.count,
        data=args.data,
        num_random=args.random,
        options=hardware_options(args),
        seed=args.seed,
        num_seeds=args.seeds,
        output=args.output,
    )
    results = kind_results(found)
    table = mutant_table(f"{args.net.name}: mutants", results)
    print_tables(args, [table], [asdict(result) for result in results])
