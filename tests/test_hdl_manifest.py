import dataclasses
import json
import re

import pytest
from circuits import random_netlist

from trilut import digest, save
from trilut.cli import main
from trilut.errors import FormatError
from trilut.hdl import Fabric, HardwareOptions, InputKind, read_design, write_verilog

NET = random_netlist(3, num_inputs=6, num_gates=20, num_outputs=6, num_classes=2, with_encoder=True)


@pytest.fixture
def design(tmp_path):
    return write_verilog(NET, tmp_path / "rtl")


@pytest.mark.parametrize(
    "options",
    [
        HardwareOptions(),
        HardwareOptions(top="other", pipeline=1, sums="ecp5", scores=True, margin_port=True),
        HardwareOptions(axi_beat_bits=16, presence_bits=False, optimized=False),
        HardwareOptions(input_kind=InputKind.TRITS, fabric=Fabric.AMARANTH),
    ],
)
def test_a_design_is_read_as_it_was_written(tmp_path, options):
    written = write_verilog(NET, tmp_path, options)
    for place in (tmp_path, written.path):
        design = read_design(place, NET)
        for name in ("path", "top", "interface", "models", "options", "sha256"):
            assert getattr(design, name) == getattr(written, name)
        assert [plan.gates for plan in design.plans] == [plan.gates for plan in written.plans]


def test_the_manifest_says_what_is_beside_it(design):
    manifest = json.loads(design.path.with_suffix(".json").read_text())
    assert manifest["format"] == "trilut-design"
    assert manifest["file"] == "trilut_top.v"
    assert manifest["sha256"] == design.sha256
    assert manifest["netlist"]["sha256"] == digest(NET)
    assert manifest["command_line"] == design.options.command_line
    assert manifest["interface"]["latency"] == design.interface.latency


def test_a_changed_file_has_another_hash(design):
    before = design.sha256
    design.path.write_text(design.path.read_text() + "// more\n")
    assert read_design(design.path, NET).sha256 == design.sha256 != before


def check_refused(path, message, netlist=NET):
    with pytest.raises(FormatError, match=f"^{re.escape(message)}$"):
        read_design(path, netlist)


def test_no_manifest(design):
    design.path.with_suffix(".json").unlink()
    again = read_design(design.path, NET)
    assert (again.interface, again.options) == (design.interface, design.options)
    check_refused(
        design.path.parent,
        f"Directory {str(design.path.parent)!r} has 0 designs with a manifest, expected 1; name "
        "the Verilog file",
    )


def test_another_netlist(design):
    other = dataclasses.replace(NET, table=-NET.table)
    check_refused(
        design.path,
        f"The design in {str(design.path.parent)!r} was made from another netlist: its manifest "
        f"has sha256 {digest(NET)[:16]}…, netlist 'net' has {digest(other)[:16]}…",
        other,
    )


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"format": "x"}, "'{path}' is not the manifest of a design"),
        ({"version": 2}, "Manifest '{path}' has version 2, expected 1"),
        ({"options": {}}, "Manifest '{path}' is damaged: KeyError('input_kind')"),
        ({"interface": None}, "Manifest '{path}' is damaged: TypeError(\"'NoneType' object is not "
                              "subscriptable\")"),
    ],
)  # fmt: skip
def test_a_manifest_that_is_something_else(design, change, problem):
    path = design.path.with_suffix(".json")
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    check_refused(design.path, problem.format(path=path))


def change_interface(document):
    document["interface"]["outputs"].pop()


def change_options(document):
    document["options"]["scores"] = True


def change_clock(document):
    document["interface"]["is_combinational"] = True


@pytest.mark.parametrize("change", [change_interface, change_options, change_clock])
def test_ports_that_the_options_do_not_make(design, change):
    path = design.path.with_suffix(".json")
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    check_refused(
        design.path, f"Manifest '{path}' is damaged: its interface is not that of its options"
    )


@pytest.mark.synth
def test_the_very_file_is_proven(design, tmp_path, capsys):
    save(NET, tmp_path / "net.trilut")
    command = ["verify", str(tmp_path / "net.trilut"), "--rtl", str(design.path.parent)]
    command += ["--level", "formal", "--json"]
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out)["sha256"] == design.sha256
    text = design.path.read_text()
    wrong = text.replace("assign out_unknown = ", "assign out_unknown = !", 1)
    assert wrong != text
    design.path.write_text(wrong)
    assert main(command) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["passed"] is False
    assert document["sha256"] == design.sha256
