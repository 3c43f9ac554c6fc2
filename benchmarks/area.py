"""Area and frequency of whole designs on ECP5.

Three versions of the same netlist, with the same encoder, argmax and number of registers:

- ``zero``: every gate a case statement, illegal codes give 0, scores added with plain ``+``
- ``x``: the same, but illegal codes give 2'bxx, which leaves them to Yosys
- ``ours``: optimised netlist, cheapest formulas, compressor trees

LUT4 are LUT4 cells plus two for each CCU2C, all blocks included, mapped by ``synth_ecp5``. Networks
that were trained on MNIST are measured too if ``build/mnist*/net.trilut`` are there, or those of
``make bench-training``.

Then a random network 3×256→64 with a register after every layer is placed and routed with several
seeds, encoder, sums, argmax and control included, and a register at each port.

What Yosys made is kept in build/bench-area, so an interrupted run goes on where it was, and trained
networks, so they are trained once. Figures go to build/bench-area.json, a network at a time.

Run: python benchmarks/area.py [--only NAME,…] [--table]
"""

import argparse
import dataclasses
import json
import re
import statistics
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from trilut import Encoder, Feature, Head, Netlist, load, save
from trilut.circuit.reach import ternary_tables
from trilut.circuit.trit import CODES
from trilut.data import load_dataset
from trilut.files import make_directory, write_atomically
from trilut.hdl import Classifier, HardwareOptions, write_verilog
from trilut.hdl.conversion import convert
from trilut.hdl.layer import LayerPlan
from trilut.report.tables import Table
from trilut.synth import SynthesisSettings, load_target, synthesize
from trilut.synth.cache import Cache

BUILD = Path(__file__).resolve().parent.parent / "build"
KEPT = BUILD / "bench-area"
FIGURES = BUILD / "bench-area.json"
ECP5 = load_target("ecp5")
TARGET = dataclasses.replace(ECP5, place_and_route=None)
VERSIONS = ("zero", "x", "ours")
SEEDS = (1, 2, 3, 4, 5)
# Most of the LUT4 of the same design with case statements, and of its gates alone.
TARGETS = {"whole": {"zero": 0.83, "x": 0.90}, "logic": {"x": 0.95}}


def random_network(
    widths: list[int], num_features: int, num_classes: int, *, valence: int = 3
) -> Netlist:
    """Return a layered network with random wires and gates.

    Ternary ones stand behind three thresholds of 8 bits a feature. Binary ones take bits, as those
    of other tools do.
    """
    rng = np.random.default_rng(0)
    if valence == 3:
        features = tuple(Feature(f"x{index}", bits=8) for index in range(num_features))
        centres = np.tile([64, 128, 192], num_features)
        which = np.repeat(np.arange(num_features), 3)
        encoder = Encoder(features, which, centres - 8, centres + 8)
    else:
        features = tuple(Feature(f"x{index}", bits=1) for index in range(num_features))
        ones = np.ones(num_features, dtype=np.int64)
        encoder = Encoder(features, np.arange(num_features), ones, ones, missing=-1)
    previous = np.arange(encoder.num_trits)
    a, b = [], []
    for width in widths:
        first = previous[-1] + 1
        a.append(rng.choice(previous, width))
        b.append(rng.choice(previous, width))
        previous = np.arange(first, first + width)
    return Netlist.of_gates(
        encoder.num_trits,
        rng.choice([-1, 0, 1] if valence == 3 else [-1, 1], (sum(widths), valence**2)),
        np.concatenate(a),
        np.concatenate(b),
        previous,
        valence=valence,
        encoder=encoder,
        head=Head(tuple(map(str, range(num_classes))), (widths[-1] // num_classes,) * num_classes),
        name=f"random {widths}",
    )


def trained(name: str, dataset_name: str, **settings: object) -> Netlist:
    """Return a circuit that is trained on a data set the first time it is asked for."""
    from trilut.training import TrainingConfig, train

    path = KEPT / f"{name}.trilut"
    if not path.exists():
        dataset = load_dataset(dataset_name)
        result = train(dataset, TrainingConfig.for_dataset(dataset, **settings))
        accuracy = 100 * result.hardened.test
        print(f"{name}: hardened test accuracy {accuracy:.2f} %", file=sys.stderr)
        save(result.netlist, path)
    return load(path)


def case_layer(netlist: Netlist, plan: LayerPlan, module: str, default: str) -> str:
    """Return a layer in which every gate is a case statement over its four bits."""
    tables = ternary_tables(netlist)
    position = {net: index for index, net in enumerate(plan.nets_in)}
    clock = "input clk, input en, " if plan.registered else ""
    last = 2 * len(plan.nets_out) - 1
    lines = [
        f"module {module}({clock}input [{2 * len(plan.nets_in) - 1}:0] i, output reg [{last}:0] o);"
    ]
    trits = {net: f"i[{2 * index + 1}:{2 * index}]" for net, index in position.items()}
    for gate in plan.gates:
        net = netlist.num_inputs + gate
        a, b = trits[int(netlist.a[gate])], trits[int(netlist.b[gate])]
        rows = " ".join(
            f"4'b{CODES[row // 3 - 1]:02b}{CODES[row % 3 - 1]:02b}: "
            f"n{net} = 2'b{CODES[int(trit)]:02b};"
            for row, trit in enumerate(tables[gate])
        )
        lines.append(f"reg [1:0] n{net};")
        lines.append(f"always @* case ({{{a}, {b}}}) {rows} default: n{net} = {default}; endcase")
        trits[net] = f"n{net}"
    result = ", ".join(trits[net] for net in reversed(plan.nets_out))
    when = "always @(posedge clk) if (en)" if plan.registered else "always @*"
    assign = "<=" if plan.registered else "="
    return "\n".join([*lines, f"{when} o {assign} {{{result}}};", "endmodule", ""])


def plain_groupsum(head: Head, module: str, width: int, num_registers: int) -> str:
    """Return GroupSum with plain additions and registers at its end."""
    bits = width * len(head.classes)
    lines = [
        f"module {module}(input clk, input en, input [{2 * head.num_outputs - 1}:0] i, "
        f"output [{bits - 1}:0] o);",
        f"wire [{bits - 1}:0] s0;",
    ]
    first = 0
    for index, size in enumerate(head.group_sizes):
        terms = [
            f"{{{{{width - 1}{{i[{2 * trit}]}}}}, i[{2 * trit}] | i[{2 * trit + 1}]}}"
            for trit in range(first, first + size)
        ]
        lines.append(
            f"assign s0[{width * index + width - 1}:{width * index}] = {' + '.join(terms)};"
        )
        first += size
    for stage in range(1, num_registers + 1):
        lines.append(f"reg [{bits - 1}:0] s{stage};")
        lines.append(f"always @(posedge clk) if (en) s{stage} <= s{stage - 1};")
    return "\n".join([*lines, f"assign o = s{num_registers};", "endmodule", ""])


def baseline(netlist: Netlist, default: str, work: Path) -> Path:
    # With scores there is one sum a class, which is how one would write it.
    classifier = Classifier(
        netlist, HardwareOptions(scores=True), layer_module=lambda plan: f"top_layer_{plan.level}"
    )
    text = convert(classifier, "top", work)
    ours = re.search(r"^module top_groupsum\(.*?^endmodule\n", text, re.MULTILINE | re.DOTALL)
    assert ours is not None
    assert netlist.head is not None
    width = netlist.head.score_bits
    plain = plain_groupsum(netlist.head, "top_groupsum", width, num_registers=3)
    layers = [
        case_layer(netlist, plan, f"top_layer_{plan.level}", default) for plan in classifier.plans
    ]
    path = work / "baseline.v"
    path.write_text("\n".join([text.replace(ours[0], plain), *layers]))
    return path


def measure(path: Path, top: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as work:
        result = synthesize(
            path,
            top,
            TARGET,
            settings=SynthesisSettings(timeout=3600, cache=Cache(KEPT)),
            out=Path(work),
        )
    blocks: dict[str, int] = {}
    for block, cells in result.blocks.items():
        kind = "logic" if block.startswith("layer") else block
        blocks[kind] = blocks.get(kind, 0) + cells.lut4_equivalents
    return {"lut4": result.cells.lut4_equivalents, "ff": result.cells.ff, "blocks": blocks}


def compare(netlist: Netlist) -> dict[str, Any]:
    """Measure the three versions of a netlist."""
    figures: dict[str, Any] = {"gates": netlist.num_gates, "outputs": len(netlist.outputs)}
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory)
        for version, default in (("zero", "2'b00"), ("x", "2'bxx")):
            figures[version] = measure(baseline(netlist, default, work), "top")
        figures["ours"] = measure(
            write_verilog(netlist, work, HardwareOptions(sums="ecp5")).path, "trilut_top"
        )
    return figures


def route() -> dict[str, Any]:
    """Place and route a fully pipelined design with several seeds."""
    with tempfile.TemporaryDirectory() as directory:
        netlist = random_network([256, 256, 256, 64], 32, 2)
        design = write_verilog(
            netlist, Path(directory), HardwareOptions(pipeline=1, sums=ECP5.sums)
        )
        results = [
            synthesize(
                design.path,
                design.top,
                ECP5,
                settings=SynthesisSettings(
                    frequency=300, seed=seed, timeout=3600, cache=Cache(KEPT)
                ),
                out=Path(directory) / str(seed),
                blocks=False,
            )
            for seed in SEEDS
        ]
    cells = results[0].cells
    return {
        "latency_cycles": design.interface.latency,
        "lut4": cells.lut4_equivalents,
        "ff": cells.ff,
        "fmax_mhz": [result.timing.fmax_mhz for result in results if result.timing is not None],
    }


def networks() -> dict[str, Callable[[], Netlist]]:
    training = sorted((BUILD / "bench-training").glob("mnist*/0/net.trilut"))
    found = {path.parent.parent.name: path for path in training}
    found |= {path.parent.name: path for path in sorted(BUILD.glob("mnist*/net.trilut"))}
    return {
        "random": lambda: random_network([512, 512, 512, 200], 32, 2),
        "breast_cancer": lambda: trained("breast_cancer", "breast_cancer"),
        "binary": lambda: random_network([2000] * 3, 784, 10, valence=2),
        "digits-4k": lambda: trained("digits-4k", "digits", layers=(1000,) * 4),
        **{name: partial(load, path) for name, path in found.items()},
    }


def area_table(figures: dict[str, Any]) -> Table:
    """Return the whole designs and the gates alone, with the ratios of ours to the others."""
    rows = []
    for name, net in figures.items():
        for scope in TARGETS:
            whole = scope == "whole"
            counts = [
                net[version]["lut4"] if whole else net[version]["blocks"]["logic"]
                for version in VERSIONS
            ]
            ratios = [counts[2] / count for count in counts[:2]]
            misses = [
                f"{version} > {TARGETS[scope][version]:.2f}"
                for version, ratio in zip(VERSIONS, ratios, strict=False)
                if ratio > TARGETS[scope].get(version, ratio)
            ]
            rows.append(
                (
                    f"{name}, {net['gates']} gates" if whole else "its gates alone",
                    *(f"{count:,}" for count in counts),
                    *(f"{ratio:.2f}" for ratio in ratios),
                    ", ".join(misses) or "yes",
                )
            )
    header = ("LUT4-equivalents", *VERSIONS, "ours ÷ zero", "ours ÷ x", "reached")
    return Table("Whole designs and their gates", header, tuple(rows))


def block_table(figures: dict[str, Any]) -> Table:
    """Return the blocks of each design, each mapped on its own, and its flip-flops."""
    blocks = list(dict.fromkeys(b for net in figures.values() for b in net["ours"]["blocks"]))
    rows = tuple(
        (
            f"{name}, {version}",
            *(f"{net[version]['blocks'].get(block, 0):,}" for block in blocks),
            f"{net[version]['ff']:,}",
        )
        for name, net in figures.items()
        for version in VERSIONS
    )
    return Table("Blocks, each mapped on its own", ("", *blocks, "FF"), rows)


def show(figures: dict[str, Any]) -> None:
    areas = {name: figures[name] for name in figures if name != "routed"}
    for table in (area_table(areas), block_table(areas)) if areas else ():
        print(table.markdown())
    if "routed" in figures:
        routed = figures["routed"]
        fmax = routed["fmax_mhz"]
        median = statistics.median(fmax)
        print(
            f"\nrandom 3×256→64, a register after every layer: {routed['lut4']} LUT4, "
            f"{routed['ff']} FF\n  Fmax over {len(fmax)} seeds: least {min(fmax):.0f}, median "
            f"{median:.0f}, most {max(fmax):.0f} MHz\n  latency {routed['latency_cycles']} cycles, "
            f"{1000 * routed['latency_cycles'] / median:.1f} ns at the median"
        )


def main() -> None:
    nets = networks()
    names = [*nets, "routed"]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", metavar="NAME,…", help=f"some of {', '.join(names)}")
    parser.add_argument("--table", action="store_true", help="only print what is measured")
    args = parser.parse_args()
    chosen = args.only.split(",") if args.only else names
    for name in chosen:
        if name not in names:
            parser.error(f"there is no {name!r}; expected one of {', '.join(names)}")
    make_directory(KEPT)
    figures = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    for name in [] if args.table else chosen:
        print(f"Measuring {name}", file=sys.stderr)
        figures[name] = route() if name == "routed" else compare(nets[name]())
        write_atomically(FIGURES, json.dumps(figures, indent=2) + "\n")
    show({name: figures[name] for name in chosen if name in figures})


if __name__ == "__main__":
    main()
