"""Register allocation: values that nobody reads any more give their places to later ones."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["NEVER", "allocate"]

Indices = NDArray[np.int64]

NEVER = -1
"""When a value is read last that nothing reads."""


def allocate(written: Sequence[Indices], last: Indices, num_inputs: int) -> tuple[Indices, int]:
    """Give each value a slot, -1 to an input that nothing reads; return how many there are, too.

    Parameters
    ----------
    written : sequence of int64 arrays
        The values that each step writes.
    last : int64 array [value]
        The step in which each value is read last, :data:`NEVER` if nothing reads it; the number of
        steps if it must stay. What is read last in a step is free in the next one.
    num_inputs : int
        Number of values, the first ones, that are there before the first step.
    """
    # What nobody reads still needs a place to be written to.
    used = np.flatnonzero((last >= 0) | (np.arange(len(last)) >= num_inputs))
    dying = used[np.argsort(last[used], kind="stable")]
    ends = np.searchsorted(last[dying], np.arange(len(written)), side="right")
    slots = np.full(len(last), -1)
    live = used[used < num_inputs]
    slots[live] = np.arange(len(live))
    num_slots, start = len(live), 0
    free = np.empty(0, dtype=np.int64)
    for values, end in zip(written, ends, strict=True):
        num_reused = min(len(free), len(values))
        free, reused = np.split(free, [len(free) - num_reused])
        num_new = len(values) - num_reused
        taken = np.concatenate([reused, num_slots + np.arange(num_new)])
        slots[values] = np.sort(taken)
        num_slots += num_new
        # What this step read last is free for the next one.
        dead = slots[dying[start:end]]
        free = np.concatenate([free, dead[dead >= 0]])
        start = int(end)
    return slots, num_slots
