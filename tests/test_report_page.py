import dataclasses
import html
import json
import os
import re
import shutil
import subprocess
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
from circuits import random_netlist
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import trilut
from trilut.app.rundir import near_synthesis
from trilut.cli import main
from trilut.data import load_dataset
from trilut.errors import FormatError
from trilut.measure.evaluation import MissingPoint, evaluate_split
from trilut.report.drawing import _NETS, _cone, _hot_cones, circuit_figure, net_weights
from trilut.report.figures import (
    confusion_figure,
    decision_grid,
    layer_gap_figure,
    missing_figure,
)
from trilut.training import TrainingConfig, layer_accuracies, train

SVG = "{http://www.w3.org/2000/svg}"
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not on PATH")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    directory = tmp_path_factory.mktemp("run")
    moons = load_dataset("moons:train=300,validation=100,test=200")
    config = TrainingConfig.of(
        layers=(60, 60, 20), recipe="paper", delta=1.0, steps=60, evaluate_every=20
    )
    result = train(moons, config, directory=directory)
    trilut.save(result.netlist, directory / "net.trilut")
    return directory, result, moons


def test_layers_of_the_result_harden_one_by_one(run):
    _, result, moons = run
    accuracies = layer_accuracies(result.fitted, moons.test)
    assert accuracies[0] == result.soft.test
    assert accuracies[-1] == evaluate_split(result.netlist, moons.test).accuracy


def test_report_of_a_training(run, tmp_path, capsys):
    directory, result, moons = run
    assert main(["report", str(directory), "-o", str(tmp_path), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document == json.loads((tmp_path / "report.json").read_text())
    evaluation = evaluate_split(result.netlist, moons.test)
    assert document["accuracy"]["hardened"] == evaluation.accuracy
    assert document["accuracy"]["soft"] == result.soft.test
    assert [line["step"] for line in document["history"]] == [20, 40, 60]
    assert document["verification"] is None
    assert document["analysis"]["census"]["gates"] == 140
    page = (tmp_path / "report.html").read_text()
    # Decision, UNKNOWN, coverage, margins, missing, confusion, training; circuit; spectrum,
    # frequent gates and two maps.
    assert page.count("<svg") == 12
    assert "src=" not in page.replace('src="data:', "")


def test_report_keeps_what_was_verified_of_the_same_netlist(run, tmp_path):
    directory, result, _ = run
    copied = shutil.copytree(directory, tmp_path / "run")
    details = {"num_checked": {"random": 9}, "num_mismatches": 0, "simulator": "one"}
    verification = {
        "passed": True,
        "levels": [{"level": "rtl", "outcome": "passed", "verdict": "", "details": details}],
        "coverage": {},
    }
    known = {"verification": verification, "accuracy": {"layers": [0.9, 0.8]}, "synthesis": None}
    for sha256, expected in ((trilut.digest(result.netlist), verification), ("other", None)):
        document = {"netlist": {"sha256": sha256}, **known}
        (copied / "report.json").write_text(json.dumps(document))
        assert main(["report", str(copied)]) == 0
        written = json.loads((copied / "report.json").read_text())
        assert written["verification"] == expected
        assert ("layers" in written["accuracy"]) == (expected is not None)


def test_report_without_samples_shows_the_gates(tmp_path, capsys):
    netlist = random_netlist(
        0, num_inputs=4, num_gates=30, num_outputs=6, num_classes=2, with_encoder=True
    )
    trilut.save(netlist, tmp_path / "net.trilut")
    assert main(["report", str(tmp_path / "net.trilut")]) == 0
    assert capsys.readouterr().err.startswith("No samples, so no accuracy: Netlist 'net' does not")
    document = json.loads((tmp_path / "report.json").read_text())
    assert document["accuracy"] is None
    assert document["analysis"]["census"]["gates"] == 30


def test_names_cannot_command_a_terminal_or_a_page(run, tmp_path, capsys):
    _, result, moons = run
    nasty = "a\x00\x1b[31m\x9b2J\r\x7f\u202e"
    encoder, head = result.netlist.encoder, result.netlist.head
    features = tuple(
        dataclasses.replace(feature, name=f"{nasty} {index} {'n' * 60_000}")
        for index, feature in enumerate(encoder.features)
    )
    netlist = dataclasses.replace(
        result.netlist,
        name=nasty,
        encoder=dataclasses.replace(encoder, features=features),
        head=dataclasses.replace(head, classes=(nasty, f"{nasty} <b>")),
        provenance={"data": {"name": str(tmp_path / "moons.npz")}},
    )
    np.savez(
        tmp_path / "moons.npz",
        x=moons.test.x,
        y=np.array(netlist.head.classes)[moons.test.y],
        feature_names=[feature.name for feature in features],
    )
    trilut.save(netlist, tmp_path / "net.trilut")
    commands = (
        ["report", tmp_path, "-o", tmp_path],
        ["info", tmp_path / "net.trilut"],
        ["trace", tmp_path / "net.trilut", "--sample", "1"],
        ["eval", tmp_path / "net.trilut"],
        ["eval", tmp_path / "net.trilut", "--data", "iris"],
    )
    shown = []
    for command in commands:
        assert main([str(argument) for argument in command]) == ("iris" in command)
        shown += capsys.readouterr()
    shown += [(tmp_path / name).read_text() for name in ("report.html", "report.json")]
    assert r"a\x00\x1b[31m\x9b2J\r\x7f\u202e" in shown[0]
    for text in shown:
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)
    assert len(shown[-2]) < 1_000_000
    ElementTree.fromstring(re.findall(r"<svg class=\"wide circuit\".*?</svg>", shown[-2], re.S)[0])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("metrics.jsonl", '{"step": 1}', "is not a course of training: KeyError('loss')"),
        ("report.json", "[]", "is not a report: TypeError("),
        ("report.json", "[" * 5000, "is not JSON: nested too deeply"),
    ],
)
def test_damaged_file_beside_the_netlist(run, tmp_path, capsys, name, content, message):
    copied = shutil.copytree(run[0], tmp_path / "run")
    (copied / name).write_text(content)
    assert main(["report", str(copied)]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"trilut: error: File {str(copied / name)!r} {message}")
    assert error.count("\n") == 1


def test_course_of_training_that_is_nested_too_deeply(run, tmp_path, capsys):
    copied = shutil.copytree(run[0], tmp_path / "run")
    (copied / "metrics.jsonl").write_text('{"step": 1, "loss": 1, "accuracy": 1}\n' + "[" * 5000)
    assert main(["report", str(copied)]) == 1
    assert capsys.readouterr().err == (
        f"trilut: error: Line 2 of {str(copied / 'metrics.jsonl')!r} is not JSON: "
        "nested too deeply\n"
    )


def test_synthesis_near_a_run_is_found(tmp_path, monkeypatch):
    netlist = random_netlist(0, num_inputs=3, num_gates=4, num_outputs=3)
    digests = {"synth": trilut.digest(netlist), "older": trilut.digest(netlist), "other": "0"}
    for number, name in enumerate(["older", "synth", "other"]):
        path = tmp_path / name / "synthesis.json"
        path.parent.mkdir()
        path.write_text("")
        os.utime(path, (number, number))
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "synthesis.json").write_text("{")
    (tmp_path / "run").mkdir()

    def read(path):
        if path.parent.name == "damaged":
            raise FormatError("Synthesis report is damaged")
        document = {"netlist": {"sha256": digests[path.parent.name]}}
        return SimpleNamespace(document=document, section={"target": path.parent.name})

    monkeypatch.setattr("trilut.report.synthesis.read_synthesis_report", read)
    assert near_synthesis(netlist, tmp_path / "run") == {"target": "synth"}
    digests["run"] = digests["synth"]
    (tmp_path / "run" / "synthesis.json").write_text("")
    assert near_synthesis(netlist, tmp_path / "run") == {"target": "run"}
    assert (
        near_synthesis(
            random_netlist(1, num_inputs=3, num_gates=4, num_outputs=3), tmp_path / "run"
        )
        is None
    )


def test_earlier_synthesis_that_lacks_figures(run, tmp_path, capsys):
    copied = shutil.copytree(run[0], tmp_path / "run")
    earlier = {"netlist": {"sha256": trilut.digest(run[1].netlist)}, "synthesis": {"target": "x"}}
    (copied / "report.json").write_text(json.dumps(earlier))
    assert main(["report", str(copied)]) == 1
    error = capsys.readouterr().err
    assert error.startswith(
        f"trilut: error: File {str(copied / 'report.json')!r} is not a report: KeyError("
    )
    assert error.count("\n") == 1


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 60), st.integers(1, 20))
def test_all_weight_of_the_outputs_comes_to_the_inputs(seed, num_gates, num_outputs):
    netlist = random_netlist(seed, num_inputs=5, num_gates=num_gates, num_outputs=num_outputs)
    weights = net_weights(netlist)
    assert weights[:5].sum() == pytest.approx(num_outputs)
    assert np.all(weights[netlist.outputs] >= 1)


def test_drawn_cones_are_whole_and_leave_room():
    netlist = random_netlist(1, num_inputs=40, num_gates=3000, num_outputs=100)
    drawn = _hot_cones(netlist, np.linspace(0, 1, 100))
    gates = np.flatnonzero(drawn[40:])
    assert 0 < len(gates) < 3000
    assert drawn[netlist.a[gates]].all()
    assert drawn[netlist.b[gates]].all()
    # Except that the first cone is drawn whatever its size.
    assert np.bincount(netlist.levels[drawn])[1:].max() <= max(_NETS, 60)


def test_small_circuit_is_drawn_whole():
    netlist = random_netlist(1, num_inputs=4, num_gates=30, num_outputs=6)
    assert _hot_cones(netlist, np.zeros(6)).all()
    text = circuit_figure(netlist, np.zeros((3, 4), dtype=np.int8))
    assert text.startswith("<svg")
    assert text == circuit_figure(netlist, np.zeros((3, 4), dtype=np.int8))


def test_picture_says_what_every_drawn_net_is():
    netlist = random_netlist(1, num_inputs=4, num_gates=30, num_outputs=6)
    drawn = ElementTree.fromstring(circuit_figure(netlist, np.zeros((3, 4), dtype=np.int8)))
    circles = {int(c.get("data-net")): c for c in drawn.iter(f"{SVG}circle")}
    assert sorted(circles) == list(range(34))
    rims = {net for net, c in circles.items() if c.get("stroke") == "currentColor"}
    assert rims == set(netlist.outputs.tolist())
    wires = {
        (int(w.get("data-source")), int(w.get("data-target"))) for w in drawn.iter(f"{SVG}path")
    }
    assert wires == {
        (int(source), 4 + gate)
        for pins in (netlist.a, netlist.b)
        for gate, source in enumerate(pins)
    }
    text = circles[5].find(f"{SVG}title").text
    assert text.startswith("net 5 = ")
    assert f"({netlist.a[1]}, {netlist.b[1]}), UNKNOWN in " in text


def test_grid_shows_what_the_circuit_decides(run):
    _, result, moons = run
    grid = decision_grid(result.netlist, moons.test, size=20)
    decided = result.netlist.predict(grid.points).reshape(20, 20)
    assert np.array_equal(grid.chosen[grid.chosen >= 0], decided[grid.chosen >= 0])


def test_confusion_names_classes_as_they_are():
    text = confusion_figure([[3, 1], [0, 2]], ["$a$", "<b>"])
    assert text.startswith("<svg")
    assert "<b>" not in text.replace("<!-- &lt;b> -->", "")
    assert layer_gap_figure([0.9, 0.8]).startswith("<svg")


def browse(page, directory, *options):
    """Open a page without a window, and return what the browser says."""
    return subprocess.run(
        [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--enable-logging=stderr",
            "--window-size=1200,3000",
            f"--user-data-dir={directory / 'profile'}",
            *options,
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )


def screenshot(page, picture, *options):
    """Return what the browser's console says of a page, and take a picture of it."""
    finished = browse(page, picture.parent, f"--screenshot={picture}", *options)
    return [line for line in finished.stderr.splitlines() if "CONSOLE" in line or "net::" in line]


@pytest.mark.slow
@needs_browser
def test_page_in_a_browser(run, tmp_path):
    assert main(["report", str(run[0]), "-o", str(tmp_path)]) == 0
    assert screenshot(tmp_path / "report.html", tmp_path / "page.png") == []
    picture = np.asarray(Image.open(tmp_path / "page.png").convert("RGB"))
    assert picture.shape == (3000, 1200, 3)
    assert picture[0, 0].min() == 255
    coloured = (np.ptp(picture.astype(int), axis=2) > 40).any(axis=1)
    # Figures in colour all the way down, not only at the top.
    assert coloured[:1500].mean() > 0.2
    assert coloured[1500:].mean() > 0.2
    # And the console would have been heard.
    (tmp_path / "bad.html").write_text("<script>console.error('heard')</script>")
    assert "heard" in screenshot(tmp_path / "bad.html", tmp_path / "bad.png")[0]


@pytest.mark.slow
@needs_browser
def test_page_is_dark_where_the_reader_wants_that(run, tmp_path):
    assert main(["report", str(run[0]), "-o", str(tmp_path)]) == 0
    dark = "--blink-settings=preferredColorScheme=0"
    assert screenshot(tmp_path / "report.html", tmp_path / "page.png", dark) == []
    picture = np.asarray(Image.open(tmp_path / "page.png").convert("L"))
    # No figure brings a white background along: the page is dark in the middle of its columns,
    # and its ink is light.
    assert np.median(picture) < 50
    assert picture[:60].max() > 200


@pytest.mark.slow
@needs_browser
def test_net_under_the_pointer_lights_its_cone(run, tmp_path):
    directory, result, _ = run
    assert main(["report", str(directory), "-o", str(tmp_path)]) == 0
    netlist = result.netlist
    output = int(netlist.outputs[0])
    point = f"""<script>
      const net = document.querySelector('circle[data-net="{output}"]');
      const lit = () => [...document.querySelectorAll("circle.on")].map((c) => c.dataset.net);
      net.dispatchEvent(new PointerEvent("pointerover", {{ bubbles: true }}));
      const during = lit();
      document.querySelector("svg.circuit").dispatchEvent(new PointerEvent("pointerleave"));
      document.title = JSON.stringify([during, lit()]);
    </script>"""
    page = tmp_path / "report.html"
    page.write_text(page.read_text().replace("</body>", f"{point}</body>"))
    shown = browse(page, tmp_path, "--dump-dom").stdout
    during, after = json.loads(html.unescape(re.search("<title>(.*?)</title>", shown).group(1)))
    assert sorted(map(int, during)) == _cone(netlist, output)
    assert after == []


def test_figure_of_missing_features_when_the_circuit_never_answers():
    points = [MissingPoint(0.0, 0.9, 0.1, 0.95), MissingPoint(0.5, 0.4, 1.0, None)]
    text = missing_figure(points)
    assert "Missing features" in text
    ElementTree.fromstring(text)
