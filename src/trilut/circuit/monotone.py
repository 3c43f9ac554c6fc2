"""Information order: gates whose decisions stay when an UNKNOWN input turns out to be something.

UNKNOWN says less than FALSE and TRUE, and these two say nothing of each other: 0 ⊑ −1 and 0 ⊑ +1. A
gate is *information-monotone* if an input that says more never changes an output that was not
UNKNOWN. Such gates compose: by induction over the gates, every net of a circuit of them is UNKNOWN
or what it would be however the UNKNOWN inputs turned out. There are 197 of them among the 19,683
ternary gates; Kleene's connectives are, the consensus of two trits is not.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["is_information_monotone", "project"]

# The rows of a table: corners know both inputs, an edge one, the centre none.
_EDGES = {1: (0, 2), 3: (0, 6), 5: (2, 8), 7: (6, 8)}
_CENTRE = 4


def project(table: ArrayLike) -> NDArray[np.int8]:
    """Return the information-monotone table with the same corners, for each table [..., row].

    An edge keeps its value only if it equals both corners beside it, and the centre only if it
    equals all four edges; what does not becomes UNKNOWN. A monotone table stays as it is.
    """
    projected = np.array(table, dtype=np.int8)
    for edge, corners in _EDGES.items():
        _keep_if_equal(projected, edge, corners)
    _keep_if_equal(projected, _CENTRE, tuple(_EDGES))
    return projected


def _keep_if_equal(table: NDArray[np.int8], row: int, others: tuple[int, ...]) -> None:
    equal = (table[..., list(others)] == table[..., [row]]).all(axis=-1)
    table[..., row] *= equal


def is_information_monotone(table: ArrayLike) -> NDArray[np.bool_]:
    """Say of each ternary table [..., row] whether its gate is information-monotone."""
    return np.equal(project(table), np.asarray(table)).all(axis=-1)
