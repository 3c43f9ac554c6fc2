import numpy as np
import pytest

from trilut.errors import DataError, NetlistError
from trilut.training import fit_encoder

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


def test_nothing_to_learn():
    with pytest.raises(
        DataError,
        match=r"^No feature tells the training samples apart, so there is nothing to learn$",
    ):
        fit_encoder(column(2.5, 2.5), ("f",))


def test_range_that_no_scale_can_hold():
    with pytest.raises(
        NetlistError,
        match=r"^Feature 'f' has scale 0\.0 and offset 0\.0, "
        r"expected finite numbers and a scale other than 0$",
    ):
        fit_encoder(column(-1.7e308, 1.7e308), ("f",))
