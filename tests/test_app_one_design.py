# amaranth: UnusedElaboratable=no
"""The same netlist and options are the same Verilog, whichever command makes it."""

import inspect
import json
import re
from types import SimpleNamespace

import pytest
from circuits import random_netlist

import trilut
from trilut import digest, save
from trilut.app.flow import run_flow
from trilut.app.rundir import report_run
from trilut.app.synth import synthesize_file
from trilut.boards.board import Family
from trilut.boards.design import BoardDesign
from trilut.cli import main
from trilut.errors import FormatError, TrilutError
from trilut.hdl import DEFAULT_TARGET, PORTABLE, HardwareOptions, read_design, write_verilog
from trilut.synth import load_target
from trilut.verify import verify, verify_design

NET = random_netlist(3, num_inputs=6, num_gates=20, num_outputs=6, num_classes=3, with_encoder=True)
OPTIONS = (
    [],
    ["--pipeline", "1", "--scores", "--top", "other"],
    ["--axi", "16", "--no-missing", "--target", "ice40"],
    ["--input", "trits", "--margin-port", "--no-optimize", "--sums", "generic"],
)


class StopError(TrilutError):
    """Ends a command when its design is made."""


@pytest.fixture
def file(tmp_path):
    save(NET, tmp_path / "net.trilut")
    return tmp_path / "net.trilut"


@pytest.fixture
def hashes(monkeypatch):
    """Collect the designs that are verified and synthesised, which ends the command."""
    found = []

    def stop(design, *args, **settings):
        found.append(design.sha256)
        raise StopError("enough")

    for place in ("verify.levels.verify_design", "verify.verify_design", "synth.synthesize_design"):
        monkeypatch.setattr(f"trilut.{place}", stop)
    monkeypatch.setattr(
        "trilut.app.flow.train_in_stage", lambda *args, **settings: SimpleNamespace(netlist=NET)
    )
    return found


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_one_design(file, tmp_path, hashes, capsys, options):
    assert main(["verilog", str(file), "-o", str(tmp_path / "rtl"), "--json", *options]) == 0
    written = json.loads(capsys.readouterr().out)["sha256"]
    for command in (["verify", str(file)], ["synth", str(file)], ["flow", "moons"]):
        assert main([*command, "-o", str(tmp_path / command[0]), *options]) == 1
        assert capsys.readouterr().err.splitlines()[-1] == "trilut: error: enough"
    assert hashes == [written] * 3


def test_one_design_of_gates_alone(file, tmp_path, hashes, capsys):
    command = ["verilog", str(file), "-o", str(tmp_path / "rtl"), "--logic-only", "--json"]
    assert main(command) == 0
    written = json.loads(capsys.readouterr().out)["sha256"]
    assert main(["verify", str(file), "--logic-only"]) == 1
    assert main(["synth", str(file), "--logic-only", "-o", str(tmp_path / "synth")]) == 1
    assert hashes == [written] * 2


def test_one_design_from_python(tmp_path, hashes):
    written = trilut.write_verilog(NET, tmp_path / "rtl")
    with pytest.raises(StopError):
        NET.verify(scratch=tmp_path)
    with pytest.raises(StopError):
        NET.verify(rtl=written.path, scratch=tmp_path)
    assert hashes == [written.sha256] * 2


def test_a_design_that_is_there(file, tmp_path, hashes, capsys):
    design = write_verilog(NET, tmp_path / "rtl", HardwareOptions(sums=PORTABLE, top="other"))
    for command in ("verify", "synth"):
        for place in (design.path, design.path.parent):
            assert main([command, str(file), "--rtl", str(place), "-o", str(tmp_path / "out")]) == 1
    assert hashes == [design.sha256] * 4


def test_every_default_is_the_same():
    defaults = {
        inspect.signature(function).parameters["target"].default
        for function in (verify, verify_design, synthesize_file, run_flow)
    }
    assert defaults == {DEFAULT_TARGET}
    assert inspect.signature(read_design).parameters["sums"].default == DEFAULT_TARGET
    # The part and its sums have one name, so that one constant serves both.
    assert load_target(DEFAULT_TARGET).sums == DEFAULT_TARGET


@pytest.mark.parametrize("family", Family)
def test_a_board_has_the_sums_of_its_part(family):
    assert family.sums == load_target(family.value).sums


@pytest.mark.parametrize(("family", "pipeline"), [("ice40", 2), ("ecp5", 1)])
def test_a_board_has_the_layers_of_the_design(tmp_path, family, pipeline):
    sums = load_target(family).sums
    design = write_verilog(NET, tmp_path, HardwareOptions(sums=sums, pipeline=pipeline))
    board = BoardDesign(
        NET,
        clock_hz=12e6,
        baud=115200,
        pipeline=pipeline,
        target=sums,
        layer_module=lambda plan: f"trilut_top_layer_{plan.level}",
    )
    text = design.path.read_text()
    modules = re.findall(r"^module .*?^endmodule", board.layers_verilog(), re.DOTALL | re.MULTILINE)
    assert len(modules) == len(design.plans) > 1
    assert all(module in text for module in modules)
    # The rest is the encoder, which is the loader's part on a board.
    encoder = design.classifier._encoder
    assert design.interface.latency - board.classifier.latency == encoder.latency


def test_verilog_says_whose_cells_it_has(file, tmp_path, capsys):
    rows = {}
    for target in ("ecp5", PORTABLE):
        assert main(["verilog", str(file), "-o", str(tmp_path), "--target", target]) == 0
        rows[target] = capsys.readouterr().out
    assert "CCU2C of ecp5; portable Verilog: --target generic" in rows["ecp5"]
    assert "none: portable Verilog" in rows[PORTABLE]


def test_a_part_without_the_cells_of_a_design(file, tmp_path, capsys):
    design = write_verilog(NET, tmp_path / "rtl")
    command = ["synth", str(file), "--rtl", str(design.path), "--target", "ice40"]
    assert main([*command, "-o", str(tmp_path / "out")]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"trilut: error: Design {str(design.path)!r} is made of cells of 'ecp5', which target "
        "'ice40' does not have; make it with --target ice40 or --target generic"
    )


def reported(file, rtl):
    """Return what a report says of a design."""
    return report_run(file, rtl=rtl).summary["design"]


def test_a_report_says_which_design_was_verified(file, tmp_path):
    design = write_verilog(NET, tmp_path / "rtl")
    sha256 = design.sha256
    found = {"passed": True, "sha256": sha256, "netlist_sha256": digest(NET)}
    path = tmp_path / "rtl" / "verification.json"
    path.write_text(json.dumps({**found, "levels": [], "coverage": {}}))
    same = f"sha256 {sha256[:16]}… in the file and verified"
    assert reported(file, tmp_path / "rtl") == same
    design.path.write_text(design.path.read_text() + "// more\n")
    assert reported(file, design.path) == (
        f"DIFFERENT DESIGNS: sha256 {design.sha256[:16]}… in the file, "
        f"sha256 {sha256[:16]}… verified"
    )
    path.write_text(json.dumps({"levels": []}))
    with pytest.raises(FormatError, match=rf"^File {str(path)!r} is not a verification: Key.*$"):
        reported(file, tmp_path / "rtl")
