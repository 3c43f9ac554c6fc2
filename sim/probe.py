"""Values of nets: every net of some samples, and how often each one toggles."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trilut.circuit.encoder import FeatureVectors
from trilut.circuit.netlist import Netlist
from trilut.sim.engines import lookup
from trilut.sim.engines.dispatch import input_trits

__all__ = ["Activity", "activity", "net_values", "value_batches"]

# Bytes that a batch may take at one byte for each net and sample.
_BATCH_BYTES = 1 << 26


@dataclass(frozen=True, slots=True, eq=False)
class Activity:
    """How often the nets of a circuit change while samples follow each other.

    A net has two wires, one for each plane: plus = [v = +1] and minus = [v = −1]. A change from −1
    to +1 toggles both, one from or to 0 toggles one.

    Parameters
    ----------
    num_samples : int
        Number of samples, one more than the steps between them.
    plus, minus : int64 array [net]
        Toggles of each wire.
    changes : int64 array [net]
        Steps in which the value changes.
    high, unknown : int64 array [net]
        Samples in which the value is +1, and 0.
    """

    num_samples: int
    plus: NDArray[np.int64]
    minus: NDArray[np.int64]
    changes: NDArray[np.int64]
    high: NDArray[np.int64]
    unknown: NDArray[np.int64]

    @property
    def toggle_rate(self) -> float:
        """Toggles of a wire in one step, the mean over all wires."""
        steps = max(1, self.num_samples - 1)
        return float((self.plus + self.minus).mean() / 2 / steps)


def net_values(netlist: Netlist, samples: FeatureVectors | ArrayLike) -> NDArray[np.int8]:
    """Return the value of every net [sample, net].

    Parameters
    ----------
    netlist : Netlist
        The circuit.
    samples : FeatureVectors or array
        As :func:`trilut.sim.classify` takes them.

    Raises
    ------
    DataError
        If the samples do not fit the netlist.
    """
    trits = input_trits(netlist, samples)
    values = np.empty((len(trits), netlist.num_nets), dtype=np.int8)
    for start, part in value_batches(netlist, trits):
        values[start : start + part.shape[1]] = part.T
    return values


def activity(netlist: Netlist, samples: FeatureVectors | ArrayLike) -> Activity:
    """Count the toggles of every net while samples follow each other, one each clock cycle.

    Glitches, which depend on the delays of a technology, are not counted.

    Raises
    ------
    DataError
        If the samples do not fit the netlist.
    """
    trits = input_trits(netlist, samples)
    plus, minus, changes, high, unknown = np.zeros((5, netlist.num_nets), dtype=np.int64)
    last: NDArray[np.int8] | None = None
    for _, values in value_batches(netlist, trits):
        high += (values == 1).sum(axis=1)
        unknown += (values == 0).sum(axis=1)
        joined = values if last is None else np.concatenate([last, values], axis=1)
        before, after = joined[:, :-1], joined[:, 1:]
        plus += ((before == 1) != (after == 1)).sum(axis=1)
        minus += ((before == -1) != (after == -1)).sum(axis=1)
        changes += (before != after).sum(axis=1)
        last = values[:, -1:]
    return Activity(len(trits), plus, minus, changes, high, unknown)


def value_batches(
    netlist: Netlist, trits: NDArray[np.int8]
) -> Iterator[tuple[int, NDArray[np.int8]]]:
    """Give the first sample and the values [net, sample] of one batch after the other."""
    schedule = lookup.Schedule.of(netlist)
    size = max(1, _BATCH_BYTES // netlist.num_nets)
    for start in range(0, len(trits), size):
        yield start, lookup.values(netlist, schedule, trits[start : start + size])
