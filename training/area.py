"""The area of gates as a term of the loss.

A ternary gate is two planes, [value = +1] and [value = −1], each a function of one bit a row of the
table. What a plane costs depends on that function alone, so the expected cost of a gate whose rows
are drawn independently is a sum over the 512 functions, and that factors into one small matrix
product. A soft entry t stands for +1 with the probability max(t, 0) and for −1 with max(−t, 0).

What an output costs in the sum is charged otherwise, for each plane that is not constant: by the
largest of these probabilities minus the smallest. An expectation would be flat wherever two rows
are sure, so that it could never lead to a constant. At a table of truth values both are the cost
itself.
"""

import functools
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import NDArray

from trilut.circuit.formula import ALL_ROWS, plane_formulas
from trilut.training.network import Parameters

__all__ = ["AreaTerm", "expected_area", "gate_area"]

# LUT4 in a sum of trits for each plane of an output that is not constant: 2.4 for three values.
_SUM_COST = 1.2

# The rows of a ternary table that a binary one has.
_BINARY_ROWS = (0, 2, 6, 8)


@dataclass(frozen=True, slots=True)
class AreaTerm:
    """The expected area of all gates, in LUT4 a gate, times a weight; a key to compiled code.

    Parameters
    ----------
    weight : float
        Weight in the loss.
    output_layers : int
        How many layers, counted from the last, enter the sums.
    """

    weight: float
    output_layers: int = 1

    def loss(self, tables: Parameters, *, valence: int) -> Float[Array, ""]:
        """Return the weighted mean over the gates of all layers, given their soft tables."""
        first_output = len(tables) - self.output_layers
        areas = [
            expected_area(layer, is_output=index >= first_output, valence=valence)
            for index, layer in enumerate(tables)
        ]
        return self.weight * jnp.mean(jnp.concatenate(areas))


def expected_area(
    tables: Float[Array, "gate row"], *, is_output: bool, valence: int = 3
) -> Float[Array, " gate"]:
    """Return the expected cost of gates with soft tables, in LUT4.

    Parameters
    ----------
    tables : float array [gate, row]
        Entries, of which only the part within [−1, 1] counts.
    is_output : bool
        Whether the gates enter a sum, which costs too.
    """
    # Unlike a clip, this has the whole gradient at ±1, where most entries of a trained table are.
    tables = jnp.where(jnp.abs(tables) > 1, jnp.sign(tables), tables)
    if valence == 2:
        # The other plane is this one inverted.
        return _plane_area((1 + tables) / 2, is_output, valence)
    plus, minus = (jnp.maximum(plane, 0.0) for plane in (tables, -tables))
    return _plane_area(plus, is_output, valence) + _plane_area(minus, is_output, valence)


def _plane_area(
    chance: Float[Array, "gate row"], is_output: bool, valence: int
) -> Float[Array, " gate"]:
    logic = _expectation(chance, _plane_costs(valence, is_output))
    if not is_output:
        return logic
    return logic + _SUM_COST * (jnp.max(chance, axis=1) - jnp.min(chance, axis=1))


def _expectation(
    chance: Float[Array, "gate row"], costs: NDArray[np.float64]
) -> Float[Array, " gate"]:
    """Return the mean cost of functions whose bits are drawn with the given chances of a one."""
    low = chance.shape[1] // 2
    matrix = jnp.asarray(costs.reshape(-1, 1 << low), dtype=chance.dtype)
    return jnp.sum((_products(chance[:, low:]) @ matrix) * _products(chance[:, :low]), axis=1)


def _products(chance: Float[Array, "gate row"]) -> Float[Array, "gate function"]:
    """Return the chance of each combination of bits; row r is bit r of its number."""
    product = jnp.ones_like(chance[:, :1])
    for row in range(chance.shape[1]):
        one = chance[:, row, None]
        product = jnp.concatenate([product * (1 - one), product * one], axis=1)
    return product


def gate_area(
    tables: NDArray[np.float32], *, is_output: bool, valence: int = 3
) -> NDArray[np.float64]:
    """Return the cost [gate] of tables of truth values [gate, row], in LUT4."""
    costs = _plane_costs(valence, is_output)
    weights = 1 << np.arange(valence**2)
    planes = [tables == 1] if valence == 2 else [tables == 1, tables == -1]
    area = np.zeros(len(tables))
    for plane in planes:
        varies = plane.any(axis=1) & ~plane.all(axis=1)
        area += costs[plane @ weights] + (_SUM_COST * varies if is_output else 0)
    return area


@functools.cache
def _plane_costs(valence: int, is_output: bool) -> NDArray[np.float64]:
    """Return the logic of each plane, a function whose value on row r is bit r of its number.

    Inside the network a table of n inputs can become part of its reader, so it costs what it adds
    to a tree of LUT4. The plane of an output ends in a register and takes a LUT4 of its own.
    """
    rows = ALL_ROWS if valence == 3 else _BINARY_ROWS
    leaves = np.array([len(formula.leaves) for formula in plane_formulas(rows)])
    return np.where(leaves > 1, 1.0, 0.0) if is_output else np.maximum(leaves - 1, 0) / 3
