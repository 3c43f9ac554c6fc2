"""Which gates a circuit is made of, and how they differ from gates that nobody trained."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.gates import evaluation_matrix, gate_id, gate_table, num_gates, round_to_values
from trilut.measure.analysis.classes import (
    GATE_CLASSES,
    SpectralClass,
    named_distance,
    spectral_class,
)
from trilut.measure.analysis.fourier import BANDS, band_energy, term_energy

__all__ = ["Census", "initial_gates", "random_gates", "take_census"]

Gates = NDArray[np.int64]
"""Gate ids, one for each neuron."""


@dataclass(frozen=True, slots=True)
class Census:
    """How a number of gates is made up. All shares are of the gates, each copy counting.

    Parameters
    ----------
    gates : int
        Number of gates.
    unique : int
        Number of different ones.
    effective : float
        exp of the Shannon entropy: as many equally frequent gates would be as diverse.
    gini : float
        Inequality of the copies among the gates that occur: 0 if all occur equally often.
    redundancy : float
        Share of the gates that are copies: 1 − unique/gates.
    max_copies : int
        Copies of the most frequent gate.
    singletons : int
        Gates that occur once.
    bands : mapping
        Share of the Fourier energy by degree.
    terms : list of list of float
        Share of the Fourier energy of each term φ_i(a)·φ_j(b).
    classes : mapping
        Share of gates in each class of :data:`trilut.measure.analysis.classes.GATE_CLASSES`; empty
        for binary gates, which have None of the last three.
    spectral : mapping
        Share of gates in each spectral class.
    names : int
        Named gates that occur: how far the vocabulary is covered.
    named : float
        Share of the gates that have a name.
    named_distance : float
        Entries of a table that differ from the nearest named gate's, the mean over all gates.
    """

    gates: int
    unique: int
    effective: float
    gini: float
    redundancy: float
    max_copies: int
    singletons: int
    bands: Mapping[str, float]
    terms: list[list[float]]
    classes: Mapping[str, float]
    spectral: Mapping[str, float]
    names: int | None
    named: float | None
    named_distance: float | None


def take_census(gates: Gates, *, valence: int = 3) -> Census:
    """Count gates, given by their ids."""
    if len(gates) == 0:
        raise ValueError("There are no gates to count")
    found, copies = np.unique(gates, return_counts=True)
    share = copies / len(gates)
    tables = gate_table(found, valence)
    bands = share @ band_energy(tables, valence)
    terms = np.tensordot(share, term_energy(tables, valence), axes=1)
    total = max(float(bands.sum()), 1e-12)
    ternary = valence == 3
    return Census(
        gates=len(gates),
        unique=len(found),
        effective=float(np.exp(-np.sum(share * np.log(share)))),
        gini=_gini(copies),
        redundancy=1 - len(found) / len(gates),
        max_copies=int(copies.max()),
        singletons=int(np.count_nonzero(copies == 1)),
        bands=dict(zip(BANDS, (bands / total).tolist(), strict=False)),
        terms=(terms / total).tolist(),
        classes={name: float(share @ has()[found]) for name, has in GATE_CLASSES.items()}
        if ternary
        else {},
        spectral={
            kind.value: float(share @ (spectral_class()[found] == kind)) for kind in SpectralClass
        }
        if ternary
        else {},
        names=int(np.count_nonzero(named_distance()[found] == 0)) if ternary else None,
        named=float(share @ (named_distance()[found] == 0)) if ternary else None,
        named_distance=float(share @ named_distance()[found]) if ternary else None,
    )


def _gini(copies: NDArray[np.int64]) -> float:
    ordered = np.sort(copies)
    rank = np.arange(1, len(ordered) + 1)
    inequality = 2 * (rank @ ordered) / (len(ordered) * ordered.sum()) - 1 - 1 / len(ordered)
    # Rounding can leave a little less than none.
    return max(float(inequality), 0.0)


def random_gates(count: int, *, valence: int = 3, seed: int = 0) -> Gates:
    """Draw gates, all equally likely: the control for a census."""
    return np.random.default_rng(seed).integers(num_gates(valence), size=count)


def initial_gates(count: int, *, valence: int = 3, seed: int = 0) -> Gates:
    """Draw what the paper's training starts from: coefficients N(0, 0.45²), hardened at once."""
    weights = np.random.default_rng(seed).normal(0, 0.45, (count, valence**2))
    return gate_id(round_to_values(weights @ evaluation_matrix(valence).T, valence), valence)
