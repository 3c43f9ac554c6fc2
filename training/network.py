"""The layered network that training works on: from encoded samples to class scores."""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Int8

from trilut.training.node import TWO_TRITS, Node
from trilut.training.wiring import LayerWiring, Wiring

__all__ = [
    "Batch",
    "LayerFunction",
    "LayerFunctions",
    "LayerValues",
    "Parameters",
    "Probes",
    "Samples",
    "Topology",
    "accuracy",
    "accuracy_by_layer",
    "class_scores",
    "forward",
    "open_scores",
    "sources",
    "standard_error",
    "zero_probes",
]

# Samples that are evaluated at a time: bounds the memory, and is the one shape to compile for.
_SLICE = 1024

Parameters: TypeAlias = tuple[Float[Array, "_ _"], ...]
"""What is learned: for each layer, as many numbers per gate as the recipe has."""

LayerFunction: TypeAlias = Callable[..., Array]
"""Parameters [gate, row] and the values [gate, batch] that each gate reads, slot by slot, to its
value."""

LayerFunctions: TypeAlias = LayerFunction | tuple[LayerFunction, ...]
"""One function for all layers, or one for each."""

LayerValues: TypeAlias = tuple[Float[Array, "_ batch"], ...]
"""The values of each layer's gates."""

Probes: TypeAlias = tuple[tuple[Float[Array, "_ batch"], ...], ...]
"""For each layer, zeros to add to what its gates read, slot by slot."""


Batch: TypeAlias = tuple[Int8[Array, "batch input"], Int[Array, " batch"]]
"""Inputs and labels of the samples of a step."""


class Samples(NamedTuple):
    """Encoded samples on the device. The sample comes first, so that a batch is whole rows.

    Parameters
    ----------
    inputs : int8 array [sample, input]
        What the network reads.
    labels : int32 array [sample]
        Class of each sample.
    weights : float32 array [sample], optional
        How much each sample counts; without, all count the same.
    """

    inputs: Int8[Array, "sample input"]
    labels: Int[Array, " sample"]
    weights: Float[Array, " sample"] | None = None

    @property
    def num_samples(self) -> int:
        """Number of samples."""
        return len(self.labels)

    @property
    def num_inputs(self) -> int:
        """Number of values in a sample."""
        return self.inputs.shape[1]

    def batch(self, chosen: Int[Array, " batch"]) -> Batch:
        """Return some of the samples."""
        return self.inputs[chosen], self.labels[chosen]


@dataclass(frozen=True, slots=True)
class Topology:
    """What is read and what is summed, beyond the wiring; a key to compiled code.

    Parameters
    ----------
    num_classes : int
        Gate g of an output layer counts for class g modulo this number.
    skip : bool
        Whether layers above the first have the inputs among their sources.
    output_layers : int
        How many layers, counted from the last, are outputs.
    node : Node
        What every gate reads and makes.
    """

    num_classes: int
    skip: bool = False
    output_layers: int = 1
    node: Node = TWO_TRITS


def forward(
    layer_function: LayerFunctions,
    parameters: Parameters,
    wiring: Wiring,
    inputs: Float[Array, "input batch"],
    topology: Topology,
    probes: Probes | None = None,
) -> LayerValues:
    """Evaluate the network layer by layer and return the values of every layer.

    The gradient to a probe is the gradient to what the gates read.
    """
    values: LayerValues = ()
    for layer, parents in enumerate(wiring):
        read = _read(sources(values, inputs, topology), parents)
        if probes is not None:
            read = list(map(jnp.add, read, probes[layer]))
        evaluate = layer_function[layer] if isinstance(layer_function, tuple) else layer_function
        values = (*values, evaluate(parameters[layer], *read))
    return values


def sources(
    below: LayerValues, inputs: Float[Array, "input batch"], topology: Topology
) -> Float[Array, "source batch"]:
    """Return the values that a layer may read, given those of all the layers below it."""
    if not below:
        return inputs
    return jnp.concatenate([below[-1], inputs]) if topology.skip else below[-1]


def _read(
    values: Float[Array, "source batch"], wires: LayerWiring
) -> list[Float[Array, "gate batch"]]:
    """Return what the gates read, slot by slot."""
    read = [values[parents] for parents in wires.parents]
    if wires.signs is None:
        return read
    return [each * sign[:, None] for each, sign in zip(read, wires.signs, strict=True)]


def zero_probes(parameters: Parameters, num_slots: int, num_samples: int) -> Probes:
    """Return probes for the slots of all gates and a batch."""
    zeros = (jnp.zeros((len(layer), num_samples), layer.dtype) for layer in parameters)
    return tuple((layer,) * num_slots for layer in zeros)


def class_scores(values: LayerValues, topology: Topology) -> Float[Array, "class batch"]:
    """Sum the outputs of each class."""
    outputs = values[-topology.output_layers :]
    return sum(
        (_sum_classes(layer, topology) for layer in outputs[1:]), _sum_classes(outputs[0], topology)
    )


def open_scores(
    values: LayerValues, labels: Int[Array, " batch"], topology: Topology
) -> Float[Array, "class batch"]:
    """Return how far each score could move against the right class while outputs are UNKNOWN.

    An UNKNOWN output may still become −1 or +1: it takes 1 from the class of the label, or gives 1
    to another class.
    """
    unknown = tuple(1 - jnp.abs(layer) for layer in values)
    is_label = jax.nn.one_hot(labels, topology.num_classes, axis=0, dtype=bool)
    moves = class_scores(unknown, topology)
    return jnp.where(is_label, -moves, moves)


def _sum_classes(
    layer: Float[Array, "gate batch"], topology: Topology
) -> Float[Array, "class batch"]:
    # A matrix product, because XLA's sums along the leading axis are several times slower.
    gate, number = jnp.arange(len(layer)), jnp.arange(topology.num_classes)
    member = gate[None, :] % topology.num_classes == number[:, None]
    return member.astype(layer.dtype) @ layer


def accuracy(
    layer_function: LayerFunctions,
    parameters: Parameters,
    wiring: Wiring,
    samples: Samples,
    topology: Topology,
) -> float:
    """Return the share of samples, by their weights, with the highest score in the right class."""
    inputs, labels = np.asarray(samples.inputs), np.asarray(samples.labels)
    is_right = np.empty(len(labels), dtype=np.bool_)
    for start in range(0, len(labels), _SLICE):
        part, wanted = inputs[start : start + _SLICE], labels[start : start + _SLICE]
        padded = jnp.asarray(np.pad(part, ((0, _SLICE - len(part)), (0, 0))))
        chosen = np.asarray(_classes(layer_function, parameters, wiring, padded, topology))
        is_right[start : start + _SLICE] = chosen[: len(wanted)] == wanted
    if samples.weights is None:
        return int(np.count_nonzero(is_right)) / len(labels)
    weights = np.asarray(samples.weights, dtype=np.float64)
    return float(weights[is_right].sum() / weights.sum())


def standard_error(share: float, num_samples: int) -> float:
    """Return the standard error of an accuracy on so many samples."""
    # As if one more sample were right and one more wrong: a few samples without an error do not
    # show that there are none.
    likely = (share * num_samples + 1) / (num_samples + 2)
    return math.sqrt(likely * (1 - likely) / num_samples)


def accuracy_by_layer(
    functions: tuple[LayerFunction, LayerFunction],
    parameters: Parameters,
    tables: Parameters,
    wiring: Wiring,
    samples: Samples,
    topology: Topology,
) -> list[float]:
    """Return the accuracy with the first n layers hardened, for n = 0 … number of layers.

    The first is the soft accuracy and the last that of the circuit, so the fall from one to the
    next is what that layer loses. Layers harden from the inputs upwards because a hardened gate is
    defined for truth values only.

    Parameters
    ----------
    functions : pair of LayerFunction
        What evaluates a soft layer from its parameters, and a hardened one from its tables.
    """
    soft, hard = functions
    num_layers = len(tables)
    return [
        accuracy(
            (hard,) * num_hard + (soft,) * (num_layers - num_hard),
            tables[:num_hard] + parameters[num_hard:],
            wiring,
            samples,
            topology,
        )
        for num_hard in range(num_layers + 1)
    ]


@functools.partial(jax.jit, static_argnames=("layer_function", "topology"))
def _classes(
    layer_function: LayerFunctions,
    parameters: Parameters,
    wiring: Wiring,
    inputs: Int8[Array, "batch input"],
    topology: Topology,
) -> Int[Array, " batch"]:
    values = inputs.T.astype(parameters[0].dtype)
    layers = forward(layer_function, parameters, wiring, values, topology)
    return jnp.argmax(class_scores(layers, topology), axis=0)
