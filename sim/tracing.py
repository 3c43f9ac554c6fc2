"""Why a net has its value: the gates and inputs that made it so."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trilut.circuit.encoder import FeatureVectors
from trilut.circuit.kinds import Kind
from trilut.circuit.netlist import Netlist
from trilut.circuit.shapes import gate_text, row_values
from trilut.errors import DataError, NetlistError
from trilut.sim.probe import net_values

__all__ = ["Role", "Step", "Trace", "trace", "trace_output"]


def _mark(value: int) -> str:
    return {-1: "-", 0: "0", 1: "+"}.get(value, f"{value:+d}")


class Role(StrEnum):
    """What a net does in a trace."""

    INPUT = "input"
    """An input: the trace ends here."""
    MAKES = "makes"
    """A gate whose value does not come from that of its operands, or an UNKNOWN that comes from
    operands that are known: the trace ends here."""
    FOLLOWS = "follows"
    """A gate that has its value because of operands that the trace follows."""


@dataclass(frozen=True, slots=True)
class Step:
    """One net of a trace.

    Parameters
    ----------
    net : int
        The net.
    value : int
        Its value.
    role : Role
        What it does.
    gate : str
        The gate's name, or its table as ``-0+`` or numbers; empty for an input.
    reads : tuple of (int, int)
        The nets that the gate reads, and their values.
    because : tuple of int
        The nets among them that the trace follows.
    about : str
        What an input says of its feature; empty for a gate.
    """

    net: int
    value: int
    role: Role
    gate: str = ""
    reads: tuple[tuple[int, int], ...] = ()
    because: tuple[int, ...] = ()
    about: str = ""

    def text(self) -> str:
        """Write as one line."""
        if self.role is Role.INPUT:
            return f"net {self.net} = {_mark(self.value)}  input{self.about and ': '}{self.about}"
        operands = ", ".join(
            f"net {net} = {_mark(value)}{'' if net in self.because else ' (not followed)'}"
            for net, value in self.reads
        )
        made = "  made here" if self.role is Role.MAKES else ""
        return f"net {self.net} = {_mark(self.value)}  {self.gate}({operands}){made}"


@dataclass(frozen=True, slots=True)
class Trace:
    """The cone of nets that made a net what it is, from that net back to where the trace ends.

    Parameters
    ----------
    net, value : int
        The net that was asked about, and its value.
    steps : tuple of Step
        The nets of the cone, each after all that read it.
    """

    net: int
    value: int
    steps: tuple[Step, ...]

    @property
    def origins(self) -> tuple[Step, ...]:
        """The steps at which the trace ends."""
        return tuple(step for step in self.steps if step.role is not Role.FOLLOWS)

    def text(self) -> str:
        """Write as lines, each net indented by its distance from the net that was asked about."""
        depth = {self.net: 0}
        lines = []
        for step in self.steps:
            lines.append("  " * depth[step.net] + step.text())
            for net in step.because:
                depth[net] = max(depth.get(net, 0), depth[step.net] + 1)
        return "\n".join(lines)


def trace(netlist: Netlist, sample: FeatureVectors | ArrayLike, of: int) -> Trace:
    """Explain the value of a net for one sample.

    An UNKNOWN is followed to the UNKNOWN operands that matter, those that could change it if they
    were known; it ends at inputs, and at gates that make UNKNOWN of operands that are known or do
    not matter. FALSE, TRUE and scores are followed to operands that are enough to fix the value: as
    few as are enough, preferably known ones. The inputs at the end of such a trace fix the value,
    whatever the other inputs are.

    Parameters
    ----------
    netlist : Netlist
        The circuit.
    sample : FeatureVectors or array
        One sample, as :func:`trilut.sim.classify` takes them: [1, feature] or [feature].
    of : int
        The net to explain; for output k, ``netlist.outputs[k]``.

    Raises
    ------
    DataError
        If the sample does not fit the netlist.
    ValueError
        If there is no such net, or not exactly one sample.
    """
    if not 0 <= of < netlist.num_nets:
        raise ValueError(f"Net {of} does not exist; there are {netlist.num_nets} nets")
    samples = sample if isinstance(sample, FeatureVectors) else np.atleast_2d(np.asarray(sample))
    if len(samples) != 1:
        raise ValueError(f"Trace takes one sample, not {len(samples)}")
    values = net_values(netlist, samples)[0]
    about = _inputs_text(netlist, samples)
    of_unknown = netlist.kinds[of] != Kind.SCORE and values[of] == 0
    steps = {}
    todo = [of]
    while todo:
        current = todo.pop()
        if current in steps:
            continue
        because = _because(netlist, values, current, of_unknown=of_unknown)
        steps[current] = _step(netlist, values, current, because, about)
        todo.extend(steps[current].because)
    # Gates read lower nets only, so descending order puts readers first.
    ordered = tuple(steps[number] for number in sorted(steps, reverse=True))
    return Trace(of, int(values[of]), ordered)


def trace_output(
    netlist: Netlist,
    samples: ArrayLike,
    sample: int,
    *,
    output: int | None = None,
    number: int | None = None,
) -> Trace:
    """Explain an output, or a net, for one of several samples; see :func:`trace`.

    Parameters
    ----------
    netlist : Netlist
        The circuit.
    samples : array
        As :func:`trilut.sim.classify` takes them.
    sample : int
        Which of the samples.
    output, number : int, optional
        The output, or the net. Without either, the first output that is UNKNOWN, else output 0.

    Raises
    ------
    DataError
        If there is no such sample, or the samples do not fit the netlist.
    NetlistError
        If there is no such output or net.
    """
    values = np.asarray(samples)
    if not 0 <= sample < len(values):
        raise DataError(f"Sample {sample} does not exist; there are {len(values)} samples")
    one = values[sample : sample + 1]
    if number is None:
        if output is None:
            is_unknown = net_values(netlist, one)[0, netlist.outputs] == 0
            unknown = np.flatnonzero(is_unknown & (netlist.kinds[netlist.outputs] != Kind.SCORE))
            output = int(unknown[0]) if len(unknown) else 0
        if not 0 <= output < len(netlist.outputs):
            raise NetlistError(
                f"Output {output} does not exist; "
                f"netlist {netlist.name!r} has {len(netlist.outputs)}"
            )
        number = int(netlist.outputs[output])
    if not 0 <= number < netlist.num_nets:
        raise NetlistError(
            f"Net {number} does not exist; netlist {netlist.name!r} has {netlist.num_nets} nets"
        )
    return trace(netlist, one, number)


def _step(
    netlist: Netlist,
    values: NDArray[np.int8],
    number: int,
    because: tuple[int, ...],
    about: dict[int, str],
) -> Step:
    value = int(values[number])
    if number < netlist.num_inputs:
        return Step(number, value, Role.INPUT, about=about.get(number, ""))
    gate = number - netlist.num_inputs
    operands = dict.fromkeys(netlist.reads(gate))
    return Step(
        number,
        value,
        Role.FOLLOWS if because else Role.MAKES,
        gate=gate_text(netlist, gate),
        reads=tuple((operand, int(values[operand])) for operand in operands),
        because=because,
    )


def _because(
    netlist: Netlist, values: NDArray[np.int8], number: int, *, of_unknown: bool
) -> tuple[int, ...]:
    """Return the operands that the trace follows from a net."""
    if number < netlist.num_inputs:
        return ()
    cone = _Operands(netlist, values, number)
    if cone.fixed_by(()):
        return ()
    if of_unknown:
        unknown = tuple(net for net in cone.nets if values[net] == 0)
        alone = {net for net in cone.nets if not cone.fixed_by(set(cone.nets) - {net})}
        # Some matter only together: none alone would change the value.
        if not alone and not cone.fixed_by(set(cone.nets) - set(unknown)):
            return unknown
        return tuple(net for net in unknown if net in alone)
    for size in range(1, len(cone.nets)):
        enough = [some for some in combinations(cone.nets, size) if cone.fixed_by(some)]
        if enough:
            return min(enough, key=lambda some: ([values[net] == 0 for net in some], some))
    return cone.nets


class _Operands:
    """What a gate reads, and what of it is enough to fix the gate's value."""

    def __init__(self, netlist: Netlist, values: NDArray[np.int8], number: int) -> None:
        gate = number - netlist.num_inputs
        sources = netlist.reads(gate)
        rows = row_values(netlist.kinds[list(sources)].tolist())
        self.nets = tuple(dict.fromkeys(sources))
        # A net has one value, however often it is read.
        columns = {net: rows[:, sources.index(net)] for net in self.nets}
        is_possible = np.all(
            [rows[:, slot] == columns[net] for slot, net in enumerate(sources)], axis=0
        )
        differs = netlist.table[gate, : len(rows)] != values[number]
        self._wrong = differs & is_possible
        self._as_is = {net: columns[net] == values[net] for net in self.nets}

    def fixed_by(self, nets: Iterable[int]) -> bool:
        """Say whether the values of some operands leave only one value of the gate."""
        wrong = self._wrong
        for net in nets:
            wrong = wrong & self._as_is[net]
        return not wrong.any()


def _inputs_text(netlist: Netlist, samples: FeatureVectors | NDArray[np.generic]) -> dict[int, str]:
    """Say of each input what its feature is and where its thresholds are."""
    if netlist.encoder is None:
        return {}
    encoder = netlist.encoder
    vectors = samples if isinstance(samples, FeatureVectors) else encoder.quantize(samples)
    return dict(enumerate(_trit_texts(netlist, vectors)))


def _trit_texts(netlist: Netlist, vectors: FeatureVectors) -> Iterator[str]:
    encoder = netlist.encoder
    assert encoder is not None
    least, most = encoder.seen_limits()
    for feature, low, high in zip(encoder.feature, encoder.low, encoder.high, strict=True):
        name, x = encoder.features[feature].name, vectors.values[0, feature]
        if not vectors.valid[0, feature]:
            yield f"feature {name!r} is missing"
        elif not least[feature] <= x <= most[feature]:
            yield f"feature {name!r} = {x} is out of range"
        elif x < low:
            yield f"feature {name!r} = {x} is below {low}"
        elif x >= high:
            yield f"feature {name!r} = {x} is at least {high}"
        else:
            yield f"feature {name!r} = {x} is at least {low} and below {high}"
