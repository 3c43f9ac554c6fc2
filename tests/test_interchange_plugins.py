"""The package of examples/plugin, as if it were installed."""

import importlib
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from circuits import random_netlist
from commandline import fails

from trilut import load, plugins, save
from trilut.cli import main
from trilut.errors import FormatError
from trilut.interchange import EXPORTERS, export_netlist, import_netlist

PLUGIN = Path(__file__).parent.parent / "examples" / "plugin"


def write_metadata(directory, points):
    metadata = directory / "plugin-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin\nVersion: 1.0\n")
    lines = []
    for group, entries in points.items():
        lines += [f"[{group}]", *(f"{name} = {where}" for name, where in entries.items())]
    (metadata / "entry_points.txt").write_text("\n".join(lines) + "\n")


@pytest.fixture
def install(tmp_path, monkeypatch):
    def install(points=None):
        points = (
            points
            or tomllib.loads((PLUGIN / "pyproject.toml").read_text())["project"]["entry-points"]
        )
        write_metadata(tmp_path, points)
        for place in (PLUGIN, tmp_path):
            monkeypatch.syspath_prepend(place)
        importlib.invalidate_caches()
        plugins.installed.cache_clear()

    yield install
    plugins.installed.cache_clear()
    sys.modules.pop("trilut_truth_table", None)


def test_formats_of_a_package_go_out_and_in(install, tmp_path, capsys):
    install()
    netlist = random_netlist(0, num_inputs=2, num_gates=9, num_outputs=4)
    save(netlist, tmp_path / "net.trilut")
    out, back = tmp_path / "out", tmp_path / "back.trilut"
    command = ["export", str(tmp_path / "net.trilut"), "--format", "truth-table", "-o", str(out)]
    assert main(command) == 0
    assert main(["import", str(out / "trilut_net.table.csv"), "-o", str(back)]) == 0
    trits = [[a, b] for a in (-1, 0, 1) for b in (-1, 0, 1)]
    assert np.array_equal(load(back).evaluate(trits), netlist.evaluate(trits))
    assert main(["export", "--list"]) == 0
    assert "truth-table" in capsys.readouterr().out


def test_errors_of_a_package_are_one_line(install, tmp_path, capsys):
    install()
    netlist = random_netlist(0, num_inputs=9, num_gates=9, num_outputs=4)
    save(netlist, tmp_path / "net.trilut")
    line = fails(capsys, "export", tmp_path / "net.trilut", "--format=truth-table", "-o", tmp_path)
    assert line == "A truth table has at most 8 inputs, and the netlist 9"
    (tmp_path / "x.table.csv").write_text("i0,i1,o0\n1,1,1\n")
    assert fails(capsys, "import", tmp_path / "x.table.csv", "-o", tmp_path / "x.trilut") == (
        f"{str(tmp_path / 'x.table.csv')!r} has 1 rows of 'i0,i1,o0', expected all rows of two "
        "bits or two trits"
    )


@pytest.mark.parametrize(
    ("name", "where", "reason"),
    [
        ("x", "nowhere:X",
         "Cannot load the exporter 'x' from 'nowhere:X': No module named 'nowhere'"),
        ("x", "trilut_truth_table:IMPORTER",
         "Cannot take the exporter 'x' from 'trilut_truth_table:IMPORTER': "
         "expected a trilut.interchange.Exporter"),
        ("x", "trilut_truth_table:EXPORTER",
         "Cannot take the exporter 'x' from 'trilut_truth_table:EXPORTER': "
         "its own name is 'truth-table'"),
        ("c", "trilut_truth_table:EXPORTER",
         "There is more than one exporter 'c': TriLUT's own and trilut_truth_table:EXPORTER"),
    ],
)  # fmt: skip
def test_what_a_package_may_not_give(install, name, where, reason):
    install({"trilut.exporters": {name: where}})
    with pytest.raises(FormatError) as caught:
        EXPORTERS.find(name)
    assert str(caught.value) == reason


def test_example_plugin_reads_what_it_writes_for_bits(install, tmp_path):
    install()
    netlist = random_netlist(3, num_inputs=2, num_gates=5, num_outputs=2, valence=2)
    (path,) = export_netlist(netlist, tmp_path, "truth-table")
    bits = [[a, b] for a in (-1, 1) for b in (-1, 1)]
    assert np.array_equal(import_netlist(path).evaluate(bits), netlist.evaluate(bits))
