import re
from datetime import date

import numpy as np
import pandas
import polars
import pyarrow
import pytest

from trilut import Netlist
from trilut.circuit.format import dumps, loads
from trilut.data import Dataset
from trilut.data.frames import frame_table
from trilut.errors import DataError, FormatError
from trilut.measure.matching import table_features
from trilut.training import TrainingConfig, fit_encoder, train

LIBRARIES = {"pandas": pandas.DataFrame, "polars": polars.DataFrame, "pyarrow": pyarrow.table}


def columns(rows=120):
    """Return columns as people have them; colour and mass tell the classes apart."""
    generator = np.random.default_rng(0)
    colour = generator.choice(["red", "green", "blue"], rows).tolist()
    colour[3] = None
    mass = np.round(generator.normal(size=rows), 3).tolist()
    mass[5] = None
    return {
        "Id": list(range(1000, 1000 + rows)),
        "kind": ["yes" if each == "red" else "no" for each in colour],
        "colour": colour,
        "mass": mass,
        "wet": (generator.random(rows) < 0.5).tolist(),
        "day": [date(2024, 1, 1 + row % 28) for row in range(rows)],
        "unit": ["kg"] * rows,
        "nothing": [None] * rows,
        "comment": [f"remark {row}" for row in range(rows)],
    }


@pytest.mark.parametrize("library", LIBRARIES)
def test_columns_of_every_kind(library):
    given = columns()
    dataset = Dataset.from_frame(LIBRARIES[library](given), "kind")
    assert dataset.feature_names == (
        "colour=blue",
        "colour=green",
        "colour=red",
        "mass",
        "wet=True",
    )
    assert dataset.categories == {
        "colour": ("blue", "green", "red"),
        "wet": ("False", "True"),
    }
    assert dataset.class_names == ("no", "yes")
    assert dataset.notes == (
        "left out of 'frame': 'Id' (numbers the rows), 'day' (dates), 'unit' (constant), "
        "'nothing' (empty), 'comment' (as good as all different)",
    )
    table = frame_table(LIBRARIES[library](given))
    parts = [dataset.train, dataset.validation, dataset.test]
    x = np.concatenate([part.x for part in parts])
    expected = np.array(
        [
            [
                *(
                    np.nan if colour is None else colour == each
                    for each in ("blue", "green", "red")
                ),
                np.nan if mass is None else mass,
                wet,
            ]
            for colour, mass, wet in zip(given["colour"], given["mass"], given["wet"], strict=True)
        ],
        dtype=np.float64,
    )
    assert len(table) == 120
    np.testing.assert_array_equal(x[np.lexsort(x.T)], expected[np.lexsort(expected.T)])


def test_columns_whose_names_are_numbers():
    frame = pandas.DataFrame([[1.5, 0], [2.5, 1]], columns=[7, 3])
    assert list(frame_table(frame).columns) == ["7", "3"]
    frame.columns = ["1", 1]
    message = r"^'frame' has two columns 1, expected different names$"
    with pytest.raises(DataError, match=message):
        frame_table(frame)


def test_labels_beside_the_frame():
    frame = pandas.DataFrame({"x": np.arange(20) / 7, "y": np.arange(20) % 3 / 2})
    labels = np.arange(20) % 2
    dataset = Dataset.from_frame(frame, labels, seed=3)
    assert dataset.feature_names == ("x", "y")
    assert dataset.class_names == ("0", "1")
    x = np.concatenate([dataset.train.x, dataset.validation.x, dataset.test.x])
    y = np.concatenate([dataset.train.y, dataset.validation.y, dataset.test.y])
    np.testing.assert_array_equal(y, np.rint(x[:, 0] * 7) % 2)
    with pytest.raises(DataError, match=r"^X has 20 samples but y has 19 labels$"):
        Dataset.from_frame(frame, labels[:-1])


def test_columns_are_chosen_dropped_and_taken_as_categories():
    frame = pandas.DataFrame(columns())
    dataset = Dataset.from_frame(frame, "kind", drop=["colour", "wet"])
    assert dataset.feature_names == ("mass",)
    dataset = Dataset.from_frame(frame, "kind", features=["Id", "wet"])
    assert dataset.feature_names == ("Id", "wet=True")
    assert dataset.notes == ()
    frame = pandas.DataFrame({"code": np.arange(60) % 3 * 1.5, "kind": np.arange(60) % 2})
    dataset = Dataset.from_frame(frame, "kind", categories=["code"])
    assert dataset.categories == {"code": ("0", "1.5", "3")}
    np.testing.assert_array_equal(dataset.train.x.sum(axis=1), 1)


def test_rare_categories_are_unknown():
    city = [f"c{row % 40:02}" for row in range(400)]
    city += ["c00"] * 100 + ["rare"]
    frame = pandas.DataFrame({"city": city, "kind": np.arange(501) % 2})
    dataset = Dataset.from_frame(frame, "kind")
    assert len(dataset.categories["city"]) == 32
    assert "rare" not in dataset.categories["city"]
    number = re.fullmatch(r"'city': the 32 most frequent of (\d+) categories", dataset.notes[0])
    assert int(number[1]) in (40, 41)
    unknown = np.isnan(dataset.train.x)
    assert unknown.any()
    np.testing.assert_array_equal(unknown.any(axis=1), unknown.all(axis=1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"label": "sort"},
            "'frame' has no column 'sort', expected one of 'a', 'kind'",
        ),
        (
            {"label": "kind", "drop": ["b"]},
            "'frame' has no column 'b', expected one of 'a', 'kind'",
        ),
        (
            {"label": "kind", "features": ["kind"]},
            "The column 'kind' of 'frame' is the label, not a feature",
        ),
        ({"label": "kind", "drop": ["a"]}, "'frame' has no column to learn from"),
    ],
)
def test_wrong_columns(options, message):
    frame = pandas.DataFrame({"a": np.arange(30) / 7, "kind": np.arange(30) % 2})
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        Dataset.from_frame(frame, **options)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ([[1, 2]], "The data are of type list, expected a data frame"),
        (
            pandas.DataFrame({"a": [1.0, np.inf] * 5, "kind": [0, 1] * 5}),
            "Row 1 of 'frame' has inf in the column 'a', "
            "expected a finite number, or nothing if it is missing",
        ),
        (
            pandas.DataFrame({"a": [1, 2], "kind": ["x", None]}),
            "Row 1 of 'frame' has nothing in the column 'kind', expected the class of the sample",
        ),
        (
            polars.DataFrame({"a": [[1], [2]], "kind": ["x", "y"]}),
            "The column 'a' of 'frame' has the type List(Int64), expected numbers or texts",
        ),
        (
            pandas.DataFrame({"a": [{}, {}], "kind": ["x", "y"]}),
            "The column 'a' of 'frame' holds a value of type dict, expected numbers or texts",
        ),
    ],
)
def test_frame_that_cannot_be_used(frame, message):
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        Dataset.from_frame(frame, "kind")


def test_dates_that_are_asked_for():
    frame = pandas.DataFrame(columns(30))
    frame["day"] = pandas.to_datetime(frame["day"])
    message = "The column 'day' of 'frame' holds dates, expected numbers; leave it out"
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        Dataset.from_arrays(frame, frame["kind"], feature_names=("mass", "day"))


def test_two_features_of_one_name():
    frame = pandas.DataFrame(
        {"a": ["x", "y", "z"] * 10, "a=x": np.arange(30) / 7, "kind": np.arange(30) % 2}
    )
    with pytest.raises(DataError, match=r"^'frame' has two features 'a=x', expected one$"):
        Dataset.from_frame(frame, "kind")


def test_circuit_knows_its_categories():
    frame = pandas.DataFrame(columns(240))
    dataset = Dataset.from_frame(frame, "kind")
    config = TrainingConfig.of(layers=(16, 16), steps=50, batch=32)
    netlist = loads(dumps(train(dataset, config).netlist))
    assert netlist.encoder.categories == dataset.categories
    assert [feature.bits for feature in netlist.encoder.features] == [1, 1, 1, 8, 1]
    x = table_features(netlist, frame_table(frame.iloc[:, ::-1]))
    assert np.isnan(x[3, :3]).all()
    np.testing.assert_array_equal(
        x[4],
        [*(frame.colour[4] == c for c in ("blue", "green", "red")), frame.mass[4], frame.wet[4]],
    )
    # A category that was never seen is UNKNOWN in every trit of its column.
    unseen = frame.head(1).assign(colour="mauve")
    trits = netlist.encoder.encode(table_features(netlist, frame_table(unseen)))
    of_colour = netlist.encoder.feature < 3
    assert (trits[:, of_colour] == 0).all()
    assert (trits[:, ~of_colour] != 0).any()
    with pytest.raises(DataError, match=r"^'frame' has no column 'colour', expected one of 'wet'$"):
        table_features(netlist, frame_table(frame[["wet"]]))


def test_one_trit_per_category():
    x = np.array([[0.0, 1], [1, 0], [np.nan, np.nan], [0, 0]])
    categories = {"c": ("a", "b", "z")}
    encoder = fit_encoder(x, ("c=a", "c=b"), categories=categories)
    assert encoder.low.tolist() == encoder.high.tolist() == [1, 1]
    np.testing.assert_array_equal(encoder.encode(x), [[-1, 1], [1, -1], [0, 0], [-1, -1]])


@pytest.mark.parametrize(
    ("categories", "message"),
    [
        ("[]", "'encoder.categories' is [], expected an object"),
        ('{"a": 1}', "'encoder.categories.a' is 1, expected an array"),
        ('{"a": [1]}', "'encoder.categories.a[0]' is 1, expected a string"),
    ],
)
def test_categories_of_another_type(categories, message):
    x = np.array([[0.0], [1]])
    encoder = fit_encoder(x, ("c=a",), categories={"c": ("a", "b")})
    text = dumps(Netlist.of_gates(1, [[0] * 9], [0], [0], [0], encoder=encoder))
    assert loads(text).encoder.categories == {"c": ("a", "b")}
    with pytest.raises(FormatError, match=f"^{re.escape(message)}$"):
        loads(text.replace('{"c": ["a", "b"]}', categories))
