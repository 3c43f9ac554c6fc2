"""What the paper says of the mathematics: what holds, and what had to be put right."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from trilut.circuit.gates import (
    evaluation_matrix,
    fourier_matrix,
    fourier_norms,
    gate_table,
    parse_gate,
    polynomial,
    round_to_values,
    truth_values,
)


@given(
    st.sampled_from([2, 3, 4]).flatmap(
        lambda q: st.tuples(st.just(q), arrays(float, (3, q * q), elements=st.floats(-4, 4)))
    )
)
def test_commitment_loss_is_the_mean_squared_rounding_error(valence_and_tables):
    # The paper's theorem: an identity of each neuron, also outside [−1, 1].
    valence, tables = valence_and_tables
    distance = np.abs(tables[..., None] - truth_values(valence)).min(axis=-1)
    error = tables - round_to_values(tables, valence)
    assert np.allclose(np.mean(distance**2), np.mean(error**2))


def test_basis_is_orthogonal_but_not_orthonormal():
    basis = fourier_matrix()
    gram = basis.T @ basis / 9
    assert np.allclose(gram, np.diag(np.diag(gram)))
    assert np.allclose(fourier_norms(), [1, 2 / 3, 2 / 9])


def test_condition_of_the_evaluation_matrix():
    assert np.linalg.cond(evaluation_matrix()) == pytest.approx(10.4, abs=0.05)


def test_and_is_not_bilinear():
    # 1, a, b, ab, a², b², a²b, ab², a²b²
    expected = [0, 0.5, 0.5, 0.5, -0.5, -0.5, 0, 0, 0.5]
    assert np.allclose(polynomial(gate_table(parse_gate("and"))), expected)


def test_covering_radius_holds_inside_the_cube_only():
    def error(table):
        return np.linalg.norm(table - round_to_values(table))

    generator = np.random.default_rng(0)
    inside = generator.uniform(-1, 1, (1000, 9))
    assert max(map(error, inside)) <= 1.5
    assert error(np.full(9, 0.5)) == pytest.approx(1.5)
    assert error(np.full(9, 2.0)) == pytest.approx(3)


def test_initial_variance_depends_on_the_inputs():
    variance = 0.45**2 * (evaluation_matrix() ** 2).sum(axis=1).reshape(3, 3)
    assert variance.mean() == pytest.approx(1.10, abs=0.005)
    assert variance[0, 0] == pytest.approx(1.82, abs=0.005)
    assert variance[1, 1] == pytest.approx(0.20, abs=0.005)
