"""Fitting an encoder to data: the integers that stand for features, and their thresholds."""

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.encoder import Encoder, Feature
from trilut.circuit.kinds import Kind
from trilut.data import Dataset
from trilut.errors import DataError
from trilut.measure.metrics import cell_vote_accuracy, encoding_ceiling
from trilut.training.names import OutOfRange, Scale, Spacing
from trilut.training.node import Node

__all__ = [
    "EncodingMeasure",
    "equal_information",
    "fit_encoder",
    "input_kinds",
    "measure_encoding",
    "with_bits",
    "with_presence",
]

# What numpy calls these; the aliases keep signatures on one line.
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Samples = NDArray[np.number]

# How far a balanced threshold may be moved to a rounder integer, as a part of the distance between
# two of them.
_TOLERANCE = 0.25


@dataclass(frozen=True, slots=True)
class EncodingMeasure:
    """What an encoder leaves of a data set.

    Parameters
    ----------
    trits : int
        Number of trits.
    bits : int
        Number of bits that tell the same: see :func:`equal_information`.
    ceiling : float
        The best accuracy that any circuit behind the encoder could have on the test set.
    cell_vote : float
        Accuracy on the test set of the most frequent class of each cell of the training set. Where
        there are few samples to a cell, a circuit can be better.
    """

    trits: int
    bits: int
    ceiling: float
    cell_vote: float


def fit_encoder(
    x: Samples,
    names: tuple[str, ...],
    *,
    thresholds: int = 3,
    delta: float = 0.25,
    spacing: Spacing = "uniform",
    bits: int = 8,
    scale: Scale = "any",
    valence: int = 3,
    minority: float = 0.0,
    out_of_range: OutOfRange = "clamp",
    categories: Mapping[str, tuple[str, ...]] | None = None,
) -> Encoder:
    """Fit integers and thresholds to training samples [sample, feature], NaN where missing.

    Threshold k of K lies at the position (k+1)/(K+1) of its feature, and the trit is UNKNOWN from
    half a band below it to half a band above it. A trit that is the same for all the samples, or
    has the thresholds of another one, tells nothing and is left out.

    Parameters
    ----------
    x : float64 or uint8 array [sample, feature]
    names : tuple of str
        Names of the features.
    thresholds : int
        Number of thresholds per feature.
    delta : float
        Width of the UNKNOWN band as a share of the distance between thresholds: 0 for none, 1 for
        bands that touch.
    spacing : str
        What a position is a share of: of the range (``uniform``), of the samples (``quantile``), or
        of the samples with no value counted for more than one part (``balanced``). Balanced
        thresholds lie between values that occur, and a column of few values has one between any
        two.
    bits : int
        Width of the integers; with balanced thresholds the largest width.
    scale : str
        ``any`` spreads the values over all the integers. ``power-of-two`` over at least half of
        them, by a scale of 2ⁿ and a whole offset, so that the integer of a number with a binary
        point is a shift and an addition.
    valence : int
        3, or 2 for an encoder whose trits are never 0, not even for a missing feature. Then
        ``delta`` must be 0.
    minority : float
        A trit is left out if fewer than this share of the samples differ from its most frequent
        value.
    out_of_range : str
        What a value outside of these samples becomes: ``clamp``, the nearest integer of its
        feature, or ``unknown``, a missing feature.
    categories : mapping, optional
        The categories of each column of texts: a feature ``COLUMN=CATEGORY`` is one bit.

    Raises
    ------
    DataError
        If no trit is left, or if the values of a feature lie too far apart or too close.
    """
    if valence not in (2, 3):
        raise ValueError(f"Valence must be 2 or 3, not {valence}")
    if valence == 2 and delta != 0:
        raise ValueError(f"A binary encoder has no UNKNOWN band, so delta must be 0, not {delta}")
    missing = 0 if valence == 3 else -1
    known = dict(categories or {})
    is_category = {f"{column}={text}" for column, texts in known.items() for text in texts}
    features: list[Feature] = []
    pairs: list[Integers] = []
    # Feature by feature: as floating-point numbers, all pixels of CIFAR-10 would take gigabytes.
    for column, name in zip(x.T, names, strict=True):
        width = 1 if name in is_category else bits
        numbers = column.astype(np.float64)
        if spacing == "balanced":
            feature, pair = _fit_balanced(numbers, name, thresholds, delta, width, scale)
            values, valid = _integers(feature, column)
        else:
            feature = _scaled(_fit_feature(numbers, name, width), scale)
            values, valid = _integers(feature, column)
            pair = _fit_thresholds(values[valid], thresholds, delta, spacing)
        features.append(feature)
        pairs.append(
            _telling(pair, values[valid], int(np.count_nonzero(~valid)), missing, minority)
        )
    source = np.repeat(np.arange(len(features)), [pair.shape[1] for pair in pairs])
    if len(source) == 0:
        raise DataError("No feature tells the training samples apart, so there is nothing to learn")
    low, high = np.concatenate(pairs, axis=1)
    encoder = Encoder(
        tuple(features), source, low, high, np.full(len(source), missing, np.int8), known
    )
    return encoder.with_seen(x) if out_of_range == "unknown" else encoder


def input_kinds(encoder: Encoder, node: Node) -> NDArray[np.int8]:
    """Return how many values each input has for gates that read it."""
    if len(node.parts) == 1:
        return np.full(encoder.num_trits, node.radices[0], dtype=np.int8)
    return np.where(encoder.is_bit, Kind.BIT, Kind.TRIT).astype(np.int8)


def with_bits(encoder: Encoder, x: Samples, *, minority: float = 0.0) -> Encoder:
    """Return the encoder that makes bits beside the trits, each with a threshold amid a trit's two.

    A bit in which too few of the samples [sample, feature] differ from the most frequent value is
    left out, as :func:`fit_encoder` does.
    """
    amid = np.stack([encoder.feature, (encoder.low + encoder.high + 1) // 2])
    feature, threshold = np.unique(amid, axis=1)
    missing = np.full(len(feature), -1, dtype=np.int8)
    bits = Encoder(encoder.features, feature, threshold, threshold, missing, encoder.categories)
    high = np.count_nonzero(bits.encode(x) == 1, axis=0)
    kept = np.minimum(high, len(x) - high) >= max(1, minority * len(x))
    return dataclasses.replace(
        encoder,
        feature=np.append(encoder.feature, feature[kept]),
        low=np.append(encoder.low, threshold[kept]),
        high=np.append(encoder.high, threshold[kept]),
        missing=np.append(encoder.missing, missing[kept]),
    )


def with_presence(encoder: Encoder, x: Samples, *, always: bool = False) -> Encoder:
    """Return the encoder with a bit for each feature that samples miss, −1 where it is missing.

    Parameters
    ----------
    x : float64 or uint8 array [sample, feature]
        The samples, NaN where missing.
    always : bool
        Whether every feature has such a bit.
    """
    is_missed = np.full(len(encoder.features), True) if always else np.isnan(x).any(axis=0)
    feature = np.flatnonzero(is_missed)
    # All that is there has reached the smallest integer.
    lowest = np.array([encoder.features[index].minimum for index in feature], dtype=np.int64)
    return dataclasses.replace(
        encoder,
        feature=np.append(encoder.feature, feature),
        low=np.append(encoder.low, lowest),
        high=np.append(encoder.high, lowest),
        missing=np.append(encoder.missing, np.full(len(feature), -1, dtype=np.int8)),
    )


def equal_information(encoder: Encoder) -> Encoder:
    """Return the binary encoder that tells apart just what a ternary one does.

    Each trit becomes two bits, x ≥ low and x ≥ high, or one if they are equal; a bit that another
    trit of the feature has given is not repeated. A missing feature, which a binary circuit cannot
    tell from a small one, gives −1 in all its bits.
    """
    twice = np.stack([np.tile(encoder.feature, 2), np.append(encoder.low, encoder.high)])
    feature, threshold = np.unique(twice, axis=1)
    missing = np.full(len(feature), -1, dtype=np.int8)
    return Encoder(encoder.features, feature, threshold, threshold, missing, encoder.categories)


def measure_encoding(encoder: Encoder, dataset: Dataset) -> EncodingMeasure:
    """Measure what an encoder leaves of a data set, without any training."""
    train, test = encoder.encode(dataset.train.x), encoder.encode(dataset.test.x)
    return EncodingMeasure(
        trits=encoder.num_trits,
        bits=equal_information(encoder).num_trits,
        ceiling=encoding_ceiling(test, dataset.test.y),
        cell_vote=cell_vote_accuracy(train, dataset.train.y, test, dataset.test.y),
    )


def _fit_balanced(
    column: Floats, name: str, thresholds: int, delta: float, bits: int, scale: Scale
) -> tuple[Feature, Integers]:
    """Return the integers of a column and its balanced thresholds [low or high, trit].

    A threshold may lie a little beside its position, where it has more zeros at its end: those bits
    need not be compared.
    """
    values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
    if len(values) < 2:
        return _scaled(_fit_feature(column, name, bits), scale), np.zeros((2, 1), dtype=np.int64)
    centre, first, last = _places(counts, thresholds, delta)
    feature = _scaled(_balanced_feature(name, values, centre, bits), scale)
    integers = _integers(feature, values)[0]
    # Where few integers stand for many values, the lowest one is still below every threshold.
    return feature, np.maximum(_roundest(integers[first - 1], integers[last]), 1)


def _scaled(feature: Feature, scale: Scale) -> Feature:
    """Return a feature with the next smaller power of two for its scale, if that is asked for."""
    if scale == "any":
        return feature
    power = 2.0 ** math.floor(math.log2(feature.scale))
    # What was 0 before still is, so that values which fitted into the bits still do.
    first = -feature.offset / feature.scale
    return dataclasses.replace(feature, scale=power, offset=0.0 - math.floor(first * power))


def _places(counts: Integers, thresholds: int, delta: float) -> tuple[Integers, Integers, Integers]:
    """Return between which distinct values thresholds lie, and may lie at the least and the most.

    Parameters
    ----------
    counts : int64 array [value]
        How often each distinct value occurs, from the smallest value to the largest.

    Returns
    -------
    three int64 arrays [low or high, trit]
        The first value above each threshold, 1 … number of values − 1.
    """
    parts = thresholds + 1
    if len(counts) <= parts:
        each = np.arange(1, len(counts))
        places = np.stack([each, each])
        return places, places, places
    weights = _capped(counts.astype(np.float64), parts)
    share = np.cumsum(weights)[:-1] / weights.sum()
    middle = np.arange(1, parts)
    position = np.stack([middle - delta / 2, middle + delta / 2])
    # Moved by so much, neighbouring thresholds of one kind stay apart.
    moved = (position, position - _TOLERANCE, position + _TOLERANCE)
    centre, first, last = (
        np.searchsorted((share[1:] + share[:-1]) / 2, each / parts) + 1 for each in moved
    )
    return centre, first, last


def _capped(counts: Floats, parts: int) -> Floats:
    """Return counts of which none is more than one of so many equal parts of their sum.

    There are more counts than parts, so there is a bound above 0 to cut the largest ones to.
    """
    falling = np.sort(counts)[::-1]
    rest = counts.sum() - np.concatenate([[0.0], np.cumsum(falling)[: parts - 1]])
    bounds = rest / np.arange(parts, 0, -1)
    # With so many of the largest ones cut, the bound is right if the next one is within it.
    return np.minimum(counts, bounds[np.argmax(falling[:parts] <= bounds)])


def _balanced_feature(name: str, values: Floats, places: Integers, bits: int) -> Feature:
    """Return the integers that stand for values with thresholds at some places among them.

    Whole numbers that fit stay what they are or are counted from the smallest, in as few bits as
    they need. Others are spread so that the thresholds take up all the integers; what lies beyond
    is clamped, and no trit can tell.
    """
    base = float(values[0]) if values[0] < 0 or values[-1] >= 1 << bits else 0.0
    if np.all(values == np.floor(values)) and values[-1] - base < 1 << bits:
        return Feature(name, max(1, int(values[-1] - base).bit_length()), offset=0.0 - base)
    cuts = values[places - 1] / 2 + values[places] / 2
    lowest, highest = float(cuts.min()), float(cuts.max())
    half = float(1 << bits - 1)
    if lowest == highest or bits == 1:
        # One threshold lies amid the integers.
        middle = float(np.median(cuts))
        scale = half / max(float(values[-1]) - middle, middle - float(values[0]))
        offset = half - middle * scale
    else:
        scale = (2 * half - 2) / (highest - lowest)
        offset = 1.0 - lowest * scale
    _check_scale(name, scale, float(values[0]), float(values[-1]), bits)
    return Feature(name, bits, scale=scale, offset=offset)


def _roundest(above: Integers, upto: Integers) -> Integers:
    """Return the integers with the most zeros at their ends, above some bounds and up to others."""
    best = upto
    for zeros in range(1, 33):
        rounded = upto >> zeros << zeros
        best = np.where(rounded > above, rounded, best)
    return best


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
    _check_scale(name, scale, lowest, highest, bits)
    return Feature(name, bits, scale=scale, offset=0.0 - lowest * scale)


def _check_scale(name: str, scale: float, lowest: float, highest: float, bits: int) -> None:
    if not 0 < scale < math.inf:
        raise DataError(
            f"Feature {name!r} has values from {lowest:g} to {highest:g}, which double precision "
            f"cannot spread over {bits} bits; rescale it"
        )


def _integers(feature: Feature, column: Samples) -> tuple[Integers, NDArray[np.bool_]]:
    """Return one feature as the circuit will see it, and where it is there."""
    none = np.zeros(0, dtype=np.int64)
    vectors = Encoder((feature,), none, none, none).quantize(column[:, None])
    return vectors.values[:, 0], vectors.valid[:, 0]


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


def _telling(
    pair: Integers, values: Integers, num_missing: int, missing: int, minority: float
) -> Integers:
    """Return the thresholds [low or high, trit] without repeated ones and trits that tell nothing.

    Parameters
    ----------
    pair : int64 array [low or high, trit]
    values : int64 array
        The integers of the feature, where it is there.
    num_missing, missing : int
        In how many samples it is not, and what the trits are then.
    minority : float
        Share of the samples that have to differ from the most frequent value; at least one has to.
    """
    low, high = pair = np.unique(pair, axis=1)
    below = np.array([np.count_nonzero(values < threshold) for threshold in low])
    above = np.array([np.count_nonzero(values >= threshold) for threshold in high])
    counts = np.stack([below, len(values) - below - above, above])
    counts[missing + 1] += num_missing
    others = len(values) + num_missing - counts.max(axis=0)
    return pair[:, others >= max(1, minority * (len(values) + num_missing))]
