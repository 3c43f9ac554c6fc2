import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas
import polars
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import trilut
from trilut import TrilutClassifier
from trilut.app.budget import Budget
from trilut.app.tune import Trial, train_trial
from trilut.errors import DataError, FormatError
from trilut.sim import classify

QUICK = {"layers": (24,), "steps": 100, "batch": 64, "learning_rate": 0.1, "spacing": "quantile"}


def iris_frame():
    iris = load_iris(as_frame=True)
    return iris.data, iris.target_names[iris.target]


@pytest.fixture(scope="module")
def parts():
    return train_test_split(*iris_frame(), test_size=0.3, random_state=0)


@pytest.fixture(scope="module")
def fitted(parts):
    x, _, y, _ = parts
    return TrilutClassifier(**QUICK, abstain_margin=3).fit(x, y)


def test_frame_and_texts(fitted, parts):
    _, x, _, y = parts
    assert fitted.score(x, y) > 0.8
    assert 0.8 < fitted.validation_score_ <= 1
    assert list(fitted.classes_) == ["setosa", "versicolor", "virginica"]
    assert list(fitted.feature_names_in_) == list(x.columns)
    features = [feature.name for feature in fitted.netlist_.encoder.features]
    assert features == list(x.columns)
    assert fitted.netlist_.head.classes == ("setosa", "versicolor", "virginica")


def test_answers_are_those_of_the_circuit(fitted, parts):
    _, x, _, _ = parts
    decisions = classify(fitted.netlist_, x.to_numpy())
    np.testing.assert_array_equal(fitted.predict(x), fitted.classes_[decisions.chosen])
    logits = decisions.scores / fitted.netlist_.head.tau
    np.testing.assert_array_equal(fitted.decision_function(x), logits)
    powers = np.exp(logits)
    expected = powers / powers.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(fitted.predict_proba(x), expected)


def test_columns_are_found_by_name(fitted, parts):
    _, x, _, _ = parts
    expected = fitted.predict(x)
    other = x[x.columns[::-1]].assign(more="?")
    np.testing.assert_array_equal(fitted.predict(other), expected)
    np.testing.assert_array_equal(fitted.predict(polars.DataFrame(dict(other.items()))), expected)
    numbers = fitted.netlist_.predict(other)
    np.testing.assert_array_equal(fitted.classes_[numbers], expected)
    np.testing.assert_array_equal(
        fitted.netlist_.scores(other), classify(fitted.netlist_, x.to_numpy()).scores
    )


def test_column_that_is_not_there(fitted, parts):
    x = parts[1].drop(columns="petal width (cm)")
    message = "^'frame' has no column 'petal width (cm)', expected one of"
    with pytest.raises(ValueError, match=message.replace("(", r"\(").replace(")", r"\)")):
        fitted.predict(x)
    with pytest.raises(DataError, match=message.replace("(", r"\(").replace(")", r"\)")):
        fitted.netlist_.predict(x)


def test_simulator_takes_no_frame(fitted, parts):
    message = r"^X is a data frame, expected an array; Netlist\.predict takes either$"
    for take in (fitted.netlist_.encoder.encode, lambda x: classify(fitted.netlist_, x)):
        with pytest.raises(DataError, match=message):
            take(parts[1])


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([1.0, 2.0, 3.0, 4.0], r"Samples have shape (4,), expected (samples, 4) for the features "),
        ([[1.0, 2.0]], r"Samples have shape (1, 2), expected (samples, 4) for the features "),
        ([["a", "b", "c", "d"]], "X has 'a' in the feature 'feature_0', expected numbers"),
        ([[1.0], [2.0, 3.0]], "X has rows of different lengths, expected a table of numbers"),
    ],
)
def test_samples_that_a_netlist_does_not_take(fitted, x, message):
    names = ", ".join(repr(feature.name) for feature in fitted.netlist_.encoder.features)
    whole = message + names if message.endswith(" ") else message
    with pytest.raises(DataError, match=f"^{re.escape(whole)}$"):
        fitted.netlist_.predict(x)


def test_abstains_with_a_marker(fitted, parts):
    x = parts[1].copy()
    x.iloc[:10] = np.nan
    decisions = fitted.decide(x)
    assert decisions.unknown[:10].all()
    assert not decisions.unknown.all()
    marked = clone(fitted).set_params(abstain="I do not know")
    marked.__dict__.update({k: v for k, v in vars(fitted).items() if k.endswith("_")})
    expected = np.where(decisions.unknown, "I do not know", fitted.predict(x))
    np.testing.assert_array_equal(marked.predict(x), expected)


@pytest.mark.parametrize(
    ("classes", "marker", "dtype"),
    [
        ([0, 1, 2], -1, "i"),
        ([0, 1, 2], np.nan, "f"),
        ([0, 1, 2], "?", "O"),
        ([False, True, True], -1, "O"),
        (["a", "b", "c"], "a longer text", "U"),
    ],
)
def test_markers_of_every_type(fitted, parts, classes, marker, dtype):
    other = TrilutClassifier(abstain=marker)
    other.__dict__.update({k: v for k, v in vars(fitted).items() if k.endswith("_")})
    other.classes_ = np.array(classes)
    x = parts[1].copy()
    x.iloc[0] = np.nan
    answers = other.predict(x)
    assert answers.dtype.kind == dtype
    assert answers[0] == marker or np.isnan(answers[0])
    assert answers[-1] in classes
    assert type(answers[-1].item() if dtype != "O" else answers[-1]) is not np.str_


def test_saved_and_loaded(fitted, parts, tmp_path):
    path = str(tmp_path / "iris.trilut")
    fitted.save(path)
    loaded = TrilutClassifier.load(path)
    x = parts[1]
    np.testing.assert_array_equal(loaded.predict(x), fitted.predict(x))
    np.testing.assert_array_equal(loaded.predict_proba(x), fitted.predict_proba(x))
    assert loaded.validation_score_ == fitted.validation_score_
    assert list(loaded.feature_names_in_) == list(fitted.feature_names_in_)
    assert loaded.n_features_in_ == fitted.n_features_in_
    assert tuple(loaded.layers) == fitted.layers
    assert loaded.steps == fitted.steps
    # It is a netlist like any other.
    np.testing.assert_array_equal(trilut.load(path).predict(x), fitted.netlist_.predict(x))


def test_labels_and_class_weights_are_kept(fitted, tmp_path):
    other = TrilutClassifier(class_weight={1: 2.0, 5: 1.0, 9: 1}, abstain=-1)
    other.__dict__.update({k: v for k, v in vars(fitted).items() if k.endswith("_")})
    other.classes_ = np.array([1, 5, 9])
    other.save(tmp_path / "net.trilut")
    loaded = TrilutClassifier.load(tmp_path / "net.trilut")
    assert loaded.classes_.tolist() == [1, 5, 9]
    assert loaded.class_weight == {1: 2.0, 5: 1.0, 9: 1}
    assert loaded.get_params() == other.get_params()


def test_netlist_is_no_estimator(fitted, tmp_path):
    fitted.netlist_.save(str(tmp_path / "net.trilut"))
    message = (
        r"^'.*' is a netlist that TrilutClassifier\.save did not write; trilut\.load reads it$"
    )
    with pytest.raises(FormatError, match=message):
        TrilutClassifier.load(tmp_path / "net.trilut")


def test_labels_that_are_not_the_circuits(fitted, tmp_path):
    other = TrilutClassifier()
    other.__dict__.update({k: v for k, v in vars(fitted).items() if k.endswith("_")})
    other.classes_ = np.array([1, 5])
    other.save(tmp_path / "net.trilut")
    message = r"^'.*' has 2 labels, expected 3 as the head has classes$"
    with pytest.raises(FormatError, match=message):
        TrilutClassifier.load(tmp_path / "net.trilut")


def test_parameter_that_no_file_holds(fitted, tmp_path):
    other = TrilutClassifier(abstain=object)
    other.__dict__.update({k: v for k, v in vars(fitted).items() if k.endswith("_")})
    message = r"^'abstain' is <class 'object'>, which a file cannot hold$"
    with pytest.raises(TypeError, match=message):
        other.save(tmp_path / "net.trilut")


def test_pickled(fitted, parts):
    again = pickle.loads(pickle.dumps(fitted))  # noqa: S301  # written by this test
    np.testing.assert_array_equal(again.predict(parts[1]), fitted.predict(parts[1]))


def test_categories_and_weights():
    generator = np.random.default_rng(0)
    colour = generator.choice(["red", "green", "blue"], 200)
    frame = pandas.DataFrame({"colour": colour, "size": generator.normal(size=200)})
    y = colour == "green"
    clf = TrilutClassifier(**QUICK, class_weight="balanced")
    clf.fit(frame, y, sample_weight=np.linspace(0, 1, 200))
    assert clf.score(frame, y) > 0.95
    assert clf.classes_.tolist() == [False, True]
    assert clf.netlist_.encoder.categories == {"colour": ("blue", "green", "red")}
    message = (
        r"^X has no column names, but the circuit was trained on columns with categories; "
        r"expected a data frame$"
    )
    with (
        pytest.warns(UserWarning, match="does not have valid feature names"),
        pytest.raises(ValueError, match=message),
    ):
        clf.predict(np.zeros((1, 2)))


def test_pipeline_search_and_cross_validation():
    x, y = load_iris(return_X_y=True)
    x, y = x[::2], y[::2]
    pipeline = make_pipeline(StandardScaler(), TrilutClassifier(**QUICK))
    assert cross_val_score(pipeline, x, y, cv=2).mean() > 0.7
    search = GridSearchCV(
        pipeline, {"trilutclassifier__delta": [0.0, 0.5]}, cv=2, error_score="raise"
    ).fit(x, y)
    assert search.best_score_ > 0.7
    assert search.best_estimator_[-1].netlist_.provenance["training"]["delta"] in (0.0, 0.5)


def test_effort_and_budget_are_those_of_the_command(monkeypatch):
    x, y = load_iris(return_X_y=True)
    tried = []

    def search(dataset, output, variants, stage, *, abstain_margin, jobs):
        tried.extend(variants)
        trial = train_trial(dataset, abstain_margin, Trial(Path(output), variants[0]))
        return trial

    def layers(dataset, settings, budget, *, effort):
        assert (budget, effort) == (Budget(300, "ecp5"), "best")
        return (12, 12)

    monkeypatch.setattr("trilut.app.classifier.search_settings", search)
    monkeypatch.setattr("trilut.app.classifier.choose_layers", layers)
    clf = TrilutClassifier(effort="best", budget="300lut4", steps=40).fit(x, y)
    assert len(tried) > 1
    assert {each["layers"] for each in tried} == {(12, 12)}
    assert clf.netlist_.provenance["budget"]["luts"] == 300
    assert clf.score(x, y) > 0.5


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"budget": "small"}, "Budget 'small' is no number of LUTs like 1000lut4 or 2000lut6"),
        ({"budget": 500}, "Budget 500 is no number of LUTs like 1000lut4 or 2000lut6"),
        ({"effort": "fast"}, "Effort is 'fast', expected one of quick, normal, best"),
        (
            {"effort": "fast", "budget": "300lut4"},
            "Effort is 'fast', expected one of quick, normal, best",
        ),
        (
            {"layers": 64},
            "Setting 'layers' is 64, expected the gates of each layer, as in (64, 32)",
        ),
    ],
)
def test_parameters_that_cannot_be_used(parameters, message):
    x, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        TrilutClassifier(**parameters).fit(x, y)


def test_settings_of_the_training_by_name():
    x, y = load_iris(return_X_y=True)
    clf = TrilutClassifier(**QUICK, settings={"evaluate_every": 50, "schedule": "constant"})
    training = clf.fit(x, y).netlist_.provenance["training"]
    assert training["evaluate_every"] == 50
    assert training["schedule"] == "constant"
    with pytest.raises(
        ValueError, match=r"^There is no setting 'stepz', expected one of .*'steps'\?$"
    ):
        TrilutClassifier(settings={"stepz": 1}).fit(x, y)


@pytest.mark.parametrize("method", ["predict", "save", "to_verilog", "verify", "synthesize"])
def test_not_fitted_yet(method, tmp_path):
    arguments = () if method in ("verify", "synthesize") else (tmp_path,)
    with pytest.raises(NotFittedError, match=r"^This TrilutClassifier instance is not fitted yet"):
        getattr(TrilutClassifier(), method)(*arguments)


def test_verilog_of_the_circuit(fitted, tmp_path):
    design = fitted.to_verilog(str(tmp_path / "rtl"))
    path = str(tmp_path / "rtl" / "trilut_top.v")
    assert repr(design) == f"<Design 'trilut_top' in {path!r}, {design.interface.latency} cycles>"
    assert design.path == tmp_path / "rtl" / "trilut_top.v"
    assert design.path.exists()


@pytest.mark.slow
@pytest.mark.synth
def test_circuit_is_verified_and_synthesised(fitted, tmp_path):
    assert fitted.verify(num_random=50, scratch=str(tmp_path)).passed
    report = fitted.synthesize("ecp5", directory=str(tmp_path / "synth"))
    assert report.section["fmax_mhz"] > 0
    assert (tmp_path / "synth" / "synthesis.json").exists()
    assert fitted.synthesize("ice40").section["figures"]["area"] > 0


def test_facade_is_complete_and_lazy():
    code = (
        "import sys, trilut\n"
        "assert set(trilut.__all__) <= set(dir(trilut)), dir(trilut)\n"
        "assert not {'sklearn', 'jax', 'pandas'} & set(sys.modules)\n"
        "trilut.TrilutClassifier\n"
        "assert 'sklearn' in sys.modules and 'jax' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
