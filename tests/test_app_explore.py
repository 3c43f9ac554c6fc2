import dataclasses
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from circuits import random_netlist
from hypothesis import given
from hypothesis import strategies as st
from test_report_synthesis import some_design, some_result

from trilut import load, save
from trilut.app.budget import Budget
from trilut.app.explore import explore, pareto_front, training_grid
from trilut.cli import main
from trilut.errors import ToolError, TrilutError
from trilut.report.synthesis import SynthesisReport, read_synthesis_report
from trilut.synth.runner import SynthesisError
from trilut.training import TrainingError

few = st.integers(0, 6).map(float)


@given(st.lists(st.tuples(few, few)))
def test_front_holds_what_no_other_beats(points):
    def beats(other, own):
        return other[0] <= own[0] and other[1] <= own[1] and other != own

    expected = [
        index for index, own in enumerate(points) if not any(beats(other, own) for other in points)
    ]
    assert pareto_front(points) == expected


def test_grid_has_every_combination():
    grid = training_grid({"layers": [(8,), (4, 2)], "delta": (0.25, 0.5)}, {"steps": 3})
    assert grid == [
        {"steps": 3, "layers": (8,), "delta": 0.25},
        {"steps": 3, "layers": (8,), "delta": 0.5},
        {"steps": 3, "layers": (4, 2), "delta": 0.25},
        {"steps": 3, "layers": (4, 2), "delta": 0.5},
    ]
    assert training_grid({}, {"steps": 3}) == [{"steps": 3}]


@pytest.fixture
def nets(tmp_path):
    paths = []
    for seed, name in enumerate(("a", "b")):
        netlist = random_netlist(
            seed,
            num_inputs=6,
            num_gates=12,
            num_outputs=4,
            num_classes=2,
            with_encoder=True,
            name=name,
        )
        paths.append(tmp_path / f"{name}.trilut")
        save(netlist, paths[-1])
    return paths


class Synthesis:
    """Stands for the tools, and can fail or be interrupted at a point."""

    def __init__(self, monkeypatch):
        self.done = []
        self.at = {}
        monkeypatch.setattr("trilut.hdl.write_verilog", self.write_verilog)
        monkeypatch.setattr("trilut.synth.design.synthesize", self.synthesize)
        # Figures are tested elsewhere, and take most of the time.
        monkeypatch.setattr(SynthesisReport, "page", lambda report: "")

    def write_verilog(self, netlist, directory, options):
        self.key = (netlist.name, options.pipeline)
        path = directory / "top.v"
        path.write_text("")
        return dataclasses.replace(some_design(netlist, options), path=path)

    def synthesize(self, *args, out, **options):
        if self.key in self.at:
            raise self.at[self.key](out)
        self.done.append(self.key)
        return some_result()


def tool_error(out):
    return ToolError(f"nextpnr took longer than 5 s; log: '{out}/nextpnr.log'")


def synthesis_error(out):
    return SynthesisError(str(tool_error(out)), some_result(timing=None, incomplete="?"))


def test_exploration_goes_on_where_it_was_stopped(nets, tmp_path, monkeypatch):
    synthesis = Synthesis(monkeypatch)
    synthesis.at = {("b", 1): lambda out: KeyboardInterrupt()}
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        explore(out, nets=nets, pipelines=(1, 2), workers=1)
    assert not (out / "explore.json").exists()
    before = {path: path.stat().st_mtime_ns for path in out.glob("points/*/synthesis.json")}
    synthesis.at, synthesis.done = {}, []
    found = explore(out, nets=nets, pipelines=(1, 2), workers=1)
    assert len(synthesis.done) == 4 - len(before) >= 1
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert json.loads((out / "explore.json").read_text()) == found.document
    assert len(found.document["points"]) == 4
    explore(out, nets=nets, pipelines=(1, 2, 3), workers=1)
    assert set(synthesis.done[-2:]) == {("a", 3), ("b", 3)}


def test_half_written_point_is_done_again(nets, tmp_path, monkeypatch):
    synthesis = Synthesis(monkeypatch)
    explore(tmp_path / "out", nets=nets[:1], workers=1)
    (directory,) = (tmp_path / "out" / "points").iterdir()
    (directory / "synthesis.json").rename(directory / ".synthesis.json.half")
    explore(tmp_path / "out", nets=nets[:1], workers=1)
    assert synthesis.done == [("a", 2), ("a", 2)]


def test_other_target_or_frequency_is_another_point(nets, tmp_path, monkeypatch):
    synthesis = Synthesis(monkeypatch)
    for options in ({}, {"route": False}, {"frequency": 100.0}, {"target": "ice40"}):
        explore(tmp_path / "out", nets=nets[:1], workers=1, **options)
    assert synthesis.done == [("a", 2)] * 4


@pytest.mark.parametrize("fail", [tool_error, synthesis_error])
def test_point_that_fails_is_told_and_tried_again(nets, fail, tmp_path, monkeypatch):
    synthesis = Synthesis(monkeypatch)
    synthesis.at = {("a", 2): fail}
    out = tmp_path / "out"
    found = explore(out, nets=nets, workers=1)
    (directory,) = (
        point for point in (out / "points").iterdir() if not (point / "synthesis.json").exists()
    )
    message = f"nextpnr took longer than 5 s; log: '{directory}/logs/nextpnr.log'"
    assert found.num_failed == 1
    assert found.table.rows[0][-1] == "failed"
    assert found.table.notes[-1] == f"{nets[0]}, pipeline 2: {message}"
    if fail is synthesis_error:
        # The area is known, and kept.
        assert read_synthesis_report(directory / "partial.json").section["incomplete"] == message
        assert found.document["points"][0]["area"] == 70
    synthesis.at = {}
    assert explore(out, nets=nets, workers=1).num_failed == 0
    assert synthesis.done == [("b", 2), ("a", 2)]


def recording(netlist, **shares):
    return dataclasses.replace(netlist, provenance={"accuracy": {"hardened": shares}})


def test_validation_accuracy_chooses(nets, tmp_path, monkeypatch):
    Synthesis(monkeypatch)
    first, second = map(load, nets)
    # The same area, so the accuracy alone decides; the test accuracy says the contrary.
    save(recording(first, validation=0.9, test=0.5), nets[0])
    save(recording(second, validation=0.8, test=0.99), nets[1])
    found = explore(str(tmp_path / "out"), nets=[str(net) for net in nets], workers=1)
    points = found.document["points"]
    assert [(point["validation"], point["test"]) for point in points] == [(0.9, 0.5), (0.8, 0.99)]
    assert ["accuracy" in point["best_in"] for point in points] == [True, False]
    assert found.table.header[3:6] == ("validation", "test", "LUT4 eq.")
    assert found.table.rows[0][:5] == ("1", str(nets[0]), "2", "90.00 %", "50.00 %")


def test_netlist_without_a_validation_accuracy_is_not_chosen_by_it(nets, tmp_path, monkeypatch):
    Synthesis(monkeypatch)
    save(recording(load(nets[0]), test=0.99), nets[0])
    (point,) = explore(tmp_path / "out", nets=nets[:1], workers=1).document["points"]
    assert point["validation"] is None
    assert "accuracy" not in point["best_in"]


def test_training_that_fails_is_a_point_without_a_result(tmp_path, monkeypatch):
    Synthesis(monkeypatch)

    def train(samples, directory, settings, stage, *, budget, resume):
        raise TrainingError("Loss is nan")

    monkeypatch.setattr("trilut.app.train.train_in_stage", train)
    found = explore(tmp_path / "out", dataset="moons", settings=[{"delta": 0.5}], pipelines=(1, 2))
    assert found.num_failed == 2
    assert [row[:3] for row in found.table.rows] == [
        ("1", "delta 0.5", "1"),
        ("2", "delta 0.5", "2"),
    ]
    assert found.table.notes[-1] == "delta 0.5, pipeline 2: Loss is nan"


def test_wrong_setting_is_found_before_any_training(tmp_path, monkeypatch):
    Synthesis(monkeypatch)
    with pytest.raises(TrainingError, match=r"^Setting 'delta' is 7, expected 0…1$"):
        explore(tmp_path / "out", dataset="moons", settings=[{"delta": 0.5}, {"delta": 7}])
    assert not (tmp_path / "out").exists()


def test_nothing_to_explore(tmp_path):
    with pytest.raises(
        TrilutError,
        match=r"^There is nothing to explore: name a data set, or netlists with --net$",
    ):
        explore(tmp_path)


def test_budget_chooses_the_layers(tmp_path, monkeypatch, capsys):
    Synthesis(monkeypatch)
    seen = []

    def train(samples, directory, settings, stage, *, budget, resume):
        seen.append((budget, settings))
        raise TrainingError("enough")

    monkeypatch.setattr("trilut.app.train.train_in_stage", train)
    command = ["explore", "moons", "-o", str(tmp_path / "out"), "--budget", "500lut4,900lut6"]
    assert main([*command, "--delta", "0.5"]) == 1
    assert seen == [
        (Budget(500, "ecp5"), {"delta": 0.5}),
        (Budget(900, "xc7"), {"delta": 0.5}),
    ]
    assert "budget 500lut4, delta 0.5" in capsys.readouterr().out
    assert main([*command, "--layers", "8,4"]) == 1
    message = "trilut: error: A budget chooses the number of gates; leave out --layers\n"
    assert capsys.readouterr().err.endswith(message)


def test_wrong_wiring(capsys):
    with pytest.raises(SystemExit):
        main(["explore", "moons", "-o", "x", "--wiring", "learned,tidy"])
    message = "argument --wiring: 'tidy' is not one of 'random', 'unique', 'local', 'learned'\n"
    assert capsys.readouterr().err.endswith(message)


def test_wrong_pipeline(capsys):
    with pytest.raises(SystemExit):
        main(["explore", "moons", "-o", "x", "--pipeline", "1,0"])
    assert capsys.readouterr().err.endswith("argument --pipeline: '0' is not a number above 0\n")


@pytest.mark.synth
def test_explore_command_trains_and_synthesises(tmp_path, capsys):
    out = tmp_path / "out"
    command = [
        *("explore", "moons", "-o", str(out), "--layers", "8,4", "--pipeline", "1,2"),
        *("--steps", "40", "--no-route", "--json"),
    ]
    assert main(command) == 0
    document = json.loads(capsys.readouterr().out)
    points = document["points"]
    assert [(point["net"], point["pipeline"]) for point in points] == [
        ("layers 8x4", 1),
        ("layers 8x4", 2),
    ]
    assert all(point["area"] > 0 and point["validation"] > 0.5 for point in points)
    assert all(0.5 < point["test"] < 1 and point["unit"] == "LUT4 eq." for point in points)
    assert [point["point"] for point in points] == [1, 2]
    figure = (out / "accuracy.svg").read_text()
    assert "validation accuracy (%)" in figure
    assert "LUT4 eq." in figure
    assert "<!-- 1 -->" in figure
    assert "<!-- 2 -->" in figure
    assert all(point["fmax_mhz"] is None for point in points)
    assert any(point["best_in"] == ["accuracy"] for point in points)
    assert {path.name for path in out.iterdir()} == {
        *("nets", "points", "explore.json", "explore.html", "accuracy.svg")
    }
    before = {path: path.stat().st_mtime_ns for path in out.glob("*/*/*.*")}
    assert main(command) == 0
    assert {path: path.stat().st_mtime_ns for path in out.glob("*/*/*.*")} == before


def running(directory):
    """Return the processes that work in a directory."""
    found = []
    for process in os.listdir("/proc"):
        try:
            if process.isdigit() and os.readlink(f"/proc/{process}/cwd").startswith(str(directory)):
                found.append(process)
        except OSError:
            continue
    return found


@pytest.mark.synth
@pytest.mark.slow
def test_interrupt_ends_the_tools(nets, tmp_path):
    out = tmp_path / "out"
    command = [sys.executable, "-m", "trilut", "explore", "-o", str(out), "--workers", "2"]
    for net in nets:
        command += ["--net", str(net)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while not running(out) and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.splitlines()[-1] == "trilut: interrupted"
    assert running(out) == []
    assert not list(out.glob("points/*/synthesis.json"))
    assert not list(out.glob("points/*/.work-*"))
