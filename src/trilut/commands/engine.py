"""The command ``engine``: models for the processor that runs netlists from memory."""

import argparse
import dataclasses
from pathlib import Path
from typing import Any

from trilut.commands.options import add_command, add_json, add_net, print_result

__all__ = ["add_engine"]


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
    add_lanes(parser)
    add_json(parser)


def add_lanes(parser: argparse.ArgumentParser) -> None:
    """Add the option for the number of lanes."""
    parser.add_argument(
        "--lanes", type=int, choices=(1, 2, 4, 8), default=1, help="gates computed at a time"
    )


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
    add_json(parser)


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
