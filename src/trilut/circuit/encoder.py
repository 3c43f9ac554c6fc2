"""The encoder: from feature values to trits, in integers so that hardware agrees bit for bit."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trilut.arrays import as_numbers
from trilut.circuit.arrays import frozen
from trilut.circuit.limits import MAX_BITS, MAX_INTEGER, check_name
from trilut.errors import DataError, NetlistError

__all__ = ["Encoder", "Feature", "FeatureVectors"]

# Samples that are encoded at a time: the integers in between take eight times the memory of trits.
_BLOCK = 2048
# Up to here a double holds every integer.
_MAX_SEEN = 1 << 53


@dataclass(frozen=True, slots=True)
class Feature:
    """One input of the circuit: an integer of ``bits`` bits made from the user's value.

    The integer is ⌊value·scale + offset⌋, clamped to what ``bits`` bits can hold.

    Parameters
    ----------
    seen : tuple of int, optional
        The lowest and the highest integer that count: a value whose integer, before it is clamped,
        is another one is taken as missing. Without it, all count.
    """

    name: str
    bits: int
    signed: bool = False
    scale: float = 1.0
    offset: float = 0.0
    seen: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        check_name(self.name, "a feature")
        if not 1 <= self.bits <= MAX_BITS:
            raise NetlistError(f"Feature {self.name!r} has {self.bits} bits, expected 1…{MAX_BITS}")
        if not (np.isfinite(self.scale) and np.isfinite(self.offset) and self.scale != 0):
            raise NetlistError(
                f"Feature {self.name!r} has scale {self.scale} and offset {self.offset}, "
                "expected finite numbers and a scale other than 0"
            )
        if self.seen is not None:
            self._check_seen(*self.seen)

    def _check_seen(self, least: int, most: int) -> None:
        # If some integer of the feature counts, one that did still does when it is clamped.
        is_there = least <= most and least <= self.maximum and most >= self.minimum
        if not (is_there and least >= -_MAX_SEEN and most <= _MAX_SEEN):
            raise NetlistError(
                f"Feature {self.name!r} has seen {least}…{most}, expected some of "
                f"{self.minimum}…{self.maximum}"
            )

    @property
    def minimum(self) -> int:
        """Smallest integer of the feature."""
        return -(1 << self.bits - 1) if self.signed else 0

    @property
    def maximum(self) -> int:
        """Largest integer of the feature."""
        return (1 << self.bits - self.signed) - 1


@dataclass(frozen=True, slots=True, eq=False)
class FeatureVectors:
    """Integers as the hardware receives them.

    Parameters
    ----------
    values : int64 array [sample, feature]
        Feature values; 0 where not valid.
    valid : bool array [sample, feature]
        False where the feature is missing.
    """

    values: NDArray[np.int64]
    valid: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, samples: slice | NDArray[np.int64]) -> "FeatureVectors":
        return FeatureVectors(self.values[samples], self.valid[samples])

    @classmethod
    def concatenate(cls, parts: list[Self]) -> "FeatureVectors":
        """Join several batches into one."""
        return cls(
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.valid for part in parts]),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Encoder:
    """Thresholds that turn features into trits.

    Trit t looks at one feature x and is −1 if x < low, +1 if x ≥ high, else 0. A trit whose feature
    is missing has the value ``missing``.

    Parameters
    ----------
    features : tuple of Feature
        The inputs.
    feature : int64 array [trit]
        The feature that each trit looks at.
    low, high : int64 array [trit]
        The thresholds, low ≤ high; equal ones give a trit that is never 0.
    missing : int8 array [trit], or int
        What each trit is if its feature is missing: 0 (UNKNOWN), or −1 for bits, which have no
        UNKNOWN. One integer is for all.
    categories : mapping
        The categories of each column of texts that features are made from. The feature
        ``COLUMN=CATEGORY`` is 1 if the column holds that category, 0 if it holds another one of
        these, and missing otherwise. They say how samples are prepared; the circuit takes features.

    Raises
    ------
    NetlistError
        If the arrays differ in length, name a feature that does not exist, or low > high, or an
        integer is out of its bounds.
    """

    features: tuple[Feature, ...]
    feature: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    missing: NDArray[np.int8] = field(default=0)  # type: ignore[arg-type]  # one for all
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("feature", "low", "high"):
            array = frozen(getattr(self, name), np.int64, f"Encoder {name!r}")
            object.__setattr__(self, name, array)
        if not len(self.feature) == len(self.low) == len(self.high):
            raise NetlistError(
                f"Encoder has {len(self.feature)} features of trits, {len(self.low)} low and "
                f"{len(self.high)} high thresholds, expected as many of each"
            )
        self._spread_missing()
        self._check_trits()

    def _spread_missing(self) -> None:
        missing = frozen(self.missing, np.int8, "Encoder 'missing'")
        if missing.ndim and missing.shape != (self.num_trits,):
            raise NetlistError(
                f"Encoder has {missing.size} values of missing features, "
                f"expected one or {self.num_trits}"
            )
        for value in missing[~np.isin(missing, (0, -1))].reshape(-1):
            raise NetlistError(f"Encoder gives missing features {value}, expected 0 or -1")
        object.__setattr__(self, "missing", np.broadcast_to(missing, self.num_trits))

    def _check_trits(self) -> None:
        outside = (self.feature < 0) | (self.feature >= len(self.features))
        for trit in np.flatnonzero(outside):
            raise NetlistError(
                f"Encoder trit {trit} reads feature {self.feature[trit]}, "
                f"but there are {len(self.features)} features"
            )
        for trit in np.flatnonzero(self.low > self.high):
            raise NetlistError(
                f"Encoder trit {trit} has low threshold {self.low[trit]} "
                f"above its high threshold {self.high[trit]}"
            )
        for trit in np.flatnonzero((self.low < -MAX_INTEGER) | (self.high > MAX_INTEGER)):
            raise NetlistError(
                f"Encoder trit {trit} has the thresholds {self.low[trit]} and {self.high[trit]}, "
                f"expected {-MAX_INTEGER}…{MAX_INTEGER}"
            )

    @property
    def num_trits(self) -> int:
        """Number of trits that the encoder makes."""
        return len(self.feature)

    @property
    def is_bit(self) -> NDArray[np.bool_]:
        """Whether a trit [trit] is never 0."""
        is_bit: NDArray[np.bool_] = (self.missing == -1) & (self.low == self.high)
        return is_bit

    @property
    def is_binary(self) -> bool:
        """Whether no trit is ever 0."""
        return bool(self.is_bit.all())

    def quantize(self, samples: ArrayLike) -> FeatureVectors:
        """Turn feature values [sample, feature] into integers; NaN becomes a missing feature.

        Raises
        ------
        DataError
            If the number of columns is not the number of features.
        """
        x = as_numbers(samples).astype(np.float64, copy=False)
        self._check_samples(x.shape)
        lowest = np.array([f.minimum for f in self.features], dtype=np.float64)
        highest = np.array([f.maximum for f in self.features], dtype=np.float64)
        integers = self._integers(x)
        least, most = self.seen_limits()
        # Neither holds for what is not a number.
        valid = (integers >= least) & (integers <= most)
        clamped = np.clip(integers, lowest, highest)
        return FeatureVectors(np.where(valid, clamped, 0).astype(np.int64), valid)

    def seen_limits(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the lowest and the highest number that count for each feature."""
        limits = [feature.seen or (-np.inf, np.inf) for feature in self.features]
        least, most = np.array(limits, dtype=np.float64).reshape(-1, 2).T
        return least, most

    def trits(self, vectors: FeatureVectors) -> NDArray[np.int8]:
        """Encode integer features into trits [sample, trit]."""
        # Short integers where they will do: what takes time is to move them.
        arrays = (vectors.values, self.low, self.high)
        dtype: type[np.integer] = np.int16 if all(map(_is_short, arrays)) else np.int64
        values, low, high = (array.astype(dtype, copy=False) for array in arrays)
        x = np.take(values, self.feature, axis=1)
        trits = (x >= high).astype(np.int8) - (x < low).astype(np.int8)
        least, most = self.seen_limits()
        valid = vectors.valid & (vectors.values >= least) & (vectors.values <= most)
        if valid.all():
            return trits
        return np.where(valid[:, self.feature], trits, self.missing)

    def with_seen(self, samples: ArrayLike) -> "Encoder":
        """Return the encoder that takes integers which no sample has as missing features.

        Of a feature that no sample has, all integers still count.
        """
        x = as_numbers(samples)
        self._check_samples(x.shape)
        lowest = np.full(len(self.features), np.inf)
        highest = -lowest
        for start in range(0, len(x), _BLOCK):
            block = x[start : start + _BLOCK].astype(np.float64)
            integers = np.clip(self._integers(block), -_MAX_SEEN, _MAX_SEEN)
            # Of a number and what is not one, these take the number.
            lowest = np.fmin(lowest, np.fmin.reduce(integers))
            highest = np.fmax(highest, np.fmax.reduce(integers))
        features = tuple(map(_with_seen, self.features, lowest.tolist(), highest.tolist()))
        return dataclasses.replace(self, features=features)

    def _integers(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the integers of values before they are clamped."""
        scale = np.array([f.scale for f in self.features])
        offset = np.array([f.offset for f in self.features])
        # What is too large for a number is clamped like all that is too large for the feature.
        with np.errstate(over="ignore"):
            return np.floor(x * scale + offset)

    def encode(self, samples: ArrayLike) -> NDArray[np.int8]:
        """Encode feature values [sample, feature] into trits [sample, trit]."""
        x = as_numbers(samples)
        self._check_samples(x.shape)
        trits = np.empty((len(x), self.num_trits), dtype=np.int8)
        for start in range(0, len(x), _BLOCK):
            block = slice(start, start + _BLOCK)
            trits[block] = self.trits(self.quantize(x[block]))
        return trits

    def _check_samples(self, shape: tuple[int, ...]) -> None:
        if len(shape) != 2 or shape[1] != len(self.features):
            raise DataError(
                f"Samples have shape {shape}, expected (samples, {len(self.features)}) "
                f"for the features {', '.join(repr(f.name) for f in self.features[:8])}"
                f"{'…' if len(self.features) > 8 else ''}"
            )


def _is_short(array: NDArray[np.int64]) -> bool:
    """Whether 16 bits hold every integer."""
    return array.size == 0 or bool(-(1 << 15) <= array.min() <= array.max() < 1 << 15)


def _with_seen(feature: Feature, lowest: float, highest: float) -> Feature:
    if lowest > highest:
        return dataclasses.replace(feature, seen=None)
    seen = min(int(lowest), feature.maximum), max(int(highest), feature.minimum)
    return dataclasses.replace(feature, seen=seen)
