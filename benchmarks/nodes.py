"""What one layer of gates of bits takes, mapped, with everything from the pixels to the class.

Usage: python benchmarks/nodes.py [--target xc7] [--bits 6] [--random] [--pipeline 2] [--no-margin]
       GATES …

Networks of 784 inputs of one bit and ten classes whose gates read six bits each, or as many as
--bits says. Their tables are noisy thresholds, which take as much as trained ones where a table is
one LUT; --random makes random ones, which take the most anywhere. Results are rows of a table:
LUTs of the whole design, of each block, and what the estimate says.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

from trilut import Encoder, Feature, Head, Netlist
from trilut.circuit.kinds import Kind
from trilut.hdl import HardwareOptions, write_verilog
from trilut.hdl.estimate import PARTS, estimate
from trilut.synth import SynthesisSettings, Target, load_target, synthesize

NUM_INPUTS = 784
NUM_CLASSES = 10


def network(num_gates: int, bits: int, *, random: bool, seed: int = 0) -> Netlist:
    """Return a layer of gates of so many bits."""
    rng = np.random.default_rng(seed)
    rows = np.array(list(np.ndindex(*[2] * bits))) * 2 - 1
    votes = rng.normal(size=(num_gates, bits)) @ rows.T
    noise = rng.normal(size=votes.shape)
    table = np.where((noise if random else votes + 0.7 * noise) > 0, 1, -1)
    ones = np.ones(NUM_INPUTS, dtype=np.int64)
    size, rest = divmod(num_gates, NUM_CLASSES)
    return Netlist(
        NUM_INPUTS,
        table,
        np.array([rng.choice(NUM_INPUTS, bits, replace=False) for _ in range(num_gates)]),
        NUM_INPUTS + np.arange(num_gates),
        np.full(NUM_INPUTS + num_gates, Kind.BIT),
        encoder=Encoder(
            tuple(Feature(f"pixel {index}", bits=1) for index in range(NUM_INPUTS)),
            np.arange(NUM_INPUTS),
            ones,
            ones,
            missing=-1,
        ),
        head=Head(
            tuple(map(str, range(NUM_CLASSES))),
            tuple(size + (index < rest) for index in range(NUM_CLASSES)),
        ),
        name=f"{num_gates} gates of {bits} bits",
    )


def mapped(
    netlist: Netlist, target: Target, options: HardwareOptions
) -> tuple[dict[str, int], int]:
    """Return the LUTs of a whole design, as ``all``, and of its blocks, and its registers."""
    with tempfile.TemporaryDirectory() as work:
        design = write_verilog(netlist, Path(work), options)
        result = synthesize(
            design.path,
            design.top,
            target,
            out=Path(work),
            settings=SynthesisSettings(timeout=3600.0),
        )
    is_lut6 = target.lut == "lut6"
    luts = {
        name: cells.lut6 if is_lut6 else cells.lut4_equivalents
        for name, cells in {"all": result.cells, **result.blocks}.items()
    }
    return luts, result.cells.ff


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("gates", type=int, nargs="+", metavar="GATES")
    parser.add_argument("--target", default="xc7")
    parser.add_argument("--bits", type=int, default=6)
    parser.add_argument("--random", action="store_true")
    parser.add_argument("--pipeline", type=int, default=2)
    parser.add_argument("--no-margin", action="store_true")
    args = parser.parse_args()
    target = load_target(args.target)
    part = next((part for part in PARTS if args.target.startswith(part)), None)
    print("| network | LUT | encoder | layers | groupsum | argmax | control | FF | estimate |")
    print("|---|---|---|---|---|---|---|---|---|")
    for num_gates in args.gates:
        netlist = network(num_gates, args.bits, random=args.random)
        ports = {"presence_bits": False, "margin": not args.no_margin}
        guess = estimate(netlist, part, pipeline=args.pipeline, **ports).lut if part else "–"
        options = HardwareOptions(sums=target.sums, pipeline=args.pipeline, **ports)
        luts, num_registers = mapped(netlist, target, options)
        layers = sum(count for name, count in luts.items() if name.startswith("layer_"))
        print(
            f"| {netlist.name} | {luts['all']} | {luts.get('encoder', 0)} | {layers} "
            f"| {luts['groupsum']} | {luts['argmax']} | {luts['control']} | {num_registers} "
            f"| {guess} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
