"""Area against accuracy: plain networks, with an area term in the loss, pruned, and binary ones.

Usage: python benchmarks/pareto.py digits|mnist [-o DIR] [--rows "NAME;NAME;…"] [--yosys] [--test]

Each row is a training in a directory of its own, which a run that was interrupted goes on with, and
a line of results.json. All networks are one layer of learned wiring. The accuracy is that of the
hardened circuit on the validation set; --test adds the test set's, to be asked for once, when the
choice has been made. LUT4 and LUT6 are estimates for ECP5 and Xilinx 7 (trilut.estimate); --yosys
adds what Yosys maps for ECP5. Everything is included: encoder, gates, sums, argmax, control.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from estimate import mapped

import trilut
from trilut import Netlist
from trilut.data import load_dataset
from trilut.estimate import estimate
from trilut.files import write_atomically
from trilut.format import save

COMMON: dict[str, Any] = {"wiring": "learned", "batch": 128, "learning_rate": 0.05}

# A binary network needs twice the thresholds to be told as much.
DATASETS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "digits": ({"steps": 4000, "thresholds": 3}, {"thresholds": 6}),
    "mnist": ({"steps": 6000, "thresholds": 1}, {"thresholds": 2}),
}

BINARY = {"valence": 2}

ROWS: dict[str, dict[str, Any]] = {
    "plain 250": {"layers": (250,)},
    "plain 500": {"layers": (500,)},
    "plain 1000": {"layers": (1000,)},
    "area 0.1, 1000": {"layers": (1000,), "area_weight": 0.1},
    "area 0.3, 1000": {"layers": (1000,), "area_weight": 0.3},
    "pruned 50 %, 1000": {"layers": (1000,), "prune": 0.5},
    "pruned 75 %, 2000": {"layers": (2000,), "prune": 0.75},
    "area 0.1, pruned 50 %, 1000": {"layers": (1000,), "area_weight": 0.1, "prune": 0.5},
    "binary 1000": {"layers": (1000,), **BINARY},
    "binary 2000": {"layers": (2000,), **BINARY},
    "binary pruned 50 %, 2000": {"layers": (2000,), "prune": 0.5, **BINARY},
}


def train_row(dataset_name: str, row: dict[str, Any], directory: Path) -> Netlist:
    """Return the trained netlist, from its file if it is there."""
    path = directory / "net.trilut"
    if path.exists():
        return trilut.load(path)
    from trilut.training import TrainingConfig, train

    dataset = load_dataset(dataset_name)
    settings, binary = DATASETS[dataset_name]
    settings = {**COMMON, **settings, **(binary if row.get("valence") == 2 else {}), **row}
    config = TrainingConfig.for_dataset(dataset, **settings)
    netlist = train(dataset, config, directory=directory, resume=True).netlist
    save(netlist, path)
    return netlist


def result(netlist: Netlist, *, yosys: bool, cache: dict[str, dict[str, int]]) -> dict[str, Any]:
    accuracy: Any = netlist.provenance["accuracy"]
    ecp5, xc7 = (estimate(netlist, part) for part in ("ecp5", "xc7"))
    figures = {
        "validation": accuracy["hardened"]["validation"],
        "test": accuracy["hardened"]["test"],
        "lut4": ecp5.lut,
        "ff": ecp5.ff,
        "lut6": xc7.lut,
    }
    return figures | ({"yosys_lut4": mapped(netlist, "ecp5", cache)["lut"]} if yosys else {})


def line(name: str, figures: dict[str, Any], *, test: bool) -> str:
    cells = [f"{name:28}", f"{100 * figures['validation']:6.2f}"]
    cells += [f"{100 * figures['test']:6.2f}"] if test else []
    cells += [f"{figures[kind]:6}" for kind in ("lut4", "ff", "lut6")]
    cells += [f"{figures['yosys_lut4']:6}"] if "yosys_lut4" in figures else []
    return " ".join(cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset", choices=list(DATASETS))
    parser.add_argument("-o", "--output", type=Path, default=Path("build/pareto"))
    parser.add_argument("--rows", help="names of rows with semicolons between them; default: all")
    parser.add_argument("--yosys", action="store_true", help="map every network, too")
    parser.add_argument("--test", action="store_true", help="show the test accuracy, too")
    args = parser.parse_args()
    chosen = args.rows.split(";") if args.rows else list(ROWS)
    output = args.output / args.dataset
    output.mkdir(parents=True, exist_ok=True)
    cache_path = output / "yosys.json"
    cache = json.loads(cache_path.read_text()) if cache_path.exists() else {}
    table: dict[str, dict[str, Any]] = {}
    for name in chosen:
        directory = output / name.replace(" ", "-").replace(",", "").replace("%", "percent")
        netlist = train_row(args.dataset, ROWS[name], directory)
        table[name] = result(netlist, yosys=args.yosys, cache=cache)
        write_atomically(cache_path, json.dumps(cache, indent=1) + "\n")
        write_atomically(output / "results.json", json.dumps(table, indent=1) + "\n")
        print(line(name, table[name], test=args.test), flush=True)


if __name__ == "__main__":
    main()
