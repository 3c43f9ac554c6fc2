"""The command ``engine``: models for the processor that runs netlists from memory."""

import argparse
import dataclasses
from pathlib import Path
from typing import Any

from trilut.commands.options import (
    above_0,
    add_command,
    add_json,
    add_net,
    add_output,
    positive,
    print_result,
)

__all__ = ["add_engine"]

# As in trilut.hdl.engine.size, which needs Amaranth; `--help` does not.
_SIZES = (
    ("samples", 8, "samples computed side by side: 1, 2, 4 … 64"),
    ("lanes", 1, "gates computed at a time: 1, 2, 4 or 8"),
    ("entries", 2048, "entries of the value memory"),
    ("instructions", 16384, "instructions of the program memory, of two models together"),
    ("value-bits", 8, "bits of a feature"),
    ("score-bits", 12, "bits of a score"),
    ("classes", 16, "most classes"),
)


def add_engine(commands: Any) -> None:
    """Add the command ``engine``."""
    parser = add_command(
        commands,
        "engine",
        None,
        "compile netlists for the engine, which runs any of them from memory",
        "trilut engine compile build/run/net.trilut -o model.bin",
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    _add_compile(actions)
    _add_info(actions)
    _add_run(actions)
    _add_verilog(actions)
    _add_verify(actions)
    _add_synth(actions)


def _add_compile(actions: Any) -> None:
    parser = add_command(
        actions,
        "compile",
        _compile,
        "compile a netlist to a model of the engine",
        "trilut engine compile build/run/net.trilut -o model.bin",
    )
    add_net(parser)
    parser.add_argument(
        "-o", "--output", metavar="MODEL", type=Path, required=True, help="model file to write"
    )
    parser.add_argument(
        "--lanes", type=int, choices=(1, 2, 4, 8), default=1, help="gates computed at a time"
    )
    add_json(parser)


def _add_info(actions: Any) -> None:
    parser = add_command(
        actions, "info", _info, "describe a model of the engine", "trilut engine info model.bin"
    )
    _add_model(parser)
    add_json(parser)


def _add_run(actions: Any) -> None:
    parser = add_command(
        actions,
        "run",
        _run,
        "run a model on samples, instruction by instruction in plain Python",
        "trilut engine run model.bin mnist",
    )
    _add_model(parser)
    _add_data(parser)
    add_json(parser)


def _add_data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "data",
        metavar="DATA",
        nargs="?",
        help="data set or table; default: what the netlist was trained on",
    )
    parser.add_argument(
        "--part",
        choices=("train", "validation", "test", "all"),
        help="which samples; default: test, or all of another table",
    )


def _add_verilog(actions: Any) -> None:
    parser = add_command(
        actions,
        "verilog",
        _verilog,
        "write the Verilog of an engine",
        "trilut engine verilog --samples 8 -o build/engine",
    )
    _add_size(parser)
    add_output(parser, "trilut_engine.v")


def _add_verify(actions: Any) -> None:
    parser = add_command(
        actions,
        "verify",
        _verify,
        "run a model through the engine's Verilog, and compare every answer",
        "trilut engine verify model.bin --samples 8",
    )
    _add_model(parser)
    _add_data(parser)
    _add_size(parser)
    parser.add_argument("--most", metavar="N", type=positive, help="take the first N samples")
    add_json(parser)


def _add_synth(actions: Any) -> None:
    parser = add_command(
        actions,
        "synth",
        _synth,
        "place and route an engine, and say how fast a model is on it",
        "trilut engine synth model.bin --target ecp5 --samples 8 -o build/engine",
    )
    parser.add_argument(
        "model", metavar="MODEL", type=Path, nargs="?", help="model file; default: none"
    )
    parser.add_argument("--target", metavar="NAME", required=True, help="part, as of trilut synth")
    parser.add_argument(
        "--frequency", metavar="MHZ", type=above_0, default=100.0, help="clock to aim at"
    )
    parser.add_argument(
        "--timeout", metavar="S", type=above_0, default=3600.0, help="seconds for each tool"
    )
    _add_size(parser)
    add_output(parser, "the Verilog, scripts and logs")
    add_json(parser)


def _add_size(parser: argparse.ArgumentParser) -> None:
    """Add the sizes of an engine; the defaults are those of ``EngineSize``."""
    sizes = parser.add_argument_group("size of the engine")
    for name, default, summary in _SIZES:
        sizes.add_argument(f"--{name}", metavar="N", type=positive, default=default, help=summary)


def _size(args: argparse.Namespace) -> Any:
    from trilut.hdl.engine import EngineSize

    names = [name.replace("-", "_") for name, *_ in _SIZES]
    return EngineSize(**{name: getattr(args, name) for name in names})


def _add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", type=Path, help="model file")


def _compile(args: argparse.Namespace) -> None:
    from trilut.app.engine import compile_file

    _print_facts(args, str(args.output), compile_file(args.net, args.output, lanes=args.lanes))


def _info(args: argparse.Namespace) -> None:
    from trilut.engine import load_image

    _print_facts(args, str(args.model), load_image(args.model))


def _print_facts(args: argparse.Namespace, title: str, image: Any) -> None:
    from trilut.app.engine import model_facts

    facts = model_facts(image)
    rows = {
        name: f"{fact:.1%}" if isinstance(fact, float) else str(fact)
        for name, fact in facts.items()
    }
    print_result(args, title, rows, {name.replace(" ", "_"): fact for name, fact in facts.items()})


def _run(args: argparse.Namespace) -> None:
    from trilut.app.engine import run_model

    result = run_model(args.model, args.data, args.part)
    rows = {
        "samples": str(result.samples),
        "accuracy": f"{result.accuracy:.2%}",
        "abstained": f"{result.abstained:.2%}",
    }
    print_result(args, result.title, rows, dataclasses.asdict(result))


def _verilog(args: argparse.Namespace) -> None:
    from trilut.hdl.engine import write_engine

    print(write_engine(_size(args), args.output))


def _verify(args: argparse.Namespace) -> int:
    from trilut.app.engine import verify_model

    title, check = verify_model(args.model, _size(args), args.data, args.part, most=args.most)
    rows = {
        "samples": str(check.samples),
        "wrong": str(check.wrong),
        "cycles a sample": f"{check.cycles / max(1, check.samples):.1f}",
    }
    print_result(args, title, rows, dataclasses.asdict(check))
    return int(check.wrong > 0)


def _synth(args: argparse.Namespace) -> None:
    from trilut.app.engine import synthesize_engine

    result = synthesize_engine(
        _size(args),
        args.target,
        args.output,
        args.model,
        frequency=args.frequency,
        timeout=args.timeout,
    )
    synthesis, rate = result.synthesis, result.samples_per_second
    rows = {
        name: f"{used.used} of {used.available}" for name, used in synthesis.utilization.items()
    }
    if synthesis.timing is not None:
        rows["MHz"] = f"{synthesis.timing.fmax_mhz:.1f}"
    if rate is not None:
        rows["samples a second"] = f"{rate:,.0f}"
    print_result(args, f"engine on {synthesis.title}", rows, result)
