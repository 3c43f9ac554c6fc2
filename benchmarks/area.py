"""Area and frequency of whole designs on ECP5.

Usage: python benchmarks/area.py [--quick] [--json FILE]

Three versions of the same netlist, with the same encoder, argmax and number of registers:

- ``zero``: every gate a case statement, illegal codes give 0, scores added with plain ``+``
- ``x``: the same, but illegal codes give 2'bxx, which leaves them to Yosys
- ``ours``: optimised netlist, cheapest formulas, compressor trees

LUT4 are LUT4 cells plus two for each CCU2C, all blocks included, mapped by ``synth_ecp5``. Networks
that were trained on MNIST are measured too if ``build/mnist*/net.trilut`` are there.

Then a random network 3×256→64 with a register after every layer is placed and routed with several
seeds, encoder, sums, argmax and control included, and a register at each port.
"""

import argparse
import dataclasses
import json
import re
import statistics
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from trilut import Encoder, Feature, Head, Netlist, load
from trilut.data import load_dataset
from trilut.hdl import Classifier, write_verilog
from trilut.hdl.gate import TRIT_CODE
from trilut.hdl.groupsum import score_width
from trilut.hdl.layer import LayerPlan
from trilut.hdl.verilog import convert
from trilut.reach import ternary_tables
from trilut.synth import load_target, synthesize

ECP5 = load_target("ecp5")
TARGET = dataclasses.replace(ECP5, place_and_route=None)
SEEDS = (1, 2, 3, 4, 5)


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
    return Netlist(
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


def trained(name: str, **settings: object) -> Netlist:
    """Train on a data set and return the circuit."""
    from trilut.training import TrainingConfig, train

    dataset = load_dataset(name)
    result = train(dataset, TrainingConfig.for_dataset(dataset, **settings))
    print(f"{name}: hardened test accuracy {100 * result.hardened.test:.2f} %")
    return result.netlist


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
            f"4'b{TRIT_CODE[row // 3 - 1]:02b}{TRIT_CODE[row % 3 - 1]:02b}: "
            f"n{net} = 2'b{TRIT_CODE[int(trit)]:02b};"
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
        netlist, scores=True, layer_module=lambda plan: f"top_layer_{plan.level}"
    )
    text = convert(classifier, "top", work)
    ours = re.search(r"^module top_groupsum\(.*?^endmodule\n", text, re.MULTILINE | re.DOTALL)
    assert ours is not None
    assert netlist.head is not None
    width = score_width(netlist.head)
    plain = plain_groupsum(netlist.head, "top_groupsum", width, num_registers=3)
    layers = [
        case_layer(netlist, plan, f"top_layer_{plan.level}", default) for plan in classifier.plans
    ]
    path = work / "baseline.v"
    path.write_text("\n".join([text.replace(ours[0], plain), *layers]))
    return path


def measure(path: Path, top: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as work:
        result = synthesize(path, top, TARGET, out=Path(work), timeout=3600)
    blocks: dict[str, int] = {}
    for block, cells in result.blocks.items():
        kind = "logic" if block.startswith("layer") else block
        blocks[kind] = blocks.get(kind, 0) + cells.lut4_equivalents
    return {"lut4": result.cells.lut4_equivalents, "ff": result.cells.ff, "blocks": blocks}


def compare(name: str, netlist: Netlist) -> dict[str, dict[str, Any]]:
    """Measure and print the three versions of a netlist."""
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory)
        versions = {
            "zero": measure(baseline(netlist, "2'b00", work), "top"),
            "x": measure(baseline(netlist, "2'bxx", work), "top"),
            "ours": measure(write_verilog(netlist, work, target="ecp5").path, "trilut_top"),
        }
    ours = versions["ours"]
    print(f"\n{name}: {netlist.num_gates} gates, {len(netlist.outputs)} outputs")
    print(f"  {'version':8} {'LUT4':>7} {'FF':>6}  ratio  logic  blocks, each mapped on its own")
    for version, figure in versions.items():
        blocks = figure["blocks"]
        print(
            f"  {version:8} {figure['lut4']:7} {figure['ff']:6}  "
            f"{ours['lut4'] / figure['lut4']:5.2f}  "
            f"{ours['blocks']['logic'] / blocks['logic']:5.2f}  "
            + ", ".join(f"{block} {count}" for block, count in blocks.items()),
            flush=True,
        )
    return versions


def route(netlist: Netlist) -> dict[str, Any]:
    """Place and route a fully pipelined design with several seeds, and print its frequency."""
    with tempfile.TemporaryDirectory() as directory:
        design = write_verilog(netlist, Path(directory), pipeline=1, target=ECP5.sums)
        results = [
            synthesize(
                design.path,
                design.top,
                ECP5,
                out=Path(directory) / str(seed),
                frequency=300,
                seed=seed,
                blocks=False,
                timeout=3600,
            )
            for seed in SEEDS
        ]
    fmax = [result.timing.fmax_mhz for result in results if result.timing is not None]
    median = statistics.median(fmax)
    cells = results[0].cells
    print(
        f"\n{netlist.name}, a register after every layer: {cells.lut4_equivalents} LUT4, "
        f"{cells.ff} FF\n  Fmax over {len(SEEDS)} seeds: least {min(fmax):.0f}, median "
        f"{median:.0f}, most {max(fmax):.0f} MHz\n  latency {design.latency} cycles, "
        f"{1000 * design.latency / median:.1f} ns at the median"
    )
    return {
        "latency_cycles": design.latency,
        "lut4": cells.lut4_equivalents,
        "ff": cells.ff,
        "fmax_mhz": dict(zip(SEEDS, fmax, strict=True)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small networks only")
    parser.add_argument("--json", type=Path, help="write the figures to a file")
    args = parser.parse_args()
    netlists = {
        "random [512]³→200": random_network([512, 512, 512, 200], 32, 2),
        "breast_cancer": trained("breast_cancer"),
    }
    if not args.quick:
        netlists["binary 784→3×2000→10"] = random_network([2000] * 3, 784, 10, valence=2)
        netlists["digits-4K"] = trained("digits", layers=(1000, 1000, 1000, 1000))
        found = sorted(Path("build").glob("mnist*/net.trilut"))
        netlists |= {path.parent.name: load(path) for path in found}
    figures: dict[str, Any] = {name: compare(name, net) for name, net in netlists.items()}
    figures["routed"] = route(random_network([256, 256, 256, 64], 32, 2))
    if args.json:
        args.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
