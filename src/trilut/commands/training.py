"""Commands that make netlists and measure them."""

import argparse
from pathlib import Path
from typing import Any, get_args

import trilut
from trilut.commands.hardware_options import (
    add_hardware_options,
    add_target,
    hardware_options,
)
from trilut.commands.options import (
    add_command,
    add_dataset,
    add_header,
    add_json,
    add_label,
    add_net,
    add_output,
    dataset_name,
    positive,
    print_result,
    seed,
    share,
    shares,
    tolerances,
)
from trilut.commands.training_options import (
    add_training_options,
    training_budget,
    training_settings,
)
from trilut.training.names import Spacing

__all__ = [
    "add_data",
    "add_eval",
    "add_flow",
    "add_predict",
    "add_train",
]


def add_flow(commands: Any) -> None:
    """Add the command ``flow``."""
    parser = add_command(
        commands,
        "flow",
        _flow,
        "train, harden, write Verilog, verify it, place and route it, and report",
        "trilut flow moons -o build/moons",
    )
    add_dataset(parser)
    add_output(parser, "netlist, Verilog and reports")
    add_training_options(parser, is_single=True)
    add_target(parser, "it is placed and routed there")
    add_hardware_options(parser, logic_only=False)
    add_json(parser)


def _flow(args: argparse.Namespace) -> int:
    from trilut.app.flow import run_flow

    report = run_flow(
        dataset_name(args.dataset, args),
        args.output,
        settings=training_settings(args),
        effort=args.effort,
        budget=training_budget(args),
        abstain_margin=args.abstain_margin,
        options=hardware_options(args),
        target=args.target,
        resume=args.resume,
        restart=args.restart,
        mesh=args.mesh,
    )
    print_result(args, report.title, report.summary, report.document)
    return 0 if report.passed else 1


def add_train(commands: Any) -> None:
    """Add the command ``train``."""
    parser = add_command(
        commands,
        "train",
        _train,
        "train a network and harden it to a netlist",
        "trilut train table.csv --label class --budget 1000lut4 -o build/run",
    )
    add_dataset(parser)
    add_output(parser, "net.trilut, metrics.jsonl and checkpoints")
    add_training_options(parser, is_single=True)
    add_json(parser)


def _train(args: argparse.Namespace) -> None:
    from trilut.app.train import train_to_directory
    from trilut.report.summary import accuracy_document, accuracy_rows

    dataset = dataset_name(args.dataset, args)
    settings = training_settings(args)
    trained = train_to_directory(
        dataset,
        args.output,
        settings,
        effort=args.effort,
        budget=training_budget(args),
        abstain_margin=args.abstain_margin,
        resume=args.resume,
        restart=args.restart,
        mesh=args.mesh,
    )
    accuracy = accuracy_document(trained.accuracy)
    print_result(args, f"{args.dataset}: test set", accuracy_rows(accuracy), accuracy)


def add_eval(commands: Any) -> None:
    """Add the command ``eval``."""
    parser = add_command(
        commands,
        "eval",
        _eval,
        "measure a netlist on a data set",
        "trilut eval build/run/net.trilut --data moons --drop 0.1,0.2 --control",
    )
    add_net(parser)
    parser.add_argument(
        "--data", metavar="DATASET", help="name or file of a data set; default: the trained one"
    )
    add_label(parser)
    add_header(parser)
    parser.add_argument("--seed", metavar="N", type=seed, help="seed of the data set")
    parser.add_argument(
        "--part",
        choices=["train", "validation", "test", "all"],
        help="which samples; default: test, but all of a file that it was not trained on",
    )
    parser.add_argument(
        "--drop",
        dest="dropped",
        metavar="P,P,…",
        type=shares,
        default=(),
        help="measure with this share of the features missing, too",
    )
    parser.add_argument(
        "--against",
        metavar="NET",
        type=Path,
        help="another netlist that misses the same features; default of --drop: 0 to 0.5",
    )
    parser.add_argument(
        "--tolerance",
        metavar="E,E,…",
        type=tolerances,
        default=(),
        help="what is certain if every feature may be off by so much: 0.5 in its unit, or 2%% of "
        "its range",
    )
    abstaining = parser.add_mutually_exclusive_group()
    abstaining.add_argument(
        "--abstain-margin",
        metavar="N",
        type=positive,
        help="abstain if the best class is ahead by less; default: as the netlist says",
    )
    abstaining.add_argument(
        "--coverage",
        metavar="P",
        type=share,
        help="abstain by the largest margin that leaves this share of the validation set answered",
    )
    parser.add_argument(
        "--control", action="store_true", help="measure the same wiring with random gates, too"
    )
    _add_engine(parser)
    add_json(parser)


def _eval(args: argparse.Namespace) -> None:
    from trilut.measure.evaluation import evaluate_split, untrained, with_abstain_margin
    from trilut.report.summary import control_rows, evaluation_rows, plain

    netlist = trilut.load(args.net)
    margin = _abstain_margin(args, netlist)
    if margin is not None:
        netlist = with_abstain_margin(netlist, margin)
    title, split = _eval_samples(args, netlist)
    evaluation = evaluate_split(netlist, split, engine=args.engine)
    rows, document = evaluation_rows(evaluation), plain(evaluation)
    if margin is not None:
        rows = {"abstention margin": str(margin)} | rows
        document = document | {"abstain_margin": margin}
    missing, points = _missing(args, netlist, split)
    rows, document = rows | missing, document | points
    if args.tolerance:
        from trilut.measure.tolerance import tolerance_curve
        from trilut.report.trust import tolerance_rows

        curve = tolerance_curve(netlist, split, args.tolerance, engine=args.engine)
        rows, document = rows | tolerance_rows(curve), document | {"tolerance": curve}
    if args.control:
        control = evaluate_split(untrained(netlist), split, engine=args.engine)
        rows, document = rows | control_rows(control), document | {"untrained": control}
    print_result(args, title, rows, document)


def _eval_samples(args: argparse.Namespace, netlist: trilut.Netlist) -> tuple[str, Any]:
    """Return what is measured on what, as a title, and the samples."""
    from trilut.data.files import is_table_name
    from trilut.measure.matching import (
        default_part,
        is_own_file,
        netlist_dataset,
        samples_for,
        table_samples,
    )

    name = None if args.data is None else dataset_name(args.data, args)
    part = args.part or default_part(netlist, name)
    if args.label is None and is_own_file(netlist, name):
        # By the name that it remembers, the label column and the seed of the split come too.
        name = None
    if name is not None and part == "all" and is_table_name(name):
        split = table_samples(netlist, name)
    else:
        dataset = netlist_dataset(netlist, name=name, seed=args.seed)
        name, split = dataset.name, samples_for(netlist, dataset, part=part)
    samples = f"all {len(split)} samples" if part == "all" else f"the {part} set"
    return f"{netlist.name} on {samples} of {name}", split


def _missing(
    args: argparse.Namespace, netlist: trilut.Netlist, split: Any
) -> tuple[dict[str, str], dict[str, Any]]:
    """Return rows and document of what missing features do, if the user asks for it."""
    from trilut.measure.evaluation import missing_curve, missing_curves
    from trilut.report.summary import against_rows, missing_rows

    options = {"engine": args.engine} | ({"dropped": args.dropped} if args.dropped else {})
    if args.against is not None:
        points, others = missing_curves(netlist, trilut.load(args.against), split, **options)
        return against_rows(points, others), {"missing": points, "missing_against": others}
    if args.dropped:
        points = missing_curve(netlist, split, **options)
        return missing_rows(points), {"missing": points}
    return {}, {}


def _abstain_margin(args: argparse.Namespace, netlist: trilut.Netlist) -> int | None:
    """Return the margin that the user asks for, if it is not that of the netlist."""
    from trilut.measure.evaluation import margin_for_coverage
    from trilut.measure.matching import netlist_dataset, samples_for

    if args.coverage is None:
        margin: int | None = args.abstain_margin
        return margin
    validation = samples_for(netlist, netlist_dataset(netlist), part="validation")
    return margin_for_coverage(netlist, validation, args.coverage)


def add_predict(commands: Any) -> None:
    """Add the command ``predict``."""
    parser = add_command(
        commands,
        "predict",
        _predict,
        "classify the rows of a table of any size",
        "trilut predict build/run/net.trilut new.csv -o answers.csv",
    )
    add_net(parser)
    parser.add_argument(
        "table",
        metavar="FILE",
        type=Path,
        help=".csv or .parquet with a column for each feature, in any order; - is stdin",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT.csv",
        type=Path,
        help="table of answers: class, margin, unknown, prediction set (of a calibrated netlist), "
        "scores; default, or -: stdout",
    )
    parser.add_argument(
        "--certain",
        action="store_true",
        help="a column that says 1 where no value of a missing feature could change the class",
    )
    add_header(parser)
    _add_engine(parser)
    add_json(parser)


def _predict(args: argparse.Namespace) -> None:
    from trilut.app.console import stages
    from trilut.app.predict import predict_file

    netlist = trilut.load(args.net)
    if args.output is None or str(args.output) == "-":
        if args.json:
            raise trilut.TrilutError("Answers on stdout are a table; with --json, name -o OUT.csv")
        predict_file(
            netlist, args.table, certain=args.certain, header=args.header, engine=args.engine
        )
        return
    with stages() as show:
        stage = show.start("predict")
        done = predict_file(
            netlist,
            args.table,
            args.output,
            certain=args.certain,
            header=args.header,
            engine=args.engine,
            progress=stage.update,
        )
        stage.finish(f"{done.rows} rows")
    rows = {"rows": str(done.rows), "abstained": str(done.unknown)}
    if done.certain is not None:
        rows["certain"] = str(done.certain)
    print_result(args, str(args.output), rows, done)


def _add_engine(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--engine",
        choices=["fast", "jax", "lookup", "reference"],
        default="fast",
        help="simulator; all give the same answers",
    )


def add_data(commands: Any) -> None:
    """Add the command ``data``."""
    parser = add_command(
        commands, "data", None, "list, fetch and describe data sets", "trilut data fetch mnist"
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    listing = add_command(
        actions, "list", _data_list, "list the data sets that have a name", "trilut data list"
    )
    fetching = add_command(
        actions,
        "fetch",
        _data_fetch,
        "download data sets into the cache (TRILUT_CACHE, or the user's own)",
        "trilut data fetch mnist",
    )
    fetching.add_argument("names", metavar="NAME", nargs="+", help="name of a data set")
    fetching.add_argument("--again", action="store_true", help="download what is there, too")
    describing = add_command(
        actions,
        "info",
        _data_info,
        "describe a data set",
        "trilut data info gaussians:separation=2",
    )
    add_dataset(describing)
    describing.add_argument("--seed", metavar="N", type=seed, default=0, help="seed of its split")
    describing.add_argument(
        "--delta",
        metavar="D,D,…",
        type=shares,
        default=(),
        help="show the best accuracy behind encoders with UNKNOWN bands of these widths, too",
    )
    describing.add_argument(
        "--thresholds", metavar="K", type=positive, default=3, help="thresholds of the encoders"
    )
    describing.add_argument(
        "--spacing",
        choices=get_args(Spacing),
        default="uniform",
        help="what the thresholds cut into equal parts: the range or the samples",
    )
    for action in (listing, fetching, describing):
        add_json(action)


def _data_list(args: argparse.Namespace) -> None:
    from trilut.data import dataset_origins

    origins = dataset_origins()
    print_result(args, "data sets", origins, origins)


def _data_fetch(args: argparse.Namespace) -> None:
    from trilut.app.console import stages
    from trilut.data import fetch_dataset

    places: dict[str, str] = {}
    with stages() as show:
        for name in args.names:
            stage = show.start(name)
            places[name] = str(fetch_dataset(name, again=args.again, progress=stage.step))
            stage.finish(places[name])
    print_result(args, "fetched", places, places)


def _data_info(args: argparse.Namespace) -> None:
    from trilut.data import dataset_facts, load_dataset
    from trilut.report.summary import dataset_rows, encoding_text

    dataset = load_dataset(dataset_name(args.dataset, args), seed=args.seed)
    facts = dataset_facts(dataset)
    rows = dataset_rows(facts)
    if args.delta:
        from trilut.training.encoding import fit_encoder, measure_encoding

        facts["encodings"] = {}
        for delta in args.delta:
            encoder = fit_encoder(
                dataset.train.x,
                dataset.feature_names,
                thresholds=args.thresholds,
                delta=delta,
                spacing=args.spacing,
            )
            measure = measure_encoding(encoder, dataset)
            facts["encodings"][f"{delta:g}"] = measure
            rows[f"encoded, delta {delta:g}"] = encoding_text(measure)
    print_result(args, facts["name"], rows, facts)
