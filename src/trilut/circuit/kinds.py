"""What a net carries: a bit, a trit, or the score that an output gives to its class."""

from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["MAX_SCORE", "MAX_WIRES", "NO_NET", "PORTS", "Kind", "levels_of", "wires_of"]

MAX_WIRES = 6
"""Most wires that a gate reads, as many as a LUT6 has."""

PORTS = "abcdef"
"""The names of a gate's inputs."""

NO_NET = -1
"""What stands in a slot of a gate that reads fewer nets than others."""

MAX_SCORE = 8
"""Largest magnitude of a score."""


class Kind(IntEnum):
    """The values of a net; the number is how many there are."""

    BIT = 2
    """−1 or +1, on one wire."""
    TRIT = 3
    """−1, 0 or +1, on two wires."""
    SCORE = 16
    """An integer of four bits, −8 … +7. It leaves the circuit and no gate reads it."""

    @property
    def values(self) -> tuple[int, ...]:
        """All values, lowest first."""
        if self is Kind.SCORE:
            return tuple(range(-MAX_SCORE, MAX_SCORE))
        return tuple(range(-1, 2, 2 // (self - 1)))

    @property
    def text(self) -> str:
        """The values, for a message."""
        if self is Kind.SCORE:
            return f"-{MAX_SCORE}…{MAX_SCORE - 1}"
        return ", ".join(f"{value:+d}" for value in self.values)


def levels_of(values: NDArray[np.int8], kind: ArrayLike) -> NDArray[np.int64]:
    """Return the place, counted from 0, of bits or trits among the values of their kind."""
    return (values.astype(np.int64) + 1) * (np.asarray(kind, dtype=np.int64) - 1) // 2


def wires_of(kinds: NDArray[np.int8]) -> NDArray[np.int64]:
    """Return how many wires a bit or a trit takes: one or two."""
    return kinds.astype(np.int64) - 1
