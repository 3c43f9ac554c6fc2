"""From a netlist to a program of the engine: order, lanes, places, instructions.

Operations stand level by level, and in a level class by class, so that one set of sums serves all
classes; a class that has outputs in several levels has its score made of several parts. A gate that
is an output and read by others is one instruction. Lane l writes entries whose number is l modulo
the number of lanes, each lane's places being given as the simulator gives them to planes.
"""

import dataclasses
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.encoder import Encoder
from trilut.circuit.format import digest
from trilut.circuit.head import Head
from trilut.circuit.netlist import Netlist
from trilut.circuit.optimize import optimize
from trilut.engine.image import MAX_MARGIN, Image
from trilut.engine.instructions import (
    ADDRESS_BITS,
    LATENCY,
    MAX_LANES,
    SCORE_BITS,
    VALUE_BITS,
    Op,
    split_tables,
    word,
)
from trilut.engine.lowering import Operations, Threshold, lower, trivial_encoder
from trilut.errors import NetlistError
from trilut.sim.engines.registers import NEVER, allocate

__all__ = ["compile_netlist"]

_SUMS = (Op.SUM_1, Op.SUM_2, Op.SUM_4, Op.SUM_8)
_NO_CLASS = -1
# The table that gives back what both operands are.
_SAME = sum(code << 2 * (3 * code + code) for code in range(3))


def compile_netlist(netlist: Netlist, *, lanes: int = 1) -> Image:
    """Return the engine's model of a netlist.

    Parameters
    ----------
    netlist : Netlist
        A circuit with a head. Without an encoder its inputs are features of two bits, −1, 0 and +1.
    lanes : int
        Number of gates that the engine computes at a time: 1, 2, 4 or 8.

    Raises
    ------
    ValueError
        If there are no engines of so many lanes.
    NetlistError
        If the netlist has no head, or is too large for any engine.
    """
    if lanes not in (1, 2, 4, MAX_LANES):
        raise ValueError(f"An engine has 1, 2, 4 or {MAX_LANES} lanes, not {lanes}")
    head = netlist.head
    if head is None:
        raise NetlistError(f"Netlist {netlist.name!r} has no head, which the engine needs")
    encoder = netlist.encoder or trivial_encoder(netlist.kinds[: netlist.num_inputs])
    _check(netlist.name, encoder, head)
    named = digest(netlist)
    netlist = dataclasses.replace(netlist, encoder=encoder)
    program = _Program(lower(optimize(netlist).netlist), len(encoder.features), lanes)
    return Image(
        lanes=lanes,
        num_entries=program.num_entries,
        num_features=len(encoder.features),
        value_bits=max(feature.bits for feature in encoder.features),
        num_classes=len(head.classes),
        score_bits=head.score_bits,
        abstain_margin=min(head.abstain_margin, MAX_MARGIN),
        digest=bytes.fromhex(named)[:8],
        words=np.array(program.words, dtype=np.uint64).reshape(-1, lanes),
        shell=_shell(netlist),
    )


def _check(name: str, encoder: Encoder, head: Head) -> None:
    for feature in encoder.features:
        if feature.bits > VALUE_BITS:
            raise NetlistError(
                f"Feature {feature.name!r} has {feature.bits} bits, "
                f"but the engine takes at most {VALUE_BITS}"
            )
    for what, number, most in (
        ("features", len(encoder.features), (1 << 16) - 1),
        ("classes", len(head.classes), (1 << ADDRESS_BITS) - 1),
        ("bits in a score", head.score_bits, SCORE_BITS),
    ):
        if number > most:
            raise NetlistError(
                f"Netlist {name!r} has {number} {what}, but the engine takes at most {most}"
            )


def _shell(netlist: Netlist) -> Netlist:
    """Return the netlist without its gates: how samples come in and what answers mean."""
    assert netlist.head is not None
    outputs = np.zeros(netlist.head.num_outputs, dtype=np.int64)
    return Netlist.of_gates(
        netlist.num_inputs,
        np.empty((0, 9)),
        [],
        [],
        outputs,
        encoder=netlist.encoder,
        head=netlist.head,
        name=netlist.name,
        provenance=netlist.provenance,
    )


@dataclass(frozen=True, slots=True)
class _Instruction:
    """An instruction before values have entries.

    Parameters
    ----------
    op : Op
        What it does.
    reads : tuple of int
        The values of its two operands, if it has any.
    writes : int, optional
        The value that it makes.
    fields : mapping
        What else it says.
    """

    op: Op
    reads: tuple[int, ...] = ()
    writes: int | None = None
    fields: Mapping[str, int] = dataclasses.field(default_factory=dict)

    def word(self, entries: Sequence[int]) -> int:
        """Return it as a word; the entries are those of all values."""
        places = dict(zip(("a", "b"), (entries[value] for value in self.reads), strict=False))
        if self.writes is not None:
            places["destination"] = entries[self.writes]
        return word(self.op, **places, **self.fields)


class _Program:
    """The program of operations for some number of lanes, step by step."""

    def __init__(self, operations: Operations, num_features: int, lanes: int):
        self._operations = operations
        self._lanes = lanes
        num_values = len(operations.thresholds) + len(operations.tables)
        # The lane that writes each value, the step in which, and that in which it is read last.
        self._lane = np.arange(num_values) % lanes
        self._written = np.full(num_values, NEVER)
        self._last = np.full(num_values, NEVER)
        self._steps: list[list[_Instruction | None]] = []
        self._encode(num_features)
        self._compute()
        self._alone(_Instruction(Op.END))
        entries = self._entries()
        self.num_entries = max(1, int(entries.max(initial=0)) + 1)
        if self.num_entries > 1 << ADDRESS_BITS:
            raise NetlistError(
                f"The netlist needs {self.num_entries} entries at a time, "
                f"but the engine has at most {1 << ADDRESS_BITS}"
            )
        known = entries.tolist()
        self.words = [
            [0 if each is None else each.word(known) for each in step] for step in self._steps
        ]

    def _place(self, step: int, lane: int, instruction: _Instruction) -> None:
        while len(self._steps) <= step:
            self._steps.append([None] * self._lanes)
        self._steps[step][lane] = instruction
        self._last[list(instruction.reads)] = step
        if instruction.writes is not None:
            self._written[instruction.writes] = step

    def _alone(self, instruction: _Instruction) -> None:
        """Add an instruction with nothing beside it."""
        self._place(len(self._steps), 0, instruction)

    def _encode(self, num_features: int) -> None:
        """Take in all features; the last threshold of one goes on to the next."""
        of_feature: list[list[tuple[int, Threshold]]] = [[] for _ in range(num_features)]
        for value, threshold in enumerate(self._operations.thresholds):
            of_feature[threshold.feature].append((value, threshold))
        for own in of_feature:
            for number, (value, each) in enumerate(own, start=1):
                fields = {
                    "low": each.low,
                    "high": each.high,
                    "missing": -each.missing,
                    "last": int(number == len(own)),
                }
                self._alone(_Instruction(Op.ENCODE, writes=value, fields=fields))
            if not own:
                self._alone(_Instruction(Op.NEXT))

    def _compute(self) -> None:
        """Compute all operations, and give what they add up to to the scores."""
        begun: set[int] = set()
        for of_class, gates in _groups(self._operations):
            self._schedule(gates)
            if of_class == _NO_CLASS:
                continue
            # A class has its base once, and what comes later is added.
            base = 0 if of_class in begun else self._operations.bases[of_class]
            self._score(of_class, base, add=of_class in begun)
            begun.add(of_class)
        for of_class, base in enumerate(self._operations.bases):
            if of_class not in begun:
                self._score(of_class, base, add=False)

    def _score(self, of_class: int, base: int, *, add: bool) -> None:
        fields = {"class": of_class, "add": int(add), "base": base % (1 << SCORE_BITS)}
        self._alone(_Instruction(Op.SCORE, fields=fields))

    def _schedule(self, gates: list[_Instruction]) -> None:
        """Put gates of one level into lanes, each as soon as what it reads is there."""
        free = [len(self._steps)] * self._lanes
        ready = {id(gate): int(self._written[list(gate.reads)].max()) + LATENCY for gate in gates}
        for gate in sorted(gates, key=lambda gate: ready[id(gate)]):
            lane = free.index(min(free))
            fields = dict(gate.fields)
            rows = fields.pop("rows")
            step = max(free[lane] + (rows > 0), ready[id(gate)])
            if rows:
                self._place(step - 1, lane, _Instruction(Op.EXTEND, fields={"rows": rows}))
            if gate.writes is not None:
                self._lane[gate.writes] = lane
            self._place(step, lane, dataclasses.replace(gate, fields=fields))
            free[lane] = step + 1

    def _entries(self) -> NDArray[np.int64]:
        """Give each value that is written an entry of its lane."""
        entries = np.full(len(self._lane), -1)
        num_inputs = len(self._operations.thresholds)
        is_input = np.arange(len(self._lane)) < num_inputs
        is_there = self._written != NEVER
        for lane in range(self._lanes):
            own = np.flatnonzero(is_there & (self._lane == lane))
            number = {value: place for place, value in enumerate(own.tolist())}
            written: list[list[int]] = [[] for _ in self._steps]
            for value in own[~is_input[own]].tolist():
                written[self._written[value]].append(number[value])
            steps = [np.array(values, dtype=np.int64) for values in written]
            slots, _ = allocate(steps, self._last[own], int(is_input[own].sum()))
            entries[own] = np.maximum(slots, 0) * self._lanes + lane
        return entries


def _groups(operations: Operations) -> Iterator[tuple[int, list[_Instruction]]]:
    """Give the gates of each level, those first that are in no sum, and then class by class."""
    num_inputs = len(operations.thresholds)
    sums = defaultdict(list)
    for each in operations.sums:
        sums[each.value].append(each)
    is_read = np.zeros(num_inputs + len(operations.tables), dtype=np.bool_)
    is_read[operations.sources] = True
    short, long = (table.tolist() for table in split_tables(operations.tables))
    levels = [0] * num_inputs
    groups: dict[tuple[int, int], list[_Instruction]] = defaultdict(list)
    for value in range(num_inputs):
        for each in sums[value]:
            groups[1, each.of_class].append(_added(value, each.shift))
    for gate, sources in enumerate(operations.sources.tolist()):
        value = num_inputs + gate
        level = max(levels[source] for source in sources) + 1
        levels.append(level)
        fields = {"table": short[gate], "rows": long[gate]}
        own = sums[value]
        if not is_read[value]:
            for each in own:
                groups[level, each.of_class].append(
                    _Instruction(_SUMS[each.shift], tuple(sources), fields=fields)
                )
            continue
        # The first sum takes no instruction of its own.
        first = next((each for each in own if each.shift == 0), None)
        op, of_class = (Op.GATE, _NO_CLASS) if first is None else (Op.GATE_SUM, first.of_class)
        groups[level, of_class].append(_Instruction(op, tuple(sources), value, fields))
        for each in own:
            if each is not first:
                groups[level + 1, each.of_class].append(_added(value, each.shift))
    for level, of_class in sorted(groups):
        yield of_class, groups[level, of_class]


def _added(value: int, shift: int) -> _Instruction:
    """Return the instruction that adds a value that is there."""
    return _Instruction(_SUMS[shift], (value, value), fields={"table": _SAME, "rows": 0})
