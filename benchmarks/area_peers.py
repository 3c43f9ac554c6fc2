"""The area of a binary network as RTL of torchlogix, of alkaid and of TriLUT, mapped alike.

A random network 784→3×2000→GroupSum(10) is given to each of them. What they write is mapped to the
ECP5 by the same Yosys with the same options, in two scopes: bits in and scores out, and bits in and
class out. Neither peer has an argmax, so both get ours. The handshake of ours is tied off, because
theirs have none. The evaluators of the peers must agree with ours on random vectors.

The peers run in an environment of their own, which takes gigabytes the first time; one that cannot
be run gets a line that says why. What Yosys made is kept in build/bench-area.

Run: python benchmarks/area_peers.py [--only NAME] [--json FILE]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from area import KEPT, TARGET, random_network
from peers import peer_package, peer_python

from trilut import Netlist
from trilut.circuit.head import Head
from trilut.errors import ToolError
from trilut.files import write_atomically
from trilut.hdl import Argmax, HardwareOptions, InputKind, write_verilog
from trilut.hdl.conversion import convert
from trilut.report.tables import Table
from trilut.synth import SynthesisSettings, synthesize
from trilut.synth.cache import Cache

INPUTS, WIDTH, LAYERS, CLASSES, SAMPLES = 784, 2000, 3, 10, 64
SCOPES = ("gates and sums", "and argmax")
PACKAGES = {
    "torchlogix": ("torchlogix==0.2.2",),
    "alkaid": ("alkaid==0.8.2", "quantizers>=1,<2"),
}
# Layers between our registers; there are three layers.
OURS = {"TriLUT": 2, "TriLUT, --pipeline 3": 3}
# Whose RTL, and of how many stages; without any it is combinational.
PEERS = {
    "torchlogix": ("torchlogix", 0),
    "alkaid": ("alkaid", 0),
    "alkaid, 4 stages": ("alkaid", 4),
}
# What a peer calls its module, its bits in, and its scores out; a score has 8 bits in both.
PORTS = {
    "torchlogix": ("circuit", "inp", "scores_flat"),
    "alkaid": ("peer_wrapper", "model_inp", "model_out"),
}

# What runs in the environment of the peers: it reads a network and writes a peer's Verilog of it.
# Gate n has its value for inputs (0, 0) in the highest of four bits.
TORCHLOGIX = '''
import json, pathlib, sys, types
import numpy as np, torch

net, place, out = json.load(open(sys.argv[1])), pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
source = (place / "torchlogix" / "circuit.py").read_text()
if sys.version_info < (3, 12):
    # Its export of C nests f-strings as Python 3.12 does; that of Verilog needs none of it.
    first = source.index('{"" if pack_bits is None else f"""')
    last = source.index('}}"""}"""', first) + len('}}"""}')
    source = source[:first] + source[last:]
torchlogix = sys.modules["circuit"] = types.ModuleType("circuit")
exec(compile(source, "circuit.py", "exec"), torchlogix.__dict__)

gates = []
for a, b, gate in zip(net["a"], net["b"], net["gate"]):
    op, *used = torchlogix.LUT_ID_TO_GATE[gate]
    read = [net for net, reads in zip((a, b), used) if reads] + [-1, -1]
    gate_id = net["inputs"] + len(gates)
    gates.append({"gate_id": gate_id, "op": op.name, "in0": read[0], "in1": read[1]})
first = net["inputs"] + len(gates)
groups = np.reshape(net["outputs"], (net["classes"], -1)).tolist()
sums = [{"node_id": first + index, "input_ids": group} for index, group in enumerate(groups)]
circuit = torchlogix.Circuit.from_dict({
    "n_inputs": net["inputs"], "input_shape": [net["inputs"]], "gates": gates,
    "outputs": [each["node_id"] for each in sums], "output_shape": [len(sums)], "sum_nodes": sums,
})
circuit.simplify()
scores = circuit(torch.tensor(net["samples"]).bool()).numpy()
assert np.array_equal(scores, net["scores"]), "torchlogix computes other scores"
circuit.write_verilog_code(out)
lost = int(sum(each.beta for each in circuit.sum_nodes if each.input_ids))
if lost:
    print(f"its Verilog leaves out {lost} constant outputs that its scores include")
'''
ALKAID = """
import json, pathlib, sys
import numpy as np
from alkaid.codegen.rtl.rtl_model import RTLModel
from alkaid.trace import FVArray, FVArrayInput, FVariable, trace

net, out, stages = json.load(open(sys.argv[1])), pathlib.Path(sys.argv[3]), int(sys.argv[4])
bits = FVArrayInput((net["inputs"],)).quantize(0, 1, 0)
functions = {
    1: lambda a, b: a & b, 2: lambda a, b: a & ~b, 3: lambda a, b: a, 4: lambda a, b: ~a & b,
    5: lambda a, b: b, 6: lambda a, b: a ^ b, 7: lambda a, b: a | b,
}
nets = list(bits)
for a, b, gate in zip(net["a"], net["b"], net["gate"]):
    if gate in (0, 15):
        nets.append(FVariable.from_const(float(gate == 15), bits.hwconf))
        continue
    value = functions[min(gate, 15 - gate)](nets[a], nets[b])
    nets.append(value if gate < 8 else ~value)
outputs = np.array([nets[index] for index in net["outputs"]], dtype=object)
made = FVArray(outputs, bits.solver_options)
circuit = trace(bits, np.sum(made.reshape(net["classes"], -1), axis=1))
scores = circuit.predict(np.array(net["samples"], dtype=float))
assert np.array_equal(scores, net["scores"]), "alkaid computes other scores"
project = out.with_suffix("")
RTLModel(circuit, project, "peer", n_stages=stages).write()
out.write_text("\\n".join(path.read_text() for path in sorted(project.glob("src/**/*.v"))))
"""


class PeerError(Exception):
    """A peer that cannot be measured here."""


def main() -> None:
    names = (*OURS, *PEERS)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", metavar="NAME", action="append", choices=names, help="; ".join(names)
    )
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the figures here, too")
    args = parser.parse_args()
    netlist = random_network([WIDTH] * LAYERS, INPUTS, CLASSES, valence=2)
    figures: dict[str, dict[str, Any]] = {}
    notes: list[str] = []
    for name in args.only or names:
        print(f"Measuring {name}", file=sys.stderr)
        try:
            figures[name], note = measure(name, netlist)
        except (PeerError, ToolError) as error:
            note = f"could not be measured: {error}"
        if note:
            notes.append(f"{name}: {note}")
    print(table(figures, notes).markdown())
    if args.json is not None:
        document = {"figures": figures, "notes": notes}
        write_atomically(args.json, json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def measure(name: str, netlist: Netlist) -> tuple[dict[str, Any], str]:
    """Return the cells of a network in both scopes, and what has to be known of them."""
    assert netlist.head is not None
    figures = {}
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory)
        if name in OURS:
            note = ""
            texts = [our_verilog(name, netlist, work, scores=scores) for scores in (True, False)]
        else:
            text, note = peer_verilog(name, netlist, work)
            texts = [
                text + peer_top(name, netlist.head),
                text
                + peer_top(name, netlist.head, argmax=True)
                + convert(Argmax(netlist.head, scores=False), "argmax", work),
            ]
        for scope, text in zip(SCOPES, texts, strict=True):
            path = work / "design.v"
            path.write_text(text)
            cells = synthesize(
                path,
                "top",
                TARGET,
                settings=SynthesisSettings(timeout=3600, cache=Cache(KEPT)),
                out=work,
                blocks=False,
            ).cells
            figures[scope] = {
                "lut4": cells.lut4,
                "carry": cells.carry,
                "lut4_equivalents": cells.lut4_equivalents,
                "ff": cells.ff,
            }
    return figures, note


def our_verilog(name: str, netlist: Netlist, work: Path, *, scores: bool) -> str:
    """Return our design with bits in, and nothing but scores or nothing but the class out."""
    assert netlist.head is not None
    design = write_verilog(
        netlist,
        work,
        HardwareOptions(
            pipeline=OURS[name], input_kind=InputKind.TRITS, scores=scores, sums=TARGET.sums
        ),
    )
    width = CLASSES * netlist.head.score_bits if scores else netlist.head.class_bits
    port = "out_scores" if scores else "out_class"
    trits = ", ".join(f"i[{bit}], ~i[{bit}]" for bit in reversed(range(INPUTS)))
    return (
        design.path.read_text()
        + f"""
module top(input clk, input [{INPUTS - 1}:0] i, output [{width - 1}:0] o);
  {design.top} design(.clk(clk), .rst(1'b0), .in_valid(1'b1), .out_ready(1'b1),
    .in_trits({{{trits}}}), .{port}(o));
endmodule
"""
    )


def peer_top(name: str, head: Head, *, argmax: bool = False) -> str:
    """Return a module with a peer's in it, and with an argmax or not."""
    peer, stages = PEERS[name]
    module, bits, scores = PORTS[peer]
    clock = ".clk(clk), " if stages else ""
    count = max(head.group_sizes).bit_length()
    last = count * CLASSES - 1
    signed = ", ".join(
        f"1'b0, s[{count * index + count - 1}:{count * index}]"
        for index in reversed(range(CLASSES))
    )
    decide = f"""
  argmax argmax(.clk(clk), .en(1'b1), .i({{{signed}}}), .o(o));"""
    return f"""
module top(input clk, input [{INPUTS - 1}:0] i,
    output [{netlist.head.class_bits - 1 if argmax else last}:0] o);
  wire [{last}:0] s;
  {module} peer({clock}.{bits}(i), .{scores}(s));
  {decide if argmax else "assign o = s;"}
endmodule
"""


def peer_verilog(name: str, netlist: Netlist, work: Path) -> tuple[str, str]:
    """Let a peer write a network as Verilog; return that, and what it has to say."""
    peer, stages = PEERS[name]
    write_atomically(work / "net.json", json.dumps(as_document(netlist)))
    try:
        place = peer_package(peer, *PACKAGES[peer])
        script = TORCHLOGIX if peer == "torchlogix" else ALKAID
        result = subprocess.run(
            [peer_python(), "-c", script, work / "net.json", place, work / "peer.v", str(stages)],
            env={**os.environ, "PYTHONPATH": str(place)},
            check=True,
            capture_output=True,
            text=True,
        )
    except subprocess.CalledProcessError as error:
        last = (error.stderr or "").strip().splitlines()[-1:]
        raise PeerError(": ".join([f"status {error.returncode}", *last])) from error
    return (work / "peer.v").read_text(), result.stdout.strip()


def as_document(netlist: Netlist) -> dict[str, Any]:
    """Return a binary netlist as plain lists, with some vectors and their scores."""
    bits = np.random.default_rng(1).integers(0, 2, (SAMPLES, netlist.num_inputs))
    ones = netlist.evaluate((2 * bits - 1).astype(np.int8)) == 1
    return {
        "inputs": netlist.num_inputs,
        "classes": CLASSES,
        "a": netlist.a.tolist(),
        "b": netlist.b.tolist(),
        "gate": ((netlist.table == 1) @ np.array([8, 4, 2, 1])).tolist(),
        "outputs": netlist.outputs.tolist(),
        "samples": bits.tolist(),
        "scores": ones.reshape(SAMPLES, CLASSES, -1).sum(2).tolist(),
    }


def table(figures: dict[str, dict[str, Any]], notes: list[str]) -> Table:
    rows = tuple(
        (name, scope, *(f"{count:,}" for count in cells.values()))
        for name, scopes in figures.items()
        for scope, cells in scopes.items()
    )
    header = ("RTL", "scope", "LUT4", "CCU2C", "LUT4 + 2·CCU2C", "FF")
    title = f"Random binary network {INPUTS} → {LAYERS}×{WIDTH} → {CLASSES} classes on ECP5"
    return Table(title, header, rows, tuple(notes))


if __name__ == "__main__":
    main()
