"""Differentiable logic gate networks (DLGN): every gate is a mixture of the sixteen binary ones."""

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from trilut.circuit.gates import gate_table, polynomial
from trilut.training.names import Objective
from trilut.training.network import Parameters
from trilut.training.objective import task_loss
from trilut.training.relax import evaluate_polynomial

__all__ = ["MixtureRecipe"]


@dataclass(frozen=True, slots=True)
class MixtureRecipe:
    """Softmax over the sixteen binary gates; hardening takes the likeliest one.

    A parameter is the logit of a gate, N(0, 1) at first. A mixture of bilinear functions is
    bilinear itself, so it can be evaluated by its four coefficients; ``naive`` evaluates the
    sixteen gates one by one and sums them, which is the same but slower.
    """

    tau: float
    naive: bool = False
    objective: Objective = "cross-entropy"

    @property
    def valence(self) -> int:
        """2: the gates are binary."""
        return 2

    @property
    def is_circuit(self) -> bool:
        """False: mixtures take any value."""
        return False

    def init(self, num_gates: int, generator: np.random.Generator) -> Float[Array, "gate row"]:
        """Return normal logits."""
        return jnp.asarray(generator.normal(size=(num_gates, 16)), dtype=jnp.float32)

    def disturb(self, parameters: Parameters, step: Int[Array, ""]) -> Parameters:
        """Change nothing."""
        return parameters

    def layer(
        self, parameters: Float[Array, "gate row"], *inputs: Float[Array, "gate batch"]
    ) -> Float[Array, "gate batch"]:
        """Evaluate the mixtures."""
        a, b = inputs
        share = jax.nn.softmax(parameters, axis=1)
        polynomials = jnp.asarray(_polynomials(), dtype=share.dtype)
        if not self.naive:
            return evaluate_polynomial(share @ polynomials, a, b, valence=2)
        total = jnp.zeros_like(a)
        for gate in range(16):
            one, by_a, by_b, by_both = polynomials[gate]
            total = total + share[:, gate, None] * (one + by_a * a + by_b * b + by_both * (a * b))
        return total

    def loss(
        self,
        parameters: Parameters,
        scores: Float[Array, "class batch"],
        labels: Int[Array, " batch"],
        progress: Float[Array, ""],
    ) -> Float[Array, ""]:
        """Return the error of the scores."""
        return task_loss(self.objective, scores / self.tau, labels)

    def constrain(self, parameters: Parameters) -> Parameters:
        """Change nothing."""
        return parameters

    def table(self, parameters: Float[Array, "gate row"]) -> Float[Array, "gate _"]:
        """Return the tables of the likeliest gates."""
        tables = jnp.asarray(gate_table(np.arange(16), 2), dtype=parameters.dtype)
        return tables[jnp.argmax(parameters, axis=1)]


@functools.cache
def _polynomials() -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Return the coefficients [gate, term] of the sixteen gates, which are multiples of a half."""
    return np.round(polynomial(gate_table(np.arange(16), 2), 2), 12)
