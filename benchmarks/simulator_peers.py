"""The simulator against difflogic's own compiled network, the same one on both sides.

difflogic writes the network as C and compiles it at -O1, which takes minutes at 4×12000 gates. Both
run in this process, in turns, on one thread. difflogic starts from booleans, ours from octets that
it compares with three thresholds a feature, as `benchmarks/simulator.py` does.

Run: python benchmarks/simulator_peers.py [--width N] [--json FILE]
"""

import argparse
import ctypes
import json
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from peers import peer_python
from simulator import alternate, image_netlist, images

from trilut import Netlist, sim
from trilut.sim.engines import fast

CLASSES, LAYERS = 10, 4

# What runs in the environment of the peers: a network, its wires and gates, and its library.
EXPORT = """
import sys, time
import numpy as np, torch
from difflogic import CompiledLogicNet, GroupSum, LogicLayer

num_inputs, width, directory = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
torch.manual_seed(0)
sizes = [num_inputs] + [width] * 4
layers = [
    LogicLayer(low, high, device="cpu", implementation="python")
    for low, high in zip(sizes, sizes[1:])
]
model = CompiledLogicNet(torch.nn.Sequential(*layers, GroupSum(10)), num_bits=64)
arrays = {}
for number, layer in enumerate(layers):
    arrays[f"a{number}"], arrays[f"b{number}"] = (index.numpy() for index in layer.indices)
    arrays[f"gate{number}"] = layer.weights.argmax(1).numpy()
start = time.perf_counter()
model.compile(opt_level=1, save_lib_path=directory + "/net.so")
np.savez(directory + "/net.npz", seconds=time.perf_counter() - start, **arrays)
"""


def difflogic_model(num_inputs: int, width: int) -> tuple[ctypes.CDLL, dict[str, np.ndarray]]:
    """Let difflogic make and compile a random network; return its library, its wires and gates."""
    with tempfile.TemporaryDirectory() as directory:
        command = [str(peer_python()), "-c", EXPORT, str(num_inputs), str(width), directory]
        subprocess.run(command, check=True)
        with np.load(Path(directory) / "net.npz") as arrays:
            return ctypes.CDLL(str(Path(directory) / "net.so")), dict(arrays)


def as_netlist(arrays: dict[str, np.ndarray], like: Netlist) -> Netlist:
    """Return the network of difflogic behind the encoder and head of another netlist."""
    parts: dict[str, list[np.ndarray]] = {"a": [], "b": [], "gate": []}
    first = 0
    for layer in range(LAYERS):
        parts["a"].append(first + arrays[f"a{layer}"])
        parts["b"].append(first + arrays[f"b{layer}"])
        parts["gate"].append(arrays[f"gate{layer}"])
        first += like.num_inputs if layer == 0 else len(parts["a"][-1])
    a, b, gate = (np.concatenate(part) for part in parts.values())
    # Gate n of difflogic has its value for inputs (0, 0) in the highest of four bits.
    table = 2 * (gate[:, None] >> np.array([3, 2, 1, 0]) & 1) - 1
    outputs = np.arange(first, first + len(parts["a"][-1]))
    return Netlist.of_gates(
        *(like.num_inputs, table, a, b, outputs),
        valence=2,
        encoder=like.encoder,
        head=like.head,
    )


def measure(width: int, num_samples: int) -> dict[str, object]:
    like = image_netlist(width, valence=2)
    library, arrays = difflogic_model(like.num_inputs, width)
    net = as_netlist(arrays, like)
    pixels = images(num_samples)
    booleans = np.ascontiguousarray(like.encoder.encode(pixels) == 1)
    sums = np.zeros((num_samples, CLASSES), dtype=np.int32)
    # It counts in words of 64 samples.
    arguments = (
        ctypes.c_void_p(booleans.ctypes.data),
        ctypes.c_void_p(sums.ctypes.data),
        ctypes.c_size_t(num_samples // 64),
    )
    library.apply_logic_gate_net(*arguments)
    start = time.perf_counter()
    fast.machine_of(net)
    ready = time.perf_counter() - start
    assert np.array_equal(2 * sums - width // CLASSES, sim.scores(net, pixels))
    times = alternate(
        {
            "difflogic, from booleans": lambda: library.apply_logic_gate_net(*arguments),
            "TriLUT, from octets": lambda: sim.classify(net, pixels, threads=1),
        },
        7,
    )
    speeds = {name: num_samples / seconds for name, seconds in times.items()}
    theirs, ours = speeds.values()
    return {
        "gates": net.num_gates,
        "samples per second": speeds,
        "TriLUT ÷ difflogic": ours / theirs,
        "seconds until the first sample": {
            "difflogic, compiling": float(arrays["seconds"]),
            "TriLUT": ready,
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--width", type=int, default=12_000, help="gates a layer (default 12000)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results")
    args = parser.parse_args()
    results = measure(args.width, num_samples=8192)
    print(json.dumps(results, indent=2, ensure_ascii=False))
    if args.json:
        args.json.write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
