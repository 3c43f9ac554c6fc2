"""Which rows of a gate's table can occur.

A row of a table is a pair of input values. Many pairs never occur: an input may be constant or
two-valued, the two inputs may be the same net, or both may look at the same feature. What a gate
does on a row that never occurs is free, for the optimiser and for the hardware alike.

All functions work on *levels* of nets at a time, and all tables have nine rows; a binary gate has
the rows of its UNKNOWN inputs too, which never occur.
"""

import functools
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.encoder import Encoder
from trilut.circuit.netlist import Netlist

__all__ = [
    "encoder_regions",
    "level_gates",
    "observed_rows",
    "possible_values",
    "reachable_rows",
    "ternary_tables",
]

Rows = NDArray[np.bool_]

# Every combination of feature regions is tried if that takes no more values of nets than this.
_MAX_VALUES = 1 << 26


def ternary_tables(netlist: Netlist) -> NDArray[np.int8]:
    """Return all tables [gate, 9]; the rows that a binary gate does not have are 0."""
    if netlist.valence == 3:
        return netlist.table
    tables = np.zeros((netlist.num_gates, 9), dtype=np.int8)
    tables[:, [0, 2, 6, 8]] = netlist.table
    return tables


# An optimiser asks several times for each feature of the same encoder, which cannot change.
@functools.lru_cache(maxsize=8192)
def encoder_regions(encoder: Encoder, feature: int) -> NDArray[np.int8]:
    """Return every combination of values [region, trit] that the trits of one feature can take.

    There is a region between any two neighbouring thresholds, and one for the missing feature.
    """
    own = np.flatnonzero(encoder.feature == feature)
    limits = encoder.features[feature]
    low, high = encoder.low[own], encoder.high[own]
    thresholds = np.concatenate([low, high])
    inside = thresholds[(thresholds > limits.minimum) & (thresholds <= limits.maximum)]
    starts = sorted({limits.minimum, *inside.tolist()})
    x = np.array(starts, dtype=np.int64)[:, None]
    trits = np.empty((len(starts) + 1, len(own)), dtype=np.int8)
    trits[-1] = encoder.missing[own]
    trits[:-1] = (x >= high).astype(np.int8) - (x < low)
    regions = np.unique(trits, axis=0)
    regions.flags.writeable = False
    return regions


def observed_rows(netlist: Netlist, trits: NDArray[np.int8]) -> Rows:
    """Return the rows [gate, 9] that occur for the given inputs [sample, input]."""
    values = netlist.values(trits).T
    rows = np.zeros((netlist.num_gates, 9), dtype=np.bool_)
    gates = np.arange(netlist.num_gates)
    for start in range(0, len(trits), 256):
        part = values[:, start : start + 256]
        seen = 3 * (part[netlist.a] + 1) + part[netlist.b] + 1
        rows[np.broadcast_to(gates[:, None], seen.shape), seen] = True
    return rows


def reachable_rows(netlist: Netlist) -> Rows:
    """Return a superset [gate, 9] of the rows that can occur, exact where that is cheap.

    Exact if the combinations of feature regions are few enough to try them all. Otherwise from the
    values that each net can take, from equal inputs, and from features that both inputs look at.
    """
    if netlist.encoder is not None:
        combinations = _combinations(netlist.encoder, _MAX_VALUES // netlist.num_nets)
        if combinations is not None:
            return observed_rows(netlist, combinations)
    return _propagated_rows(netlist)


def possible_values(netlist: Netlist, rows: Rows) -> NDArray[np.bool_]:
    """Return which values [net, v + 1] each net can take, given the rows that can occur."""
    values = np.zeros((netlist.num_nets, 3), dtype=np.bool_)
    values[: netlist.num_inputs] = _input_values(netlist)
    tables = ternary_tables(netlist)
    for value in (-1, 0, 1):
        values[netlist.num_inputs :, value + 1] = (rows & (tables == value)).any(axis=1)
    return values


def _combinations(encoder: Encoder, most: int) -> NDArray[np.int8] | None:
    """Return every input [combination, trit] that the encoder can make, or None if too many."""
    regions = [encoder_regions(encoder, feature) for feature in range(len(encoder.features))]
    count = 1
    for region in regions:
        count *= len(region)
        if count > most:
            return None
    trits = np.empty((count, encoder.num_trits), dtype=np.int8)
    repeats = count
    for feature, region in enumerate(regions):
        # The last feature changes fastest; numpy's own grids end at 64 dimensions.
        repeats //= len(region)
        cycle = np.repeat(region, repeats, axis=0)
        trits[:, encoder.feature == feature] = np.tile(cycle, (count // len(cycle), 1))
    return trits


def _propagated_rows(netlist: Netlist) -> Rows:
    tables = ternary_tables(netlist)
    # possible[net, v + 1]: whether the net can have the value v.
    possible = np.zeros((netlist.num_nets, 3), dtype=np.bool_)
    possible[: netlist.num_inputs] = _input_values(netlist)
    rows = np.zeros((netlist.num_gates, 3, 3), dtype=np.bool_)
    for gates in level_gates(netlist):
        a, b = netlist.a[gates], netlist.b[gates]
        level_rows = possible[a][:, :, None] & possible[b][:, None, :]
        level_rows[a == b] &= np.eye(3, dtype=np.bool_)
        _restrict_to_shared_features(netlist, a, b, level_rows)
        rows[gates] = level_rows
        flat = level_rows.reshape(len(gates), 9)
        for value in (-1, 0, 1):
            possible[netlist.num_inputs + gates, value + 1] = (flat & (tables[gates] == value)).any(
                axis=1
            )
    return rows.reshape(-1, 9)


def level_gates(netlist: Netlist) -> list[NDArray[np.int64]]:
    """Return the gates of each level, lowest first."""
    levels = netlist.levels[netlist.num_inputs :]
    order = np.argsort(levels, kind="stable")
    starts = np.searchsorted(levels[order], np.arange(1, netlist.depth + 2))
    return [order[first:last] for first, last in pairwise(starts)]


def _input_values(netlist: Netlist) -> NDArray[np.bool_]:
    values = np.zeros((netlist.num_inputs, 3), dtype=np.bool_)
    if netlist.encoder is None:
        values[:] = [True, netlist.valence == 3, True]
        return values
    for feature in range(len(netlist.encoder.features)):
        own = np.flatnonzero(netlist.encoder.feature == feature)
        regions = encoder_regions(netlist.encoder, feature)
        for value in (-1, 0, 1):
            values[own, value + 1] = (regions == value).any(axis=0)
    return values


def _restrict_to_shared_features(
    netlist: Netlist, a: NDArray[np.int64], b: NDArray[np.int64], rows: Rows
) -> None:
    """Clear the rows of gates on two trits of one feature that no value of the feature gives."""
    encoder = netlist.encoder
    if encoder is None:
        return
    both = np.flatnonzero((a < netlist.num_inputs) & (b < netlist.num_inputs))
    both = both[encoder.feature[a[both]] == encoder.feature[b[both]]]
    for feature in np.unique(encoder.feature[a[both]]):
        gates = both[encoder.feature[a[both]] == feature]
        own = np.flatnonzero(encoder.feature == feature)
        regions = encoder_regions(encoder, feature) + 1
        left = regions[:, np.searchsorted(own, a[gates])]
        right = regions[:, np.searchsorted(own, b[gates])]
        occurs = np.zeros((len(gates), 3, 3), dtype=np.bool_)
        occurs[np.broadcast_to(np.arange(len(gates)), left.shape), left, right] = True
        rows[gates] &= occurs
