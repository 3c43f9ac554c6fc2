import numpy as np
import pytest

from trilut.training import TrainingConfig, TrainingError
from trilut.training.wiring import local_wiring, random_wiring, unique_wiring

SHAPES = [(2, (1,)), (2, (7, 3, 2)), (6, (32, 32, 16)), (5, (4, 4)), (101, (50, 300, 2))]
# No more gates than pairs of values below.
ROOMY = [(2, (1,)), (6, (15, 32, 16)), (5, (10, 4)), (101, (50, 300, 2))]


def parents_of(layer):
    return np.concatenate([layer.parents[0], layer.parents[1]])


def check(wiring, num_inputs, layers, skip):
    assert len(wiring) == len(layers)
    for layer, (gates, parents) in enumerate(zip(layers, wiring, strict=True)):
        below = (num_inputs, *layers)[layer] + (num_inputs if skip and layer else 0)
        assert parents.parents[0].shape == parents.parents[1].shape == (gates,)
        assert np.all(parents.parents[0] != parents.parents[1])
        assert parents_of(parents).min() >= 0
        assert parents_of(parents).max() < below


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize(("num_inputs", "layers"), SHAPES)
@pytest.mark.parametrize("seed", range(5))
def test_parents_differ_and_exist(num_inputs, layers, seed, skip):
    check(random_wiring(num_inputs, layers, seed=seed, skip=skip), num_inputs, layers, skip)
    for window in (2, 8, 1000):
        wiring = local_wiring(num_inputs, layers, seed=seed, skip=skip, window=window)
        check(wiring, num_inputs, layers, skip)


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize(("num_inputs", "layers"), ROOMY)
@pytest.mark.parametrize("seed", range(5))
def test_no_two_gates_have_the_same_pair(num_inputs, layers, seed, skip):
    wiring = unique_wiring(num_inputs, layers, seed=seed, skip=skip)
    check(wiring, num_inputs, layers, skip)
    for parents in wiring:
        pairs = np.sort(np.stack([parents.parents[0], parents.parents[1]]), axis=0)
        assert np.unique(pairs, axis=1).shape == pairs.shape


def test_unique_redraws_what_a_random_wiring_repeats():
    pairs = np.sort(np.stack(random_wiring(60, (400,))[0].parents), axis=0)
    assert np.unique(pairs, axis=1).shape[1] < 400
    pairs = np.sort(np.stack(unique_wiring(60, (400,))[0].parents), axis=0)
    assert np.unique(pairs, axis=1).shape[1] == 400


@pytest.mark.parametrize(("num_inputs", "num_gates"), [(500, 500), (300, 900), (1000, 100)])
@pytest.mark.parametrize("window", [8, 64])
def test_local_parents_lie_within_the_window(num_inputs, num_gates, window):
    (parents,) = local_wiring(num_inputs, (num_gates,), window=window)
    own = (np.arange(num_gates) + 0.5) * num_inputs / num_gates
    # One more where the gates do not line up with the values, and one to tell the parents apart.
    reach = window / 2 + 1 + num_inputs / num_gates
    assert np.abs(parents_of(parents) + 0.5 - np.tile(own, 2)).max() <= reach


def test_local_parents_spread_over_the_window():
    (parents,) = local_wiring(1000, (500,), window=64)
    own = (np.arange(500) + 0.5) * 2
    assert np.abs(np.asarray(parents.parents[0]) + 0.5 - own).mean() > 64 / 10
    assert np.ptp(np.bincount(parents_of(parents))) <= 2


def test_local_skips_lie_within_the_window_too():
    _, parents = local_wiring(100, (300, 400), window=40, skip=True)
    both = parents_of(parents)
    place = np.where(both < 300, (both + 0.5) / 300, (both - 300 + 0.5) / 100)
    own = np.tile((np.arange(400) + 0.5) / 400, 2)
    assert np.any(both >= 300)
    assert np.abs(place - own).max() <= (40 / 2 + 2) / 400 + 0.01


@pytest.mark.parametrize("seed", range(5))
def test_even_layers_are_read_evenly(seed):
    first, second = random_wiring(6, (32, 16), seed=seed)
    assert np.ptp(np.bincount(parents_of(first))) <= 1
    np.testing.assert_array_equal(np.bincount(parents_of(second)), np.ones(32))


def test_seed_decides():
    first, second, other = (random_wiring(6, (32, 16), seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first[0].parents[0], second[0].parents[0])
    assert not np.array_equal(first[0].parents[0], other[0].parents[0])


@pytest.mark.parametrize(("num_inputs", "layers", "layer"), [(1, (4,), 0), (6, (4, 1, 2), 2)])
def test_layer_above_a_single_value(num_inputs, layers, layer):
    with pytest.raises(
        TrainingError,
        match=rf"^Layer {layer} has 1 values below it, expected at least 2 to wire a gate to$",
    ):
        random_wiring(num_inputs, layers)


def test_more_gates_than_pairs():
    with pytest.raises(
        TrainingError,
        match=r"^Layer 1 has 7 gates, but the 4 values below it make only 6 pairs; "
        r"use wiring 'random'$",
    ):
        unique_wiring(6, (4, 7))


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, random_wiring(20, (16, 8), seed=3)),
        ({"wiring": "unique", "skip": True}, unique_wiring(20, (16, 8), seed=3, skip=True)),
        ({"wiring": "local", "window": 4}, local_wiring(20, (16, 8), seed=3, window=4)),
    ],
)
def test_wiring_of_a_config(settings, expected):
    config = TrainingConfig.of(layers=(16, 8), seed=3, **settings)
    wired = config.wiring.wire(config.network, config.course, np.full(20, 3, np.int8))
    assert wired.rules is None
    for layer, wanted in zip(wired.wiring, expected, strict=True):
        np.testing.assert_array_equal(layer.parents[0], wanted.parents[0])
        np.testing.assert_array_equal(layer.parents[1], wanted.parents[1])
