import dataclasses

import numpy as np
import pytest
from circuits import random_netlist

from trilut import Encoder, Feature, Netlist
from trilut.data import Split
from trilut.errors import NetlistError
from trilut.measure.evaluation import evaluate_split
from trilut.measure.narrow import drop_features, narrow_features, search_feature_bits


def test_narrow_feature_is_the_wide_one_without_its_lowest_bits():
    encoder = Encoder((Feature("u", 8, scale=3.0, offset=0.7),), [0], [64], [192])
    netlist = Netlist.of_gates(1, np.empty((0, 9)), [], [], [0], encoder=encoder)
    narrow = narrow_features(netlist, 3).encoder
    samples = np.linspace(-5, 100, 1000)[:, None]
    wide_values = encoder.quantize(samples).values
    assert np.array_equal(narrow.quantize(samples).values, wide_values >> 5)
    # Thresholds that are multiples of what is dropped do not move.
    assert np.array_equal(narrow.encode(samples), encoder.encode(samples))


def test_narrow_enough_features_stay():
    netlist = random_netlist(0, num_inputs=6, num_gates=5, num_outputs=2, with_encoder=True)
    same = narrow_features(netlist, 8).encoder
    assert same.features == netlist.encoder.features
    assert np.array_equal(same.low, netlist.encoder.low)


def test_search_keeps_the_accuracy():
    netlist = random_netlist(
        0, num_inputs=6, num_gates=30, num_outputs=6, num_classes=2, with_encoder=True
    )
    wide = tuple(dataclasses.replace(f, bits=12, signed=False) for f in netlist.encoder.features)
    rng = np.random.default_rng(0)
    thresholds = np.sort(rng.integers(0, 4096, (2, 6)), axis=0)
    encoder = dataclasses.replace(
        netlist.encoder, features=wide, low=thresholds[0], high=thresholds[1]
    )
    netlist = dataclasses.replace(netlist, encoder=encoder)
    x = rng.integers(0, 4096, (2000, 3)).astype(float)
    split = Split(x, netlist.classify(encoder.encode(x)).chosen)
    found = search_feature_bits(netlist, split, tolerance=0.01)
    assert evaluate_split(found, split).accuracy >= 0.99
    bits = max(feature.bits for feature in found.encoder.features)
    assert bits < 12
    assert evaluate_split(narrow_features(netlist, bits - 1), split).accuracy < 0.99


def test_without_encoder():
    netlist = random_netlist(0, num_inputs=2, num_gates=1, num_outputs=1)
    with pytest.raises(
        NetlistError, match=r"^Netlist 'net' has no encoder, so it has no features$"
    ):
        narrow_features(netlist, 3)


@pytest.mark.parametrize("seed", range(4))
def test_dropped_features_change_no_output(seed):
    netlist = random_netlist(
        seed, num_inputs=40, num_gates=12, num_outputs=4, with_encoder=True, valence=2 + seed % 2
    )
    smaller = drop_features(netlist)
    names = [feature.name for feature in smaller.encoder.features]
    assert len(names) < len(netlist.encoder.features)
    samples = np.random.default_rng(seed).integers(-8, 64, (200, len(netlist.encoder.features)))
    columns = [int(name.removeprefix("f")) for name in names]
    assert columns == sorted(columns)
    np.testing.assert_array_equal(
        smaller.evaluate(smaller.encoder.encode(samples[:, columns])),
        netlist.evaluate(netlist.encoder.encode(samples)),
    )


def test_constants_need_no_features():
    encoder = Encoder((Feature("u", 8), Feature("v", 8)), [0, 1], [64, 64], [192, 192])
    constant, wire = np.ones(9), np.repeat([-1, 0, 1], 3)
    netlist = Netlist.of_gates(2, [constant, wire], [0, 1], [0, 1], [2, 3], encoder=encoder)
    smaller = drop_features(netlist)
    assert [feature.name for feature in smaller.encoder.features] == ["v"]
    assert smaller.evaluate([[-1], [1]]).tolist() == [[1, -1], [1, 1]]


def test_drop_features_without_an_encoder():
    netlist = random_netlist(0, num_inputs=2, num_gates=1, num_outputs=1, name="bare")
    with pytest.raises(
        NetlistError, match=r"^Netlist 'bare' has no encoder, so it has no features$"
    ):
        drop_features(netlist)
