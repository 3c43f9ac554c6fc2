"""Speed and memory of the simulator, as ratios measured in one run.

The rival is a netlist compiled to straight-line C with 64-bit words at -O1, which is how difflogic
runs its networks; it is made here, for the same optimised netlist. One thread unless said.
"""

import argparse
import ctypes
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from trilut import Encoder, Feature, Head, Netlist, sim
from trilut.circuit.optimize import optimize
from trilut.sim.engines import bitplanes, fast
from trilut.sim.engines.planes import binary_functions, kernels, ternary_functions
from trilut.sim.engines.program import Program

# The children that measure memory run this file again.
_CHILD = "--memory-of"


def layered(width: int, *, num_inputs: int = 2352, valence: int = 3, seed: int = 0) -> Netlist:
    """Return four layers of random gates with random wiring, without encoder and head."""
    rng = np.random.default_rng(seed)
    sizes = [num_inputs, *[width] * 4]
    starts = np.cumsum([0, *sizes])
    reads = [starts[layer] + rng.integers(0, sizes[layer], (2, width)) for layer in range(4)]
    a, b = np.concatenate(reads, axis=1)
    values = [-1, 1] if valence == 2 else [-1, 0, 1]
    table = rng.choice(values, (4 * width, valence**2))
    return Netlist.of_gates(
        num_inputs, table, a, b, np.arange(starts[-2], starts[-1]), valence=valence
    )


def image_netlist(width: int, *, valence: int = 3) -> Netlist:
    """Return such a netlist behind 784 features of 8 bits with three thresholds, ten classes."""
    net = layered(width, valence=valence)
    features = tuple(Feature(f"pixel {number}", 8) for number in range(784))
    middle = np.tile([64, 128, 192], 784)
    band = 16 if valence == 3 else 0
    encoder = Encoder(
        features,
        np.repeat(np.arange(784), 3),
        middle - band,
        middle + band,
        missing=0 if valence == 3 else -1,
    )
    head = Head(tuple("0123456789"), (width // 10,) * 10)
    return Netlist.of_gates(
        *(net.num_inputs, net.table, net.a, net.b, net.outputs[: width // 10 * 10]),
        valence=valence,
        encoder=encoder,
        head=head,
    )


def moons_netlist() -> Netlist:
    net = layered(64, num_inputs=6)
    features = tuple(Feature(name, 8, scale=40, offset=100) for name in "xy")
    low = np.array([60, 100, 150] * 2)
    return Netlist.of_gates(
        *(6, net.table, net.a, net.b, net.outputs),
        encoder=Encoder(features, [0, 0, 0, 1, 1, 1], low, low + 20),
        head=Head(("upper", "lower"), (32, 32)),
    )


def images(num_samples: int) -> np.ndarray:
    return np.random.default_rng(1).integers(0, 256, (num_samples, 784), dtype=np.uint8)


def alternate(runs: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Return the shortest time of each, measured in turns so that all see the same noise."""
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(repeats):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


# The rival.


def straight_line(netlist: Netlist) -> str:
    """Write a netlist as C over 64-bit words, one statement for each plane.

    In functions of 100 gates: the time of gcc grows with the square of a function's length, and for
    4×12000 gates in one function it is hours.
    """
    count = 2 if netlist.valence == 3 else 1
    statements = [_statements(netlist, gate, count) for gate in range(netlist.num_gates)]
    parts = [statements[start : start + 100] for start in range(0, len(statements), 100)]
    lines = []
    for number, part in enumerate(parts):
        lines.append("__attribute__((noinline))")
        lines.append(f"static void part_{number}(const uint64_t *in, uint64_t *v)\n{{")
        lines += [line for gate in part for line in gate]
        lines.append("}")
    lines.append("static void net(const uint64_t *in, uint64_t *out)\n{")
    lines.append(f"  static uint64_t v[{max(1, count * netlist.num_gates)}];")
    lines += [f"  part_{number}(in, v);" for number in range(len(parts))]
    assert netlist.outputs.min() >= netlist.num_inputs
    places = [
        count * (number - netlist.num_inputs) + which
        for number in netlist.outputs.tolist()
        for which in range(count)
    ]
    lines.append(f"  static const int from[] = {{{', '.join(map(str, places))}}};")
    lines.append(f"  for (int i = 0; i < {len(places)}; i++)\n    out[i] = v[from[i]];")
    return "\n".join([*lines, "}"])


def _plane(netlist: Netlist, number: int, which: int, count: int) -> str:
    if number < netlist.num_inputs:
        return f"in[{count * number + which}]"
    return f"v[{count * (number - netlist.num_inputs) + which}]"


def _statements(netlist: Netlist, gate: int, count: int) -> list[str]:
    functions = ternary_functions() if count == 2 else binary_functions()
    rows = 1 << np.arange(netlist.valence**2)
    own = netlist.num_inputs + gate
    lines = []
    for which, value in enumerate((1, -1)[:count]):
        function = int((netlist.table[gate] == value) @ rows)
        operands = [
            (int(netlist.a[gate]), int(functions.negate_a[function])),
            (int(netlist.b[gate]), int(functions.negate_b[function])),
        ]
        if functions.swap[function]:
            operands.reverse()
        text = kernels()[functions.kernel[function]].expression
        text = text.replace("zero", "0").replace("one", "(~(uint64_t)0)")
        for letter, (number, negated) in zip("ab", operands, strict=True):
            text = text.replace(f"{letter}p", _plane(netlist, number, negated, count))
            text = text.replace(f"{letter}m", _plane(netlist, number, 1 - negated, count))
        lines.append(f"  {_plane(netlist, own, which, count)} = {text};")
    return lines


GATES_ONLY = """
void run(const uint64_t *in, uint64_t *out, long num_words)
{
    for (long i = 0; i < num_words; i++)
        net(in, out);
}
"""

# As difflogic does it: one word of samples at a time, booleans packed one by one, a ripple counter
# for each class. It starts from booleans: thresholds are not its business.
END_TO_END = """
void classify(const uint8_t *samples, int32_t *sums, long num_samples)
{
    static uint64_t in[NUM_INPUTS], out[NUM_OUTPUTS];
    for (long first = 0; first + 64 <= num_samples; first += 64) {
        for (int i = 0; i < NUM_INPUTS; i++) {
            uint64_t word = 0;
            for (int s = 0; s < 64; s++)
                word |= (uint64_t)(samples[(first + s) * NUM_INPUTS + i] != 0) << s;
            in[i] = word;
        }
        net(in, out);
        for (int c = 0; c < NUM_CLASSES; c++) {
            uint64_t counter[COUNTER_BITS] = {0};
            for (int i = 0; i < NUM_OUTPUTS / NUM_CLASSES; i++) {
                uint64_t carry = out[c * (NUM_OUTPUTS / NUM_CLASSES) + i];
                for (int bit = 0; bit < COUNTER_BITS; bit++) {
                    uint64_t old = counter[bit];
                    counter[bit] = old ^ carry;
                    carry &= old;
                }
            }
            for (int s = 0; s < 64; s++) {
                int32_t sum = 0;
                for (int bit = 0; bit < COUNTER_BITS; bit++)
                    sum += (int32_t)(counter[bit] >> s & 1) << bit;
                sums[(first + s) * NUM_CLASSES + c] = sum;
            }
        }
    }
}
"""


def compiled(text: str, directory: Path, name: str) -> tuple[ctypes.CDLL, float]:
    """Compile the rival at -O1; return it and the seconds that it took."""
    source, library = directory / f"{name}.c", directory / f"{name}.so"
    source.write_text(f"#include <stdint.h>\n{text}")
    start = time.perf_counter()
    subprocess.run(
        ["cc", "-O1", "-fPIC", "-shared", "-w", "-o", str(library), str(source)], check=True
    )
    return ctypes.CDLL(str(library)), time.perf_counter() - start


# Measurements; each returns rows of (what, value).


def gates_only(netlist: Netlist) -> Callable[[int], None]:
    """Return a function that runs the gates of a netlist for a number of steps of 512 samples."""
    machine = fast.machine_of(netlist)
    planes, _ = machine._memory()
    run = machine._library.functions.trilut_gates
    return lambda steps: run(machine._struct.address, planes, steps)


def check_rival(library: ctypes.CDLL, netlist: Netlist) -> None:
    """Check the outputs of the rival against the reference on 64 samples."""
    count = 2 if netlist.valence == 3 else 1
    values = [-1, 1] if netlist.valence == 2 else [-1, 0, 1]
    trits = np.random.default_rng(2).choice(values, (64, netlist.num_inputs)).astype(np.int8)

    def pack(bits: np.ndarray) -> np.ndarray:
        return np.packbits(bits.T, axis=1, bitorder="little").copy().view("<u8")[:, 0]

    words = np.stack([pack(trits == 1), pack(trits == -1)][:count], axis=1).copy()
    out = np.zeros((len(netlist.outputs), count), dtype=np.uint64)
    library.run(ctypes.c_void_p(words.ctypes.data), ctypes.c_void_p(out.ctypes.data), 1)
    expected = sim.evaluate(netlist, trits, engine="lookup")
    assert np.array_equal(out[:, 0], pack(expected == 1))
    assert count == 1 or np.array_equal(out[:, 1], pack(expected == -1))


def measure_gates(width: int, directory: Path) -> dict[str, object]:
    net = optimize(layered(width)).netlist
    rival, seconds = compiled(straight_line(net) + GATES_ONLY, directory, "gates")
    check_rival(rival, net)
    start = time.perf_counter()
    ours = gates_only(net)
    ours(1)
    ready = time.perf_counter() - start
    steps = max(1, 1_000_000 // width)
    inputs = np.zeros(2 * net.num_inputs, dtype=np.uint64)
    outputs = np.zeros(2 * len(net.outputs), dtype=np.uint64)
    pointers = (ctypes.c_void_p(inputs.ctypes.data), ctypes.c_void_p(outputs.ctypes.data))
    times = alternate(
        {"fast": lambda: ours(steps), "C": lambda: rival.run(*pointers, 8 * steps)}, 15
    )
    trits = np.random.default_rng(0).integers(-1, 2, (1024, net.num_inputs)).astype(np.int8)
    program = Program.of(net)
    many = np.repeat(trits, 32, axis=0)
    slow = alternate(
        {
            "lookup": lambda: sim.evaluate(net, trits, engine="lookup"),
            "numpy planes": lambda: bitplanes.evaluate(program, many),
        },
        2,
    )
    samples = 512 * steps
    speeds = {
        "fast": samples / times["fast"],
        "straight-line C": samples / times["C"],
        "lookup": 1024 / slow["lookup"],
        "numpy planes": 32768 / slow["numpy planes"],
    }
    return {
        "gates": net.num_gates,
        "samples_per_second": speeds,
        "fast_over_C": speeds["fast"] / speeds["straight-line C"],
        "C_compile_seconds": seconds,
        "fast_ready_seconds": ready,
    }


def measure_end_to_end(width: int, directory: Path) -> dict[str, object]:
    """Compare with the rival on a binary netlist of the same shape, from booleans to sums."""
    binary = image_netlist(width, valence=2)
    ternary = image_netlist(width)
    bare = Netlist.of_gates(
        *(binary.num_inputs, binary.table, binary.a, binary.b, binary.outputs), valence=2
    )
    size = len(binary.outputs) // 10
    text = "\n".join(
        [
            straight_line(optimize(bare).netlist),
            f"enum {{ NUM_INPUTS = {binary.num_inputs}, NUM_OUTPUTS = {len(binary.outputs)},",
            f"NUM_CLASSES = 10, COUNTER_BITS = {size.bit_length()} }};",
            END_TO_END,
        ]
    )
    rival, seconds = compiled(text, directory, "end_to_end")
    pixels = images(8192)
    booleans = (binary.encoder.encode(pixels) == 1).astype(np.uint8)
    sums = np.zeros((len(pixels), 10), dtype=np.int32)
    pointers = (ctypes.c_void_p(booleans.ctypes.data), ctypes.c_void_p(sums.ctypes.data))
    rival.classify(*pointers, len(pixels))
    assert np.array_equal(2 * sums - size, sim.scores(binary, pixels))
    values = pixels.astype(np.float64)
    times = alternate(
        {
            "C, from booleans": lambda: rival.classify(*pointers, len(pixels)),
            "fast, binary, octets": lambda: sim.classify(binary, pixels, threads=1),
            "fast, binary, float64": lambda: sim.classify(binary, values, threads=1),
            "fast, ternary, octets": lambda: sim.classify(ternary, pixels, threads=1),
            "fast, ternary, float64": lambda: sim.classify(ternary, values, threads=1),
            "fast, ternary, octets, all threads": lambda: sim.classify(ternary, pixels),
        },
        7,
    )
    speeds = {name: len(pixels) / seconds for name, seconds in times.items()}
    first = speeds["C, from booleans"]
    return {
        "samples_per_second": speeds,
        "over_C": {name: speed / first for name, speed in speeds.items()},
        "C_compile_seconds": seconds,
    }


def measure_large(small: int, large: int) -> dict[str, object]:
    """Compare the cost of a gate in a small and in a large netlist."""
    nets = {width: layered(width) for width in (small, large)}
    runs = {width: gates_only(net) for width, net in nets.items()}
    steps = {small: max(1, 2 * large // small), large: 2}
    times = alternate({str(width): lambda w=width: runs[w](steps[w]) for width in nets}, 7)
    cost = {
        str(width): times[str(width)]
        / steps[width]
        / 512
        / (fast.machine_of(net).program.num_instructions / 2)
        for width, net in nets.items()
    }
    return {
        "picoseconds_per_gate_and_sample": {name: 1e12 * value for name, value in cost.items()},
        "large_over_small": cost[str(large)] / cost[str(small)],
        "samples_per_second": {
            str(width): 512 * steps[width] / times[str(width)] for width in nets
        },
    }


def peak_megabytes() -> float:
    """Return the peak of this process; what getrusage says was in part its parent's."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def memory_child(what: str) -> dict[str, float]:
    """Run one large job in a process of its own and return its time and its peak memory."""
    if what == "moons":
        net = moons_netlist()
        samples = np.random.default_rng(0).normal(size=(1_000_000, 2))
    else:
        net = image_netlist(12_000)
        samples = images(10_000)
    fast.machine_of(net)
    start = time.perf_counter()
    sim.classify(net, samples)
    return {
        "seconds": time.perf_counter() - start,
        "peak_megabytes": peak_megabytes(),
    }


def measure_memory() -> dict[str, object]:
    results = {}
    for what in ("moons", "images"):
        done = subprocess.run(
            [sys.executable, __file__, _CHILD, what], capture_output=True, text=True, check=True
        )
        results[what] = json.loads(done.stdout)
    return results


def measure_growth(quick: bool) -> dict[str, list[tuple[int, float]]]:
    """Return times over the number of samples, and over the number of gates."""
    net = image_netlist(1500)
    counts = [512, 2048, 8192, 32768] if quick else [512, 2048, 8192, 32768, 131072]
    pixels = images(counts[-1])
    samples = alternate(
        {str(n): lambda n=n: sim.classify(net, pixels[:n], threads=1) for n in counts}, 5
    )
    widths = [750, 1500, 3000, 6000, 12000] + ([] if quick else [24000, 48000, 96000, 128000])
    runs = {width: gates_only(layered(width)) for width in widths}
    gates = alternate({str(4 * w): lambda w=w: runs[w](2) for w in widths}, 7)
    return {
        "samples": [(int(n), seconds) for n, seconds in samples.items()],
        "gates": [(int(n), seconds / 2) for n, seconds in gates.items()],
    }


def plot(growth: dict[str, list[tuple[int, float]]], path: Path) -> None:
    """Draw both on logarithmic axes, with a line of slope one."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "trilut", "font.size": 9})
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
    labels = {
        "samples": ("samples, 6,000 gates, from octets to class", "time in ms"),
        "gates": ("gates, 512 samples, gates only", "time in ms"),
    }
    for axis, (name, points) in zip(axes, growth.items(), strict=True):
        x, y = np.array(points).T
        axis.loglog(x, 1e3 * y, "o-", color="#2563eb", label="measured")
        middle = len(x) // 2
        axis.loglog(x, 1e3 * y[middle] * x / x[middle], "--", color="#9ca3af", label="linear")
        axis.set_xlabel(labels[name][0])
        axis.set_ylabel(labels[name][1])
        axis.grid(True, which="major", color="#e5e7eb")
        axis.legend(frameon=False)
    figure.savefig(path, metadata={"Date": None})


def show(results: dict[str, object], indent: str = "") -> None:
    for name, value in results.items():
        if isinstance(value, dict):
            print(f"{indent}{name}")
            show(value, indent + "  ")
        elif isinstance(value, float):
            print(f"{indent}{name:40} {value:,.{2 if value < 1e3 else 0}f}")
        else:
            print(f"{indent}{name:40} {value}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller nets: gcc needs no minutes")
    parser.add_argument("--plot", metavar="FILE", type=Path, help="draw the growth")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write all results")
    parser.add_argument(_CHILD, metavar="NAME", dest="child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        print(json.dumps(memory_child(args.child)))
        return
    width = 1500 if args.quick else 12_000
    results: dict[str, object] = {"kernel": fast.kernel_name()}
    results["large net"] = measure_large(12_000, 32_000 if args.quick else 128_000)
    results["memory, all threads"] = measure_memory()
    growth = measure_growth(args.quick)
    if args.plot:
        plot(growth, args.plot)
    with tempfile.TemporaryDirectory() as directory:
        print(f"Compiling the rival, 4×{width}; minutes at -O1 for 4×12000", file=sys.stderr)
        results["gates only"] = measure_gates(width, Path(directory))
        results["end to end"] = measure_end_to_end(width, Path(directory))
    show(results)
    if args.json:
        args.json.write_text(json.dumps({**results, "growth": growth}, indent=2) + "\n")


if __name__ == "__main__":
    main()
