"""Hardened accuracy with features missing: ternary circuits against binary ones.

Usage: python benchmarks/missing_features.py [--only digits] [--seeds N] [--quick] [-o DIR]

Ternary circuits take a missing feature as UNKNOWN; "kleene" ones have information-monotone gates
only. Binary circuits have to take it as small. They have the same layers, steps and wiring, and as
many thresholds as tell the same as the trits do; "binary" is trained by the recipe of the ternary
ones, DLGN by its own. Circuits are trained on whole samples, but for those that are "prepared":
they are trained with 0 to 50 % of the features missing, and chosen so. Those that are "filled"
never miss a feature: something in front of the circuit puts the median of the training set in its
place; prepared ones have been trained on copies that were filled so.

The accuracy is that on all samples of the test set; a circuit that abstains counts by its argmax.
Every value is lost on its own, and the same ones for all circuits. What is measured is written into
docs/trust-results.json, and a run that was interrupted goes on; `python benchmarks/trust_page.py`
makes docs/trust-results.md of it.
"""

import argparse
import itertools
from collections.abc import Sequence
from pathlib import Path

from trust_rows import (
    BINARY,
    DIRECTORY,
    RESULTS,
    SEEDS,
    SETS,
    Kept,
    Kind,
    circuit,
    load_set,
    median,
)

from trilut.measure.evaluation import missing_curve

DROPPED = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
KINDS = (
    *(Kind(recipe) for recipe in ("ternary", "kleene", *BINARY)),
    *(Kind(recipe, filled=True) for recipe in BINARY),
    *(Kind(recipe, prepared=False) for recipe in ("ternary", "kleene", *BINARY)),
    *(Kind(recipe, prepared=False, filled=True) for recipe in BINARY),
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", dest="directory", type=Path, default=DIRECTORY)
    parser.add_argument("--only", metavar="DATASET,…", default=",".join(SETS))
    parser.add_argument("--seeds", metavar="N", type=int, default=SEEDS)
    parser.add_argument("--quick", action="store_true", help="one seed, 50 steps: does it run?")
    args = parser.parse_args()
    directory = args.directory / "quick" if args.quick else args.directory
    kept = Kept(directory / RESULTS.name if args.quick else RESULTS)
    names, seeds = args.only.split(","), range(1 if args.quick else args.seeds)
    # A table cut short is then broad rather than deep.
    for is_prepared, seed, name in itertools.product((True, False), seeds, names):
        kinds = [kind for kind in KINDS if kind.prepared == is_prepared]
        measure(name, seed, kinds, directory, kept, quick=args.quick)


def measure(
    name: str, seed: int, kinds: Sequence[Kind], directory: Path, kept: Kept, *, quick: bool
) -> None:
    """Measure what has not been measured of one seed of a data set."""
    todo = [kind for kind in kinds if kept.find("missing", name, seed, str(kind)) is None]
    if not todo:
        return
    dataset = load_set(name, seed)
    for kind in todo:
        netlist = circuit(name, dataset, seed, kind, directory, quick=quick)
        fill = median(dataset) if kind.filled else None
        points = missing_curve(netlist, dataset.test, dropped=DROPPED, seed=seed, fill=fill)
        accuracies = [round(100 * point.accuracy, 3) for point in points]
        kept.add("missing", name, seed, str(kind), accuracies)
        print(f"{name}, seed {seed}, {kind}: {accuracies}", flush=True)


if __name__ == "__main__":
    main()
