import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from trilut.circuit import gates, monotone
from trilut.training import relax

VALENCES = [2, 3, 4, 5]


def random_tables(seed, count, valence=3):
    values = gates.truth_values(valence)
    return np.random.default_rng(seed).choice(values, (count, valence**2)).astype(np.float32)


def all_pairs(num_gates, valence=3):
    """Return every pair of truth values as inputs [gate, pair], in the order of a table."""
    pairs = itertools.product(gates.truth_values(valence), repeat=2)
    a, b = np.array(list(pairs), dtype=np.float32).T
    return [jnp.asarray(np.tile(values, (num_gates, 1))) for values in (a, b)]


@pytest.mark.parametrize("valence", VALENCES)
def test_interpolated_gate_equals_its_table_on_truth_values(valence):
    tables = random_tables(0, 20, valence)
    weights = jnp.asarray(gates.polynomial(tables, valence), dtype=jnp.float32)
    values = relax.interpolate(weights, *all_pairs(20, valence), valence=valence)
    np.testing.assert_allclose(values, tables, atol=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_interpolate_is_the_clipped_sum_of_monomials(seed):
    generator = np.random.default_rng(seed)
    w = generator.normal(0, 0.45, (7, 9)).astype(np.float32)
    a, b = generator.uniform(-1, 1, (2, 7, 11)).astype(np.float32)
    monomials = np.stack(
        [np.ones_like(a), a, b, a * b, a**2, b**2, a**2 * b, a * b**2, a**2 * b**2]
    )
    expected = np.clip(np.einsum("gk,kgn->gn", w, monomials), -1, 1)
    values = relax.interpolate(*map(jnp.asarray, (w, a, b)))
    np.testing.assert_allclose(values, expected, atol=1e-5)


def test_interpolate_saturates_without_gradient():
    def value(w):
        return relax.interpolate(w, jnp.ones((1, 1)), jnp.ones((1, 1)))[0, 0]

    saturated = jnp.full((1, 9), 0.5)
    assert value(saturated) == 1
    assert not jax.jit(jax.grad(value))(saturated).any()


@pytest.mark.parametrize("valence", VALENCES)
def test_soft_table_is_the_polynomial_on_truth_values(valence):
    w = np.random.default_rng(2).normal(size=(5, valence**2)).astype(np.float32)
    expected = w @ gates.evaluation_matrix(valence).T
    np.testing.assert_allclose(
        relax.soft_table(jnp.asarray(w), valence=valence), expected, atol=1e-4
    )


@pytest.mark.parametrize("valence", VALENCES)
def test_coefficients_are_the_polynomial(valence):
    tables = random_tables(3, 10, valence)
    grid = relax.coefficients(jnp.asarray(tables), radices=(valence, valence))
    polynomial = gates.polynomial(tables, valence)
    for column, (i, j) in enumerate(gates.exponents(valence)):
        np.testing.assert_allclose(grid[:, i, j], polynomial[:, column], atol=1e-4)


@pytest.mark.parametrize("valence", [2, 3])
def test_look_up_is_exact(valence):
    tables = random_tables(4, 300, valence)
    look_up = jax.jit(relax.look_up, static_argnames="valence")
    values = look_up(jnp.asarray(tables), *all_pairs(300, valence), valence=valence)
    np.testing.assert_array_equal(values, tables)


@pytest.mark.parametrize("valence", [4, 5])
def test_look_up_of_higher_valence_is_rounded(valence):
    tables = random_tables(4, 300, valence)
    values = relax.look_up(jnp.asarray(tables), *all_pairs(300, valence), valence=valence)
    np.testing.assert_allclose(values, tables, atol=1e-6)


@pytest.mark.parametrize("valence", VALENCES)
def test_look_up_passes_the_chord_slope_to_its_inputs(valence):
    tables = random_tables(5, 20, valence)
    a, b = all_pairs(20, valence)

    def total(a, b):
        return relax.look_up(jnp.asarray(tables), a, b, valence=valence).sum()

    slope_a, slope_b = jax.jit(jax.grad(total, argnums=(0, 1)))(a, b)
    grid = tables.reshape(20, valence, valence)
    chord_a = np.repeat((grid[:, -1:, :] - grid[:, :1, :]) / 2, valence, axis=1)
    chord_b = np.repeat((grid[:, :, -1:] - grid[:, :, :1]) / 2, valence, axis=2)
    np.testing.assert_allclose(slope_a, chord_a.reshape(20, -1), atol=1e-4)
    np.testing.assert_allclose(slope_b, chord_b.reshape(20, -1), atol=1e-4)


@pytest.mark.parametrize("valence", VALENCES)
def test_look_up_passes_the_gradient_to_the_entry_looked_up(valence):
    tables = jnp.asarray(random_tables(6, 1, valence))
    pairs = all_pairs(1, valence)
    jacobian_of = jax.jacrev(lambda t: relax.look_up(t, *pairs, valence=valence)[0])
    jacobian = jax.jit(jacobian_of)(tables)
    np.testing.assert_allclose(jacobian[:, 0], np.eye(valence**2), atol=1e-4)


@pytest.mark.parametrize("valence", VALENCES)
def test_rounding_is_that_of_the_core(valence):
    # Two thirds and its negative, the other ties of valence 4, are not floats.
    ties = np.array([-0.75, -0.5, -0.25, -0.0, 0.0, 0.25, 0.5, 0.75])
    x = np.concatenate([np.random.default_rng(7).normal(0, 2, 5000), ties]).astype(np.float32)
    expected = gates.round_to_values(x, valence)
    rounded = relax.round_to_values(jnp.asarray(x), valence=valence)
    np.testing.assert_allclose(rounded, expected, atol=1e-6)
    if valence <= 3:
        np.testing.assert_array_equal(rounded, expected)


def test_ties_of_trits_go_to_unknown_and_their_neighbours_do_not():
    ties = np.array([-0.5, 0.5], dtype=np.float32)
    inner, outer = np.nextafter(ties, np.float32(0)), np.nextafter(ties, np.sign(ties) * 2)
    np.testing.assert_array_equal(relax.round_to_values(jnp.asarray(ties)), [0, 0])
    np.testing.assert_array_equal(relax.round_to_values(jnp.asarray(inner)), [0, 0])
    np.testing.assert_array_equal(relax.round_to_values(jnp.asarray(outer)), [-1, 1])
    np.testing.assert_array_equal(gates.round_to_values(outer), [-1, 1])


def test_straight_through_rounds_exactly_and_passes_the_gradient():
    x = jnp.asarray(np.random.default_rng(8).normal(0, 50, 1000).astype(np.float32))
    np.testing.assert_array_equal(relax.round_straight_through(x), relax.round_to_values(x))
    gradient = jax.grad(lambda x: (relax.round_straight_through(x) * 3).sum())(x)
    np.testing.assert_array_equal(gradient, np.full(1000, 3))


@pytest.mark.parametrize("valence", VALENCES)
@pytest.mark.parametrize("deviation", [0.45, 3.0])
def test_commitment_is_the_mean_squared_rounding_error(valence, deviation):
    w = np.random.default_rng(9).normal(0, deviation, (50, valence**2)).astype(np.float32)
    soft = relax.soft_table(jnp.asarray(w), valence=valence)
    error = np.asarray(soft) - gates.polynomial_table(w, valence)
    measured = relax.commitment(soft, valence=valence)
    np.testing.assert_allclose(measured, np.mean(error**2), rtol=1e-4)
    values = gates.truth_values(valence)
    distance = np.abs(np.asarray(soft)[..., None] - values).min(axis=-1)
    np.testing.assert_allclose(measured, np.mean(distance**2), rtol=1e-4)


def test_commitment_pulls_towards_the_nearest_value():
    gradient = jax.grad(relax.commitment)(jnp.array([[0.4, 0.6, -2.0, 1.0]]))
    np.testing.assert_allclose(gradient, np.array([[0.4, -0.4, -1.0, 0.0]]) / 2, atol=1e-6)


def test_commitment_weight_is_annealed():
    weights = [
        float(relax.commitment_weight(jnp.float32(progress), maximum=0.1, power=2.0))
        for progress in (0, 0.5, 1)
    ]
    assert weights == pytest.approx([0, 0.025, 0.1])


def test_projection_to_kleene_is_that_of_the_circuit():
    tables = gates.gate_table(np.arange(gates.num_gates())).astype(np.float32)
    projected = relax.project_to_kleene(jnp.asarray(tables))
    np.testing.assert_array_equal(projected, monotone.project(tables))
