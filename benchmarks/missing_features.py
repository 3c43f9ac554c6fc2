"""Hardened accuracy with features missing: ternary circuits against binary ones.

Usage: python benchmarks/missing_features.py [-o DIR] [--only digits] [--seeds N] [--quick]

Ternary circuits of the recipe hard take a missing feature as UNKNOWN. Binary ones of the recipe
dlgn, with the same layers and steps, have to take it as small; they have the same number of
thresholds, or as many as tell the same as the trits do. "Kleene" circuits are ternary with
information-monotone gates only. Circuits are trained on whole samples, but for those that are
"prepared": they are trained with 0 to 50 % of the features missing, and chosen so. Those that are
"filled" never miss a feature: something in front of the circuit puts the median of the training set
in its place; prepared ones have been trained on copies that were filled so.

The accuracy is that on all samples of the test set, in per cent, mean ± standard deviation over the
seeds; a circuit that abstains counts by its argmax. Every value is lost on its own, and the same
ones for all circuits. Tables are those of tables.py. What is measured is written into DIR, and a
run that was interrupted goes on.
"""

import argparse
import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tables import TABLES, load_table
from training_accuracy import spread, versions

from trilut import Netlist
from trilut.app.console import stages
from trilut.circuit.encoder import Encoder
from trilut.data import Dataset, Split, load_dataset
from trilut.files import make_directory, write_atomically
from trilut.measure.evaluation import missing_curve
from trilut.training import TrainingConfig, equal_information, fit_encoder, train

DROPPED = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
SETS = ("digits", "breast_cancer", "magic", "satimage", "spambase", "penbased")
# The best of 0.01, 0.02, 0.05, 0.1 and 0.2 on the validation sets, over both encoders.
BINARY = {"recipe": "dlgn", "learning_rate": 0.05}

Curves = dict[str, list[float]]
"""For each kind of circuit, its accuracies in per cent, one for each share dropped."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", dest="directory", type=Path, default=Path("build/missing"))
    parser.add_argument("--only", metavar="DATASET,…", default=",".join(SETS))
    parser.add_argument("--seeds", metavar="N", type=int, default=3, help="trainings of each kind")
    parser.add_argument("--quick", action="store_true", help="one seed, 50 steps: does it run?")
    args = parser.parse_args()
    make_directory(args.directory)
    settings = {"steps": 50, "evaluate_every": 25} if args.quick else {}
    seeds = range(1 if args.quick else args.seeds)
    used = versions()
    print(
        f"{used['machine']}, JAX {used['jax']}, Python {used['python']}, TriLUT {used['trilut']}; "
        f"{len(seeds)} seeds"
    )
    for name in args.only.split(","):
        curves = [measured(name, seed, settings, args.directory) for seed in seeds]
        print("", *table(name, curves), sep="\n", flush=True)


def measured(name: str, seed: int, settings: dict[str, Any], directory: Path) -> Curves:
    """Measure one seed of a data set, unless that was done before."""
    path = directory / f"{name}-{seed}{'-quick' if settings else ''}.json"
    if not path.exists():
        dataset = (
            load_table(name, seed, directory)
            if name in TABLES and name != "breast_cancer"
            else load_dataset(name, seed=seed)
        )
        write_atomically(path, json.dumps(measure(dataset, seed, settings), indent=1) + "\n")
    curves: Curves = json.loads(path.read_text())
    return curves


def measure(dataset: Dataset, seed: int, settings: dict[str, Any]) -> Curves:
    """Train every kind of circuit once, and measure it on the test set."""
    median = np.median(dataset.train.x, axis=0)
    curves = {}
    with stages() as show:
        for kind, netlist in circuits(dataset, seed, settings, show).items():
            curves[kind] = accuracies(netlist, dataset, seed)
            curves[f"{kind}, filled"] = accuracies(netlist, dataset, seed, fill=median)
        lossy = {**settings, "missing": (0.0, 0.5)}
        for kind, netlist in circuits(dataset, seed, lossy, show).items():
            curves[f"{kind}, prepared"] = accuracies(netlist, dataset, seed)
        filled = with_medians(dataset, seed, median)
        for kind, netlist in circuits(filled, seed, settings, show).items():
            curves[f"{kind}, prepared, filled"] = accuracies(netlist, dataset, seed, fill=median)
    return curves


def with_medians(dataset: Dataset, seed: int, median: Any) -> Dataset:
    """Return a data set to train on, with each sample once for each share of lost features."""

    def with_losses(split: Split) -> Split:
        generator = np.random.default_rng(seed)
        copies = [np.where(generator.random(split.x.shape) < p, median, split.x) for p in DROPPED]
        return Split(np.concatenate(copies), np.tile(split.y, len(DROPPED)))

    return dataclasses.replace(
        dataset, train=with_losses(dataset.train), validation=with_losses(dataset.validation)
    )


def circuits(
    dataset: Dataset, seed: int, settings: dict[str, Any], show: Any
) -> dict[str, Netlist]:
    """Train a circuit of each kind."""
    ternary = TrainingConfig.for_dataset(dataset, seed=seed, **settings)
    kleene = TrainingConfig.for_dataset(dataset, seed=seed, **settings, vocabulary="kleene")
    binary = TrainingConfig.for_dataset(dataset, seed=seed, **settings, **BINARY)
    kinds: dict[str, tuple[TrainingConfig, Encoder | None]] = {
        "hard": (ternary, None),
        "hard, kleene": (kleene, None),
        "DLGN, equal thresholds": (binary, None),
    }
    # Without bands the same thresholds tell the same.
    if ternary.encoding.delta:
        kinds["DLGN, equal information"] = (binary, told_as_much(dataset, ternary))
    netlists = {}
    for kind, (config, encoder) in kinds.items():
        stage = show.start(f"{dataset.name} seed {seed}, {kind}")
        trained = train(dataset, config, encoder=encoder)
        stage.finish(f"validation {trained.hardened.validation:.2%}")
        netlists[kind] = trained.netlist
    return netlists


def told_as_much(dataset: Dataset, config: TrainingConfig) -> Encoder:
    """Return the binary encoder that tells what the ternary one of the settings does."""
    return equal_information(
        fit_encoder(
            dataset.train.x,
            dataset.feature_names,
            **dataclasses.asdict(config.encoding),
        )
    )


def accuracies(netlist: Netlist, dataset: Dataset, seed: int, **options: Any) -> list[float]:
    points = missing_curve(netlist, dataset.test, dropped=DROPPED, seed=seed, **options)
    return [100 * point.accuracy for point in points]


def table(name: str, curves: Sequence[Curves]) -> list[str]:
    """Return the lines of a Markdown table."""
    shares = " | ".join(f"{share:.0%}".replace("%", " %") for share in DROPPED)
    lines = [f"| {name} | {shares} |", "|---" * (len(DROPPED) + 1) + "|"]
    for kind in curves[0]:
        by_share = zip(*(each[kind] for each in curves), strict=True)
        lines.append(f"| {kind} | {' | '.join(spread(list(values)) for values in by_share)} |")
    return lines


if __name__ == "__main__":
    main()
