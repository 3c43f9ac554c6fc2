import numpy as np
import pytest

from trilut.training import TrainingError
from trilut.training.wiring import random_wiring

SHAPES = [(2, (1,)), (2, (7, 3, 2)), (6, (32, 32, 16)), (5, (4, 4)), (101, (50, 300, 2))]


@pytest.mark.parametrize(("num_inputs", "layers"), SHAPES)
@pytest.mark.parametrize("seed", range(5))
def test_parents_differ_and_exist(num_inputs, layers, seed):
    wiring = random_wiring(num_inputs, layers, seed=seed)
    assert len(wiring) == len(layers)
    for below, gates, parents in zip((num_inputs, *layers), layers, wiring, strict=False):
        assert parents.a.shape == parents.b.shape == (gates,)
        assert np.all(parents.a != parents.b)
        assert np.concatenate(parents).min() >= 0
        assert np.concatenate(parents).max() < below


@pytest.mark.parametrize("seed", range(5))
def test_even_layers_are_read_evenly(seed):
    first, second = random_wiring(6, (32, 16), seed=seed)
    assert np.ptp(np.bincount(np.concatenate(first))) <= 1
    np.testing.assert_array_equal(np.bincount(np.concatenate(second)), np.ones(32))


def test_seed_decides():
    first, second, other = (random_wiring(6, (32, 16), seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first[0], second[0])
    assert not np.array_equal(first[0], other[0])


@pytest.mark.parametrize(("num_inputs", "layers", "layer"), [(1, (4,), 0), (6, (4, 1, 2), 2)])
def test_layer_above_a_single_value(num_inputs, layers, layer):
    with pytest.raises(
        TrainingError,
        match=rf"^Layer {layer} has 1 values below it, expected at least 2 to wire a gate to$",
    ):
        random_wiring(num_inputs, layers)
