import json
import sys

import pytest
from circuits import random_netlist

from trilut import save, write_verilog
from trilut.cli import main
from trilut.errors import ToolError
from trilut.verify.levels import Level, Outcome, _optional, default_levels, prove


def test_large_circuits_are_not_proven_by_default():
    small = random_netlist(0, num_inputs=2, num_gates=3, num_outputs=1)
    large = random_netlist(0, num_inputs=2, num_gates=10_001, num_outputs=1)
    assert default_levels(small) == (Level.RTL, Level.FORMAL)
    assert default_levels(large) == (Level.RTL,)


def test_unknown_level(capsys):
    with pytest.raises(SystemExit) as error:
        main(["verify", "net.trilut", "--level", "rtl,silicon"])
    assert error.value.code == 2
    assert capsys.readouterr().err.endswith(
        "error: argument --level: 'silicon' is not a level; there are rtl, formal, mapped, "
        "bitstream and all\n"
    )


def test_a_level_left_out_names_the_log_that_is_kept(tmp_path):
    work, logs = tmp_path / "work", tmp_path / "logs"

    def fail():
        raise ToolError(f"too small; log: {str(work / 'nextpnr.log')!r}")

    verdict = f"too small; log: {str(logs / 'nextpnr.log')!r}"
    assert _optional(fail, work, logs)() == (Outcome.NOT_RUN, verdict, {})


def test_the_solver_may_be_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pysat", None)
    net = random_netlist(0, num_inputs=4, num_gates=12, num_outputs=4, num_classes=2)
    with pytest.raises(
        ToolError, match=r"^Cannot find the Python package python-sat; install trilut\[verify\]$"
    ):
        prove(net, write_verilog(net, tmp_path), tmp_path)


@pytest.mark.synth
def test_a_proof_from_the_command_line(tmp_path, capsys):
    net = random_netlist(0, num_inputs=4, num_gates=12, num_outputs=4, num_classes=2)
    save(net, tmp_path / "net.trilut")
    out = tmp_path / "out"
    command = ["verify", str(tmp_path / "net.trilut"), "--level", "formal", "-o", str(out)]
    assert main([*command, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document == json.loads((out / "verification.json").read_text())
    assert document["passed"] is True
    (level,) = document["levels"]
    assert level["level"] == "formal"
    assert level["verdict"] == "RTL proven equal to the netlist, for every input"
    assert list(level["details"]["claims"]) == ["handshake", "gates", "sums", "decision", "latency"]


@pytest.mark.slow
@pytest.mark.synth
@pytest.mark.sim
@pytest.mark.parametrize("target", ["ecp5", "ice40"])
def test_mapped_netlists_compute_the_netlist(tmp_path, target):
    net = random_netlist(
        0, num_inputs=6, num_gates=30, num_outputs=9, num_classes=3, with_encoder=True
    )
    result = net.verify(levels=["rtl", "mapped"], target=target, num_random=300, scratch=tmp_path)
    assert result.passed
    rtl, mapped = result.levels
    assert mapped.details["target"] == target
    assert mapped.details["num_checked"] == rtl.details["num_checked"]
    assert result.coverage["share"] == 1.0
