"""The look-up engine: whole levels of gates at a time, one table look-up for each gate and sample.

It computes what :meth:`trilut.circuit.netlist.Netlist.evaluate` computes. Nets are rows and samples
are columns, so that a level of gates reads and writes long runs of memory.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.kinds import MAX_SCORE, Kind
from trilut.circuit.netlist import Netlist
from trilut.circuit.shapes import strides

__all__ = ["Schedule", "evaluate", "values"]

# Elements of a table look-up: its 64-bit indices must stay in the cache of one core.
_BLOCK = 1 << 17


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """The gates of a netlist sorted by level, with the nets numbered anew in that order.

    Values are counted from 0 here: the place of a value among those of its kind.

    Parameters
    ----------
    sources : int64 array [slot, gate]
        The nets that each gate reads; any in an empty slot.
    strides : uint8 array [slot, gate]
        The rows of its table that a place of an input is worth; 0 in an empty slot.
    table : uint8 array [gate, row]
        The truth tables.
    starts : tuple of int
        First gate of each level, and the number of gates.
    outputs : int64 array [output]
        The nets that leave the circuit.
    number : int64 array [net]
        The new number of each net.
    """

    sources: NDArray[np.int64]
    strides: NDArray[np.uint8]
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
        kinds = netlist.kinds[netlist.num_inputs :, None]
        return cls(
            sources=np.ascontiguousarray(renumbered[netlist.sources[order]].T),
            strides=np.ascontiguousarray(strides(netlist)[order].T.astype(np.uint8)),
            table=_places(netlist.table, kinds)[order],
            starts=tuple(int(start) for start in starts),
            outputs=renumbered[netlist.outputs],
            number=renumbered,
        )


def evaluate(netlist: Netlist, schedule: Schedule, trits: NDArray[np.int8]) -> NDArray[np.int8]:
    """Evaluate one batch of valid input trits [sample, input]; return the outputs.

    The batch is held in memory on every net at once: one byte for each net and sample.
    """
    places = _computed(netlist, schedule, trits)[schedule.outputs]
    return _values(places, netlist.kinds[netlist.outputs, None]).T


def values(netlist: Netlist, schedule: Schedule, trits: NDArray[np.int8]) -> NDArray[np.int8]:
    """Evaluate one batch of valid input trits [sample, input]; return every net [net, sample]."""
    return _values(_computed(netlist, schedule, trits)[schedule.number], netlist.kinds[:, None])


def _computed(netlist: Netlist, schedule: Schedule, trits: NDArray[np.int8]) -> NDArray[np.uint8]:
    """Return every net [net, sample] in the order of the schedule, counted from 0."""
    places = np.empty((netlist.num_nets, len(trits)), dtype=np.uint8)
    places[: netlist.num_inputs] = _places(trits.T, netlist.kinds[: netlist.num_inputs, None])
    block = max(1, _BLOCK // max(1, len(trits)))
    for first, last in zip(schedule.starts, schedule.starts[1:], strict=False):
        for start in range(first, last, block):
            _look_up(netlist, schedule, places, slice(start, min(start + block, last)))
    return places


def _look_up(netlist: Netlist, schedule: Schedule, places: NDArray[np.uint8], gates: slice) -> None:
    """Set the rows of ``places`` that some gates of one level drive."""
    rows = np.arange(gates.start, gates.stop)[:, None] * schedule.table.shape[1]
    seen = np.zeros((gates.stop - gates.start, places.shape[1]), dtype=np.uint8)
    for sources, stride in zip(schedule.sources, schedule.strides, strict=True):
        seen += places[sources[gates]] * stride[gates, None]
    driven = places[netlist.num_inputs + gates.start : netlist.num_inputs + gates.stop]
    np.take(schedule.table, rows + seen, out=driven, mode="clip")


def _places(values: NDArray[np.int8], kinds: NDArray[np.int8]) -> NDArray[np.uint8]:
    """Count values of some kinds from 0."""
    if np.all(kinds == Kind.TRIT):
        return (values + 1).astype(np.uint8)
    return np.where(
        kinds == Kind.SCORE, values + MAX_SCORE, (values + 1) // np.where(kinds == Kind.BIT, 2, 1)
    ).astype(np.uint8)


def _values(places: NDArray[np.uint8], kinds: NDArray[np.int8]) -> NDArray[np.int8]:
    """Return what places among the values of some kinds stand for."""
    step = np.where(kinds == Kind.BIT, np.int8(2), np.int8(1))
    lowest = np.where(kinds == Kind.SCORE, np.int8(-MAX_SCORE), np.int8(-1))
    return places.astype(np.int8) * step + lowest
