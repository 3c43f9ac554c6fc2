"""Wiring: which two values of the layer below each gate reads."""

from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Array, Int
from numpy.typing import NDArray

from trilut.training.config import TrainingError

__all__ = ["LayerWiring", "Wiring", "random_wiring"]


class LayerWiring(NamedTuple):
    """The parents of one layer's gates, as positions in the layer below.

    Parameters
    ----------
    a, b : int32 array [gate]
        First and second parent of each gate.
    """

    a: Int[Array, " gate"] | NDArray[np.int32]
    b: Int[Array, " gate"] | NDArray[np.int32]


Wiring: TypeAlias = tuple[LayerWiring, ...]
"""The wiring of every layer."""


def random_wiring(num_inputs: int, layers: tuple[int, ...], *, seed: int = 0) -> Wiring:
    """Wire each gate to two different values of the layer below, at random.

    The values of a layer are dealt like cards, so that each is read as often as any other, give or
    take one; that leaves no gate unread as long as a layer has at most twice the width of the next.

    Raises
    ------
    TrainingError
        If a layer has fewer than two values below it.
    """
    generator = np.random.default_rng(seed)
    widths = (num_inputs, *layers)
    return tuple(
        _deal(below, gates, generator, layer)
        for layer, (below, gates) in enumerate(zip(widths[:-1], layers, strict=True))
    )


def _deal(
    num_values: int, num_gates: int, generator: np.random.Generator, layer: int
) -> LayerWiring:
    if num_values < 2:
        raise TrainingError(
            f"Layer {layer} has {num_values} values below it, expected at least 2 to wire a gate to"
        )
    rounds = -(-2 * num_gates // num_values)
    cards = np.concatenate([generator.permutation(num_values) for _ in range(rounds)])
    a, b = cards[: 2 * num_gates].reshape(num_gates, 2).T
    # Only the last card of one round and the first of the next can be the same.
    other = (a + generator.integers(1, num_values, num_gates)) % num_values
    return LayerWiring(a.astype(np.int32), np.where(a == b, other, b).astype(np.int32))
