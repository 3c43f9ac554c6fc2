"""Wiring: which values each gate reads, chosen before the training."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from numpy.typing import NDArray

from trilut.training.errors import TrainingError
from trilut.training.node import TWO_TRITS, Node

__all__ = [
    "LayerWiring",
    "Wiring",
    "local_wiring",
    "random_wiring",
    "source_kinds",
    "source_places",
    "unique_wiring",
]

# What numpy calls these; the aliases keep signatures on one line.
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Kinds = NDArray[np.int8]


class LayerWiring(NamedTuple):
    """The parents of one layer's gates, as positions among the sources of the layer.

    The sources of a layer are the values of the layer below and, if layers above the first may skip
    to the inputs, the inputs after them. The first layer's only sources are the inputs.

    Parameters
    ----------
    parents : tuple of int32 arrays [gate]
        For each slot, what every gate reads there.
    signs : tuple of float32 arrays [gate], optional
        For each slot, −1 where a gate reads the negation of its parent, else +1. Left out, nothing
        is negated.
    """

    parents: tuple[Int[Array, " gate"], ...]
    signs: tuple[Float[Array, " gate"], ...] | None = None


Wiring: TypeAlias = tuple[LayerWiring, ...]
"""The wiring of every layer."""

_Deal: TypeAlias = Callable[[Floats, int, np.random.Generator], tuple[Integers, Integers]]
"""Places of the sources, number of gates and randomness, to the parents of every gate."""

_KIND_NAMES = {2: "bits", 3: "trits"}


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


def source_kinds(
    num_inputs: int,
    layers: tuple[int, ...],
    *,
    node: Node,
    kinds: Kinds | None = None,
    skip: bool = False,
) -> list[Kinds]:
    """Return how many values each source of each layer has.

    Parameters
    ----------
    kinds : int8 array [input], optional
        How many values each input has; by default as many as the first slot of a gate reads.

    Raises
    ------
    TrainingError
        If a layer has fewer sources of a kind than a gate reads.
    """
    if kinds is None:
        kinds = np.full(num_inputs, node.radices[0], dtype=np.int8)
    below = [np.full(width, node.levels, dtype=np.int8) for width in layers[:-1]]
    sources = [kinds, *(np.append(layer, kinds) if skip else layer for layer in below)]
    for layer, own in enumerate(sources):
        for kind, count in node.parts:
            found = np.count_nonzero(own == kind)
            if found < count:
                what = "values" if found == len(own) else _KIND_NAMES[kind]
                raise TrainingError(
                    f"Layer {layer} has {found} {what} below it, "
                    f"expected at least {count} to wire a gate to"
                )
    return sources


def random_wiring(
    num_inputs: int,
    layers: tuple[int, ...],
    *,
    seed: int = 0,
    skip: bool = False,
    node: Node = TWO_TRITS,
    kinds: Kinds | None = None,
) -> Wiring:
    """Wire each gate to different sources, at random.

    The sources of a layer are dealt like cards, so that each is read as often as any other, give or
    take one; that leaves no gate unread as long as a layer has at most twice the width of the next.

    Parameters
    ----------
    node : Node
        What the gates read.
    kinds : int8 array [input], optional
        See :func:`source_kinds`.

    Raises
    ------
    TrainingError
        If a layer has fewer sources of a kind than a gate reads.
    """
    generator = np.random.default_rng(seed)
    sources = source_kinds(num_inputs, layers, node=node, kinds=kinds, skip=skip)
    wiring = []
    for own, num_gates in zip(sources, layers, strict=True):
        hands = [
            candidates[cards]
            for candidates, count in ((np.flatnonzero(own == kind), n) for kind, n in node.parts)
            for cards in _deal(len(candidates), num_gates, generator, count)
        ]
        wiring.append(LayerWiring(tuple(jnp.asarray(cards, jnp.int32) for cards in hands)))
    return tuple(wiring)


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
        wiring.append(LayerWiring((jnp.asarray(a, jnp.int32), jnp.asarray(b, jnp.int32))))
    return tuple(wiring)


def _deal(
    num_sources: int, num_gates: int, generator: np.random.Generator, count: int = 2
) -> list[Integers]:
    """Return so many cards for each gate, [card][gate]."""
    rounds = -(-count * num_gates // num_sources)
    cards = np.concatenate([generator.permutation(num_sources) for _ in range(rounds)])
    hands = cards[: count * num_gates].reshape(num_gates, count)
    # Only in a hand with the last cards of one round and the first of the next can two be the same.
    if count == 2:
        a, b = hands.T
        other = (a + generator.integers(1, num_sources, num_gates)) % num_sources
        return [a, np.where(a == b, other, b)]
    in_order = np.sort(hands, axis=1)
    for gate in np.flatnonzero((in_order[:, 1:] == in_order[:, :-1]).any(axis=1)):
        hands[gate] = generator.permutation(num_sources)[:count]
    return list(hands.T)


def _deal_unique(
    places: Floats, num_gates: int, generator: np.random.Generator
) -> tuple[Integers, Integers]:
    num_sources = len(places)
    # Where pairs are scarce, redrawing the ones already taken would go on for long.
    if num_sources * (num_sources - 1) // 2 < 4 * num_gates:
        first, second = np.triu_indices(num_sources, 1)
        chosen = generator.permutation(len(first))[:num_gates]
        return first[chosen], second[chosen]
    a, b = _deal(num_sources, num_gates, generator)
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
