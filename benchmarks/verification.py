"""Speed of verification: vectors a second through the RTL, and the time of a proof.

The callable drives one vector a cycle from C++; the cocotb bench drives and checks from Python,
with pauses and resets. Builds are those of Verilator and the C++ compiler. All times are CPU time,
of TriLUT and of the tools that it starts, so that they can be compared on a shared machine.

Run: python benchmarks/verification.py [NET.trilut ...]; by default two netlists of the tests
     python benchmarks/verification.py --proof [--axi 32] [--margin-port] [NET.trilut ...]
"""

import argparse
import resource
import tempfile
from pathlib import Path

import numpy as np

from trilut import load, sim
from trilut.circuit.encoder import FeatureVectors
from trilut.hdl import HardwareOptions, write_verilog
from trilut.verify.proof.formal import prove_design

SMALL = [
    Path(__file__).resolve().parent.parent / "tests" / "regression" / f"{name}.trilut"
    for name in ("ternary_two_classes", "ternary_ten_classes")
]


def cpu_seconds() -> float:
    """Return the CPU time so far, with that of processes that have ended."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def timed(action):
    start = cpu_seconds()
    result = action()
    return result, cpu_seconds() - start


def measure(path: Path, target: str) -> list[str]:
    net = load(path)
    groups = sim.stimulus(net, None, np.random.default_rng(0), num_random=5000)
    vectors = FeatureVectors.concatenate(list(groups.values()))
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        design = write_verilog(net, work, HardwareOptions(sums=target))
        model, build = timed(lambda: sim.build_rtl(net, design, out=work / "library"))
        answers, run = timed(lambda: model.predict(vectors))
        assert np.array_equal(answers, sim.predict(net, vectors, engine="reference"))
        # Called when the build begins, and when the simulation does.
        steps = []
        bench = sim.verify_rtl(
            net,
            design,
            groups,
            out=work,
            progress=lambda step: steps.append(cpu_seconds()),
        )
        bench_run, bench_build = cpu_seconds() - steps[1], steps[1] - steps[0]
        assert bench.passed
        proof, seconds = timed(lambda: prove_design(net, design, work))
        assert proof.passed, proof.objection
    return [
        path.parent.name if path.stem == "net" else path.stem,
        f"{net.num_gates:,}",
        f"{len(vectors) / run:,.0f}",
        f"{build:.0f}",
        f"{bench.num_driven / bench_run:,.0f}",
        f"{bench_build:.0f}",
        f"{seconds:.1f}",
    ]


def measure_proof(path: Path, options: HardwareOptions) -> list[str]:
    """Prove a design, and return what TriLUT and the tools that it started took for it."""
    net = load(path)
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        own, tools = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        design = write_verilog(net, work, options)
        proof = prove_design(net, design, work)
        assert proof.passed, proof.objection
        after = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    own_seconds, tool_seconds = (
        later.ru_utime + later.ru_stime - before.ru_utime - before.ru_stime
        for before, later in zip((own, tools), after, strict=True)
    )
    return [
        path.parent.name if path.stem == "net" else path.stem,
        f"{net.num_gates:,}",
        f"{len(net.outputs):,}",
        f"{own_seconds:.1f} + {tool_seconds:.1f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nets", metavar="NET", type=Path, nargs="*", default=SMALL)
    parser.add_argument("--sums", metavar="KIND", default="ecp5", help="what sums are made of")
    parser.add_argument("--proof", action="store_true", help="prove, and simulate nothing")
    parser.add_argument("--axi", metavar="BITS", type=int, help="AXI4-Streams; with --proof")
    parser.add_argument("--margin-port", action="store_true", help="with --proof")
    args = parser.parse_args()
    if args.proof:
        options = HardwareOptions(
            sums=args.sums, axi_beat_bits=args.axi, margin_port=args.margin_port
        )
        print("| netlist | gates | outputs | RTL proven, s + Yosys, s |\n|---|---|---|---|")
        for path in args.nets:
            print(f"| {' | '.join(measure_proof(path, options))} |", flush=True)
        return
    print(
        "| netlist | gates | callable, vectors/s | its build, s "
        "| cocotb, vectors/s | its build, s | proof, s |\n|---|---|---|---|---|---|---|"
    )
    for path in args.nets:
        print(f"| {' | '.join(measure(path, args.sums))} |", flush=True)


if __name__ == "__main__":
    main()
