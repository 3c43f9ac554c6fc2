import jax
import jax.numpy as jnp
import numpy as np
import pytest

from trilut import Encoder, Feature, Head, gates
from trilut.training import TrainingConfig, harden
from trilut.training.network import Samples, accuracy, class_scores, forward
from trilut.training.recipes import HardRecipe, PaperRecipe, harden_tables, make_recipe
from trilut.training.relax import look_up
from trilut.training.wiring import random_wiring

SHAPES = [(2, (4, 2)), (6, (32, 32, 16)), (30, (7, 50, 20, 6)), (9, (40,))]


def wire(num_inputs, layers, seed):
    return jax.tree.map(jnp.asarray, random_wiring(num_inputs, layers, seed=seed))


def random_parameters(layers, seed, deviation):
    """Return parameters that are far from any start, and some at the ties of the rounding."""
    generator = np.random.default_rng(seed)
    entries = [generator.normal(0, deviation, (num_gates, 9)) for num_gates in layers]
    tied = [np.where(generator.random(e.shape) < 0.1, np.sign(e) * 0.5, e) for e in entries]
    return tuple(jnp.asarray(e.astype(np.float32)) for e in tied)


def random_trits(num_inputs, seed, samples=200):
    return np.random.default_rng(seed).integers(-1, 2, (samples, num_inputs)).astype(np.int8)


def counter(num_trits):
    """Return any encoder of so many trits."""
    low = np.arange(num_trits)
    return Encoder((Feature("f", 8),), np.zeros(num_trits, np.int64), low, low + 1)


def hardened_netlist(recipe, parameters, wiring, num_inputs):
    outputs = len(parameters[-1])
    head = Head(("a", "b"), (outputs // 2, outputs // 2))
    tables = harden_tables(recipe, parameters)
    return harden(tables, wiring, encoder=counter(num_inputs), head=head)


@pytest.mark.parametrize(("num_inputs", "layers"), SHAPES)
@pytest.mark.parametrize("seed", range(4))
def test_hard_training_forward_is_the_circuit(num_inputs, layers, seed):
    recipe = HardRecipe(tau=1.0)
    wiring = wire(num_inputs, layers, seed)
    parameters = random_parameters(layers, seed, deviation=1.0)
    netlist = hardened_netlist(recipe, parameters, wiring, num_inputs)
    trits = random_trits(num_inputs, seed)
    outputs = jax.jit(forward, static_argnums=0)(
        recipe.layer, parameters, wiring, jnp.asarray(trits.T.astype(np.float32))
    )
    np.testing.assert_array_equal(outputs.T, netlist.evaluate(trits))


@pytest.mark.parametrize(("num_inputs", "layers"), SHAPES)
def test_hardened_paper_network_is_the_circuit(num_inputs, layers):
    recipe = PaperRecipe(tau=1.0)
    wiring = wire(num_inputs, layers, seed=0)
    parameters = random_parameters(layers, 0, deviation=0.45)
    netlist = hardened_netlist(recipe, parameters, wiring, num_inputs)
    trits = random_trits(num_inputs, 0)
    tables = harden_tables(recipe, parameters)
    scores = jax.jit(class_scores, static_argnums=(0, 4))(
        look_up, tables, wiring, jnp.asarray(trits), 2
    )
    np.testing.assert_array_equal(scores.T, netlist.head.scores(netlist.evaluate(trits)))


def test_paper_network_of_exact_gates_is_the_circuit():
    layers = (20, 10)
    tables = [np.random.default_rng(1).choice([-1, 0, 1], (n, 9)) for n in layers]
    parameters = tuple(jnp.asarray(gates.polynomial(t), dtype=jnp.float32) for t in tables)
    recipe, wiring = PaperRecipe(tau=1.0), wire(5, layers, seed=1)
    netlist = hardened_netlist(recipe, parameters, wiring, 5)
    np.testing.assert_array_equal(netlist.table, np.concatenate(tables))
    trits = random_trits(5, 1)
    inputs = jnp.asarray(trits.T.astype(np.float32))
    outputs = forward(recipe.layer, parameters, wiring, inputs)
    np.testing.assert_allclose(outputs.T, netlist.evaluate(trits), atol=1e-4)


def test_paper_tables_are_those_of_the_core():
    (weights,) = random_parameters((200,), 2, deviation=0.45)
    expected = gates.polynomial_table(np.asarray(weights))
    np.testing.assert_array_equal(PaperRecipe(tau=1.0).table(weights), expected)


def test_accuracy_is_that_of_the_netlist():
    recipe, wiring = HardRecipe(tau=1.0), wire(6, (8, 4), seed=3)
    parameters = random_parameters((8, 4), 3, deviation=1.0)
    netlist = hardened_netlist(recipe, parameters, wiring, 6)
    # More than two slices, and scores that often tie.
    trits = random_trits(6, 3, samples=2500)
    labels = np.random.default_rng(3).integers(0, 2, 2500)
    samples = Samples(jnp.asarray(trits), jnp.asarray(labels.astype(np.int32)))
    measured = accuracy(recipe.layer, parameters, wiring, samples, 2)
    assert measured == np.mean(netlist.classify(trits).chosen == labels)


def test_hard_gates_start_near_pass_through():
    start = HardRecipe(tau=1.0).init(2000, np.random.default_rng(0))
    mean = np.asarray(start).mean(axis=0)
    np.testing.assert_allclose(mean[3:6], 0, atol=0.03)
    # Clipping to [−1, 1] takes the outer half of the noise away.
    np.testing.assert_allclose(mean[[0, 8]], [-0.88, 0.88], atol=0.03)
    kept = np.mean(gates.round_to_values(start) == gates.NAMED_GATES["a"])
    assert 0.88 < kept < 0.96


def test_paper_coefficients_start_normal():
    start = np.asarray(PaperRecipe(tau=1.0).init(5000, np.random.default_rng(0)))
    assert start.mean() == pytest.approx(0, abs=0.01)
    assert start.std() == pytest.approx(0.45, abs=0.01)


def test_hard_loss_is_the_cross_entropy():
    scores = jnp.array([[4.0, 0.0], [0.0, 2.0]])
    loss = HardRecipe(tau=2.0).loss((), scores, jnp.array([0, 0]), jnp.float32(0))
    expected = np.mean([np.log1p(np.exp(-2)), np.log1p(np.exp(1))])
    assert float(loss) == pytest.approx(expected, rel=1e-5)


def test_paper_loss_is_the_squared_error_from_plus_and_minus_one_and_the_commitment():
    recipe = PaperRecipe(tau=2.0, commitment_max=0.5, commitment_power=2.0)
    scores = jnp.array([[4.0], [-2.0]])
    # The constant polynomial 0.25 is a quarter from its gate at all nine pairs.
    parameters = (jnp.array([[0.25, 0, 0, 0, 0, 0, 0, 0, 0]]),)
    loss = recipe.loss(parameters, scores, jnp.array([0]), jnp.float32(0.5))
    task = ((2 - 1) ** 2 + (-1 + 1) ** 2) / 2
    assert float(loss) == pytest.approx(task + 0.5 * 0.5**2 * 0.25**2)


def test_hard_entries_stay_where_they_can_change_the_table():
    (entries,) = HardRecipe(tau=1.0).constrain((jnp.array([[-3.0, 0.2, 1.5]]),))
    np.testing.assert_array_equal(entries, np.array([[-1, 0.2, 1]], dtype=np.float32))


def test_recipe_of_a_config():
    assert make_recipe(TrainingConfig(layers=(2,)), tau=3.0) == HardRecipe(3.0)
    config = TrainingConfig(layers=(2,), recipe="paper", commitment_max=0.2, commitment_power=1.0)
    assert make_recipe(config, tau=3.0) == PaperRecipe(3.0, 0.2, 1.0)
