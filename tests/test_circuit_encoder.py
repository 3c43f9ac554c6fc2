import numpy as np
import pytest

from trilut import Encoder, Feature, FeatureVectors, NetlistError
from trilut.circuit.limits import MAX_INTEGER


def plain_trits(encoder, samples):
    """Encode by the definition, one value at a time."""
    rows = []
    for sample in samples:
        row = []
        columns = (encoder.feature, encoder.low, encoder.high, encoder.missing)
        for feature, low, high, missing in zip(*columns, strict=True):
            x = sample[feature]
            row.append(missing if np.isnan(x) else int(x >= high) - int(x < low))
        rows.append(row)
    return np.array(rows)


@pytest.mark.parametrize("bits", [8, 15, 16, 17, 32])
@pytest.mark.parametrize("missing", [0, -1])
@pytest.mark.parametrize("signed", [False, True])
def test_trits_of_every_width_are_those_of_the_definition(bits, missing, signed):
    feature = Feature("f", bits, signed=signed)
    edges = [feature.minimum, feature.minimum + 1, 0, feature.maximum - 1, feature.maximum]
    low, high = (np.ravel(axis) for axis in np.meshgrid(edges, edges))
    ordered = low <= high
    encoder = Encoder(
        (feature, feature), np.arange(ordered.sum()) % 2, low[ordered], high[ordered], missing
    )
    samples = np.array([[a, b] for a in [*edges, np.nan] for b in edges])
    np.testing.assert_array_equal(encoder.encode(samples), plain_trits(encoder, samples))


def test_samples_encoded_in_blocks_are_those_encoded_at_once():
    x = np.random.default_rng(0).integers(0, 16, (5000, 2)).astype(np.float64)
    x[::7, 1] = np.nan
    encoder = Encoder((Feature("f", 4), Feature("g", 4)), [0, 1, 1], [3, 5, 9], [5, 5, 12])
    np.testing.assert_array_equal(encoder.encode(x), encoder.trits(encoder.quantize(x)))
    assert encoder.encode(x[:0]).shape == (0, 3)


def test_thresholds_and_integers_far_outside_every_feature():
    edges = np.array([-MAX_INTEGER, -1, 0, MAX_INTEGER])
    encoder = Encoder((Feature("f", 8),), [0] * 4, edges, edges)
    lowest = np.iinfo(np.int64).min
    vectors = FeatureVectors(np.array([[lowest], [-1], [0]]), np.ones((3, 1), dtype=bool))
    assert encoder.trits(vectors).tolist() == [[-1] * 4, [1, 1, -1, -1], [1, 1, 1, -1]]


@pytest.mark.parametrize(
    ("low", "high", "message"),
    [
        (
            [0, -(1 << 62)],
            [0, 3],
            f"Encoder trit 1 has the thresholds {-(1 << 62)} and 3, "
            f"expected {-MAX_INTEGER}…{MAX_INTEGER}",
        ),
        (
            [0, 0],
            [1 << 62, 0],
            f"Encoder trit 0 has the thresholds 0 and {1 << 62}, "
            f"expected {-MAX_INTEGER}…{MAX_INTEGER}",
        ),
        ([0, 0], [0, 1 << 70], "Encoder 'high' has other values than integers of 64 bits"),
        (
            np.array([1 << 63, 0], dtype=np.uint64),
            [0, 0],
            "Encoder 'low' has other values than integers of 64 bits",
        ),
        ([0, 0.5], [0, 1], "Encoder 'low' has other values than integers of 64 bits"),
    ],
)
def test_thresholds_out_of_their_bounds(low, high, message):
    with pytest.raises(NetlistError) as caught:
        Encoder((Feature("f", 8),), [0, 0], low, high)
    assert str(caught.value) == message
