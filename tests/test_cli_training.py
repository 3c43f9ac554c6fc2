import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from commandline import fails

import trilut
from trilut.cli import main
from trilut.data import load_dataset
from trilut.measure.evaluation import evaluate_split

MOONS = "moons:train=200,validation=100,test=150"
SMALL = ["--layers", "16,8", "--steps", "40"]


def succeeds(capsys, *arguments):
    """Run a command, and return what it prints."""
    assert main([str(argument) for argument in arguments]) == 0
    return capsys.readouterr().out


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    directory = tmp_path_factory.mktemp("run")
    assert main(["train", MOONS, *SMALL, "-o", str(directory)]) == 0
    return directory


def test_train_shows_the_hardened_validation_accuracy_first(run, tmp_path, capsys):
    command = ["train", MOONS, *SMALL, "-o", tmp_path]
    document = json.loads(succeeds(capsys, *command, "--json"))
    netlist = trilut.load(tmp_path / "net.trilut")
    expected = evaluate_split(netlist, load_dataset(MOONS).validation).accuracy
    assert next(iter(document.items())) == ("validation", expected)
    table = succeeds(capsys, *command, "--restart")
    first = next(line for line in table.splitlines() if "accuracy" in line)
    assert first.split("│")[1].strip() == "validation accuracy"
    assert f"{100 * expected:.2f} % (hardened" in first
    report = json.loads(succeeds(capsys, "report", tmp_path, "--json"))
    assert report["accuracy"] == document


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Train on a file in one directory, and go to another one."""
    home = tmp_path / "home"
    home.mkdir()
    rows = [
        f"{number % 10},{number},{'high' if number % 10 > 4 else 'low'}" for number in range(60)
    ]
    (home / "table.csv").write_text("\n".join(["x,noise,kind", *rows, ""]))
    monkeypatch.chdir(home)
    assert main(["train", "table.csv", "--label", "kind", *SMALL, "-o", "run"]) == 0
    monkeypatch.chdir(tmp_path)
    return home


def test_file_that_was_trained_on_is_found_from_another_directory(own, tmp_path, capsys):
    document = json.loads(succeeds(capsys, "report", own / "run", "--json"))
    assert document["accuracy"]["soft"] == document["accuracy"]["hardened"]
    assert document["provenance"]["data"] == {
        "name": "table.csv:label=kind",
        "seed": 0,
        "absolute_name": f"{own}/table.csv:label=kind",
    }
    measured = json.loads(succeeds(capsys, "eval", own / "run/net.trilut", "--json"))
    assert measured == document["accuracy"]["evaluation"]
    named = ["--data", own / "table.csv", "--json"]
    assert json.loads(succeeds(capsys, "eval", own / "run/net.trilut", *named)) == measured
    # One of the same name that happens to be here is another file.
    (tmp_path / "table.csv").write_text("")
    again = json.loads(succeeds(capsys, "report", own / "run", "--json"))
    assert again["accuracy"] == document["accuracy"]


def test_report_without_the_file_that_was_trained_on_has_no_accuracy(own, capsys):
    (own / "table.csv").rename(own / "moved.csv")
    assert main(["report", str(own / "run"), "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["accuracy"] is None
    assert " ".join(captured.err.split()) == (
        "No samples, so no accuracy: Cannot read 'table.csv': No such file or directory"
    )


@pytest.mark.parametrize("seed", ["-1", "4294967296", "1.5"])
@pytest.mark.parametrize(
    "command", [["train", "moons", "-o", "run"], ["eval", "net.trilut"], ["data", "info", "moons"]]
)
def test_seed_out_of_range(capsys, command, seed):
    with pytest.raises(SystemExit) as caught:
        main([*command, f"--seed={seed}"])
    assert caught.value.code == 2
    expected = f"argument --seed: {seed!r} is not a number from 0 to 2147483647\n"
    assert capsys.readouterr().err.endswith(expected)


def test_seed_of_a_netlist_out_of_range(run, tmp_path, capsys):
    netlist = trilut.load(run / "net.trilut")
    data = {"name": "moons", "seed": -5}
    trilut.save(dataclasses.replace(netlist, provenance={"data": data}), tmp_path / "net.trilut")
    assert fails(capsys, "eval", tmp_path / "net.trilut") == (
        "Seed of the data set 'moons' is -5, expected 0…4294967295"
    )


def in_a_process(*arguments, stdout):
    """Run a command with its output to a file, and return its status and what it says."""
    command = [sys.executable, "-m", "trilut", *map(str, arguments)]
    finished = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True)
    return finished.returncode, finished.stderr


@pytest.mark.parametrize("options", [[], ["--json"]])
@pytest.mark.parametrize("command", ["list", "info"])
def test_reader_who_has_gone_is_no_error(run, command, options):
    arguments = ["data", "list"] if command == "list" else ["info", run / "net.trilut"]
    reader, writer = os.pipe()
    os.close(reader)
    assert in_a_process(*arguments, *options, stdout=writer) == (0, "")
    os.close(writer)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is not there")
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_output_that_cannot_be_written(options):
    with open("/dev/full", "w") as full:
        assert in_a_process("data", "list", *options, stdout=full) == (
            1,
            "trilut: error: Cannot write the output: No space left on device\n",
        )


def test_any_setting_on_the_command_line(tmp_path, capsys):
    command = ["train", MOONS, *SMALL, "-o", tmp_path]
    succeeds(capsys, *command, "--set", "tau=7", "--set", "loss=squared-error")
    netlist = trilut.load(tmp_path / "net.trilut")
    assert netlist.head.tau == 7
    assert netlist.provenance["training"]["loss"] == "squared-error"
    assert fails(capsys, *command, "--set", "steps=3") == (
        "Setting 'steps' is given twice, expected it once"
    )
    with pytest.raises(SystemExit):
        main([*map(str, command), "--set", "tau"])
    assert capsys.readouterr().err.endswith("argument --set: 'tau' is not KEY=VALUE\n")


def test_abstention_margin_on_the_command_line(run, tmp_path, capsys):
    command = ["train", MOONS, *SMALL, "-o", tmp_path, "--abstain-margin", 3, "--json"]
    trained = json.loads(succeeds(capsys, *command))["evaluation"]
    netlist = trilut.load(tmp_path / "net.trilut")
    assert netlist.head.abstain_margin == 3
    plain = run / "net.trilut"
    measured = json.loads(succeeds(capsys, "eval", plain, "--abstain-margin", 3, "--json"))
    assert measured == {**trained, "abstain_margin": 3}
    assert (
        measured["abstained"] > json.loads(succeeds(capsys, "eval", plain, "--json"))["abstained"]
    )
    assert "abstention margin" in succeeds(capsys, "eval", plain, "--abstain-margin", 3)


def test_abstention_margin_for_a_coverage(run, capsys):
    path = run / "net.trilut"
    chosen = json.loads(succeeds(capsys, "eval", path, "--coverage", 0.7, "--json"))
    shares = []
    for margin in (chosen["abstain_margin"], chosen["abstain_margin"] + 1):
        measure = ["eval", path, "--part", "validation", "--abstain-margin", margin, "--json"]
        shares.append(1 - json.loads(succeeds(capsys, *measure))["abstained"])
    assert shares[0] >= 0.7 > shares[1]
    with pytest.raises(SystemExit):
        main(["eval", str(path), "--coverage", "2"])
    error = capsys.readouterr().err
    assert error.endswith("argument --coverage: '2' is not a share 0…1 like 0.9\n")
