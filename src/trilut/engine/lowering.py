"""Netlists as operations on two entries: what the engine's gate units compute.

An entry has one of four codes, so an operation is a table of sixteen codes. A gate that reads two
nets is one operation. A gate that reads more is taken apart: two of its inputs become one entry
where four codes suffice for all that the rest needs to know of them, as two bits always do; else
its table is halved by one input.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.encoder import Encoder, Feature
from trilut.circuit.kinds import Kind
from trilut.circuit.netlist import Netlist
from trilut.circuit.trit import CODES
from trilut.engine.instructions import Tables

__all__ = ["Operations", "Sum", "Threshold", "lower", "trivial_encoder"]

Table = NDArray[np.int64]
Codes = tuple[int, ...]

_TRIT: Codes = tuple(CODES[value] for value in Kind.TRIT.values)
_BIT: Codes = tuple(CODES[value] for value in Kind.BIT.values)
_NUM_CODES = 4
# By the value of a trit, of which -1 is the last.
_CODE_OF = np.array([CODES[0], CODES[1], CODES[-1]])
_PLUS = CODES[1]


@dataclass(frozen=True, slots=True)
class Threshold:
    """What the encoder makes one entry of.

    Parameters
    ----------
    feature : int
        The feature.
    low, high : int
        The trit is −1 below low and +1 from high on, for the feature's value counted from its
        lowest.
    missing : int
        The trit of a missing feature, 0 or −1.
    """

    feature: int
    low: int
    high: int
    missing: int


@dataclass(frozen=True, slots=True)
class Sum:
    """A value whose trit is added, ``1 << shift`` times, to the score of a class."""

    value: int
    of_class: int
    shift: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Operations:
    """A netlist with encoder and head as operations on entries.

    Values are numbered: the thresholds first, then operation k makes value ``len(thresholds)`` + k.

    Parameters
    ----------
    thresholds : tuple of Threshold
        In the order of the features.
    sources : int64 array [operation, 2]
        The values that an operation reads.
    tables : uint32 array [operation]
        What it makes of their codes.
    sums : tuple of Sum
        What the scores are made of.
    bases : tuple of int
        What is added to the score of each class.
    """

    thresholds: tuple[Threshold, ...]
    sources: NDArray[np.int64]
    tables: Tables
    sums: tuple[Sum, ...]
    bases: tuple[int, ...]


def lower(netlist: Netlist) -> Operations:
    """Return the operations of a netlist that has an encoder and a head."""
    return _Lowering(netlist).operations()


def trivial_encoder(kinds: NDArray[np.int8]) -> Encoder:
    """Return the encoder of inputs that are bits and trits already, as features of two bits."""
    features = tuple(Feature(f"in[{net}]", bits=2, signed=True) for net in range(len(kinds)))
    is_bit = (kinds == Kind.BIT).astype(np.int64)
    return Encoder(features, np.arange(len(kinds)), is_bit, np.ones_like(is_bit), -is_bit)


@dataclass(frozen=True, slots=True)
class _Input:
    """A value that a function reads, and the code of each of its levels."""

    value: int
    codes: Codes


class _Lowering:
    """The operations of a netlist, while they are found."""

    def __init__(self, netlist: Netlist):
        self._netlist = netlist
        self._sources: list[tuple[int, int]] = []
        self._tables: list[int] = []
        self._known: dict[tuple[int, int, int], int] = {}
        self._thresholds, inputs, ranges = _thresholds(netlist)
        self._values = {
            net: value if feature not in ranges else self._in_range(net, value, ranges[feature])
            for net, (feature, value) in inputs.items()
        }

    def _in_range(self, net: int, value: int, inside: int) -> int:
        """Return an input that is missing unless another entry is 0."""
        assert self._netlist.encoder is not None
        missing = CODES[int(self._netlist.encoder.missing[net])]
        table = np.array([[missing, code, missing] for code in _TRIT])
        return self._operation([_Input(value, _TRIT), _Input(inside, _TRIT)], table)

    def operations(self) -> Operations:
        """Return the operations of all gates."""
        netlist = self._netlist
        for gate in range(netlist.num_gates):
            net = netlist.num_inputs + gate
            # A score is no value: it goes into the sums digit by digit.
            if netlist.kinds[net] != Kind.SCORE:
                self._values[net] = self._function(*self._gate(gate, _CODE_OF))
        sums, bases = self._sums()
        return Operations(
            tuple(self._thresholds),
            np.array(self._sources, dtype=np.int64).reshape(-1, 2),
            np.array(self._tables, dtype=np.uint32),
            tuple(sums),
            tuple(bases),
        )

    def _gate(self, gate: int, code_of: NDArray[np.int64]) -> tuple[list[_Input], Table]:
        """Return the inputs of a gate, and its table as codes; value v has ``code_of[v]``."""
        netlist = self._netlist
        nets = netlist.reads(gate)
        codes = [_BIT if netlist.kinds[net] == Kind.BIT else _TRIT for net in nets]
        table = code_of[netlist.table[gate, : netlist.num_rows[gate]]]
        inputs = [_Input(self._values[net], own) for net, own in zip(nets, codes, strict=True)]
        return inputs, table.reshape([len(own) for own in codes])

    def _sums(self) -> tuple[list[Sum], list[int]]:
        """Return what the scores are made of."""
        netlist = self._netlist
        assert netlist.head is not None
        sizes = netlist.head.group_sizes
        sums: list[Sum] = []
        bases = [0] * len(sizes)
        for net, own in zip(netlist.outputs, np.repeat(np.arange(len(sizes)), sizes), strict=True):
            if netlist.kinds[net] != Kind.SCORE:
                sums.append(Sum(self._values[int(net)], int(own)))
                continue
            gate = int(net) - netlist.num_inputs
            table = netlist.table[gate, : netlist.num_rows[gate]].astype(np.int64)
            lowest, highest = int(table.min()), int(table.max())
            bases[own] += lowest
            for digit in range((highest - lowest).bit_length()):
                # Scores from −8 on count from the end of the array, where they belong.
                code_of = np.roll(np.arange(16) - 8 - lowest >> digit & 1, 8) * _PLUS
                value = self._function(*self._gate(gate, code_of))
                sums.append(Sum(value, int(own), digit))
        return sums, bases

    def _function(self, inputs: Sequence[_Input], table: Table) -> int:
        """Return the value of a function of any inputs: a table of codes with an axis for each."""
        if len(inputs) == 1:
            return self._operation([inputs[0]] * 2, np.diag(table))
        if len(inputs) == 2:
            return self._operation(inputs, table)
        for pair in combinations(range(len(inputs)), 2):
            rows, kinds = _merged(table, pair)
            if len(kinds) <= _NUM_CODES:
                own = [inputs[place] for place in pair]
                value = self._operation(own, rows)
                rest = [each for place, each in enumerate(inputs) if place not in pair]
                return self._function([_Input(value, tuple(range(len(kinds)))), *rest], kinds)
        return self._halved(inputs, table)

    def _halved(self, inputs: Sequence[_Input], table: Table) -> int:
        """Return the value of a function of three inputs that four codes do not make smaller."""
        assert len(inputs) == 3
        results = np.unique(table)
        if len(results) > 2:
            # Wire by wire, and these two together again.
            wires = [self._function(inputs, table >> place & 1) for place in (0, 1)]
            both = np.array([[0, 2], [1, 3]])
            return self._operation([_Input(wire, (0, 1)) for wire in wires], both)
        place = int(np.argmin(table.shape))
        last = inputs[place]
        first = [each for other, each in enumerate(inputs) if other != place]
        bits = np.moveaxis(table == results[1], place, -1).astype(np.int64)
        bits = np.pad(bits, ((0, 0), (0, 0), (0, _NUM_CODES - bits.shape[2])))
        # What the function is for each value of the last input: two wires of two entries.
        halves = [
            self._operation(first, bits[:, :, half] + 2 * bits[:, :, half + 1]) for half in (0, 2)
        ]
        every = np.arange(_NUM_CODES)
        # The first half decides for two values of the last input: 1 or 2; for the others 0 or 3
        # says which it is.
        chosen = np.stack([1 + (every & 1), 1 + (every >> 1), 0 * every, 3 + 0 * every], axis=1)
        value = self._operation(
            [_Input(halves[0], tuple(every)), last], chosen[:, : len(last.codes)]
        )
        low, high = int(results[0]), int(results[1])
        final = np.stack([every & 1, 0 * every, 0 * every + 1, every >> 1])
        return self._operation(
            [_Input(value, tuple(every)), _Input(halves[1], tuple(every))],
            np.where(final == 1, high, low),
        )

    def _operation(self, inputs: Sequence[_Input], table: Table) -> int:
        """Return the value of a table [first, second] of codes; the same one has one value."""
        a, b = inputs
        word = 0
        for row, of_a in enumerate(a.codes):
            for column, of_b in enumerate(b.codes):
                word |= int(table[row, column]) << 2 * (_NUM_CODES * of_a + of_b)
        key = a.value, b.value, word
        if key not in self._known:
            self._known[key] = len(self._thresholds) + len(self._sources)
            self._sources.append((a.value, b.value))
            self._tables.append(word)
        return self._known[key]


def _merged(table: Table, pair: tuple[int, int]) -> tuple[Table, Table]:
    """Join two axes of a table: return the class of each of their rows, and the table of classes.

    Rows of a class are the same for all other inputs.
    """
    front = np.moveaxis(table, pair, (0, 1))
    rows = front.reshape(front.shape[0] * front.shape[1], -1)
    kinds, classes = np.unique(rows, axis=0, return_inverse=True)
    return classes.reshape(front.shape[:2]), kinds.reshape(-1, *front.shape[2:])


def _thresholds(
    netlist: Netlist,
) -> tuple[list[Threshold], dict[int, tuple[int, int]], dict[int, int]]:
    """Return what the encoder makes for the nets that are read.

    Returns
    -------
    thresholds : list of Threshold
        In the order of their features.
    inputs : mapping
        The feature and the value of each net.
    ranges : mapping
        For features of which only some values count, a value that is 0 for these.
    """
    encoder = netlist.encoder
    assert encoder is not None
    read = np.unique(np.concatenate([netlist.sources.ravel(), netlist.outputs]))
    used = read[(read >= 0) & (read < netlist.num_inputs)]
    thresholds: list[Threshold] = []
    inputs: dict[int, tuple[int, int]] = {}
    ranges: dict[int, int] = {}
    for net in used[np.argsort(encoder.feature[used], kind="stable")].tolist():
        number = int(encoder.feature[net])
        feature = encoder.features[number]
        if feature.seen is not None and number not in ranges:
            ranges[number] = len(thresholds)
            least, most = feature.seen
            thresholds.append(_threshold(number, feature, least, most + 1, 0))
        inputs[net] = number, len(thresholds)
        low, high = int(encoder.low[net]), int(encoder.high[net])
        missing = int(encoder.missing[net])
        thresholds.append(_threshold(number, feature, low, high, missing))
    return thresholds, inputs, ranges


def _threshold(number: int, feature: Feature, low: int, high: int, missing: int) -> Threshold:
    """Return thresholds for values counted from the lowest; one above all of them is kept so."""

    def code(threshold: int) -> int:
        return min(max(threshold, feature.minimum), feature.maximum + 1) - feature.minimum

    return Threshold(number, code(low), code(high), missing)
