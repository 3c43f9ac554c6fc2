import dataclasses
import json

import numpy as np
import pytest
from circuits import random_netlist

import trilut
from trilut import Encoder, Feature, sim
from trilut.cli import main
from trilut.sim import FaultModel, NetFault


def moons_netlist(seed=0):
    net = random_netlist(seed, num_inputs=6, num_gates=30, num_outputs=8, num_classes=2)
    features = (
        Feature("x", 8, scale=40, offset=100),
        Feature("y", 8, scale=40, offset=100),
    )
    low = np.array([60, 100, 150] * 2)
    encoder = Encoder(features, [0, 0, 0, 1, 1, 1], low, low + 20)
    return dataclasses.replace(net, encoder=encoder)


@pytest.fixture
def net(tmp_path):
    path = tmp_path / "net.trilut"
    trilut.save(moons_netlist(), path)
    return str(path)


def fails(capsys, *arguments):
    assert main(list(arguments)) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


def test_trace_of_values(capsys, net):
    number = str(moons_netlist().outputs[2])
    assert main(["trace", net, "--values=nan,1.5", "--output=2"]) == 0
    by_output = capsys.readouterr().out
    assert by_output.startswith(f"net {number} = ")
    assert main(["trace", net, "--values=nan,1.5", f"--number={number}"]) == 0
    assert capsys.readouterr().out == by_output
    assert by_output == sim.trace(moons_netlist(), [np.nan, 1.5], int(number)).text() + "\n"


def test_trace_of_an_unknown_output(capsys, net):
    assert main(["trace", net, "--values=nan,nan", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    values = moons_netlist().values(np.zeros((1, 6)))[0, moons_netlist().outputs]
    assert document["net"] == moons_netlist().outputs[np.flatnonzero(values == 0)[0]]
    assert document["value"] == 0


def test_trace_of_a_test_sample(capsys, tmp_path):
    path = tmp_path / "net.trilut"
    named = trilut.data.load_dataset("moons").feature_names
    net = moons_netlist()
    features = tuple(
        dataclasses.replace(feature, name=name)
        for feature, name in zip(net.encoder.features, named, strict=True)
    )
    encoder = dataclasses.replace(net.encoder, features=features)
    head = dataclasses.replace(net.head, classes=trilut.data.load_dataset("moons").class_names)
    trilut.save(dataclasses.replace(net, encoder=encoder, head=head), path)
    assert main(["trace", str(path), "--data=moons", "--sample=3", "--output=0"]) == 0
    assert capsys.readouterr().out.startswith(f"net {net.outputs[0]} = ")
    wave = tmp_path / "net.vcd"
    assert main(["wave", str(path), "-o", str(wave), "--data=moons", "--nets=0,6"]) == 0
    assert "$var wire 2" in wave.read_text()
    capsys.readouterr()
    assert main(["faults", str(path), "--data=moons", "--samples=50", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["num_faults"] == 2 * net.num_nets
    assert len(document["worst"]) == 10
    assert main(["faults", str(path), "--data=moons", "--samples=50"]) == 0
    assert "seen at an output" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--output=8"], "Output 8 does not exist; netlist 'net' has 8"),
        (["--number=36"], "Net 36 does not exist; netlist 'net' has 36 nets"),
    ],
)
def test_trace_of_nothing(capsys, net, options, message):
    error = fails(capsys, "trace", net, "--values=1,2", *options)
    assert error == f"trilut: error: {message}\n"


def test_trace_of_no_sample():
    with pytest.raises(trilut.DataError, match=r"^Sample 1 does not exist; there are 1 samples$"):
        sim.trace_output(moons_netlist(), [[1.0, 2.0]], 1)


def test_values_that_are_no_numbers(capsys, net):
    with pytest.raises(SystemExit) as caught:
        main(["trace", net, "--values=a"])
    assert caught.value.code == 2
    assert "'a' is not a list of numbers like 0.5,nan,3" in capsys.readouterr().err


def test_fault_survey():
    net = moons_netlist()
    samples = np.random.default_rng(0).normal(size=(40, 2))
    survey = sim.fault_survey(net, samples, ["stuck_true", "NEGATED"], num_worst=3)
    faults = sim.all_faults(net, [FaultModel.STUCK_TRUE, FaultModel.NEGATED])
    effects = sim.fault_effects(net, samples, faults)
    assert survey.num_faults == len(faults)
    assert survey.observed == np.mean([effect.observed > 0 for effect in effects])
    assert survey.changed == np.mean([effect.changed > 0 for effect in effects])
    assert [effect.changed for effect in survey.worst] == sorted(
        (effect.changed for effect in effects), reverse=True
    )[:3]


def test_fault_survey_without_classes():
    net = dataclasses.replace(moons_netlist(), head=None)
    survey = sim.fault_survey(net, [[0.0, 1.0]], num_worst=1)
    assert survey.changed is None
    number, model = survey.worst[0].fault.net, survey.worst[0].fault.model.name.lower()
    assert (
        survey.rows()[f"net {number} {model}"] == "changes the outputs of 100.00 % of the samples"
    )


def test_unknown_fault_model():
    with pytest.raises(
        trilut.NetlistError,
        match=r"^Fault model 'open' is not one of 'stuck_false', 'stuck_unknown', 'stuck_true', "
        r"'flip_plus', 'flip_minus', 'negated'$",
    ):
        sim.fault_survey(moons_netlist(), [[0.0, 1.0]], ["open"])


def test_compare(capsys, tmp_path, net):
    assert main(["compare", net, net]) == 0
    assert "equal" in capsys.readouterr().out
    other = tmp_path / "other.trilut"
    number = int(moons_netlist().outputs[0])
    trilut.save(sim.inject(moons_netlist(), [NetFault(number, FaultModel.NEGATED)]), other)
    assert main(["compare", net, str(other)]) == 1
    text = capsys.readouterr().out
    assert "DIFFERENT" in text
    assert "output 0" in text
    assert main(["compare", net, str(other), "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["counterexample"]["outputs"][0] == 0
    assert document["exhaustive"]


def test_rows_of_a_random_comparison():
    assert sim.Comparison(None, 12, False).rows() == {
        "verdict": "no difference found",
        "inputs tried": "12",
    }
    found = sim.Counterexample((3, None), (1,), (-1,), (0,))
    assert sim.Comparison(found, 5, True).rows() == {
        "verdict": "DIFFERENT",
        "inputs tried": "5",
        "inputs": "3, missing",
        "output 1": "-1 and 0",
    }
