"""Vectors for a regression: from data, from chance, and from where circuits tend to go wrong."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trilut.circuit.encoder import Encoder, FeatureVectors
from trilut.circuit.interface import Steps, Vectors
from trilut.circuit.kinds import Kind
from trilut.circuit.netlist import Netlist
from trilut.circuit.sequential import SequentialNetlist

__all__ = ["step_stimulus", "stimulus"]


def stimulus(
    netlist: Netlist,
    samples: ArrayLike | None,
    rng: np.random.Generator,
    *,
    num_random: int = 10_000,
    as_trits: bool = False,
) -> dict[str, Vectors]:
    """Make the vectors of a regression, grouped by origin.

    The origins are ``data``, the samples; ``random``, half of them uniform over the integers and
    half near thresholds; ``threshold``, each threshold of each feature and the integer below it;
    ``missing``, all features missing, each one alone, and random ones; and ``corner``, all features
    at their lowest and at their highest. A netlist without an encoder has ``data``, ``random`` and
    ``corner`` trits.

    Parameters
    ----------
    netlist : Netlist
        The circuit.
    samples : array [sample, feature] or None
        Feature values, NaN where one is missing; trits if the netlist has no encoder.
    rng : Generator
        Source of chance.
    num_random : int
        Number of ``random`` vectors; a tenth as many random ones are ``missing``.
    as_trits : bool
        Encode the vectors, for a design that takes trits.

    Raises
    ------
    DataError
        If the samples do not fit the encoder.
    """
    if netlist.encoder is None:
        return _trit_groups(netlist.input_kinds, samples, rng, num_random)
    groups = _feature_groups(netlist.encoder, samples, rng, num_random)
    if not as_trits:
        return dict(groups)
    return {origin: netlist.encoder.trits(vectors) for origin, vectors in groups.items()}


def step_stimulus(
    netlist: SequentialNetlist,
    samples: ArrayLike | None,
    rng: np.random.Generator,
    *,
    num_random: int = 10_000,
) -> dict[str, Steps]:
    """Make the sequences of a regression, grouped by origin.

    The vectors are those of :func:`stimulus`, in sequences of very different lengths; the samples
    are one sequence. In ``slow``, as many as are ``random``, every feature keeps its value or stays
    missing for a while, often for most of a sequence: what a long window sees of random vectors is
    always the same.

    Raises
    ------
    DataError
        If the samples do not fit the encoder.
    """
    groups: dict[str, Vectors] = {}
    if netlist.encoder is not None:
        groups |= _feature_groups(netlist.encoder, samples, rng, num_random)
    else:
        groups |= _trit_groups(netlist.input_kinds, samples, rng, num_random)
    steps = {
        origin: Steps(vectors, _ends(len(vectors), rng, 1 if origin == "data" else None))
        for origin, vectors in groups.items()
    }
    return {**steps, "slow": Steps(_slow(groups["random"], rng), _ends(num_random, rng, 2))}


def _slow(vectors: Vectors, rng: np.random.Generator) -> Vectors:
    """Return vectors in which each feature keeps a value, or stays missing, for a while."""
    if not isinstance(vectors, FeatureVectors):
        return np.take_along_axis(vectors, _sources(vectors.shape, rng), axis=0)
    values = np.take_along_axis(vectors.values, _sources(vectors.values.shape, rng), axis=0)
    is_there = rng.random(vectors.valid.shape) >= 0.2
    valid = np.take_along_axis(is_there, _sources(is_there.shape, rng), axis=0)
    return FeatureVectors(values, valid)


def _sources(shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return which step [step, column] each value is taken from, the same for a while."""
    num_steps, num_columns = shape
    sources = np.empty(shape, dtype=np.int64)
    for column in range(num_columns):
        first = 0
        while first < num_steps:
            length = int(max(1, num_steps // 4) ** rng.random())
            sources[first : first + length, column] = first
            first += length
    return sources


def _ends(num_steps: int, rng: np.random.Generator, parts: int | None) -> NDArray[np.bool_]:
    """Cut steps into sequences of up to 64 steps, or the longest of which is one of some parts."""
    longest = 64 if parts is None else -(-num_steps // parts)
    lengths = [] if parts is None else [longest]
    while sum(lengths) < num_steps:
        lengths.append(int(longest ** rng.random()))
    ends = np.cumsum(lengths)
    last = np.zeros(num_steps, dtype=np.bool_)
    last[ends[ends < num_steps] - 1] = last[-1:] = True
    return last


def _trit_groups(
    input_kinds: NDArray[np.integer[Any]],
    samples: ArrayLike | None,
    rng: np.random.Generator,
    num_random: int,
) -> dict[str, Vectors]:
    kinds = [Kind(kind) for kind in input_kinds]
    groups: dict[str, Vectors] = {}
    if samples is not None:
        groups["data"] = np.asarray(samples, dtype=np.int8)
    groups["random"] = _random_trits(kinds, rng, num_random)
    corners = [[kind.values[0], kind.values[len(kind.values) // 2], 1] for kind in kinds]
    groups["corner"] = np.unique(np.array(corners, dtype=np.int8).T, axis=0)
    return groups


def _random_trits(
    kinds: Sequence[Kind], rng: np.random.Generator, num_random: int
) -> NDArray[np.int8]:
    if all(kind == kinds[0] for kind in kinds):
        return rng.choice(np.array(kinds[0].values, dtype=np.int8), (num_random, len(kinds)))
    trits = rng.integers(-1, 2, (num_random, len(kinds)), dtype=np.int8)
    bits = rng.choice(np.array(Kind.BIT.values, dtype=np.int8), trits.shape)
    return np.where(np.array(kinds) == Kind.BIT, bits, trits)


def _feature_groups(
    encoder: Encoder, samples: ArrayLike | None, rng: np.random.Generator, num_random: int
) -> dict[str, FeatureVectors]:
    lowest = np.array([feature.minimum for feature in encoder.features])
    highest = np.array([feature.maximum for feature in encoder.features])

    def uniform(num_vectors: int) -> NDArray[np.int64]:
        return rng.integers(lowest, highest, (num_vectors, len(lowest)), endpoint=True)

    edges = _edges(encoder, uniform)
    groups: dict[str, FeatureVectors] = {}
    if samples is not None:
        groups["data"] = encoder.quantize(samples)
    num_near = num_random // 2
    near = _near(uniform(num_near), edges, rng)
    groups["random"] = _complete(np.concatenate([uniform(num_random - num_near), near]))
    groups["threshold"] = _complete(edges)
    groups["missing"] = _missing(uniform, rng, len(lowest), num_random // 10)
    groups["corner"] = _complete(np.stack([lowest, highest]))
    return groups


def _complete(values: NDArray[np.int64]) -> FeatureVectors:
    return FeatureVectors(values, np.ones(values.shape, dtype=np.bool_))


def _edges(encoder: Encoder, uniform: Callable[[int], NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return vectors in which each feature takes each of its thresholds and the integer below.

    All features step through theirs at the same time; one that has fewer is filled with chance.
    """
    columns = []
    for number, feature in enumerate(encoder.features):
        own = encoder.feature == number
        least, most = feature.seen or (feature.minimum, feature.maximum)
        thresholds = np.concatenate([encoder.low[own], encoder.high[own], [least, most + 1]])
        columns.append(
            np.unique(
                np.clip(
                    np.concatenate([thresholds, thresholds - 1]), feature.minimum, feature.maximum
                )
            )
        )
    edges = uniform(max(len(column) for column in columns))
    for number, column in enumerate(columns):
        edges[: len(column), number] = column
    return edges


def _near(
    values: NDArray[np.int64], edges: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Put a random half of the values on some edge of their feature."""
    if len(edges) == 0:
        return values
    row = rng.integers(0, len(edges), values.shape)
    chosen = np.take_along_axis(edges, row, axis=0)
    return np.where(rng.random(values.shape) < 0.5, chosen, values)


def _missing(
    uniform: Callable[[int], NDArray[np.int64]],
    rng: np.random.Generator,
    num_features: int,
    num_random: int,
) -> FeatureVectors:
    """Return vectors without any feature, without each one, and without random ones."""
    share = rng.random((num_random, 1))
    valid = np.concatenate(
        [
            np.zeros((1, num_features), dtype=np.bool_),
            ~np.eye(num_features, dtype=np.bool_),
            rng.random((num_random, num_features)) >= share,
        ]
    )
    return FeatureVectors(np.where(valid, uniform(len(valid)), 0), valid)
