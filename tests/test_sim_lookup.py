import re

import numpy as np
import pytest
from circuits import random_encoder, random_netlist
from hypothesis import given, settings
from hypothesis import strategies as st

from trilut import DataError, FeatureVectors, Netlist, NetlistError, sim
from trilut.sim.engines import dispatch as engine
from trilut.sim.engines import lookup


@st.composite
def netlists(draw):
    return random_netlist(
        draw(st.integers(0, 2**32 - 1)),
        num_inputs=draw(st.integers(1, 8)),
        num_gates=draw(st.integers(0, 40)),
        num_outputs=draw(st.integers(1, 10)),
        valence=draw(st.sampled_from([2, 3])),
    )


def random_trits(net, num_samples, seed=0):
    values = [-1, 1] if net.valence == 2 else [-1, 0, 1]
    return np.random.default_rng(seed).choice(values, (num_samples, net.num_inputs))


@given(netlists(), st.integers(0, 70), st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_lookup_equals_reference(net, num_samples, seed):
    trits = random_trits(net, num_samples, seed)
    outputs = sim.evaluate(net, trits, engine="lookup")
    assert outputs.dtype == np.int8
    assert np.array_equal(outputs, net.evaluate(trits))


@pytest.mark.parametrize("name", sim.ENGINES)
def test_batches_join_to_the_whole(name, monkeypatch):
    net = random_netlist(3, num_inputs=5, num_gates=50, num_outputs=6, num_classes=3)
    trits = random_trits(net, 100)
    monkeypatch.setattr(engine, "_BATCH_BYTES", 7 * net.num_nets)
    monkeypatch.setattr(lookup, "_BLOCK", 16)
    assert np.array_equal(sim.evaluate(net, trits, engine=name), net.evaluate(trits))
    assert np.array_equal(sim.classify(net, trits, engine=name).scores, net.classify(trits).scores)


def test_batch_is_at_least_one_sample(monkeypatch):
    net = random_netlist(4, num_inputs=3, num_gates=9, num_outputs=2)
    monkeypatch.setattr(engine, "_BATCH_BYTES", 1)
    trits = random_trits(net, 5)
    assert np.array_equal(sim.evaluate(net, trits), net.evaluate(trits))


@pytest.mark.parametrize("name", sim.ENGINES)
@pytest.mark.parametrize("valence", [2, 3])
def test_classify_takes_features_and_samples(name, valence):
    net = random_netlist(
        1,
        num_inputs=8,
        num_gates=30,
        num_outputs=9,
        num_classes=3,
        with_encoder=True,
        valence=valence,
    )
    samples = np.random.default_rng(0).uniform(-10, 40, (200, len(net.encoder.features)))
    samples[::7, 1] = np.nan
    vectors = net.encoder.quantize(samples)
    expected = net.classify(net.encoder.trits(vectors))
    for taken in (samples, vectors):
        decisions = sim.classify(net, taken, engine=name)
        for field in ("scores", "chosen", "margin", "unknown"):
            assert np.array_equal(getattr(decisions, field), getattr(expected, field))


def test_deep_chain():
    depth = 300
    nets = np.arange(depth)
    table = np.tile([1, 0, -1], (depth, 3))
    net = Netlist.of_gates(1, table, nets, nets, [depth - 1, depth])
    trits = np.array([[-1], [0], [1]])
    assert sim.evaluate(net, trits).tolist() == [[1, -1], [0, 0], [-1, 1]]


def test_no_samples():
    net = random_netlist(0, num_inputs=3, num_gates=4, num_outputs=2)
    assert sim.evaluate(net, np.empty((0, 3))).shape == (0, 2)


@pytest.mark.parametrize(
    ("trits", "message"),
    [
        ([[1, 0]], "Inputs have shape (1, 2), expected (samples, 3)"),
        ([1, 0, 1], "Inputs have shape (3,), expected (samples, 3)"),
        ([[1, 0, 2]], "Inputs hold other values than -1, +0, +1"),
        ([[1, 0, np.nan]], "Inputs hold other values than -1, +0, +1"),
    ],
)
@pytest.mark.parametrize("name", sim.ENGINES)
def test_wrong_inputs_give_the_message_of_the_reference(trits, message, name):
    net = random_netlist(0, num_inputs=3, num_gates=4, num_outputs=2)
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        net.evaluate(trits)
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        sim.evaluate(net, trits, engine=name)


@pytest.mark.parametrize("name", sim.ENGINES)
def test_unknown_in_binary_netlist(name):
    net = random_netlist(0, num_inputs=3, num_gates=4, num_outputs=2, valence=2, num_classes=2)
    for run in (sim.evaluate, sim.classify):
        with pytest.raises(DataError, match=r"^Inputs hold other values than -1, \+1$"):
            run(net, [[1, 0, -1]], engine=name)


def test_unknown_engine():
    net = random_netlist(0, num_inputs=3, num_gates=4, num_outputs=2)
    with pytest.raises(
        ValueError, match=r"^Engine 'slow' is not one of 'reference', 'lookup', 'fast', 'jax'$"
    ):
        sim.evaluate(net, [[1, 0, 1]], engine="slow")


def test_classify_without_head():
    net = random_netlist(0, num_inputs=3, num_gates=4, num_outputs=2, name="plain")
    with pytest.raises(NetlistError, match=r"^Netlist 'plain' has no head, so it cannot classify$"):
        sim.classify(net, [[1, 0, 1]])


def test_classify_feature_vectors_without_encoder():
    net = random_netlist(0, num_inputs=4, num_gates=4, num_outputs=2, num_classes=2, name="plain")
    vectors = random_encoder(0, 4).quantize([[1.0, 2.0]])
    assert isinstance(vectors, FeatureVectors)
    with pytest.raises(
        NetlistError, match=r"^Netlist 'plain' has no encoder, so it takes no feature vectors$"
    ):
        sim.classify(net, vectors)
