from dataclasses import replace

import pytest
from circuits import random_netlist

from trilut.hdl import HardwareOptions, write_verilog
from trilut.synth import load_target
from trilut.verify.mapped import map_design, prove_mapping
from trilut.verify.proof.design import read_mapped
from trilut.verify.proof.equivalence import Equivalence, prove_equivalence

pytestmark = pytest.mark.synth

RTL = """
module top(input clk, input en, input [1:0] a, output y, output z);
  reg [1:0] s = 2'b10;
  reg twin = 1'b0;
  wire next = a[0] ^ s[1];
  always @(posedge clk) begin
    if (en) s <= {a[0] & a[1], next};
    if (en) twin <= next;
  end
  assign y = s[1] | s[0];
  assign z = twin ^ a[1];
endmodule
"""
# What a mapper makes of it: one register for two that are equal, an inverted one that starts with
# 0, and other gates.
MAPPED = """
module top(input clk, input en, input [1:0] a, output y, output z);
  reg inverse = 1'b0, low = 1'b0;
  wire [1:0] s = {~inverse, low};
  wire twin = low;
  always @(posedge clk) begin
    inverse <= en ? ~a[0] | ~a[1] : inverse;
    low <= en ? (a[0] & inverse) | (~a[0] & ~inverse) : low;
  end
  assign y = low | s[1];
  assign z = low ^ a[1];
endmodule
"""


def compare(work, first, other):
    forms = {"first": first, "other": other}
    for name, text in forms.items():
        (work / f"{name}.v").write_text(text)
    return prove_equivalence(
        *(read_mapped(work / f"{name}.v", "top", work, name=name) for name in forms)
    )


def test_merged_and_inverted_registers(tmp_path):
    result = compare(tmp_path, RTL, MAPPED)
    assert result == Equivalence(num_registers=3, num_kept=2, num_unpaired=0)
    assert result.text == (
        "proven equal to the RTL in every cycle: 3 registers, 2 in the mapped netlist"
    )


def test_a_merged_register_may_lose_its_name(tmp_path):
    mapped = MAPPED.replace("  wire twin = low;\n", "")
    assert mapped != MAPPED
    assert compare(tmp_path, RTL, mapped) == Equivalence(3, num_kept=2, num_unpaired=0)
    other = RTL.replace("twin <= next", "twin <= ~next")
    assert compare(tmp_path, other, mapped).objection == "Output z[0] may differ"


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (("~a[0] | ~a[1]", "~a[0] & ~a[1]"), "Wire 's[1]' may differ"),
        (("en ? (a[0]", "a[1] ? (a[0]"), "Wire 's[0]' may differ"),
        (("low | s[1]", "low & s[1]"), "Output y[0] may differ"),
        (("reg inverse = 1'b0", "reg inverse = 1'b1"), "Wire 's[1]' may start with another value"),
    ],
    ids=["gate", "enable", "output", "start"],
)
def test_a_change_is_noticed(tmp_path, change, fault):
    assert MAPPED.replace(*change) != MAPPED
    result = compare(tmp_path, RTL, MAPPED.replace(*change))
    assert result.objection == fault
    assert result.text == f"not proven: {fault}"


def test_a_register_without_its_name(tmp_path):
    result = compare(tmp_path, RTL, MAPPED.replace("{~inverse,", "{inverse ^ ~en,"))
    assert result.text == "not proven: Output y[0] may differ; 1 registers lost their names"


def test_a_part_without_models(tmp_path):
    target = replace(load_target("ecp5"), models=())
    assert prove_mapping(None, target, tmp_path) == (
        "not proven: target 'ecp5' names no models of its cells"
    )


@pytest.mark.parametrize("target", ["ecp5", "ice40", "asic"])
def test_mapped_designs_are_proven(tmp_path, target):
    net = random_netlist(
        2, num_inputs=6, num_gates=40, num_outputs=12, num_classes=3, with_encoder=True
    )
    part = load_target(target)
    design = write_verilog(net, tmp_path, HardwareOptions(sums=part.sums))
    map_design(design, part, tmp_path / "mapped")
    text = prove_mapping(design, part, tmp_path / "mapped")
    assert text.startswith("proven equal to the RTL in every cycle: ")
