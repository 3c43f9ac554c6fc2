"""One training step beside those of difflogic and torchlogix.

The network has 9216 inputs and 4×12000 gates, and the batch 100 samples. All have one thread and
take turns, so that a busy machine is unfair to none. A step is forward, backward and Adam. The
figure is processor time. The peers run in an environment of their own, which takes gigabytes the
first time; one that cannot be installed gets a line that says why.

Run: python benchmarks/training_peers.py [--width N] [--rounds N] [--json FILE]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from peers import ROOT, peer_python

# Before JAX is imported: it asks once how many threads it may have.
os.environ["NPROC"] = "1"

import jax
from training_steps import (
    BATCH,
    CLASSES,
    INPUTS,
    TAU,
    plain_step,
    product_step,
    stacked_monomials,
)

from trilut.files import write_atomically
from trilut.training.mixture import MixtureRecipe
from trilut.training.recipes import HardRecipe, PaperRecipe
from trilut.training.wiring import random_wiring

TORCHLOGIX = "torchlogix==0.2.2"
PEERS = ("difflogic", "torchlogix")
# Steps of a call of ours, as in a training; the memory of a call is new to the process.
STEPS = 4

# A process that takes one step for each line that it reads, and answers with the seconds of it.
PEER = """
import sys, time, types
name, inputs, width, classes, batch, tau = sys.argv[1], *map(int, sys.argv[2:6]), float(sys.argv[6])
# difflogic prints as it goes.
answers, sys.stdout = sys.stdout, sys.stderr
import torch
torch.set_num_threads(1)
torch.manual_seed(0)
sizes = [inputs] + [width] * 4
if name == "difflogic":
    from difflogic import GroupSum, LogicLayer
    def layer(low, high):
        return LogicLayer(low, high, device="cpu", implementation="python")
else:
    if sys.version_info < (3, 12):
        # Its export of circuits is Python 3.12; training does not need it.
        sys.modules["torchlogix.circuit"] = types.ModuleType("circuit")
        sys.modules["torchlogix.circuit"].Circuit = None
    from torchlogix.layers import GroupSum, LogicDense as layer
layers = [layer(low, high) for low, high in zip(sizes, sizes[1:])]
model = torch.nn.Sequential(*layers, GroupSum(classes, tau))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x, y = torch.randint(0, 2, (batch, inputs)).float(), torch.randint(0, classes, (batch,))
print("ready", file=answers, flush=True)
for _ in sys.stdin:
    start = time.process_time()
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
    print(time.process_time() - start, file=answers, flush=True)
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--width", metavar="N", type=int, default=12_000, help="gates of a layer")
    parser.add_argument("--rounds", metavar="N", type=int, default=5, help="steps of each")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the figures here, too")
    args = parser.parse_args()
    steps = dict(our_steps(args.width))
    absent: dict[str, str] = {}
    for name in PEERS:
        try:
            steps[name] = peer_step(name, args.width)
        except PeerError as error:
            absent[name] = str(error)
    # The first step compiles or warms up.
    for step in steps.values():
        step()
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(args.rounds):
        for name, step in steps.items():
            seconds[name].append(step())
    show(args.width, seconds, absent)
    if args.json is not None:
        document = {"width": args.width, "seconds": seconds, "absent": absent}
        write_atomically(args.json, json.dumps(document, indent=2) + "\n")


class PeerError(Exception):
    """A peer that cannot be measured here."""


def our_steps(width: int) -> Iterator[tuple[str, Callable[[], float]]]:
    layers = (width,) * 4
    wiring = random_wiring(INPUTS, layers, seed=42)
    recipes = {
        "TriLUT, PST": PaperRecipe(TAU),
        "TriLUT, hard": HardRecipe(TAU),
        "TriLUT, DLGN": MixtureRecipe(TAU),
        "TriLUT, DLGN gate by gate": MixtureRecipe(TAU, naive=True),
    }
    for name, recipe in recipes.items():
        yield name, our_step(product_step(recipe, layers, wiring, num_steps=STEPS), STEPS)
    stacked = plain_step(stacked_monomials, 9, layers, wiring)
    yield "PST [batch, gate], stacked monomials", our_step(stacked, 1)


def our_step(step: Callable[[], object], num_steps: int) -> Callable[[], float]:
    def timed() -> float:
        start = time.process_time()
        jax.block_until_ready(step())
        return (time.process_time() - start) / num_steps

    return timed


def peer_step(name: str, width: int) -> Callable[[], float]:
    """Start the process of a peer; return what lets it take a step."""
    try:
        python = peer_python()
        place = torchlogix_place(python) if name == "torchlogix" else ROOT
    except subprocess.CalledProcessError as error:
        raise PeerError(f"pip ended with status {error.returncode}") from error
    sizes = (INPUTS, width, CLASSES, BATCH)
    process = subprocess.Popen(
        [str(python), "-c", PEER, name, *map(str, sizes), str(TAU)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(place), "OMP_NUM_THREADS": "1"},
        text=True,
    )
    stdin, stdout = process.stdin, process.stdout
    assert stdin is not None
    assert stdout is not None
    if stdout.readline() != "ready\n":
        raise PeerError(f"its process ended with status {process.wait()}")

    def step() -> float:
        print("step", file=stdin, flush=True)
        return float(stdout.readline())

    return step


def torchlogix_place(python: Path) -> Path:
    """Return a directory with torchlogix alone; what it says it needs, training does not."""
    place = ROOT / "torchlogix"
    if not (place / "torchlogix").exists():
        command = ["-m", "pip", "install", "--quiet", "--no-deps", "--target", str(place)]
        subprocess.run([str(python), *command, TORCHLOGIX], check=True)
    return place


def show(width: int, seconds: dict[str, list[float]], absent: dict[str, str]) -> None:
    print(f"Processor time of a step, {INPUTS} → 4×{width}, batch {BATCH}, one thread, ", end="")
    print(f"JAX {jax.__version__}, Python {sys.version.split()[0]}")
    print("| training | best ms | median ms | ÷ PST |\n|---|---|---|---|")
    reference = min(seconds["TriLUT, PST"])
    for name, times in seconds.items():
        best, median = min(times), statistics.median(times)
        print(f"| {name} | {1e3 * best:.1f} | {1e3 * median:.1f} | {best / reference:.2f} |")
    for name, reason in absent.items():
        print(f"| {name} | could not be measured: {reason} | | |")


if __name__ == "__main__":
    main()
