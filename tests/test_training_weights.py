import dataclasses

import numpy as np
import pytest

from trilut.data import Dataset, Split, load_dataset
from trilut.training import TrainingConfig, TrainingError, fit_encoder, train
from trilut.training.network import Topology, accuracy
from trilut.training.node import TWO_TRITS
from trilut.training.relax import lookup_layer
from trilut.training.samples import draw, encode, move_images

SHORT = {"layers": (16, 8), "steps": 120, "evaluate_every": 60, "learning_rate": 0.05}


def weighted(split, weights):
    return dataclasses.replace(split, weights=weights)


def some_samples(weights):
    x = np.arange(len(weights), dtype=np.float64)[:, None]
    split = Split(x, np.zeros(len(weights)), np.asarray(weights, dtype=np.float64))
    return encode(fit_encoder(x, ("x",)), split)


@pytest.mark.parametrize("seed", range(3))
def test_weight_is_how_often_a_sample_is_there(seed):
    weights = np.array([1, 3, 2, 1, 5])
    once = draw(some_samples(weights), 200, np.random.default_rng(seed))
    repeated = draw(some_samples(np.ones(weights.sum())), 200, np.random.default_rng(seed))
    np.testing.assert_array_equal(once, np.repeat(np.arange(5), weights)[repeated])
    assert set(once) == set(range(5))


def test_only_ratios_of_weights_matter():
    some, many = (some_samples(factor * np.array([1.0, 2.0])) for factor in (1e-200, 1e200))
    for samples in (some, many):
        drawn = draw(samples, 3000, np.random.default_rng(0))
        assert np.bincount(drawn)[1] == pytest.approx(2000, abs=100)


def test_all_moves_of_an_image_have_its_weight():
    x = np.arange(12, dtype=np.uint8).reshape(3, 4)
    split = Split(x, np.zeros(3), np.array([1.0, 1e-9, 1.0]))
    samples = move_images(fit_encoder(x, tuple("abcd")), split, mirror=True)
    drawn = draw(samples, 400, np.random.default_rng(0))
    assert set(drawn) == {0, 2, 3, 5}


def test_accuracy_counts_weights():
    moons = load_dataset("moons")
    result = train(moons, TrainingConfig.of(**SHORT))
    fitted = result.fitted

    def measured(weights):
        samples = encode(fitted.encoder, weighted(moons.test, weights))
        layer = lookup_layer(TWO_TRITS)
        return accuracy(layer, fitted.tables, fitted.learned.wiring, samples, Topology(2))

    is_right = result.netlist.predict(moons.test.x) == moons.test.y
    assert 0 < is_right.mean() < 1
    assert measured(None) == is_right.mean()
    assert measured(np.where(is_right, 3.0, 1.0)) == pytest.approx(
        3 * is_right.sum() / (3 * is_right.sum() + (~is_right).sum())
    )


def test_what_weighs_more_is_learned_first():
    moons = load_dataset("moons")
    share = []
    for factor in (0.02, 1.0, 50.0):
        splits = [
            weighted(split, np.where(split.y == 1, factor, 1.0))
            for split in (moons.train, moons.validation)
        ]
        dataset = dataclasses.replace(moons, train=splits[0], validation=splits[1])
        netlist = train(dataset, TrainingConfig.of(thresholds=1, **SHORT)).netlist
        share.append(float(np.mean(netlist.predict(moons.test.x) == 1)))
    assert share[0] < share[1] < share[2]


def test_other_weights_are_other_samples(tmp_path):
    wine = load_dataset("wine")
    config = TrainingConfig.of(layers=(12, 6), steps=20, evaluate_every=10)
    train(wine, config, directory=tmp_path)
    other = dataclasses.replace(wine, train=weighted(wine.train, wine.train.x[:, 0]))
    message = r"^Cannot resume from '.*': the training samples have changed$"
    with pytest.raises(TrainingError, match=message):
        train(other, config, directory=tmp_path, resume=True)


def test_weighted_samples_are_pruned_by():
    wine = load_dataset("wine")
    heavy = dataclasses.replace(wine, train=weighted(wine.train, wine.train.x[:, 0]))
    config = TrainingConfig.of(layers=(48, 24), steps=200, prune=0.3, prune_steps=100)
    assert train(heavy, config).hardened.test > 0.7


def test_training_without_test_samples():
    wine = load_dataset("wine")
    dataset = Dataset.from_arrays(wine.train.x, wine.train.y, test=0)
    for recipe in ("hard", "paper"):
        result = train(dataset, TrainingConfig.of(recipe=recipe, layers=(12, 6), steps=20))
        assert np.isnan(result.hardened.test)
        assert result.netlist.provenance["accuracy"] == {
            "soft": {"validation": result.soft.validation},
            "hardened": {"validation": result.hardened.validation},
        }
