import math
import re

import numpy as np
import pytest

from trilut.data import load_dataset
from trilut.errors import DataError
from trilut.measure.metrics import encoding_ceiling
from trilut.training import fit_encoder
from trilut.training.encoding import equal_information, measure_encoding

NAN = float("nan")


def column(*values):
    return np.array(values, dtype=np.float64)[:, None]


def spread(count=1000):
    return np.linspace(-2.0, 6.0, count)[:, None]


def test_uniform_thresholds_cut_the_range_in_equal_parts():
    encoder = fit_encoder(spread(), ("f",), thresholds=3, delta=0.25)
    np.testing.assert_array_equal(encoder.low, [56, 120, 184])
    np.testing.assert_array_equal(encoder.high, [72, 136, 200])
    feature = encoder.features[0]
    assert (feature.name, feature.bits, feature.signed) == ("f", 8, False)
    assert (feature.scale, feature.offset) == (32, 64)


def test_one_threshold_with_bands_that_touch():
    encoder = fit_encoder(np.arange(256.0)[:, None], ("pixel",), thresholds=1, delta=1.0)
    assert (encoder.low.tolist(), encoder.high.tolist()) == ([64], [192])


def test_quantile_thresholds_cut_the_samples_in_equal_parts():
    x = np.random.default_rng(0).exponential(size=(4000, 1))
    encoder = fit_encoder(x, ("f",), thresholds=3, delta=0.0, spacing="quantile", bits=16)
    above = (encoder.encode(x) > 0).mean(axis=0)
    np.testing.assert_allclose(above, [0.75, 0.5, 0.25], atol=0.01)


@pytest.mark.parametrize("spacing", ["uniform", "quantile"])
@pytest.mark.parametrize("delta", [0.0, 0.25, 1.0])
def test_delta_is_the_share_of_the_spacing_that_is_unknown(spacing, delta):
    x = np.random.default_rng(1).uniform(-1, 1, (20000, 1))
    encoder = fit_encoder(x, ("f",), thresholds=3, delta=delta, spacing=spacing, bits=12)
    unknown = (encoder.encode(x) == 0).mean(axis=0)
    np.testing.assert_allclose(unknown, delta / 4, atol=0.01)


def test_no_band_makes_a_binary_encoding():
    encoder = fit_encoder(spread(), ("f",), delta=0.0)
    np.testing.assert_array_equal(encoder.low, encoder.high)


def test_integers_that_fit_are_taken_as_they_come():
    feature = fit_encoder(column(0, 16, 3, 7), ("pixel",)).features[0]
    assert (feature.scale, feature.offset) == (1, 0)


@pytest.mark.parametrize("values", [(-1, 3), (0, 300), (0, 1.5)])
def test_other_values_are_scaled(values):
    assert fit_encoder(column(*values), ("f",)).features[0].scale != 1


def test_few_levels_keep_an_unknown_band():
    encoder = fit_encoder(np.arange(17.0)[:, None], ("pixel",), thresholds=3, delta=0.25)
    assert np.all(encoder.low < encoder.high)


def test_missing_values_are_left_out_of_the_fit_and_are_unknown():
    x = np.concatenate([spread(), column(NAN)])
    encoder = fit_encoder(x, ("f",))
    whole = fit_encoder(spread(), ("f",))
    np.testing.assert_array_equal(encoder.low, whole.low)
    assert encoder.encode(x)[-1].tolist() == [0, 0, 0]


@pytest.mark.parametrize("constant", [0.0, -3.5, 1e9, NAN])
def test_constant_feature_has_no_trits_but_stays_a_feature(constant):
    x = np.concatenate([spread(), np.full((1000, 1), constant)], axis=1)
    encoder = fit_encoder(x, ("f", "same"))
    assert [feature.name for feature in encoder.features] == ["f", "same"]
    assert encoder.feature.tolist() == [0, 0, 0]


def test_equal_thresholds_make_one_trit():
    encoder = fit_encoder(column(0, 1, 0, 1), ("bit",), thresholds=5, delta=0.0)
    assert (encoder.low.tolist(), encoder.high.tolist()) == ([1], [1])


def test_equal_features_keep_their_own_trits():
    encoder = fit_encoder(np.repeat(spread(), 2, axis=1), ("f", "spare"))
    assert encoder.feature.tolist() == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize("spacing", ["uniform", "quantile"])
@pytest.mark.parametrize("bits", [1, 2, 8, 32])
def test_thresholds_fit_in_the_bits(spacing, bits):
    encoder = fit_encoder(spread(), ("f",), thresholds=40, delta=1.0, spacing=spacing, bits=bits)
    assert encoder.low.min() >= 0
    assert encoder.high.max() <= encoder.features[0].maximum


def test_bytes_are_encoded_as_numbers_are():
    x = np.random.default_rng(0).integers(0, 256, (5000, 3), dtype=np.uint8)
    names = ("f", "g", "h")
    of_bytes, of_numbers = fit_encoder(x, names), fit_encoder(x.astype(np.float64), names)
    np.testing.assert_array_equal(of_bytes.low, of_numbers.low)
    np.testing.assert_array_equal(of_bytes.encode(x), of_numbers.encode(x.astype(np.float64)))


def test_trit_that_tells_only_what_is_missing():
    # With one value, the trit is +1 where the feature is there and 0 where it is not.
    encoder = fit_encoder(column(3, 3, NAN), ("f",))
    assert encoder.encode(column(3, NAN)).tolist() == [[1], [0]]
    binary = fit_encoder(column(3, 3, NAN), ("f",), valence=2, delta=0.0)
    assert binary.encode(column(3, NAN)).tolist() == [[1], [-1]]


@pytest.mark.parametrize("spacing", ["uniform", "quantile"])
def test_binary_encoder_is_never_unknown(spacing):
    x = np.concatenate([spread(), column(NAN)])
    encoder = fit_encoder(x, ("f",), thresholds=6, delta=0.0, spacing=spacing, valence=2)
    assert encoder.is_binary
    assert encoder.num_trits == 6
    assert encoder.encode(x)[-1].tolist() == [-1] * 6
    assert set(np.unique(encoder.encode(x))) == {-1, 1}


def cells(trits):
    """Return for every pair of samples whether their trits are equal."""
    return (trits[:, None] == trits).all(axis=2)


@pytest.mark.parametrize("delta", [0.0, 0.25, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_equal_information_tells_the_same_samples_apart(seed, delta):
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(300, 2)).round(1)
    ternary = fit_encoder(x, ("f", "g"), thresholds=2, delta=delta)
    binary = equal_information(ternary)
    assert binary.is_binary
    np.testing.assert_array_equal(cells(binary.encode(x)), cells(ternary.encode(x)))
    wanted = generator.integers(0, 2, 300)
    ceilings = [encoding_ceiling(each.encode(x), wanted) for each in (ternary, binary)]
    assert ceilings[0] == ceilings[1]


def test_equal_information_has_two_bits_for_a_trit():
    ternary = fit_encoder(spread(), ("f",), thresholds=3, delta=0.25)
    binary = equal_information(ternary)
    assert binary.low.tolist() == [56, 72, 120, 136, 184, 200]
    # Bands that touch share their edges.
    touching = equal_information(fit_encoder(spread(), ("f",), thresholds=3, delta=1.0))
    assert touching.low.tolist() == [32, 96, 160, 224]


def test_measure_of_an_encoding():
    gaussians = load_dataset("gaussians")
    fine, coarse = (
        measure_encoding(
            fit_encoder(gaussians.train.x, ("x", "y"), thresholds=thresholds), gaussians
        )
        for thresholds in (15, 1)
    )
    assert (fine.trits, fine.bits) == (30, 60)
    assert (coarse.trits, coarse.bits) == (2, 4)
    assert fine.ceiling >= gaussians.bayes_rate - 0.01 > coarse.ceiling
    assert fine.cell_vote < fine.ceiling


def test_binary_encoder_with_a_band():
    with pytest.raises(
        ValueError, match=r"^A binary encoder has no UNKNOWN band, so delta must be 0, not 0\.25$"
    ):
        fit_encoder(spread(), ("f",), valence=2)


def test_other_valences():
    with pytest.raises(ValueError, match=r"^Valence must be 2 or 3, not 4$"):
        fit_encoder(spread(), ("f",), valence=4)


def test_nothing_to_learn():
    with pytest.raises(
        DataError,
        match=r"^No feature tells the training samples apart, so there is nothing to learn$",
    ):
        fit_encoder(column(2.5, 2.5), ("f",))


@pytest.mark.parametrize(
    ("minority", "thresholds"), [(0.0, [64, 128, 192]), (0.02, [64, 128, 192]), (0.03, [64, 128])]
)
def test_trits_that_hardly_differ_are_left_out(minority, thresholds):
    x = np.repeat([0.0, 150.0, 255.0], [50, 48, 2])[:, None]
    assert fit_encoder(x, ("f",), delta=0.0, minority=minority).low.tolist() == thresholds


def test_missing_values_count_for_unknown():
    x = np.array([0.0] * 5 + [255.0] * 5 + [NAN] * 90)[:, None]
    assert fit_encoder(x, ("f",), thresholds=1, delta=0.0, minority=0.1).num_trits == 1
    with pytest.raises(
        DataError,
        match=r"^No feature tells the training samples apart, so there is nothing to learn$",
    ):
        fit_encoder(x, ("f",), thresholds=1, delta=0.0, minority=0.11)


@pytest.mark.parametrize(("lowest", "highest"), [(-1.7e308, 1.7e308), (0.0, 5e-324)])
def test_range_that_cannot_be_spread(lowest, highest):
    with pytest.raises(
        DataError,
        match=rf"^Feature 'f' has values from {re.escape(f'{lowest:g} to {highest:g}')}, "
        r"which double precision cannot spread over 8 bits; rescale it$",
    ):
        fit_encoder(column(lowest, highest), ("f",))


def test_value_far_above_those_that_were_trained_on_is_clamped():
    encoder = fit_encoder(column(0, 1e-300), ("f",), thresholds=1, delta=0.0)
    np.testing.assert_array_equal(encoder.encode(column(-1e300, 1e300)), [[-1], [1]])


def balanced(x, thresholds, delta=0.0, bits=8):
    return fit_encoder(x, ("f",), thresholds=thresholds, delta=delta, spacing="balanced", bits=bits)


def test_balanced_thresholds_are_about_quantiles():
    x = np.random.default_rng(0).exponential(size=(4000, 1))
    above = (balanced(x, 7).encode(x) > 0).mean(axis=0)
    np.testing.assert_allclose(above, np.arange(7, 0, -1) / 8, atol=0.26 / 8)


def test_balanced_thresholds_of_a_column_that_is_mostly_zero():
    generator = np.random.default_rng(0)
    x = np.where(generator.random((4000, 1)) < 0.9, 0.0, generator.lognormal(size=(4000, 1)))
    encoder = balanced(x, 7)
    assert encoder.num_trits == 7
    others = x[x > 0][:, None]
    above = (encoder.encode(others) > 0).mean(axis=0)
    # One part is the zeros; the others share the rest.
    np.testing.assert_allclose(above, np.arange(7, 0, -1) / 7, atol=0.3 / 7)
    assert encoder.encode([[0.0]]).tolist() == [[-1] * 7]


@pytest.mark.parametrize("values", [(0, 1, 5), (-3, 0, 2), (1990, 2000, 2020), (0.5, 0.75, 9.5)])
@pytest.mark.parametrize("delta", [0.0, 0.25])
def test_balanced_thresholds_between_any_two_of_few_values(values, delta):
    x = np.repeat(column(*values), [1000, 2, 1], axis=0)
    encoder = balanced(x, 7, delta)
    assert encoder.encode(column(*values)).tolist() == [[-1, -1], [1, -1], [1, 1]]


@pytest.mark.parametrize(
    ("values", "bits", "offset"), [((0, 15), 4, 0), ((-4, 3), 3, 4), ((1000, 1255), 8, -1000)]
)
def test_balanced_thresholds_leave_whole_numbers_what_they_are(values, bits, offset):
    lowest, highest = values
    feature = balanced(np.arange(lowest, highest + 1.0)[:, None], 7).features[0]
    assert (feature.bits, feature.scale, feature.offset) == (bits, 1, offset)


def test_balanced_thresholds_are_round():
    encoder = balanced(np.arange(256.0)[:, None], 7)
    assert encoder.low.tolist() == [32, 64, 96, 128, 160, 192, 224]


def test_balanced_thresholds_use_the_integers_where_the_samples_are():
    # One of ten thousand lies so far out that eight bits over the range would tell nothing else.
    x = np.concatenate([np.random.default_rng(0).normal(size=(9999, 1)), column(1e9)])
    encoder = balanced(x, 15)
    assert encoder.num_trits == 15
    assert encoder.encode(column(1e9)).tolist() == [[1] * 15]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("bits", [1, 3, 8])
def test_balanced_thresholds_lie_within_the_integers(seed, bits):
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(200, 1)).round(int(generator.integers(3)))
    encoder = balanced(x, int(generator.integers(1, 20)), generator.random(), bits)
    assert encoder.low.min() >= 1
    assert encoder.high.max() <= encoder.features[0].maximum
    assert encoder.num_trits >= 1


@pytest.mark.parametrize("spacing", ["uniform", "quantile", "balanced"])
@pytest.mark.parametrize("seed", range(3))
def test_scale_that_is_a_shift(spacing, seed):
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(500, 4)) * (1e-3, 1, 77, 1e6) + (5, -3, 0, 1e7)
    options = {"thresholds": 5, "spacing": spacing, "bits": 8}
    shifted = fit_encoder(x, tuple("abcd"), scale="power-of-two", **options)
    plain = fit_encoder(x, tuple("abcd"), **options)
    for feature, other in zip(shifted.features, plain.features, strict=True):
        mantissa, exponent = math.frexp(feature.scale)
        assert mantissa == 0.5
        assert feature.offset.is_integer()
        assert other.scale / 2 < feature.scale <= other.scale
        # A shift, which keeps the bits above the point, and an addition.
        column = x[:, shifted.features.index(feature)]
        integers = np.floor(np.ldexp(column, exponent - 1)) + feature.offset
        quantized = shifted.quantize(x).values[:, shifted.features.index(feature)]
        np.testing.assert_array_equal(np.clip(integers, 0, 255), quantized)
    assert shifted.num_trits == plain.num_trits
    # Half a step of 256 moves few trits.
    assert np.mean(shifted.encode(x) != plain.encode(x)) < 0.05
