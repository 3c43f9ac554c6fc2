"""One sweep of the optimiser over gates of any shape, gate by gate.

A gate here has one axis of its table for each net that it reads, and says which rows of the table
can occur. One operation makes gates smaller: a gate is *absorbed* into one that reads it, which
then reads its inputs instead. Constants and functions of one net are absorbed by all that read
them; other gates where they vanish by it, while six wires suffice. Then nets that a gate reads
twice become one axis, and axes on which nothing depends, on the rows that can occur, are dropped.
"""

import dataclasses
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.kinds import MAX_WIRES, NO_NET, Kind, levels_of
from trilut.circuit.netlist import Netlist

__all__ = ["sweep"]


def sweep(netlist: Netlist, rows: NDArray[np.bool_], num_wires: int = MAX_WIRES) -> Netlist:
    """Return a netlist with the same outputs on the rows that can occur.

    Parameters
    ----------
    netlist : Netlist
        The circuit.
    rows : bool array [gate, row]
        The rows that can occur.
    num_wires : int
        Most wires of a gate that absorbs another one.
    """
    work = _Sweep(netlist, num_wires)
    for gate in range(netlist.num_gates):
        work.fold(netlist.num_inputs + gate, _Gate.of(netlist, rows, gate))
    work.absorb_gates()
    return work.rebuilt()


@dataclass(slots=True)
class _Gate:
    """A gate with an axis for each net that it reads, and the rows that can occur."""

    kind: Kind
    sources: list[int]
    table: NDArray[np.int8]
    care: NDArray[np.bool_]

    @classmethod
    def of(cls, netlist: Netlist, rows: NDArray[np.bool_], gate: int) -> "_Gate":
        sources = netlist.sources[gate]
        sources = sources[sources != NO_NET]
        shape = tuple(netlist.kinds[sources].tolist())
        num_rows = int(netlist.num_rows[gate])
        return cls(
            Kind(netlist.kinds[netlist.num_inputs + gate]),
            sources.tolist(),
            netlist.table[gate, :num_rows].reshape(shape),
            rows[gate, :num_rows].reshape(shape),
        )

    def absorb(self, slot: int, inner: "_Gate") -> None:
        """Read the inputs of a gate instead of its output."""
        places = levels_of(inner.table, inner.kind)
        after = (1,) * (len(self.sources) - slot - 1)
        self.table = np.take(self.table, places, axis=slot)
        occurs = inner.care.reshape(inner.care.shape + after)
        self.care = np.take(self.care, places, axis=slot) & occurs
        self.sources[slot : slot + 1] = inner.sources
        self._join_equal_sources()

    def _join_equal_sources(self) -> None:
        slot = 0
        while slot < len(self.sources):
            first = self.sources.index(self.sources[slot])
            if first == slot:
                slot += 1
                continue
            # The diagonal becomes the last axis, and goes where the first one was.
            self.table = np.moveaxis(np.diagonal(self.table, axis1=first, axis2=slot), -1, first)
            self.care = np.moveaxis(np.diagonal(self.care, axis1=first, axis2=slot), -1, first)
            del self.sources[slot]

    def simplify(self) -> None:
        """Drop the inputs that change nothing, put the others in order, and fill free rows."""
        self._join_equal_sources()
        for slot in reversed(range(len(self.sources))):
            low = np.where(self.care, self.table, 127).min(axis=slot)
            high = np.where(self.care, self.table, -128).max(axis=slot)
            occurs = np.asarray(self.care.any(axis=slot))
            if np.all((low == high) | ~occurs):
                self.table, self.care = low, occurs
                del self.sources[slot]
        order = np.argsort(self.sources)
        self.sources = [self.sources[slot] for slot in order]
        self.table, self.care = self.table.transpose(order), self.care.transpose(order)
        # What never occurs looks the same everywhere, so that equal gates look equal.
        fill = {Kind.BIT: -1, Kind.TRIT: 0, Kind.SCORE: self.table[self.care].min(initial=7)}
        self.table = np.where(self.care, self.table, np.int8(fill[self.kind])).astype(np.int8)


@dataclass(slots=True)
class _Sweep:
    """The gates of a netlist while they are rewritten, by the nets that they drive."""

    netlist: Netlist
    num_wires: int
    gates: dict[int, _Gate] = field(default_factory=dict)
    same: dict[int, int] = field(default_factory=dict)  # nets that are others
    known: dict[tuple[object, ...], int] = field(default_factory=dict)

    def fold(self, net: int, gate: _Gate) -> None:
        """Absorb what is simple into a gate, and find out whether it is new."""
        gate.sources = [self.same.get(source, source) for source in gate.sources]
        gate.simplify()
        for source in tuple(gate.sources):
            inner = self.gates.get(source)
            is_simple = inner is not None and len(inner.sources) <= 1
            if is_simple and self._fits(gate, source, MAX_WIRES):
                gate.absorb(gate.sources.index(source), self.gates[source])
        gate.simplify()
        if len(gate.sources) == 1 and self._is_identity(gate):
            self.same[net] = gate.sources[0]
            return
        key = (gate.kind, *gate.sources, gate.table.tobytes())
        first = self.known.setdefault(key, net)
        if first != net:
            self.same[net] = first
            return
        self.gates[net] = gate

    def _is_identity(self, gate: _Gate) -> bool:
        if self.netlist.kinds[gate.sources[0]] != gate.kind:
            return False
        return bool(np.all((gate.table == gate.kind.values) | ~gate.care))

    def _fits(self, gate: _Gate, source: int, num_wires: int) -> bool:
        """Say whether a gate that absorbed a source would read no more wires than it may."""
        nets = (set(gate.sources) | set(self.gates[source].sources)) - {source}
        return sum(int(self.netlist.kinds[net]) - 1 for net in nets) <= num_wires

    def absorb_gates(self) -> None:
        """Absorb gates into all that read them, where they all can."""
        self._drop_dead()
        kept = {self.same.get(net, net) for net in self.netlist.outputs.tolist()}
        readers: dict[int, list[int]] = {}
        for net, gate in self.gates.items():
            for source in gate.sources:
                readers.setdefault(source, []).append(net)
        for net in list(self.gates):
            own = [self.gates[reader] for reader in readers.get(net, [])]
            if net in kept or not all(self._fits(gate, net, self.num_wires) for gate in own):
                continue
            inner = self.gates.pop(net)
            for source in inner.sources:
                readers[source] = [reader for reader in readers[source] if reader != net]
            for number, gate in zip(readers.get(net, []), own, strict=True):
                before = set(gate.sources)
                gate.absorb(gate.sources.index(net), inner)
                gate.simplify()
                for source in before - set(gate.sources) - {net}:
                    readers[source].remove(number)
                for source in set(gate.sources) - before:
                    readers[source].append(number)

    def _drop_dead(self) -> None:
        live = {self.same.get(net, net) for net in self.netlist.outputs.tolist()}
        for net in reversed(list(self.gates)):
            if net in live:
                live.update(self.gates[net].sources)
            else:
                del self.gates[net]

    def rebuilt(self) -> Netlist:
        """Return what outputs need as a netlist."""
        self._drop_dead()
        num_inputs = self.netlist.num_inputs
        number = {net: net for net in range(num_inputs)}
        number |= {net: num_inputs + gate for gate, net in enumerate(self.gates)}
        width = max((len(gate.sources) for gate in self.gates.values()), default=1) or 1
        rows = max((gate.table.size for gate in self.gates.values()), default=1)
        # A gate that is always the same reads some input, as every gate must.
        rows = max(rows, int(self.netlist.kinds[0]))
        sources = np.full((len(self.gates), width), NO_NET, dtype=np.int64)
        table = np.zeros((len(self.gates), rows), dtype=np.int8)
        for index, gate in enumerate(self.gates.values()):
            own = [number[source] for source in gate.sources] or [0]
            values = gate.table if gate.sources else np.repeat(gate.table, self.netlist.kinds[0])
            sources[index, : len(own)] = own
            table[index, : values.size] = values.ravel()
        kinds = [gate.kind for gate in self.gates.values()]
        outputs = [number[self.same.get(net, net)] for net in self.netlist.outputs.tolist()]
        return dataclasses.replace(
            self.netlist,
            table=table,
            sources=sources,
            outputs=np.array(outputs),
            kinds=np.concatenate([self.netlist.kinds[:num_inputs], kinds]).astype(np.int8),
        )
