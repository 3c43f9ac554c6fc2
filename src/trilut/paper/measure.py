"""Measures of a trained network before it is a netlist: its tables, and the loss around it."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from trilut.data import Split
from trilut.training import Fitted
from trilut.training.network import Parameters, accuracy, class_scores, forward
from trilut.training.recipes import PaperRecipe, harden_tables
from trilut.training.relax import commitment, lookup_layer, soft_table
from trilut.training.samples import encode

__all__ = ["loss_landscape", "table_errors"]

_GRID = np.linspace(-1, 1, 11)


def table_errors(fitted: Fitted) -> dict[str, float] | None:
    """Return how far the soft tables are from gates; None for a recipe that has none.

    ``error`` is the mean distance of an entry from its truth value, and ``commitment`` is R_A, the
    mean of its square.
    """
    if not isinstance(fitted.recipe, PaperRecipe) or fitted.recipe.parametrisation != "monomial":
        return None
    soft = soft_table(jnp.concatenate(fitted.learned.parameters), valence=fitted.recipe.valence)
    hard = jnp.concatenate(fitted.tables)
    return {
        "error": float(jnp.mean(jnp.abs(soft - hard))),
        "commitment": float(commitment(soft, valence=fitted.recipe.valence)),
    }


def loss_landscape(fitted: Fitted, split: Split, *, seed: int = 0) -> dict[str, Any]:
    """Return loss and hardened accuracy on a plane through the parameters.

    The plane is spanned by two random directions. Every gate moves along each by at most as much
    as its own parameters are long, so that gates with small and large ones are treated alike.
    """
    generator = np.random.default_rng(seed)
    first, second = (_direction(fitted.learned.parameters, generator) for _ in range(2))
    samples = encode(fitted.encoder, split)
    inputs = samples.inputs.T.astype(jnp.float32)
    loss, accuracies = [], []
    for y in _GRID:
        for x in _GRID:
            moved = tuple(
                weights + x * a + y * b
                for weights, a, b in zip(fitted.learned.parameters, first, second, strict=True)
            )
            values = forward(
                fitted.recipe.layer, moved, fitted.learned.wiring, inputs, fitted.topology
            )
            scores = class_scores(values, fitted.topology)
            loss.append(float(fitted.recipe.loss(moved, scores, samples.labels, jnp.asarray(1.0))))
            tables = harden_tables(fitted.recipe, moved)
            layer = lookup_layer(fitted.topology.node)
            accuracies.append(
                accuracy(layer, tables, fitted.learned.wiring, samples, fitted.topology)
            )
    shape = (len(_GRID), len(_GRID))
    return {
        "grid": _GRID.tolist(),
        "loss": np.reshape(loss, shape).tolist(),
        "accuracy": np.reshape(accuracies, shape).tolist(),
    }


def _direction(parameters: Parameters, generator: np.random.Generator) -> Parameters:
    def along(weights: Any) -> Any:
        step = generator.normal(size=weights.shape).astype(np.float32)
        length = np.linalg.norm(weights, axis=1, keepdims=True)
        return jnp.asarray(step * length / np.linalg.norm(step, axis=1, keepdims=True))

    return tuple(along(weights) for weights in parameters)
