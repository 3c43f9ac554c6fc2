"""MNIST by one layer of gates that fill a LUT: accuracy, mapped LUT6 and the time to train.

A training is kept under build/bench-nodes/ROW/SEED, and goes on if it was interrupted. Its row goes
to docs/nodes-results.json; what is there with the same settings is not trained again. One thread.

docs/nodes-results.md is made of it.

Run: python benchmarks/nodes_accuracy.py [--only 6b-900,3t-970] [--seeds 0,1,2] [--page]
"""

import argparse
import json
import os
import statistics
import time
from pathlib import Path
from typing import Any

os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)
from nodes import mapped
from training_accuracy import versions

from trilut.data import Dataset, load_dataset
from trilut.errors import TrilutError
from trilut.files import write_atomically
from trilut.hdl import HardwareOptions
from trilut.synth import load_target
from trilut.training import TrainingConfig, train

RUNS = Path("build/bench-nodes")
RESULTS = Path("docs/nodes-results.json")
PAGE = Path("docs/nodes-results.md")

INTRODUCTION = """\
# MNIST by gates that fill a LUT

Made by `make bench-nodes` (`benchmarks/nodes_accuracy.py`, which makes this page of
`nodes-results.json`). A row is one layer of gates with learned wiring; its name says what a gate
reads ([training](training.md#nodes-that-fill-a-lut)) and how many there are. Accuracies are those
of the hardened circuit in per cent on 5,000 samples of validation and 10,000 of test, mean ±
standard deviation over the seeds. LUT6 and FF are of the whole design, from the pixels to the
class, mapped by Yosys for Xilinx 7 and paired: encoder, gates, sums, argmax and control; one
sample a cycle, `--no-missing --no-margin --pipeline 2`. They are not placed. Settings were chosen
by validation accuracy.
"""

# The defaults of MNIST, with more steps, chosen by validation accuracy.
STEPS = {"steps": 12000, "evaluate_every": 500}
# For those that overfit.
TURNED = {"turn": 10.0}
ROWS: dict[str, dict[str, Any]] = {
    "2t-1000": {"layers": (1000,)},
    "6b-900": {"node": "6b", "layers": (900,)},
    "6b-1270": {"node": "6b", "layers": (1270,)},
    "6b-2070": {"node": "6b", "layers": (2070,)},
    "6b-2070-turned": {"node": "6b", "layers": (2070,), **TURNED},
    "6b-2900": {"node": "6b", "layers": (2900,)},
    "6b-2900-turned": {"node": "6b", "layers": (2900,), **TURNED},
    "4b-1390": {"node": "4b", "layers": (1390,)},
    "3t-970": {"node": "3t", "node_output": "bit", "layers": (970,)},
    "2t2b-1390": {"node": "2t2b", "layers": (1390,)},
    "5b-trit-1040": {"node": "5b", "node_output": "trit", "layers": (1040,)},
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", metavar="ROW,…", default=",".join(ROWS), help="rows")
    parser.add_argument("--seeds", metavar="K,…", default="0", help="one after the other")
    parser.add_argument("--page", action="store_true", help="only make the page of what is there")
    args = parser.parse_args()
    names = args.only.split(",")
    if unknown := set(names) - ROWS.keys():
        parser.error(f"no rows {', '.join(sorted(unknown))}; there are {', '.join(ROWS)}")
    if not args.page:
        for seed in map(int, args.seeds.split(",")):
            dataset = load_dataset("mnist", seed=seed)
            for name in names:
                measure(name, seed, dataset)
                PAGE.write_text(page(kept()))
    PAGE.write_text(page(kept()))


def measure(name: str, seed: int, dataset: Dataset) -> None:
    """Train a row and keep its result, if it is not there yet."""
    config = TrainingConfig.for_dataset(dataset, **STEPS, **ROWS[name], seed=seed)
    settings = json.loads(json.dumps(config.settings))
    results = kept()
    key = f"{name}/{seed}"
    if results.get(key, {}).get("settings") == settings:
        return
    began, cpu = time.monotonic(), time.process_time()
    result = train(dataset, config, directory=RUNS / key, resume=True)
    seconds, cpu_seconds = time.monotonic() - began, time.process_time() - cpu
    result.netlist.save(RUNS / key / "net.trilut")
    try:
        target = load_target("xc7")
        options = HardwareOptions(sums=target.sums, pipeline=2, presence_bits=False, margin=False)
        luts, num_registers = mapped(result.netlist, target, options)
    except TrilutError as error:
        print(f"{key}: not mapped: {error}", flush=True)
        luts, num_registers = {}, 0
    row = {
        "validation": result.hardened.validation,
        "test": result.hardened.test,
        "lut6": luts,
        "ff": num_registers,
        # Of this sitting, with compilation and measurements.
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "settings": settings,
        "made_with": versions(),
    }
    # Read again: another process may have added to it.
    write_atomically(RESULTS, json.dumps({**kept(), key: row}, indent=1, sort_keys=True) + "\n")


def kept() -> dict[str, Any]:
    """Return all rows so far."""
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def page(results: dict[str, Any]) -> str:
    """Return the page: a row for each network, over its seeds."""
    lines = [
        "| gates | seeds | validation % | test % | LUT6 | of which gates | sums | FF |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name in ROWS:
        rows = [row for key, row in sorted(results.items()) if key.split("/")[0] == name]
        if rows:
            lines.append(line(name, rows))
    made_with = [row["made_with"] for row in results.values()]
    tools = sorted({f"JAX {made['jax']}, trilut {made['trilut']}" for made in made_with})
    machines = sorted({made["machine"] for made in made_with})
    notes = f"Machine: {', '.join(machines)}, one thread; {', '.join(tools)}."
    return "\n".join([INTRODUCTION, notes, "", *lines, ""])


def line(name: str, rows: list[dict[str, Any]]) -> str:
    """Return the line of one network."""
    validation, test = (spread([100 * row[key] for row in rows]) for key in ("validation", "test"))
    luts = [row["lut6"] for row in rows if row["lut6"]]
    parts = [
        sum(count for block, count in each.items() if block.startswith("layer_")) for each in luts
    ]
    counts = [
        mean([each["all"] for each in luts]),
        mean(parts),
        mean([each["groupsum"] for each in luts]),
        mean([row["ff"] for row in rows if row["ff"]]),
    ]
    return f"| {' | '.join([name, str(len(rows)), validation, test, *counts])} |"


def mean(numbers: list[float]) -> str:
    return f"{statistics.mean(numbers):,.0f}" if numbers else "–"


def spread(numbers: list[float]) -> str:
    """Return mean and standard deviation."""
    more = f" ± {statistics.stdev(numbers):.2f}" if len(numbers) > 1 else ""
    return f"{statistics.mean(numbers):.2f}{more}"


if __name__ == "__main__":
    main()
