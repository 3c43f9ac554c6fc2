"""The paper's mathematics, computed instead of trained."""

import numpy as np

from trilut.circuit.gates import (
    evaluation_matrix,
    fourier_norms,
    gate_table,
    parse_gate,
    polynomial,
    round_to_values,
    truth_values,
)
from trilut.measure.analysis import SpectralClass, is_threshold, spectral_class
from trilut.paper.experiment import Claim, Experiment, Results, Scale, Section

__all__ = ["THEORY"]


def _theory(results: Results, scale: Scale) -> Section:
    return Section(
        "Computed over all gates, or from 10,000 random tables; what came of it stands above, "
        "under *theory*. See [Analysis](analysis.md) for the classes of gates.",
        claims=[
            _commitment(),
            _thresholds(),
            _norms(),
            _orthonormal(),
            _bilinear(),
            _covering(),
            _variance(),
        ],
    )


def _commitment() -> Claim:
    tables = np.random.default_rng(0).normal(0, 2, (10_000, 9))
    distance = np.abs(tables[..., None] - truth_values()).min(axis=-1)
    error = tables - round_to_values(tables)
    return Claim(
        "R_A is the mean squared rounding error of the soft tables (the theorem)",
        bool(np.allclose(distance**2, error**2)),
        f"cond(V) = {np.linalg.cond(evaluation_matrix()):.1f}. It is an identity of each neuron; "
        "of the network as a whole it bounds nothing, as the gaps below show",
    )


def _thresholds() -> Claim:
    count = int(np.count_nonzero(is_threshold()))
    return Claim("471 of the 19,683 gates are threshold gates", count == 471, f"{count} found")


def _norms() -> Claim:
    norms = fourier_norms()
    return Claim(
        "The squared norms of φ0, φ1, φ2 are 1, 2/3 and 2/9",
        bool(np.allclose(norms, [1, 2 / 3, 2 / 9])),
        ", ".join(f"{norm:.4f}" for norm in norms),
    )


def _orthonormal() -> Claim:
    return Claim(
        "The basis is orthonormal",
        bool(np.allclose(fourier_norms(), 1)),
        "it is orthogonal; energies here are weighted by the norms, so that they sum to the mean "
        "square of a table",
    )


def _bilinear() -> Claim:
    terms = ("1", "a", "b", "ab", "a²", "b²", "a²b", "ab²", "a²b²")
    weights = polynomial(gate_table(parse_gate("and"))).round(9)
    written = " ".join(f"{w:+.1f}·{term}" for w, term in zip(weights, terms, strict=True) if w)
    kinds = spectral_class()
    return Claim(
        "AND, OR and XOR are bilinear",
        all(kinds[parse_gate(g)] is SpectralClass.BILINEAR for g in ("and", "or", "xor")),
        f"min(a, b) = {written}; only ±ab are, and "
        f"{np.count_nonzero(kinds == SpectralClass.LINEAR)} gates are linear, majority not among "
        "them",
    )


def _covering() -> Claim:
    far = np.full(9, 2.0)
    distance = float(np.linalg.norm(far - round_to_values(far)))
    return Claim(
        "The lattice of tables covers space with a radius of 3/2",
        distance <= 1.5,
        f"inside the cube [−1, 1]⁹ only: a table of twos is {distance:.1f} away",
    )


def _variance() -> Claim:
    variance = 0.45**2 * (evaluation_matrix() ** 2).sum(axis=1)
    return Claim(
        "N(0, .45²) gives outputs of variance about 1 on ternary inputs",
        bool(np.all(np.abs(variance - 1) < 0.25)),
        f"{variance.mean():.2f} on average, but {variance.max():.2f} at the corners and "
        f"{variance.min():.2f} where both inputs are UNKNOWN",
    )


THEORY = (Experiment("theory", "The mathematics", lambda scale: [], _theory),)
"""What needs no training."""
