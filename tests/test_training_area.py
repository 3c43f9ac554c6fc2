import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from trilut.circuit.formula import gate_formulas
from trilut.circuit.gates import gate_table
from trilut.data import load_dataset
from trilut.training import TrainingConfig, TrainingError, train
from trilut.training.area import AreaTerm, expected_area, gate_area

ALL_GATES = gate_table(np.arange(3**9)).astype(np.float32)


@pytest.mark.parametrize("is_output", [False, True])
def test_at_a_table_of_truth_values_the_expectation_is_the_cost(is_output):
    expected = expected_area(jnp.asarray(ALL_GATES), is_output=is_output)
    np.testing.assert_allclose(expected, gate_area(ALL_GATES, is_output=is_output), atol=1e-6)


def test_binary_expectation_is_the_mean_over_all_draws():
    rng = np.random.default_rng(0)
    soft = rng.uniform(-1, 1, (5, 4)).astype(np.float32)
    gates = np.array(list(itertools.product([-1.0, 1.0], repeat=4)), dtype=np.float32)
    costs = gate_area(gates, is_output=False, valence=2)
    chances = np.prod((1 + gates[None] * soft[:, None]) / 2, axis=2)
    expected = expected_area(jnp.asarray(soft), is_output=False, valence=2)
    np.testing.assert_allclose(expected, chances @ costs, rtol=1e-5)


def test_outputs_are_pulled_towards_constants_even_where_rows_are_sure():
    soft = jnp.asarray([[1.0, 0, 0, 0, 1, 0, 0, 0, 1]], dtype=jnp.float32)

    def total(tables):
        return jnp.sum(expected_area(tables, is_output=True))

    assert (np.asarray(jax.grad(total)(soft))[0, [0, 4, 8]] > 0.3).all()


def test_cost_counts_the_bits_that_the_planes_read():
    rng = np.random.default_rng(1)
    for gate in rng.integers(0, 3**9, 50).tolist():
        table = ALL_GATES[gate]
        leaves = [len(plane.leaves) for plane in gate_formulas(table.astype(int).tolist())]
        inside, output = (gate_area(table[None], is_output=flag)[0] for flag in (False, True))
        assert inside == pytest.approx(sum(max(0, count - 1) / 3 for count in leaves))
        assert output == pytest.approx(sum((count > 1) + 1.2 * (count > 0) for count in leaves))


def test_constants_and_wires_inside_the_network_are_free():
    constants = np.repeat(np.float32([-1, 0, 1]), 9).reshape(3, 9)
    assert gate_area(constants, is_output=True).tolist() == [0, 0, 0]
    wire = np.repeat(np.float32([-1, 0, 1]), 3)[None]
    assert gate_area(wire, is_output=False).tolist() == [0]


def test_term_is_a_weighted_mean_over_the_gates_of_all_layers():
    layers = (ALL_GATES[:4], ALL_GATES[100:102])
    costs = [*gate_area(layers[0], is_output=False), *gate_area(layers[1], is_output=True)]
    loss = AreaTerm(0.5).loss(tuple(map(jnp.asarray, layers)), valence=3)
    assert float(loss) == pytest.approx(0.5 * np.mean(costs))


def test_gradient_leads_downhill():
    soft = jnp.asarray(np.random.default_rng(2).uniform(-1, 1, (20, 9)).astype(np.float32))

    def total(tables):
        return jnp.sum(expected_area(tables, is_output=False))

    assert total(soft - 0.01 * jax.grad(total)(soft)) < total(soft)


@pytest.mark.parametrize(
    "settings",
    [{"recipe": "hard"}, {"recipe": "noise", "valence": 2}, {"recipe": "paper"}],
)
def test_weight_makes_networks_smaller(settings):
    wine = load_dataset("wine")
    common = {"layers": (48, 24), "steps": 150, "evaluate_every": 150, "keep": "last", **settings}

    def area(**more):
        netlist = train(wine, TrainingConfig.of(**common, **more)).netlist
        tables = netlist.table.astype(np.float32)
        inside, outputs = tables[:48], tables[48:]
        return (
            gate_area(inside, is_output=False, valence=netlist.valence).sum()
            + gate_area(outputs, is_output=True, valence=netlist.valence).sum()
        )

    assert area(area_weight=1.0) < 0.9 * area()


def test_wrong_settings():
    with pytest.raises(
        TrainingError,
        match=r"^Setting 'area_weight' is 0\.1, but it is of the recipe 'hard' or 'paper' or "
        r"'paper-then-hard' or 'noise', not of 'dlgn'$",
    ):
        TrainingConfig.of(layers=(8,), recipe="dlgn", area_weight=0.1)
    with pytest.raises(
        TrainingError, match=r"^Setting 'area_weight' is of valence 2 and 3, not of 5$"
    ):
        TrainingConfig.of(layers=(8,), valence=5, area_weight=0.1)
    with pytest.raises(
        TrainingError, match=r"^Setting 'area_weight' is -1, expected 0 or a positive number$"
    ):
        TrainingConfig.of(layers=(8,), area_weight=-1)
