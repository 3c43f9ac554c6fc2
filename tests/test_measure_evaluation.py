import dataclasses
import json

import numpy as np
import pytest
from circuits import random_netlist

from trilut import Encoder, Feature, Head, Netlist
from trilut.data import Dataset, Split, load_dataset
from trilut.errors import DataError, NetlistError
from trilut.measure.evaluation import (
    evaluate_split,
    margin_for_coverage,
    missing_curve,
    missing_curves,
    untrained,
    with_abstain_margin,
)
from trilut.measure.matching import default_part, samples_for, table_samples
from trilut.measure.metrics import accuracy
from trilut.report.summary import against_rows, evaluation_rows, missing_rows, plain


def wire(valence=3, missing=0):
    """Return a circuit of one feature: its trit votes for 'high', its negation for 'low'."""
    encoder = Encoder((Feature("x", 4),), [0], [8], [8], missing=missing)
    table = [[1, 0, -1]] * 3 if valence == 3 else [[1, -1]] * 2
    return Netlist.of_gates(
        1,
        np.array(table).T.reshape(1, -1),
        [0],
        [0],
        [1, 0],
        valence=valence,
        encoder=encoder,
        head=Head(("low", "high"), (1, 1)),
    )


def split(*values, y):
    return Split(np.array(values, dtype=float)[:, None], np.array(y))


def dataset(features=("x",), classes=("low", "high"), name="d"):
    parts = [
        Split(np.arange(4.0 * len(features)).reshape(4, -1) + 100 * part, np.arange(4) % 2)
        for part in range(3)
    ]
    return Dataset(name, features, classes, *parts)


def test_evaluation_of_a_wire():
    evaluation = evaluate_split(wire(), split(1, 2, 9, 10, np.nan, y=[0, 1, 1, 1, 0]))
    assert evaluation.samples == 5
    assert evaluation.accuracy == pytest.approx(4 / 5)
    assert evaluation.abstained == pytest.approx(1 / 5)
    assert evaluation.accuracy_answered == pytest.approx(3 / 4)
    assert evaluation.unknown == pytest.approx(1 / 5)
    assert evaluation.class_accuracy == {"low": 1.0, "high": pytest.approx(2 / 3)}
    assert evaluation.confusion == [[2, 0], [1, 2]]
    # The sample without its feature is right by luck, with a margin of 0.
    assert evaluation.margin == {"right": 1.5, "wrong": 2.0, "ranking": pytest.approx(3 / 8)}
    assert evaluation.coverage_curve["margin"] == [2, 0]
    assert evaluation.coverage_curve["coverage"] == pytest.approx([0.8, 1])
    assert evaluation.coverage_curve["accuracy"] == pytest.approx([0.75, 0.8])


def test_evaluation_survives_json():
    evaluation = evaluate_split(wire(), split(1, 2, y=[0, 0]))
    assert evaluation.class_accuracy["high"] is None
    document = json.loads(json.dumps(plain(evaluation)))
    again = dataclasses.replace(evaluation, **document)
    assert plain(again) == plain(evaluation)
    rows = evaluation_rows(again)
    assert rows["class accuracy"] == "low 100.00 %"
    assert rows["mean margin"] == "right 2.0"
    assert "most confused" not in rows


def test_rows_name_the_worst_classes_and_the_most_frequent_mistakes():
    rows = evaluation_rows(evaluate_split(wire(), split(1, 2, 9, 10, y=[0, 1, 1, 0])))
    assert rows["class accuracy"] == "low 50.00 %, high 50.00 %"
    assert rows["most confused"] == "low as high 1×, high as low 1×"
    assert rows["mean margin"] == "right 2.0, wrong 2.0; right above wrong 50.00 %"


def test_circuit_without_head_cannot_be_evaluated():
    netlist = random_netlist(0, num_inputs=2, num_gates=3, num_outputs=2)
    message = r"^Netlist 'net' has no encoder or no head, so it cannot classify samples$"
    samples = split(1, y=[0])
    for measure in (
        lambda: evaluate_split(netlist, samples),
        lambda: missing_curve(netlist, samples),
        lambda: missing_curves(wire(), netlist, samples),
        lambda: samples_for(netlist, dataset()),
        lambda: table_samples(netlist, "none.csv"),
    ):
        with pytest.raises(NetlistError, match=message):
            measure()


def test_missing_features_are_unknown_to_a_ternary_circuit_and_false_to_a_binary_one():
    samples = split(*[12] * 1000, y=[1] * 1000)
    ternary = missing_curve(wire(), samples, dropped=(0.0, 0.3, 1.0))
    assert [point.accuracy for point in ternary] == pytest.approx([1, 0.7, 0], abs=0.05)
    assert [point.abstained for point in ternary] == pytest.approx([0, 0.3, 1], abs=0.05)
    assert [point.accuracy_answered for point in ternary] == [1, 1, None]
    binary = missing_curve(wire(valence=2, missing=-1), samples, dropped=(0.0, 0.3, 1.0))
    assert [point.accuracy for point in binary] == [point.accuracy for point in ternary]
    assert [point.abstained for point in binary] == [0, 0, 0]
    assert missing_rows(ternary[1:]) == {
        "30 % missing": f"{100 * ternary[1].accuracy:.2f} %, abstains on "
        f"{100 * ternary[1].abstained:.2f} %, 100.00 % of the others right; "
        f"{100 * ternary[1].accuracy:.2f} % certain",
        "100 % missing": "0.00 %, abstains on 100.00 %; 0.00 % certain",
    }


def test_missing_curve_depends_on_its_seed_alone_and_starts_at_the_accuracy():
    netlist = random_netlist(
        3, num_inputs=6, num_gates=30, num_outputs=8, num_classes=2, with_encoder=True
    )
    generator = np.random.default_rng(0)
    # More samples than are done at a time, as bytes.
    x = generator.integers(0, 8, (3000, 3), dtype=np.uint8)
    samples = Split(x, generator.integers(0, 2, 3000))
    first, again, other = (
        missing_curve(netlist, samples, dropped=(0.0, 0.5), seed=seed) for seed in (0, 0, 1)
    )
    assert first == again
    assert first[0] == other[0]
    assert first[1] != other[1]
    assert first[0].accuracy == evaluate_split(netlist, samples).accuracy


def test_two_circuits_miss_the_same_features():
    samples = split(*range(16), y=[int(value >= 8) for value in range(16)])
    ternary, binary = wire(), wire(valence=2, missing=-1)
    dropped = (0.0, 0.5)
    points, others = missing_curves(ternary, binary, samples, dropped=dropped, seed=3)
    assert points == missing_curve(ternary, samples, dropped=dropped, seed=3)
    # Ties go to the first class, so UNKNOWN and FALSE are 'low' alike.
    assert [point.accuracy for point in points] == [other.accuracy for other in others]
    assert others[1].abstained == 0 < points[1].abstained
    worse = [dataclasses.replace(other, accuracy=0.5) for other in others]
    assert against_rows(points, worse) == {
        "0 % missing": "100.00 % against 50.00 % (+50.00 pp)",
        "50 % missing": f"{100 * points[1].accuracy:.2f} % against 50.00 % "
        f"({100 * points[1].accuracy - 50:+.2f} pp)",
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"encoder": Encoder((Feature("y", 4),), [0], [8], [8])},
            "Feature 0 of netlist 'net' is 'x' and of netlist 'other' 'y', "
            "expected the same in both",
        ),
        (
            {"encoder": Encoder((Feature("x", 4), Feature("y", 4)), [0], [8], [8])},
            "Feature 1 of netlist 'net' is None and of netlist 'other' 'y', "
            "expected the same in both",
        ),
        (
            {"head": Head(("high", "low"), (1, 1))},
            "Class 0 of netlist 'net' is 'low' and of netlist 'other' 'high', "
            "expected the same in both",
        ),
    ],
)
def test_circuits_that_cannot_miss_the_same_features(change, message):
    other = dataclasses.replace(wire(), name="other", **change)
    with pytest.raises(NetlistError) as caught:
        missing_curves(wire(), other, split(1, y=[0]))
    assert str(caught.value) == message


def test_lost_values_that_somebody_fills_in_are_not_missing():
    samples = split(*[12] * 100, y=[1] * 100)
    for value, expected in ((12.0, 1), (1.0, 0)):
        (point,) = missing_curve(wire(), samples, dropped=(1.0,), fill=np.array([value]))
        assert (point.accuracy, point.abstained) == (expected, 0)


@pytest.mark.parametrize("share", [-0.1, 1.5, float("nan")])
def test_share_of_dropped_features_out_of_range(share):
    with pytest.raises(ValueError, match=rf"^Share of dropped features must be 0…1, not {share}$"):
        missing_curve(wire(), split(1, y=[0]), dropped=(share,))


@pytest.mark.parametrize("valence", [2, 3])
def test_untrained_control_keeps_all_but_the_gates(valence):
    netlist = random_netlist(
        0,
        num_inputs=6,
        num_gates=400,
        num_outputs=8,
        num_classes=2,
        with_encoder=True,
        valence=valence,
    )
    control, same, other = (untrained(netlist, seed=seed) for seed in (7, 7, 8))
    np.testing.assert_array_equal(control.a, netlist.a)
    np.testing.assert_array_equal(control.outputs, netlist.outputs)
    assert control.encoder is netlist.encoder
    assert control.name == "net (untrained)"
    assert control.provenance == {"untrained": {"seed": 7}}
    np.testing.assert_array_equal(control.table, same.table)
    assert not np.array_equal(control.table, other.table)
    counts = np.unique(control.table, return_counts=True)[1] / control.table.size
    np.testing.assert_allclose(counts, 1 / valence, atol=0.05)


def test_untrained_control_knows_nothing():
    gaussians = load_dataset("gaussians")
    encoder = Encoder(
        (Feature("x", 8, scale=32, offset=128), Feature("y", 8, scale=32, offset=128)),
        [0, 0, 1, 1],
        [64, 128, 64, 128],
        [128, 192, 128, 192],
    )
    rng = np.random.default_rng(0)
    netlist = Netlist.of_gates(
        4,
        np.zeros((200, 9)),
        rng.integers(0, 4, 200),
        rng.integers(0, 4, 200),
        np.arange(4, 204),
        encoder=encoder,
        head=Head(("low", "high"), (100, 100)),
    )
    controls = [untrained(netlist, seed=seed) for seed in range(20)]
    trits = encoder.encode(gaussians.test.x)
    found = [accuracy(each.classify(trits), gaussians.test.y) for each in controls]
    assert np.mean(found) == pytest.approx(0.5, abs=0.15)


def test_samples_are_matched_by_the_names_of_features_and_classes():
    found = samples_for(wire(), dataset(("w", "x"), ("low", "high", "more")))
    np.testing.assert_array_equal(found.x[:, 0], [201, 203, 205, 207])


def test_classes_are_matched_by_name():
    swapped = samples_for(wire(), dataset(classes=("high", "low")))
    assert swapped.y.tolist() == [1, 0, 1, 0]


def test_parts_of_a_dataset():
    values = {
        part: samples_for(wire(), dataset(), part=part).x[:, 0].tolist()
        for part in ("train", "validation", "test", "all")
    }
    assert values["validation"] == [100, 101, 102, 103]
    assert values["all"] == values["train"] + values["validation"] + values["test"]


def test_feature_that_the_dataset_lacks():
    with pytest.raises(
        DataError,
        match=r"^Data set 'd' has no feature 'x', which netlist 'net' reads; it has 'v', 'w'$",
    ):
        samples_for(wire(), dataset(("v", "w")))


def test_class_that_the_netlist_does_not_know():
    with pytest.raises(
        DataError,
        match=r"^Data set 'd' has the class 'middle', but netlist 'net' knows only 'low', 'high'$",
    ):
        samples_for(wire(), dataset(classes=("low", "middle")))


def test_all_of_a_file_is_measured_unless_the_circuit_was_trained_on_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("")
    trained = dataclasses.replace(wire(), provenance={"data": {"name": "a.csv:label=y"}})
    assert default_part(trained, "moons") == "test"
    assert default_part(trained, None) == "test"
    assert default_part(trained, f"{tmp_path}/a.csv") == "test"
    assert default_part(trained, "b.csv:label=z") == "all"
    assert default_part(wire(), "b.csv") == "all"


def test_table_of_few_samples_with_other_columns(tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("note,kind,x\nfirst,high,9\nsecond,high,\n")
    samples = table_samples(wire(), f"{path}:label=kind")
    np.testing.assert_array_equal(samples.x, [[9], [np.nan]])
    assert samples.y.tolist() == [1, 1]
    trained = dataclasses.replace(wire(), provenance={"data": {"name": "old.csv:label=kind"}})
    np.testing.assert_array_equal(table_samples(trained, str(path)).y, [1, 1])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "w,kind\n1,low",
            "{path!r} has no column 'x', expected one of 'w', 'kind'",
        ),
        (
            "x,kind\n1,middle",
            "Data set {path!r} has the class 'middle', but netlist 'net' knows only 'low', 'high'",
        ),
        (
            "kind,x\nlow,1",
            "Data set {path!r} has the class '1', but netlist 'net' knows only 'low', 'high'",
        ),
    ],
)
def test_table_that_does_not_fit(tmp_path, text, message):
    path = tmp_path / "new.csv"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        table_samples(wire(), str(path))
    assert str(caught.value) == message.format(path=str(path))


def numbered(*classes):
    return dataclasses.replace(wire(), head=Head(classes, (1, 1)))


def test_classes_are_matched_by_their_text_and_then_as_numbers(tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("x,y\n9,2.0\n1,1.0\n9,2\n")
    for classes, expected in (
        (("1.0", "2.0"), [1, 0, 1]),
        (("1", "2"), [1, 0, 1]),
        (("2", "1e0"), [0, 1, 0]),
    ):
        assert table_samples(numbered(*classes), str(path)).y.tolist() == expected
        found = samples_for(numbered(*classes), dataset(classes=("1.0", "2.0")))
        assert found.y.tolist() == [expected[1], expected[0]] * 2
    path.write_text("x,y\n9,2.0\n1,2\n")
    assert table_samples(numbered("2", "2.0"), str(path)).y.tolist() == [1, 0]


def test_text_is_not_matched_as_a_number(tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("x,y\n9,nothing\n")
    with pytest.raises(DataError) as caught:
        table_samples(numbered("some", "1"), str(path))
    assert str(caught.value) == (
        f"Data set {str(path)!r} has the class 'nothing', but netlist 'net' knows only 'some', '1'"
    )


def test_named_data_set_is_no_file_though_a_directory_has_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "moons").mkdir()
    assert default_part(wire(), "moons") == "test"


def test_circuit_abstains_below_another_margin():
    samples = split(1, 2, 9, 10, np.nan, y=[0, 1, 1, 1, 0])
    # All margins of the wire are 2, and 0 without its feature.
    for margin, abstained, answered in ((2, 0.2, 0.75), (3, 1.0, None)):
        evaluation = evaluate_split(with_abstain_margin(wire(), margin), samples)
        assert evaluation.accuracy == pytest.approx(0.8)
        assert evaluation.abstained == pytest.approx(abstained)
        assert evaluation.accuracy_answered == answered
    rows = evaluation_rows(evaluate_split(wire(), samples))
    assert rows["abstained samples"] == "20.00 %, 75.00 % of the others right"


def test_margin_that_leaves_a_share_of_the_samples():
    samples = split(1, 2, 9, 10, np.nan, y=[0, 1, 1, 1, 0])
    margins = [margin_for_coverage(wire(), samples, share) for share in (0, 0.8, 0.81, 1)]
    assert margins == [2, 2, 1, 1]
    with pytest.raises(ValueError, match=r"^Coverage must be 0…1, not 1\.5$"):
        margin_for_coverage(wire(), samples, 1.5)
