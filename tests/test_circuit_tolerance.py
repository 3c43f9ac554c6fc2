import itertools
from dataclasses import replace

import numpy as np
import pytest
from circuits import monotone_netlist, random_netlist, voting_netlist

import trilut
from trilut.circuit.optimize import optimize
from trilut.circuit.reach import reachable_rows
from trilut.circuit.tolerance import Tolerance, with_tolerance
from trilut.cli import main
from trilut.data import Split
from trilut.errors import NetlistError
from trilut.measure.tolerance import tolerance_curve
from trilut.sim import classify, predict


def circuit():
    features = tuple(
        trilut.Feature(f"f{index}", bits=8, signed=True, scale=(-1) ** index * 1.7, offset=0.3)
        for index in range(6)
    )
    return voting_netlist(features, np.tile([-30, 0, 30], (6, 1)), 3)


@pytest.mark.parametrize("seen", [None, (-60, 70), (-2, 2)])
@pytest.mark.parametrize("tolerance", [Tolerance(0.9), Tolerance(0.05, is_share=True)])
def test_no_error_within_the_tolerance_changes_what_is_certain(tolerance, seen):
    net = circuit()
    # Of one feature or two, not all values count.
    features = [replace(each, seen=seen) for each in net.encoder.features[:2]]
    features += net.encoder.features[2:]
    net = replace(net, encoder=replace(net.encoder, features=tuple(features)))
    rng = np.random.default_rng(0)
    x = rng.uniform(-40, 40, (3000, 6))
    x[rng.random(x.shape) < 0.05] = np.nan
    decisions = classify(with_tolerance(net, tolerance), x, certain=True)
    assert 0 < decisions.certain.sum() < len(x)
    reach = [tolerance.steps(f) / abs(f.scale) - 1e-9 for f in features]
    if not tolerance.is_share:
        assert min(reach) > tolerance.amount
    for _ in range(30):
        share = rng.choice([-1, 1, rng.random()], x.shape)
        # What is missing can be anything.
        true = np.where(np.isnan(x), rng.uniform(-40, 40, x.shape), x + share * reach)
        answers = predict(net, true)
        assert np.array_equal(answers[decisions.certain], decisions.chosen[decisions.certain])


def test_a_row_that_wider_bands_bring_claims_nothing():
    # Behind equal thresholds, an UNKNOWN first trit with a FALSE second one never occurs, so the
    # gate may be anything there. With tolerance it occurs, and what contradicts it does not.
    feature = trilut.Feature("f", bits=3)
    table = np.array([[1, 0, 0], [1, 0, 0], [-1, 0, -1]]).reshape(1, 9)
    net = trilut.Netlist.of_gates(
        2,
        np.concatenate([table, -table]),
        [0, 0],
        [1, 1],
        [2, 3],
        encoder=trilut.Encoder((feature,), [0, 0], [3, 4], [3, 4]),
        head=trilut.Head(("first", "second"), (1, 1)),
    )
    assert predict(net, [[2.0], [3.0]]).tolist() == [0, 1]
    tolerant = with_tolerance(net, Tolerance(1))
    assert classify(tolerant, [[0.0], [2.0], [3.0], [6.0]], certain=True).certain.tolist() == [
        *(True, False, False, True)
    ]
    assert np.array_equal(predict(with_tolerance(net, Tolerance(0)), X), predict(net, X))


X = np.arange(8.0)[:, None]


@pytest.mark.parametrize("seed", range(8))
def test_no_gate_that_does_as_it_likes_where_it_may_is_believed(seed):
    net = monotone_netlist(
        seed, num_inputs=5, num_gates=10, num_outputs=5, num_classes=2, with_encoder=True
    )
    rng = np.random.default_rng(seed)
    anything = rng.choice([-1, 0, 1], net.table.shape)
    net = replace(net, table=np.where(reachable_rows(net), net.table, anything))
    ranges = [range(each.minimum, each.maximum + 1) for each in net.encoder.features]
    # The integers of every feature, and None where it is missing.
    vectors = list(itertools.product(*([None, *each] for each in ranges)))
    place = {vector: number for number, vector in enumerate(vectors)}
    x = np.array([[np.nan if value is None else value for value in each] for each in vectors])
    answers = predict(net, x)
    for made in (net, optimize(net).netlist):
        for error in (0, 1, 2):
            decisions = classify(with_tolerance(made, Tolerance(error)), x, certain=True)
            for number in np.flatnonzero(decisions.certain):
                near = (
                    each
                    if value is None
                    else set(each) & {*range(value - error, value + error + 1)}
                    for value, each in zip(vectors[number], ranges, strict=True)
                )
                true = [place[vector] for vector in itertools.product(*near)]
                assert np.all(answers[true] == decisions.chosen[number])


def test_without_tolerance_nothing_changes():
    net = circuit()
    same = with_tolerance(net, Tolerance(0))
    assert np.array_equal(same.encoder.low, net.encoder.low)
    assert np.array_equal(same.encoder.high, net.encoder.high)


def test_steps_are_whole():
    feature = trilut.Feature("f", bits=8, scale=-10.0)
    assert Tolerance(0.1).steps(feature) == 1
    assert Tolerance(0.11).steps(feature) == 2
    assert Tolerance(0.01, is_share=True).steps(feature) == 3
    assert [str(Tolerance(0.5)), str(Tolerance(0.02, is_share=True))] == ["0.5", "2 %"]


def test_what_cannot_be_tolerant_is_refused():
    with pytest.raises(NetlistError, match=r"^Tolerance is -1, expected a number from 0 up$"):
        Tolerance(-1)
    net = circuit()
    message = "^Netlist 'net' has no encoder, so it has no thresholds$"
    with pytest.raises(NetlistError, match=message):
        with_tolerance(replace(net, encoder=None), Tolerance(1))
    free = random_netlist(0, num_inputs=4, num_gates=9, num_outputs=4, with_encoder=True)
    message = (
        r"^Netlist 'net' has \d gates of 9 that are not information-monotone, gate \d first, "
        "so nothing in it can be certain$"
    )
    with pytest.raises(NetlistError, match=message):
        with_tolerance(free, Tolerance(1))


def test_the_larger_the_tolerance_the_less_is_certain(tmp_path, capsys):
    net = circuit()
    rng = np.random.default_rng(0)
    x = rng.uniform(-40, 40, (500, 6))
    split = Split(x, predict(net, x))
    points = tolerance_curve(net, split, [Tolerance(e) for e in (0, 1, 2, 10)])
    certain = [point.certain for point in points]
    assert certain == sorted(certain, reverse=True)
    assert certain[0] > certain[-1]
    # The labels are its own answers, so what is certain is right.
    assert [point.certified for point in points] == certain
    path, table = tmp_path / "net.trilut", tmp_path / "table.csv"
    trilut.save(net, path)
    names = [feature.name for feature in net.encoder.features]
    rows = [
        ",".join([*map(repr, row.tolist()), net.head.classes[label]])
        for row, label in zip(x, split.y, strict=True)
    ]
    table.write_text("\n".join([",".join([*names, "label"]), *rows]) + "\n")
    command = ["eval", str(path), "--data", str(table), "--tolerance"]
    assert main([*command, "1,5%"]) == 0
    shown = capsys.readouterr().out
    assert f"{100 * certain[1]:.2f} % certain, certified accuracy" in shown
    assert "tolerance 5 %" in shown
    with pytest.raises(SystemExit):
        main([*command, "many"])
    assert "'many' is not a tolerance, expected a number from 0 up, or with % a share" in (
        capsys.readouterr().err
    )
