"""Area against accuracy: plain networks, with an area term in the loss, pruned, and binary ones.

Usage: python benchmarks/pareto.py digits|mnist|mnist-random [-o DIR] [--rows "NAME;NAME;…"]
       [--seeds N] [--yosys] [--test] [--plot FILE.svg]

The networks of ``digits`` and ``mnist`` are one layer of learned wiring, those of ``mnist-random``
four layers of random wiring. Each row is N trainings in directories of their own, which a run that
was interrupted goes on with, and a line of results.json. The accuracy is that of the hardened
circuit on the validation set, averaged over the seeds, each with a split of its own; --test adds
the test set's, to be asked for once, when the choice has been made. LUT4 and LUT6 are estimates for
ECP5 and Xilinx 7 (trilut.hdl.estimate), averaged too; --yosys adds what Yosys maps of the first
seed for ECP5. Everything is included: encoder, gates, sums, argmax, control.
"""

import argparse
import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from estimate import mapped

import trilut
from trilut import Netlist
from trilut.circuit.format import save
from trilut.data import load_dataset
from trilut.files import write_atomically
from trilut.hdl.estimate import estimate

Settings = dict[str, Any]


@dataclass(frozen=True)
class Study:
    """Trainings on one data set that differ in what their circuits take.

    Parameters
    ----------
    settings : dict
        Fields of TrainingConfig that all rows have in common.
    binary : dict
        What a binary row has besides: twice the thresholds, to be told as much.
    rows : dict
        The fields of each row, by its name.
    """

    dataset: str
    settings: Settings
    binary: Settings
    rows: dict[str, Settings]


LEARNED: Settings = {"wiring": "learned", "batch": 128, "learning_rate": 0.05}
BINARY: Settings = {"valence": 2}
ONE_LAYER: dict[str, Settings] = {
    "plain 250": {"layers": (250,)},
    "plain 500": {"layers": (500,)},
    "plain 1000": {"layers": (1000,)},
    "area 0.1, 1000": {"layers": (1000,), "area_weight": 0.1},
    "area 0.3, 1000": {"layers": (1000,), "area_weight": 0.3},
    "pruned 50 %, 1000": {"layers": (1000,), "prune": 0.5},
    "pruned 75 %, 1000": {"layers": (1000,), "prune": 0.75},
    "area 0.1, pruned 50 %, 1000": {"layers": (1000,), "area_weight": 0.1, "prune": 0.5},
    "binary 1000": {"layers": (1000,), **BINARY},
    "binary 2000": {"layers": (2000,), **BINARY},
    "binary pruned 50 %, 2000": {"layers": (2000,), "prune": 0.5, **BINARY},
}
# As many steps in all as the others have.
PRUNED: Settings = {"layers": (1000,) * 4, "prune_steps": 2000, "steps": 10_000}
FOUR_LAYERS: dict[str, Settings] = {
    "plain 4×500": {"layers": (500,) * 4},
    "plain 4×700": {"layers": (700,) * 4},
    "plain 4×1000": {"layers": (1000,) * 4},
    "area 0.05, 4×1000": {"layers": (1000,) * 4, "area_weight": 0.05},
    "area 0.15, 4×1000": {"layers": (1000,) * 4, "area_weight": 0.15},
    "area 0.3, 4×1000": {"layers": (1000,) * 4, "area_weight": 0.3},
    "pruned 30 %, area 0.1, 4×1000": {**PRUNED, "area_weight": 0.1, "prune": 0.3},
    "pruned 30 %, area 0.15, 4×1000": {**PRUNED, "area_weight": 0.15, "prune": 0.3},
    "pruned 45 %, area 0.1, 4×1000": {**PRUNED, "area_weight": 0.1, "prune": 0.45},
    "binary 4×1000": {"layers": (1000,) * 4, **BINARY},
    "binary area 0.15, 4×1500": {"layers": (1500,) * 4, "area_weight": 0.15, **BINARY},
}
STUDIES = {
    "digits": Study(
        "digits", {**LEARNED, "steps": 4000, "thresholds": 3}, {"thresholds": 6}, ONE_LAYER
    ),
    "mnist": Study(
        "mnist", {**LEARNED, "steps": 6000, "thresholds": 1}, {"thresholds": 2}, ONE_LAYER
    ),
    "mnist-random": Study(
        "mnist",
        {"wiring": "random", "minority": 0.02, "steps": 12_000},
        {"thresholds": 2},
        FOUR_LAYERS,
    ),
}

FAMILIES = {
    **{"plain": "o", "area": "s", "pruned": "^"},
    **{"binary": "x", "binary pruned": "+", "binary area": "d"},
}
"""The kinds of rows, the longest name that a row begins with, and how each is drawn."""


def train_row(study: Study, name: str, seed: int, directory: Path) -> Netlist:
    """Return the trained netlist, from its file if it is there."""
    path = directory / "net.trilut"
    if path.exists():
        return trilut.load(path)
    from trilut.training import TrainingConfig, train

    row = study.rows[name]
    dataset = load_dataset(study.dataset, seed=seed)
    settings = {**study.settings, **(study.binary if "valence" in row else {}), **row}
    config = TrainingConfig.for_dataset(dataset, seed=seed, **settings)
    netlist = train(dataset, config, directory=directory, resume=True).netlist
    save(netlist, path)
    return netlist


def result(
    netlists: Sequence[Netlist], *, yosys: bool, cache: dict[str, dict[str, int]]
) -> dict[str, Any]:
    """Return the means over the seeds, and what Yosys says of the first."""
    accuracies: list[Any] = [netlist.provenance["accuracy"] for netlist in netlists]
    costs = {part: [estimate(net, part) for net in netlists] for part in ("ecp5", "xc7")}
    figures: dict[str, Any] = {
        split: statistics.mean(accuracy["hardened"][split] for accuracy in accuracies)
        for split in ("validation", "test")
    }
    figures |= {
        "seeds": len(netlists),
        "lut4": round(statistics.mean(cost.lut for cost in costs["ecp5"])),
        "ff": round(statistics.mean(cost.ff for cost in costs["ecp5"])),
        "lut6": round(statistics.mean(cost.lut for cost in costs["xc7"])),
    }
    return figures | ({"yosys_lut4": mapped(netlists[0], "ecp5", cache)["lut"]} if yosys else {})


def line(name: str, figures: dict[str, Any], *, test: bool) -> str:
    """Return a row of a table in Markdown."""
    cells = [name, str(figures["seeds"]), f"{100 * figures['validation']:.2f}"]
    cells += [f"{100 * figures['test']:.2f}"] if test else []
    cells += [f"{figures[kind]:,}" for kind in ("lut4", "ff", "lut6")]
    cells += [f"{figures['yosys_lut4']:,}"] if "yosys_lut4" in figures else []
    return f"| {' | '.join(cells)} |"


def header(*, test: bool, yosys: bool) -> str:
    cells = ["network", "seeds", "validation %", *(["test %"] if test else [])]
    cells += ["LUT4", "FF", "LUT6", *(["LUT4, Yosys"] if yosys else [])]
    return f"| {' | '.join(cells)} |\n|---|{'---:|' * (len(cells) - 1)}"


def plot(table: dict[str, dict[str, Any]], path: Path) -> None:
    """Draw area against the mean accuracy of both sets that were not trained on."""
    import matplotlib
    from matplotlib.figure import Figure

    # The same figure is the same file.
    matplotlib.rcParams["svg.hashsalt"] = "trilut"
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    groups: dict[str, list[tuple[float, float, str]]] = {}
    for name, figures in table.items():
        family = max((kind for kind in FAMILIES if name.startswith(kind)), key=len)
        accuracy = 50 * (figures["validation"] + figures["test"])
        groups.setdefault(family, []).append((figures["lut4"], accuracy, name))
    for family, points in groups.items():
        points.sort()
        axes.plot(*zip(*(point[:2] for point in points), strict=True), FAMILIES[family] + "-")
        for area, accuracy, name in points:
            axes.annotate(
                name, (area, accuracy), xytext=(4, 4), textcoords="offset points", fontsize=7
            )
    axes.set_xlabel("LUT4 on ECP5, estimated, everything included")
    axes.set_ylabel("accuracy %, mean of validation and test")
    axes.grid(alpha=0.3)
    axes.margins(x=0.15)
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", choices=list(STUDIES))
    parser.add_argument("-o", "--output", type=Path, default=Path("build/pareto"))
    parser.add_argument("--rows", help="names of rows with semicolons between them; default: all")
    parser.add_argument("--seeds", type=int, default=1, help="trainings of each row")
    parser.add_argument("--yosys", action="store_true", help="map a network of every row, too")
    parser.add_argument("--test", action="store_true", help="show the test accuracy, too")
    parser.add_argument("--plot", type=Path, help="draw a figure")
    args = parser.parse_args()
    study = STUDIES[args.study]
    chosen = args.rows.split(";") if args.rows else list(study.rows)
    output = args.output / args.study
    output.mkdir(parents=True, exist_ok=True)
    cache_path = output / "yosys.json"
    cache = json.loads(cache_path.read_text()) if cache_path.exists() else {}
    table: dict[str, dict[str, Any]] = {}
    print(header(test=args.test, yosys=args.yosys))
    for name in chosen:
        directory = output / name.replace(" ", "-").replace(",", "").replace("%", "percent")
        netlists = [
            train_row(study, name, seed, directory / f"seed-{seed}") for seed in range(args.seeds)
        ]
        table[name] = result(netlists, yosys=args.yosys, cache=cache)
        write_atomically(cache_path, json.dumps(cache, indent=1) + "\n")
        write_atomically(output / "results.json", json.dumps(table, indent=1) + "\n")
        print(line(name, table[name], test=args.test), flush=True)
    if args.plot is not None:
        plot(table, args.plot)


if __name__ == "__main__":
    main()
