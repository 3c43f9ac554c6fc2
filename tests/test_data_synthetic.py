import re

import numpy as np
import pytest

from trilut.data import load_dataset
from trilut.data.synthetic import SYNTHETIC, gaussians_bayes_rate
from trilut.errors import DataError


def fails(name, message):
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        load_dataset(name)


@pytest.mark.parametrize("separation", [0.0, 1.5, 3.0])
def test_best_classifier_of_gaussians_has_the_bayes_rate(separation):
    dataset = load_dataset(f"gaussians:separation={separation},test=200000")
    chosen = dataset.test.x.sum(axis=1) > 0
    assert dataset.bayes_rate == gaussians_bayes_rate(separation)
    assert np.mean(chosen == dataset.test.y) == pytest.approx(dataset.bayes_rate, abs=0.004)


def test_bayes_rate_of_the_default():
    assert load_dataset("gaussians").bayes_rate == pytest.approx(0.9331928)
    assert load_dataset("moons").bayes_rate is None


@pytest.mark.parametrize("name", SYNTHETIC)
def test_sizes_can_be_chosen_and_defaults_can_be_said(name):
    dataset = load_dataset(f"{name}:train=30,validation=20,test=10", seed=3)
    sizes = (len(dataset.train), len(dataset.validation), len(dataset.test))
    assert sizes == (30, 20, 10)
    said = ",".join(f"{each.name}={each.default}" for each in SYNTHETIC[name].parameters)
    spoken, silent = load_dataset(f"{name}:{said}"), load_dataset(f"{name}:")
    assert spoken.name == f"{name}:{said}"
    np.testing.assert_array_equal(spoken.train.x, silent.train.x)


def test_noise_can_be_chosen():
    assert np.ptp(load_dataset("moons:noise=0").train.x[:, 1]) == pytest.approx(1.5, abs=0.01)
    assert np.ptp(load_dataset("moons:noise=.5").train.x[:, 1]) > 3


def test_sector_can_be_chosen():
    narrow = load_dataset("ring_sector: degrees = 36 , noise=0")
    assert narrow.train.y.mean() == pytest.approx(0.1, abs=0.02)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "moons:noize=1",
            "Data set 'moons:noize=1' has 'noize=1' behind its colon, expected key=value with one "
            "of noise, train, validation, test; did you mean 'noise'?",
        ),
        (
            "gaussians:separation",
            "Data set 'gaussians:separation' has 'separation' behind its colon, expected key=value "
            "with one of separation, train, validation, test",
        ),
        (
            "iris:train=3",
            "Data set 'iris:train=3' has 'train=3' behind its colon, expected no colon",
        ),
        (
            "moons:noise=a lot",
            "Data set 'moons:noise=a lot' has noise 'a lot', expected a number of at least 0",
        ),
        (
            "moons:noise=-1",
            "Data set 'moons:noise=-1' has noise '-1', expected a number of at least 0",
        ),
        (
            "moons:noise=inf",
            "Data set 'moons:noise=inf' has noise 'inf', expected a number of at least 0",
        ),
        (
            "circles:factor=1",
            "Data set 'circles:factor=1' has factor '1', "
            "expected a number of at least 0 and at most 0.99",
        ),
        (
            "moons:train=2.5",
            "Data set 'moons:train=2.5' has train '2.5', expected an integer of at least 1",
        ),
        (
            "moons:noise=1,noise=2",
            "Data set 'moons:noise=1,noise=2' has noise twice, expected it once",
        ),
    ],
)
def test_wrong_parameters(name, message):
    fails(name, message)
