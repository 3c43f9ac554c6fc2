"""Logic in three values, for many patterns at once: what is open may be either 0 or 1."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from trilut.verify.proof.aig import Aig, Literal

__all__ = ["OPEN", "Ternary", "Values"]

OPEN = 2
"""Beside 0 and 1, a value that is not known."""

Values = NDArray[np.int8]
"""Rows of values 0, 1 and OPEN."""


class Ternary:
    """Some literals of a graph as functions of others.

    What does not follow from the inputs one by one is open, even if it would follow from all of
    their values together.

    Parameters
    ----------
    aig : Aig
        The graph, as it is now.
    inputs, outputs : sequence of Literal
        What is given, and what is asked for. Other inputs of the graph are open.
    """

    def __init__(self, aig: Aig, inputs: Sequence[Literal], outputs: Sequence[Literal]):
        self._inputs = [literal >> 1 for literal in inputs]
        self._outputs = list(outputs)
        given = {0, *self._inputs}
        self._ands = [(node, aig.fanins[node]) for node in aig.cone(outputs, given)]

    def evaluate(self, rows: Values) -> Values:
        """Return the outputs [row, output] for inputs [row, input]."""
        count = len(rows)
        nothing, everything = np.zeros(count, dtype=np.bool_), np.ones(count, dtype=np.bool_)
        # Whether each node may be 0, and whether it may be 1.
        may = {0: (everything, nothing)}
        for place, node in enumerate(self._inputs):
            may[node] = (rows[:, place] != 1, rows[:, place] != 0)
        for node, fanins in self._ands:
            if fanins is None:
                may[node] = (everything, everything)
                continue
            (low, high), (other_low, other_high) = (
                may[each >> 1][::-1] if each & 1 else may[each >> 1] for each in fanins
            )
            may[node] = (low | other_low, high & other_high)
        result = np.empty((count, len(self._outputs)), dtype=np.int8)
        for place, literal in enumerate(self._outputs):
            low, high = may[literal >> 1][::-1] if literal & 1 else may[literal >> 1]
            result[:, place] = np.where(low & high, OPEN, high)
        return result
