import numpy as np
import pandas
import pytest

from trilut.data import Dataset
from trilut.errors import DataError

X = np.arange(40.0).reshape(20, 2)
Y = np.repeat([3, 7], 10)


def rows(split):
    return {tuple(row) for row in split.x.tolist()}


def test_arrays_are_split_class_by_class():
    dataset = Dataset.from_arrays(X, Y, seed=1)
    assert dataset.class_names == ("3", "7")
    assert dataset.feature_names == ("feature_0", "feature_1")
    splits = (dataset.train, dataset.validation, dataset.test)
    assert [np.bincount(split.y).tolist() for split in splits] == [[6, 6], [2, 2], [2, 2]]
    assert set.union(*map(rows, splits)) == set(map(tuple, X.tolist()))
    for split in splits:
        assert all(Y[int(x[0]) // 2] == (3, 7)[y] for x, y in zip(split.x, split.y, strict=True))


def test_nothing_need_be_held_back():
    dataset = Dataset.from_arrays(X, Y, validation=0, test=0)
    np.testing.assert_array_equal(dataset.validation.x, dataset.train.x)
    assert len(dataset.train) == 20
    assert len(dataset.test) == 0


def test_same_seed_same_split():
    first, second, other = (Dataset.from_arrays(X, Y, seed=seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(first.train.x, second.train.x)
    assert not np.array_equal(first.train.x, other.train.x)


def test_weights_follow_their_samples():
    dataset = Dataset.from_arrays(X, Y, weights=np.arange(20.0), validation=0.25, test=0)
    for split in (dataset.train, dataset.validation):
        np.testing.assert_array_equal(split.weights, split.x[:, 0] / 2)
    # The first counts nothing.
    assert len(dataset.train) + len(dataset.validation) == 19


def test_class_that_counts_nothing_stays_a_class():
    y = np.repeat(["a", "b", "c", "d"], 5)
    dataset = Dataset.from_arrays(X, y, weights=np.where(y == "b", 0.0, 1.0))
    assert dataset.class_names == ("a", "b", "c", "d")
    assert np.bincount(dataset.train.y).tolist() == [3, 0, 3, 3]


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        ([0.0, 1.0], ("0", "1")),
        ([0.5, 1.0], ("0.5", "1")),
        ([False, True], ("False", "True")),
        (["no", "yes"], ("no", "yes")),
    ],
)
def test_classes_have_names(labels, names):
    y = np.repeat(labels, 10)
    assert Dataset.from_arrays(X, y).class_names == names
    assert Dataset.from_arrays(X, y[:, None].astype(object)).class_names == names


def test_frame_is_taken_by_its_columns():
    frame = pandas.DataFrame({"a": [1, None] * 10, "b": ["x", "y"] * 10})
    dataset = Dataset.from_arrays(frame, Y, weights=np.arange(20.0), validation=0, test=0)
    assert dataset.feature_names == ("a", "b=y")
    assert len(dataset.train) == 19
    assert np.isnan(dataset.train.x[:, 0]).sum() == 10
    assert set(dataset.train.weights) == set(range(1, 20))


def test_bytes_stay_bytes():
    assert Dataset.from_arrays(X.astype(np.uint8), Y).train.x.dtype == np.uint8


class Sparse:
    """What a sparse matrix has."""

    def toarray(self):
        return X


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (X[:, 0], Y, "X has shape (20,), expected (samples, features); X.reshape(-1, 1) has one "
         "feature, X.reshape(1, -1) one sample"),
        (X.reshape(5, 2, 4), Y, "X has shape (5, 2, 4), expected (samples, features)"),
        (X[:0], Y[:0], "X has shape (0, 2), expected at least one sample and one feature"),
        (Sparse(), Y, "X is a sparse matrix, expected a dense array such as X.toarray()"),
        ([["red", 1]] * 20, Y, "X has 'red' in the feature 'feature_0', expected numbers"),
        (pandas.DataFrame({"a": [1, 2]}), [0, 1, 1], "X has 2 samples but y has 3 labels"),
        (np.full((20, 1), 1j), Y, "X has 1j in the feature 'feature_0', expected numbers"),
        (X, Y[:-1], "X has 20 samples but y has 19 labels"),
        (X, np.stack([Y, Y], axis=1), "y has shape (20, 2), expected one label for each sample"),
        (X, np.where(Y == 3, np.nan, 1.0), "y has nan for sample 0, expected its class"),
        (X, ["a"] * 19 + [None], "y has None for sample 19, expected its class"),
        (X, np.array(["a"] * 19 + [1], object), "y mixes int and str, expected labels of one type"),
        (X, ["a"] * 20, "y has the one class 'a', expected at least 2 classes"),
        (X, X[:, 0] + 0.5, "y has 20 different numbers such as 0.5, expected classes"),
        (np.full((20, 1), np.inf), Y,
         "Sample 0 feature 0 is inf, expected a finite number, or NaN if it is missing"),
    ],
)  # fmt: skip
def test_what_cannot_be_used(x, y, message):
    with pytest.raises(DataError) as caught:
        Dataset.from_arrays(x, y)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], r"Weights have shape \(1,\), expected \(20,\)"),
        (np.full(20, -1.0), r"Weight of sample 0 is -1\.0, expected 0 or more"),
        (np.full(20, np.nan), r"Weight of sample 0 is nan, expected 0 or more"),
        (np.zeros(20), r"All weights are zero, expected one that is not"),
    ],
)
def test_weights_that_cannot_be_used(weights, message):
    with pytest.raises(DataError, match=f"^{message}$"):
        Dataset.from_arrays(X, Y, weights=weights)


def test_names_of_another_number():
    with pytest.raises(DataError, match=r"^X has 2 features but 1 names$"):
        Dataset.from_arrays(X, Y, feature_names=["only"])


@pytest.mark.parametrize("shares", [(-0.1, 0.2), (0.5, 0.5)])
def test_shares_that_leave_nothing(shares):
    message = (
        rf"^Shares for validation and test are {shares[0]} and {shares[1]}, "
        r"expected 0 or more, and less than 1 together$"
    )
    with pytest.raises(DataError, match=message):
        Dataset.from_arrays(X, Y, validation=shares[0], test=shares[1])


def test_too_few_samples_to_split():
    message = r"^Data set '\(arrays\)' has 2 samples in 2 classes, which are too few to split"
    with pytest.raises(DataError, match=message + r" into 3 parts$"):
        Dataset.from_arrays(X[:2], [0, 1])
