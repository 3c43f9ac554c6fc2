"""Pruning: gates that matter little become constants or functions of one input.

How much a gate matters is estimated from the gradients of the loss to the entries of its table,
sample by sample: changing an entry by Δ changes the loss of a sample by about g·Δ + g²·Δ²/2, where
the square of the gradient stands for the second derivative. Summed over samples that gives the cost
of every simple table at once, and the cheapest one of each gate. The gates whose cheapest
replacement costs least for the area that it saves are replaced, and are frozen from then on.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from numpy.typing import NDArray

from trilut.circuit.gates import truth_values
from trilut.training.area import gate_area
from trilut.training.network import LayerValues, Parameters, Topology, class_scores, forward
from trilut.training.objective import cross_entropy
from trilut.training.relax import lookup_layer
from trilut.training.samples import TrainingSamples, draw
from trilut.training.step import Frozen, Learned

__all__ = ["prune", "simplest_tables"]

# Samples to estimate from, and how many entries' gradients of single samples to hold at a time.
_NUM_SAMPLES = 4096
_MAX_GRADIENTS = 1 << 24

# A network that has learned its samples by heart has no gradients left; softer scores have some.
_SOFTER = 4.0


def prune(
    learned: Learned,
    tables: Parameters,
    frozen: Frozen,
    share: float,
    samples: TrainingSamples,
    topology: Topology,
    *,
    tau: float,
    generator: np.random.Generator,
) -> tuple[Learned, Frozen]:
    """Replace gates until a share of all takes no logic; return the result and which those are.

    An output becomes constant, which spares the sum an input, and another gate a function of one
    input at most. A gate that takes no logic already counts, and stays as it is.

    Parameters
    ----------
    tables : tuple of float32 arrays [gate, row]
        The truth tables that the layers harden to.
    frozen : tuple of bool arrays [gate]
        The gates that have been pruned before.
    tau : float
        Divisor from class scores to logits.
    generator : numpy Generator
        Draws the samples to estimate from.
    """
    if samples.weights is None:
        chosen = generator.permutation(samples.num_samples)[:_NUM_SAMPLES]
    else:
        chosen = draw(samples, min(samples.num_samples, _NUM_SAMPLES), generator)
    facts = _measure(learned, tables, samples, chosen, topology, _SOFTER * tau)
    valence = topology.node.levels
    first_output = len(tables) - topology.output_layers
    choices = [
        _choose(np.asarray(table), layer_facts, is_output=layer >= first_output, valence=valence)
        for layer, (table, layer_facts) in enumerate(zip(tables, facts, strict=True))
    ]
    prices = np.concatenate(
        [
            np.where(np.asarray(done), -np.inf, choice.price)
            for done, choice in zip(frozen, choices, strict=True)
        ]
    )
    taken = np.zeros(len(prices), dtype=np.bool_)
    taken[np.argsort(prices, kind="stable")[: round(share * len(prices))]] = True
    masks = np.split(taken, np.cumsum([len(table) for table in tables])[:-1])
    new = [
        np.where((mask & ~np.asarray(done))[:, None], choice.tables, old)
        for mask, done, choice, old in zip(masks, frozen, choices, learned.parameters, strict=True)
    ]
    for layer in range(first_output, len(tables)):
        fresh = masks[layer] & ~np.asarray(frozen[layer])
        constants = _balanced(facts[layer].mean, fresh, topology.num_classes, valence)
        new[layer] = np.where(fresh[:, None], constants[:, None], new[layer])
    parameters = tuple(
        jnp.asarray(layer, dtype=old.dtype)
        for layer, old in zip(new, learned.parameters, strict=True)
    )
    return learned._replace(parameters=parameters), tuple(map(jnp.asarray, masks))


class _Facts(NamedTuple):
    """What the samples tell of the gates of a layer.

    Parameters
    ----------
    first, second : float64 array [gate, row]
        Sums of the gradients to the entries, and of their squares.
    mean : float64 array [gate]
        Mean value of the gate.
    """

    first: NDArray[np.float64]
    second: NDArray[np.float64]
    mean: NDArray[np.float64]


class _Choice(NamedTuple):
    """The simple tables of a layer, and what they cost in loss for each LUT4 that they save."""

    tables: NDArray[np.float64]
    price: NDArray[np.float64]


def _choose(table: NDArray[np.float32], facts: _Facts, *, is_output: bool, valence: int) -> _Choice:
    if is_output:
        # The mean is no truth value, but what rounding adds can be made up for by other outputs.
        simple = np.repeat(facts.mean[:, None], table.shape[1], axis=1)
        change = simple - table
        loss = (facts.first * change + facts.second * change**2 / 2).sum(axis=1)
    else:
        truths, loss = simplest_tables(table, facts.first, facts.second, valence=valence)
        simple = truths.astype(np.float64)
    # The gates that read a function of one input take it into their own tables: all is saved.
    saved = gate_area(table, is_output=is_output, valence=valence)
    is_free = (saved == 0) | (simple == table).all(axis=1)
    price = np.where(is_free, -np.inf, loss / np.where(is_free, 1.0, saved))
    return _Choice(np.where(is_free[:, None], table, simple), price)


def _balanced(
    mean: NDArray[np.float64], chosen: NDArray[np.bool_], num_classes: int, valence: int
) -> NDArray[np.float64]:
    """Return truth values for the chosen gates whose sums, class by class, are about the means'."""
    values = truth_values(valence)
    owed = np.zeros(num_classes)
    constants = np.zeros(len(mean))
    for gate in np.flatnonzero(chosen).tolist():
        wanted = mean[gate] + owed[gate % num_classes]
        constants[gate] = values[np.abs(values - wanted).argmin()]
        owed[gate % num_classes] = wanted - constants[gate]
    return constants


def simplest_tables(
    tables: NDArray[np.float32],
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    *,
    valence: int = 3,
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Return the simple tables [gate, row] that change the loss least, and by how much [gate].

    Parameters
    ----------
    tables : float32 array [gate, row]
        Tables of truth values.
    first, second : float64 array [gate, row]
        Derivatives of the loss to the entries.
    """
    values = truth_values(valence).astype(np.float32)
    change = values - tables[:, :, None]
    loss = first[:, :, None] * change + second[:, :, None] * change**2 / 2
    by_inputs = loss.reshape(-1, valence, valence, valence)
    options = [
        _cheapest(by_inputs.sum(axis=axes, keepdims=True), values) for axes in ((1, 2), 2, 1)
    ]
    losses = np.stack([cost for _, cost in options])
    choice = losses.argmin(axis=0)
    simple = np.stack([np.broadcast_to(table, by_inputs.shape[:3]) for table, _ in options])
    index = np.arange(len(tables))
    return simple[choice, index].reshape(tables.shape), losses[choice, index]


def _cheapest(
    loss: NDArray[np.float64], values: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Return the best value for each of some entries [gate, a, b], and the sum of their losses."""
    return values[loss.argmin(axis=3)], loss.min(axis=3).sum(axis=(1, 2))


def _measure(
    learned: Learned,
    tables: Parameters,
    samples: TrainingSamples,
    chosen: NDArray[np.int64],
    topology: Topology,
    tau: float,
) -> list[_Facts]:
    size = min(len(chosen), max(1, _MAX_GRADIENTS // sum(table.size for table in tables)))
    # Only whole slices, which is one shape to compile for.
    parts = [chosen[start : start + size] for start in range(0, len(chosen) - size + 1, size)]
    sums: list[Any] = [
        jax.device_get(
            _slice_sums(tables, learned, *samples.batch(jnp.asarray(part)), topology, tau)
        )
        for part in parts
    ]
    total = jax.tree.map(lambda *arrays: np.sum(arrays, axis=0, dtype=np.float64), *sums)
    return [
        _Facts(first, second, values / (len(parts) * size))
        for first, second, values in zip(*total, strict=True)
    ]


@functools.partial(jax.jit, static_argnames=("topology", "tau"))
def _slice_sums(
    tables: Parameters,
    learned: Learned,
    inputs: Int[Array, "sample input"],
    labels: Int[Array, " sample"],
    topology: Topology,
    tau: float,
) -> tuple[Parameters, Parameters, tuple[Float[Array, " _"], ...]]:
    """Return sums over samples: of the gradients to entries, of their squares, and of values."""

    def loss(
        tables: Parameters, x: Float[Array, " input"], label: Int[Array, ""]
    ) -> tuple[Float[Array, ""], LayerValues]:
        layer = lookup_layer(topology.node)
        values = forward(layer, tables, learned.wiring, x[:, None], topology)
        return cross_entropy(class_scores(values, topology) / tau, label[None]), values

    gradient_of = jax.vmap(jax.grad(loss, has_aux=True), in_axes=(None, 0, 0))
    gradients, values = gradient_of(tables, inputs.astype(tables[0].dtype), labels)
    return (
        tuple(jnp.sum(layer, axis=0) for layer in gradients),
        tuple(jnp.sum(layer**2, axis=0) for layer in gradients),
        tuple(jnp.sum(layer, axis=(0, 2)) for layer in values),
    )
