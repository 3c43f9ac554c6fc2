import dataclasses
import re
from types import SimpleNamespace

import numpy as np
import pytest

from trilut.app.budget import (
    Budget,
    budget_text,
    choose_layers,
    fill_budget,
    parse_budget,
    part_budget,
    with_budget,
)
from trilut.cli import main
from trilut.data import load_dataset
from trilut.errors import TrilutError
from trilut.hdl.estimate import estimate
from trilut.synth.result import Cells
from trilut.training import TrainingConfig, train

TINY = {"steps": 200, "evaluate_every": 200, "layers": (16, 16)}


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("1000lut4", Budget(1000, "ecp5")),
        ("2000LUT6", Budget(2000, "xc7")),
        (" 7 lut4", Budget(7, "ecp5")),
    ],
)
def test_budget_is_a_number_of_tables(text, budget):
    assert parse_budget(text) == budget


@pytest.mark.parametrize("text", ["1000", "lut4", "0lut4", "-3lut4", "1000lut5", "1e3lut4"])
def test_text_that_is_no_budget(text):
    with pytest.raises(
        TrilutError,
        match=f"^Budget {re.escape(repr(text))} is no number of LUTs like 1000lut4 or 2000lut6$",
    ):
        parse_budget(text)


@pytest.mark.parametrize(
    ("target", "budget"),
    [
        ("ice40-up5k", Budget(4488, "ice40")),
        ("ecp5", Budget(20644, "ecp5")),
    ],
)
def test_budget_of_a_part_leaves_it_routable(target, budget):
    assert part_budget(target) == budget


def test_part_that_cannot_be_estimated():
    with pytest.raises(
        TrilutError,
        match=r"^There is no estimate for the target 'asic', so no size can be chosen for it; "
        r"give a --budget$",
    ):
        part_budget("asic")


@pytest.mark.parametrize(
    "budget", [Budget(300, "ecp5"), pytest.param(Budget(150, "xc7"), marks=pytest.mark.slow)]
)
def test_layers_fill_a_budget(budget):
    dataset = load_dataset("moons")
    config = TrainingConfig.for_dataset(dataset, **TINY)
    first = choose_layers(dataset, TINY, budget)
    layers, trained = fill_budget(
        budget, dataset, first, lambda layers: train(dataset, config.with_layers(layers))
    )
    cost = estimate(trained.netlist, budget.part).lut
    assert 0.85 * budget.luts <= cost <= budget.luts
    assert np.all(np.array(layers) % dataset.num_classes == 0)


def sized(costs, monkeypatch):
    """Let a netlist of n gates have a cost, and training give a netlist of the layers asked for."""
    guess = SimpleNamespace(lut=0)
    blocks = dict.fromkeys(("argmax", "control"), guess)
    monkeypatch.setattr(
        "trilut.hdl.estimate.estimate",
        lambda netlist, part: SimpleNamespace(lut=costs(netlist.width), blocks=blocks),
    )
    return lambda layers: SimpleNamespace(
        netlist=SimpleNamespace(width=layers[0], num_gates=sum(layers))
    )


@pytest.mark.parametrize(
    ("costs", "expected"),
    [
        # Close below the budget at once.
        (lambda width: 95, [40]),
        # Too large by half, then as wanted.
        (lambda width: 15 * width // 4, [40, 24]),
        # All of them are too large: the smallest.
        (lambda width: 200 + width, [40, 14, 6]),
    ],
)
def test_training_again_for_a_budget(costs, expected, monkeypatch):
    train_size, tried = sized(costs, monkeypatch), []
    layers, trained = fill_budget(
        Budget(100, "ecp5"),
        load_dataset("moons"),
        (40, 40),
        lambda layers: tried.append(layers[0]) or train_size(layers),
    )
    assert tried == expected
    assert layers == (expected[-1],) * 2
    assert trained.netlist.width == expected[-1]


@pytest.mark.parametrize(
    ("luts", "expected"),
    [
        # Ten gates are all that is of use: there is room for them, or for some of them.
        (400, [40]),
        (100, [40, 8]),
    ],
)
def test_boosted_gates_leave_what_they_have_no_use_for(luts, expected, monkeypatch):
    train_size, tried = sized(lambda width: 11 * min(width, 10), monkeypatch), []

    def train_boosted(layers):
        tried.append(layers[0])
        trained = train_size(layers)
        trained.netlist.num_gates = min(10, layers[0])
        return trained

    dataset = load_dataset("moons")
    layers, _ = fill_budget(Budget(luts, "ecp5"), dataset, (40,), train_boosted)
    assert tried == expected
    assert layers == (expected[-1],)


def test_samples_limit_what_fills_a_part(monkeypatch):
    dataset = dataclasses.replace(load_dataset("moons"), name="table.csv")
    train_size = sized(lambda width: width, monkeypatch)
    layers, _ = fill_budget(Budget(100_000, "ecp5"), dataset, (40, 40), train_size)
    # Sixteen samples for each gate of a layer.
    assert layers == (2 * (len(dataset.train) // 32),) * 2


def test_budget_too_small_for_boosted_gates(monkeypatch):
    train_size = sized(lambda width: 200, monkeypatch)
    with pytest.raises(
        TrilutError,
        match=r"^A budget of 5 LUT4 is too small for 2 classes: one output for each takes about "
        r"200$",
    ):
        fill_budget(Budget(5, "ecp5"), load_dataset("moons"), (4,), train_size)


def test_budget_too_small_for_the_classes():
    with pytest.raises(
        TrilutError,
        match=r"^A budget of 5 LUT4 is too small for 2 classes: one output for each takes about "
        r"\d+$",
    ):
        choose_layers(load_dataset("moons"), TINY, Budget(5, "ecp5"))


def test_closeness_to_a_budget():
    dataset = load_dataset("moons")
    netlist = train(dataset, TrainingConfig.for_dataset(dataset, **TINY)).netlist
    assert budget_text(netlist) is None
    netlist = with_budget(netlist, Budget(1000, "ecp5"))
    lut = estimate(netlist, "ecp5").lut
    text = f"budget 1000 LUT4: {lut} ({lut / 10:.1f} %) by the estimate"
    assert budget_text(netlist) == text
    result = SimpleNamespace(cells=Cells(lut4=100, lut4_equivalents=123))
    mapped = SimpleNamespace(result=result)
    assert budget_text(netlist, mapped) == f"{text}, 123 (12.3 %) by synthesis"
    for wrong in (3, {}, {"luts": 0, "estimate": 1, "part": "ecp5"}, {"luts": 2, "part": []}):
        damaged = dataclasses.replace(netlist, provenance={"budget": wrong})
        assert budget_text(damaged) is None


def test_budget_and_layers(tmp_path, capsys):
    command = ["train", "moons", "--budget", "100lut4", "--layers", "4", "-o", str(tmp_path)]
    assert main(command) == 1
    assert capsys.readouterr().err.splitlines()[-1] == (
        "trilut: error: A budget chooses the number of gates; leave out --layers"
    )


@pytest.mark.slow
def test_training_within_a_budget(tmp_path, capsys):
    command = ["train", "moons", "--budget", "300lut4", "--steps", "200", "-o", str(tmp_path)]
    assert main(command) == 0
    assert re.search(
        r"^budget 300 LUT4: \d+ \(\d+\.\d %\) by the estimate$", capsys.readouterr().err, re.M
    )
