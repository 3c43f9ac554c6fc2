"""What a native kernel would gain: the training step beside one in C with everything fused.

Both take the same step of the recipe 'hard' from the same tables and wires, and their class scores
are compared. They take turns on one thread, and the figure is processor time.

Run: python benchmarks/training_kernel.py [--width N] [--rounds N]
"""

import argparse
import ctypes
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

# Before JAX is imported: it asks once how many threads it may have.
os.environ["NPROC"] = "1"

import jax
import jax.numpy as jnp
from training_steps import BATCH, CLASSES, INPUTS, TAU, product_step, random_samples

from trilut.training.network import Topology, class_scores, forward
from trilut.training.recipes import HardRecipe
from trilut.training.wiring import Wiring, random_wiring

LAYERS, STEPS = 4, 4
SOURCE = Path(__file__).with_name("training_kernel.c")
FLAGS = ("-O3", "-march=native", "-ffast-math", "-shared", "-fPIC")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--width", metavar="N", type=int, default=12_000, help="gates of a layer")
    parser.add_argument("--rounds", metavar="N", type=int, default=5, help="calls of each")
    args = parser.parse_args()
    layers = (args.width,) * LAYERS
    wiring = random_wiring(INPUTS, layers, seed=42)
    native, scores = native_step(args.width, wiring)
    native()
    assert np.array_equal(scores, reference_scores(layers, wiring)), "the two steps disagree"
    xla = product_step(HardRecipe(TAU), layers, wiring, num_steps=STEPS)
    jax.block_until_ready(xla())
    seconds: dict[str, list[float]] = {"XLA": [], "C, fused": []}
    for _ in range(args.rounds):
        seconds["XLA"].append(timed(lambda: jax.block_until_ready(xla())) / STEPS)
        seconds["C, fused"].append(timed(native))
    print(f"Processor time of a step, {INPUTS} → {LAYERS}×{args.width}, batch {BATCH}, one thread")
    for name, times in seconds.items():
        print(f"{name:8} {1e3 * min(times):6.1f} ms, {1e3 * np.median(times):6.1f} in the median")
    print(f"ratio    {min(seconds['XLA']) / min(seconds['C, fused']):6.1f}")


def timed(step: Callable[[], object]) -> float:
    start = time.process_time()
    step()
    return time.process_time() - start


def start_tables(width: int) -> list[Any]:
    generator = np.random.default_rng(0)
    return [HardRecipe(TAU).init(width, generator) for _ in range(LAYERS)]


def reference_scores(layers: tuple[int, ...], wiring: Wiring) -> Any:
    inputs = random_samples().inputs.T.astype(jnp.float32)
    tables = tuple(start_tables(layers[0]))
    topology = Topology(CLASSES)
    values = forward(HardRecipe(TAU).layer, tables, wiring, inputs, topology)
    return np.asarray(class_scores(values, topology))


def native_step(width: int, wiring: Wiring) -> tuple[Callable[[], None], Any]:
    """Compile the kernel; return its step, and the array that it leaves the class scores in."""
    samples, num_gates = random_samples(), LAYERS * width
    first = [0, *(INPUTS + layer * width for layer in range(LAYERS - 1))]
    pairs = list(zip(wiring, first, strict=True))
    a, b = (
        np.concatenate([np.asarray(getattr(parents, side)) + net for parents, net in pairs]).astype(
            np.int32
        )
        for side in ("a", "b")
    )
    tables = np.concatenate([np.asarray(table) for table in start_tables(width)])
    moments = [np.zeros_like(tables) for _ in range(2)]
    values = np.zeros((INPUTS + num_gates, BATCH), np.float32)
    values[:INPUTS] = np.asarray(samples.inputs).T
    scores = [np.zeros((CLASSES, BATCH), np.float32) for _ in range(2)]
    labels = np.asarray(samples.labels, np.int32)
    arrays = [a, b, tables, *moments, values, np.zeros_like(values), *scores, labels]
    function = compiled().step
    numbers = [ctypes.c_int(size) for size in (LAYERS, width, INPUTS, BATCH, CLASSES)]
    count = 0

    def step() -> None:
        nonlocal count
        count += 1
        function(
            *numbers,
            ctypes.c_float(TAU),
            ctypes.c_float(0.01),
            ctypes.c_int(count),
            *(array.ctypes.data_as(ctypes.c_void_p) for array in arrays),
        )

    return step, scores[1]


def compiled() -> ctypes.CDLL:
    with tempfile.TemporaryDirectory() as directory:
        library = Path(directory) / "kernel.so"
        command = [os.environ.get("CC", "cc"), *FLAGS, str(SOURCE), "-lm", "-o", str(library)]
        subprocess.run(command, check=True)
        return ctypes.CDLL(str(library))


if __name__ == "__main__":
    main()
