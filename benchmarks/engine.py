"""The engine on parts: cells, clock, and images a second against samples side by side and lanes.

Usage: python benchmarks/engine.py [--only NAME …] [--again]

Each row is an engine, placed and routed, and a model that is run on it. The models have the shape
of the MNIST networks mnist-4k and mnist-8k of benchmarks/training_rows.py: 506 pixels of 784 are
read, there are two layers, both of them outputs, and the second reads the pixels too. Their wires
and tables are random: area and rate do not depend on them, and accuracy is not measured here. A
figure of images a second is what the engine itself takes, features always being there. Cycles are
those of the Verilog in Verilator, whose answers are compared with the plain model of the
instructions. Rows that are in docs/engine-results.json are kept unless --again is given.
"""

import argparse
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from trilut import Encoder, Feature, Head, Netlist
from trilut.circuit.encoder import FeatureVectors
from trilut.engine import Image, classify, compile_netlist
from trilut.files import write_atomically
from trilut.hdl.engine import EngineSize, write_engine
from trilut.hdl.engine.loader import LoadState
from trilut.hdl.engine.writing import TOP
from trilut.report.svg import new_figure, styled, svg_file
from trilut.synth import SynthesisSettings, load_target, synthesize
from trilut.verify.engine import simulate_engine

DOCS = Path(__file__).parent.parent / "docs"
RESULTS = DOCS / "engine-results.json"
PLOT = DOCS / "engine-rates.svg"
PAGE = DOCS / "engine-results.md"
NUM_PIXELS, NUM_READ, NUM_CLASSES = 784, 506, 10
LAYERS = {"mnist-4k": (3000, 1000), "mnist-8k": (6000, 2000)}

_PAGE = """\
# The engine on parts

Written by `make bench-engine`. Each row is one [engine](engine.md), placed and routed by open
tools ({tools}; one seed), and a model that it runs.

- The models have the shape of the networks `mnist-4k` and `mnist-8k` of
  [the training results](training-results.md), {read} pixels of {pixels} being read, with random
  wires and tables. Area and rate do not depend on these, and no accuracy is measured here.
- Cycles of a batch, of all samples side by side, are those of the Verilog in Verilator, whose
  answers were compared with the plain model of the instructions.
- Images a second are the engine's own, at the highest frequency that the router reports, the
  features always being there.
- Utilisation is the share of the cycles in which a gate unit computes a gate.

| part | model | samples | lanes | cells | MHz | cycles of a batch | utilisation | images a second |
|---|---|---|---|---|---|---|---|---|
{rows}

![Images a second of mnist-4k on an ECP5 against samples side by side](engine-rates.svg)
"""

# The part, the model, the clock to aim at, and the engine.
ROWS = {
    "up5k": ("ice40-up5k", "mnist-8k", 24.0, {"samples": 4, "entries": 4096}),
    "ecp5-8x1": ("ecp5", "mnist-4k", 100.0, {"samples": 8, "instructions": 10240}),
    "ecp5-16x1": ("ecp5", "mnist-4k", 100.0, {"samples": 16, "instructions": 10240}),
    "ecp5-8x2": ("ecp5", "mnist-4k", 100.0, {"samples": 8, "lanes": 2, "instructions": 10240}),
    "ecp5-2x1": ("ecp5", "mnist-4k", 100.0, {"samples": 2, "instructions": 10240}),
}


def network(name: str, seed: int = 0) -> Netlist:
    """Return a random network of the shape of a trained one."""
    rng = np.random.default_rng(seed)
    first, second = LAYERS[name]
    pixels = np.sort(rng.choice(NUM_PIXELS, NUM_READ, replace=False))
    sources = np.concatenate(
        [
            rng.integers(0, NUM_READ, (first, 2)),
            rng.integers(0, NUM_READ + first, (second, 2)),
        ]
    )
    # Every class has gates of both layers, as the trained ones have.
    gates = NUM_READ + np.arange(first + second)
    outputs = np.concatenate([gates[own::NUM_CLASSES] for own in range(NUM_CLASSES)])
    return Netlist.of_gates(
        NUM_READ,
        rng.integers(-1, 2, (first + second, 9)),
        sources[:, 0],
        sources[:, 1],
        outputs,
        encoder=Encoder(
            tuple(Feature(f"pixel {index}", bits=8) for index in range(NUM_PIXELS)),
            pixels,
            np.full(NUM_READ, 64),
            np.full(NUM_READ, 192),
        ),
        head=Head(tuple(map(str, range(NUM_CLASSES))), ((first + second) // NUM_CLASSES,) * 10),
        name=f"random, as {name}",
    )


def cycles_of_a_batch(image: Image, size: EngineSize, directory: Path) -> int:
    """Run batches through the Verilog and compare all answers; return the cycles of one."""
    rng = np.random.default_rng(1)
    cycles = []
    with simulate_engine(size, directory) as engine:
        assert engine.load(image.program_bytes()) is LoadState.LOADED
        for batches in (1, 3):
            values = rng.integers(0, 256, (batches * size.samples, NUM_PIXELS))
            vectors = FeatureVectors(values, np.ones(values.shape, dtype=np.bool_))
            answers, expected = engine.run(image, vectors), classify(image, vectors)
            assert np.array_equal(answers.chosen, expected.chosen)
            assert np.array_equal(answers.margin, expected.margin)
            cycles.append(answers.cycles)
    return (cycles[1] - cycles[0]) // 2


def measured(target: str, model: str, frequency: float, changes: dict[str, int]) -> dict[str, Any]:
    """Place and route an engine, and run a model on it."""
    size = EngineSize(**changes)
    image = compile_netlist(network(model), lanes=size.lanes)
    size.check(image)
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory)
        cycles = cycles_of_a_batch(image, size, out)
        result = synthesize(
            write_engine(size, out),
            TOP,
            load_target(target),
            out=out / "synth",
            settings=SynthesisSettings(frequency=frequency, timeout=3600),
            blocks=False,
        )
    assert result.timing is not None
    mhz = round(result.timing.fmax_mhz, 1)
    return {
        "target": result.title,
        "model": model,
        "samples": size.samples,
        "lanes": size.lanes,
        "entries": size.entries,
        "entries_used": image.num_entries,
        "instructions": size.instructions,
        "instructions_used": int(image.words.size),
        "gates": image.num_gates,
        "steps": image.num_steps,
        "cycles_of_a_batch": cycles,
        "utilization": image.num_gates / (cycles * size.lanes),
        "cells": {name: used.used for name, used in result.utilization.items()},
        "fmax_mhz": mhz,
        "samples_per_second": round(mhz * 1e6 * size.samples / cycles),
        "tools": result.tools,
    }


@styled
def plot(results: dict[str, dict[str, Any]]) -> str:
    """Draw images a second against samples side by side, a line for each number of lanes."""
    figure = new_figure(6.0, 3.6)
    axes = figure.subplots()
    rows = [row for row in results.values() if row["model"] == "mnist-4k"]
    for lanes in sorted({row["lanes"] for row in rows}):
        own = sorted(
            (row["samples"], row["samples_per_second"]) for row in rows if row["lanes"] == lanes
        )
        axes.plot(*zip(*own, strict=True), marker="o", label=f"{lanes} lane{'s' * (lanes > 1)}")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("samples side by side")
    axes.set_ylabel("images a second")
    axes.legend()
    return svg_file(figure)


def page(results: dict[str, dict[str, Any]]) -> str:
    """Return the results as a page."""
    rows = []
    for name in ROWS:
        if name not in results:
            continue
        row = results[name]
        cells = ", ".join(
            f"{count:,} {kind.upper()}" for kind, count in row["cells"].items() if count
        )
        rows.append(
            f"| {row['target']} | {row['model']} | {row['samples']} | {row['lanes']} | {cells} "
            f"| {row['fmax_mhz']:.1f} | {row['cycles_of_a_batch']:,} | {row['utilization']:.1%} "
            f"| **{row['samples_per_second']:,}** |"
        )
    tools = sorted(
        {f"{name} {version}" for row in results.values() for name, version in row["tools"].items()}
    )
    return _PAGE.format(
        rows="\n".join(rows), tools=", ".join(tools), read=NUM_READ, pixels=NUM_PIXELS
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=list(ROWS), default=list(ROWS))
    parser.add_argument("--again", action="store_true")
    args = parser.parse_args()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in args.only:
        if args.again or name not in results:
            results[name] = measured(*ROWS[name])
            results[name]["cores"] = os.cpu_count()
            write_atomically(RESULTS, json.dumps(results, indent=2) + "\n")
        print(name, json.dumps(results[name]), flush=True)
    write_atomically(PLOT, plot(results))
    write_atomically(PAGE, page(results))


if __name__ == "__main__":
    main()
