import json

import pytest

import trilut
from trilut.cli import main
from trilut.data import load_dataset
from trilut.evaluation import evaluate_split

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
    table = succeeds(capsys, *command)
    first = next(line for line in table.splitlines() if "accuracy" in line)
    assert first.split("│")[1].strip() == "validation accuracy"
    assert f"{100 * expected:.2f} % (hardened" in first
    report = json.loads(succeeds(capsys, "report", tmp_path, "--json"))
    assert report["accuracy"] == document
