import re

import pytest

from trilut.verify.proof.design import UnclearError
from trilut.verify.proof.text import check_text

MODULE = """\
// class 0: "synopsys translate_off"
/* verilator lint_off WIDTHEXPAND */
module top #(parameter P = 1) (input clk, input signed [3:0] a, output reg [3:0] o, output y);
  wire [1:0] \\i$23 = {a[0], ~^a} + 2'h1, unused = 2'd0;
  reg s = 1'b0, t = 1'sb1;
  initial o = 4'd0;
  CELL #(.INIT(16'h00ff), .MODE("NO")) cell_0 (.A(a[1]), .B(), .Y(y));
  always @(posedge clk)
    if (a <= $signed(4'h3)) begin
      case (a[1:0])
        2'b01: o <= a * 3;
        default: if (s) o <= a >>> 1; else t <= ~|a;
      endcase
    end else s <= a[0] && !a[1] ? a[2] : a != 4'hf;
  %s
endmodule
"""


def test_what_the_generator_writes_is_read():
    check_text(MODULE % "assign y = s;\r\n")


def test_a_name_may_be_a_port_and_a_net_and_a_pin_of_every_cell():
    check_text(
        "module top(a, y, z); input a, z; wire a; output y; reg [1:0] y; wire b = a, c = {a, b}; "
        "CELL #(.A(1)) u (.A(a), .B(b)); CELL v (.A(a), .B(y)); endmodule "
        "module other(input a, output reg y); wire b; endmodule"
    )


def test_indices_and_repetitions_need_no_width():
    check_text(
        "module top #(parameter P = 2) (input [3:0] a, output y); wire [5:0] b = {P{a[1:0]}}; "
        "assign y = {{2{a[P]}}, a[{1'b0, a[0]}], 2'd1} == 1; endmodule\n"
    )


def test_a_parameter_may_be_computed_from_plain_numbers():
    check_text(
        "module top #(parameter P = 2) (input [P - 1:0] a, output y); localparam Q = P * 2 - 1; "
        "assign y = a[0] + 1'b1; endmodule\n"
    )


@pytest.mark.parametrize(
    ("text", "objection"),
    [
        ("`ifdef YOSYS", "the directive '`ifdef', by which tools read different texts"),
        ("`define s 1'b0", "the directive '`define', by which tools read different texts"),
        ("`include \"x.v\"", "the directive '`include', by which tools read different texts"),
        *((text, f"the comment {text.strip('/* ')!r}, which some tools obey")
          for text in ("// synopsys translate_off", "//synthesis translate_off",
                       "/* pragma translate_on */", "// Vendor TRANSLATE_OFF", "// translate_off",
                       "/* synthesis keep */", "// synopsys parallel_case", "// full_case",
                       "/*verilator public*/", "// rtl_synthesis off")),
        ("(* full_case *)", "an attribute, which some tools obey"),
        ("assign y = 1'bx;", "the undefined value \"1'bx\""),
        ("assign y = s ? a : 4'b1zz0;", "the undefined value \"4'b1zz0\""),
        ("assign y = 2 'B1?;", "the undefined value \"2 'B1?\""),
        ("assign y = s === t;", "the operator '===', which the proof does not read"),
        ("assign y = s !== t;", "the operator '!==', which the proof does not read"),
        ("assign y = 2 ** a;", "the operator '**', which the proof does not read"),
        ("assign y = a / 2;", "the character '/', which the proof does not read"),
        ("assign y = a % 2;", "the character '%', which the proof does not read"),
        ("assign y = '1;", "the character \"'\", which the proof does not read"),
        ("assign y = $random;", "'$random', which the proof does not read"),
        ("assign #3 y = s;", "a delay"),
        ("assign #(3) y = s;", "a delay"),
        ("wire #1 d = s;", "a delay"),
        ("always @(posedge clk) #1 s <= t;", "a delay"),
        ("always @(posedge clk) s <= #1 t;", "a delay"),
        ("always @(posedge clk) s = t;", "a blocking assignment in a clocked process"),
        ("always @(posedge clk) begin s <= t; if (s) t = s; end",
         "a blocking assignment in a clocked process"),
        ("always @(posedge clk) if (s) s <= t; else t = s;",
         "a blocking assignment in a clocked process"),
        ("always @(posedge clk) assign s = t;", "'assign', which the proof does not read"),
        ("always @(posedge clk) @(s) s <= t;", "an event outside of the start of a process"),
        *((f"always {event} s <= t;", "a process that does not start with 'always @(posedge …)'")
          for event in ("@*", "@(*)", "@(s)", "@(negedge clk)", "@(posedge clk or posedge s)", "")),
        ("initial begin s = 1'b0; end", "an 'initial' that does more than set one register"),
        ("initial s = t;", "an 'initial' that does more than set one register"),
        ("initial s <= 1'b0;", "an 'initial' that does more than set one register"),
        ("initial $display(1);", "an 'initial' that does more than set one register"),
        ("reg u = s;", "a register whose initial value is no number"),
        ("assign y = cell_0.x;", "a hierarchical name"),
        ("assign cell_0.x = s;", "a hierarchical name"),
        ("assign y = s . t;", "a hierarchical name"),
        (r"wire \a`b = s;", r"the name '\\a`b', in which some tools see a directive"),
        ("input signed [3:0] b; wire [3:0] b;",
         "a signed port behind the header, of which tools forget the sign"),
        *((text, "parameters both sized and computed, whose widths tools find in different ways")
          for text in ("localparam Q = 3'd7 + 3'd7;", "localparam Q = P - 1;",
                       "localparam Q = 1, R = (Q) * 2'd3;", "CELL #(.INIT(3'd5 + P)) c (.A(s));")),
        *((f"assign y = {{{text}}};",
           f"{number!r} in a concatenation, where tools give it different widths")
          for text, number in (("1, s", "1"), ("s, 1", "1"), ("(1 + s), t", "1"), ("'d5, s", "'d5"),
                               ("{2{s}}, 3", "3"), ("2{s, 1}", "1"), ("s ? 1 : 0", "1"),
                               ("a[1], 2", "2"), ("P, s", "P"), ("s, P", "P"))),
        (r"\$_NOT_ n (.A(s), .Y(y));",
         r"the name '\\$_NOT_', which Yosys may take for one of its own cells"),
        *((f"{word} x;", f"'{word}', which the proof does not read")
          for word in ("inout", "wor", "tri0", "supply1", "function", "generate", "logic", "event",
                       "integer", "defparam", "specify", "casez", "for", "primitive", "and")),
        *((text, f"the name {name!r} declared twice, of which tools take another one")
          for text, name in (("wire s;", "s"), ("reg s;", "s"), ("wire u, v, u;", "u"),
                             ("wire u = s, s = 1'b0;", "s"), ("wire [1:0] \\i$23 ;", "i$23"),
                             ("input a;", "a"), ("output [3:0] a;", "a"), ("reg o;", "o"))),
        *((text, f"the pin {name!r} twice in one cell, of which tools take another one")
          for text, name in (("CELL c (.A(s), .A(t));", "A"), ("CELL c (.A(s), .B(t), .A());", "A"),
                             ("CELL #(.P(1), .P(2)) c (.A(s));", "P"))),
        ("assign y = s;\r assign y = t;", r"the character '\r', which the proof does not read"),
        ("wire é;", "the character 'é', which the proof does not read"),
        ("/* not closed", "the character '/', which the proof does not read"),
        ('assign y = "a\\"b";', "the character '\"', which the proof does not read"),
    ],
)  # fmt: skip
def test_what_tools_may_read_differently_is_refused(text, objection):
    with pytest.raises(UnclearError, match=rf"^Line 15 of the Verilog has {re.escape(objection)}$"):
        check_text(MODULE % text)


def test_the_line_is_named_after_long_comments():
    with pytest.raises(UnclearError, match=r"^Line 4 of the Verilog has a delay$"):
        check_text("/*\n*/\n// #\nassign #1 a = b;")
