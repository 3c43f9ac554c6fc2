"""Speed of verification: vectors a second through the RTL, and the time of a proof.

The callable drives one vector a cycle from C++; the cocotb bench drives and checks from Python,
with pauses and resets. Build times are those of Verilator and the C++ compiler.

Run: python benchmarks/verification.py [NET.trilut ...]; by default two netlists of the tests
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from trilut import load, sim
from trilut.encoder import FeatureVectors
from trilut.hdl import write_verilog
from trilut.verify.formal import prove_design

SMALL = [
    Path(__file__).resolve().parent.parent / "tests" / "regression" / f"{name}.trilut"
    for name in ("ternary_two_classes", "ternary_ten_classes")
]


def timed(action):
    start = time.perf_counter()
    result = action()
    return result, time.perf_counter() - start


def measure(path: Path) -> list[str]:
    net = load(path)
    groups = sim.stimulus(net, None, np.random.default_rng(0), num_random=5000)
    vectors = FeatureVectors.concatenate(list(groups.values()))
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        design = write_verilog(net, work)
        model, build = timed(
            lambda: sim.build_rtl(net, design.path, design.top, out=work / "library")
        )
        answers, run = timed(lambda: model.predict(vectors))
        assert np.array_equal(answers, sim.predict(net, vectors, engine="reference"))
        bench = sim.verify_rtl(net, design.path, design.top, design.latency, groups, out=work)
        assert bench.passed
        proof, seconds = timed(lambda: prove_design(net, design, work))
        assert proof.passed, proof.fault
    return [
        path.parent.name if path.stem == "net" else path.stem,
        f"{net.num_gates:,}",
        f"{len(vectors) / run:,.0f}",
        f"{build:.0f}",
        f"{bench.num_driven / bench.run_seconds:,.0f}",
        f"{bench.build_seconds:.0f}",
        f"{seconds:.1f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nets", metavar="NET", type=Path, nargs="*", default=SMALL)
    args = parser.parse_args()
    print(
        "| netlist | gates | callable, vectors/s | its build, s "
        "| cocotb, vectors/s | its build, s | proof, s |\n|---|---|---|---|---|---|---|"
    )
    for path in args.nets:
        print(f"| {' | '.join(measure(path))} |", flush=True)


if __name__ == "__main__":
    main()
