"""Fitting an encoder to data: the integers that stand for features, and their thresholds."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from trilut.encoder import Encoder, Feature
from trilut.errors import DataError

__all__ = ["Spacing", "fit_encoder"]

# What numpy calls float64 and int64; the aliases keep signatures on one line.
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

Spacing = Literal["uniform", "quantile"]
"""Whether thresholds cut the range of a feature or its samples into equal parts."""


def fit_encoder(
    x: Floats,
    names: tuple[str, ...],
    *,
    thresholds: int = 3,
    delta: float = 0.25,
    spacing: Spacing = "uniform",
    bits: int = 8,
) -> Encoder:
    """Fit integers and thresholds to training samples [sample, feature], NaN where missing.

    Threshold k of K lies at the position (k+1)/(K+1) of its feature, and the trit is UNKNOWN from
    half a band below it to half a band above it. A trit that is the same for all the samples, or
    has the thresholds of another one, tells nothing and is left out.

    Parameters
    ----------
    x : float64 array [sample, feature]
    names : tuple of str
        Names of the features.
    thresholds : int
        Number of thresholds per feature.
    delta : float
        Width of the UNKNOWN band as a share of the distance between thresholds: 0 for none, 1 for
        bands that touch.
    spacing : str
        What a position is a share of: of the range (``uniform``) or of the samples (``quantile``).
    bits : int
        Width of the integers.

    Raises
    ------
    DataError
        If no trit is left.
    """
    columns = zip(x.T, names, strict=True)
    features = tuple(_fit_feature(column, name, bits) for column, name in columns)
    # Thresholds are fitted to the integers that the circuit will see, which need no trits yet.
    none = np.zeros(0, dtype=np.int64)
    vectors = Encoder(features, none, none, none).quantize(x)
    pairs = [
        _fit_thresholds(values[valid], thresholds, delta, spacing)
        for values, valid in zip(vectors.values.T, vectors.valid.T, strict=True)
    ]
    low, high = np.concatenate(pairs, axis=1)
    encoder = Encoder(features, np.repeat(np.arange(len(features)), thresholds), low, high)
    used = _first_of_a_kind(encoder)
    used = used[np.ptp(encoder.trits(vectors)[:, used], axis=0) > 0]
    if len(used) == 0:
        raise DataError("No feature tells the training samples apart, so there is nothing to learn")
    return Encoder(features, encoder.feature[used], low[used], high[used])


def _fit_feature(column: Floats, name: str, bits: int) -> Feature:
    """Return the affine scale that spreads a column over the integers of ``bits`` bits."""
    present = column[~np.isnan(column)]
    # A column without any value is as good as one that is always 0.
    present = present if len(present) else np.zeros(1)
    lowest, highest = float(present.min()), float(present.max())
    levels = 1 << bits
    if np.all(present == np.floor(present)) and lowest >= 0 and highest < levels:
        # Already such integers, as pixels are: the circuit takes them as they come.
        return Feature(name, bits)
    if lowest == highest:
        return Feature(name, bits, offset=levels // 2 - lowest)
    scale = levels / (highest - lowest)
    return Feature(name, bits, scale=scale, offset=0.0 - lowest * scale)


def _fit_thresholds(values: Integers, thresholds: int, delta: float, spacing: Spacing) -> Integers:
    """Return the thresholds [low or high, trit] of one feature from its integers."""
    if len(values) == 0:
        return np.zeros((2, thresholds), dtype=np.int64)
    centre = np.arange(1, thresholds + 1)
    position = np.stack([centre - delta / 2, centre + delta / 2]) / (thresholds + 1)
    if spacing == "quantile":
        cut = np.quantile(values, position)
    else:
        cut = values.min() + position * (values.max() + 1 - values.min())
    # No threshold above the largest value, which might need one bit more than the feature has.
    return np.minimum(np.ceil(cut), values.max()).astype(np.int64)


def _first_of_a_kind(encoder: Encoder) -> Integers:
    """Return the trits without those that have the feature and thresholds of an earlier one."""
    kinds = np.stack([encoder.feature, encoder.low, encoder.high])
    return np.sort(np.unique(kinds, axis=1, return_index=True)[1])
