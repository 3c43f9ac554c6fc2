import itertools

import jax.numpy as jnp
import numpy as np
import pytest

from trilut import digest
from trilut.data import load_dataset
from trilut.training import TrainingConfig, TrainingError, train
from trilut.training.area import gate_area
from trilut.training.network import Samples, Topology
from trilut.training.prune import prune, simplest_tables
from trilut.training.step import Learned
from trilut.training.wiring import LayerWiring

SETTINGS = {
    "layers": (36, 24),
    "steps": 60,
    "prune": 0.5,
    "prune_steps": 40,
    "evaluate_every": 20,
    "batch": 16,
}


class StopError(Exception):
    pass


@pytest.fixture(scope="module")
def wine():
    return load_dataset("wine")


def is_constant(tables):
    return (tables == tables[:, :1]).all(axis=1)


def is_unary(tables, valence):
    square = tables.reshape(-1, valence, valence)
    of_a = (square == square[:, :, :1]).all(axis=(1, 2))
    return of_a | (square == square[:, :1, :]).all(axis=(1, 2))


@pytest.mark.parametrize("valence", [2, 3])
def test_simplest_table_is_the_best_of_all_functions_of_one_input(valence):
    rng = np.random.default_rng(valence)
    values = np.linspace(-1, 1, valence, dtype=np.float32)
    tables = rng.choice(values, (6, valence**2))
    first, second = rng.normal(size=tables.shape), rng.uniform(size=tables.shape)
    found, loss = simplest_tables(tables, first, second, valence=valence)
    candidates = [
        table.ravel()
        for unary in itertools.product(values, repeat=valence)
        for table in (
            np.repeat(np.array(unary)[:, None], valence, axis=1),
            np.repeat(np.array(unary)[None, :], valence, axis=0),
        )
    ]
    for gate in range(len(tables)):
        change = np.array(candidates) - tables[gate]
        losses = (first[gate] * change + second[gate] * change**2 / 2).sum(axis=1)
        assert loss[gate] == pytest.approx(losses.min())
        np.testing.assert_array_equal(found[gate], candidates[losses.argmin()])


def one_layer(num_gates, num_classes, seed=0):
    rng = np.random.default_rng(seed)
    tables = jnp.asarray(rng.choice([-1.0, 0.0, 1.0], (num_gates, 9)).astype(np.float32))
    parents = jnp.asarray(rng.integers(0, 6, (2, num_gates)).astype(np.int32))
    inputs = jnp.asarray(rng.integers(-1, 2, (300, 6)).astype(np.int8))
    labels = jnp.asarray(rng.integers(0, num_classes, 300).astype(np.int32))
    learned = Learned((tables,), (LayerWiring(tuple(parents)),))
    return learned, Samples(inputs, labels), Topology(num_classes)


def prune_share(learned, samples, topology, share, frozen=None):
    tables = learned.parameters
    return prune(
        learned,
        tables,
        frozen or tuple(jnp.zeros(len(layer), dtype=bool) for layer in tables),
        share,
        samples,
        topology,
        tau=2.0,
        generator=np.random.default_rng(0),
    )


def test_so_many_outputs_become_constant_and_the_others_stay():
    learned, samples, topology = one_layer(60, 3)
    pruned, (frozen,) = prune_share(learned, samples, topology, 0.4)
    before, after = np.asarray(learned.parameters[0]), np.asarray(pruned.parameters[0])
    frozen = np.asarray(frozen)
    assert frozen.sum() == 24
    assert is_constant(after)[frozen].all()
    assert np.isin(after, [-1, 0, 1]).all()
    np.testing.assert_array_equal(after[~frozen], before[~frozen])


def test_constants_keep_the_mean_score_of_each_class():
    learned, samples, topology = one_layer(90, 3)
    pruned, (frozen,) = prune_share(learned, samples, topology, 0.9)
    frozen, wiring = np.asarray(frozen), learned.wiring[0]
    inputs = np.asarray(samples.inputs) + 1
    rows = 3 * inputs[:, np.asarray(wiring.parents[0])] + inputs[:, np.asarray(wiring.parents[1])]
    means = np.asarray(learned.parameters[0])[np.arange(90), rows].mean(axis=0)
    constants = np.asarray(pruned.parameters[0])[:, 0]
    for label in range(3):
        own = frozen & (np.arange(90) % 3 == label)
        # What is left to round is at most half the distance of two truth values.
        assert abs(constants[own].sum() - means[own].sum()) <= 0.5 + 1e-5


def test_what_is_pruned_stays_pruned():
    learned, samples, topology = one_layer(60, 3)
    once, frozen = prune_share(learned, samples, topology, 0.3)
    twice, more = prune_share(once, samples, topology, 0.6, frozen)
    (before,), (after,) = frozen, more
    assert np.asarray(after)[np.asarray(before)].all()
    np.testing.assert_array_equal(
        np.asarray(twice.parameters[0])[np.asarray(before)],
        np.asarray(once.parameters[0])[np.asarray(before)],
    )


@pytest.mark.parametrize("valence", [2, 3])
def test_pruned_training_ends_with_gates_without_logic(wine, valence):
    result = train(wine, TrainingConfig.of(**SETTINGS, valence=valence))
    table = result.netlist.table.astype(np.float32)
    inside, outputs = table[:36], table[36:]
    wired = gate_area(inside, is_output=False, valence=valence) == 0
    num_free = (wired | is_unary(inside, valence)).sum() + is_constant(outputs).sum()
    assert num_free >= 0.5 * 60
    assert result.history[-1]["step"] == 100


def test_pruned_training_resumes_bit_for_bit(wine, tmp_path):
    config = TrainingConfig.of(**SETTINGS, wiring="learned", recipe="noise")
    whole = train(wine, config).netlist
    steps = [phase.end for phase in config.phases(tau=1.0)]
    assert steps[0] == 60
    assert steps[-1] == 100

    # At the last step before pruning, and in the middle of it.
    for stop in (60, steps[2]):

        def progress(measured, steps, stop=stop):
            if measured["step"] == stop:
                raise StopError

        with pytest.raises(StopError):
            train(wine, config, directory=tmp_path, progress=progress, resume=True)
    assert digest(train(wine, config, directory=tmp_path, resume=True).netlist) == digest(whole)


def test_wrong_settings():
    with pytest.raises(
        TrainingError, match=r"^Setting 'prune' is 1, expected 0 or a share below 1$"
    ):
        TrainingConfig.of(layers=(8,), prune=1)
    with pytest.raises(
        TrainingError,
        match=r"^Setting 'prune' is 0\.5, but it is of the recipe 'hard' or 'paper-then-hard' or "
        r"'noise', not of 'paper'$",
    ):
        TrainingConfig.of(layers=(8,), recipe="paper", prune=0.5)
    with pytest.raises(TrainingError, match=r"^Setting 'prune_steps' is 0, expected 1…1073741823$"):
        TrainingConfig.of(layers=(8,), prune_steps=0)
    with pytest.raises(
        TrainingError, match=r"^Setting 'prune_steps' is 50, but 'prune' is 0: nothing is pruned$"
    ):
        TrainingConfig.of(layers=(8,), prune_steps=50)
