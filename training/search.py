"""Learned wiring: every input of a gate searches for its parent while the tables are trained.

A *slot* is one input of one gate. It has a score for each of its candidate parents, and reads the
one whose score is largest in magnitude; a negative score negates it, which costs nothing because
hardening folds it into the table. Every few steps the scores move against the gradient that the
slot's value has, correlated with the candidates' values: one matrix product a layer.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from trilut.training.node import TWO_TRITS, Node
from trilut.training.wiring import Kinds, LayerWiring, Wiring, source_kinds, source_places

__all__ = [
    "LayerSearch",
    "Search",
    "SearchRules",
    "SlotSearch",
    "WireSearch",
    "Wired",
    "choose_wires",
    "prefer",
    "start_search",
]

# Prototypes hardly depended on these.
_START_DEVIATION = 2.0
_MOMENTUM = 0.9
_FROZEN_FROM = 0.9

# How much stronger than all others wires are that a search is to start from.
_AHEAD = 1.5

# Slots that share their candidates, where those are a sample: one matrix product for all of them.
_MAX_BLOCK = 256

# Tells these random numbers apart from the others of a seed.
_STREAM = 3


class SlotSearch(NamedTuple):
    """The search of the slots of a layer that read one kind of values.

    The first slots of all gates come first, then the second ones, and so on.

    Parameters
    ----------
    candidates : int32 array [block, candidate]
        The sources that the slots of a block choose from.
    scores, momentum : float32 array [block, slot, candidate]
        The score of each candidate, and its running mean gradient.
    places : float32 array [source]
        Where each source lies, from 0 to 1.
    """

    candidates: Int[Array, "block candidate"]
    scores: Float[Array, "block slot candidate"]
    momentum: Float[Array, "block slot candidate"]
    places: Float[Array, " source"]


LayerSearch: TypeAlias = tuple[SlotSearch, ...]
"""The search of one layer: one for each kind of values that a gate reads."""

Search: TypeAlias = tuple[LayerSearch, ...]
"""The search of every layer; empty where the wiring is fixed."""

# Candidates, scores, momentum and gradient of the slots of a block.
_Block: TypeAlias = tuple[Array, Array, Array, Array]


# Checkable at run time because the tests check the types of all arguments.
@runtime_checkable
class SearchRules(Protocol):
    """How a search goes on; hashable, because it is a key to compiled code."""

    def due(self, step: Int[Array, ""]) -> Bool[Array, ""]:
        """Tell whether a step updates the scores."""

    def update(
        self,
        search: LayerSearch,
        gradient: Float[Array, "all_slots batch"],
        sources: Float[Array, "source batch"],
        step: Int[Array, ""],
    ) -> LayerSearch:
        """Move the scores of a layer, given the gradient of the loss to the value of each slot."""

    def choose(self, search: LayerSearch) -> LayerWiring:
        """Return the wires that the scores of a layer stand for."""


class Wired(NamedTuple):
    """The wires that a training starts with.

    Parameters
    ----------
    wiring : Wiring
        The wires.
    search : Search
        Where the search for better ones stands; empty if they stay.
    rules : SearchRules, optional
        How it goes on; None if they stay.
    """

    wiring: Wiring
    search: Search = ()
    rules: SearchRules | None = None


def start_search(
    num_inputs: int,
    layers: tuple[int, ...],
    *,
    candidates: int | None = None,
    seed: int = 0,
    skip: bool = False,
    node: Node = TWO_TRITS,
    kinds: Kinds | None = None,
) -> Search:
    """Return random scores for all sources, or for a sample of so many candidates.

    Parameters
    ----------
    node : Node
        What the gates read. A slot's candidates are of its own kind.
    kinds : int8 array [input], optional
        See :func:`trilut.training.wiring.source_kinds`.

    Raises
    ------
    TrainingError
        If a layer has fewer sources of a kind than a gate reads.
    """
    generator = np.random.default_rng((seed, _STREAM))
    sources = source_kinds(num_inputs, layers, node=node, kinds=kinds, skip=skip)
    places = source_places(num_inputs, layers, skip=skip)
    return tuple(
        tuple(
            _start_slots(
                np.flatnonzero(own == kind), place, count * num_gates, candidates, generator
            )
            for kind, count in node.parts
        )
        for own, place, num_gates in zip(sources, places, layers, strict=True)
    )


def _start_slots(
    sources: np.ndarray[tuple[int], np.dtype[np.int64]],
    places: np.ndarray[tuple[int], np.dtype[np.float64]],
    num_slots: int,
    num_candidates: int | None,
    generator: np.random.Generator,
) -> SlotSearch:
    if num_candidates is None or num_candidates >= len(sources):
        candidates = sources[None, :]
    else:
        num_blocks = num_slots // _divisor(num_slots)
        drawn = [generator.permutation(len(sources))[:num_candidates] for _ in range(num_blocks)]
        candidates = sources[np.sort(np.stack(drawn))]
    shape = (len(candidates), num_slots // len(candidates), candidates.shape[1])
    scores = generator.standard_normal(shape, dtype=np.float32) * np.float32(_START_DEVIATION)
    return SlotSearch(
        jnp.asarray(candidates, dtype=jnp.int32),
        jnp.asarray(scores),
        jnp.zeros(shape, dtype=jnp.float32),
        jnp.asarray(places, dtype=jnp.float32),
    )


@dataclass(frozen=True, slots=True)
class WireSearch:
    """The rules of the search, which are frozen and so a key to compiled code.

    Parameters
    ----------
    rate : float
        How far a score moves in an update at the start. It falls to 0 as a cosine until 90 % of the
        steps are done; the wires are frozen from there on.
    steps : int
        Number of steps of the training.
    every : int
        Number of steps from one update to the next.
    distance_cost : float
        What a wire from one end of a layer to the other costs, in units of the scores.
    comparator_cost : float
        What a wire from an input that nothing else reads costs, in the same units. One that n other
        slots read costs an (n+1)-th of it.
    num_inputs : int
        Number of inputs, which are the last sources of every layer that can read them.
    slots : tuple of int
        How many slots of each kind a gate has.
    """

    rate: float
    steps: int
    every: int = 2
    distance_cost: float = 0.0
    comparator_cost: float = 0.0
    num_inputs: int = 0
    slots: tuple[int, ...] = (2,)

    def due(self, step: Int[Array, ""]) -> Bool[Array, ""]:
        """Tell whether a step updates the scores."""
        return (step % self.every == 0) & (step < int(_FROZEN_FROM * self.steps))

    def update(
        self,
        search: LayerSearch,
        gradient: Float[Array, "all_slots batch"],
        sources: Float[Array, "source batch"],
        step: Int[Array, ""],
    ) -> LayerSearch:
        """Move the scores of a layer, given the gradient of the loss to the value of each slot."""
        ends = np.cumsum([part.scores.shape[0] * part.scores.shape[1] for part in search])
        gradients = jnp.split(gradient, ends[:-1].tolist())
        return tuple(
            self._update(part, own, sources, step)
            for part, own in zip(search, gradients, strict=True)
        )

    def _update(
        self,
        search: SlotSearch,
        gradient: Float[Array, "part_slots batch"],
        sources: Float[Array, "source batch"],
        step: Int[Array, ""],
    ) -> SlotSearch:
        num_blocks, num_slots, _ = search.scores.shape
        progress = step.astype(gradient.dtype) / (_FROZEN_FROM * self.steps)
        rate = self.rate * 0.5 * (1 + jnp.cos(math.pi * progress))

        def update_block(block: _Block) -> tuple[Array, Array]:
            candidates, scores, momentum, of_slots = block
            product = of_slots @ sources[candidates].T
            momentum = _MOMENTUM * momentum + (1 - _MOMENTUM) * product
            scale = jnp.sqrt(jnp.mean(momentum**2, axis=1, keepdims=True))
            # A slot without any gradient stays as it is.
            direction = momentum / jnp.where(scale > 0, scale, 1.0)
            return scores - rate * direction, momentum

        by_block = gradient.reshape(num_blocks, num_slots, -1)
        blocks = (search.candidates, search.scores, search.momentum, by_block)
        scores, momentum = _one_by_one(update_block, blocks)
        return search._replace(scores=scores, momentum=momentum)

    def choose(self, search: LayerSearch) -> LayerWiring:
        """Return the wires that the scores of a layer stand for."""
        wires = [
            wire
            for part, count in zip(search, self.slots, strict=True)
            for wire in self._choose(part, count)
        ]
        parents, signs = zip(*wires, strict=True)
        return LayerWiring(parents, signs)

    def _choose(
        self, search: SlotSearch, count: int
    ) -> list[tuple[Int[Array, " gate"], Float[Array, " gate"]]]:
        """Return the parents and the signs of each of a gate's slots."""
        strength = jnp.abs(search.scores)
        if self.distance_cost:
            strength = strength - self.distance_cost * _distance(search, count)
        if self.comparator_cost:
            strength = strength - self.comparator_cost * _unshared(
                search, strength, self.num_inputs
            )
        best = _all_highest(strength)[:, :, None]
        score = jnp.take_along_axis(search.scores, best, axis=2)
        signs = jnp.where(score < 0, -1.0, 1.0).ravel()
        parents = jnp.take_along_axis(search.candidates, best[:, :, 0], axis=1).ravel()
        return list(zip(jnp.split(parents, count), jnp.split(signs, count), strict=True))


def _one_by_one(
    function: Callable[[_Block], tuple[Array, Array]], blocks: _Block
) -> tuple[Array, Array]:
    """Map over blocks, of which one fits the caches and all of them do not."""
    if len(blocks[0]) > 1:
        return jax.lax.map(function, blocks)
    # XLA makes slower code of a loop with one turn.
    first, second = function(jax.tree.map(lambda x: x[0], blocks))
    return first[None], second[None]


def _all_highest(strength: Float[Array, "block slot candidate"]) -> Int[Array, "block slot"]:
    """Return the candidate with the largest strength of every slot, a piece at a time."""
    num_blocks, num_slots, num_candidates = strength.shape
    pieces = strength.reshape(-1, _divisor(num_blocks * num_slots), num_candidates)
    return jax.lax.map(_first_highest, pieces).reshape(num_blocks, num_slots)


def _divisor(num_slots: int) -> int:
    """Return how many slots to take at a time, so that all pieces are equal."""
    return max(size for size in range(1, _MAX_BLOCK + 1) if num_slots % size == 0)


def _first_highest(strength: Float[Array, "slot candidate"]) -> Int[Array, " slot"]:
    """Return what argmax does, which XLA does not vectorise: it takes three times as long."""
    count = strength.shape[1]
    is_highest = strength == jnp.max(strength, axis=1, keepdims=True)
    places = jnp.where(is_highest, jnp.arange(count, dtype=jnp.int32), count - 1)
    return jnp.min(places, axis=1)


def _unshared(
    search: SlotSearch, strength: Float[Array, "block slot candidate"], num_inputs: int
) -> Float[Array, "block slot candidate"]:
    """Return each slot's share of a comparator, if the others read what they would without it.

    It is 0 for candidates that are values of gates.
    """
    chosen = _all_highest(strength)
    read = jnp.take_along_axis(search.candidates, chosen, axis=1)
    num_sources = len(search.places)
    readers = jnp.zeros(num_sources, strength.dtype).at[read.ravel()].add(1.0)
    own = jnp.arange(strength.shape[2], dtype=chosen.dtype)[None, None, :] == chosen[:, :, None]
    others = readers[search.candidates][:, None, :] - own.astype(strength.dtype)
    is_input = (jnp.arange(num_sources) >= num_sources - num_inputs).astype(strength.dtype)
    return is_input[search.candidates][:, None, :] / (1.0 + others)


def _distance(search: SlotSearch, count: int) -> Float[Array, "block slot candidate"]:
    """Return the distance of every slot from each of its candidates, 0…1."""
    num_blocks, num_slots, _ = search.scores.shape
    num_gates = num_blocks * num_slots // count
    own = (jnp.arange(num_gates, dtype=jnp.float32) + 0.5) / num_gates
    slots = jnp.tile(own, count).reshape(num_blocks, num_slots)
    return jnp.abs(slots[:, :, None] - search.places[search.candidates][:, None, :])


def prefer(search: Search, wiring: Wiring) -> Search:
    """Return scores that choose some wires first; all slots of a gate read one kind of values."""
    return tuple((_prefer(slots, wires),) for (slots,), wires in zip(search, wiring, strict=True))


def _prefer(search: SlotSearch, wires: LayerWiring) -> SlotSearch:
    num_blocks, num_slots, _ = search.scores.shape
    wanted = jnp.concatenate(wires.parents).reshape(num_blocks, num_slots, 1)
    strongest = _AHEAD * jnp.max(jnp.abs(search.scores), axis=2, keepdims=True)
    is_wanted = search.candidates[:, None, :] == wanted
    return search._replace(scores=jnp.where(is_wanted, strongest, search.scores))


@functools.partial(jax.jit, static_argnames="rules")
def choose_wires(rules: SearchRules, search: Search) -> Wiring:
    """Return the wires that the scores of every layer stand for."""
    return tuple(rules.choose(layer) for layer in search)
