import json
import re
import sys
from types import SimpleNamespace

import pytest
from circuits import random_netlist

from trilut import save, write_verilog
from trilut.cli import main
from trilut.errors import ToolError
from trilut.sim import ViolationKind
from trilut.verify import Level, LevelResult, Outcome, default_levels, levels, verify_design


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


@pytest.fixture
def design(tmp_path):
    net = random_netlist(0, num_inputs=4, num_gates=12, num_outputs=4, num_classes=2)
    return write_verilog(net, tmp_path)


class Levels:
    """Stands for the levels: each ends as it is told to, or raises."""

    def __init__(self, monkeypatch, **outcomes):
        self.outcomes = {Level(name): outcome for name, outcome in outcomes.items()}
        monkeypatch.setattr(levels._Runner, "make_vectors", lambda *arguments: None)
        monkeypatch.setattr(levels._Runner, "run", lambda runner, level: self.run(level))

    def run(self, level):
        outcome = self.outcomes[level]
        if isinstance(outcome, Exception):
            raise outcome
        return LevelResult(level, outcome, "verdict", 0.0)


@pytest.mark.parametrize(
    ("rtl", "formal", "passed"),
    [
        (Outcome.PASSED, Outcome.PASSED, True),
        (Outcome.PASSED, Outcome.NOT_RUN, True),
        (Outcome.PASSED, Outcome.UNPROVEN, False),
        (Outcome.PASSED, Outcome.FAILED, False),
        (Outcome.FAILED, Outcome.PASSED, False),
        (Outcome.NOT_RUN, Outcome.NOT_RUN, False),
    ],
)
def test_what_is_not_proven_has_not_passed(design, tmp_path, monkeypatch, rtl, formal, passed):
    Levels(monkeypatch, rtl=rtl, formal=formal)
    assert verify_design(design, work=tmp_path).passed is passed


def test_a_level_left_out_names_the_log_that_is_kept(design, tmp_path, monkeypatch):
    work, logs = tmp_path / "work", tmp_path / "logs"
    error = ToolError(f"too small; log: {str(work / 'nextpnr.log')!r}")
    done = dict.fromkeys(("rtl", "formal", "mapped"), Outcome.PASSED)
    Levels(monkeypatch, **done, bitstream=error)
    result = verify_design(design, work=work, logs=logs, levels=["all"])
    assert result.passed
    assert result.levels[-1].outcome is Outcome.NOT_RUN
    assert result.levels[-1].verdict == f"too small; log: {str(logs / 'nextpnr.log')!r}"
    with pytest.raises(ToolError, match=r"^too small; log: "):
        verify_design(design, work=work, logs=logs, levels=["bitstream"])


def test_a_proof_that_stops_is_not_left_out(design, tmp_path, monkeypatch):
    Levels(monkeypatch, rtl=Outcome.PASSED, formal=ToolError("yosys failed"))
    with pytest.raises(ToolError, match=r"^yosys failed$"):
        verify_design(design, work=tmp_path)


def test_the_simulator_must_be_there(design, tmp_path, monkeypatch):
    Levels(monkeypatch, rtl=ToolError("no simulator"), formal=Outcome.PASSED)
    with pytest.raises(ToolError, match=r"^no simulator$"):
        verify_design(design, work=tmp_path)


NO_SOLVER = "Cannot find the Python package python-sat; install trilut[verify]"
NO_YOSYS = "Cannot find yosys in PATH; install trilut[synth] or set YOSYS"


@pytest.mark.parametrize("reason", [NO_SOLVER, NO_YOSYS])
def test_what_proves_may_be_missing(design, tmp_path, monkeypatch, reason):
    if reason == NO_SOLVER:
        monkeypatch.setitem(sys.modules, "pysat", None)
    else:
        monkeypatch.delenv("YOSYS", raising=False)
        monkeypatch.setenv("PATH", "")
        monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(ToolError, match=f"^{re.escape(reason)}$"):
        verify_design(design, work=tmp_path, levels=["formal"])
    Levels(monkeypatch, rtl=Outcome.PASSED, formal=ToolError(reason))
    rtl, formal = verify_design(design, work=tmp_path).levels
    assert rtl.outcome is Outcome.PASSED
    assert (formal.outcome, formal.verdict) == (Outcome.NOT_RUN, reason)


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
    assert list(level["details"]["claims"]) == [
        "structure",
        "handshake",
        "gates",
        "sums",
        "decision",
        "latency",
    ]


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
    assert mapped.finding.target == target
    assert mapped.finding.regression.num_checked == rtl.finding.num_checked
    assert mapped.finding.cells.startswith("proven equal")
    assert result.coverage.share == 1.0


def test_protocol_violations_are_told_by_kind():
    violations = {ViolationKind.LOST: 3, ViolationKind.HANG: 1}
    result = SimpleNamespace(num_checked={"random": 5}, num_mismatches=0, num_violations=violations)
    assert levels._regression_text(result) == (
        "5 vectors (5 random), 0 mismatches, protocol violations: 3 lost, 1 hang"
    )
