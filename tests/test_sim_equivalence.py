import dataclasses
import re

import numpy as np
import pytest
from circuits import random_encoder, random_netlist
from hypothesis import given, settings
from hypothesis import strategies as st

from trilut import Encoder, Feature, FeatureVectors, Head, Netlist, NetlistError, sim
from trilut.circuit.optimize import optimize
from trilut.sim import equivalence


def with_table(net, gate, table):
    tables = net.table.copy()
    tables[gate] = table
    return dataclasses.replace(net, table=tables)


def plain_netlist(num_inputs=3, num_outputs=2, **settings):
    return random_netlist(
        0, num_inputs=num_inputs, num_gates=9, num_outputs=num_outputs, **settings
    )


@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 3]), st.booleans())
@settings(deadline=None, max_examples=40)
def test_optimised_netlist_is_proven_equal(seed, valence, with_encoder):
    net = random_netlist(
        seed,
        num_inputs=4,
        num_gates=20,
        num_outputs=4,
        valence=valence,
        with_encoder=with_encoder,
    )
    comparison = sim.compare(net, optimize(net).netlist)
    assert comparison.counterexample is None
    assert comparison.exhaustive
    assert sim.counterexample(net, net) is None


@given(st.integers(0, 2**32 - 1), st.integers(0, 8))
@settings(deadline=None, max_examples=60)
def test_exhaustive_search_misses_nothing(seed, row):
    net = random_netlist(seed, num_inputs=4, num_gates=12, num_outputs=3)
    table = net.table[-1].copy()
    table[row] = (table[row] + 2) % 3 - 1
    other = with_table(net, -1, table)
    inputs = np.concatenate(list(sim.all_inputs(net)))
    differs = bool((net.evaluate(inputs) != other.evaluate(inputs)).any())
    found = sim.counterexample(net, other)
    assert (found is not None) == differs
    if found is not None:
        first = net.evaluate([found.inputs])[0]
        second = other.evaluate([found.inputs])[0]
        assert found.outputs == tuple(np.flatnonzero(first != second))
        assert found.first == tuple(first[list(found.outputs)])
        assert found.second == tuple(second[list(found.outputs)])


def test_all_trits():
    net = plain_netlist()
    inputs = np.concatenate(list(sim.all_inputs(net)))
    assert len(np.unique(inputs, axis=0)) == len(inputs) == 27
    bits = np.concatenate(list(sim.all_inputs(plain_netlist(valence=2))))
    assert len(np.unique(bits, axis=0)) == len(bits) == 8


def test_all_features_in_batches(monkeypatch):
    monkeypatch.setattr(equivalence, "_BATCH", 7)
    net = random_netlist(1, num_inputs=6, num_gates=9, num_outputs=2, with_encoder=True)
    batches = list(sim.all_inputs(net))
    assert all(len(batch) <= 7 for batch in batches)
    vectors = FeatureVectors.concatenate(batches)
    trits = net.encoder.trits(vectors)
    # Whatever a sample holds, its trits are among them.
    samples = np.random.default_rng(0).uniform(-40, 80, (500, 3))
    samples[::5, 0] = np.nan
    seen = {tuple(row) for row in trits.tolist()}
    assert {tuple(row) for row in net.encoder.encode(samples).tolist()} <= seen


def test_thresholds_of_both_encoders_are_tried():
    encoders = [Encoder((Feature("x", 32),), [0], [limit], [limit]) for limit in (10**9, 10**9 + 1)]
    first, second = (Netlist.of_gates(1, [], [], [], [0], encoder=encoder) for encoder in encoders)
    assert sim.counterexample(first, second) == sim.Counterexample((10**9,), (0,), (1,), (-1,))


def test_missing_feature_is_tried():
    features = (Feature("x", 4),)
    first, second = (
        Netlist.of_gates(
            1, [], [], [], [0], encoder=Encoder(features, [0], [3], [3], missing=missing)
        )
        for missing in (0, -1)
    )
    assert sim.counterexample(first, second) == sim.Counterexample((None,), (0,), (0,), (-1,))


def test_scores_are_compared_where_outputs_differ_in_number():
    classes = ("a", "b")
    first = Netlist.of_gates(2, [], [], [], [0, 1], head=Head(classes, (1, 1)))
    same = Netlist.of_gates(2, [np.zeros(9)], [0], [0], [0, 2, 1], head=Head(classes, (2, 1)))
    other = Netlist.of_gates(2, [], [], [], [0, 0, 1], head=Head(classes, (2, 1)))
    assert sim.compare(first, same) == sim.Comparison(None, 9, True)
    found = sim.counterexample(first, other)
    assert found == sim.Counterexample((-1, -1), (0,), (-1,), (-2,))


@pytest.mark.parametrize("with_encoder", [False, True])
def test_large_netlists_are_tried_at_random(with_encoder):
    net = random_netlist(3, num_inputs=40, num_gates=200, num_outputs=20, with_encoder=with_encoder)
    comparison = sim.compare(net, optimize(net).netlist, num_random=2000)
    assert comparison.counterexample is None
    assert not comparison.exhaustive
    assert comparison.num_tried > 2000
    constant = with_table(net, slice(None), np.ones(9))
    assert sim.compare(net, constant, num_random=2000).counterexample is not None


def test_limit():
    net = plain_netlist(name="plain")
    assert not sim.compare(net, net, limit=26, num_random=10).exhaustive
    with pytest.raises(NetlistError, match=r"^Netlist 'plain' has 27 inputs to try, more than 26$"):
        sim.all_inputs(net, limit=26)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (
            plain_netlist(num_inputs=4, with_encoder=True, name="b"),
            "Netlists 'a' and 'b' take different inputs: only one has an encoder",
        ),
        (
            plain_netlist(num_inputs=4, name="b"),
            "Netlists 'a' and 'b' take different inputs: 3 trits and 4 trits",
        ),
        (
            plain_netlist(valence=2, name="b"),
            "Netlists 'a' and 'b' take different inputs: 3 trits and 3 bits",
        ),
        (
            plain_netlist(num_outputs=3, name="b"),
            "Netlists 'a' and 'b' have 2 and 3 outputs and not the same classes, "
            "so there is nothing to compare",
        ),
    ],
)
def test_netlists_that_cannot_be_compared(other, message):
    with pytest.raises(NetlistError, match=f"^{re.escape(message)}$"):
        sim.compare(plain_netlist(name="a"), other)


def test_other_features():
    first, second = (
        Netlist.of_gates(4, [], [], [], [0], encoder=random_encoder(0, size), name=name)
        for name, size in (("a", 4), ("b", 4))
    )
    renamed = dataclasses.replace(
        second.encoder, features=(Feature("other", 3), second.encoder.features[1])
    )
    with pytest.raises(
        NetlistError,
        match=r"^Netlists 'a' and 'b' take different inputs: "
        r"their encoders have different features$",
    ):
        sim.compare(first, dataclasses.replace(second, encoder=renamed))
