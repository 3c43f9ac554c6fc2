"""Where the energy of gates lies in the Fourier basis φ_i(a)·φ_j(b)."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trilut.circuit.gates import fourier_norms, fourier_spectrum
from trilut.circuit.netlist import Netlist

__all__ = ["BANDS", "band_energy", "complexity", "layer_profile", "term_energy"]

BANDS = ("constant", "linear", "quadratic", "cubic", "quartic")
"""The total degrees of a ternary gate's terms."""


def term_energy(tables: ArrayLike, valence: int = 3) -> NDArray[np.float64]:
    """Return f̂_ij²·‖φ_i‖²·‖φ_j‖² of each table, as a q × q matrix.

    The terms of a table sum to its mean square (Parseval). Squared coefficients alone would count
    φ2, whose norm is 2/9, four and a half times.
    """
    norms = fourier_norms(valence)
    return fourier_spectrum(tables, valence) ** 2 * np.outer(norms, norms)


def band_energy(tables: ArrayLike, valence: int = 3) -> NDArray[np.float64]:
    """Return the energy of each table by total degree i + j: 0 … 2q−2."""
    energy = term_energy(tables, valence)
    degree = np.add.outer(np.arange(valence), np.arange(valence))
    return np.stack(
        [energy[..., degree == band].sum(axis=-1) for band in range(2 * valence - 1)], -1
    )


def complexity(tables: ArrayLike, valence: int = 3) -> NDArray[np.float64]:
    """Return the L1 norm Σ|f̂_ij| of each table: the paper's measure of complexity."""
    return np.abs(fourier_spectrum(tables, valence)).sum(axis=(-2, -1))


def layer_profile(netlist: Netlist) -> list[dict[str, float]]:
    """Return the share of the energy in each band, of all gates on each level of a circuit."""
    levels = netlist.levels[netlist.num_inputs :]
    energy = band_energy(netlist.table, netlist.valence)
    totals = [energy[levels == level].sum(axis=0) for level in range(1, netlist.depth + 1)]
    # A level of UNKNOWN constants has no energy to share.
    shares = [total / max(total.sum(), 1e-12) for total in totals]
    return [dict(zip(BANDS, share.tolist(), strict=False)) for share in shares]
