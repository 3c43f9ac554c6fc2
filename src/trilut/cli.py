"""The command line."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import trilut
from trilut import interrupt
from trilut.errors import TrilutError

__all__ = ["main", "run"]

_INTERRUPTED = 130

# As in trilut.training.config, which cannot be asked here: `--help` must not wait for JAX.
_RECIPES = ["hard", "paper", "paper-then-hard", "noise", "dlgn", "dlgn-naive"]
_WIRINGS = ["random", "unique", "local", "learned"]


def run() -> NoReturn:
    """Run the command line as a program."""
    interrupt.install()
    status = main()
    sys.stdout.flush()
    if status == _INTERRUPTED:
        # An interrupt inside an import can leave the interpreter believing that nobody handled it.
        os._exit(status)
    sys.exit(status)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    args = _parser().parse_args(argv)
    try:
        status: int | None = args.run(args)
    except TrilutError as error:
        # One line, whatever a file name or a tool's message may contain.
        print(f"trilut: error: {' '.join(str(error).split())}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader has gone, as `head` does. What is still to be flushed goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("trilut: interrupted", file=sys.stderr)
        return _INTERRUPTED
    return status or 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="trilut",
        description="RTL for FPGA and ASIC from trained ternary logic gate networks.",
        epilog="example: trilut flow moons -o build/moons",
    )
    parser.add_argument("--version", action="version", version=f"trilut {trilut.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for add in (
        _add_flow,
        _add_train,
        _add_eval,
        _add_info,
        _add_optimize,
        _add_verilog,
        _add_verify,
        _add_trace,
        _add_wave,
        _add_faults,
        _add_compare,
        _add_synth,
        _add_gate,
        _add_data,
    ):
        add(commands)
    return parser


def _command(
    commands: Any, name: str, run: Any, summary: str, example: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        epilog=f"example: {example}",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def _add_net(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("net", metavar="NET", type=Path, help="netlist file, NAME.trilut")


def _add_dataset(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "dataset",
        metavar="DATASET",
        help="name of a data set, or a file: .csv, .npz, or a directory of images",
    )
    _add_label(parser)


def _add_label(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--label", metavar="COLUMN", help="column of a .csv with the classes; default: the last"
    )


def _with_label(dataset: str, label: str | None) -> str:
    """Return the name that stands for a table with this label column."""
    return dataset if label is None else f"{dataset}:label={label}"


def _add_output(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument(
        "-o", "--output", metavar="DIR", type=Path, required=True, help=f"directory for {what}"
    )


def _add_training_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that become a TrainingConfig; left out, the data set's own defaults hold."""
    options = parser.add_argument_group("training (defaults depend on the data set)")
    options.add_argument("--recipe", choices=_RECIPES, help="how the gates are trained")
    options.add_argument("--layers", metavar="N,N,…", type=_layers, help="gates of each layer")
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
    options.add_argument("--delta", metavar="D", type=float, help="width of the UNKNOWN band, 0…1")
    options.add_argument("--valence", metavar="Q", type=int, help="truth values: 3, or 2")
    options.add_argument("--steps", metavar="N", type=int, help="number of batches")
    options.add_argument("--batch", metavar="N", type=int, help="samples in a batch")
    options.add_argument("--learning-rate", metavar="R", type=float, help="step size of Adam")
    options.add_argument("--seed", metavar="N", type=int, help="seed of data, wiring and training")
    options.add_argument(
        "--resume", action="store_true", help="go on from the checkpoint in DIR, if there is one"
    )


def _layers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(width) for width in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a list of numbers like 64,64,32"
        ) from None


def _shares(text: str) -> tuple[float, ...]:
    try:
        shares = tuple(float(share) for share in text.split(","))
    except ValueError:
        shares = (-1.0,)
    if not all(0 <= share <= 1 for share in shares):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of shares 0…1 like 0.1,0.2")
    return shares


def _training_settings(args: argparse.Namespace) -> dict[str, Any]:
    names = (
        *("recipe", "layers", "wiring", "window", "candidates", "distance_cost", "skip"),
        *("output_layers", "thresholds", "delta", "valence", "steps", "batch", "learning_rate"),
        "seed",
    )
    return {name: getattr(args, name) for name in names if getattr(args, name) is not None}


def _add_hardware_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--pipeline",
        metavar="N",
        type=_positive,
        default=2,
        help="layers between registers",
    )


def _positive(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return int(text)


def _number_or_auto(text: str) -> int | str:
    return text if text == "auto" else _positive(text)


def _add_flow(commands: Any) -> None:
    parser = _command(
        commands,
        "flow",
        _flow,
        "train, harden, write Verilog, verify it, place and route it, and report",
        "trilut flow moons -o build/moons",
    )
    _add_dataset(parser)
    _add_output(parser, "netlist, Verilog and reports")
    _add_training_options(parser)
    _add_hardware_options(parser)
    parser.add_argument("--target", metavar="NAME", default="ecp5", help="synthesis target")
    _add_json(parser)


def _flow(args: argparse.Namespace) -> int:
    from trilut.flow import run_flow

    report = run_flow(
        _with_label(args.dataset, args.label),
        args.output,
        settings=_training_settings(args),
        pipeline=args.pipeline,
        target=args.target,
        resume=args.resume,
    )
    _print(args, report.title, report.summary, report.document)
    return 0 if report.passed else 1


def _add_train(commands: Any) -> None:
    parser = _command(
        commands,
        "train",
        _train,
        "train a network and harden it to a netlist",
        "trilut train moons --recipe hard -o build/run",
    )
    _add_dataset(parser)
    _add_output(parser, "net.trilut, metrics.jsonl and checkpoints")
    _add_training_options(parser)
    _add_json(parser)


def _train(args: argparse.Namespace) -> None:
    from trilut.flow import train_to_directory
    from trilut.summary import accuracy_rows

    dataset = _with_label(args.dataset, args.label)
    settings = _training_settings(args)
    trained = train_to_directory(dataset, args.output, settings, resume=args.resume)
    _print(args, f"{args.dataset}: test set", accuracy_rows(trained.accuracy), trained.accuracy)


def _add_eval(commands: Any) -> None:
    parser = _command(
        commands,
        "eval",
        _eval,
        "measure a netlist on a data set",
        "trilut eval build/run/net.trilut --data moons --drop 0.1,0.2 --control",
    )
    _add_net(parser)
    parser.add_argument(
        "--data", metavar="DATASET", help="name or file of a data set; default: the trained one"
    )
    _add_label(parser)
    parser.add_argument("--seed", metavar="N", type=int, help="seed of the data set")
    parser.add_argument(
        "--part",
        choices=["train", "validation", "test", "all"],
        help="which samples; default: test, but all of a file that it was not trained on",
    )
    parser.add_argument(
        "--drop",
        metavar="P,P,…",
        type=_shares,
        default=(),
        help="measure with this share of the features missing, too",
    )
    parser.add_argument(
        "--control", action="store_true", help="measure the same wiring with random gates, too"
    )
    parser.add_argument(
        "--engine",
        choices=["fast", "jax", "lookup", "reference"],
        default="fast",
        help="simulator; all give the same answers",
    )
    _add_json(parser)


def _eval(args: argparse.Namespace) -> None:
    from trilut.data.files import is_table_name
    from trilut.evaluation import (
        default_part,
        evaluate_split,
        is_own_file,
        missing_curve,
        samples_for,
        table_samples,
        untrained,
    )
    from trilut.flow import netlist_dataset
    from trilut.summary import control_rows, evaluation_rows, missing_rows, plain

    netlist = trilut.load(args.net)
    name = None if args.data is None else _with_label(args.data, args.label)
    part = args.part or default_part(netlist, name)
    if args.label is None and is_own_file(netlist, name):
        # By the name that it remembers, the label column and the seed of the split come too.
        name = None
    if name is not None and part == "all" and is_table_name(name):
        split = table_samples(netlist, name)
    else:
        dataset = netlist_dataset(netlist, name=name, seed=args.seed)
        name, split = dataset.name, samples_for(netlist, dataset, part=part)
    evaluation = evaluate_split(netlist, split, engine=args.engine)
    rows, document = evaluation_rows(evaluation), plain(evaluation)
    if args.drop:
        points = missing_curve(netlist, split, dropped=args.drop, engine=args.engine)
        rows, document = rows | missing_rows(points), document | {"missing": points}
    if args.control:
        control = evaluate_split(untrained(netlist), split, engine=args.engine)
        rows, document = rows | control_rows(control), document | {"untrained": control}
    samples = f"all {len(split)} samples" if part == "all" else f"the {part} set"
    _print(args, f"{netlist.name} on {samples} of {name}", rows, document)


def _add_info(commands: Any) -> None:
    parser = _command(
        commands, "info", _info, "describe a netlist", "trilut info build/run/net.trilut"
    )
    _add_net(parser)
    _add_json(parser)


def _info(args: argparse.Namespace) -> None:
    from trilut.summary import netlist_facts

    netlist = trilut.load(args.net)
    facts = netlist_facts(netlist)
    _print(args, netlist.name, {key: str(value) for key, value in facts.items()}, facts)


def _add_optimize(commands: Any) -> None:
    parser = _command(
        commands,
        "optimize",
        _optimize,
        "write a smaller netlist with the same outputs",
        "trilut optimize build/run/net.trilut -o build/small.trilut",
    )
    _add_net(parser)
    parser.add_argument(
        "-o", "--output", metavar="NET", type=Path, required=True, help="netlist file to write"
    )
    parser.add_argument(
        "--lossy",
        action="store_true",
        help="also drop behaviour that no training sample shows, and report what that costs",
    )
    parser.add_argument(
        "--feature-bits",
        metavar="N|auto",
        type=_number_or_auto,
        help="narrower features; auto: the fewest bits that lose at most 0.1 pp in validation",
    )
    _add_json(parser)


def _optimize(args: argparse.Namespace) -> None:
    from trilut.flow import optimize_file

    facts = optimize_file(args.net, args.output, lossy=args.lossy, feature_bits=args.feature_bits)
    _print(args, str(args.output), {key: str(value) for key, value in facts.items()}, facts)


def _add_verilog(commands: Any) -> None:
    parser = _command(
        commands,
        "verilog",
        _verilog,
        "write Verilog for a netlist",
        "trilut verilog build/run/net.trilut -o build/rtl",
    )
    _add_net(parser)
    _add_output(parser, "the Verilog file")
    _add_hardware_options(parser)
    parser.add_argument(
        "--input",
        choices=["features", "trits"],
        help="what enters; default: features if the netlist has an encoder",
    )
    parser.add_argument("--top", metavar="NAME", default="trilut_top", help="name of the module")
    parser.add_argument(
        "--no-optimize", action="store_true", help="build every gate of the netlist as it is"
    )
    parser.add_argument(
        "--axi",
        metavar="BITS",
        type=_positive,
        help="AXI4-Streams at both ends, with input beats of so many bits, a multiple of 8",
    )
    parser.add_argument(
        "--sums",
        choices=["generic", "carry", "ecp5", "xilinx"],
        default="generic",
        help="what adds the trits: any logic, or the carry chains of a family",
    )
    parser.add_argument("--scores", action="store_true", help="a port with the class scores")
    parser.add_argument(
        "--margin-port", action="store_true", help="a port that sets the abstention margin"
    )
    parser.add_argument(
        "--logic-only",
        action="store_true",
        help="a combinational module of the gates alone, trits in and out",
    )
    parser.add_argument(
        "--format",
        choices=["verilog", "rtlil", "blif", "blif-mv"],
        default="verilog",
        help="language; blif and blif-mv hold the gates only",
    )
    _add_json(parser)


def _verilog(args: argparse.Namespace) -> None:
    from trilut.flow import write_blif
    from trilut.hdl import DesignFormat, InputKind, write_logic, write_verilog

    if args.format in ("blif", "blif-mv"):
        path = write_blif(args.net, args.output, args.format, top=args.top)
        _print(args, args.format, {"file": str(path)}, {"file": str(path)})
        return
    if args.logic_only:
        path = write_logic(
            trilut.load(args.net), args.output, top=args.top, optimized=not args.no_optimize
        )
        _print(args, "logic", {"file": str(path)}, {"file": str(path)})
        return
    if args.axi is not None and args.axi % 8:
        raise TrilutError(f"Beats of an AXI stream are whole bytes, not {args.axi} bits")
    design = write_verilog(
        trilut.load(args.net),
        args.output,
        top=args.top,
        pipeline=args.pipeline,
        input_kind=InputKind(args.input) if args.input else None,
        optimized=not args.no_optimize,
        target=args.sums,
        scores=args.scores,
        margin_port=args.margin_port,
        axi_beat_bits=args.axi,
        design_format=DesignFormat[args.format.upper()],
    )
    facts = {
        "file": str(design.path),
        "top": design.top,
        "input": str(design.input_kind),
        "latency_cycles": design.latency,
    }
    _print(args, "Verilog", {key: str(value) for key, value in facts.items()}, facts)


def _add_verify(commands: Any) -> None:
    parser = _command(
        commands,
        "verify",
        _verify,
        "simulate the Verilog of a netlist against the reference, bit for bit",
        "trilut verify build/run/net.trilut",
    )
    _add_net(parser)
    _add_hardware_options(parser)
    parser.add_argument("--data", metavar="NAME", help="data set; default: the trained one")
    parser.add_argument(
        "--random", metavar="N", type=_positive, default=10_000, help="number of random vectors"
    )
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="seed of the stimulus")
    parser.add_argument(
        "--simulator",
        choices=["verilator", "icarus"],
        default="verilator",
        help="Verilog simulator",
    )
    parser.add_argument(
        "-o", "--output", metavar="DIR", type=Path, help="directory for the log; default: none kept"
    )
    _add_json(parser)


def _verify(args: argparse.Namespace) -> int:
    from trilut.flow import verify_file

    result = verify_file(
        args.net,
        output=args.output,
        pipeline=args.pipeline,
        data=args.data,
        num_random=args.random,
        seed=args.seed,
        simulator=args.simulator,
    )
    from trilut.summary import verification_rows

    _print(args, f"{args.net.name}: RTL against reference", verification_rows(result), result)
    return 0 if result["passed"] else 1


def _add_samples(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose the test samples of a data set."""
    parser.add_argument(
        "--data", metavar="DATASET", help="name or file of a data set; default: the trained one"
    )
    _add_label(parser)
    parser.add_argument("--seed", metavar="N", type=int, help="seed of the data set")


def _test_samples(args: argparse.Namespace, netlist: trilut.Netlist) -> Any:
    from trilut.evaluation import samples_for
    from trilut.flow import netlist_dataset

    name = None if args.data is None else _with_label(args.data, args.label)
    return samples_for(netlist, netlist_dataset(netlist, name=name, seed=args.seed)).x


def _add_trace(commands: Any) -> None:
    parser = _command(
        commands,
        "trace",
        _trace,
        "say why an output has its value: the gates and inputs that made it so",
        "trilut trace build/run/net.trilut --sample 3 --output 0",
    )
    _add_net(parser)
    _add_samples(parser)
    parser.add_argument("--sample", metavar="N", type=int, default=0, help="which test sample")
    parser.add_argument(
        "--values", metavar="X,X,…", type=_values, help="feature values instead; nan: missing"
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--output", metavar="K", type=int, help="output; default: an UNKNOWN one")
    which.add_argument("--number", metavar="N", type=int, help="net instead of an output")
    _add_json(parser)


def _values(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(value) for value in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a list of numbers like 0.5,nan,3"
        ) from None


def _trace(args: argparse.Namespace) -> None:
    from trilut.sim import trace_output
    from trilut.summary import plain

    netlist = trilut.load(args.net)
    samples = [args.values] if args.values else _test_samples(args, netlist)
    sample = 0 if args.values else args.sample
    found = trace_output(netlist, samples, sample, output=args.output, number=args.number)
    print(json.dumps(plain(found), indent=2) if args.json else found.text())


def _add_wave(commands: Any) -> None:
    parser = _command(
        commands,
        "wave",
        _wave,
        "write the values of nets as a waveform, a VCD file",
        "trilut wave build/run/net.trilut -o build/net.vcd --samples 100",
    )
    _add_net(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, required=True, help="VCD file to write"
    )
    _add_samples(parser)
    parser.add_argument(
        "--samples", metavar="N", type=_positive, default=100, help="number of test samples"
    )
    parser.add_argument(
        "--nets", metavar="N,N,…", type=_layers, help="nets; default: all inputs and outputs"
    )
    _add_json(parser)


def _wave(args: argparse.Namespace) -> None:
    from trilut.sim import write_vcd

    netlist = trilut.load(args.net)
    samples = _test_samples(args, netlist)[: args.samples]
    nets = {f"net_{net}": net for net in args.nets} if args.nets else None
    write_vcd(netlist, samples, args.output, nets=nets)
    facts = {"file": str(args.output), "samples": len(samples)}
    _print(args, "waveform", {key: str(value) for key, value in facts.items()}, facts)


def _add_faults(commands: Any) -> None:
    parser = _command(
        commands,
        "faults",
        _faults,
        "simulate faults of nets, one at a time, and list those that matter most",
        "trilut faults build/run/net.trilut --models stuck_true,stuck_false",
    )
    _add_net(parser)
    _add_samples(parser)
    parser.add_argument(
        "--samples", metavar="N", type=_positive, default=200, help="number of test samples"
    )
    parser.add_argument(
        "--models",
        metavar="M,M,…",
        default="stuck_false,stuck_true",
        help="of stuck_false, stuck_unknown, stuck_true, flip_plus, flip_minus, negated",
    )
    parser.add_argument(
        "--worst", metavar="N", type=_positive, default=10, help="number of faults to list"
    )
    _add_json(parser)


def _faults(args: argparse.Namespace) -> None:
    from trilut.sim import fault_survey

    netlist = trilut.load(args.net)
    samples = _test_samples(args, netlist)[: args.samples]
    survey = fault_survey(netlist, samples, args.models.split(","), num_worst=args.worst)
    _print(args, f"faults of {netlist.name}", survey.rows(), survey.document())


def _add_compare(commands: Any) -> None:
    parser = _command(
        commands,
        "compare",
        _compare,
        "look for an input on which two netlists differ",
        "trilut compare build/run/net.trilut build/small.trilut",
    )
    _add_net(parser)
    parser.add_argument("other", metavar="NET", type=Path, help="netlist to compare with")
    parser.add_argument(
        "--random", metavar="N", type=_positive, default=100_000, help="number of random inputs"
    )
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="seed of the inputs")
    _add_json(parser)


def _compare(args: argparse.Namespace) -> int:
    from trilut.sim import compare

    result = compare(
        trilut.load(args.net), trilut.load(args.other), num_random=args.random, seed=args.seed
    )
    _print(args, f"{args.net.name} and {args.other.name}", result.rows(), result)
    return 0 if result.counterexample is None else 1


def _add_synth(commands: Any) -> None:
    parser = _command(
        commands,
        "synth",
        _synth,
        "synthesise, place and route a netlist",
        "trilut synth build/run/net.trilut --target ecp5 -o build/synth",
    )
    parser.add_argument("net", metavar="NET", type=Path, nargs="?", help="netlist file")
    parser.add_argument("--list", action="store_true", help="list the targets and stop")
    parser.add_argument("--target", metavar="NAME", default="ecp5", help="target name or file")
    parser.add_argument(
        "--pipeline",
        metavar="N|auto",
        type=_number_or_auto,
        default=2,
        help="layers between registers; auto: the most that meet the frequency",
    )
    parser.add_argument("--seed", metavar="N", type=int, default=1, help="seed of the placer")
    parser.add_argument(
        "--frequency", metavar="MHZ", type=float, default=200.0, help="clock frequency to aim at"
    )
    parser.add_argument(
        "-o", "--output", metavar="DIR", type=Path, help="directory for logs and reports"
    )
    _add_json(parser)


def _synth(args: argparse.Namespace) -> int | None:
    from trilut.synth import target_names

    if args.list:
        _print(args, "targets", dict.fromkeys(target_names(), ""), list(target_names()))
        return None
    if args.net is None or args.output is None:
        print("trilut synth: error: NET and -o DIR are required", file=sys.stderr)
        return 2
    from trilut.flow import synthesize_file
    from trilut.summary import synthesis_rows

    result = synthesize_file(
        args.net,
        args.output,
        target=args.target,
        pipeline=args.pipeline,
        frequency=args.frequency,
        seed=args.seed,
    )
    _print(args, f"{args.net.name} on {args.target}", synthesis_rows(result), result)
    return None


def _add_gate(commands: Any) -> None:
    parser = _command(
        commands,
        "gate",
        _gate,
        "describe a ternary gate",
        "trilut gate and, or: trilut gate 15633, or: trilut gate -- ----00-0+",
    )
    parser.add_argument(
        "gate", metavar="ID|NAME|TABLE", help="an id, a name, or nine of the characters -0+"
    )
    _add_json(parser)


def _gate(args: argparse.Namespace) -> None:
    from trilut.gates import parse_gate
    from trilut.summary import gate_facts

    facts = gate_facts(parse_gate(args.gate))
    _print(args, f"gate {facts['id']}", {key: str(value) for key, value in facts.items()}, facts)


def _add_data(commands: Any) -> None:
    parser = _command(
        commands, "data", None, "list, fetch and describe data sets", "trilut data fetch mnist"
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    listing = _command(
        actions, "list", _data_list, "list the data sets that have a name", "trilut data list"
    )
    fetching = _command(
        actions,
        "fetch",
        _data_fetch,
        "download data sets into the cache (TRILUT_CACHE, or the user's own)",
        "trilut data fetch mnist",
    )
    fetching.add_argument("names", metavar="NAME", nargs="+", help="name of a data set")
    fetching.add_argument("--again", action="store_true", help="download what is there, too")
    describing = _command(
        actions,
        "info",
        _data_info,
        "describe a data set",
        "trilut data info gaussians:separation=2",
    )
    _add_dataset(describing)
    describing.add_argument("--seed", metavar="N", type=int, default=0, help="seed of its split")
    describing.add_argument(
        "--delta",
        metavar="D,D,…",
        type=_shares,
        default=(),
        help="show the best accuracy behind encoders with UNKNOWN bands of these widths, too",
    )
    describing.add_argument(
        "--thresholds", metavar="K", type=_positive, default=3, help="thresholds of the encoders"
    )
    describing.add_argument(
        "--spacing",
        choices=["uniform", "quantile"],
        default="uniform",
        help="what the thresholds cut into equal parts: the range or the samples",
    )
    for action in (listing, fetching, describing):
        _add_json(action)


def _data_list(args: argparse.Namespace) -> None:
    from trilut.data import dataset_origins

    origins = dataset_origins()
    _print(args, "data sets", origins, origins)


def _data_fetch(args: argparse.Namespace) -> None:
    from trilut.console import stages
    from trilut.data import fetch_dataset

    places: dict[str, str] = {}
    with stages() as show:
        for name in args.names:
            stage = show.start(name)
            places[name] = str(fetch_dataset(name, again=args.again, progress=stage.step))
            stage.finish(places[name])
    _print(args, "fetched", places, places)


def _data_info(args: argparse.Namespace) -> None:
    from trilut.data import dataset_facts, load_dataset
    from trilut.summary import dataset_rows, encoding_text

    dataset = load_dataset(args.dataset, seed=args.seed, label=args.label)
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
    _print(args, facts["name"], rows, facts)


def _print(args: argparse.Namespace, title: str, rows: dict[str, str], document: object) -> None:
    """Print a result as a table, or as JSON if that was asked for."""
    if args.json:
        from trilut.summary import plain

        print(json.dumps(plain(document), indent=2))
        return
    from trilut.console import print_table

    print_table(title, rows)
