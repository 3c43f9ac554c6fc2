"""Commands that set results of synthesis side by side."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from trilut.commands.options import (
    above_0,
    add_command,
    add_dataset,
    add_json,
    add_output,
    dataset_name,
    numbers,
    positive,
    print_tables,
    shares,
)
from trilut.commands.training_options import add_training_options, training_settings
from trilut.errors import TrilutError
from trilut.hdl.options import DEFAULT_TARGET
from trilut.training.config import built_in_settings

__all__ = ["add_explore", "add_literature", "compare_files"]


def compare_files(args: argparse.Namespace, paths: Sequence[Path]) -> None:
    """Print synthesis reports side by side."""
    from trilut.report.compare import compare_reports
    from trilut.report.summary import plain
    from trilut.report.synthesis import read_synthesis_report

    if len(paths) < 2:
        raise TrilutError(f"A comparison needs at least 2 files synthesis.json, not {len(paths)}")
    comparison = compare_reports([read_synthesis_report(path) for path in paths])
    document = {**plain(comparison), "differing": plain(comparison.differing)}
    print_tables(args, [comparison.table], document)


def add_literature(commands: Any) -> None:
    """Add the command ``literature``."""
    parser = add_command(
        commands,
        "literature",
        _literature,
        "print published results, and ours beside them where conventions allow",
        "trilut literature mnist --beside build/synth/synthesis.json",
    )
    parser.add_argument(
        "dataset", metavar="DATASET", nargs="?", help="data set; default: all that have results"
    )
    parser.add_argument(
        "--beside",
        metavar="FILE",
        type=Path,
        nargs="+",
        default=[],
        help="synthesis.json of our own on that data set",
    )
    parser.add_argument(
        "--markdown", action="store_true", help="print all of it as Markdown, as in docs/"
    )
    add_json(parser)


def _literature(args: argparse.Namespace) -> None:
    from trilut.report.literature import (
        literature_datasets,
        literature_page,
        literature_tables,
        published,
    )
    from trilut.report.summary import plain
    from trilut.report.synthesis import read_synthesis_report

    if args.markdown:
        print(literature_page(), end="")
        return
    if args.beside and args.dataset is None:
        raise TrilutError("Name the data set that the reports of --beside are of")
    ours = [read_synthesis_report(path) for path in args.beside]
    names = literature_datasets() if args.dataset is None else (args.dataset,)
    tables = [table for name in names for table in literature_tables(name, ours)]
    results = [result for result in published() if result.dataset in names]
    document = {"published": plain(results), "ours": [report.document for report in ours]}
    print_tables(args, tables, document)


def add_explore(commands: Any) -> None:
    """Add the command ``explore``."""
    parser = add_command(
        commands,
        "explore",
        _explore,
        "train and synthesise many designs, and show which of them no other beats",
        "trilut explore digits -o build/explore --layers 500,200 --layers 1000,500 "
        "--delta 0.25,0.5 --pipeline 1,2,4",
    )
    add_dataset(parser, nargs="?")
    add_output(parser, "networks, reports and the picture; what is finished there is kept")
    # The options of training are all there, and those that are varied take several values.
    parser.conflict_handler = "resolve"
    add_training_options(parser)
    points = parser.add_argument_group("points: every combination of these")
    points.add_argument(
        "--layers",
        metavar="N,N,…",
        type=numbers,
        action="append",
        help="gates of each layer; again for another network",
    )
    points.add_argument(
        "--budget",
        metavar="N,N,…",
        type=_words,
        help="numbers of tables that choose the gates of each layer, such as 500lut4,1000lut4",
    )
    points.add_argument(
        "--wiring", metavar="W,W,…", type=_one_of("wiring"), help="how parents of gates are chosen"
    )
    points.add_argument(
        "--spacing", metavar="S,S,…", type=_one_of("spacing"), help="where the thresholds lie"
    )
    points.add_argument("--delta", metavar="D,D,…", type=shares, help="widths of the UNKNOWN band")
    points.add_argument("--thresholds", metavar="K,K,…", type=_counts, help="thresholds a feature")
    points.add_argument("--prune", metavar="P,P,…", type=shares, help="shares of simple gates")
    points.add_argument(
        "--area-weight", metavar="W,W,…", type=_decimals, help="weights of the area in the loss"
    )
    points.add_argument(
        "--net",
        metavar="FILE",
        type=Path,
        action="append",
        help="a netlist to take; again for more",
    )
    points.add_argument(
        "--pipeline", metavar="N,N,…", type=_counts, help="layers between registers; default: 2"
    )
    points.add_argument(
        "--target", metavar="NAME", default=DEFAULT_TARGET, help="target name or file"
    )
    points.add_argument(
        "--no-route", action="store_true", help="area only: neither place nor route"
    )
    points.add_argument(
        "--frequency", metavar="MHZ", type=above_0, default=200.0, help="clock frequency to aim at"
    )
    points.add_argument(
        "--timeout", metavar="S", type=positive, default=600, help="seconds for a step of a tool"
    )
    several = parser.add_argument_group("several at a time")
    several.add_argument(
        "--workers",
        metavar="N",
        type=positive,
        help="networks to train and points to synthesise at a time; default: one network, and a "
        "point per core",
    )
    several.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="Dask scheduler whose workers do them, such as tcp://10.0.0.1:8786; all of them have "
        "to see DIR and the data",
    )
    add_json(parser)


def _counts(text: str) -> tuple[int, ...]:
    return tuple(positive(count) for count in text.split(","))


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def _one_of(name: str) -> Callable[[str], tuple[str, ...]]:
    """Return what reads a list of the words that a setting can be."""
    choices = built_in_settings()[name].choices

    def read(text: str) -> tuple[str, ...]:
        words = _words(text)
        for word in words:
            if word not in choices:
                raise argparse.ArgumentTypeError(
                    f"{word!r} is not one of {', '.join(map(repr, choices))}"
                )
        return words

    return read


def _decimals(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(number) for number in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list like 0.1,0.2") from None


def _explore(args: argparse.Namespace) -> int:
    from trilut.app.explore import AXES, explore, training_grid
    from trilut.synth.cache import Cache

    settings = training_settings(args)
    if args.budget is not None:
        settings["budget"] = args.budget
    varied = {name: settings.pop(name) for name in AXES if name in settings}
    dataset = None if args.dataset is None else dataset_name(args.dataset, args)
    found = explore(
        args.output,
        dataset=dataset,
        settings=training_grid(varied, settings),
        nets=args.net or (),
        pipelines=args.pipeline or (2,),
        target=args.target,
        route=not args.no_route,
        frequency=args.frequency,
        timeout=args.timeout,
        workers=args.workers,
        scheduler=args.scheduler,
        cache=Cache(),
    )
    print_tables(args, [found.table], found.document)
    return 1 if found.num_failed else 0
