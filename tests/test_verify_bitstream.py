import shutil
from dataclasses import replace

import numpy as np
import pytest
from circuits import random_netlist

from trilut import save
from trilut.circuit.interface import Direction, VerilogModule
from trilut.cli import main
from trilut.hdl import HardwareOptions, write_verilog
from trilut.report.verification import level_rows
from trilut.sim import stimulus
from trilut.synth import load_target
from trilut.verify.bitstream import (
    Chip,
    _without_port_types,
    bench_verilog,
    compare,
    read_back,
    suitable_target,
)
from trilut.verify.levels import Outcome

MISSING = (
    "Cannot find icebox_vlog in PATH; install it with 'apt install --no-install-recommends "
    "fpga-icestorm' or set ICEBOX_VLOG"
)


@pytest.fixture
def without_reader(monkeypatch, tmp_path):
    """Leave no icebox_vlog in PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("ICEBOX_VLOG", raising=False)


def test_the_reader_may_be_missing(tmp_path, capsys, without_reader):
    net = random_netlist(0, num_inputs=2, num_gates=3, num_outputs=2, num_classes=2)
    save(net, tmp_path / "net.trilut")
    assert main(["verify", str(tmp_path / "net.trilut"), "--level", "bitstream"]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == f"trilut: error: {MISSING}"


@pytest.mark.slow
@pytest.mark.sim
@pytest.mark.synth
def test_all_levels_go_without_a_missing_reader(tmp_path, monkeypatch):
    monkeypatch.setenv("ICEBOX_VLOG", "no-such-program")
    net = random_netlist(0, num_inputs=4, num_gates=8, num_outputs=4, num_classes=2)
    result = net.verify(levels=["all"], target="ice40", num_random=50, scratch=tmp_path)
    assert result.passed
    assert [level.outcome for level in result.levels] == [Outcome.PASSED] * 3 + [Outcome.NOT_RUN]
    assert level_rows(result)["bitstream"] == (
        "not run: Cannot find 'no-such-program', which the variable ICEBOX_VLOG names"
    )


def test_a_part_that_is_no_ice40():
    assert suitable_target(load_target("ecp5")).name == "ice40"
    assert suitable_target(load_target("ice40-up5k")).name == "ice40-up5k"


def test_a_port_is_declared_once():
    text = "\nmodule chip (input io_0_1_0, output io_0_2_1);\n\nwire io_0_1_0;\nreg io_0_2_1 = 0;\n"
    ports, plain = _without_port_types(text)
    assert ports == {"io_0_1_0", "io_0_2_1"}
    assert plain == (
        "module chip (io_0_1_0, io_0_2_1);\ninput io_0_1_0;\noutput io_0_2_1;\n"
        "\n\nwire io_0_1_0;\nreg io_0_2_1 = 0;\n"
    )


def chip_around(design):
    """Return a module ``chip`` with a pin for each bit of a design's ports, and what is where."""
    pins, ports, directions = {}, {}, {}
    for port in design.interface.ports:
        bits = range(port.width)
        names = [port.name] if port.width == 1 else [f"{port.name}[{bit}]" for bit in bits]
        pins |= {f"pin_{len(pins) + bit}": names[bit] for bit in bits}
        ports[port.name] = list(pins)[-port.width :]
        directions |= dict.fromkeys(ports[port.name], port.direction)
    wires = ", ".join(f".{name}({{{', '.join(bits[::-1])}}})" for name, bits in ports.items())
    header = ", ".join(f"{directions[pin]} {pin}" for pin in pins)
    return pins, f"module chip ({header});\n  {design.top} core ({wires});\nendmodule\n"


@pytest.mark.sim
@pytest.mark.parametrize("num_classes", [0, 3])
def test_the_bench_of_a_chip_knows_where_results_lie(tmp_path, num_classes):
    net = random_netlist(
        4, num_inputs=9, num_gates=30, num_outputs=12, num_classes=num_classes, with_encoder=True
    )
    design = write_verilog(net, tmp_path, HardwareOptions(axi_beat_bits=8, sums="generic"))
    interface = design.interface
    # Class, margin and unknown have fewer bits than the bytes that they stand in.
    assert num_classes == 0 or all(port.width % 8 for port in interface.outputs)
    assert {port.direction for port in interface.outputs} == {Direction.OUTPUT}
    pins, chip = chip_around(design)
    bench = tmp_path / "bench.v"
    bench.write_text(bench_verilog(interface, pins) + chip + design.path.read_text())
    module = VerilogModule(bench, "trilut_bench", replace(interface, axi=None))
    vectors = stimulus(net, None, np.random.default_rng(0), num_random=300)
    result = compare(net, Chip(module, len(pins)), vectors, tmp_path / "simulation")
    assert result.passed
    assert result.num_checked["random"] == 300
    table = net.table.copy()
    gate = net.outputs[net.outputs >= net.num_inputs][0] - net.num_inputs
    table[gate] = -table[gate]
    other = replace(net, table=table)
    assert not compare(other, Chip(module, len(pins)), vectors, tmp_path / "other").passed


@pytest.mark.slow
@pytest.mark.sim
@pytest.mark.synth
def test_a_bitstream_computes_the_netlist_and_no_other(tmp_path):
    if shutil.which("icebox_vlog") is None:
        pytest.skip("icebox_vlog is not installed")
    net = random_netlist(
        3, num_inputs=6, num_gates=30, num_outputs=9, num_classes=3, with_encoder=True
    )
    vectors = stimulus(net, None, np.random.default_rng(0), num_random=300)
    chip = read_back(net, load_target("ice40"), tmp_path)
    result = compare(net, chip, vectors, tmp_path / "simulation")
    assert result.passed
    assert result.num_checked["random"] == 300
    # A gate that is an output counts the other way.
    gate = net.outputs[net.outputs >= net.num_inputs][0] - net.num_inputs
    table = net.table.copy()
    table[gate] = -table[gate]
    other = replace(net, table=table)
    result = compare(other, chip, vectors, tmp_path / "other")
    assert not result.passed
    assert result.first_mismatch.expected != result.first_mismatch.got
