"""Wiring: which two values each gate reads, chosen before the training."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from numpy.typing import NDArray

from trilut.training.errors import TrainingError

__all__ = [
    "LayerWiring",
    "Wiring",
    "local_wiring",
    "random_wiring",
    "source_places",
    "unique_wiring",
]

# What numpy calls float64 and int64; the aliases keep signatures on one line.
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class LayerWiring(NamedTuple):
    """The parents of one layer's gates, as positions among the sources of the layer.

    The sources of a layer are the values of the layer below and, if layers above the first may skip
    to the inputs, the inputs after them. The first layer's only sources are the inputs.

    Parameters
    ----------
    a, b : int32 array [gate]
        First and second parent of each gate.
    sign_a, sign_b : float32 array [gate], optional
        −1 where the gate reads the negation of its parent, else +1. Left out, nothing is negated.
    """

    a: Int[Array, " gate"]
    b: Int[Array, " gate"]
    sign_a: Float[Array, " gate"] | None = None
    sign_b: Float[Array, " gate"] | None = None


Wiring: TypeAlias = tuple[LayerWiring, ...]
"""The wiring of every layer."""

_Deal: TypeAlias = Callable[[Floats, int, np.random.Generator], tuple[Integers, Integers]]
"""Places of the sources, number of gates and randomness, to the parents of every gate."""


def source_places(num_inputs: int, layers: tuple[int, ...], *, skip: bool = False) -> list[Floats]:
    """Return where the sources of each layer lie, from 0 at its one end to 1 at the other.

    Raises
    ------
    TrainingError
        If a layer has fewer than two sources.
    """
    widths = (num_inputs, *layers[:-1])
    places = [(np.arange(width) + 0.5) / width for width in widths]
    if skip:
        places[1:] = [np.concatenate([below, places[0]]) for below in places[1:]]
    for layer, place in enumerate(places):
        if len(place) < 2:
            raise TrainingError(
                f"Layer {layer} has {len(place)} values below it, "
                "expected at least 2 to wire a gate to"
            )
    return places


def random_wiring(
    num_inputs: int, layers: tuple[int, ...], *, seed: int = 0, skip: bool = False
) -> Wiring:
    """Wire each gate to two different sources, at random.

    The sources of a layer are dealt like cards, so that each is read as often as any other, give or
    take one; that leaves no gate unread as long as a layer has at most twice the width of the next.

    Raises
    ------
    TrainingError
        If a layer has fewer than two sources.
    """
    return _wire(_deal_random, num_inputs, layers, seed, skip)


def unique_wiring(
    num_inputs: int, layers: tuple[int, ...], *, seed: int = 0, skip: bool = False
) -> Wiring:
    """Wire at random, but no two gates of a layer to the same pair of sources.

    Raises
    ------
    TrainingError
        If a layer has fewer than two sources, or more gates than there are pairs of them.
    """
    for layer, (place, num_gates) in enumerate(
        zip(source_places(num_inputs, layers, skip=skip), layers, strict=True)
    ):
        num_pairs = len(place) * (len(place) - 1) // 2
        if num_gates > num_pairs:
            raise TrainingError(
                f"Layer {layer} has {num_gates} gates, but the {len(place)} values below it "
                f"make only {num_pairs} pairs; use wiring 'random'"
            )
    return _wire(_deal_unique, num_inputs, layers, seed, skip)


def local_wiring(
    num_inputs: int, layers: tuple[int, ...], *, window: int, seed: int = 0, skip: bool = False
) -> Wiring:
    """Wire each gate to two sources among the ``window`` ones around its own place in the layer.

    Sources are dealt as evenly as by :func:`random_wiring`. Short wires can be routed; those of a
    large random circuit cannot.

    Raises
    ------
    TrainingError
        If a layer has fewer than two sources.
    """

    def deal(
        places: Floats, num_gates: int, generator: np.random.Generator
    ) -> tuple[Integers, Integers]:
        return _deal_local(places, num_gates, generator, window)

    return _wire(deal, num_inputs, layers, seed, skip)


def _wire(deal: _Deal, num_inputs: int, layers: tuple[int, ...], seed: int, skip: bool) -> Wiring:
    generator = np.random.default_rng(seed)
    wiring = []
    for places, num_gates in zip(source_places(num_inputs, layers, skip=skip), layers, strict=True):
        a, b = deal(places, num_gates, generator)
        wiring.append(LayerWiring(jnp.asarray(a, jnp.int32), jnp.asarray(b, jnp.int32)))
    return tuple(wiring)


def _deal_random(
    places: Floats, num_gates: int, generator: np.random.Generator
) -> tuple[Integers, Integers]:
    num_sources = len(places)
    rounds = -(-2 * num_gates // num_sources)
    cards = np.concatenate([generator.permutation(num_sources) for _ in range(rounds)])
    a, b = cards[: 2 * num_gates].reshape(num_gates, 2).T
    # Only the last card of one round and the first of the next can be the same.
    other = (a + generator.integers(1, num_sources, num_gates)) % num_sources
    return a, np.where(a == b, other, b)


def _deal_unique(
    places: Floats, num_gates: int, generator: np.random.Generator
) -> tuple[Integers, Integers]:
    num_sources = len(places)
    # Where pairs are scarce, redrawing the ones already taken would go on for long.
    if num_sources * (num_sources - 1) // 2 < 4 * num_gates:
        first, second = np.triu_indices(num_sources, 1)
        chosen = generator.permutation(len(first))[:num_gates]
        return first[chosen], second[chosen]
    a, b = _deal_random(places, num_gates, generator)
    while len(again := _repeated(a, b, num_sources)):
        a[again] = generator.integers(num_sources, size=len(again))
        b[again] = (a[again] + generator.integers(1, num_sources, len(again))) % num_sources
    return a, b


def _repeated(a: Integers, b: Integers, num_sources: int) -> Integers:
    """Return the gates with a pair of parents that an earlier gate has."""
    pair = np.minimum(a, b) * num_sources + np.maximum(a, b)
    first = np.unique(pair, return_index=True)[1]
    return np.setdiff1d(np.arange(len(pair)), first)


def _deal_local(
    places: Floats, num_gates: int, generator: np.random.Generator, window: int
) -> tuple[Integers, Integers]:
    num_sources = len(places)
    order = np.argsort(places, kind="stable")
    cards = np.arange(2 * num_gates) * num_sources // (2 * num_gates)
    # Cards in order lie at their own place. None passes another one more than half a window away.
    blurred = cards + generator.uniform(-window / 4, window / 4, len(cards))
    a, b = cards[np.argsort(blurred, kind="stable")].reshape(num_gates, 2).T
    b = np.where(a == b, np.where(a + 1 < num_sources, a + 1, a - 1), b)
    return order[a], order[b]
