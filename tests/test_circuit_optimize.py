import itertools

import numpy as np
import pytest
from circuits import random_netlist

from trilut import Encoder, Feature, Netlist
from trilut.circuit.gates import NAMED_GATES
from trilut.circuit.optimize import optimize
from trilut.circuit.reach import encoder_regions, observed_rows, reachable_rows

GATES = {name: table.tolist() for name, table in NAMED_GATES.items()}


def inputs_of(netlist, seed=0, count=400):
    rng = np.random.default_rng(seed)
    if netlist.encoder is None:
        values = [-1, 1] if netlist.valence == 2 else [-1, 0, 1]
        if netlist.num_inputs <= 5:
            return np.array(list(itertools.product(values, repeat=netlist.num_inputs)))
        return rng.choice(values, (count, netlist.num_inputs))
    limits = [(f.minimum, f.maximum) for f in netlist.encoder.features]
    samples = np.stack([rng.integers(low, high + 1, count) for low, high in limits], axis=1)
    samples = np.where(rng.random(samples.shape) < 0.1, np.nan, samples)
    return netlist.encoder.encode(samples)


@pytest.mark.parametrize("valence", [2, 3])
@pytest.mark.parametrize("with_encoder", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_optimised_netlist_computes_the_same(seed, valence, with_encoder):
    netlist = random_netlist(
        seed,
        num_inputs=2 + seed % 7,
        num_gates=5 + 20 * seed,
        num_outputs=1 + seed,
        valence=valence,
        with_encoder=with_encoder,
    )
    smaller = optimize(netlist).netlist
    inputs = inputs_of(netlist, seed)
    assert np.array_equal(smaller.evaluate(inputs), netlist.evaluate(inputs))
    assert smaller.num_gates <= netlist.num_gates
    assert smaller.valence == valence


@pytest.mark.parametrize("with_encoder", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_reachable_rows_hold_every_row_that_occurs(seed, with_encoder):
    netlist = random_netlist(
        seed, num_inputs=6, num_gates=40, num_outputs=3, with_encoder=with_encoder
    )
    occurring = observed_rows(netlist, inputs_of(netlist, seed))
    assert not np.any(occurring & ~reachable_rows(netlist))


def test_unary_gates_are_absorbed():
    # not(a) and not(b) feed an and: one gate remains, nor.
    tables = [GATES["not_a"], GATES["not_b"], GATES["and"]]
    netlist = Netlist.of_gates(2, tables, [0, 1, 2], [1, 1, 3], [4])
    result = optimize(netlist)
    assert result.gates == (3, 1)
    assert result.netlist.table.tolist() == [GATES["nor"]]


def test_buffers_and_constants_vanish():
    # and(a, true) is a.
    tables = [GATES["true"], GATES["and"], GATES["a"]]
    netlist = Netlist.of_gates(1, tables, [0, 0, 2], [0, 1, 2], [3])
    result = optimize(netlist)
    assert result.netlist.num_gates == 0
    assert result.netlist.outputs.tolist() == [0]


def test_constant_output_keeps_one_gate():
    netlist = Netlist.of_gates(1, [GATES["and"], GATES["false"]], [0, 1], [0, 1], [2, 2])
    result = optimize(netlist).netlist
    assert result.num_gates == 1
    assert result.evaluate([[-1], [0], [1]]).tolist() == [[-1, -1]] * 3


def test_dead_gates_are_left_out():
    netlist = Netlist.of_gates(
        2, [GATES["and"], GATES["or"], GATES["xor"]], [0, 0, 2], [1, 1, 3], [3]
    )
    assert optimize(netlist).netlist.table.tolist() == [GATES["or"]]


def test_twins_are_merged_also_with_swapped_inputs():
    implies, implied_by = GATES["implies"], GATES["implied_by"]
    netlist = Netlist.of_gates(2, [implies, implied_by, GATES["xor"]], [0, 1, 2], [1, 0, 3], [2, 3])
    result = optimize(netlist).netlist
    assert result.num_gates == 1
    assert result.outputs.tolist() == [2, 2]


def test_same_net_on_both_inputs_is_a_unary_gate():
    netlist = Netlist.of_gates(1, [GATES["xnor"], GATES["or"]], [0, 1], [0, 0], [2])
    result = optimize(netlist).netlist
    # a·a or a: one function of a.
    assert result.num_gates == 1
    assert result.evaluate([[-1], [0], [1]]).ravel().tolist() == [1, 0, 1]


def test_two_trits_of_one_feature_exclude_rows():
    netlist = random_netlist(0, num_inputs=4, num_gates=1, num_outputs=1, with_encoder=True)
    assert netlist.encoder is not None
    regions = encoder_regions(netlist.encoder, 0)
    # Two trits with ordered thresholds have at most six regions, the missing one included.
    assert len(regions) <= 6


def test_rows_behind_more_features_than_numpy_has_dimensions():
    features = tuple(Feature(f"x{index}", bits=4) for index in range(100))
    # Two trits of the last feature: never the first at +1 while the second is at −1.
    encoder = Encoder(features, [99, 99], [8, 4], [8, 4])
    netlist = Netlist.of_gates(2, [GATES["and"]], [0], [1], [2], encoder=encoder)
    rows = reachable_rows(netlist)[0].reshape(3, 3)
    assert rows.tolist() == [[True, False, True], [False, True, False], [False, False, True]]


def test_lossy_optimisation_agrees_on_the_training_inputs():
    netlist = random_netlist(3, num_inputs=12, num_gates=200, num_outputs=20)
    rng = np.random.default_rng(0)
    training = rng.integers(-1, 2, (30, 12)).astype(np.int8)
    exact = optimize(netlist).netlist
    lossy = optimize(netlist, training_trits=training).netlist
    assert lossy.num_gates < exact.num_gates
    assert np.array_equal(lossy.evaluate(training), netlist.evaluate(training))
