"""The look-up engine: whole levels of gates at a time, one table look-up for each gate and sample.

It computes what :meth:`trilut.circuit.netlist.Netlist.evaluate` computes. Nets are rows and samples
are columns, so that a level of gates reads and writes long runs of memory.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.netlist import Netlist

__all__ = ["Schedule", "evaluate", "values"]

# Elements of a table look-up: its 64-bit indices must stay in the cache of one core.
_BLOCK = 1 << 17


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """The gates of a netlist sorted by level, with the nets numbered anew in that order.

    Parameters
    ----------
    a, b : int64 array [gate]
        The nets that each gate reads.
    table : uint8 array [gate·row]
        The truth tables end to end; truth values are counted from 0.
    starts : tuple of int
        First gate of each level, and the number of gates.
    outputs : int64 array [output]
        The nets that leave the circuit.
    number : int64 array [net]
        The new number of each net.
    """

    a: NDArray[np.int64]
    b: NDArray[np.int64]
    table: NDArray[np.uint8]
    starts: tuple[int, ...]
    outputs: NDArray[np.int64]
    number: NDArray[np.int64]

    @classmethod
    def of(cls, netlist: Netlist) -> Self:
        """Sort the gates of a netlist."""
        levels = netlist.levels[netlist.num_inputs :]
        order = np.argsort(levels, kind="stable")
        renumbered = np.arange(netlist.num_nets)
        renumbered[netlist.num_inputs + order] = np.arange(netlist.num_inputs, netlist.num_nets)
        starts = np.searchsorted(levels[order], np.arange(1, netlist.depth + 2))
        return cls(
            a=renumbered[netlist.a[order]],
            b=renumbered[netlist.b[order]],
            table=_count_from_zero(netlist.table[order], netlist.valence).ravel(),
            starts=tuple(int(start) for start in starts),
            outputs=renumbered[netlist.outputs],
            number=renumbered,
        )


def evaluate(netlist: Netlist, schedule: Schedule, trits: NDArray[np.int8]) -> NDArray[np.int8]:
    """Evaluate one batch of valid input trits [sample, input]; return the outputs.

    The batch is held in memory on every net at once: one byte for each net and sample.
    """
    return _truth_values(netlist, _levels(netlist, schedule, trits)[schedule.outputs]).T


def values(netlist: Netlist, schedule: Schedule, trits: NDArray[np.int8]) -> NDArray[np.int8]:
    """Evaluate one batch of valid input trits [sample, input]; return every net [net, sample]."""
    return _truth_values(netlist, _levels(netlist, schedule, trits)[schedule.number])


def _levels(netlist: Netlist, schedule: Schedule, trits: NDArray[np.int8]) -> NDArray[np.uint8]:
    """Return every net [net, sample] in the order of the schedule, counted from zero."""
    levels = np.empty((netlist.num_nets, len(trits)), dtype=np.uint8)
    levels[: netlist.num_inputs] = _count_from_zero(trits, netlist.valence).T
    block = max(1, _BLOCK // max(1, len(trits)))
    for first, last in zip(schedule.starts, schedule.starts[1:], strict=False):
        for start in range(first, last, block):
            _look_up(netlist, schedule, levels, slice(start, min(start + block, last)))
    return levels


def _truth_values(netlist: Netlist, levels: NDArray[np.uint8]) -> NDArray[np.int8]:
    step = 2 // (netlist.valence - 1)
    return levels.astype(np.int8) * np.int8(step) - np.int8(1)


def _look_up(netlist: Netlist, schedule: Schedule, values: NDArray[np.uint8], gates: slice) -> None:
    """Set the rows of ``values`` that some gates of one level drive."""
    rows = values[schedule.a[gates]] * np.uint8(netlist.valence) + values[schedule.b[gates]]
    bases = np.arange(gates.start, gates.stop) * netlist.valence**2
    driven = values[netlist.num_inputs + gates.start : netlist.num_inputs + gates.stop]
    np.take(schedule.table, rows + bases[:, None], out=driven, mode="clip")


def _count_from_zero(trits: NDArray[np.int8], valence: int) -> NDArray[np.uint8]:
    return ((trits + 1) // (2 // (valence - 1))).astype(np.uint8)
