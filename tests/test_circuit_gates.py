import itertools

import numpy as np
import pytest

from trilut.circuit.gates import (
    NAMED_GATES,
    evaluation_matrix,
    exponents,
    fourier_matrix,
    fourier_norms,
    fourier_spectrum,
    gate_id,
    gate_name,
    gate_table,
    num_gates,
    parse_gate,
    polynomial,
    polynomial_table,
    round_to_values,
    table_text,
    truth_values,
)
from trilut.errors import NetlistError

ALL_TERNARY = gate_table(np.arange(num_gates()))


@pytest.mark.parametrize(("valence", "count"), [(2, 16), (3, 19683), (4, 4294967296)])
def test_number_of_gates(valence, count):
    assert num_gates(valence) == count


@pytest.mark.parametrize("valence", [2, 3])
def test_ids_and_tables_are_one_to_one(valence):
    ids = np.arange(num_gates(valence))
    assert np.array_equal(gate_id(gate_table(ids, valence), valence), ids)


def test_id_counts_levels_from_the_first_row():
    assert gate_id([0, -1, -1, -1, -1, -1, -1, -1, -1]) == 1
    assert gate_id([-1, 1, -1, -1, -1, -1, -1, -1, -1]) == 6


def test_id_out_of_range():
    with pytest.raises(NetlistError, match=r"^Gate id 19683 is not in 0…19682$"):
        gate_table([3, 19683])


def test_valence_below_two():
    with pytest.raises(ValueError, match=r"^Valence must be at least 2, not 1$"):
        truth_values(1)


def test_ties_round_towards_zero():
    ties = [-1.5, -0.5, 0.5, 1.5, -0.51, 0.51, 7, -7]
    assert round_to_values(ties).tolist() == [-1, 0, 0, 1, -1, 1, 1, -1]
    assert round_to_values([0.0, 1e-300, -1e-300], 2).tolist() == [-1, 1, -1]
    assert np.allclose(round_to_values([2 / 3, -2 / 3, 0], 4), [1 / 3, -1 / 3, -1 / 3])


def test_monomials_stand_in_the_order_of_the_paper():
    assert exponents() == [
        (0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (0, 2), (2, 1), (1, 2), (2, 2),
    ]  # fmt: skip


@pytest.mark.parametrize("valence", [2, 3, 4])
def test_polynomial_passes_through_its_table(valence):
    rng = np.random.default_rng(valence)
    tables = rng.choice(truth_values(valence), (50, valence**2))
    assert np.allclose(polynomial(tables, valence) @ evaluation_matrix(valence).T, tables)
    assert np.allclose(polynomial_table(polynomial(tables, valence), valence), tables)


def test_polynomials_of_all_gates_harden_to_their_gates():
    assert np.array_equal(polynomial_table(polynomial(ALL_TERNARY)), ALL_TERNARY)


def test_kleene_and_is_not_bilinear():
    # The paper calls it so; the squares are needed: min(a,b) = ½(a+b+ab−a²−b²+a²b²).
    expected = np.array([0, 1, 1, 1, -1, -1, 0, 0, 1]) / 2
    assert np.allclose(polynomial(NAMED_GATES["and"]), expected)


def test_only_the_two_products_are_pure_interactions():
    coefficients = np.abs(polynomial(ALL_TERNARY)) > 1e-9
    pure = coefficients[:, 3] & (coefficients.sum(axis=1) == 1)
    assert sorted(np.flatnonzero(pure)) == sorted([parse_gate("xor"), parse_gate("xnor")])


@pytest.mark.parametrize("valence", [2, 3, 4])
def test_fourier_basis_is_orthogonal(valence):
    basis = fourier_matrix(valence)
    norms = np.outer(fourier_norms(valence), fourier_norms(valence)).ravel()
    assert np.allclose(basis.T @ basis / valence**2, np.diag(norms))


def test_fourier_norms_of_trits():
    assert np.allclose(fourier_norms(), [1, 2 / 3, 2 / 9])


def test_fourier_spectrum_rebuilds_every_table():
    spectrum = fourier_spectrum(ALL_TERNARY).reshape(-1, 9)
    assert np.allclose(spectrum @ fourier_matrix().T, ALL_TERNARY)


def test_fourier_spectrum_of_a_projection():
    spectrum = fourier_spectrum(NAMED_GATES["a"])
    expected = np.zeros((3, 3))
    expected[1, 0] = 1
    assert np.allclose(spectrum, expected)


def test_named_gates_mean_what_they_say():
    for (a, b), row in zip(itertools.product((-1, 0, 1), repeat=2), range(9), strict=True):
        assert NAMED_GATES["and"][row] == min(a, b)
        assert NAMED_GATES["or"][row] == max(a, b)
        assert NAMED_GATES["xor"][row] == -a * b
        assert NAMED_GATES["implies"][row] == max(-a, b)
        assert NAMED_GATES["consensus"][row] == (a if a == b else 0)


@pytest.mark.parametrize("text", ["and", "AND", "----00-0+", "15633"])
def test_gate_by_name_table_or_id(text):
    assert parse_gate(text) == 15633
    assert gate_name(15633) == "and"
    assert table_text(gate_table(15633)) == "----00-0+"


@pytest.mark.parametrize("text", ["19683", "-1", "andy", "+++", "²", ""])
def test_not_a_gate(text):
    names = ", ".join(NAMED_GATES)
    with pytest.raises(NetlistError) as caught:
        parse_gate(text)
    expected = f"Gate {text!r} is not an id in 0…19682, nine of '-0+', or one of {names}"
    assert str(caught.value) == expected


def test_most_gates_have_no_name():
    assert gate_name(12345) is None
