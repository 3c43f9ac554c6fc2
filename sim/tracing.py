"""Why a net has its value: the gates and inputs that made it so."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trilut.circuit.encoder import FeatureVectors
from trilut.circuit.gates import gate_id, gate_name, table_text
from trilut.circuit.netlist import Netlist
from trilut.circuit.reach import ternary_tables
from trilut.errors import DataError, NetlistError
from trilut.sim.probe import net_values

__all__ = ["Role", "Step", "Trace", "trace", "trace_output"]

_MARKS = {-1: "-", 0: "0", 1: "+"}


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
        The gate's name, or its table as nine of ``-0+``; empty for an input.
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
            return f"net {self.net} = {_MARKS[self.value]}  input{self.about and ': '}{self.about}"
        operands = ", ".join(
            f"net {net} = {_MARKS[value]}{'' if net in self.because else ' (not followed)'}"
            for net, value in self.reads
        )
        made = "  made here" if self.role is Role.MAKES else ""
        return f"net {self.net} = {_MARKS[self.value]}  {self.gate}({operands}){made}"


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
    not matter. FALSE and TRUE are followed to operands that are enough to fix the value: one if one
    is enough, preferably one that is known, else both. The inputs at the end of such a trace fix
    the value, whatever the other inputs are.

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
    tables = ternary_tables(netlist).reshape(-1, 3, 3)
    steps = {}
    todo = [of]
    while todo:
        current = todo.pop()
        if current in steps:
            continue
        because = _because(netlist, tables, values, current, of_unknown=values[of] == 0)
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
            unknown = np.flatnonzero(net_values(netlist, one)[0, netlist.outputs] == 0)
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
    operands = dict.fromkeys((int(netlist.a[gate]), int(netlist.b[gate])))
    return Step(
        number,
        value,
        Role.FOLLOWS if because else Role.MAKES,
        gate=_gate_text(netlist, gate),
        reads=tuple((operand, int(values[operand])) for operand in operands),
        because=because,
    )


def _gate_text(netlist: Netlist, gate: int) -> str:
    if netlist.valence == 2:
        return table_text(netlist.table[gate])
    return gate_name(int(gate_id(netlist.table[gate]))) or table_text(netlist.table[gate])


def _because(
    netlist: Netlist,
    tables: NDArray[np.int8],
    values: NDArray[np.int8],
    number: int,
    *,
    of_unknown: bool,
) -> tuple[int, ...]:
    """Return the operands that the trace follows from a net."""
    if number < netlist.num_inputs:
        return ()
    gate = number - netlist.num_inputs
    operands = (int(netlist.a[gate]), int(netlist.b[gate]))
    levels = values[list(operands)].astype(int) + 1
    legal = [0, 1, 2] if netlist.valence == 3 else [0, 2]
    # Which pairs of operands give another value.
    other = tables[gate] != values[number]
    if operands[0] == operands[1]:
        other &= np.eye(3, dtype=np.bool_)
        matters = other[legal, legal].any() and (values[operands[0]] == 0 or not of_unknown)
        return operands[:1] if matters else ()
    if not other[np.ix_(legal, legal)].any():
        return ()
    # What changing one operand alone can do.
    by_a, by_b = bool(other[legal, levels[1]].any()), bool(other[levels[0], legal].any())
    if of_unknown:
        return _unknown_operands(operands, values, (by_a, by_b))
    # An operand is enough if the other one alone changes nothing.
    enough = [operand for operand, moves in zip(operands, (by_b, by_a), strict=True) if not moves]
    if not enough:
        return operands
    return (min(enough, key=lambda operand: (values[operand] == 0, operand)),)


def _unknown_operands(
    operands: tuple[int, int], values: NDArray[np.int8], moves: tuple[bool, bool]
) -> tuple[int, ...]:
    """Return the UNKNOWN operands that matter to an UNKNOWN value that is not constant."""
    unknown = [operand for operand in operands if values[operand] == 0]
    matters = [
        operand
        for operand, can_move in zip(operands, moves, strict=True)
        if can_move and operand in unknown
    ]
    # Two that matter only together: neither alone would change the value.
    if not any(moves) and len(unknown) == 2:
        return operands
    return tuple(matters)


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
