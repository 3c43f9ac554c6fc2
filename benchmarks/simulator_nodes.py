"""Speed of the simulator on gates of six bits, beside straight-line C as difflogic writes it.

One layer of random gates over 784 pixels of one bit, ten classes: the size of a network that has
98.2 % on MNIST. The rival has one statement for each gate, a tree of choices over 64-bit words at
-O1, and starts from booleans; ours starts from octets that it compares with a threshold. Both run
in this process, in turns, on one thread.

Run: python benchmarks/simulator_nodes.py [--gates N] [--json FILE]
"""

import argparse
import ctypes
import json
import tempfile
import time
from pathlib import Path

import numpy as np
from simulator import END_TO_END, GATES_ONLY, alternate, compiled, gates_only, images

from trilut import Encoder, Feature, Head, Netlist, sim
from trilut.circuit.kinds import Kind
from trilut.sim.engines import fast

INPUTS, CLASSES, SAMPLES = 784, 10, 8192


def node_netlist(num_gates: int, seed: int = 0) -> Netlist:
    """Return one layer of random gates of six bits behind one threshold a pixel."""
    rng = np.random.default_rng(seed)
    sources = np.argsort(rng.random((num_gates, INPUTS)), axis=1)[:, :6]
    threshold = [128] * INPUTS
    features = tuple(Feature(f"pixel {number}", 8) for number in range(INPUTS))
    return Netlist(
        INPUTS,
        rng.choice(Kind.BIT.values, (num_gates, 64)),
        sources,
        INPUTS + np.arange(num_gates),
        np.full(INPUTS + num_gates, Kind.BIT),
        encoder=Encoder(features, np.arange(INPUTS), threshold, threshold, missing=-1),
        head=Head(tuple("0123456789"), (num_gates // CLASSES,) * CLASSES),
    )


def straight_line(netlist: Netlist) -> str:
    """Write gates of bits as C over 64-bit words, one statement each, 100 in a function."""
    lines = []
    starts = range(0, netlist.num_gates, 100)
    for start in starts:
        lines.append("__attribute__((noinline))")
        lines.append(f"static void part_{start}(const uint64_t *in, uint64_t *out)\n{{")
        for gate in range(start, min(start + 100, netlist.num_gates)):
            inputs = [f"in[{net}]" for net in netlist.reads(gate)]
            lines.append(f"  out[{gate}] = {_choice(netlist.table[gate].tolist(), inputs)};")
        lines.append("}")
    lines.append("static void net(const uint64_t *in, uint64_t *out)\n{")
    lines += [f"  part_{start}(in, out);" for start in starts]
    return "\n".join([*lines, "}"])


def _choice(table: list[int], inputs: list[str]) -> str:
    """Write a table as choices by its inputs, the first of which changes slowest."""
    if len(set(table)) == 1:
        return "~(uint64_t)0" if table[0] == 1 else "(uint64_t)0"
    first, *others = inputs
    half = len(table) // 2
    low, high = table[:half], table[half:]
    if low == high:
        return _choice(low, others)
    return f"(({first} & {_choice(high, others)}) | (~{first} & {_choice(low, others)}))"


def measure(num_gates: int) -> dict[str, object]:
    """Compare from samples to sums, and the gates alone."""
    net = node_netlist(num_gates)
    size = num_gates // CLASSES
    start = time.perf_counter()
    fast.machine_of(net)
    ready = time.perf_counter() - start
    pixels = images(SAMPLES)
    booleans = (pixels >= 128).astype(np.uint8)
    sums = np.zeros((SAMPLES, CLASSES), dtype=np.int32)
    sizes = f"NUM_INPUTS = {INPUTS}, NUM_OUTPUTS = {num_gates}, NUM_CLASSES = {CLASSES}"
    counters = f"enum {{ {sizes}, COUNTER_BITS = {size.bit_length()} }};"
    with tempfile.TemporaryDirectory() as directory:
        text = "\n".join([straight_line(net), counters, END_TO_END, GATES_ONLY])
        rival, seconds = compiled(text, Path(directory), "nodes")
    pointers = (ctypes.c_void_p(booleans.ctypes.data), ctypes.c_void_p(sums.ctypes.data))
    rival.classify(*pointers, SAMPLES)
    assert np.array_equal(2 * sums - size, sim.scores(net, pixels))
    words, results = np.zeros((2, max(INPUTS, num_gates)), dtype=np.uint64)
    planes = (ctypes.c_void_p(words.ctypes.data), ctypes.c_void_p(results.ctypes.data))
    ours, steps = gates_only(net), SAMPLES // 512
    times = alternate(
        {
            "C, from booleans to sums": lambda: rival.classify(*pointers, SAMPLES),
            "fast, from octets to decisions": lambda: sim.classify(net, pixels, threads=1),
            "C, gates only": lambda: rival.run(*planes, SAMPLES // 64),
            "fast, gates only": lambda: ours(steps),
        },
        40,
    )
    speeds = {name: SAMPLES / best for name, best in times.items()}
    return {
        "gates": num_gates,
        "samples per second": speeds,
        "fast over C": speeds["fast, from octets to decisions"]
        / speeds["C, from booleans to sums"],
        "fast over C, gates only": speeds["fast, gates only"] / speeds["C, gates only"],
        "seconds until the first sample": {"C, compiling": seconds, "fast": ready},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gates", type=int, default=1270, help="number of gates (default 1270)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results")
    args = parser.parse_args()
    text = json.dumps(measure(args.gates), indent=2)
    print(text)
    if args.json:
        args.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
