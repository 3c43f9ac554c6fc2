"""Classes of the 19,683 ternary gates, decided once for all of them."""

import functools
import itertools
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from trilut.circuit import monotone
from trilut.circuit.gates import (
    NAMED_GATES,
    fourier_spectrum,
    gate_id,
    gate_table,
    num_gates,
    truth_values,
)

__all__ = [
    "GATE_CLASSES",
    "SpectralClass",
    "can_be_unknown",
    "is_information_monotone",
    "is_monotone",
    "is_threshold",
    "named_distance",
    "nearest_names",
    "spectral_class",
    "threshold_weights",
]

Flags = NDArray[np.bool_]
"""One answer for each gate, by id."""


class SpectralClass(Enum):
    """How high the terms of a gate's Fourier series go.

    The paper's four classes leave most gates out: those with cubic or quartic terms, but not all
    nine. They are HIGHER here, so that every gate has exactly one class.
    """

    LINEAR = "linear"
    """Constant, and one term in a and b each."""
    BILINEAR = "bilinear"
    """Also the product of both."""
    QUADRATIC = "quadratic"
    """Also φ2 of an input: whether it is decided."""
    HIGHER = "higher"
    """Also products with φ2."""
    FULL = "full"
    """All nine terms."""


@functools.cache
def _tables() -> NDArray[np.int8]:
    """Return the tables [gate, a, b] of all gates."""
    return gate_table(np.arange(num_gates())).astype(np.int8).reshape(-1, 3, 3)


@functools.cache
def spectral_class() -> NDArray[np.object_]:
    """Return the class of each gate's Fourier series."""
    used = np.abs(fourier_spectrum(_tables().reshape(-1, 9))) > 1e-9
    found = np.full(num_gates(), SpectralClass.LINEAR, dtype=object)
    found[used[:, 1, 1]] = SpectralClass.BILINEAR
    found[used[:, 0, 2] | used[:, 2, 0]] = SpectralClass.QUADRATIC
    found[used[:, 1, 2] | used[:, 2, 1] | used[:, 2, 2]] = SpectralClass.HIGHER
    found[used.all(axis=(1, 2))] = SpectralClass.FULL
    return found


@functools.cache
def can_be_unknown() -> Flags:
    """Return whether the table has an UNKNOWN: "genuinely ternary", as the paper's counts imply."""
    return (_tables() == 0).any(axis=(1, 2))


@functools.cache
def is_monotone() -> Flags:
    """Return whether a gate never falls as its inputs rise from FALSE to TRUE."""
    tables = _tables()
    rises_a, rises_b = (np.diff(tables, axis=axis).reshape(-1, 6) >= 0 for axis in (1, 2))
    return np.logical_and.reduce(rises_a & rises_b, axis=1)


@functools.cache
def is_information_monotone() -> Flags:
    """Return whether deciding an input never takes back a decision of the gate.

    That is: where the gate is TRUE or FALSE although an input is UNKNOWN, it stays so whatever the
    input turns out to be. Kleene's connectives are of this kind; a circuit of such gates answers
    with missing inputs only what it would answer with any completion of them.
    """
    return monotone.is_information_monotone(_tables().reshape(-1, 9))


@functools.cache
def threshold_weights() -> dict[int, tuple[int, int]]:
    """Return the threshold gates, each with weights (k, l) that make it one.

    A threshold gate compares k·a + l·b with two numbers: TRUE from the upper one on, FALSE up to
    the lower one, UNKNOWN between. Sums order the nine pairs in finitely many ways, which change
    where two pairs tie; the ties and all that lies between are among the whole weights up to 3.
    """
    a, b = np.repeat(truth_values(), 3), np.tile(truth_values(), 3)
    found: dict[int, tuple[int, int]] = {}
    # Small weights first, so that they are the ones a gate is shown with.
    pairs = sorted(itertools.product(range(-3, 4), repeat=2), key=lambda p: abs(p[0]) + abs(p[1]))
    for weight_a, weight_b in pairs:
        sums = weight_a * a + weight_b * b
        cuts = [-np.inf, *np.unique(sums), np.inf]
        for lower, upper in itertools.combinations(cuts, 2):
            table = (sums >= upper).astype(int) - (sums <= lower)
            found.setdefault(int(gate_id(table)), (weight_a, weight_b))
    return found


@functools.cache
def is_threshold() -> Flags:
    """Return whether one linear sum and two thresholds compute the gate: true of 471."""
    flags = np.zeros(num_gates(), dtype=bool)
    flags[list(threshold_weights())] = True
    return flags


@functools.cache
def _named_distances() -> NDArray[np.int64]:
    """Return the Hamming distance [gate, name] of all tables to those of the named gates."""
    tables = _tables().reshape(-1, 9)
    named = np.stack(list(NAMED_GATES.values()))
    return np.count_nonzero(tables[:, None, :] != named, axis=2)


def named_distance() -> NDArray[np.int64]:
    """Return how many of the nine entries differ from those of the nearest named gate."""
    return _named_distances().min(axis=1)


def nearest_names(gate: int) -> list[str]:
    """Return the named gates whose tables are nearest."""
    distance = _named_distances()[gate]
    return [name for name, d in zip(NAMED_GATES, distance, strict=True) if d == distance.min()]


GATE_CLASSES = {
    "can be UNKNOWN": can_be_unknown,
    "threshold": is_threshold,
    "monotone": is_monotone,
    "information-monotone": is_information_monotone,
}
"""The classes that a gate is in or not."""
