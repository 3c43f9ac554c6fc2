"""The test bench that users take along, run as they would: `make` in its directory."""

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from circuits import random_netlist
from makefiles import SIMULATORS

from trilut import cli, load_dataset, save, sim
from trilut.hdl import write_verilog


@pytest.fixture(scope="module")
def net():
    return random_netlist(
        7, num_inputs=12, num_gates=30, num_outputs=9, num_classes=3, with_encoder=True
    )


def make(directory: Path, simulator: str) -> subprocess.CompletedProcess[str]:
    """Run `make` with cocotb and the simulator in PATH, and nothing of TriLUT."""
    path = [str(Path(sys.executable).parent), os.environ["PATH"]]
    environment = {**os.environ, "SIM": simulator, "PATH": os.pathsep.join(path)}
    return subprocess.run(
        ["make", "--no-print-directory"],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_the_bench_passes_and_needs_nothing_of_trilut(net, tmp_path, capsys, simulator):
    save(net, tmp_path / "net.trilut")
    rtl = tmp_path / "my rtl"
    arguments = [str(tmp_path / "net.trilut"), "-o", str(rtl), "--with-testbench"]
    assert cli.main(["verilog", *arguments, "--scores", "--json"]) == 0
    bench = rtl / "testbench"
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


def test_samples_of_the_test_set_are_among_the_vectors(net, tmp_path, capsys):
    rows = [
        ",".join([*(str((row * 7 + n) % 50) for n in range(6)), f"class {row % 3}"])
        for row in range(40)
    ]
    names = [feature.name for feature in net.encoder.features]
    (tmp_path / "data.csv").write_text("\n".join([",".join([*names, "kind"]), *rows]))
    data = {"name": str(tmp_path / "data.csv"), "seed": 0}
    trained = dataclasses.replace(net, name=data["name"], provenance={"data": data})
    save(trained, tmp_path / "net.trilut")
    arguments = [str(tmp_path / "net.trilut"), "-o", str(tmp_path / "rtl"), "--with-testbench"]
    assert cli.main(["verilog", *arguments]) == 0
    vectors = (tmp_path / "rtl" / "testbench" / "vectors.csv").read_text().splitlines()
    test_set = load_dataset(data["name"]).test
    assert sum(line.startswith("data,") for line in vectors) == len(test_set)
    verilog = (tmp_path / "rtl" / "trilut_top.v").read_text()
    assert '// netlist: "data.csv"\n' in verilog
    assert '// origin:  {"data": {"name": "data.csv", "seed": 0}}\n' in verilog
    assert str(tmp_path) not in verilog
    (tmp_path / "data.csv").unlink()
    capsys.readouterr()
    assert cli.main(["verilog", *arguments]) == 0
    assert "No samples in the test bench: " in capsys.readouterr().err


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
