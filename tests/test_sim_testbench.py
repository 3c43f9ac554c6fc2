"""The test bench that users take along, run as they would: `make` in its directory."""

import json

import numpy as np
import pytest
from circuits import random_netlist
from makefiles import SIMULATORS, make

from trilut import cli, save, sim
from trilut.hdl import write_verilog


@pytest.fixture(scope="module")
def net():
    return random_netlist(
        7, num_inputs=12, num_gates=30, num_outputs=9, num_classes=3, with_encoder=True
    )


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_the_bench_passes_and_needs_nothing_of_trilut(net, tmp_path, capsys, simulator):
    save(net, tmp_path / "net.trilut")
    arguments = [str(tmp_path / "net.trilut"), "-o", str(tmp_path / "rtl"), "--with-testbench"]
    assert cli.main(["verilog", *arguments, "--scores", "--json"]) == 0
    bench = tmp_path / "rtl" / "testbench"
    assert json.loads(capsys.readouterr().out)["testbench"] == str(bench)
    assert sorted(path.name for path in bench.iterdir()) == [
        "Makefile",
        "test_design.py",
        "trilut_top.v",
        "vectors.csv",
    ]
    assert "trilut" not in (bench / "test_design.py").read_text().lower()
    done = make(bench, simulator)
    assert done.returncode == 0, done.stdout + done.stderr
    columns, *vectors = (bench / "vectors.csv").read_text().splitlines()
    assert columns.split(",")[-1] == "out_scores"
    count = len(vectors)
    assert count > 1000
    assert f"{count} vectors, all as the netlist says" in done.stdout
    assert "FAIL=0" in done.stdout


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_a_wrong_design_fails_and_says_where(net, tmp_path, simulator):
    design = write_verilog(net, tmp_path)
    text = design.path.read_text()
    wrong = text.replace("assign out_unknown = ", "assign out_unknown = !", 1)
    assert wrong != text
    design.path.write_text(wrong)
    vectors = sim.stimulus(net, None, np.random.default_rng(0), num_random=20)
    bench = sim.write_testbench(net, design, vectors, tmp_path / "bench")
    done = make(bench, simulator)
    assert "vector 0 (random): expected {'out_class'" in done.stdout
    assert "FAIL=1" in done.stdout


def test_a_bench_needs_plain_streams(net, tmp_path, capsys):
    save(net, tmp_path / "net.trilut")
    arguments = [str(tmp_path / "net.trilut"), "-o", str(tmp_path / "rtl"), "--with-testbench"]
    assert cli.main(["verilog", *arguments, "--axi", "8"]) == 1
    assert capsys.readouterr().err == (
        "trilut: error: A test bench drives plain streams of a Verilog design; "
        "leave out --axi, --margin-port and --format\n"
    )
