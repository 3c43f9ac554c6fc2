import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from circuits import random_netlist

from trilut import FeatureVectors, load
from trilut.hdl import Fabric, HardwareOptions, write_verilog
from trilut.verify.proof.claim import Finding
from trilut.verify.proof.formal import prove_design

pytestmark = pytest.mark.synth

NET = random_netlist(
    4, num_inputs=8, num_gates=40, num_outputs=12, num_classes=2, with_encoder=True
)


@pytest.fixture(scope="module")
def design(tmp_path_factory):
    return write_verilog(NET, tmp_path_factory.mktemp("design"), HardwareOptions(sums="generic"))


def prove_text(design, text, work):
    path = work / "changed.v"
    path.write_text(text)
    return prove_design(NET, replace(design, path=path), work)


@pytest.mark.parametrize(
    ("circuit", "options"),
    [
        ({"valence": 2, "num_classes": 3, "with_encoder": True}, {"pipeline": 1, "scores": True}),
        ({"num_classes": 5, "with_encoder": True}, {"sums": "carry", "pipeline": 3}),
        ({"valence": 2, "num_classes": 2, "num_outputs": 40}, {"sums": "ecp5"}),
        ({"num_classes": 3, "num_outputs": 60, "with_encoder": True},
         {"sums": "ecp5", "pipeline": 1}),
        ({"num_classes": 2, "num_outputs": 60}, {"sums": "xilinx", "pipeline": 1}),
        ({"num_classes": 3, "with_encoder": True}, {"fabric": Fabric.AMARANTH}),
        ({"valence": 2}, {"fabric": Fabric.AMARANTH, "pipeline": 1}),
        ({"num_classes": 3}, {"margin_port": True, "scores": True}),
        ({"valence": 2}, {}),
        ({"num_gates": 0, "num_classes": 2}, {"optimized": False}),
    ],
)  # fmt: skip
def test_designs_of_all_kinds_are_proven(tmp_path, circuit, options):
    shape = {"num_inputs": 6, "num_gates": 50, "num_outputs": 15, **circuit}
    net = random_netlist(1, **shape)
    result = prove_design(net, write_verilog(net, tmp_path, HardwareOptions(**options)), tmp_path)
    assert result.objection == ""
    head = ["sums", "decision"] if net.head else []
    names = ["structure", "handshake", "gates", *head, "latency"]
    assert [claim.name for claim in result.claims] == names


@pytest.mark.slow
@pytest.mark.parametrize("target", ["ecp5", "xilinx"])
def test_large_sums_of_a_part_are_proven(tmp_path, target):
    net = random_netlist(2, num_inputs=50, num_gates=400, num_outputs=800, num_classes=2)
    result = prove_design(
        net, write_verilog(net, tmp_path, HardwareOptions(sums=target, scores=True)), tmp_path
    )
    assert result.objection == ""
    assert result.proven["sums"] == "2 scores equal the sums of 800 trits"


def test_the_claims_say_what_was_proven(design, tmp_path):
    result = prove_design(NET, design, tmp_path)
    assert result.passed
    assert re.fullmatch(
        r"\d+ registers have the rising edge of 'clk', every bit has one driver, and there is no "
        "latch, loop or undefined value",
        result.proven["structure"],
    )
    assert re.fullmatch(
        rf"\d+ registers move as one pipeline of {design.interface.latency} stages; results hold "
        "while they wait, none is lost, doubled or overtaken",
        result.proven["handshake"],
    )
    assert result.proven["gates"].startswith(
        "12 output trits equal the tables of 40 gates for every input, and are never the illegal "
    )
    assert result.proven["sums"] == "difference of the two scores equal the sums of 12 trits"


def check_counterexample(example):
    """Ask the reference evaluator about a counter-example, from its inputs on."""
    values = list(example.inputs.values())
    vectors = FeatureVectors(
        np.array([[value or 0 for value in values]]),
        np.array([[value is not None for value in values]]),
    )
    decision = NET.classify(NET.encoder.trits(vectors))
    assert example.expected == {
        "class": decision.chosen[0],
        "margin": decision.margin[0],
        "unknown": decision.unknown[0],
    }


# Wrong gates: what to replace in the first layer. Not every change matters: a later gate may treat
# a pair of values that never occurred as it likes.
def another_operator(text):
    start = text.index("_layer_1 (")
    place = re.compile(r"(wire \[1:0\] neuron_\d+ = .*?) ([&|]) ").search(text, start)
    other = {"&": "|", "|": "&"}[place[2]]
    return text[: place.start(2)] + other + text[place.end(2) :]


def swapped_planes(text):
    start = text.index("_layer_1 (")
    place = re.compile(r"wire \[1:0\] neuron_2 = \{(.*), (.*)\};").search(text, start)
    return text[: place.start(1)] + f"{place[2]}, {place[1]}" + text[place.end(2) :]


@pytest.mark.parametrize("change", [another_operator, swapped_planes])
def test_a_wrong_gate_has_a_counterexample(design, tmp_path, change):
    result = prove_text(design, change(design.path.read_text()), tmp_path)
    assert [(claim.name, claim.outcome) for claim in result.claims] == [
        ("structure", Finding.PROVEN),
        ("handshake", Finding.PROVEN),
        ("gates", Finding.REFUTED),
    ]
    assert re.fullmatch(r"Output \d+ of the gates is wrong", result.objection)
    check_counterexample(result.counterexample)
    assert re.match(
        r"first different net: layer 1, neuron \d+, \S+\(net \d+, net \d+\) is "
        r"(the illegal code|[+-]\d) and not [+-]\d$",
        result.counterexample.first_difference,
    )


def replaced(pattern, by):
    def change(text):
        changed, count = re.subn(pattern, by, text, count=1, flags=re.DOTALL)
        assert count == 1
        return changed

    return change


# Where the last layer hands out its trits.
LAST_OUTPUT = r"(module trilut_top_layer_4 .*)assign o = \{\s+neuron_0,(.*?)\};"
ARGMAX_INPUT = r"(trilut_top_argmax argmax \(.*?\.i)\(([^()]*)\)"


@pytest.mark.parametrize(
    ("change", "objection"),
    [
        (replaced(LAST_OUTPUT, r"\1wire [1:0] lost; assign o = {lost,\2};"),
         "Yosys warns: Wire trilut_top_layer_4.lost[1] is used but has no driver"),
        (replaced(LAST_OUTPUT, r"\1"),
         "Yosys warns: Wire trilut_top_layer_4.o[23] is used but has no driver"),
        (replaced(r"    \.o\(i\)\n", "    .o()\n"),
         "Yosys warns: Wire trilut_top.i[23] is used but has no driver"),
        (replaced(ARGMAX_INPUT, r"\1({1'b0, \2[3:0]})"),
         "Port 'out_class' is wrong"),
        (replaced(ARGMAX_INPUT, r"\1()"),
         "Yosys warns: Wire trilut_top.argmax.i[3] is used but has no driver"),
        (replaced(r"  trilut_top_control control \(.*?\);", ""),
         "Yosys warns: Wire trilut_top.o[0] is used but has no driver"),
    ],
    ids=["one trit", "all trits", "no trits connected", "one bit of a score", "no score connected",
         "no control"],
)  # fmt: skip
def test_what_nothing_drives_is_refused(design, tmp_path, change, objection):
    assert prove_text(design, change(design.path.read_text()), tmp_path).objection == objection


def with_other_names(text):
    return re.sub(r"trilut_top_(groupsum|argmax) \1", r"trilut_top_\1 other_\1", text).replace(
        "trilut_top_groupsum", "trilut_top_sums"
    )


def test_a_head_that_is_not_recognised_is_proven_at_once(design, tmp_path):
    text = with_other_names(design.path.read_text())
    result = prove_text(design, text, tmp_path)
    assert result.objection == ""
    assert list(result.proven) == ["structure", "handshake", "results", "latency"]
    assert result.proven["results"].startswith(
        "out_class, out_unknown, out_margin are what 40 gates and a head say ("
    )
    wrong = prove_text(
        design, text.replace("assign out_class = ", "assign out_class = ~"), tmp_path
    )
    assert wrong.objection == "Port 'out_class' is wrong"
    check_counterexample(wrong.counterexample)
    assert wrong.counterexample.got != wrong.counterexample.expected


def test_a_head_that_is_not_recognised_may_be_too_much(design, tmp_path, monkeypatch):
    monkeypatch.setattr("trilut.verify.proof.sweep._MAX_CONFLICTS", 1)
    monkeypatch.setattr("trilut.verify.proof.whole._MAX_CONFLICTS", 1)
    result = prove_text(design, with_other_names(design.path.read_text()), tmp_path)
    assert result.is_open
    assert result.objection == (
        "Module 'trilut_top_groupsum' is gone, because nothing reads what it computes, and all at "
        "once is too much to be proven; by its ports alone: The results are too much to be proven "
        "at once"
    )


def test_inputs_that_are_outputs_enter_the_sums_by_any_ports(tmp_path):
    # The outputs are inputs 4, 5 and 1, which the block of the sums gets by two ports.
    netlist = random_netlist(963, num_inputs=6, num_gates=9, num_outputs=3, num_classes=3)
    design = write_verilog(netlist, tmp_path, HardwareOptions(pipeline=1))
    assert prove_design(netlist, design, tmp_path).passed


def test_packets_that_no_gate_changes_are_not_called_wrong(tmp_path):
    netlist = random_netlist(337, num_inputs=2, num_gates=1, num_outputs=3)
    design = write_verilog(netlist, tmp_path, HardwareOptions(pipeline=1, axi_beat_bits=32))
    result = prove_design(netlist, design, tmp_path)
    assert result.is_open
    assert result.objection == (
        "Block 'control' has no port 'i'; by its ports alone: AXI4-Streams and a port for the "
        "margin are not looked at"
    )


def test_a_constant_design_is_proven(tmp_path):
    net = load(Path(__file__).parent / "regression" / "constant_outputs.trilut")
    for scores in (False, True):
        design = write_verilog(net, tmp_path, HardwareOptions(scores=scores))
        assert prove_design(net, design, tmp_path).objection == ""


@pytest.mark.parametrize(
    ("change", "objection"),
    [
        (replaced(r"chosen <= is_inverted;", "chosen <= is_inverted | ~|inverted;"),
         r"The class is wrong for score difference 0"),
        (replaced(r"margin\[3:1\] >= 1'h1", "margin >= 1'h1"),
         r"The abstention is wrong for score difference -?1"),
        (replaced(r"(assign _\d+_ = class_0_level_1\S* )\^", r"\1|"),
         r"an adder does not add"),
    ],
    ids=["tie", "abstention", "sum"],
)  # fmt: skip
def test_a_wrong_head_is_noticed(design, tmp_path, change, objection):
    result = prove_text(design, change(design.path.read_text()), tmp_path)
    assert re.fullmatch(objection, result.objection)
    assert not result.is_open
    if result.counterexample is not None:
        check_counterexample(result.counterexample)
        assert result.counterexample.got != result.counterexample.expected


def test_a_wrong_cell_of_a_part_is_noticed(tmp_path):
    design = write_verilog(NET, tmp_path, HardwareOptions(sums="ecp5"))
    # One entry of the table of the last carry cell, for both of its bits 0.
    before, name, table = design.path.read_text().rpartition(".INIT0(16'h")
    wrong = f"{int(table[:4], 16) ^ 0x0100:04x}"
    result = prove_text(design, before + name + wrong + table[4:], tmp_path)
    assert result.objection == "an adder does not add"
    check_counterexample(result.counterexample)
    assert result.counterexample.got != result.counterexample.expected


def test_a_sum_that_the_method_cannot_take_apart_is_not_proven(design, tmp_path, monkeypatch):
    monkeypatch.setattr("trilut.verify.proof.sums._MAX_NODES", 2)
    monkeypatch.setattr("trilut.verify.proof.unnamed._MAX_STATES", 100)
    result = prove_design(NET, design, tmp_path)
    assert re.fullmatch(
        r"an adder of \d+ bits is too large to try; by its ports alone: The control has more than "
        "100 states",
        result.objection,
    )
    assert result.counterexample is None
    assert result.is_open
    assert result.claims[-1].outcome is Finding.OPEN


@pytest.mark.parametrize(
    ("change", "objection"),
    [
        (replaced(r"if \(!full_0\) result_0 <=", "result_0 <="), "A result changes while it waits"),
        (replaced(r"else advance <= _\d+_;", "else advance <= 1'h1;"),
         "A vector is lost, doubled or overtaken"),
        (replaced(r"else advance <= _\d+_;", "else advance <= out_ready | ~full_0 | ~full_1;"),
         "A vector is lost, doubled or overtaken"),
        (replaced(r"else if \(_\d+_\) turn <=", "else turn <="),
         "A result changes while it waits"),
        (replaced(r"= turn \? result_1 : result_0;", "= turn ? result_0 : result_1;"),
         "A result comes out that is not next"),
        (replaced(r"reg chosen = ..h0;(.*?)always @.posedge clk.\s+if .en. chosen <= is_inverted;",
                  r"wire chosen; assign chosen = is_inverted;\1"),
         r"Wire .* joins vectors of different cycles.*|Bits of one result pass .* registers"),
        (replaced(r"if \(rst\) is_valid <= 1'h0;\s+else ", ""),
         "Reset does not empty the pipeline"),
    ],
    ids=["unstable", "never stopped", "lost", "turn", "order", "dropped register", "reset"],
)  # fmt: skip
def test_a_wrong_pipeline_is_noticed(design, tmp_path, change, objection):
    result = prove_text(design, change(design.path.read_text()), tmp_path)
    assert re.fullmatch(objection, result.objection)


def test_a_neuron_of_another_width_is_no_crash(design, tmp_path):
    change = replaced(r"wire \[1:0\] neuron_0 =", "wire [2:0] neuron_0 =")
    assert not prove_text(design, change(design.path.read_text()), tmp_path).passed
