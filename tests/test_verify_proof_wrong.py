"""Designs that are wrong in ways that the prover was not written for: none of them is proven."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
from circuits import random_netlist

from trilut.errors import ToolError
from trilut.hdl import HardwareOptions, write_verilog
from trilut.verify.proof.formal import prove_design

pytestmark = pytest.mark.synth

# Two classes, three with their scores, two with a port for the margin, and trits without a head.
SHAPES = {
    "classes": ({"num_inputs": 8, "num_gates": 10, "num_outputs": 6, "num_classes": 2,
                 "with_encoder": True}, {}),
    "scores": ({"num_inputs": 6, "num_gates": 12, "num_outputs": 9, "num_classes": 3,
                "with_encoder": True}, {"scores": True}),
    "margin": ({"num_inputs": 8, "num_gates": 10, "num_outputs": 6, "num_classes": 2,
                "with_encoder": True}, {"margin_port": True}),
    "trits": ({"num_inputs": 6, "num_gates": 12, "num_outputs": 5}, {}),
}  # fmt: skip
NETLISTS = {name: random_netlist(4, **shape) for name, (shape, _) in SHAPES.items()}


@pytest.fixture(scope="module")
def designs(tmp_path_factory):
    return {
        name: write_verilog(
            NETLISTS[name],
            tmp_path_factory.mktemp(name),
            HardwareOptions(sums="generic", **options),
        )
        for name, (_, options) in SHAPES.items()
    }


@dataclass(frozen=True)
class Edit:
    """What to replace in the Verilog behind its header, and what a proof must say of it.

    Without an objection the design must be proven: it does the same.
    """

    pattern: str
    by: str | Callable[[re.Match[str]], str]
    objection: str = ""
    design: str = "classes"
    count: int = 1


def apply(edit, design):
    header, start, text = design.path.read_text().partition("\nmodule ")
    changed, count = re.subn(edit.pattern, edit.by, start + text, count=edit.count, flags=re.DOTALL)
    assert count == edit.count
    return header + changed


def check(edit, designs, work):
    design = designs[edit.design]
    path = work / "changed.v"
    path.write_text(apply(edit, design))
    try:
        result = prove_design(NETLISTS[edit.design], replace(design, path=path), work)
        objection = result.objection
        assert result.passed == (not objection)
    except ToolError as error:
        objection = str(error)
    assert re.fullmatch(edit.objection, objection)


def instance(name, port, by):
    """Connect a port of a block otherwise."""
    return rf"(trilut_top_{name} {name} \([^;]*?)\.{port}\([^()]*\)", rf"\1.{port}({by})"


def in_module(name, pattern, by):
    return rf"(module trilut_top_{name}\b.*?){pattern}", rf"\1{by}"


NOT_EMPTIED = "Reset does not empty the pipeline"
NOT_EMPTY = "The pipeline may not be empty at first"
OTHER_WAY = "Bits of a result in block 'control' do not all go the same way"
UNKNOWN = r"assign unknown = ([^;]*);"
RESULTS = r"if \(!full_([01])\) result_\1 <= i;"
SHOWN = r"assign o = turn \? result_1 : result_0;"


def with_unknown(extra, by):
    return UNKNOWN, rf"{extra} assign unknown = {by};"


def both_results(value, design="classes"):
    return Edit(RESULTS, rf"if (!full_\1) result_\1 <= {value};", OTHER_WAY, design, count=2)


RESET = {
    "full_0 not reset": Edit(r"if \(rst\) full_0 <= 1'h0;\s+else if", "if", NOT_EMPTIED),
    "full_1 not reset": Edit(r"if \(rst\) full_1 <= 1'h0;\s+else if", "if", NOT_EMPTIED),
    "full_0 reset to 1": Edit(r"if \(rst\) full_0 <= 1'h0", "if (rst) full_0 <= 1'h1", NOT_EMPTIED),
    "full_1 reset to 1": Edit(r"if \(rst\) full_1 <= 1'h0", "if (rst) full_1 <= 1'h1", NOT_EMPTIED),
    "occupied in part reset": Edit(
        r"if \(rst\) occupied <= (\d+)'h0+", r"if (rst) occupied <= occupied & \1'h1", NOT_EMPTIED
    ),
    "advance reset to 0": Edit(r"(if \(rst\) advance <=) 1'h1", r"\1 1'h0", NOT_EMPTIED),
    "turn not reset": Edit(r"if \(rst\) turn <= 1'h0;\s+else if", "if"),
    "reset inverted": Edit(
        r"if \(rst\) full_0", "if (!rst) full_0", "A vector is lost, doubled or overtaken"
    ),
    "reset not wired": Edit(
        *instance("control", "rst", "1'b0"), "Port 'rst' is not wired to 'rst' of block 'control'"
    ),
    "reset one cycle late": Edit(
        r"reg full_0 = 1'h0;(.*?)if \(rst\) full_0",
        r"reg late = 1'h0; always @(posedge clk) late <= rst; reg full_0 = 1'h0;\1if (late) full_0",
        "Wire 'late' is a register that 'control' should not have",
    ),
    "full_0 full at first": Edit(r"reg full_0 = 1'h0", "reg full_0 = 1'h1", NOT_EMPTY),
    "full_0 undefined at first": Edit(r"reg full_0 = 1'h0", "reg full_0", NOT_EMPTY),
    "stopped at first": Edit(r"reg advance = 1'h1", "reg advance = 1'h0", NOT_EMPTY),
    "two initial values": Edit(
        r"reg full_0 = 1'h0;", "reg full_0 = 1'h0; initial full_0 = 1'h1;",
        r"yosys failed .*: Conflicting initialization values for \\full_0.*",
    ),
    "asynchronous": Edit(
        r"always @\(posedge clk\)\s+if \(rst\) full_0",
        "always @(posedge clk or posedge rst) if (rst) full_0",
        r"Line \d+ of the Verilog has a process that does not start with 'always @\(posedge …\)'",
    ),
    "reset of the decision": Edit(
        r"(trilut_top_argmax argmax \()(.*)module trilut_top_argmax\(en,(.*?)"
        r"if \(en\) chosen <= is_inverted;",
        r"\1.rst(in_valid), \2module trilut_top_argmax(rst, en,\3 "
        r"if (rst) chosen <= 1'b0; else if (en) chosen <= is_inverted; input rst;",
        "Wire 'chosen' does not move with the others",
    ),
}  # fmt: skip


def test_without_initial_values_a_reset_is_enough(designs, tmp_path):
    design = designs["classes"]
    before, start, text = design.path.read_text().partition("module trilut_top_control")
    control, end, after = text.partition("endmodule")
    path = tmp_path / "changed.v"
    path.write_text(before + start + re.sub(r" = \d'h[01]+;", ";", control) + end + after)
    assert prove_design(NETLISTS["classes"], replace(design, path=path), tmp_path).passed


OTHER_CLOCKS = ("~clk", "1'b0", "clk & in_valid", "rst")
CLOCK = {
    **{
        f"clock of {block}: {clock}": Edit(
            *instance(block, "clk", clock), f"Block '{block}' has another clock than port 'clk'"
        )
        for block in ("control", "groupsum", "argmax")
        for clock in OTHER_CLOCKS
    },
    **{
        f"clock of {block}: {clock}": Edit(
            *instance(block, "clk", clock),
            r"Wire '\S+' has another clock than the rising edge of 'clk'",
        )
        for block in ("encoder", "layer_2")
        for clock in OTHER_CLOCKS
    },
    "clock made in a layer": Edit(
        *in_module("layer_2", r"always @\(posedge clk\)\s+if \(en\)",
                   "wire gated = clk & en; always @(posedge gated)"),
        r"Wire '\S+' has another clock than the rising edge of 'clk'",
    ),
    "enable as a clock": Edit(
        *in_module("argmax", r"always @\(posedge clk\)\s+if \(en\)", "always @(posedge en)"),
        r"Wire '\S+' has another clock than the rising edge of 'clk'",
    ),
}  # fmt: skip

NOT_TOGETHER = r"Wire '\S+' does not move with the others"
ENABLE = {
    **{
        f"enable of {block}: {enable}": Edit(*instance(block, "en", enable), objection)
        for block, objection in (
            ("groupsum", "Block 'groupsum' is not enabled by 'advance'"),
            ("argmax", "Block 'argmax' is not enabled by 'advance'"),
            ("encoder", NOT_TOGETHER),
            ("layer_2", NOT_TOGETHER),
        )
        for enable in ("1'b1", "out_ready", "~in_ready", "in_ready & in_valid")
    },
    # What is not valid need not enter: seen from the ports this is the same design.
    "enable of encoder: in_ready & in_valid": Edit(
        *instance("encoder", "en", "in_ready & in_valid")
    ),
    "of two bits": Edit(
        r"trilut_top_argmax argmax \(.*?\);.*module trilut_top_argmax\b.*?endmodule",
        lambda found: re.sub(
            r"input en;\s+wire en;",
            "input [1:0] en;",
            found[0]
            .replace(".en(in_ready)", ".en({in_features[0], in_ready})", 1)
            .replace("if (en)", "if (en[0])")
            .replace("decision_chosen };", "decision_chosen & en[1] };"),
        ),
        "Block 'argmax' is not enabled by 'advance'",
    ),
    "one register without": Edit(r"if \(en\) chosen <=", "chosen <=", NOT_TOGETHER),
    "one register inverted": Edit(r"if \(en\) chosen <=", "if (!en) chosen <=", NOT_TOGETHER),
}

DRIVERS = {
    "two for an output": Edit(
        r"  assign out_unknown = ", "  assign out_unknown = in_valid;\n  assign out_unknown = ",
        r"Yosys warns: multiple conflicting drivers for trilut_top.o\[4\]: port o\[4\] of cell "
        r"control \(trilut_top_control\) module input in_valid\[0\]",
    ),
    "a constant too": Edit(
        r"  assign out_unknown = ", "  assign out_unknown = 1'b0;\n  assign out_unknown = ",
        r"Yosys warns: Drivers conflicting with a constant 1'0 driver: port o\[4\] of cell control "
        r"\(trilut_top_control\)",
    ),
    "two for a register": Edit(
        r"(  always @\(posedge clk\)\s+if \(en\) chosen <= is_inverted;)",
        r"\1\n always @(posedge clk) if (en) chosen <= 1'b0;",
        r"Yosys warns: multiple conflicting drivers for trilut_top_argmax.chosen: .*",
    ),
    "in_ready": Edit(
        r"  assign out_unknown", "  assign in_ready = 1'b1;\n  assign out_unknown",
        r"Yosys warns: Drivers conflicting with a constant 1'1 driver: port advance\[0\] .*",
    ),
    "an input": Edit(
        r"  assign out_unknown", "  assign in_valid = 1'b1;\n  assign out_unknown",
        r"Yosys warns: Drivers conflicting with a constant 1'1 driver: module input in_valid\[0\]",
    ),
    "an input of a layer": Edit(
        *in_module("layer_2", "initial o", "assign i[0] = 1'b0; initial o"),
        r"Yosys warns: Drivers conflicting with a constant 1'0 driver: module input i\[0\]",
    ),
    "two instances": Edit(
        r"(  trilut_top_layer_4 layer_4 \(.*?\);)",
        r"\1\n trilut_top_layer_3 again (.i(layer_2_o), .o(layer_3_o));",
        r"Yosys warns: multiple conflicting drivers for trilut_top.layer_3_o\[9\]: .*",
    ),
    "none": Edit(
        r"  assign out_unknown = [^;]*;", "",
        "Yosys warns: Wire trilut_top.out_unknown is used but has no driver",
    ),
    "none inside, and it would not matter": Edit(
        *with_unknown("wire nothing;", r"(nothing ^ nothing) | \1"),
        "Yosys warns: Wire trilut_top_argmax.nothing is used but has no driver",
    ),
    "an input that is not connected": Edit(
        r"(trilut_top_groupsum groupsum \([^;]*?)\.i\(i\)", r"\1.i()",
        "Port 'i' of block 'groupsum' is not connected",
    ),
    "loop": Edit(
        *with_unknown("wire loop; assign loop = loop & unknown;", r"loop | \1"),
        "Yosys warns: found logic loop in module trilut_top_argmax: .*",
    ),
    "not declared": Edit(
        *with_unknown("", r"\1 | nothing"),
        "yosys failed .* is implicitly declared and `default_nettype is set to none.*",
    ),
    "out of range": Edit(
        *with_unknown("", r"\1 | decision_margin[5]"),
        r"Yosys warns: line \d+: Range select out of bounds on signal `decision_margin': "
        "Setting result bit to undef",
    ),
    "memory": Edit(
        *with_unknown("reg memory [0:1]; always @(posedge clk) if (en) memory[0] <= margin[0];",
                      r"\1 & memory[0]"),
        r"Cell '\S+' has the type '\$mem\w+', for which there is no model",
    ),
    "index out of range": Edit(
        *with_unknown("wire [2:0] five = 3'd0;", r"\1 & five[decision_margin[1:0]]"),
        "An undefined value is read",
    ),
}  # fmt: skip

RESIZED = r"Yosys warns: Resizing cell port \S+ from \d+ bits to \d+ bits"
WIDTHS = {
    "wire": Edit(r"wire \[4:0\] \\i\$26 ;", r"wire [3:0] \\i$26 ;", RESIZED),
    "wire of a layer": Edit(r"wire \[13:0\] layer_1_o;", "wire [12:0] layer_1_o;", RESIZED),
    "features": Edit(
        r"input \[17:0\] in_features;\s+wire \[17:0\] in_features",
        "input [18:0] in_features; wire [18:0] in_features", RESIZED,
    ),
    "margin": Edit(
        r"output \[2:0\] out_margin;\s+wire \[2:0\] out_margin",
        "output [1:0] out_margin; wire [1:0] out_margin",
        "Port 'out_margin' has 2 bits, expected 3",
    ),
    "class": Edit(
        r"output \[1:0\] out_class;\s+wire \[1:0\] out_class;", "output out_class; wire out_class;",
        "Port 'out_class' has 1 bits, expected 2", "scores",
    ),
    "a bit that is never 1": Edit(r"reg \[3:0\] inverted = 4'h0", "reg [2:0] inverted = 3'h0"),
    "a bit that matters": Edit(
        r"reg \[1:0\] margin_bits_2_1 = 2'h0", "reg margin_bits_2_1 = 1'h0",
        "The abstention is wrong for score difference -?[45]",
    ),
    "another input": Edit(
        r"(module trilut_top\([^)]*)\);(.*?)assign out_unknown = ([^;]*);",
        r"\1, debug); input debug; \2assign out_unknown = \3 ^ debug;",
        "Port 'debug' is none that the proof knows",
    ),
    "a result that is not asked for": Edit(
        r"(module trilut_top\([^)]*)\);", r"\1, out_certain); output out_certain; "
        "assign out_certain = in_valid;",
        "Port 'out_certain' is none that the proof knows",
    ),
    "another name": Edit(
        r"(module trilut_top\([^)]*)\bout_margin\b(.*?output \[2:0\]) out_margin;\s+"
        r"wire (\[2:0\]) out_margin;(.*?)assign out_margin",
        r"\1margin\2 margin; wire \3 margin;\4assign margin",
        "The design has no output port 'out_margin'",
    ),
}  # fmt: skip


def no_vector(port):
    return f"Wire '{port}' is neither part of a vector nor made of one, but a result depends on it"


MARGIN = {
    "not below": Edit(
        "margin < abstain_margin", "margin <= abstain_margin",
        r"The abstention is wrong for score difference -?\d", "margin",
    ),
    "no tie": Edit(
        r"! margin;", "1'h0;", "The abstention is wrong for score difference 0", "margin",
    ),
    "another port": Edit(
        *instance("argmax", "abstain_margin", "abstain_margin & {3{in_valid}}"),
        "Port 'abstain_margin' is not wired to that of block 'argmax'", "margin",
    ),
    "read elsewhere": Edit(
        r"\.present\(in_present\)", ".present(in_present & {4{abstain_margin[0]}})",
        r"Wire 'abstain_margin\[0\]' is neither part of a vector nor made of one, but a result "
        "depends on it", "margin",
    ),
    "the first that comes": Edit(
        *in_module("argmax", "margin < abstain_margin",
                   "margin < held; reg [2:0] held = 3'd0; reg is_held = 1'd0; "
                   "always @(posedge clk) if (en) begin is_held <= 1'd1; "
                   "if (!is_held) held <= abstain_margin; end"),
        r"Wire 'held\[0\]' depends on itself", "margin",
    ),
}  # fmt: skip

DATA = {
    **{
        f"{port} as data": Edit(
            r"\.present\(in_present\)", f".present(in_present & {{4{{{port}}}}})", no_vector(port)
        )
        for port in ("rst", "clk", "out_ready", "out_valid")
    },
    # A vector is only taken where this is 1.
    "in_valid as data": Edit(
        r"\.present\(in_present\)", ".present(in_present & {4{in_valid}})",
    ),
    "in_ready as data": Edit(
        r"\.present\(in_present\)", ".present(in_present & {4{in_ready}})",
    ),
    "features rotated": Edit(
        r"\.features\(in_features\)", ".features({in_features[0], in_features[17:1]})",
        "Output 0 of the gates is wrong",
    ),
    "threshold": Edit(r">= 3'h5", ">= 3'h6", "Output 0 of the gates is wrong"),
    "not signed": Edit(
        r"\$signed\(features\[6:3\]\) >= \$signed\(4'h7\)", "features[6:3] >= 4'h7",
        "Output 0 of the gates is wrong",
    ),
    "parameter": Edit(
        r"(trilut_top_layer_3) layer_3 \((.*?)module trilut_top_layer_3 \((.*?)neuron_0 = ",
        r"\1 #(.P(1)) layer_3 (\2module trilut_top_layer_3 #(parameter P = 0) "
        r"(\3neuron_0 = (P[0] ? 2'h3 : 2'h0) ^ ",
        "Output 0 of the gates is wrong",
    ),
    "class inverted": Edit(
        r"assign out_class = ", "assign out_class = ~", "The class is wrong for score difference 1"
    ),
    "margin rotated": Edit(
        r"assign out_margin = o\[3:1\]", "assign out_margin = {o[3], o[1], o[2]}",
        "The margin is wrong for score difference -?[12]",
    ),
    "scores rotated": Edit(
        r"assign out_scores = o\[(\d+):(\d+)\];", r"assign out_scores = {o[\2], o[\1:\2+1]};",
        "Score 0 is wrong for scores .*", "scores",
    ),
    "trits inverted": Edit(
        r"(trilut_top_control control .*?)\.o\(out_trits\)(.*?\);)",
        r"wire [9:0] shown; \1.o(shown)\2 assign out_trits = ~shown;",
        "Trit 0 of port 'out_trits' is wrong", "trits",
    ),
    "trits rotated": Edit(
        r"(trilut_top_control control .*?)\.o\(out_trits\)(.*?\);)",
        r"wire [9:0] shown; \1.o(shown)\2 assign out_trits = {shown[1:0], shown[9:2]};",
        "Trit 0 of port 'out_trits' is wrong", "trits",
    ),
    "two modules of one name": Edit(
        r"\Z", "\nmodule trilut_top_layer_2(input i, output o); endmodule\n",
        r"yosys failed .* Re-definition of module .*",
    ),
    "block twice": Edit(
        r"(  trilut_top_argmax argmax \()",
        r" wire [4:0] second; trilut_top_argmax again (.clk(clk), .en(in_ready), .i(i[3:0]), "
        r".o(second)); wire third = ^second;\n\1",
    ),
    "block by another name": Edit(r"trilut_top_argmax argmax \(", "trilut_top_argmax other ("),
}  # fmt: skip

HANDSHAKE = {
    "in_valid": Edit(
        *instance("control", "in_valid", "in_valid & out_ready"),
        "Port 'in_valid' is not wired to 'in_valid' of block 'control'",
    ),
    "out_ready": Edit(
        *instance("control", "out_ready", "1'b1"),
        "Port 'out_ready' is not wired to 'out_ready' of block 'control'",
    ),
    "result not held": Edit(
        r"if \(!full_1\) result_1 <=", "result_1 <=", "A result changes while it waits"
    ),
    "result rotated in one place": Edit(
        r"if \(!full_0\) result_0 <= i;", "if (!full_0) result_0 <= {i[0], i[4:1]};", OTHER_WAY
    ),
    "results rotated": both_results("{i[0], i[4:1]}"),
    "results mixed": both_results("{i[4] & i[3], i[3:0]}"),
    "trits rotated": both_results("{i[1:0], i[9:2]}", "trits"),
    "all bits mixed": Edit(
        SHOWN, "wire [4:0] s; assign s = turn ? result_1 : result_0; assign o = {s[0], s[4:1]};",
        OTHER_WAY,
    ),
    "one bit for all": Edit(
        SHOWN,
        "wire [4:0] s; assign s = turn ? result_1 : result_0; assign o = {s[4:2], s[0], s[0]};",
        r"Wire 'result_0\[1\]' is no register",
    ),
    "hidden while not valid": Edit(SHOWN, "assign o = turn ? result_1 : result_0 & {5{is_valid}};"),
    "looks into a result": Edit(
        r"if \(rst\) turn <= 1'h0;", "if (rst | result_0[2]) turn <= 1'h0;",
        "Block 'control' looks into results",
    ),
    "a cycle late": Edit(
        SHOWN,
        "reg [4:0] late = 5'd0; always @(posedge clk) late <= result_0; "
        "assign o = turn ? result_1 : late;",
        r"Wire 'late\[0\]' is a register that 'control' should not have",
    ),
    "one place for two": Edit(
        r"reg full_1 = 1'h0;(.*?)always @\(posedge clk\)\s+if \(rst\) full_1 <= 1'h0;\s+"
        r"else if \(\w+\) full_1 <= \w+;",
        r"wire full_1; assign full_1 = full_0;\1", "Wire 'full_0' is two registers of 'control'",
    ),
    "no vector while one is in": Edit(
        r"occupied <= \{ occupied\[(\d+):0\], in_valid \}",
        r"occupied <= { occupied[\1:0], in_valid & ~occupied[0] }",
        "A vector is lost, doubled or overtaken",
    ),
}  # fmt: skip

REGISTERS = {
    "one more": Edit(
        r"(  always @\(posedge clk\)\s+)if \(en\) decision_chosen <= chosen;",
        r"reg more = 1'b0; always @(posedge clk) if (en) more <= chosen;\n"
        r"\1if (en) decision_chosen <= more;",
        "Bits of one result pass 3 and 4 registers",
    ),
    "a second bit of a flag": Edit(
        r"module trilut_top_control\b.*?endmodule",
        lambda found: re.sub(
            r"if \(rst\) is_valid <= 1'h0;\s+else is_valid <= (\w+);",
            r"is_valid <= turn[1]; "
            r"always @(posedge clk) if (rst) turn[1] <= 1'b0; else turn[1] <= \1;",
            re.sub(r"\bturn\b", "turn[0]", found[0])
            .replace("reg turn[0] = 1'h0", "reg [1:0] turn = 2'h0"),
        ),
        r"Wire 'turn\[1\]' is a register that 'control' should not have",
    ),
    "a stage less": Edit(
        *in_module("layer_2", r"output reg (\[\d+:0\]) o\n(.*?)initial o = \S+;\s+"
                   r"always @\(posedge clk\)\s+if \(en\) o <= (.*?);",
                   r"output wire \2 o\n\3assign o = \4;"),
        "A vector passes 8 registers, but the latency is 9",
    ),
    "a constant that comes late": Edit(
        *with_unknown("reg [9:0] late = 10'd0; always @(posedge clk) "
                      "if (en) late <= {late[8:0], 1'b1};", r"\1 | ~late[9]"),
        r"Wire 'o\[4\]' joins a vector after 3 registers and a constant that is there only after "
        "10",
    ),
    "a constant in time": Edit(
        *with_unknown("reg [2:0] soon = 3'd0; always @(posedge clk) "
                      "if (en) soon <= {soon[1:0], 1'b1};", r"\1 | ~soon[2]"),
    ),
    "a register that keeps its first value": Edit(
        *with_unknown("reg kept = 1'b1; always @(posedge clk) if (en) kept <= kept;",
                      r"\1 & kept"),
        NOT_TOGETHER,
    ),
    "a counter": Edit(
        *with_unknown("reg [9:0] count = 10'd0; always @(posedge clk) "
                      "if (en) count <= count + 10'd1;", r"\1 ^ (count == 10'd1000)"),
        r"Wire 'count\[0\]' depends on itself",
    ),
}  # fmt: skip

# What enters control is of a later vector than what leaves it.
AROUND = r"(trilut_top_control control \([^;]*?\.i\()([^()]*)(\).*?assign {port} = )o\["
TOO_EARLY = r"Wire '\S+' is neither part of a vector nor made of one, but a result depends on it"
PAST_CONTROL = {
    **{
        f"{port} of {design}": Edit(AROUND.format(port=port), r"\1\2\3\2[", TOO_EARLY, design)
        for port, design in (
            ("out_unknown", "classes"), ("out_class", "scores"), ("out_scores", "scores"),
            ("out_unknown", "margin"),
        )
    },
    "trits": Edit(
        r"(trilut_top_control control \([^;]*?\.i\()([^()]*)(\)[^;]*?\.o\()out_trits(\)[^;]*;)",
        r"\1\2\3unread\4 wire [9:0] unread; assign out_trits = \2;", TOO_EARLY, "trits",
    ),
}  # fmt: skip

GROUPS = {
    "past control": PAST_CONTROL,
    "reset": RESET,
    "clock": CLOCK,
    "enable": ENABLE,
    "drivers": DRIVERS,
    "widths": WIDTHS,
    "margin": MARGIN,
    "data": DATA,
    "handshake": HANDSHAKE,
    "registers": REGISTERS,
}
# All blocks are treated alike, and some changes are alike.
SLOW = re.compile(
    r"(clock|enable) of (?!argmax: (~clk|1'b1)|layer_2: (1'b0|out_ready)|control: ~clk)"
    r"|(?!in_valid)\w+ as data|.* rotated$|(class|trits) inverted|threshold|not signed|features"
    r"|.* of a layer|two (instances|modules|for a reg).*|a counter|another name|one more|advance.*"
    r"|full_1 .*|occupied .*|reset inverted"
)


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(
            edit, id=f"{group}: {name}", marks=[pytest.mark.slow] if SLOW.match(name) else []
        )
        for group, edits in GROUPS.items()
        for name, edit in edits.items()
    ],
)
def test_a_wrong_design_is_not_proven(designs, tmp_path, edit):
    check(edit, designs, tmp_path)
