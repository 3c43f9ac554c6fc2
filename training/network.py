"""The layered network that training works on: from encoded samples to class scores."""

import functools
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Int8

from trilut.training.wiring import Wiring

__all__ = ["LayerFunction", "Parameters", "Samples", "accuracy", "class_scores", "forward"]

# Samples that are evaluated at a time: bounds the memory, and is the one shape to compile for.
_SLICE = 1024

Parameters: TypeAlias = tuple[Float[Array, "_ row"], ...]
"""What is learned: for each layer, as many numbers per gate as a table has rows."""

LayerFunction: TypeAlias = Callable[[Array, Array, Array], Array]
"""Parameters [gate, row] and the two values [gate, batch] that each gate reads, to its value."""


class Samples(NamedTuple):
    """Encoded samples on the device. The sample comes first, so that a batch is whole rows."""

    inputs: Int8[Array, "sample input"]
    labels: Int[Array, " sample"]


def forward(
    layer_function: LayerFunction,
    parameters: Parameters,
    wiring: Wiring,
    inputs: Float[Array, "input batch"],
) -> Float[Array, "output batch"]:
    """Evaluate the network layer by layer."""
    values = inputs
    for layer_parameters, parents in zip(parameters, wiring, strict=True):
        values = layer_function(layer_parameters, values[parents.a], values[parents.b])
    return values


def class_scores(
    layer_function: LayerFunction,
    parameters: Parameters,
    wiring: Wiring,
    inputs: Int8[Array, "batch input"],
    num_classes: int,
) -> Float[Array, "class batch"]:
    """Evaluate the network and sum the outputs of each class, which stand together."""
    values = inputs.T.astype(parameters[0].dtype)
    outputs = forward(layer_function, parameters, wiring, values)
    return jnp.sum(outputs.reshape(num_classes, -1, len(inputs)), axis=1)


def accuracy(
    layer_function: LayerFunction,
    parameters: Parameters,
    wiring: Wiring,
    samples: Samples,
    num_classes: int,
) -> float:
    """Return the fraction of samples with the highest score in the right class."""
    inputs, labels = np.asarray(samples.inputs), np.asarray(samples.labels)
    num_right = 0
    for start in range(0, len(labels), _SLICE):
        part, wanted = inputs[start : start + _SLICE], labels[start : start + _SLICE]
        padded = jnp.asarray(np.pad(part, ((0, _SLICE - len(part)), (0, 0))))
        chosen = np.asarray(_chosen(layer_function, parameters, wiring, padded, num_classes))
        num_right += int(np.count_nonzero(chosen[: len(wanted)] == wanted))
    return num_right / len(labels)


@functools.partial(jax.jit, static_argnames=("layer_function", "num_classes"))
def _chosen(
    layer_function: LayerFunction,
    parameters: Parameters,
    wiring: Wiring,
    inputs: Int8[Array, "batch input"],
    num_classes: int,
) -> Int[Array, " batch"]:
    scores = class_scores(layer_function, parameters, wiring, inputs, num_classes)
    return jnp.argmax(scores, axis=0)
