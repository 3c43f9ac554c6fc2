"""The package against an outsider's opinion of the same files."""

import copy
import ctypes
import json
import random
import re
import shutil
import subprocess

import documents
import independent
import pytest

from trilut import TrilutError, sim
from trilut.circuit.format import loads
from trilut.cli import main
from trilut.sim.bench.simulator import Verilator, find_simulator

SIMULATORS = ["verilator", *(["icarus"] if shutil.which("iverilog") else [])]
# Documents that a test reads in one go: each test has a name, but a thousand names say no more.
BATCH = 25

# Runs the harness below, and asks it about every bench.
CLOCK = """
#include "Vtop.h"
#include <verilated.h>
extern "C" void run_harness(uint32_t cycles, uint32_t num_benches, uint32_t *results)
{
    VerilatedContext context;
    context.randReset(2);
    Vtop top{&context};
    top.clk = 0;
    top.eval();
    for (uint32_t cycle = 0; cycle < cycles && !top.all_done; cycle++)
        for (int level = 0; level < 2; level++) {
            top.clk = level;
            top.eval();
        }
    for (top.bench = 0; top.bench < num_benches; top.bench++) {
        top.eval();
        *results++ = top.done;
        *results++ = top.faults;
        *results++ = top.given;
    }
}
"""
# The same for a simulator that makes its own time.
TICK = """
module tick;
  reg clk;
  reg [31:0] bench;
  wire all_done, done;
  wire [31:0] faults, given;
  harness harness(clk, bench, all_done, done, faults, given);
  initial begin
    clk = 0;
    bench = 0;
    #1;
    while (!all_done && $time < 1000000) #5 clk = ~clk;
    for (bench = 0; bench < NUM_BENCHES; bench = bench + 1)
      #1 $display("%0d %0d %0d", done, faults, given);
    $finish;
  end
endmodule
"""


def opinion(circuit, values):
    """Return what the outsider makes of a sample: inputs, outputs and the decision."""
    trits = values
    if circuit.document["encoder"] is not None:
        trits = circuit.inputs(circuit.integers(values))
    outputs = circuit.outputs([int(trit) for trit in trits])
    return trits, outputs, None if circuit.head is None else circuit.decide(outputs)


def assert_same_decisions(decisions, expected):
    assert decisions.scores.tolist() == [decision.scores for decision in expected]
    assert decisions.chosen.tolist() == [decision.chosen for decision in expected]
    assert decisions.margin.tolist() == [decision.margin for decision in expected]
    assert decisions.unknown.tolist() == [decision.unknown for decision in expected]
    members = [decision.members for decision in expected]
    assert (decisions.members is None) == (members[0] is None)
    if decisions.members is not None:
        assert decisions.members.tolist() == members


def assert_same_inputs(netlist, circuit, samples, trits):
    integers = [circuit.integers(values) for values in samples]
    vectors = netlist.encoder.quantize(samples)
    known = [[0 if x is None else x for x in row] for row in integers]
    assert vectors.values.tolist() == known
    assert vectors.valid.tolist() == [[x is not None for x in row] for row in integers]
    assert netlist.encoder.encode(samples).tolist() == trits


def assert_same_opinions(document, seed, engines, monkeypatch):
    rng = random.Random(seed)
    text = json.dumps(document)
    circuit, netlist = independent.read(text.encode()), loads(text)
    samples = [documents.sample(circuit, rng) for _ in range(70)]
    opinions = [opinion(circuit, values) for values in samples]
    trits, outputs, decisions = (list(column) for column in zip(*opinions, strict=True))
    if netlist.encoder is not None:
        assert_same_inputs(netlist, circuit, samples, trits)
    assert netlist.evaluate(trits).tolist() == outputs
    if netlist.head is not None:
        assert_same_decisions(netlist.classify(trits), decisions)
    for engine in engines:
        monkeypatch.setenv("TRILUT_KERNEL", "numpy" if engine == "numpy" else "")
        name = "fast" if engine == "numpy" else engine
        assert sim.evaluate(netlist, trits, engine=name).tolist() == outputs
        if netlist.head is not None:
            assert_same_decisions(sim.classify(netlist, samples, engine=name), decisions)
            if netlist.encoder is not None:
                vectors = netlist.encoder.quantize(samples)
                assert_same_decisions(sim.classify(netlist, vectors, engine=name), decisions)


@pytest.mark.parametrize("batch", range(12))
def test_every_engine_has_the_outsiders_opinion(batch, monkeypatch):
    for seed in range(BATCH * batch, BATCH * batch + BATCH):
        document = documents.example(seed)
        assert_same_opinions(document, seed, ("lookup", "fast", "numpy"), monkeypatch)


@pytest.mark.parametrize("batch", range(8))
def test_gates_of_any_wires_have_the_outsiders_opinion(batch, monkeypatch):
    for seed in range(BATCH * batch, BATCH * batch + BATCH):
        document = documents.example_of_nodes(seed)
        assert_same_opinions(document, seed, ("lookup", "fast", "numpy"), monkeypatch)


WEIRD = (
    *(None, True, False, 0, -1, 1, 2, 3, 17, 2**31, 2**62 - 1, 2**62, -(2**62), 2**64, 10**400),
    *(0.0, 1.0, 2.5, -1e300, "", "text", "n" * 65_536, "n" * 65_537, [], [0], {}, {"a": 1}),
)


def places(value, path=()):
    """Give the path of everything in a document."""
    yield path
    if isinstance(value, dict):
        for key, member in value.items():
            yield from places(member, (*path, key))
    elif isinstance(value, list):
        for index, member in enumerate(value[:8]):
            yield from places(member, (*path, index))


def changed(document, rng):
    """Return JSON of the document with one thing replaced, removed, repeated or twice."""
    document = copy.deepcopy(document)
    *above, last = rng.choice([path for path in places(document) if path])
    owner = document
    for key in above:
        owner = owner[key]
    kind = rng.choice(["replace", "replace", "remove", "append", "twice"])
    if kind == "remove":
        del owner[last]
    elif kind == "append" and isinstance(owner, list):
        owner.append(owner[last])
    elif kind == "twice" and isinstance(owner, dict):
        owner["same key"] = owner[last]
        return json.dumps(document).replace('"same key"', json.dumps(last))
    else:
        owner[last] = rng.choice(WEIRD)
    return json.dumps(document)


@pytest.mark.parametrize("batch", range(12))
@pytest.mark.parametrize("example", [documents.example, documents.example_of_nodes])
def test_the_reader_refuses_what_the_outsider_refuses(example, batch):
    refused = 0
    for seed in range(BATCH * batch, BATCH * batch + BATCH):
        rng = random.Random(seed)
        document = example(seed, small=True)
        for _ in range(8):
            text = changed(document, rng)
            try:
                independent.read(text.encode())
            except independent.RefusedError:
                refused += 1
                with pytest.raises(TrilutError):
                    loads(text)
            else:
                loads(text)
    assert BATCH < refused < 8 * BATCH


# Options, and what a circuit needs for them.
OPTIONS = {
    "features": ([], lambda document: document["encoder"]),
    "gates as they are": (["--no-optimize", "--pipeline", "1"], lambda document: True),
    "scores": (["--scores", "--pipeline", "3"], lambda document: document["head"]),
    "trits": (["--input", "trits", "--sums", "carry"], lambda document: document["encoder"]),
    "port": (["--margin-port"], lambda document: document["head"]),
}
NUM_VECTORS = 120


def design_benches(name, options, document, directory):
    """Write a design, and benches for it in the same Verilog."""
    path = directory / f"{name}.trilut"
    path.write_text(json.dumps(document))
    circuit = independent.read(path.read_bytes())
    # Portable, because there is nothing but the file: no models of the cells of a part.
    portable = ["--target", "generic", "--top", name, *options]
    assert main(["verilog", str(path), "-o", str(directory), *portable]) == 0
    margins = [None]
    if "--margin-port" in options:
        width = (2 * circuit.limit * max(circuit.head["group_sizes"])).bit_length()
        margins = [(width, margin) for margin in (0, 1, 2, 2**width - 1)]
    benches = [
        independent.bench(f"{name}_bench_{index}", name, *vectors(circuit, options, margin), margin)
        for index, margin in enumerate(margins)
    ]
    return [(directory / f"{name}.v").read_text(), *benches]


def vectors(circuit, options, margin):
    """Return the ports of random vectors, and of the answers to them."""
    rng = random.Random(str(options))
    vectors, answers = [], []
    for _ in range(NUM_VECTORS):
        values = documents.sample(circuit, rng)
        trits, outputs, decision = opinion(circuit, values)
        if margin is not None:
            decision = circuit.decide(outputs, margin[1])
        if circuit.document["encoder"] is None or "trits" in options:
            vectors.append(independent.trit_port("in_trits", trits))
        else:
            vectors.append(independent.input_ports(circuit, circuit.integers(values)))
        ports = independent.output_ports(circuit, outputs, decision)
        if "--scores" not in options:
            ports.pop("out_scores", None)
        answers.append(ports)
    return vectors, answers


def harness(benches):
    """Return a module with an instance of every bench; an input chooses whose result it shows."""
    done = [f"done_{index}" for index in range(len(benches))]
    lines = [
        "module harness(input clk, input [31:0] bench, output all_done, output reg done,",
        "  output reg [31:0] faults, output reg [31:0] given);",
        f"  wire {', '.join(done)};",
        *(f"  wire [31:0] faults_{index}, given_{index};" for index in range(len(benches))),
        *(
            f"  {name} bench_{index}(clk, done_{index}, faults_{index}, given_{index});"
            for index, name in enumerate(benches)
        ),
        f"  assign all_done = {' & '.join(done)};",
        "  always @* case (bench)",
        *(
            f"    {index}: {{done, faults, given}} = "
            f"{{done_{index}, faults_{index}, given_{index}}};"
            for index in range(len(benches))
        ),
        "    default: {done, faults, given} = 65'd0;",
        "  endcase",
        "endmodule",
        "",
    ]
    return "\n".join(lines)


def simulate(simulator, text, directory):
    """Run all benches in a text; return their names with end, faults and number of answers."""
    benches = re.findall(r"^module (\w+_bench_\d+)\(", text, flags=re.MULTILINE)
    text += harness(benches)
    run = _run_icarus if simulator == "icarus" else _run_verilator
    results = run(text, len(benches), directory)
    triples = zip(results[::3], results[1::3], results[2::3], strict=True)
    return dict(zip(benches, triples, strict=True))


def _run_icarus(text, num_benches, directory):
    (directory / "whole.v").write_text(text + TICK.replace("NUM_BENCHES", str(num_benches)))
    command = ["iverilog", "-g2005", "-s", "tick", "-o", "whole.vvp", "whole.v"]
    subprocess.run(command, cwd=directory, check=True, timeout=300)
    command = ["vvp", "-n", "whole.vvp"]
    done = subprocess.run(
        command, cwd=directory, check=True, capture_output=True, text=True, timeout=300
    )
    return list(map(int, done.stdout.split()[: 3 * num_benches]))


def _run_verilator(text, num_benches, directory):
    (directory / "whole.v").write_text(text)
    (directory / "clock.cpp").write_text(CLOCK)
    tool = find_simulator("verilator")
    assert isinstance(tool, Verilator)
    tool.translate(directory / "whole.v", "harness", directory, timeout=300)
    library = ctypes.CDLL(str(tool.build_library(directory, "clock.cpp", timeout=300)))
    results = (ctypes.c_uint32 * (3 * num_benches))()
    library.run_harness(ctypes.c_uint32(100_000), ctypes.c_uint32(num_benches), results)
    return list(results)


@pytest.mark.sim
@pytest.mark.synth
@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.parametrize(
    "seeds", [range(7), pytest.param(range(100, 130), marks=pytest.mark.slow)], ids=["few", "many"]
)
@pytest.mark.parametrize("example", [documents.example, documents.example_of_nodes])
def test_the_hardware_has_the_outsiders_opinion(example, seeds, simulator, tmp_path):
    parts = []
    for seed in seeds:
        document = example(seed, small=True)
        fitting = [title for title, (_, suits) in OPTIONS.items() if suits(document)]
        # One that fits, a different one from seed to seed.
        options, _ = OPTIONS[fitting[seed % len(fitting)]]
        parts += design_benches(f"design_{seed}", options, document, tmp_path)
    wrong = parts[-1].replace("_bench_", "_wrong_bench_").replace("answers[3] = ", "answers[3] = ~")
    results = simulate(simulator, "\n".join([*parts, wrong]), tmp_path)
    done, faults, _ = results.popitem()[1]
    assert (done, faults > 0) == (1, True)
    assert results == dict.fromkeys(results, (1, 0, NUM_VECTORS))
