import dataclasses
import subprocess

import numpy as np
import pytest
from circuits import random_netlist

from trilut.errors import NetlistError
from trilut.hdl import HardwareOptions, write_logic, write_verilog
from trilut.tools import find_tool

# A pipeline without feedback computes the same without its registers.
PASS_THROUGH = r"""
(* techmap_celltype = "$dff $dffe $sdff $sdffe $sdffce" *)
module pass_through #(
  parameter WIDTH = 1, CLK_POLARITY = 1, EN_POLARITY = 1, SRST_POLARITY = 1, SRST_VALUE = 0
) (input CLK, input EN, input SRST, input [WIDTH-1:0] D, output [WIDTH-1:0] Q);
  assign Q = D;
endmodule
"""


def prove(directory, *preparation):
    """Prove that ``bad`` is never high in the module ``check`` of ``all.v``."""
    tool = find_tool("yosys")
    commands = [
        "read_verilog all.v",
        "hierarchy -top check",
        "proc",
        "flatten",
        *preparation,
        "sat -verify -prove bad 0 check",
    ]
    (directory / "prove.ys").write_text("\n".join(commands) + "\n")
    done = subprocess.run(
        [*tool.command, "-s", "prove.ys"], cwd=directory, capture_output=True, text=True
    )
    return "SAT proof finished - no model found: SUCCESS!" in done.stdout


def every_net(netlist):
    return dataclasses.replace(
        netlist, outputs=np.arange(netlist.num_nets), head=None, name="every net"
    )


def checker(num_inputs, num_nets, name):
    return f"""
module check (input [{2 * num_inputs - 1}:0] in_trits, output bad);
  wire [{2 * num_nets - 1}:0] o;
  {name} dut (.in_trits(in_trits), .out_trits(o));
  wire legal_in = ~|(in_trits & in_trits >> 1 & {{{num_inputs}{{2'b01}}}});
  assign bad = legal_in & |(o & o >> 1 & {{{num_nets}{{2'b01}}}});
endmodule
"""


@pytest.mark.synth
@pytest.mark.parametrize("optimized", [False, True])
def test_no_gate_makes_the_illegal_code_from_legal_trits(tmp_path, optimized):
    netlist = every_net(random_netlist(0, num_inputs=8, num_gates=80, num_outputs=4))
    path = write_logic(netlist, tmp_path, top="gates", optimized=optimized).path
    text = path.read_text() + checker(netlist.num_inputs, netlist.num_nets, "gates")
    (tmp_path / "all.v").write_text(text)
    assert prove(tmp_path)


@pytest.mark.synth
def test_illegal_inputs_would_be_noticed(tmp_path):
    netlist = every_net(random_netlist(0, num_inputs=8, num_gates=80, num_outputs=4))
    path = write_logic(netlist, tmp_path, top="gates").path
    text = path.read_text() + checker(netlist.num_inputs, netlist.num_nets, "gates")
    (tmp_path / "all.v").write_text(text.replace("legal_in &", ""))
    assert not prove(tmp_path)


@pytest.mark.synth
@pytest.mark.parametrize("seed", range(2))
def test_no_feature_vector_makes_the_illegal_code_on_any_net(tmp_path, seed):
    netlist = every_net(
        random_netlist(seed, num_inputs=8, num_gates=60, num_outputs=4, with_encoder=True)
    )
    design = write_verilog(netlist, tmp_path, HardwareOptions(top="dut"))
    width = sum(feature.bits for feature in netlist.encoder.features)
    count = len(netlist.encoder.features)
    nets = netlist.num_nets
    text = f"""
module check (input clk, input [{width - 1}:0] features, input [{count - 1}:0] present, output bad);
  wire [{2 * nets - 1}:0] o;
  wire in_ready, out_valid;
  dut dut (.clk(clk), .rst(1'b0), .in_valid(1'b1), .in_ready(in_ready), .in_features(features),
           .in_present(present), .out_valid(out_valid), .out_ready(1'b1), .out_trits(o));
  assign bad = |(o & o >> 1 & {{{nets}{{2'b01}}}});
endmodule
"""
    (tmp_path / "all.v").write_text(design.path.read_text() + text)
    (tmp_path / "pass.v").write_text(PASS_THROUGH)
    assert prove(tmp_path, "opt -full", "techmap -map pass.v", "opt -full")


@pytest.mark.synth
@pytest.mark.parametrize("valence", [2, 3])
def test_logic_computes_the_netlist(tmp_path, valence):
    netlist = random_netlist(
        1, num_inputs=6, num_gates=50, num_outputs=5, valence=valence, num_classes=2
    )
    path = write_logic(netlist, tmp_path).path
    rng = np.random.default_rng(0)
    trits = rng.choice([-1, 1] if valence == 2 else [-1, 0, 1], (12, 6))
    codes = {-1: "01", 0: "00", 1: "10"}
    inputs = ["".join(codes[trit] for trit in row[::-1]) for row in trits.tolist()]
    (tmp_path / "eval.ys").write_text(
        f"read_verilog {path.name}\nhierarchy -top trilut_top\nproc\nflatten\n"
        + "".join(f"eval -set in_trits 12'b{bits} -show out_trits\n" for bits in inputs)
    )
    tool = find_tool("yosys")
    done = subprocess.run(
        [*tool.command, "-s", "eval.ys"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    words = [
        line.split("'")[1].rstrip(".")
        for line in done.stdout.splitlines()
        if line.startswith("Eval result")
    ]
    bits = np.array([[int(bit) for bit in word[::-1]] for word in words]).reshape(12, 5, 2)
    assert np.array_equal(bits[:, :, 1] - bits[:, :, 0], netlist.evaluate(trits))


def test_logic_without_gates(tmp_path):
    netlist = random_netlist(0, num_inputs=3, num_gates=0, num_outputs=2)
    text = write_logic(netlist, tmp_path).path.read_text()
    first, second = netlist.outputs.tolist()
    assert f"in_trits[{2 * second + 1}:{2 * second}],\n" in text
    assert f"in_trits[{2 * first + 1}:{2 * first}]\n" in text


def test_logic_needs_an_identifier(tmp_path):
    netlist = random_netlist(0, num_inputs=2, num_gates=1, num_outputs=1)
    with pytest.raises(NetlistError, match=r"^Top module name 'a b' is not a plain Verilog"):
        write_logic(netlist, tmp_path, top="a b")
