"""Recipes: how gates are relaxed to be trained, and what the training minimises."""

import functools
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from trilut.gates import NAMED_GATES
from trilut.training.config import TrainingConfig
from trilut.training.network import Parameters
from trilut.training.relax import (
    commitment,
    commitment_weight,
    interpolate,
    look_up,
    round_straight_through,
    round_to_values,
    soft_table,
)

__all__ = ["HardRecipe", "PaperRecipe", "Recipe", "harden_tables", "make_recipe"]


# Checkable at run time because the tests check the types of all arguments.
@runtime_checkable
class Recipe(Protocol):
    """What the training loop asks of a recipe, which is frozen and so a key to compiled code."""

    def init(self, num_gates: int, generator: np.random.Generator) -> Float[Array, "gate row"]:
        """Return the parameters that a layer starts from."""

    def layer(
        self,
        parameters: Float[Array, "gate row"],
        a: Float[Array, "gate batch"],
        b: Float[Array, "gate batch"],
    ) -> Float[Array, "gate batch"]:
        """Return the values of a layer in the training forward."""

    def loss(
        self,
        parameters: Parameters,
        scores: Float[Array, "class batch"],
        labels: Int[Array, " batch"],
        progress: Float[Array, ""],
    ) -> Float[Array, ""]:
        """Return what to minimise; progress runs from 0 to 1 over the training."""

    def constrain(self, parameters: Parameters) -> Parameters:
        """Return the parameters after what has to be done to them when a step has changed them."""

    def table(self, parameters: Float[Array, "gate row"]) -> Float[Array, "gate row"]:
        """Return the tables of truth values that a layer hardens to."""


@dataclass(frozen=True, slots=True)
class HardRecipe:
    """Tables are rounded in the forward pass, so the training forward is the circuit.

    A parameter is an entry of a table, kept in [−1, 1]. Its rounding passes the gradient unchanged,
    and an input gets the slope of the chord (:func:`trilut.training.relax.look_up`). Gates start
    near to passing their first input on. The loss is the cross-entropy of the class scores / tau.
    """

    tau: float
    noise: float = 0.3

    def init(self, num_gates: int, generator: np.random.Generator) -> Float[Array, "gate row"]:
        """Return tables of 'a' with normal noise."""
        start = NAMED_GATES["a"] + generator.normal(0, self.noise, (num_gates, 9))
        return jnp.asarray(np.clip(start, -1, 1), dtype=jnp.float32)

    def layer(
        self,
        parameters: Float[Array, "gate row"],
        a: Float[Array, "gate batch"],
        b: Float[Array, "gate batch"],
    ) -> Float[Array, "gate batch"]:
        """Look the inputs up in the rounded tables."""
        return look_up(round_straight_through(parameters), a, b)

    def loss(
        self,
        parameters: Parameters,
        scores: Float[Array, "class batch"],
        labels: Int[Array, " batch"],
        progress: Float[Array, ""],
    ) -> Float[Array, ""]:
        """Return the mean cross-entropy."""
        logits = jax.nn.log_softmax(scores / self.tau, axis=0)
        return -jnp.mean(jnp.take_along_axis(logits, labels[None, :], axis=0))

    def constrain(self, parameters: Parameters) -> Parameters:
        """Clip the entries, so that none runs away from where it can still change the table."""
        return jax.tree.map(lambda entries: jnp.clip(entries, -1.0, 1.0), parameters)

    def table(self, parameters: Float[Array, "gate row"]) -> Float[Array, "gate row"]:
        """Round the entries."""
        return round_to_values(parameters)


@dataclass(frozen=True, slots=True)
class PaperRecipe:
    """Polynomial surrogate training as published: clipped polynomials drawn towards gates.

    A parameter is a coefficient of a polynomial, N(0, 0.45²) at first. The loss is the mean squared
    error of the class scores / tau from +1 for the right class and −1 for the others (0 and 1 as
    targets do not work), plus the commitment loss with the weight λ_max·progressᵞ.
    """

    tau: float
    commitment_max: float = 0.1
    commitment_power: float = 2.0
    deviation: float = 0.45

    def init(self, num_gates: int, generator: np.random.Generator) -> Float[Array, "gate row"]:
        """Return normally distributed coefficients."""
        start = generator.normal(0, self.deviation, (num_gates, 9))
        return jnp.asarray(start, dtype=jnp.float32)

    def layer(
        self,
        parameters: Float[Array, "gate row"],
        a: Float[Array, "gate batch"],
        b: Float[Array, "gate batch"],
    ) -> Float[Array, "gate batch"]:
        """Evaluate the clipped polynomials."""
        return interpolate(parameters, a, b)

    def loss(
        self,
        parameters: Parameters,
        scores: Float[Array, "class batch"],
        labels: Int[Array, " batch"],
        progress: Float[Array, ""],
    ) -> Float[Array, ""]:
        """Return the mean squared error plus the weighted commitment loss of all gates."""
        target = 2 * jax.nn.one_hot(labels, len(scores), axis=0) - 1
        weight = commitment_weight(
            progress, maximum=self.commitment_max, power=self.commitment_power
        )
        tables = soft_table(jnp.concatenate(parameters))
        return jnp.mean((scores / self.tau - target) ** 2) + weight * commitment(tables)

    def constrain(self, parameters: Parameters) -> Parameters:
        """Change nothing."""
        return parameters

    def table(self, parameters: Float[Array, "gate row"]) -> Float[Array, "gate row"]:
        """Round the polynomials at the pairs of trits."""
        return round_to_values(soft_table(parameters))


@functools.partial(jax.jit, static_argnames="recipe")
def harden_tables(recipe: Recipe, parameters: Parameters) -> Parameters:
    """Return the tables of truth values that every layer hardens to."""
    return tuple(recipe.table(layer_parameters) for layer_parameters in parameters)


def make_recipe(config: TrainingConfig, *, tau: float) -> Recipe:
    """Return the recipe that a configuration names."""
    match config.recipe:
        case "hard":
            return HardRecipe(tau)
        case "paper":
            return PaperRecipe(tau, config.commitment_max, config.commitment_power)
