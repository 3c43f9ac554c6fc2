import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from trilut import Encoder, Feature, Head
from trilut.circuit import gates
from trilut.training import TrainingConfig, harden
from trilut.training.mixture import MixtureRecipe
from trilut.training.network import Samples, Topology, accuracy, class_scores, forward
from trilut.training.node import Node
from trilut.training.objective import complexity, cross_entropy, round_gradient
from trilut.training.recipes import HardRecipe, PaperRecipe, Phase, harden_tables
from trilut.training.relax import look_up
from trilut.training.wiring import LayerWiring, random_wiring

SHAPES = [(2, (4, 2)), (30, (7, 50, 20, 6))]
PLAIN = Topology(2)
CIRCUITS = [
    (2, (4, 2), PLAIN),
    (9, (40,), Topology(2, skip=True)),
    (6, (32, 32, 16), Topology(2, skip=True)),
    (30, (7, 50, 20, 6), Topology(2, skip=True, output_layers=3)),
    (30, (7, 50, 20, 6), Topology(2, output_layers=2)),
]

run = jax.jit(forward, static_argnums=(0, 4))


def wire(num_inputs, layers, seed, *, skip=False):
    return random_wiring(num_inputs, layers, seed=seed, skip=skip)


def negate_some(wiring, seed):
    generator = np.random.default_rng(seed)

    def signs(parents):
        return jnp.asarray(generator.choice([-1.0, 1.0], len(parents)), dtype=jnp.float32)

    return tuple(LayerWiring(w.parents, tuple(map(signs, w.parents))) for w in wiring)


def trained_outputs(recipe, parameters, wiring, topology, trits):
    """Return the class scores and the values of all nets in the training forward."""
    inputs = jnp.asarray(trits.T.astype(np.float32))
    layers = run(recipe.layer, parameters, wiring, inputs, topology)
    scores = class_scores(layers, topology)
    return np.asarray(scores).T, np.concatenate([inputs, *layers]).T


def random_parameters(layers, seed, deviation, valence=3):
    """Return parameters that are far from any start, and some at the ties of the rounding."""
    generator = np.random.default_rng(seed)
    entries = [generator.normal(0, deviation, (num_gates, valence**2)) for num_gates in layers]
    tie = 0.5 if valence == 3 else 0.0
    tied = [np.where(generator.random(e.shape) < 0.1, np.sign(e) * tie, e) for e in entries]
    return tuple(jnp.asarray(e.astype(np.float32)) for e in tied)


def random_trits(num_inputs, seed, samples=200, valence=3):
    values = gates.truth_values(valence).astype(np.int8)
    return np.random.default_rng(seed).choice(values, (samples, num_inputs))


def counter(num_trits, valence=3):
    """Return any encoder of so many trits, or of so many bits."""
    low = np.arange(num_trits)
    missing = 0 if valence == 3 else -1
    feature = np.zeros(num_trits, np.int64)
    return Encoder((Feature("f", 8),), feature, low, low + valence - 2, missing)


def hardened_netlist(recipe, parameters, wiring, num_inputs, topology=PLAIN):
    outputs = sum(map(len, parameters[-topology.output_layers :]))
    head = Head(("a", "b"), (outputs // 2, outputs // 2))
    tables = harden_tables(recipe, parameters)
    encoder = counter(num_inputs, recipe.valence)
    topology = dataclasses.replace(topology, node=Node((recipe.valence,) * 2, recipe.valence))
    return harden(tables, wiring, topology, encoder=encoder, head=head)


@pytest.mark.parametrize(("num_inputs", "layers", "topology"), CIRCUITS)
@pytest.mark.parametrize("negated", [False, True], ids=["as it is", "negated"])
@pytest.mark.parametrize("valence", [2, 3])
def test_hard_training_forward_is_the_circuit(num_inputs, layers, topology, negated, valence):
    recipe = HardRecipe(tau=1.0, valence=valence)
    wiring = wire(num_inputs, layers, 4, skip=topology.skip)
    wiring = negate_some(wiring, 5) if negated else wiring
    parameters = random_parameters(layers, 6, deviation=1.0, valence=valence)
    netlist = hardened_netlist(recipe, parameters, wiring, num_inputs, topology)
    assert netlist.valence == valence
    trits = random_trits(num_inputs, 7, valence=valence)
    scores, values = trained_outputs(recipe, parameters, wiring, topology, trits)
    np.testing.assert_array_equal(values, netlist.values(trits))
    np.testing.assert_array_equal(scores, netlist.head.scores(netlist.evaluate(trits)))


@pytest.mark.parametrize(("num_inputs", "layers"), SHAPES)
def test_hardened_paper_network_is_the_circuit(num_inputs, layers):
    recipe = PaperRecipe(tau=1.0)
    wiring = wire(num_inputs, layers, seed=0)
    parameters = random_parameters(layers, 0, deviation=0.45)
    netlist = hardened_netlist(recipe, parameters, wiring, num_inputs)
    trits = random_trits(num_inputs, 0)
    tables = harden_tables(recipe, parameters)
    inputs = jnp.asarray(trits.T, jnp.float32)
    layers = run(look_up, tables, wiring, inputs, PLAIN)
    np.testing.assert_array_equal(np.concatenate(layers).T, netlist.values(trits)[:, num_inputs:])


def test_paper_network_of_exact_gates_is_the_circuit():
    layers = (20, 10)
    tables = [np.random.default_rng(1).choice([-1, 0, 1], (n, 9)) for n in layers]
    parameters = tuple(jnp.asarray(gates.polynomial(t), dtype=jnp.float32) for t in tables)
    recipe, wiring = PaperRecipe(tau=1.0), wire(5, layers, seed=1)
    netlist = hardened_netlist(recipe, parameters, wiring, 5)
    np.testing.assert_array_equal(netlist.table, np.concatenate(tables))
    trits = random_trits(5, 1)
    _, values = trained_outputs(recipe, parameters, wiring, PLAIN, trits)
    np.testing.assert_allclose(values, netlist.values(trits), atol=1e-4)


def test_outputs_of_a_class_stand_together():
    wiring = wire(4, (6, 4), seed=0)
    parameters = random_parameters((6, 4), 0, deviation=1.0)
    netlist = hardened_netlist(HardRecipe(1.0), parameters, wiring, 4, Topology(2, False, 2))
    # Nets 4…9 are the first layer, 10…13 the second.
    assert netlist.outputs.tolist() == [4, 6, 8, 10, 12, 5, 7, 9, 11, 13]


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
    measured = accuracy(recipe.layer, parameters, wiring, samples, PLAIN)
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


def test_tau_falls_geometrically_from_where_it_starts():
    scores, labels = jnp.array([[3.0, -1.0], [0.0, 2.0]]), jnp.array([0, 0])
    (phase,) = TrainingConfig.of(layers=(2,), tau_start=8.0).phases(tau=2.0)
    for progress, tau in ((0.0, 8.0), (0.5, 4.0), (1.0, 2.0)):
        falling = phase.recipe.loss((), scores, labels, jnp.float32(progress))
        constant = HardRecipe(tau).loss((), scores, labels, jnp.float32(progress))
        assert float(falling) == pytest.approx(float(constant), rel=1e-6)


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


def test_recipes_of_a_config():
    assert TrainingConfig.of(layers=(2,)).phases(tau=3.0) == (Phase(HardRecipe(3.0), 3000),)
    config = TrainingConfig.of(
        layers=(2,), recipe="paper", commitment_max=0.2, commitment_power=1.0
    )
    assert config.phases(tau=3.0) == (Phase(PaperRecipe(3.0, 0.2, 1.0), 3000),)
    config = TrainingConfig.of(layers=(2,), recipe="noise", noise=0.4, noise_kind="gumbel", seed=5)
    noisy = HardRecipe(3.0, noise=0.4, noise_kind="gumbel", seed=5)
    assert config.phases(tau=3.0) == (Phase(noisy, 3000),)
    for recipe, naive in (("dlgn", False), ("dlgn-naive", True)):
        config = TrainingConfig.of(layers=(2,), recipe=recipe)
        assert config.phases(tau=3.0) == (Phase(MixtureRecipe(3.0, naive), 3000),)
        assert config.recipe.valence == 2


def test_trainings_that_differ_in_the_seed_share_their_recipe():
    seeds = (TrainingConfig.of(layers=(2,), seed=seed) for seed in (0, 1))
    assert len({config.phases(tau=3.0) for config in seeds}) == 1


def test_paper_hands_over_to_hard_in_tables():
    config = TrainingConfig.of(layers=(2,), recipe="paper-then-hard", steps=1000)
    first, second = config.phases(tau=3.0)
    assert (first.end, second.end) == (700, 1000)
    assert second.recipe == HardRecipe(3.0)
    tables = first.recipe.init(20, np.random.default_rng(0))
    np.testing.assert_array_equal(first.recipe.table(tables), second.recipe.table(tables))


@pytest.mark.parametrize("valence", [2, 3, 4])
@pytest.mark.parametrize("start", ["normal", "pass-through"])
def test_parametrisations_start_as_the_same_gates(valence, start):
    generator = np.random.default_rng(1)
    a, b = jnp.asarray(generator.uniform(-1, 1, (2, 30, 7)), dtype=jnp.float32)
    recipes = [
        PaperRecipe(1.0, valence=valence, parametrisation=parametrisation, start=start)
        for parametrisation in ("monomial", "lagrange", "fourier")
    ]
    parameters = [recipe.init(30, np.random.default_rng(2)) for recipe in recipes]
    values = [r.layer(p, a, b) for r, p in zip(recipes, parameters, strict=True)]
    tables = [r.table(p) for r, p in zip(recipes, parameters, strict=True)]
    for other in (1, 2):
        np.testing.assert_allclose(values[0], values[other], atol=1e-5)
        np.testing.assert_array_equal(tables[0], tables[other])


def test_complexity_is_the_sum_of_the_fourier_coefficients():
    tables = random_parameters((40,), 3, deviation=1.0)[0]
    expected = np.abs(gates.fourier_spectrum(np.asarray(tables))).sum(axis=(1, 2)).mean()
    assert float(complexity(tables)) == pytest.approx(expected, rel=1e-5)
    assert float(complexity(jnp.asarray(gates.NAMED_GATES["xor"][None], jnp.float32))) == 1
    rest = (jnp.array([[1.0], [0.0]]), jnp.array([0]), jnp.float32(0))
    for recipe in (HardRecipe(1.0), PaperRecipe(1.0, parametrisation="lagrange")):
        plain, charged = (
            float(dataclasses.replace(recipe, complexity_weight=w).loss((tables,), *rest))
            for w in (0.0, 0.5)
        )
        assert charged - plain == pytest.approx(0.5 * expected, rel=1e-4)


def test_gradients_of_scores_lie_on_a_grid():
    generator = np.random.default_rng(0)
    scores = jnp.asarray(generator.normal(size=(10, 100)), dtype=jnp.float32)
    labels = jnp.asarray(generator.integers(0, 10, 100), dtype=jnp.int32)
    rounded = jax.grad(lambda s: HardRecipe(4.0).loss((), s, labels, jnp.float32(0)))(scores)
    quantum = 2.0**-19
    assert quantum < 1 / (4.0 * 100) / 2**10 < 2 * quantum
    np.testing.assert_array_equal(rounded / quantum, np.round(rounded / quantum))
    np.testing.assert_array_equal(round_gradient(scores, tau=4.0), scores)
    plain = jax.grad(lambda s: cross_entropy(s / 4.0, labels))(scores)
    np.testing.assert_allclose(rounded, plain, atol=quantum / 2 * 1.001)


def test_mixture_folded_is_the_mixture_gate_by_gate():
    folded, naive = MixtureRecipe(1.0), MixtureRecipe(1.0, naive=True)
    generator = np.random.default_rng(4)
    parameters = folded.init(50, generator)
    a, b = jnp.asarray(generator.uniform(-1, 1, (2, 50, 9)), dtype=jnp.float32)

    @functools.partial(jax.jit, static_argnums=0)
    def gradients(recipe, *arguments):
        total = jax.grad(lambda *arrays: jnp.sum(recipe.layer(*arrays) ** 2), argnums=(0, 1, 2))
        return recipe.layer(*arguments), *total(*arguments)

    for one, other in zip(
        gradients(folded, parameters, a, b), gradients(naive, parameters, a, b), strict=True
    ):
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_mixture_hardens_to_its_likeliest_gate():
    parameters = 40 * jnp.eye(16, dtype=jnp.float32)
    recipe = MixtureRecipe(1.0)
    tables = gates.gate_table(np.arange(16), 2)
    np.testing.assert_array_equal(recipe.table(parameters), tables)
    for row, (a, b) in enumerate([(-1, -1), (-1, 1), (1, -1), (1, 1)]):
        values = recipe.layer(parameters, *(jnp.full((16, 1), float(x)) for x in (a, b)))
        np.testing.assert_allclose(values[:, 0], tables[:, row], atol=1e-6)


@pytest.mark.parametrize("kind", ["normal", "gumbel"])
def test_noise_changes_with_the_step_and_passes_the_gradient(kind):
    recipe = HardRecipe(1.0, noise=0.3, noise_kind=kind, seed=7)
    tables = (recipe.init(300, np.random.default_rng(0)),)
    first, again, later = (recipe.disturb(tables, jnp.int32(step))[0] for step in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert np.mean(np.asarray(recipe.table(first)) != np.asarray(recipe.table(later))) > 0.1
    near = np.abs(np.asarray(recipe.table(first)) - np.asarray(tables[0])).mean()
    assert near < 0.5
    slope = jax.grad(lambda t: jnp.sum(recipe.disturb((t,), jnp.int32(0))[0]))(tables[0])
    np.testing.assert_array_equal(slope, np.ones((300, 9)))


def test_no_noise_changes_nothing():
    tables = (jnp.zeros((2, 9)),)
    assert HardRecipe(1.0).disturb(tables, jnp.int32(0)) is tables
