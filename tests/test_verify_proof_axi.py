"""Designs between AXI4-Streams: right ones are proven, and wrong ones never are."""

import re
from dataclasses import dataclass, replace
from itertools import product

import pytest
from circuits import random_netlist

from trilut.errors import ToolError
from trilut.hdl import HardwareOptions, InputKind, write_verilog
from trilut.verify.proof.formal import prove_design

pytestmark = pytest.mark.synth

SHAPE = {"num_inputs": 8, "num_gates": 10, "num_outputs": 6, "with_encoder": True}
NETLISTS = {
    num_classes: random_netlist(4, **SHAPE, num_classes=num_classes) for num_classes in (0, 2, 3)
}
OPTIONS = {
    "two beats": (3, {"axi_beat_bits": 16, "scores": True, "margin_port": True}),
    "one beat": (2, {"axi_beat_bits": 32}),
    "no missing": (2, {"axi_beat_bits": 8, "presence_bits": False, "pipeline": 3}),
    "trits": (0, {"axi_beat_bits": 8, "input_kind": InputKind.TRITS}),
}


@pytest.fixture(scope="module")
def designs(tmp_path_factory):
    made = {}

    def design(name):
        if name not in made:
            num_classes, options = OPTIONS[name]
            directory = tmp_path_factory.mktemp("design")
            made[name] = write_verilog(NETLISTS[num_classes], directory, HardwareOptions(**options))
        return made[name]

    return design


def objection(design, work):
    try:
        result = prove_design(design.netlist, design, work)
    except ToolError as error:
        return str(error)
    assert result.passed == (not result.objection)
    return result.objection


@pytest.mark.parametrize("name", OPTIONS)
def test_right_designs_are_proven(designs, tmp_path, name):
    result = prove_design(designs(name).netlist, designs(name), tmp_path)
    assert result.objection == ""
    num_beats = designs(name).interface.num_beats
    beats = "one beat" if num_beats == 1 else f"{num_beats} beats"
    assert result.proven["packets"] == (
        f"every packet of {beats} is one vector, the first beat lowest, and none is lost, doubled "
        "or overtaken; one of another length is dropped and raises 'framing_error'"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("num_classes", "beat_bits", "presence_bits", "input_kind", "pipeline"),
    list(product((0, 2, 3), (8, 24, 1024), (True, False), InputKind, (1, 2, 3))),
)
def test_all_shapes_are_proven(
    tmp_path, num_classes, beat_bits, presence_bits, input_kind, pipeline
):
    options = HardwareOptions(
        axi_beat_bits=beat_bits,
        presence_bits=presence_bits or input_kind is InputKind.TRITS,
        input_kind=input_kind,
        pipeline=pipeline,
        scores=num_classes == 3,
        margin_port=num_classes > 0 and presence_bits,
    )
    design = write_verilog(NETLISTS[num_classes], tmp_path, options)
    assert objection(design, tmp_path) == ""


@dataclass(frozen=True)
class Edit:
    """What to replace in the Verilog behind its header, and what a proof must say of it."""

    pattern: str
    by: str
    objection: str
    design: str = "two beats"


def loader(pattern, by, objection, design="two beats"):
    return Edit(rf"(module trilut_top_loader\b.*?){pattern}", rf"\g<1>{by}", objection, design)


def pin(block, port, by, objection, design="two beats"):
    """Connect a port of a block otherwise."""
    pattern = rf"(trilut_top_{block} {block} \([^;]*?)\.{port}\([^()]*\)"
    return Edit(pattern, rf"\1.{port}({by})", objection, design)


COUNTED = "The loader loses count of the beats of a packet"
MADE = "A vector is lost, doubled, or made of a packet of another length"
SAID = "'framing_error' is not that a packet of another length has ended"
SAME_WAY = "Bits of beats in block 'loader' do not all go the same way"
EMPTIED = "Reset does not empty the loader"
EMPTY = "The loader may not be empty at first"
TAKEN = "A beat is taken while a vector waits"
NOT_TAKEN = "A beat is not taken though no vector waits"
NO_OTHER_WAY = "; by its ports alone: AXI4-Streams and a port for the margin are not looked at"
PLACED = "A beat is not in its place in a vector"
SHIFT = r"register <= \{ beat, register\[(\d+):(\d+)\] \};"
ACCEPT = r"assign (_\d+_) = beat_valid & beat_ready;"
READY = r"assign beat_ready = (\w+) \| vector_ready;"


def unwired(port, inner, block="loader"):
    return f"Port '{port}' is not wired to '{inner}' of block '{block}'"


# These run always; the others are slow tests.
FEW = {
    "ends a beat early": loader(r"(== )1'h1;", r"\g<2>1'h0;", MADE),
    "too long is accepted": loader(r"!= 2'h2;", "!= 2'h1;", COUNTED),
    "beats in the other order": loader(SHIFT, "register <= { register[15:0], beat };", SAME_WAY),
    "count is not reset": loader(r"if \(rst\) count <= 2'h0;\s+else if", "if", EMPTIED),
    "a vector does not wait": loader(READY, "assign beat_ready = 1'h1;", TAKEN),
    "padding": Edit(
        r"(assign \{ m_axis_tdata.*? = \d+'h)0(0*;)",
        r"\g<1>1\2",
        r"Bit \d+ of port 'm_axis_tdata' is no part of a result and not 0",
    ),
    "a presence bit is lost": loader(
        r"assign vector = register\[(\d+):0\];",
        r"assign vector = { 1'h1, register[\2-1:0] };",
        r"Bit \d+ of a vector is not bit \d+ of its beats",
    ),
    "tlast": Edit(
        "assign m_axis_tlast = 1'h1;",
        "assign m_axis_tlast = m_axis_tvalid;",
        "Port 'm_axis_tlast' is not always 1",
    ),
}
MORE = {
    "ends a beat late": loader(r"(== )1'h1;", r"\g<2>2'h2;", MADE),
    "any length is accepted": loader(
        r"assign (_\d+_) = count == 1'h1;", r"assign \2 = 1'h1;", MADE
    ),
    "error at right packets": loader(
        r"else framing_error <= _(\d+)_", r"else framing_error <= !_\2_", SAID
    ),
    "error never falls": loader(
        r"if \((_\d+_)\) framing_error <= 1'h0;\s+else", r"if (!\2)", SAID
    ),
    "error is not reset": loader(r"\| \{ (\w+), rst, (\w+) \}", r"| { \2, \3 }", EMPTIED),
    "counter wraps": loader(r"!= 2'h2;", "!= 2'h3;", COUNTED),
    "count starts at 1": loader(r"if \(rst\) count <= 2'h0", "if (rst) count <= 2'h1", EMPTIED),
    "count is 1 at first": loader(r"reg (\[1:0\] )?count = 2'h0", r"reg \2count = 2'h1", EMPTY),
    "full is not reset": loader(
        r"if \(rst\) vector_valid <= 1'h0;\s+else", "", EMPTIED
    ),
    "full at first": loader(r"reg vector_valid = 1'h0", "reg vector_valid = 1'h1", EMPTY),
    "full undefined at first": loader(r"reg vector_valid = 1'h0", "reg vector_valid", EMPTY),
    "counts what is not taken": loader(
        r"else if \(_\d+_\) count", "else if (beat_valid) count", COUNTED
    ),
    "shifts what is not taken": loader(
        rf"if \((_\d+_)\) {SHIFT}",
        r"if (beat_valid) register <= { beat, register[\3:\4] };",
        PLACED,
    ),
    "shifts while a vector waits": loader(
        rf"if \((_\d+_)\) {SHIFT}", r"register <= { beat, register[\3:\4] };", PLACED
    ),
    "holds back a beat": loader(
        rf"if \((_\d+_)\) {SHIFT}",
        r"if (\2 & !last) register <= { beat, register[\3:\4] };",
        PLACED,
    ),
    "two bits of a beat swapped": loader(
        SHIFT, r"register <= { beat[15:2], beat[0], beat[1], register[\2:\3] };", SAME_WAY
    ),
    "a bit of a beat lost": loader(
        SHIFT, r"register <= { 1'h0, beat[14:0], register[\2:\3] };", SAME_WAY
    ),
    "a bit of a beat inverted": loader(
        SHIFT, r"register <= { ~beat, register[\2:\3] };", SAME_WAY
    ),
    "all bits inverted twice": loader(SHIFT, r"register <= ~{ beat, register[\2:\3] };", PLACED),
    "halves of the vector swapped": loader(
        r"assign vector = register\[(\d+):0\];",
        r"assign vector = { register[\2-16:0], register[31:16] };",
        r"Bit 0 of a vector is not bit 0 of its beats",
    ),
    "looks at a beat": loader(ACCEPT, r"assign \2 = beat_valid & beat_ready & ~beat[3];",
                              "Block 'loader' looks into beats"),
    "ready only with valid": loader(
        READY, r"assign beat_ready = (\2 | vector_ready) & beat_valid;", NOT_TAKEN
    ),
    "never ready": loader(
        READY, "assign beat_ready = 1'h0;", f"Block 'loader' has no register 'count'{NO_OTHER_WAY}"
    ),
    "ready only if the core is": loader(READY, "assign beat_ready = vector_ready;", NOT_TAKEN),
    "vector stays": loader(r"= vector_ready \? 1'h0 : vector_valid", "= vector_valid", MADE),
    "vector handed on too early": loader(
        r"= vector_ready \? 1'h0 : vector_valid", "= 1'h0", MADE
    ),
    "reset of the loader": pin("loader", "rst", "1'h0", unwired("rst", "rst")),
    "reset of the control": Edit(
        r"(trilut_top_classifier_control control \([^;]*?)\.rst\(rst\)", r"\1.rst(1'h0)",
        unwired("rst", "rst", "control"),
    ),
    "clock of the loader": pin(
        "loader", "clk", "~clk", "Block 'loader' has another clock than port 'clk'"
    ),
    "tready stuck": pin("loader", "beat_ready", "", unwired("s_axis_tready", "beat_ready")
                        + r"|Yosys warns.*"),
    "tvalid gated": pin(
        "loader", "beat_valid", "s_axis_tvalid & s_axis_tdata[0]",
        unwired("s_axis_tvalid", "beat_valid"),
    ),
    "tlast stuck": pin("loader", "last", "1'h1", unwired("s_axis_tlast", "last")),
    "bytes of tdata swapped": pin(
        "loader", "beat", "{ s_axis_tdata[7:0], s_axis_tdata[15:8] }",
        unwired("s_axis_tdata", "beat"),
    ),
    "core takes at once": pin(
        "loader", "vector_ready", "1'h1",
        "Port 'vector_ready' of block 'loader' is not wired to 'advance' of block 'control'",
    ),
    "core takes what is not there": pin(
        "classifier", "in_valid", "s_axis_tvalid",
        "Port 'vector_valid' of block 'loader' is not wired to 'in_valid' of block 'control'",
    ),
    "result taken at once": pin(
        "classifier", "out_ready", "1'h1", unwired("m_axis_tready", "out_ready", "control")
    ),
    "margin port": pin(
        "classifier", "abstain_margin", "~abstain_margin",
        "Port 'abstain_margin' is not wired to that of block 'argmax'",
    ),
    "margin a cycle late": Edit(
        r"(module trilut_top_classifier_argmax\b.*?)assign (\w+) = margin < abstain_margin;",
        r"\1reg [2:0] late; always @(posedge clk) if (en) late <= abstain_margin; "
        r"assign \2 = margin < late;",
        r"Wire '[^']*' joins vectors of different cycles: 8 and 9 registers lie before it"
        r"|Bits of one result pass.*|.*joins.*",
    ),
    "margin and class swapped": Edit(
        r"m_axis_tdata\[10:8\], m_axis_tdata\[1:0\]", "m_axis_tdata[1:0], m_axis_tdata[10:8]", ".+"
    ),
    "another register": loader(
        ACCEPT,
        r"reg more = 1'h0; always @(posedge clk) more <= beat_valid; "
        r"assign \2 = beat_valid & beat_ready & more;",
        "Wire 'more' is a register that 'loader' should not have",
    ),
    "count without a name": Edit(
        r"\bcount\b", "beats", f"Block 'loader' has no register 'count'{NO_OTHER_WAY}"
    ),
    "one beat, of any length": loader(
        r"assign (_\d+_) = [^;]*count[^;]*;", r"assign \2 = 1'h1;", ".+", "one beat"
    ),
    "no missing, one missing": Edit(
        r"(module trilut_top_classifier_encoder\b.*?assign \w+ = )([^;]*);", r"\1~(\2);", ".+",
        "no missing",
    ),
    "trits, two swapped": loader(
        r"vector <= \{ beat, vector\[15:8\] \};",
        "vector <= { beat[5:4], beat[7:6], beat[3:0], vector[15:8] };",
        SAME_WAY, "trits",
    ),
}  # fmt: skip


def changed(edit, designs, work):
    design = designs(edit.design)
    header, start, text = design.path.read_text().partition("\nmodule ")
    count = 0 if edit.pattern.startswith(r"\b") else 1
    other, found = re.subn(edit.pattern, edit.by, start + text, count=count, flags=re.DOTALL)
    assert found
    path = work / "changed.v"
    # Indices such as [15-1:0] are written out: the proof reads numbers.
    path.write_text(
        header + re.sub(r"\[(\d+)-(\d+):", lambda m: f"[{int(m[1]) - int(m[2])}:", other)
    )
    return replace(design, path=path)


@pytest.mark.parametrize("name", FEW)
def test_wrong_designs_are_refused(designs, tmp_path, name):
    edit = FEW[name]
    assert re.fullmatch(edit.objection, objection(changed(edit, designs, tmp_path), tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("name", MORE)
def test_more_wrong_designs_are_refused(designs, tmp_path, name):
    edit = MORE[name]
    assert re.fullmatch(edit.objection, objection(changed(edit, designs, tmp_path), tmp_path))
