"""Gate algebra: truth values, tables, ids, names, polynomials and Fourier spectra.

A gate of valence ``q`` maps two truth values to one. The truth values are ``q`` equally spaced
numbers from −1 to +1; for ``q = 3`` they are the trits −1, 0, +1 = FALSE, UNKNOWN, TRUE. A gate is
its *table*: ``q²`` truth values, row-major in (a, b), both counted upwards from −1. The *level* of
a truth value is its index 0 … q−1.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trilut.errors import NetlistError

__all__ = [
    "NAMED_GATES",
    "evaluation_matrix",
    "exponents",
    "fourier_matrix",
    "fourier_norms",
    "fourier_spectrum",
    "gate_id",
    "gate_name",
    "gate_table",
    "num_gates",
    "parse_gate",
    "polynomial",
    "polynomial_table",
    "round_to_values",
    "table_text",
    "truth_values",
]

# What numpy calls float64 and int8; the aliases keep signatures on one line.
Floats = NDArray[np.float64]
Trits = NDArray[np.int8]


def truth_values(valence: int = 3) -> Floats:
    """Return the ``valence`` truth values, equally spaced from −1 to +1."""
    if valence < 2:
        raise ValueError(f"Valence must be at least 2, not {valence}")
    return np.linspace(-1.0, 1.0, valence)


def round_to_values(x: ArrayLike, valence: int = 3) -> Floats:
    """Round every entry to the nearest truth value.

    A tie goes to the value nearer to zero (for trits, ±½ becomes 0), and the tie at zero itself,
    which only an even valence has, goes down. Every stage that hardens uses this rule.
    """
    x = np.asarray(x, dtype=np.float64)
    # Ties lie halfway between neighbours. Comparing with them is exact, unlike scaling x.
    ties = (2 * np.arange(valence - 1) + 2 - valence) / (valence - 1)
    above = np.searchsorted(ties, x, side="left")
    at_or_above = np.searchsorted(ties, x, side="right")
    return truth_values(valence)[np.where(x >= 0, above, at_or_above)]


def num_gates(valence: int = 3) -> int:
    """Return how many two-input gates there are: 16 for bits, 19,683 for trits."""
    return int(valence ** (valence**2))


def gate_id(table: ArrayLike, valence: int = 3) -> NDArray[np.int64]:
    """Return the id Σ level(table[i])·qⁱ of each table along the last axis."""
    levels = np.rint((np.asarray(table) + 1) * (valence - 1) / 2).astype(np.int64)
    return levels @ valence ** np.arange(valence**2, dtype=np.int64)


def gate_table(gate: ArrayLike, valence: int = 3) -> Floats:
    """Return the table of each gate id, along a new last axis."""
    gate = np.asarray(gate, dtype=np.int64)
    if np.any((gate < 0) | (gate >= num_gates(valence))):
        wrong = gate[(gate < 0) | (gate >= num_gates(valence))].flat[0]
        raise NetlistError(f"Gate id {wrong} is not in 0…{num_gates(valence) - 1}")
    levels = gate[..., None] // valence ** np.arange(valence**2, dtype=np.int64) % valence
    return truth_values(valence)[levels]


def _grid(valence: int = 3) -> tuple[Floats, Floats]:
    values = truth_values(valence)
    a, b = np.meshgrid(values, values, indexing="ij")
    return a.ravel(), b.ravel()


def exponents(valence: int = 3) -> list[tuple[int, int]]:
    """Return the exponents (i, j) of the monomials aⁱbʲ in the order of the coefficients.

    The order is by total degree with the mixed monomial first, which for trits gives
    1, a, b, ab, a², b², a²b, ab², a²b².
    """
    pairs = [(i, j) for i in range(valence) for j in range(valence)]
    return sorted(pairs, key=lambda p: (p[0] + p[1], abs(p[0] - p[1]), -p[0]))


def evaluation_matrix(valence: int = 3) -> Floats:
    """Return V: row r holds every monomial at the r-th pair of truth values, so table = V·w."""
    a, b = _grid(valence)
    return np.stack([a**i * b**j for i, j in exponents(valence)], axis=1)


def polynomial(table: ArrayLike, valence: int = 3) -> Floats:
    """Return the coefficients of the polynomial that equals each table on the truth values."""
    table = np.asarray(table, dtype=np.float64)
    return np.linalg.solve(evaluation_matrix(valence), table[..., None])[..., 0]


def polynomial_table(coefficients: ArrayLike, valence: int = 3) -> Floats:
    """Return the table of the gate that each polynomial hardens to: round(V·w)."""
    soft = np.asarray(coefficients, dtype=np.float64) @ evaluation_matrix(valence).T
    return round_to_values(soft, valence)


def _orthogonal_values(valence: int) -> Floats:
    """Return φ_i (rows) on the truth values: 1, x, x², … made orthogonal by Gram–Schmidt."""
    values = truth_values(valence)
    basis: list[Floats] = []
    for degree in range(valence):
        phi = values**degree
        for lower in basis:
            phi = phi - (phi @ lower) / (lower @ lower) * lower
        basis.append(phi)
    return np.stack(basis)


def fourier_norms(valence: int = 3) -> Floats:
    """Return ‖φ_i‖² under the uniform measure: 1, 2/3, 2/9 for trits."""
    return (_orthogonal_values(valence) ** 2).mean(axis=1)


def fourier_matrix(valence: int = 3) -> Floats:
    """Return Φ with table = Φ·f̂; column i·q + j holds φ_i(a)·φ_j(b).

    For trits φ0 = 1, φ1 = x, φ2 = x² − 2/3. The basis is orthogonal, not orthonormal.
    """
    phi = _orthogonal_values(valence)
    return np.einsum("ia,jb->abij", phi, phi).reshape(valence**2, valence**2)


def fourier_spectrum(table: ArrayLike, valence: int = 3) -> Floats:
    """Return the coefficients f̂_ij of each table as a q × q matrix (rows: degree in a)."""
    table = np.asarray(table, dtype=np.float64)
    norms = fourier_norms(valence)
    projected = table @ fourier_matrix(valence) / valence**2
    shape = (*table.shape[:-1], valence, valence)
    return projected.reshape(shape) / np.outer(norms, norms)


def _named_gates() -> dict[str, Trits]:
    a, b = _grid()
    named = {
        "false": -np.ones(9),
        "unknown": np.zeros(9),
        "true": np.ones(9),
        "a": a,
        "b": b,
        "not_a": -a,
        "not_b": -b,
        "and": np.minimum(a, b),
        "or": np.maximum(a, b),
        "nand": -np.minimum(a, b),
        "nor": -np.maximum(a, b),
        "xor": -a * b,
        "xnor": a * b,
        "implies": np.maximum(-a, b),
        "implied_by": np.maximum(a, -b),
        "consensus": np.where(a == b, a, 0),
        "accept_any": np.sign(a + b),
        "lukasiewicz_implies": np.minimum(1, 1 - a + b),
    }
    return {name: table.astype(np.int8) for name, table in named.items()}


NAMED_GATES = _named_gates()
"""Ternary gates with a name of their own: Kleene's connectives and a few more."""

_NAMES = {int(gate_id(table)): name for name, table in NAMED_GATES.items()}


def gate_name(gate: int) -> str | None:
    """Return the name of a ternary gate, or None if it has none."""
    return _NAMES.get(gate)


def table_text(table: ArrayLike) -> str:
    """Write a table of bits or trits as characters ``-0+``, nine of them for a ternary gate."""
    return "".join("-0+"[int(trit) + 1] for trit in np.asarray(table).ravel())


def parse_gate(text: str) -> int:
    """Read a ternary gate given as an id, a name or nine of the characters ``-0+``.

    Raises
    ------
    NetlistError
        If the text is none of these.
    """
    if text.lower() in NAMED_GATES:
        return int(gate_id(NAMED_GATES[text.lower()]))
    if len(text) == 9 and set(text) <= set("-0+"):
        return int(gate_id(["-0+".index(character) - 1 for character in text]))
    if text.isascii() and text.isdigit() and int(text) < num_gates():
        return int(text)
    raise NetlistError(
        f"Gate {text!r} is not an id in 0…{num_gates() - 1}, nine of '-0+', "
        f"or one of {', '.join(NAMED_GATES)}"
    )
