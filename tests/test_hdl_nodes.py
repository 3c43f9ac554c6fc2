# amaranth: UnusedElaboratable=no
"""Hardware of gates of any inputs."""

import dataclasses
import re
import shutil
import subprocess

import numpy as np
import pytest
from circuits import random_nodes

from trilut import Head
from trilut.circuit.interface import InputKind
from trilut.circuit.kinds import Kind
from trilut.circuit.vectors import BIT, Function, Number
from trilut.hdl import HardwareOptions, write_logic, write_verilog
from trilut.hdl.lookup import CELLS, lookup_text
from trilut.hdl.options import Fabric
from trilut.hdl.sums.models import PRIMITIVE_MODELS
from trilut.hdl.sums.plan import SUM_TARGETS, plan_sum
from trilut.hdl.tie import TieArgmax
from trilut.sim import verify_rtl
from trilut.tools import find_tool

# It compiles faster by far, where it is there.
SIMULATOR = "icarus" if shutil.which("iverilog") else "verilator"


def vectors_of(netlist, design, count=120):
    """Return random vectors of what a design takes, one feature in ten missing."""
    rng = np.random.default_rng(0)
    if design.interface.input_kind is InputKind.FEATURES:
        num_features = len(netlist.encoder.features)
        values = rng.integers(-150, 300, (count, num_features)).astype(float)
        values[rng.random(values.shape) < 0.1] = np.nan
        return netlist.encoder.quantize(values)
    shape = (count, netlist.num_inputs)
    is_bit = netlist.kinds[: netlist.num_inputs] == Kind.BIT
    trits = np.where(is_bit, rng.choice([-1, 1], shape), rng.choice([-1, 0, 1], shape))
    return trits.astype(np.int8)


DESIGNS = {
    "no head, no encoder": (0, False, False, {"sums": "xilinx", "pipeline": 1}),
    "scores in two classes": (2, True, True, {"sums": "xilinx"}),
    "bits and trits, trits in": (2, False, True, {"sums": "carry", "input_kind": InputKind.TRITS}),
    "scores, any logic": (5, True, False, {"sums": "generic", "pipeline": 3, "scores": True}),
    "an ECP5": (4, False, True, {"sums": "ecp5", "pipeline": 1, "presence_bits": False}),
    "beats": (3, True, True, {"sums": "ecp5", "axi_beat_bits": 16, "presence_bits": False}),
    "components": (3, False, True, {"sums": "generic", "fabric": Fabric.AMARANTH}),
}
_QUICK = ("scores in two classes", "an ECP5")


@pytest.mark.sim
@pytest.mark.parametrize(
    "case",
    [case if case in _QUICK else pytest.param(case, marks=pytest.mark.slow) for case in DESIGNS],
)
def test_hardware_computes_the_netlist(tmp_path, case):
    classes, scores, with_encoder, options = DESIGNS[case]
    num_gates = 16 if case == "components" else 40
    netlist = random_nodes(
        len(case),
        num_inputs=10,
        num_gates=num_gates,
        num_outputs=15,
        num_classes=classes,
        scores=scores,
        with_encoder=with_encoder,
    )
    design = write_verilog(netlist, tmp_path, HardwareOptions(optimized=False, **options))
    vectors = vectors_of(netlist, design)
    result = verify_rtl(netlist, design, vectors, out=tmp_path, simulator=SIMULATOR)
    assert result.passed, result.mismatches


@pytest.mark.sim
@pytest.mark.slow
def test_gates_alone_compute_the_netlist(tmp_path):
    netlist = random_nodes(3, num_inputs=9, num_gates=30, num_outputs=11)
    design = write_logic(netlist, tmp_path, optimized=False)
    result = verify_rtl(
        netlist, design, vectors_of(netlist, design), out=tmp_path, simulator=SIMULATOR
    )
    assert result.passed, result.mismatches


def picked_trit(values):
    return values in ((-1, 0, 1), (0, 1))


def number_of(values):
    return BIT if values == (-1, 1) else Number.of_range(min(values), max(values))


@pytest.mark.parametrize("target", SUM_TARGETS)
@pytest.mark.parametrize("seed", range(3))
def test_sums_of_bits_trits_and_scores(target, seed):
    rng = np.random.default_rng(seed)
    choices = [(-1, 1), (-1, 0, 1), (0, 1), (-7, -2, 5), (-8, 7), (3,)]
    picked = [choices[index] for index in rng.integers(0, len(choices), 25)]
    terms = [values if picked_trit(values) else number_of(values) for values in picked]
    # Some are subtracted: the plan then sees the code of the negative value.
    is_negated = rng.random(len(terms)) < 0.3
    terms = [
        term.negated() if flag and isinstance(term, Number) else term
        for term, flag in zip(terms, is_negated, strict=True)
    ]
    samples = np.stack([rng.choice(values, 200) for values in picked], axis=1)
    for column, (term, flag) in enumerate(zip(terms, is_negated, strict=True)):
        if flag and isinstance(term, Number):
            samples[:, column] *= -1
    plan = plan_sum(terms, target, offset=int(rng.integers(-20, 20)))
    constant = plan.evaluate(samples[:1])[0] - samples[:1].sum()
    assert np.array_equal(plan.evaluate(samples), samples.sum(axis=1) + constant)


@pytest.mark.synth
def test_functions_as_verilog(tmp_path):
    rng = np.random.default_rng(0)
    tables = [(num_wires, int(rng.bit_generator.random_raw())) for num_wires in range(7)]
    # All that are functions of two wires, and both of one.
    tables += [(2, table) for table in range(16) if table not in (0, 3, 5, 10, 12, 15)]
    tables += [(1, 0b01), (1, 0b10)]
    text = []
    for style, lookup in {"text": lookup_text, **CELLS}.items():
        text += [f"module {style} (input wire [5:0] i, output wire [{len(tables) - 1}:0] o);"]
        for index, (num_wires, table) in enumerate(tables):
            rows = 1 << num_wires
            function = Function((), table % (1 << rows), (1 << rows) - 1)
            text += lookup(f"o[{index}]", function, [f"i[{wire}]" for wire in range(num_wires)])
        text += ["endmodule", PRIMITIVE_MODELS.get(style, "")]
    (tmp_path / "functions.v").write_text("\n".join(text))
    styles = ["text", *CELLS]
    commands = [f"eval -set i 6'd{row} -show o {style}" for style in styles for row in range(64)]
    flat = ["read_verilog functions.v", "hierarchy", "proc", "flatten"]
    output = yosys(tmp_path, *flat, *commands)
    words = re.findall(r"Eval result: \\o = \d+'([01]+)\.", output)
    assert len(words) == 64 * len(styles)
    for place, word in enumerate(words):
        expected = [table >> place % 64 % (1 << num_wires) & 1 for num_wires, table in tables]
        assert [int(bit) for bit in reversed(word)] == expected


def yosys(directory, *commands):
    (directory / "check.ys").write_text("\n".join(commands) + "\n")
    command = [*find_tool("yosys").command, "-s", "check.ys"]
    ran = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=True)
    return ran.stdout


def test_rows_that_cannot_occur_make_simpler_text():
    # [v=+1] and [v=−1] are never both: that one of them is set takes no exclusive-or.
    function = Function(((0, 0), (0, 1)), 0b0110, 0b0111)
    assert list(lookup_text("o", function, ["p", "m"])) == ["  assign o = p | m;"]


@pytest.mark.sim
@pytest.mark.parametrize("target", ["xilinx", pytest.param("ecp5", marks=pytest.mark.slow)])
def test_argmax_without_a_margin(tmp_path, target):
    netlist = random_nodes(
        5, num_inputs=8, num_gates=40, num_outputs=24, num_classes=5, with_encoder=True
    )
    head = dataclasses.replace(netlist.head, abstain_margin=1)
    netlist = dataclasses.replace(netlist, head=head)
    options = HardwareOptions(sums=target, margin=False, presence_bits=False)
    design = write_verilog(netlist, tmp_path, options)
    assert isinstance(design.classifier.head_blocks[1], TieArgmax)
    assert [port.name for port in design.interface.outputs] == ["out_class", "out_unknown"]
    vectors = vectors_of(netlist, design, 400)
    decisions = netlist.classify(netlist.encoder.trits(vectors))
    assert 20 < decisions.unknown.sum() < 380
    result = verify_rtl(netlist, design, vectors, out=tmp_path, simulator=SIMULATOR)
    assert result.passed, result.mismatches


def test_a_tie_is_a_margin_of_less_than_one():
    head = Head(("a", "b", "c"), (2, 2, 2), abstain_margin=3)
    with pytest.raises(ValueError, match=r"^A tie is a margin below 1, not below 3$"):
        TieArgmax(head)
