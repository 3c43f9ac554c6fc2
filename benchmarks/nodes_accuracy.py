"""MNIST by one layer of gates that fill a LUT: accuracy, mapped LUT6 and the time to train.

A training is kept under build/bench-nodes/ROW/SEED, and goes on if it was interrupted. Its row goes
to docs/nodes-results.json; what is there with the same settings is not trained again. One thread.

Run: python benchmarks/nodes_accuracy.py [--only 6b-900,3t-970] [--seeds 0,1,2] [--table]
"""

import argparse
import json
import os
import platform
import time
from pathlib import Path
from typing import Any

os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)
import jax
from nodes import mapped

import trilut
from trilut.data import Dataset, load_dataset
from trilut.errors import TrilutError
from trilut.files import write_atomically
from trilut.hdl import HardwareOptions
from trilut.synth import load_target
from trilut.training import TrainingConfig, train

RUNS = Path("build/bench-nodes")
RESULTS = Path("docs/nodes-results.json")

# The defaults of MNIST, with more steps, chosen by validation accuracy.
STEPS = {"steps": 12000, "evaluate_every": 500}
ROWS: dict[str, dict[str, Any]] = {
    "2t-1000": {"layers": (1000,)},
    "6b-900": {"node": "6b", "layers": (900,)},
    "6b-1270": {"node": "6b", "layers": (1270,)},
    "6b-2070": {"node": "6b", "layers": (2070,)},
    "6b-2900": {"node": "6b", "layers": (2900,)},
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
    parser.add_argument("--table", action="store_true", help="only print what is there")
    args = parser.parse_args()
    names = args.only.split(",")
    if unknown := set(names) - ROWS.keys():
        parser.error(f"no rows {', '.join(sorted(unknown))}; there are {', '.join(ROWS)}")
    if not args.table:
        for seed in map(int, args.seeds.split(",")):
            dataset = load_dataset("mnist", seed=seed)
            for name in names:
                measure(name, seed, dataset)
    print_table()


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
        "made_with": {
            "machine": platform.machine(),
            "jax": jax.__version__,
            "trilut": trilut.__version__,
        },
    }
    # Read again: another process may have added to it.
    write_atomically(RESULTS, json.dumps({**kept(), key: row}, indent=1, sort_keys=True) + "\n")


def kept() -> dict[str, Any]:
    """Return all rows so far."""
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def print_table() -> None:
    print("| row/seed | validation % | test % | LUT6 | FF | CPU-s |\n|---|---|---|---|---|---|")
    for key, row in sorted(kept().items()):
        print(
            f"| {key} | {100 * row['validation']:.2f} | {100 * row['test']:.2f} "
            f"| {row['lut6'].get('all', '–')} | {row['ff'] or '–'} | {row['cpu_seconds']:.0f} |"
        )


if __name__ == "__main__":
    main()
