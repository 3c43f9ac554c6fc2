"""The command that repeats the paper's experiments."""

import argparse
import dataclasses
import os
from pathlib import Path
from typing import Any

from trilut.commands.options import add_command, add_json, positive, print_result
from trilut.errors import TrilutError

__all__ = ["add_paper"]


def add_paper(commands: Any) -> None:
    """Add the command ``paper``."""
    parser = add_command(
        commands,
        "paper",
        _paper,
        "repeat tables and figures of the paper, beside what it reports",
        "trilut paper synthetic gap -o build/paper, or: trilut paper all --scale full --resume",
    )
    parser.add_argument(
        "experiments", metavar="TABLE|FIGURE|all", nargs="*", help="what to repeat; see --list"
    )
    parser.add_argument("--list", action="store_true", help="list what there is, and stop")
    parser.add_argument(
        "--scale",
        choices=["small", "full"],
        default="small",
        help="small shrinks CIFAR-10 and takes half an hour on two cores, full is what the paper "
        "trained",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        type=Path,
        default=Path("build/paper"),
        help="directory for results.md, its figures and the trainings",
    )
    parser.add_argument(
        "--resume", action="store_true", help="keep finished trainings and go on with the others"
    )
    parser.add_argument(
        "--seeds",
        metavar="N",
        type=positive,
        help="seeds of the small tasks, whose means are shown; default: 1 with --scale small, 3 "
        "with full",
    )
    parser.add_argument(
        "--jobs",
        metavar="N",
        type=positive,
        help="trainings at a time; default: one a core with --scale small, otherwise 1",
    )
    add_json(parser)


def _paper(args: argparse.Namespace) -> None:
    from trilut.paper import EXPERIMENTS, SCALES, run_paper
    from trilut.paper.runner import needed_runs

    scale = SCALES[args.scale]
    if args.seeds is not None:
        scale = dataclasses.replace(scale, seeds=tuple(range(args.seeds)))
    if args.list:
        rows = {
            name: f"{experiment.title}: {len(needed_runs([experiment], scale))} trainings"
            for name, experiment in EXPERIMENTS.items()
        }
        print_result(args, f"experiments, --scale {args.scale}", rows, rows)
        return
    if not args.experiments:
        raise TrilutError("No experiment is named; expected all, or names from trilut paper --list")
    jobs = args.jobs or (os.cpu_count() or 1 if args.scale == "small" else 1)
    result = run_paper(args.experiments, args.output, scale=scale, resume=args.resume, jobs=jobs)
    rows = {
        "page": str(result.page),
        "trainings": f"{result.trained} run, {result.kept} kept",
        "processor time": f"{result.cpu_seconds:.0f} s for all trainings",
    }
    print_result(args, "paper", rows, result)
