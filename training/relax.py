"""The mathematics of training: gates as polynomials, rounding, commitment.

Values of a layer are [gate, batch]: the gate comes first because gathers along the leading axis
are several times faster on a CPU. Everything is written for a general valence.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from numpy.typing import NDArray

from trilut.circuit.gates import evaluation_matrix, exponents, truth_values
from trilut.training.node import Node

__all__ = [
    "coefficients",
    "commitment",
    "commitment_weight",
    "evaluate_coefficients",
    "evaluate_polynomial",
    "interpolate",
    "look_up",
    "look_up_rows",
    "lookup_layer",
    "project_to_kleene",
    "round_straight_through",
    "round_to_values",
    "soft_table",
    "with_gradient_of",
]


def soft_table(weights: Float[Array, "gate row"], *, valence: int = 3) -> Float[Array, "gate row"]:
    """Return V·w: the polynomial of each gate at the pairs of truth values."""
    matrix = jnp.asarray(evaluation_matrix(valence), dtype=weights.dtype)
    return weights @ matrix.T


def coefficients(
    tables: Float[Array, "gate row"], *, radices: tuple[int, ...] = (3, 3)
) -> Float[Array, "gate ..."]:
    """Return the coefficients [gate, power, …] of the polynomial that equals each table.

    There is an axis for each input, with as many powers as the input has values: 27 coefficients
    for three trits, and a multilinear polynomial for bits. For inputs of trits and bits the result
    is exact: the coefficients are multiples of a small power of a half.
    """
    of_all: NDArray[Any] = np.eye(1)
    for radix in radices:
        of_all = np.kron(of_all, _interpolation(radix))
    return (tables @ jnp.asarray(of_all.T, dtype=tables.dtype)).reshape(-1, *radices)


def evaluate_coefficients(
    weights: Float[Array, "gate ..."], *inputs: Float[Array, "gate batch"]
) -> Float[Array, "gate batch"]:
    """Evaluate polynomials, as :func:`coefficients` gives them, at real inputs."""
    if not inputs:
        return weights[:, None]
    first, *rest = inputs
    terms = [evaluate_coefficients(weights[:, power], *rest) for power in range(weights.shape[1])]
    return _horner(terms, first)


@functools.cache
def _interpolation(valence: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Return the matrix [power, level] from a function's values to its polynomial."""
    powers = np.vander(truth_values(valence), increasing=True)
    # For trits and bits this makes the halves and quarters exact.
    return np.round(np.linalg.inv(powers), 12)


def interpolate(
    weights: Float[Array, "gate row"],
    a: Float[Array, "gate batch"],
    b: Float[Array, "gate batch"],
    *,
    valence: int = 3,
) -> Float[Array, "gate batch"]:
    """Evaluate the polynomial of every gate at real inputs, and clip to [−1, 1].

    The gradient is zero where the polynomial leaves [−1, 1].
    """
    return jnp.clip(evaluate_polynomial(weights, a, b, valence=valence), -1.0, 1.0)


def evaluate_polynomial(
    weights: Float[Array, "gate row"],
    a: Float[Array, "gate batch"],
    b: Float[Array, "gate batch"],
    *,
    valence: int = 3,
) -> Float[Array, "gate batch"]:
    """Evaluate the polynomial of every gate at real inputs by Horner's rule.

    For trits this takes eight multiplications and eight additions a gate.
    """
    column = {power: weights[:, row, None] for row, power in enumerate(exponents(valence))}
    rows = [_horner([column[i, j] for j in range(valence)], b) for i in range(valence)]
    return _horner(rows, a)


def _horner(terms: list[Float[Array, "gate _"]], x: Float[Array, "gate batch"]) -> Array:
    total = terms[-1]
    for term in reversed(terms[:-1]):
        total = total * x + term
    return total


def look_up(
    tables: Float[Array, "gate row"],
    a: Float[Array, "gate batch"],
    b: Float[Array, "gate batch"],
    *,
    valence: int = 3,
) -> Float[Array, "gate batch"]:
    """Look the inputs, which are truth values, up in tables of truth values.

    The value is what the circuit computes. The gradient to the table is that of the entry looked
    up. The gradient to an input is the slope of the chord from −1 to +1 with the other input held:
    (table(+1, b) − table(−1, b)) / 2. That is the polynomial's derivative without its even powers,
    so even powers pass no gradient and odd ones pass that of the input itself.
    """
    value = _multiply_out(coefficients(tables, radices=(valence, valence)), a, b)
    # Thirds and fifths are not exact in binary; halves and quarters are.
    return value if valence <= 3 else round_straight_through(value, valence=valence)


# Cached because compiled code is found again by the identity of the function.
@functools.cache
def lookup_layer(node: Node) -> Callable[..., Array]:
    """Return the layer function of a hardened network."""
    if len(node.radices) == 2 and len(node.parts) == 1:
        return functools.partial(look_up, valence=node.radices[0])
    return functools.partial(look_up_rows, node=node)


# A gradient of our own, because the one that JAX derives takes three times as long on a CPU.
@jax.custom_vjp
def _multiply_out(
    weights: Float[Array, "gate power_a power_b"],
    a: Float[Array, "gate batch"],
    b: Float[Array, "gate batch"],
) -> Float[Array, "gate batch"]:
    """Evaluate polynomials, whose gradient to an input leaves out the even powers of it."""
    powers = _powers(b, weights.shape[2])
    return _dot([_dot(_columns(row), powers) for row in _rows(weights)], _powers(a, len(powers)))


def _multiply_out_backward(
    saved: tuple[Array, Array, Array], gradient: Float[Array, "gate batch"]
) -> tuple[Array, Array, Array]:
    weights, a, b = saved
    valence = weights.shape[1]
    powers_a, powers_b = _powers(a, valence), _powers(b, valence)
    slope_a = _dot(_columns(jnp.sum(weights[:, 1::2, :], axis=1)), powers_b)
    slope_b = _dot(_columns(jnp.sum(weights[:, :, 1::2], axis=2)), powers_a)
    products = [gradient * power_a * power_b for power_a in powers_a for power_b in powers_b]
    sums = jnp.stack(_sum_batches(products), axis=1).reshape(weights.shape)
    return sums, gradient * slope_a, gradient * slope_b


_multiply_out.defvjp(
    lambda weights, a, b: (_multiply_out(weights, a, b), (weights, a, b)), _multiply_out_backward
)


def _sum_batches(values: list[Float[Array, "gate batch"]]) -> list[Float[Array, " gate"]]:
    """Sum over the batch, all in one pass."""
    zeros = [jnp.zeros((), value.dtype) for value in values]
    return jax.lax.reduce(values, zeros, lambda x, y: jax.tree.map(jnp.add, x, y), (1,))


def _powers(x: Float[Array, "gate batch"], valence: int) -> list[Array]:
    powers = [jnp.ones_like(x), x]
    for _ in range(2, valence):
        powers.append(powers[-1] * x)
    return powers


def _rows(weights: Float[Array, "gate power_a power_b"]) -> list[Float[Array, "gate power_b"]]:
    return [weights[:, row] for row in range(weights.shape[1])]


def _columns(row: Float[Array, "gate power"]) -> list[Float[Array, "gate 1"]]:
    return [row[:, power, None] for power in range(row.shape[1])]


def _dot(terms: list[Array], powers: list[Array]) -> Array:
    total = terms[0]
    for term, power in zip(terms[1:], powers[1:], strict=True):
        total = total + term * power
    return total


def look_up_rows(
    tables: Float[Array, "gate row"], *inputs: Float[Array, "gate batch"], node: Node
) -> Float[Array, "gate batch"]:
    """Look the inputs, which are truth values, up in tables of any number of inputs.

    Values and gradients are as those of :func:`look_up`, which is faster for two inputs.
    """
    return _look_up(node, tables, list(inputs))


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _look_up(
    node: Node, tables: Float[Array, "gate row"], inputs: list[Float[Array, "gate batch"]]
) -> Float[Array, "gate batch"]:
    return _entries(tables, _rows_read(node, inputs))


def _look_up_forward(node: Node, tables: Array, inputs: list[Array]) -> tuple[Array, object]:
    rows = _rows_read(node, inputs)
    value = _entries(tables, rows)
    return value, (tables, inputs, rows, value)


def _look_up_backward(
    node: Node, saved: tuple[Array, list[Array], Array, Array], gradient: Float[Array, "gate batch"]
) -> tuple[Array, list[Array]]:
    tables, inputs, rows, value = saved
    gates = jnp.arange(len(tables), dtype=rows.dtype)[:, None]
    of_tables = jnp.zeros_like(tables).at[gates, rows].add(gradient, mode="promise_in_bounds")
    slopes = []
    for x, radix, stride in zip(inputs, node.radices, node.strides, strict=True):
        level = _level(x, radix)
        if radix == 2:
            # One end of the chord is the value.
            rise = x * (value - _entries(tables, rows + stride * (1 - 2 * level)))
        else:
            lowest = rows - stride * level
            rise = _entries(tables, lowest + stride * (radix - 1)) - _entries(tables, lowest)
        slopes.append(gradient * (0.5 * rise))
    return of_tables, slopes


_look_up.defvjp(_look_up_forward, _look_up_backward)


def _rows_read(node: Node, inputs: list[Float[Array, "gate batch"]]) -> Int[Array, "gate batch"]:
    """Return the row of its table that each gate reads."""
    levels = map(_level, inputs, node.radices)
    steps = [stride * level for stride, level in zip(node.strides, levels, strict=True)]
    return functools.reduce(jnp.add, steps)


def _level(x: Float[Array, "gate batch"], radix: int) -> Int[Array, "gate batch"]:
    """Return the place of truth values among all of them, counted from the lowest."""
    half = 0.5 * (radix - 1)
    # Towards zero, and so to the nearest.
    return (x * half + (half + 0.5)).astype(jnp.int32)


def _entries(
    tables: Float[Array, "gate row"], rows: Int[Array, "gate batch"]
) -> Float[Array, "gate batch"]:
    return jnp.take_along_axis(tables, rows, axis=1, mode="promise_in_bounds")


@jax.custom_vjp
def with_gradient_of(value: Array, source: Array) -> Array:
    """Return ``value``, and pass the gradient to ``source`` unchanged."""
    return value


with_gradient_of.defvjp(
    lambda value, source: (value, None),
    lambda _, gradient: (jnp.zeros_like(gradient), gradient),
)


def round_to_values(x: Float[Array, "*shape"], *, valence: int = 3) -> Float[Array, "*shape"]:
    """Round to the nearest truth value, as :func:`trilut.circuit.gates.round_to_values` does."""
    ties = [(2 * level + 2 - valence) / (valence - 1) for level in range(valence - 1)]
    # Comparisons are exact in every precision; scaling x first would move values next to a tie.
    above = [x > tie if tie >= 0 else x >= tie for tie in ties]
    level = sum((passed.astype(x.dtype) for passed in above), jnp.zeros_like(x))
    return level * (2 / (valence - 1)) - 1


def round_straight_through(
    x: Float[Array, "*shape"], *, valence: int = 3
) -> Float[Array, "*shape"]:
    """Round to the nearest truth value, and pass the gradient unchanged."""
    return with_gradient_of(round_to_values(x, valence=valence), x)


def project_to_kleene(tables: Float[Array, "gate row"]) -> Float[Array, "gate row"]:
    """Return information-monotone tables, UNKNOWN wherever an UNKNOWN input could still matter.

    An entry with one UNKNOWN input keeps its value only if that equals both entries with the input
    decided, and the entry with two only if it equals the four that have one. All else stays, so a
    table that is information-monotone does.
    """
    low_low, low, low_high, left, centre, right, high_low, high, high_high = tables.T
    low = _unless_open(low, low_low, low_high)
    high = _unless_open(high, high_low, high_high)
    left = _unless_open(left, low_low, high_low)
    right = _unless_open(right, low_high, high_high)
    centre = _unless_open(centre, low, high, left, right)
    rows = [low_low, low, low_high, left, centre, right, high_low, high, high_high]
    return jnp.stack(rows, axis=1)


def _unless_open(entry: Float[Array, " gate"], *decided: Float[Array, " gate"]) -> Array:
    """Return entries that equal all of those with an input decided, and 0 for the others."""
    is_kept = functools.reduce(jnp.logical_and, [entry == other for other in decided])
    return jnp.where(is_kept, entry, 0.0)


def commitment(tables: Float[Array, "gate row"], *, valence: int = 3) -> Float[Array, ""]:
    """Return R_A: the mean squared distance of soft tables from the truth values.

    It equals the mean squared error of rounding the tables, entry by entry. It bounds nothing about
    the network as a whole: a small R_A can still hide a large loss of accuracy.
    """
    error = tables - jax.lax.stop_gradient(round_to_values(tables, valence=valence))
    return jnp.mean(error**2)


def commitment_weight(
    progress: Float[Array, ""], *, maximum: float, power: float
) -> Float[Array, ""]:
    """Return λ = λ_max·progressᵞ, where progress runs from 0 to 1 over the training."""
    return maximum * progress**power
