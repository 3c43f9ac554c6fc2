"""Verilog that is there: from people and other tools, with other names and other shapes."""

import re
from dataclasses import replace

import numpy as np
import pytest
from circuits import random_netlist
from handmade import GATE, MINIMUM, RIGHT

from trilut import save
from trilut.cli import main
from trilut.errors import FormatError, NetlistError
from trilut.hdl import HardwareOptions, read_design, write_logic, write_verilog
from trilut.identifier import KEYWORDS
from trilut.sim import find_simulator, verify_rtl
from trilut.verify import verify
from trilut.verify.proof.formal import prove_design

NET = random_netlist(4, num_inputs=4, num_gates=6, num_outputs=4, num_classes=2, with_encoder=True)
WRONG = [
    ("one place", 1, "in_trits[3] & in_trits[1]", "in_trits[3] | in_trits[1]"),
    ("one place", 1, "in_trits[2] |", "in_trits[3] |"),
    ("one place", 1, "~here | out_ready", "~here"),
    ("one place", 1, "~here | out_ready", "1'b1"),
    ("one place", 1, "~here | out_ready", "out_ready"),
    ("one place", 1, "if (in_ready) kept", "kept"),
    ("one place", 1, "if (in_ready) kept", "if (in_valid) kept"),
    ("one place", 1, "if (in_ready) kept", "if (out_ready) kept"),
    ("one place", 1, "here <= in_valid", "here <= 1'b1"),
    ("one place", 1, "if (rst) here <= 1'b0;\n    else if", "if"),
    ("one place", 1, "if (rst) here <= 1'b0", "if (rst) here <= 1'b1"),
    ("one place", 1, "here <= 1'b0;\n    else", "here <= in_valid;\n    else"),
    ("one place", 1, "assign out_valid = here", "assign out_valid = here & out_ready"),
    ("one place", 1, "assign out_valid = here", "assign out_valid = here & kept[0]"),
    ("one place", 1, "assign out_trits = kept", "assign out_trits = kept & {2{~in_trits[3]}}"),
    ("one place", 1, "posedge clk", "negedge clk"),
    ("one place", 1, "  reg here;", "  reg here = 1'b1;"),
    ("one place", 2, "", ""),
    ("two stages", 2, "b <= a;", "b <= in_valid;"),
    ("two stages", 2, "x[3] & x[1]", "x[3] & in_trits[1]"),
    ("two stages", 2, "if (go_b) begin b", "begin b"),
    ("two stages", 2, "~a | go_b", "~a"),
    ("two stages", 2, "~a | go_b", "1'b1"),
    ("two stages", 2, "a <= 1'b0; b <= 1'b0", "b <= 1'b0"),
    ("two stages", 2, "a <= 1'b0; b <= 1'b0", "a <= 1'b0"),
    ("two stages", 2, "a <= in_valid; x", "if (in_valid) a <= 1'b1; x"),
    ("two stages", 2, "~b | out_ready", "out_ready"),
    ("two stages", 1, "", ""),
    ("two stages", 3, "", ""),
    ("queue", 1, "read ? second : first", "read ? first : second"),
    ("queue", 1, "read ? second : first", "first"),
    ("queue", 1, "count != 2'd2", "count != 2'd3"),
    ("queue", 1, "count != 2'd2", "count == 2'd0"),
    ("queue", 1, "- {1'b0, pop}", ""),
    ("queue", 1, "read <= read ^ pop", "read <= read ^ out_ready"),
    ("queue", 1, "write <= 1'b0; read", "read"),
    ("queue", 1, "read <= 1'b0; count", "count"),
    ("queue", 1, "if (push & write) second", "if (write) second"),
    ("queue", 1, f"second <= {GATE}", "second <= {in_trits[1] & in_trits[1], in_trits[2] | "
     "in_trits[0]}"),
]  # fmt: skip


@pytest.fixture
def hand(tmp_path):
    """Write a text as a design of the minimum with a latency, without a manifest."""

    def write(text, latency, *, clocked=True, logic_only=False):
        path = tmp_path / "hand.v"
        path.write_text(text)
        options = HardwareOptions(top="hand", logic_only=logic_only)
        return read_design(path, MINIMUM, options, latency=latency, clocked=clocked)

    return write


@pytest.mark.synth
@pytest.mark.parametrize("name", RIGHT)
def test_other_shapes_are_proven(hand, tmp_path, name):
    text, latency = RIGHT[name]
    proof = prove_design(MINIMUM, hand(text, latency), tmp_path)
    assert proof.passed
    assert list(proof.proven) == ["structure", "handshake", "results"]
    assert f"each once and after {latency} cycles" in proof.proven["handshake"]


@pytest.mark.synth
@pytest.mark.parametrize(
    ("name", "latency", "old", "new"),
    [
        pytest.param(*change, marks=[] if index % 4 == 0 else pytest.mark.slow)
        for index, change in enumerate(WRONG)
    ],
)
def test_other_shapes_that_are_wrong(hand, tmp_path, name, latency, old, new):
    text, _ = RIGHT[name]
    assert old in text
    proof = prove_design(MINIMUM, hand(text.replace(old, new, 1), latency), tmp_path)
    assert not proof.passed
    assert proof.objection


@pytest.mark.sim
@pytest.mark.parametrize("name", RIGHT)
def test_other_shapes_in_simulation(hand, tmp_path, name):
    text, latency = RIGHT[name]
    design = hand(text, latency)
    vectors = np.random.default_rng(0).integers(-1, 2, (200, 2)).astype(np.int8)
    simulator = find_simulator()
    assert verify_rtl(MINIMUM, design, vectors, out=tmp_path, simulator=simulator).passed


@pytest.mark.synth
def test_names_do_not_matter(tmp_path):
    design = write_verilog(NET, tmp_path / "rtl", HardwareOptions(pipeline=4, sums="generic"))
    ports = {port.name for port in design.interface.ports}
    _, _, text = re.sub(r"//.*|/\*.*?\*/", "", design.path.read_text()).partition("module ")
    names = sorted(set(re.findall(r"(?<!')\b[a-z_]\w*\b", text)) - ports - KEYWORDS)
    others = {name: f"n{number}" for number, name in enumerate(names)}
    assert {"control", "occupied", "trilut_top_argmax"} <= set(others)
    renamed = re.sub(r"(?<!')\b[a-z_]\w*\b", lambda match: others.get(match[0], match[0]), text)
    path = tmp_path / "renamed.v"
    path.write_text(f"module {renamed}")
    options = replace(design.options, top=others["trilut_top"])
    result = verify(NET, options, rtl=path, levels=["formal"], scratch=tmp_path)
    assert result.passed
    assert list(result.levels[0].claims) == ["structure", "handshake", "results"]
    path.write_text(path.read_text().replace(" & ", " | ", 1))
    result = verify(NET, options, rtl=path, levels=["formal"], scratch=tmp_path)
    assert not result.passed


@pytest.mark.synth
def test_a_copy_without_a_manifest(tmp_path):
    design = write_verilog(NET, tmp_path / "rtl", HardwareOptions(pipeline=1, scores=True))
    copy = tmp_path / "copy.v"
    copy.write_bytes(design.path.read_bytes())
    options = HardwareOptions(pipeline=1, scores=True)
    result = verify(NET, options, rtl=copy, levels=["formal"], scratch=tmp_path)
    assert result.passed
    assert result.sha256 == design.sha256


@pytest.mark.synth
def test_nothing_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert verify(MINIMUM, HardwareOptions(logic_only=True), levels=["formal"]).passed
    assert list(tmp_path.iterdir()) == []
    verify(MINIMUM, HardwareOptions(logic_only=True), levels=["formal"], scratch="kept")
    assert [path.name for path in (tmp_path / "kept" / "logs").iterdir()] == ["read.log"]


COMBINATIONAL = f"""
module hand(input [3:0] in_trits, output [1:0] out_trits);
  assign out_trits = {GATE};
endmodule
"""


@pytest.mark.synth
@pytest.mark.parametrize("as_gates", [True, False])
def test_logic_without_a_clock(hand, tmp_path, as_gates):
    def prove(text):
        how = {"logic_only": True} if as_gates else {"clocked": False}
        design = hand(text, None, **how)
        return prove_design(MINIMUM, design, tmp_path)

    proof = prove(COMBINATIONAL)
    assert proof.proven == {
        "structure": "there is no register, every bit has one driver, and there is no latch, loop "
        "or undefined value",
        "results": "out_trits are what 1 gates say (9 equal nodes, 9 questions)",
    }
    wrong = prove(COMBINATIONAL.replace("&", "|"))
    assert wrong.objection == "Port 'out_trits' is wrong"
    assert wrong.counterexample is not None
    assert not prove(COMBINATIONAL.replace("in_trits[2] |", "out_trits[0] |")).passed
    assert not prove(COMBINATIONAL.replace("in_trits[2] |", "")).passed


@pytest.mark.sim
def test_logic_without_a_clock_in_simulation(hand, tmp_path):
    vectors = np.random.default_rng(0).integers(-1, 2, (100, 2)).astype(np.int8)
    simulator = find_simulator()

    def simulate(text):
        return verify_rtl(
            MINIMUM, hand(text, None, clocked=False), vectors, out=tmp_path, simulator=simulator
        )

    result = simulate(COMBINATIONAL)
    assert result.passed
    assert result.num_driven == 200
    assert simulate(COMBINATIONAL.replace("&", "|")).num_mismatches > 0
    with pytest.raises(
        NetlistError, match=r"^Module 'hand' has 3 bits at port 'out_trits', expected 2$"
    ):
        simulate(COMBINATIONAL.replace("[1:0]", "[2:0]"))
    with pytest.raises(
        NetlistError,
        match=r"^Module 'hand' has no input port 'in_trits', expected one of 4 bits$",
    ):
        simulate(COMBINATIONAL.replace("in_trits", "in_bits"))


@pytest.mark.sim
@pytest.mark.synth
def test_gates_alone(tmp_path, capsys):
    save(NET, tmp_path / "net.trilut")
    command = ["verify", str(tmp_path / "net.trilut"), "--rtl", str(tmp_path), "--random", "50"]
    design = write_logic(NET, tmp_path)
    assert main(command) == 0
    assert f"sha256 {design.sha256[:16]}…" in capsys.readouterr().out
    design.path.write_text(design.path.read_text().replace(" & ", " | ", 1))
    assert main(command) == 1


def refused(path, message, *args, **settings):
    with pytest.raises(FormatError, match=f"^{re.escape(message)}$"):
        read_design(path, NET, *args, **settings)


def test_what_is_said_twice(tmp_path):
    design = write_verilog(NET, tmp_path)
    manifest = str(tmp_path / "trilut_top.json")
    refused(
        design.path,
        f"Manifest {manifest!r} says what the design is; leave out --pipeline, --scores, --latency",
        HardwareOptions(pipeline=1, scores=True),
        latency=3,
    )
    refused(
        design.path,
        f"File {str(design.path)!r} has no module 'other'; it has 'trilut_top', "
        "'trilut_top_argmax', 'trilut_top_control', 'trilut_top_encoder', 'trilut_top_groupsum', …",
        HardwareOptions(top="other"),
    )


def test_what_has_no_clock(tmp_path):
    path = tmp_path / "hand.v"
    path.write_text(COMBINATIONAL)
    refused(
        path,
        "A module without a clock has no latency of 3 cycles",
        HardwareOptions(top="hand", logic_only=True),
        latency=3,
    )
    refused(
        path,
        "AXI4-Streams have a clock",
        HardwareOptions(top="hand", axi_beat_bits=8),
        clocked=False,
    )
    path.write_text("// module hand\n/* module hand */")
    refused(path, f"File {str(path)!r} has no module 'trilut_top'; it has none")


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--latency", "3"], "--latency describe a file; give --rtl, too"),
        (["--rtl", "x.v", "--interface", "logic", "--latency", "3"],
         "A module with interface 'logic' has no clock; leave out --latency"),
        (["--rtl", "x.v", "--interface", "logic", "--scores"],
         "With --logic-only only the gates are written, without --scores; leave out one or the "
         "other"),
        (["--rtl", "x.v", "--level", "bitstream"],
         "Level 'bitstream' makes a design of its own, so it cannot look at one that is there"),
        (["--rtl", "missing.v"], "Cannot read 'missing.v': No such file or directory"),
        (["--level", "mapped", "--target", "generic"],
         "Level 'mapped' takes a part, and target 'generic' is none"),
        (["--level", "mapped", "--logic-only"], "Level 'mapped' takes a design with a clock"),
    ],
)  # fmt: skip
def test_options_that_do_not_go_together(tmp_path, capsys, options, line):
    save(NET, tmp_path / "net.trilut")
    assert main(["verify", str(tmp_path / "net.trilut"), *options]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == f"trilut: error: {line}"


def test_a_latency_without_a_file():
    with pytest.raises(
        ValueError,
        match=r"^A latency or clock is said of a design that is there, but 'rtl' is none$",
    ):
        verify(NET, latency=3)
