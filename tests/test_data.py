import subprocess
import sys

import numpy as np
import pytest

from trilut.data import Dataset, Split, dataset_facts, dataset_names, load_dataset
from trilut.data.builtin import BUILTIN
from trilut.data.synthetic import SYNTHETIC
from trilut.errors import DataError, ToolError

# These are always here.
READY = (*SYNTHETIC, *BUILTIN)


def splits(dataset):
    return [dataset.train, dataset.validation, dataset.test]


def split(x=((0.0,), (1.0,)), y=(0, 1)):
    return Split(np.array(x), np.array(y))


def test_names():
    assert dataset_names() == (
        "breast_cancer",
        "cifar10",
        "circles",
        "digits",
        "fashion_mnist",
        "gaussians",
        "iris",
        "jsc",
        "mnist",
        "moons",
        "ring_sector",
        "spirals",
        "unsw_nb15",
        "wine",
    )


@pytest.mark.parametrize("name", READY)
def test_every_dataset_is_reproducible_and_depends_on_the_seed(name):
    first, second, other = (load_dataset(name, seed=seed) for seed in (3, 3, 4))
    assert first.name == name
    assert first.seed == 3
    for one, two in zip(splits(first), splits(second), strict=True):
        np.testing.assert_array_equal(one.x, two.x)
        np.testing.assert_array_equal(one.y, two.y)
    assert not np.array_equal(first.train.x, other.train.x)


@pytest.mark.parametrize("name", READY)
def test_every_split_has_every_class_in_like_shares(name):
    dataset = load_dataset(name)
    shares = [
        np.bincount(part.y, minlength=dataset.num_classes) / len(part) for part in splits(dataset)
    ]
    np.testing.assert_allclose(shares[0], shares[1], atol=0.08)
    np.testing.assert_allclose(shares[0], shares[2], atol=0.08)


@pytest.mark.parametrize("name", ["circles", "gaussians", "moons", "ring_sector", "spirals"])
def test_made_datasets_have_2000_500_and_2000_samples(name):
    dataset = load_dataset(name)
    assert [len(part) for part in splits(dataset)] == [2000, 500, 2000]
    assert dataset.feature_names == ("x", "y")
    assert dataset.num_classes == 2


@pytest.mark.parametrize(("name", "samples"), [("digits", 1797), ("iris", 150), ("wine", 178)])
def test_measured_datasets_lose_and_repeat_no_sample(name, samples):
    parts = splits(load_dataset(name))
    assert sum(len(part) for part in parts) == samples
    sklearn_x = getattr(sys.modules["sklearn.datasets"], f"load_{name}")().data
    rows = np.concatenate([part.x for part in parts])
    np.testing.assert_array_equal(np.sort(rows, axis=0), np.sort(sklearn_x, axis=0))


def test_arrays_are_frozen():
    with pytest.raises(ValueError, match=r"^assignment destination is read-only$"):
        load_dataset("gaussians").train.x[0, 0] = 1.0


def test_bytes_stay_bytes_and_frozen_arrays_are_shared():
    x = np.arange(6, dtype=np.uint8).reshape(3, 2)
    assert Split(x, np.zeros(3)).x.dtype == np.uint8
    assert not np.shares_memory(Split(x, np.zeros(3)).x, x)
    x.flags.writeable = False
    assert np.shares_memory(Split(x, np.zeros(3)).x, x)


def test_facts():
    missing = Split(np.array([[1.0, np.nan], [3.0, -2.0]]), np.array([0, 1]))
    whole = split(x=((0, 1), (2, 3), (4, 5)), y=(1, 1, 0))
    facts = dataset_facts(Dataset("d", ("f", "g"), ("a", "b"), missing, whole, whole, 7))
    assert facts == {
        "name": "d",
        "seed": 7,
        "features": ["f", "g"],
        "classes": ["a", "b"],
        "samples": {"train": 2, "validation": 3, "test": 3},
        "largest_class": pytest.approx(2 / 3),
        "type": "float64",
        "range": [-2.0, 3.0],
        "missing": 0.25,
        "bayes_rate": None,
        "notes": [],
    }


def test_unknown_name_with_a_hint():
    with pytest.raises(
        DataError,
        match=r"^Data set 'Mons' does not exist, expected one of breast_cancer, cifar10, "
        r"circles, digits, fashion_mnist, gaussians, iris, jsc, mnist, moons, ring_sector, "
        r"spirals, unsw_nb15, wine, or the path of a file; did you mean 'moons'\?$",
    ):
        load_dataset("Mons")


def test_unknown_name_without_a_hint():
    with pytest.raises(
        DataError,
        match=r"^Data set 'xyz' does not exist, expected one of breast_cancer, cifar10, "
        r"circles, digits, fashion_mnist, gaussians, iris, jsc, mnist, moons, ring_sector, "
        r"spirals, unsw_nb15, wine, or the path of a file$",
    ):
        load_dataset("xyz")


def test_missing_scikit_learn(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(
        ToolError,
        match=r"^Cannot find the Python package scikit-learn; install trilut\[data\]$",
    ):
        load_dataset("moons")
    load_dataset("spirals")


def test_split_shapes_do_not_fit():
    with pytest.raises(
        DataError,
        match=r"^Samples have shape \(2, 1\) and labels \(3,\), expected \(samples, features\) and "
        r"\(samples,\)$",
    ):
        split(y=(0, 1, 1))


def test_only_the_test_samples_may_be_elsewhere():
    none = split(np.zeros((0, 1)), np.zeros(0))
    dataset = Dataset("d", ("f",), ("a", "b"), split(), split(), none)
    assert dataset_facts(dataset)["largest_class"] is None
    with pytest.raises(DataError, match=r"^Data set 'd' has no samples in its split 'train'$"):
        Dataset("d", ("f",), ("a", "b"), none, split(), split())
    with pytest.raises(DataError, match=r"^Data set 'd' has no samples in its split 'validation'$"):
        Dataset("d", ("f",), ("a", "b"), split(), none, split())


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ((1.0,), r"Weights have shape \(1,\), expected \(2,\) as the labels"),
        ((1.0, 0.0), r"Sample 1 has the weight 0\.0, expected a positive number"),
        ((np.nan, 1.0), r"Sample 0 has the weight nan, expected a positive number"),
    ],
)
def test_wrong_weights(weights, message):
    with pytest.raises(DataError, match=f"^{message}$"):
        Split(((0.0,), (1.0,)), (0, 1), weights)


def test_split_with_an_infinite_value():
    with pytest.raises(
        DataError,
        match=r"^Sample 1 feature 0 is -inf, expected a finite number, or NaN if it is missing$",
    ):
        split(x=((np.nan,), (-np.inf,)))


def test_dataset_with_one_class():
    with pytest.raises(DataError, match=r"^Data set 'd' has 1 classes, expected at least 2$"):
        Dataset("d", ("f",), ("only",), split(), split(), split())


def test_dataset_with_other_features_in_a_split():
    with pytest.raises(
        DataError,
        match=r"^Data set 'd' has 2 features in its split 'validation', expected 1$",
    ):
        Dataset("d", ("f",), ("a", "b"), split(), split(x=((0, 1), (2, 3))), split())


def test_dataset_with_a_label_that_is_no_class():
    with pytest.raises(
        DataError,
        match=r"^Data set 'd' has the label 2 in sample 1 of its split 'test', expected 0…1$",
    ):
        Dataset("d", ("f",), ("a", "b"), split(), split(), split(y=(0, 2)))


def test_core_does_not_import_jax_or_scikit_learn():
    code = (
        "import sys, trilut, trilut.data, trilut.measure.metrics; "
        "sys.exit(bool({'jax', 'sklearn'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("seed", [-1, 2**32])
@pytest.mark.parametrize("name", ["moons", "iris"])
def test_seed_out_of_range(name, seed):
    message = rf"^Seed of the data set '{name}' is {seed}, expected 0…4294967295$"
    with pytest.raises(DataError, match=message):
        load_dataset(name, seed=seed)
