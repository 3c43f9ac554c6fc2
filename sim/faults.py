"""Faults in a circuit: nets that are stuck or flipped, and what comes of them.

A fault is a function of one trit that stands behind a net. A wire of the dual-rail code that flips
may give the code 11, which is illegal and which no sound circuit makes; what hardware makes of it
depends on its formulas. Here it is read as UNKNOWN.
"""

import dataclasses
import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trilut.circuit.encoder import FeatureVectors
from trilut.circuit.kinds import NO_NET, Kind, levels_of
from trilut.circuit.netlist import Netlist
from trilut.circuit.shapes import strides
from trilut.errors import DataError, NetlistError
from trilut.sim.probe import net_values

__all__ = [
    "FaultEffect",
    "FaultModel",
    "FaultSurvey",
    "NetFault",
    "all_faults",
    "fault_effects",
    "fault_survey",
    "inject",
]


class FaultModel(Enum):
    """What a fault makes of the values −1, 0 and +1 of a net."""

    STUCK_FALSE = (-1, -1, -1)
    STUCK_UNKNOWN = (0, 0, 0)
    STUCK_TRUE = (1, 1, 1)
    FLIP_PLUS = (0, 1, 0)
    """The plus wire is inverted: −1 becomes the illegal code."""
    FLIP_MINUS = (0, -1, 0)
    """The minus wire is inverted: +1 becomes the illegal code."""
    NEGATED = (1, 0, -1)
    """Both wires are exchanged."""


@dataclass(frozen=True, slots=True)
class NetFault:
    """A fault of one net.

    Parameters
    ----------
    net : int
        An input or the net that a gate drives; all readers see the fault.
    model : FaultModel
        What the fault does.
    """

    net: int
    model: FaultModel


@dataclass(frozen=True, slots=True)
class FaultEffect:
    """What a fault does to a circuit on some samples, as fractions of the samples.

    Parameters
    ----------
    fault : NetFault
        The fault.
    excited : float
        The net has another value than without the fault.
    observed : float
        Some output has.
    changed : float or None
        The chosen class is another one; None if the netlist has no head.
    silenced : float or None
        The circuit abstains with the fault and did not without; None if it has no head.
    """

    fault: NetFault
    excited: float
    observed: float
    changed: float | None
    silenced: float | None


@dataclass(frozen=True, slots=True)
class FaultSurvey:
    """The effects of all faults of some models.

    Parameters
    ----------
    num_faults : int
        Number of faults tried, each alone.
    observed : float
        Share of faults that some sample shows at some output.
    changed : float or None
        Share of faults that give some sample another class; None if there are no classes.
    worst : tuple of FaultEffect
        The faults that change the most classes, or the most outputs if there are no classes.
    """

    num_faults: int
    observed: float
    changed: float | None
    worst: tuple[FaultEffect, ...]

    def rows(self) -> dict[str, str]:
        """Describe the survey."""
        rows = {"faults": str(self.num_faults), "seen at an output": f"{100 * self.observed:.2f} %"}
        if self.changed is not None:
            rows["seen in a class"] = f"{100 * self.changed:.2f} %"
        for effect in self.worst:
            share = effect.observed if effect.changed is None else effect.changed
            what = "outputs" if effect.changed is None else "classes"
            name = f"net {effect.fault.net} {effect.fault.model.name.lower()}"
            rows[name] = f"changes the {what} of {100 * share:.2f} % of the samples"
        return rows

    def document(self) -> dict[str, object]:
        """Return what JSON can hold."""
        return {
            "num_faults": self.num_faults,
            "observed": self.observed,
            "changed": self.changed,
            "worst": [
                {
                    "net": effect.fault.net,
                    "model": effect.fault.model.name.lower(),
                    "excited": effect.excited,
                    "observed": effect.observed,
                    "changed": effect.changed,
                    "silenced": effect.silenced,
                }
                for effect in self.worst
            ],
        }


def all_faults(
    netlist: Netlist,
    models: Sequence[FaultModel] = (FaultModel.STUCK_FALSE, FaultModel.STUCK_TRUE),
) -> list[NetFault]:
    """Return every fault of the given models on every net that is a bit or a trit."""
    nets = np.flatnonzero(netlist.kinds != Kind.SCORE).tolist()
    return [NetFault(number, model) for number in nets for model in models]


def inject(netlist: Netlist, faults: Iterable[NetFault]) -> Netlist:
    """Return a netlist that has the faults, for any engine and for the hardware alike.

    A gate takes the fault into its table. An input gets a gate behind it, so the nets of all gates
    move up by the number of inputs with a fault.

    Raises
    ------
    NetlistError
        If there is no such net, if a net has two faults, if it is a score, or if a fault makes
        UNKNOWN of a bit.
    """
    listed = sorted(faults, key=lambda fault: fault.net)
    _check(netlist, listed)
    tables = netlist.table.copy()
    for fault in listed:
        if fault.net >= netlist.num_inputs:
            gate = fault.net - netlist.num_inputs
            own = tables[gate, : netlist.num_rows[gate]]
            own[:] = np.array(fault.model.value)[own + 1]
    wrapped = [fault for fault in listed if fault.net < netlist.num_inputs]
    nets = np.arange(netlist.num_nets)
    nets[netlist.num_inputs :] += len(wrapped)
    inputs = np.array([fault.net for fault in wrapped], dtype=np.int64)
    nets[inputs] = netlist.num_inputs + np.arange(len(wrapped))
    sources = np.where(netlist.sources == NO_NET, NO_NET, nets[netlist.sources])
    buffers = [_buffer(netlist, fault) for fault in wrapped]
    # A buffer reads its input twice: the gates of a two-input circuit stay such.
    twice = np.stack([inputs, inputs], axis=1)
    return dataclasses.replace(
        netlist,
        table=_stacked([*(buffer[None, :] for buffer in buffers), tables], 0),
        sources=_stacked([twice, sources], NO_NET),
        outputs=nets[netlist.outputs],
        kinds=np.insert(netlist.kinds, netlist.num_inputs, netlist.kinds[inputs]),
    )


def _buffer(netlist: Netlist, fault: NetFault) -> NDArray[np.int8]:
    """Return the table of a gate that reads an input twice and has its fault."""
    kind = Kind(netlist.kinds[fault.net])
    values = [fault.model.value[value + 1] for value in kind.values]
    return np.repeat(np.array(values, dtype=np.int8), kind)


def _stacked(parts: Sequence[NDArray[Any]], fill: int) -> NDArray[Any]:
    """Return the rows of all parts, the shorter ones filled up."""
    width = max(part.shape[1] for part in parts)
    return np.concatenate(
        [np.pad(part, ((0, 0), (0, width - part.shape[1])), constant_values=fill) for part in parts]
    )


def _check(netlist: Netlist, faults: Sequence[NetFault]) -> None:
    seen: set[int] = set()
    for fault in faults:
        if not 0 <= fault.net < netlist.num_nets:
            raise NetlistError(
                f"Fault on net {fault.net}, which does not exist; there are {netlist.num_nets} nets"
            )
        if fault.net in seen:
            raise NetlistError(f"Net {fault.net} has two faults, expected at most one")
        seen.add(fault.net)
        kind = netlist.kinds[fault.net]
        if kind == Kind.SCORE:
            raise NetlistError(
                f"Fault {fault.model.name} on net {fault.net}, which is a score; faults are of "
                "bits and trits"
            )
        if kind == Kind.BIT and 0 in (fault.model.value[0], fault.model.value[2]):
            raise NetlistError(
                f"Fault {fault.model.name} on net {fault.net} makes UNKNOWN, "
                "which a bit cannot carry"
            )


def fault_effects(
    netlist: Netlist, samples: FeatureVectors | ArrayLike, faults: Sequence[NetFault]
) -> list[FaultEffect]:
    """Simulate each fault alone on the same samples.

    Only what a fault changes is computed again, so that all faults of a large circuit can be tried.
    Every net of every sample is held in memory, one byte each.

    Raises
    ------
    NetlistError
        If there is no such net, or if a fault makes UNKNOWN of a bit.
    DataError
        If the samples do not fit the netlist, or there are none.
    """
    for fault in faults:
        _check(netlist, [fault])
    values = np.ascontiguousarray(net_values(netlist, samples).T)
    if values.shape[1] == 0:
        raise DataError("Faults need at least one sample to show")
    spread = _Spread(netlist, values)
    return [spread.effect(fault) for fault in faults]


def fault_survey(
    netlist: Netlist,
    samples: FeatureVectors | ArrayLike,
    models: Sequence[str] = ("stuck_false", "stuck_true"),
    *,
    num_worst: int = 10,
) -> FaultSurvey:
    """Simulate every fault of some models, named as in :class:`FaultModel`, in any case.

    Raises
    ------
    NetlistError
        If there is no such model, or if it makes UNKNOWN in a binary netlist.
    DataError
        If the samples do not fit the netlist, or there are none.
    """
    effects = fault_effects(
        netlist, samples, all_faults(netlist, [_model(name) for name in models])
    )
    by_effect = sorted(
        effects, key=lambda effect: (-(effect.changed or 0.0), -effect.observed, effect.fault.net)
    )
    count = max(1, len(effects))
    changed = None
    if netlist.head is not None:
        changed = sum(bool(effect.changed) for effect in effects) / count
    return FaultSurvey(
        num_faults=len(effects),
        observed=sum(effect.observed > 0 for effect in effects) / count,
        changed=changed,
        worst=tuple(by_effect[:num_worst]),
    )


def _model(name: str) -> FaultModel:
    try:
        return FaultModel[name.upper()]
    except KeyError:
        known = ", ".join(repr(model.name.lower()) for model in FaultModel)
        raise NetlistError(f"Fault model {name!r} is not one of {known}") from None


class _Spread:
    """The values of a circuit without a fault, and how a change spreads through it."""

    def __init__(self, netlist: Netlist, values: NDArray[np.int8]) -> None:
        self._netlist = netlist
        self._values = values
        self._strides = strides(netlist)
        gates, slots = np.nonzero(netlist.sources != NO_NET)
        sources = netlist.sources[gates, slots]
        order = np.argsort(sources, kind="stable")
        self._readers = gates[order]
        self._first = np.searchsorted(sources[order], np.arange(netlist.num_nets + 1))
        self._places: dict[int, list[int]] = {}
        for output, number in enumerate(netlist.outputs.tolist()):
            self._places.setdefault(number, []).append(output)
        self._scores: NDArray[np.int64] | None = None
        if netlist.head is not None:
            self._scores = netlist.head.scores(values[netlist.outputs].T)
            self._decisions = netlist.head.decide(self._scores)
            sizes = netlist.head.group_sizes
            self._classes = np.repeat(np.arange(len(sizes)), sizes)

    def effect(self, fault: NetFault) -> FaultEffect:
        changed = self._changed(fault)
        seen = [number for number in changed if number in self._places]
        different = {number: changed[number] != self._values[number] for number in changed}
        observed = float(np.any([different[number] for number in seen], axis=0).mean())
        excited = float(different[fault.net].mean()) if changed else 0.0
        if self._scores is None:
            return FaultEffect(fault, excited, observed, None, None)
        assert self._netlist.head is not None
        scores = self._scores.copy()
        for number in seen:
            rise = changed[number].astype(np.int64) - self._values[number]
            for output in self._places[number]:
                scores[:, self._classes[output]] += rise
        faulty = self._netlist.head.decide(scores)
        moved = float((faulty.chosen != self._decisions.chosen).mean())
        silenced = float((faulty.unknown & ~self._decisions.unknown).mean())
        return FaultEffect(fault, excited, observed, moved, silenced)

    def _changed(self, fault: NetFault) -> dict[int, NDArray[np.int8]]:
        """Return the values of all nets that a fault changes."""
        value = np.array(fault.model.value, dtype=np.int8)[self._values[fault.net] + 1]
        if np.array_equal(value, self._values[fault.net]):
            return {}
        changed = {fault.net: value}
        todo = self._gates_after(fault.net)
        heapq.heapify(todo)
        last = -1
        while todo:
            gate = heapq.heappop(todo)
            if gate == last:
                continue
            last = gate
            number = self._netlist.num_inputs + gate
            row = np.zeros(self._values.shape[1], dtype=np.int64)
            for source, stride in zip(self._netlist.reads(gate), self._strides[gate], strict=False):
                read = changed.get(source, self._values[source])
                row += stride * levels_of(read, self._netlist.kinds[source])
            value = self._netlist.table[gate][row]
            if not np.array_equal(value, self._values[number]):
                changed[number] = value
                for reader in self._gates_after(number):
                    heapq.heappush(todo, reader)
        return changed

    def _gates_after(self, number: int) -> list[int]:
        return self._readers[self._first[number] : self._first[number + 1]].tolist()
