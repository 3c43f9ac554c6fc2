"""How far the estimate of a netlist's cost is from what Yosys maps.

Usage: python benchmarks/estimate.py [--part ecp5] [--quick] [--trust] [--cache FILE] [NET …]

Random, trained and pruned networks of several sizes, and any netlist files besides. The estimate's
constants were fitted to the networks marked *; the others are held out. LUT is what the part has:
LUT4-equivalents (ECP5: LUT4 and two for each CCU2C), LUT4 (iCE40) or LUT6 (Xilinx), of the whole
design with encoder, sums and argmax. --trust looks at designs with the ports of certain answers and
prediction sets, of networks that can have them. What Yosys says is kept in the cache, so that a run
that was interrupted goes on where it was.
"""

import argparse
import dataclasses
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from area import random_network

import trilut
from trilut import Netlist
from trilut.circuit.format import digest
from trilut.data import load_dataset
from trilut.files import write_atomically
from trilut.hdl import HardwareOptions, write_verilog
from trilut.hdl.estimate import PARTS, estimate
from trilut.synth import SynthesisSettings, load_target, synthesize

# MNIST with 1000 gates, which is not among these, was looked at while they were fitted.
FITTED = ("digits, learned 1000", "digits, 1000·1000·1000·400")


TRUST_PORTS: dict[str, dict[str, bool]] = {
    "": {},
    ", certain": {"certain": True},
    ", set": {"prediction_set": True},
    ", both": {"certain": True, "prediction_set": True},
}


def trained(name: str, **settings: Any) -> Netlist:
    from trilut.training import TrainingConfig, train

    dataset = load_dataset(name)
    return train(dataset, TrainingConfig.for_dataset(dataset, **settings)).netlist


def networks(*, quick: bool) -> Iterator[tuple[str, Netlist]]:
    yield "random 128·128·64, 2 classes", random_network([128, 128, 64], 16, 2)
    yield "random 300, 10 classes", random_network([300], 32, 10)
    yield "binary random 400·200, 10 classes", random_network([400, 200], 64, 10, valence=2)
    yield "breast_cancer", trained("breast_cancer")
    yield "breast_cancer, pruned 50 %", trained("breast_cancer", prune=0.5, prune_steps=500)
    yield "wine, area weight 0.1", trained("wine", area_weight=0.1)
    if quick:
        return
    learned = {"layers": (1000,), "wiring": "learned", "batch": 128, "learning_rate": 0.05}
    yield "random 512·512·512·200, 2 classes", random_network([512, 512, 512, 200], 32, 2)
    yield "digits, learned 1000", trained("digits", steps=6000, **learned)
    yield "digits, learned 1000, pruned 60 %", trained("digits", prune=0.6, **learned)
    yield "digits, 1000·1000·1000·400", trained("digits")
    yield (
        "digits, 300·300·200, area weight 0.1",
        trained("digits", layers=(300, 300, 200), area_weight=0.1),
    )


def trusted(*, quick: bool) -> Iterator[tuple[str, Netlist]]:
    """Yield networks that can say what is certain, with a margin for prediction sets."""
    kleene: dict[str, Any] = {"vocabulary": "kleene", "missing": (0.0, 0.5)}
    learned = {"wiring": "learned", "batch": 128, "learning_rate": 0.05, "steps": 1000}
    made = {
        "moons": trained("moons", **kleene),
        "breast_cancer": trained("breast_cancer", **kleene),
        "wine, out of range unknown": trained("wine", out_of_range="unknown", **kleene),
        "iris, learned 90": trained("iris", layers=(90,), **learned, **kleene),
    }
    if not quick:
        made["digits, learned 1000"] = trained("digits", layers=(1000,), **learned, **kleene)
    for name, netlist in made.items():
        assert netlist.head is not None
        yield (
            name,
            dataclasses.replace(netlist, head=dataclasses.replace(netlist.head, set_margin=3)),
        )


def mapped(
    netlist: Netlist, part: str, ports: dict[str, bool], cache: dict[str, dict[str, int]]
) -> dict[str, int]:
    """Return what Yosys says."""
    key = " ".join([part, digest(netlist), *ports])
    if key not in cache:
        target = dataclasses.replace(load_target(part), place_and_route=None)
        with tempfile.TemporaryDirectory() as directory:
            options = HardwareOptions(sums=target.sums, **ports)
            design = write_verilog(netlist, Path(directory), options)
            result = synthesize(
                design.path,
                design.top,
                target,
                settings=SynthesisSettings(timeout=3600),
                out=Path(directory),
                blocks=False,
            )
        cells = result.cells
        # A part has one of the two.
        luts = cells.lut4_equivalents or cells.lut6_equivalents
        cache[key] = {"lut": luts, "ff": cells.ff}
    return cache[key]


def report(
    name: str,
    netlist: Netlist,
    part: str,
    ports: dict[str, bool],
    cache: dict[str, dict[str, int]],
) -> None:
    started = time.process_time()
    guess = estimate(netlist, part, **ports)
    milliseconds = 1000 * (time.process_time() - started)
    truth = mapped(netlist, part, ports, cache)
    mark = "*" if name in FITTED else " "
    print(
        f"{mark}{name:40} {netlist.num_gates:6} {guess.lut:7} {truth['lut']:7} "
        f"{guess.lut / truth['lut'] - 1:+7.1%} {guess.ff:7} {truth['ff']:7} "
        f"{guess.ff / truth['ff'] - 1:+7.1%} {milliseconds:7.0f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nets", metavar="NET", nargs="*", type=Path, help="netlist files")
    parser.add_argument("--part", choices=list(PARTS), default="ecp5")
    parser.add_argument("--quick", action="store_true", help="small networks only")
    parser.add_argument("--trust", action="store_true", help="designs with --certain and sets")
    parser.add_argument("--cache", type=Path, default=Path("build/estimate.json"))
    args = parser.parse_args()
    cache = json.loads(args.cache.read_text()) if args.cache.exists() else {}
    heads = ("gates", "LUT est.", "Yosys", "error", "FF est.", "Yosys", "error", "CPU ms")
    print(f" {PARTS[args.part].lut} on {args.part:29} " + " ".join(f"{head:>7}" for head in heads))
    files = ((path.parent.name, trilut.load(path)) for path in args.nets)
    made = trusted(quick=args.quick) if args.trust else networks(quick=args.quick)
    kinds = TRUST_PORTS if args.trust else {"": {}}
    for name, netlist in files if args.nets else made:
        for mark, ports in kinds.items():
            report(f"{name}{mark}", netlist, args.part, ports, cache)
            args.cache.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(args.cache, json.dumps(cache, indent=1) + "\n")


if __name__ == "__main__":
    main()
