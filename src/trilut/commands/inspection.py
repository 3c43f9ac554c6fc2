"""Commands that look into netlists."""

import argparse
import json
from pathlib import Path
from typing import Any

import trilut
from trilut.commands.hardware_options import add_pipeline, add_trust
from trilut.commands.options import (
    add_command,
    add_json,
    add_label,
    add_net,
    dataset_name,
    numbers,
    positive,
    print_result,
    print_tables,
    seed,
)
from trilut.extras import missing
from trilut.text import visible

__all__ = [
    "add_compare",
    "add_explorer",
    "add_faults",
    "add_gate",
    "add_info",
    "add_report",
    "add_trace",
    "add_wave",
]


def add_info(commands: Any) -> None:
    """Add the command ``info``."""
    parser = add_command(
        commands,
        "info",
        _info,
        "describe a netlist, and estimate its area",
        "trilut info build/run/net.trilut",
    )
    add_net(parser)
    parser.add_argument(
        "--gates", action="store_true", help="describe its gates, too, beside as many random ones"
    )
    add_pipeline(parser)
    add_trust(parser)
    add_json(parser)


def _info(args: argparse.Namespace) -> None:
    from trilut.measure.analysis import analyze
    from trilut.report.analysis import analysis_tables
    from trilut.report.origin import origin_rows
    from trilut.report.summary import netlist_facts, netlist_rows, plain
    from trilut.report.tables import two_columns

    netlist = trilut.load(args.net)
    facts = netlist_facts(netlist)
    estimates = _estimates(netlist, args)
    guesses = {f"estimate, {part}": guess.text for part, guess in estimates.items()}
    rows = netlist_rows(facts) | origin_rows(netlist.provenance) | guesses
    tables = [two_columns(netlist.name, rows)]
    facts["provenance"] = dict(netlist.provenance)
    facts["estimate"] = {part: guess.to_dict() for part, guess in estimates.items()}
    # A machine reads all that there is.
    analysis = analyze(netlist) if args.gates or args.json else None
    if analysis is not None:
        facts["analysis"] = analysis
        tables += analysis_tables(analysis)
    print_tables(args, tables, plain(facts))


def _estimates(netlist: trilut.Netlist, args: argparse.Namespace) -> dict[str, Any]:
    """Return the cost on each kind of part, if what describes the hardware is installed."""
    if missing("amaranth"):
        from trilut.app.console import tell_missing

        tell_missing("The estimate of the area", "amaranth")
        return {}
    from trilut.hdl.estimate import PARTS, estimate

    ports = {"certain": args.certain, "prediction_set": args.prediction_set}
    return {part: estimate(netlist, part, pipeline=args.pipeline, **ports) for part in PARTS}


def add_report(commands: Any) -> None:
    """Add the command ``report``."""
    parser = add_command(
        commands,
        "report",
        _report,
        "write a page that shows a run: decisions, gates, circuit, and synthesis if there is any",
        "trilut report build/run",
    )
    parser.add_argument(
        "run_path",
        metavar="RUN",
        type=Path,
        help="run directory with net.trilut, or a netlist file",
    )
    parser.add_argument(
        "-o", "--output", metavar="DIR", type=Path, help="directory; default: beside the netlist"
    )
    parser.add_argument(
        "--data", metavar="DATASET", help="name or file of a data set; default: the trained one"
    )
    add_label(parser)
    parser.add_argument(
        "--rtl",
        metavar="DIR|FILE",
        type=Path,
        help="design of which to say whether it is the one that was verified and synthesised",
    )
    add_json(parser)


def _report(args: argparse.Namespace) -> None:
    from trilut.app.rundir import report_run

    data = None if args.data is None else dataset_name(args.data, args)
    report = report_run(args.run_path, output=args.output, data=data, rtl=args.rtl)
    run = args.run_path if args.run_path.is_dir() else args.run_path.parent
    page = (args.output or run) / "report.html"
    print_result(args, report.title, {**report.summary, "page": str(page)}, report.document)


def add_explorer(commands: Any) -> None:
    """Add the command ``explorer``."""
    parser = add_command(
        commands,
        "explorer",
        _explorer,
        "write a page that runs a circuit in the browser: inputs to set, nets that light up",
        "trilut explorer build/run/net.trilut -o build/explorer.html",
    )
    add_net(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, required=True, help="page to write"
    )
    parser.add_argument(
        "--data", metavar="DATASET", help="name or file of a data set; default: the trained one"
    )
    add_label(parser)
    parser.add_argument(
        "--samples", metavar="N", type=positive, default=24, help="number of test samples in it"
    )
    add_json(parser)


def _explorer(args: argparse.Namespace) -> None:
    from trilut.app.explorer import write_explorer

    data = None if args.data is None else dataset_name(args.data, args)
    num_samples = write_explorer(args.net, args.output, data=data, num_samples=args.samples)
    facts = {"page": str(args.output), "samples": num_samples}
    rows = {"page": str(args.output), "samples": str(num_samples)}
    print_result(args, "explorer", rows, facts)


def add_gate(commands: Any) -> None:
    """Add the command ``gate``."""
    parser = add_command(
        commands,
        "gate",
        _gate,
        "describe a ternary gate",
        "trilut gate and, or: trilut gate 15633, or: trilut gate -- ----00-0+",
    )
    parser.add_argument(
        "gate", metavar="ID|NAME|TABLE", help="an id, a name, or nine of the characters -0+"
    )
    add_json(parser)


def _gate(args: argparse.Namespace) -> None:
    from trilut.circuit.gates import parse_gate
    from trilut.measure.analysis import gate_properties
    from trilut.report.analysis import gate_rows
    from trilut.report.summary import gate_facts

    gate = parse_gate(args.gate)
    facts = gate_facts(gate) | gate_properties(gate)
    print_result(args, f"gate {facts['id']}", gate_rows(facts), facts)


def _add_samples(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose the test samples of a data set."""
    parser.add_argument(
        "--data", metavar="DATASET", help="name or file of a data set; default: the trained one"
    )
    add_label(parser)
    parser.add_argument("--seed", metavar="N", type=seed, help="seed of the data set")


def _test_samples(args: argparse.Namespace, netlist: trilut.Netlist) -> Any:
    from trilut.measure.matching import netlist_dataset, samples_for

    name = None if args.data is None else dataset_name(args.data, args)
    return samples_for(netlist, netlist_dataset(netlist, name=name, seed=args.seed)).x


def add_trace(commands: Any) -> None:
    """Add the command ``trace``."""
    parser = add_command(
        commands,
        "trace",
        _trace,
        "say why an output has its value: the gates and inputs that made it so",
        "trilut trace build/run/net.trilut --sample 3 --output 0",
    )
    add_net(parser)
    _add_samples(parser)
    parser.add_argument("--sample", metavar="N", type=int, default=0, help="which test sample")
    parser.add_argument(
        "--values", metavar="X,X,…", type=_values, help="feature values instead; nan: missing"
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--output", metavar="K", type=int, help="output; default: an UNKNOWN one")
    which.add_argument("--number", metavar="N", type=int, help="net instead of an output")
    add_json(parser)


def _values(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(value) for value in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a list of numbers like 0.5,nan,3"
        ) from None


def _trace(args: argparse.Namespace) -> None:
    from trilut.report.summary import plain
    from trilut.sim import trace_output

    netlist = trilut.load(args.net)
    samples = [args.values] if args.values else _test_samples(args, netlist)
    sample = 0 if args.values else args.sample
    found = trace_output(netlist, samples, sample, output=args.output, number=args.number)
    print(json.dumps(plain(found), indent=2) if args.json else visible(found.text()))


def add_wave(commands: Any) -> None:
    """Add the command ``wave``."""
    parser = add_command(
        commands,
        "wave",
        _wave,
        "write the values of nets as a waveform, a VCD file",
        "trilut wave build/run/net.trilut -o build/net.vcd --samples 100",
    )
    add_net(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, required=True, help="VCD file to write"
    )
    _add_samples(parser)
    parser.add_argument(
        "--samples", metavar="N", type=positive, default=100, help="number of test samples"
    )
    parser.add_argument(
        "--nets", metavar="N,N,…", type=numbers, help="nets; default: all inputs and outputs"
    )
    add_json(parser)


def _wave(args: argparse.Namespace) -> None:
    from trilut.sim import write_vcd

    netlist = trilut.load(args.net)
    samples = _test_samples(args, netlist)[: args.samples]
    nets = {f"net_{net}": net for net in args.nets} if args.nets else None
    write_vcd(netlist, samples, args.output, nets=nets)
    facts = {"file": str(args.output), "samples": len(samples)}
    print_result(args, "waveform", {key: str(value) for key, value in facts.items()}, facts)


def add_faults(commands: Any) -> None:
    """Add the command ``faults``."""
    parser = add_command(
        commands,
        "faults",
        _faults,
        "simulate faults of nets, one at a time, and list those that matter most",
        "trilut faults build/run/net.trilut --models stuck_true,stuck_false",
    )
    add_net(parser)
    _add_samples(parser)
    parser.add_argument(
        "--samples", metavar="N", type=positive, default=200, help="number of test samples"
    )
    parser.add_argument(
        "--models",
        metavar="M,M,…",
        default="stuck_false,stuck_true",
        help="of stuck_false, stuck_unknown, stuck_true, flip_plus, flip_minus, negated",
    )
    parser.add_argument(
        "--worst", metavar="N", type=positive, default=10, help="number of faults to list"
    )
    add_json(parser)


def _faults(args: argparse.Namespace) -> None:
    from trilut.sim import fault_survey

    netlist = trilut.load(args.net)
    samples = _test_samples(args, netlist)[: args.samples]
    survey = fault_survey(netlist, samples, args.models.split(","), num_worst=args.worst)
    print_result(args, f"faults of {netlist.name}", survey.rows(), survey.document())


def add_compare(commands: Any) -> None:
    """Add the command ``compare``."""
    parser = add_command(
        commands,
        "compare",
        _compare,
        "look for an input, or a sequence of them, on which two netlists differ",
        "trilut compare build/run/net.trilut build/small.trilut",
    )
    add_net(parser)
    parser.add_argument("other", metavar="NET", type=Path, help="netlist to compare with")
    parser.add_argument(
        "--random", metavar="N", type=positive, default=100_000, help="number of random inputs"
    )
    parser.add_argument("--seed", metavar="N", type=seed, default=0, help="seed of the inputs")
    add_json(parser)


def _compare(args: argparse.Namespace) -> int:
    from trilut.circuit.format import load_circuit
    from trilut.sim import compare_circuits

    a, b = load_circuit(args.net), load_circuit(args.other)
    result = compare_circuits(a, b, num_random=args.random, seed=args.seed)
    print_result(args, f"{args.net.name} and {args.other.name}", result.rows(), result)
    return 0 if result.counterexample is None else 1
