"""Maps of gates: points in the plane whose distances resemble those between tables."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.gates import NAMED_GATES, fourier_spectrum, gate_id, gate_table, truth_values

__all__ = ["Landscape", "Metric", "gate_landscape"]

Metric = Literal["hamming", "fourier"]
"""Entries of the table that differ, or the Euclidean distance of the Fourier coefficients."""

# Distances among the landmarks decide the map; those to the others only place them on it.
_LANDMARKS = 400

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Landscape:
    """A map of the different gates of a circuit, the named gates among them.

    Parameters
    ----------
    gates : int64 array [point]
        Gate ids.
    copies : int64 array [point]
        How often each one occurs; 0 for a named gate that does not.
    position : float64 array [point, 2]
        Where it lies.
    fit : float
        Correlation of the distances on the map with the true ones.
    """

    gates: NDArray[np.int64]
    copies: NDArray[np.int64]
    position: Floats
    fit: float


def gate_landscape(gates: NDArray[np.int64], metric: Metric, *, seed: int = 0) -> Landscape:
    """Map gates by landmark multidimensional scaling, which is linear in their number.

    Classical scaling of at most 400 landmarks (the named gates, the most frequent ones and a random
    rest) spans the map; every other gate is placed by its distances to them.
    """
    named = np.array([int(gate_id(table)) for table in NAMED_GATES.values()])
    found, copies = np.unique(np.append(gates, named), return_counts=True)
    copies = copies - np.isin(found, named)
    marks = _landmarks(found, copies, named, seed)
    distance = _distances(found, found[marks], metric)
    position = _place(distance[marks], distance)
    on_map = np.linalg.norm(position[:, None] - position[marks], axis=2)
    fit = float(np.corrcoef(on_map.ravel(), distance.ravel())[0, 1])
    return Landscape(found, copies, position, fit)


def _distances(gates: NDArray[np.int64], marks: NDArray[np.int64], metric: Metric) -> Floats:
    points, centres = _coordinates(gates, metric), _coordinates(marks, metric)
    lengths = (points**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1)
    squared = np.maximum(lengths - 2 * points @ centres.T, 0)
    # An entry that differs is two steps in the coordinates below.
    return np.rint(squared / 2) if metric == "hamming" else np.sqrt(squared)


def _coordinates(gates: NDArray[np.int64], metric: Metric) -> Floats:
    tables = gate_table(gates)
    if metric == "fourier":
        return fourier_spectrum(tables).reshape(-1, 9)
    return (tables[:, :, None] == truth_values()).reshape(-1, 27).astype(np.float64)


def _landmarks(
    found: NDArray[np.int64], copies: NDArray[np.int64], named: NDArray[np.int64], seed: int
) -> NDArray[np.int64]:
    order = np.random.default_rng(seed).permutation(len(found))
    frequent = np.argsort(-copies, kind="stable")[: _LANDMARKS // 2]
    first = np.append(np.flatnonzero(np.isin(found, named)), frequent)
    every = np.append(first, order)
    return every[np.sort(np.unique(every, return_index=True)[1])][:_LANDMARKS]


def _place(among: Floats, distance: Floats) -> Floats:
    """Return positions from the distances among landmarks and those [point, landmark] to them."""
    among, squared = among**2, distance**2
    mean = among.mean(axis=0)
    values, vectors = np.linalg.eigh(-(among - mean - mean[:, None] + mean.mean()) / 2)
    axes = vectors[:, :-3:-1]
    # The sign of an eigenvector is free; fixed here, equal gates give equal maps.
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), [0, 1]])
    return (mean - squared) @ axes / np.sqrt(np.maximum(values[:-3:-1], 1e-12)) / 2
