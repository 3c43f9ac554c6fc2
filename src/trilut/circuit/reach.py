"""Which rows of a gate's table can occur.

A row of a table is a combination of input values. Many never occur: an input may be constant or
two-valued, two inputs may be the same net, or several may look at the same feature. What a gate
does on a row that never occurs is free, for the optimiser and for the hardware alike.

Rows stand as in the netlist's own table: a bool array [gate, row], False in the rows that a smaller
gate does not have. What knows ternary gates alone sees a binary gate as one of nine rows, of which
those with UNKNOWN never occur: :func:`ternary_tables` and :func:`ternary_rows`.
"""

import functools
from collections.abc import Iterator
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.encoder import Encoder
from trilut.circuit.kinds import Kind, levels_of
from trilut.circuit.netlist import Netlist
from trilut.circuit.shapes import Shape, row_numbers, shapes_of, strides

__all__ = [
    "encoder_regions",
    "level_gates",
    "observed_rows",
    "output_values",
    "possible_values",
    "reachable_rows",
    "rows_from",
    "ternary_rows",
    "ternary_tables",
    "values_from",
]

Rows = NDArray[np.bool_]

# Every combination of feature regions is tried if that takes no more values of nets than this.
_MAX_VALUES = 1 << 26

# Gates that are compared with all regions of a feature at a time.
_MAX_SHARING = 1 << 12

# The rows of a ternary gate that a binary one has.
_BINARY_ROWS = [0, 2, 6, 8]


def ternary_tables(netlist: Netlist) -> NDArray[np.int8]:
    """Return all tables [gate, 9] of two-input gates; the rows that a binary one lacks are 0."""
    if netlist.valence == Kind.TRIT:
        return netlist.table
    tables = np.zeros((netlist.num_gates, 9), dtype=np.int8)
    tables[:, _BINARY_ROWS] = netlist.table
    return tables


def ternary_rows(netlist: Netlist, rows: Rows) -> Rows:
    """Return rows of two-input gates as rows [gate, 9] of :func:`ternary_tables`."""
    if netlist.valence == Kind.TRIT:
        return rows
    wide = np.zeros((netlist.num_gates, 9), dtype=np.bool_)
    wide[:, _BINARY_ROWS] = rows
    return wide


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
    """Return the rows [gate, row] that occur for the given inputs [sample, input]."""
    values = netlist.values(trits).T
    rows = np.zeros(netlist.table.shape, dtype=np.bool_)
    gates = np.arange(netlist.num_gates)[:, None]
    stride = strides(netlist)
    for start in range(0, len(trits), 256):
        part = values[:, start : start + 256]
        levels = levels_of(part, netlist.kinds[:, None]).astype(np.uint8)
        seen = row_numbers(netlist, levels, stride)
        rows[np.broadcast_to(gates, seen.shape), seen] = True
    return rows


def rows_from(netlist: Netlist, input_values: NDArray[np.bool_]) -> Rows:
    """Return a superset [gate, row] of the rows that can occur if inputs have only some values.

    Parameters
    ----------
    input_values : bool array [input, v + 1]
        Which values each input can take.
    """
    return _propagated(netlist, input_values)[0]


def reachable_rows(netlist: Netlist) -> Rows:
    """Return a superset [gate, row] of the rows that can occur, exact where that is cheap.

    Exact if the combinations of feature regions are few enough to try them all. Otherwise from the
    values that each net can take, from equal inputs, and from features that inputs share.
    """
    if netlist.encoder is not None:
        inputs = _combinations(netlist.encoder, _MAX_VALUES // netlist.num_nets)
        if inputs is not None:
            return observed_rows(netlist, inputs)
    return _propagated(netlist, _input_values(netlist))[0]


def values_from(netlist: Netlist, input_values: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which values [net, v + 1] each net can take if inputs [input, v + 1] have only some.

    It is a superset: nets are looked at one by one.
    """
    return _propagated(netlist, input_values)[1]


def possible_values(netlist: Netlist, rows: Rows) -> NDArray[np.bool_]:
    """Return which values [net, v + 1] each bit and trit can take, given the rows that can occur.

    A score has none of the three values here; :func:`output_values` knows what it can be.
    """
    possible = np.zeros((netlist.num_nets, 3), dtype=np.bool_)
    possible[: netlist.num_inputs] = _input_values(netlist)
    _set_possible(netlist, possible, np.arange(netlist.num_gates), rows)
    return possible


def output_values(netlist: Netlist, rows: Rows) -> list[tuple[int, ...]]:
    """Return the values that each output can take, lowest first, given the rows that can occur.

    An output is a bit, a trit or a score, and it may be an input of the netlist.
    """
    inputs = _input_values(netlist)
    values = []
    for net in netlist.outputs.tolist():
        if net < netlist.num_inputs:
            values.append(tuple((np.flatnonzero(inputs[net]) - 1).tolist()))
        else:
            gate = net - netlist.num_inputs
            values.append(tuple(np.unique(netlist.table[gate, rows[gate]]).tolist()))
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


def _propagated(
    netlist: Netlist, input_values: NDArray[np.bool_]
) -> tuple[Rows, NDArray[np.bool_]]:
    """Return supersets of the rows that can occur and of the values that nets can take."""
    rows = np.arange(netlist.table.shape[1]) < netlist.num_rows[:, None]
    for shape in shapes_of(netlist):
        _restrict_to_equal_inputs(netlist, shape, rows)
        _restrict_to_shared_features(netlist, shape, rows)
    possible = np.zeros((netlist.num_nets, 3), dtype=np.bool_)
    possible[: netlist.num_inputs] = input_values
    for gates in level_gates(netlist):
        for shape in shapes_of(netlist, gates):
            sources = shape.sources(netlist)
            for slot, values in enumerate(shape.row_values.T):
                rows[shape.gates, : shape.num_rows] &= possible[sources[:, slot]][:, values + 1]
        _set_possible(netlist, possible, gates, rows)
    return rows, possible


def _set_possible(
    netlist: Netlist, possible: NDArray[np.bool_], gates: NDArray[np.int64], rows: Rows
) -> None:
    """Set which values [net, v + 1] gates can give on the rows that can occur."""
    tables, own = netlist.table[gates], rows[gates]
    is_score = netlist.kinds[netlist.num_inputs + gates] == Kind.SCORE
    for value in (-1, 0, 1):
        occurs = (own & (tables == value)).any(axis=1)
        possible[netlist.num_inputs + gates, value + 1] = occurs & ~is_score


def level_gates(netlist: Netlist) -> list[NDArray[np.int64]]:
    """Return the gates of each level, lowest first."""
    levels = netlist.levels[netlist.num_inputs :]
    order = np.argsort(levels, kind="stable")
    starts = np.searchsorted(levels[order], np.arange(1, netlist.depth + 2))
    return [order[first:last] for first, last in pairwise(starts)]


def _input_values(netlist: Netlist) -> NDArray[np.bool_]:
    values = np.ones((netlist.num_inputs, 3), dtype=np.bool_)
    values[:, 1] = netlist.kinds[: netlist.num_inputs] == Kind.TRIT
    if netlist.encoder is None:
        return values
    for feature in range(len(netlist.encoder.features)):
        own = np.flatnonzero(netlist.encoder.feature == feature)
        regions = encoder_regions(netlist.encoder, feature)
        for value in (-1, 0, 1):
            values[own, value + 1] = (regions == value).any(axis=0)
    return values


def _restrict_to_equal_inputs(netlist: Netlist, shape: Shape, rows: Rows) -> None:
    """Clear the rows on which one net would have two values."""
    sources, values = shape.sources(netlist), shape.row_values
    for left, right in combinations(range(len(shape.kinds)), 2):
        gates = shape.gates[sources[:, left] == sources[:, right]]
        rows[gates, : shape.num_rows] &= values[:, left] == values[:, right]


def _restrict_to_shared_features(netlist: Netlist, shape: Shape, rows: Rows) -> None:
    """Clear the rows of gates on several trits of one feature that no value of it gives."""
    encoder = netlist.encoder
    if encoder is None:
        return
    sources = shape.sources(netlist)
    # What is no input looks at no feature: in each slot at its own, below 0.
    features = np.broadcast_to(-1 - np.arange(sources.shape[1]), sources.shape).copy()
    is_input = sources < netlist.num_inputs
    features[is_input] = encoder.feature[sources[is_input]]
    for feature, sharing in _sharing(features):
        for start in range(0, len(sharing), _MAX_SHARING):
            members = sharing[start : start + _MAX_SHARING]
            looks = features[members] == feature
            occurs = _joint_rows(encoder, feature, sources[members], looks, shape)
            rows[shape.gates[members], : shape.num_rows] &= occurs


def _sharing(features: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Give each feature that several slots [gate, slot] of gates look at, and these gates."""
    in_order = np.sort(features, axis=1)
    gates, slots = np.nonzero(in_order[:, 1:] == in_order[:, :-1])
    pairs = np.unique(np.stack([in_order[gates, slots], gates]), axis=1)
    shared, starts = np.unique(pairs[0], return_index=True)
    yield from zip(shared.tolist(), np.split(pairs[1], starts)[1:], strict=True)


def _joint_rows(
    encoder: Encoder,
    feature: int,
    sources: NDArray[np.int64],
    looks: NDArray[np.bool_],
    shape: Shape,
) -> Rows:
    """Return the rows [gate, row] of a shape that the regions of a feature allow.

    The slots [gate, slot] that do not look at the feature are free.
    """
    own = np.flatnonzero(encoder.feature == feature)
    regions = encoder_regions(encoder, feature)
    # The trits of the feature alone, as one number to the base 3.
    weights = 3 ** np.arange(len(shape.kinds)) * looks
    places = np.searchsorted(own, np.where(looks, sources, own[0]))
    seen = ((regions[:, places] + 1) * weights).sum(axis=2)
    occurs = np.zeros((len(sources), 3 ** len(shape.kinds)), dtype=np.bool_)
    occurs[np.broadcast_to(np.arange(len(sources)), seen.shape), seen] = True
    wanted = weights @ (shape.row_values.T.astype(np.int64) + 1)
    return np.take_along_axis(occurs, wanted, axis=1)
