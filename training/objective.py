"""What a training minimises: the error of the class scores, and what gates are charged for."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from numpy.typing import NDArray

from trilut.circuit.gates import fourier_matrix
from trilut.training.names import Objective

__all__ = ["complexity", "cross_entropy", "round_gradient", "squared_error", "task_loss"]

# With two more for each of four layers, and seven for the sum over a batch, a float32 is full.
_GRADIENT_BITS = 10


def task_loss(
    objective: Objective, logits: Float[Array, "class batch"], labels: Int[Array, " batch"]
) -> Float[Array, ""]:
    """Return the error of logits, which are class scores divided by tau."""
    return (cross_entropy if objective == "cross-entropy" else squared_error)(logits, labels)


def cross_entropy(
    logits: Float[Array, "class batch"], labels: Int[Array, " batch"]
) -> Float[Array, ""]:
    """Return the mean cross-entropy."""
    likelihood = jax.nn.log_softmax(logits, axis=0)
    return -jnp.mean(jnp.take_along_axis(likelihood, labels[None, :], axis=0))


def squared_error(
    logits: Float[Array, "class batch"], labels: Int[Array, " batch"]
) -> Float[Array, ""]:
    """Return the mean squared distance from +1 for the right class and −1 for the others.

    Targets of 1 and 0 do not work: a class has as many outputs to say no with as to say yes.
    """
    target = 2 * jax.nn.one_hot(labels, len(logits), axis=0) - 1
    return jnp.mean((logits - target) ** 2)


def round_gradient(
    scores: Float[Array, "class batch"], *, tau: float
) -> Float[Array, "class batch"]:
    """Return the scores unchanged; their gradient is rounded to a grid.

    Where all values and slopes are halves and quarters, as in hardened gates, the sums of rounded
    gradients are exact in whatever order they are made. So any number of devices, which sum in
    other orders, learn the same bit for bit. Unrounded, a sum that should be 0 comes out as
    something tiny, which Adam then makes as large as all others.
    """
    largest = 1 / (tau * scores.shape[1])
    return _round_gradient(scores, 2.0 ** (math.floor(math.log2(largest)) - _GRADIENT_BITS))


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def _round_gradient(scores: Array, quantum: float) -> Array:
    return scores


_round_gradient.defvjp(
    lambda scores, quantum: (scores, None),
    lambda quantum, _, gradient: (jnp.round(gradient / quantum) * quantum,),
)


def complexity(tables: Float[Array, "gate row"], *, valence: int = 3) -> Float[Array, ""]:
    """Return R_F: the mean over gates of Σ|f̂_ij|, which is small for gates of few Fourier terms."""
    spectrum = tables @ jnp.asarray(_spectrum_matrix(valence), dtype=tables.dtype)
    return jnp.mean(jnp.sum(jnp.abs(spectrum), axis=1))


@functools.cache
def _spectrum_matrix(valence: int) -> NDArray[np.float64]:
    return np.linalg.inv(fourier_matrix(valence)).T.astype(np.float64)
