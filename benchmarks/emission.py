"""Time and memory of Verilog output, from 1K to 512K gates.

Usage: python benchmarks/emission.py [--quick] [--json FILE] [--plot FILE.svg]

Random networks of four equal layers on 9,216 trits, the gates alone as a combinational module
(``trilut verilog --logic-only``), each in a process of its own: with the optimiser before, and
gate by gate as they are. Time is that of the CPU, of which there is one thread, without the start
of Python; memory is the highest of the process, Python and the network included. The optimiser is
also timed on its own.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from trilut import Netlist
from trilut.circuit.optimize import optimize
from trilut.hdl import write_logic

SIZES = (1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 19)
QUICK_SIZES = SIZES[:4]
NUM_INPUTS = 9216
DEPTH = 4


def random_netlist(num_gates: int) -> Netlist:
    """Return a random network of equal layers."""
    rng = np.random.default_rng(0)
    width = num_gates // DEPTH
    starts = NUM_INPUTS + width * np.arange(-1, DEPTH)
    layers = [(0, NUM_INPUTS), *((start, start + width) for start in starts[1:])]
    sources = [rng.integers(*layer, (2, width)) for layer in layers[:DEPTH]]
    a, b = np.concatenate(sources, axis=1)
    tables = rng.integers(-1, 2, (num_gates, 9)).astype(np.int8)
    return Netlist.of_gates(NUM_INPUTS, tables, a, b, np.arange(*layers[DEPTH]), name="random")


def measure(num_gates: int, *, optimized: bool) -> dict[str, Any]:
    """Write a network once, in this process."""
    netlist = random_netlist(num_gates)
    start = time.process_time()
    if optimized:
        optimize(netlist)
    optimizer_seconds = time.process_time() - start
    with TemporaryDirectory() as directory:
        start = time.process_time()
        path = write_logic(netlist, Path(directory), optimized=optimized).path
        seconds = time.process_time() - start
        size = path.stat().st_size
    return {
        "gates": num_gates,
        "optimized": optimized,
        "seconds": seconds,
        "optimizer_seconds": optimizer_seconds,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "file_megabytes": size / 1e6,
    }


def measure_apart(num_gates: int, *, optimized: bool) -> dict[str, Any]:
    """Run :func:`measure` in a new process, whose memory is its own."""
    kind = "optimized" if optimized else "plain"
    command = [sys.executable, __file__, "--one", str(num_gates), kind]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    row: dict[str, Any] = json.loads(done.stdout)
    return row


def draw(rows: list[dict[str, Any]]) -> str:
    """Draw time and memory over gates, with a line of constant time a gate to compare with."""
    from matplotlib.figure import Figure

    from trilut.report.svg import svg_file

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    axes = figure.subplots(1, 2)
    for axis, key in zip(axes, ("seconds", "megabytes"), strict=True):
        for optimized, name in ((False, "every gate"), (True, "optimised first")):
            own = [row for row in rows if row["optimized"] == optimized]
            axis.loglog([row["gates"] for row in own], [row[key] for row in own], "o-", label=name)
        axis.set_xlabel("gates")
        axis.grid(alpha=0.3)
    largest = max(rows, key=lambda row: (row["gates"], row["seconds"]))
    gates = sorted({row["gates"] for row in rows})
    linear = [largest["seconds"] * count / largest["gates"] for count in gates]
    axes[0].loglog(gates, linear, "--", color="grey", label="linear")
    axes[0].set_ylabel("time (s)")
    axes[1].set_ylabel("memory (MB)")
    axes[0].legend()
    return svg_file(figure)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="up to 64K gates")
    parser.add_argument("--json", type=Path, help="write the figures to a file")
    parser.add_argument("--plot", type=Path, help="draw them into an SVG file")
    parser.add_argument("--one", nargs=2, metavar=("GATES", "KIND"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(measure(int(args.one[0]), optimized=args.one[1] == "optimized")))
        return
    print("   gates  optimised  seconds  µs/gate  optimiser µs/gate  memory MB  file MB")
    rows = []
    for num_gates in QUICK_SIZES if args.quick else SIZES:
        for optimized in (False, True):
            row = measure_apart(num_gates, optimized=optimized)
            rows.append(row)
            print(
                f"{num_gates:8}  {'yes' if optimized else 'no':>9}  {row['seconds']:7.2f}  "
                f"{1e6 * row['seconds'] / num_gates:7.1f}  "
                f"{1e6 * row['optimizer_seconds'] / num_gates:17.1f}  {row['megabytes']:9.0f}  "
                f"{row['file_megabytes']:7.1f}",
                flush=True,
            )
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n")
    if args.plot:
        args.plot.write_text(draw(rows))


if __name__ == "__main__":
    main()
