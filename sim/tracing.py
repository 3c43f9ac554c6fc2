"""Why a net has its value: the gates and inputs that made it so."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trilut.encoder import FeatureVectors
from trilut.gates import gate_id, gate_name, table_text
from trilut.netlist import Netlist
from trilut.reach import ternary_tables
from trilut.sim.probe import net_values

__all__ = ["Role", "Step", "Trace", "trace"]

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


def trace(net: Netlist, sample: FeatureVectors | ArrayLike, of: int) -> Trace:
    """Explain the value of a net for one sample.

    An UNKNOWN is followed to the UNKNOWN operands that matter, those that could change it if they
    were known; it ends at inputs, and at gates that make UNKNOWN of operands that are known or do
    not matter. FALSE and TRUE are followed to operands that are enough to fix the value: one if one
    is enough, preferably one that is known, else both.

    Parameters
    ----------
    net : Netlist
        The circuit.
    sample : FeatureVectors or array
        One sample, as :func:`trilut.sim.classify` takes them: [1, feature] or [feature].
    of : int
        The net to explain; for output k, ``net.outputs[k]``.

    Raises
    ------
    DataError
        If the sample does not fit the netlist.
    ValueError
        If there is no such net, or not exactly one sample.
    """
    if not 0 <= of < net.num_nets:
        raise ValueError(f"Net {of} does not exist; there are {net.num_nets} nets")
    samples = sample if isinstance(sample, FeatureVectors) else np.atleast_2d(np.asarray(sample))
    if len(samples) != 1:
        raise ValueError(f"Trace takes one sample, not {len(samples)}")
    values = net_values(net, samples)[0]
    about = _inputs_text(net, samples)
    tables = ternary_tables(net).reshape(-1, 3, 3)
    steps = {}
    todo = [of]
    while todo:
        current = todo.pop()
        if current in steps:
            continue
        steps[current] = _step(net, tables, values, current, about)
        todo.extend(steps[current].because)
    # Gates read lower nets only, so descending order puts readers first.
    ordered = tuple(steps[number] for number in sorted(steps, reverse=True))
    return Trace(of, int(values[of]), ordered)


def _step(
    net: Netlist,
    tables: NDArray[np.int8],
    values: NDArray[np.int8],
    number: int,
    about: dict[int, str],
) -> Step:
    value = int(values[number])
    if number < net.num_inputs:
        return Step(number, value, Role.INPUT, about=about.get(number, ""))
    gate = number - net.num_inputs
    operands = (int(net.a[gate]), int(net.b[gate]))
    because = _because(tables[gate], operands, values, net.valence)
    return Step(
        number,
        value,
        Role.FOLLOWS if because else Role.MAKES,
        gate=_gate_text(net, gate),
        reads=tuple((operand, int(values[operand])) for operand in dict.fromkeys(operands)),
        because=because,
    )


def _gate_text(net: Netlist, gate: int) -> str:
    if net.valence == 2:
        return table_text(net.table[gate])
    return gate_name(int(gate_id(net.table[gate]))) or table_text(net.table[gate])


def _because(
    table: NDArray[np.int8], operands: tuple[int, int], values: NDArray[np.int8], valence: int
) -> tuple[int, ...]:
    """Return the operands that a value is followed to."""
    a, b = (int(values[operand]) for operand in operands)
    value = table[a + 1, b + 1]
    legal = [0, 1, 2] if valence == 3 else [0, 2]
    if operands[0] == operands[1]:
        matters = any(table[level, level] != value for level in legal)
        followed = matters and (value != 0 or a == 0)
        return operands[:1] if followed else ()
    of_a, of_b = table[legal, b + 1], table[a + 1, legal]
    if value == 0:
        return _unknown_operands(table[np.ix_(legal, legal)], operands, (a, b), (of_a, of_b))
    if (table[np.ix_(legal, legal)] == value).all():
        return ()
    # An operand is enough if the value does not depend on the other one.
    enough = [
        operand
        for operand, other in zip(operands, (of_b, of_a), strict=True)
        if (other == value).all()
    ]
    if enough:
        return (min(enough, key=lambda operand: (values[operand] == 0, operand)),)
    return operands


def _unknown_operands(
    table: NDArray[np.int8],
    operands: tuple[int, int],
    pair: tuple[int, int],
    alone: tuple[NDArray[np.int8], NDArray[np.int8]],
) -> tuple[int, ...]:
    """Return the UNKNOWN operands that matter to an UNKNOWN value."""
    unknown = [operand for operand, value in zip(operands, pair, strict=True) if value == 0]
    matters = [
        operand
        for operand, value, others in zip(operands, pair, alone, strict=True)
        if value == 0 and (others != 0).any()
    ]
    # Two that matter only together: neither alone would change the value.
    if not matters and len(unknown) == 2 and (table != 0).any():
        return operands
    return tuple(matters)


def _inputs_text(net: Netlist, samples: FeatureVectors | NDArray[np.generic]) -> dict[int, str]:
    """Say of each input what its feature is and where its thresholds are."""
    if net.encoder is None:
        return {}
    encoder = net.encoder
    vectors = samples if isinstance(samples, FeatureVectors) else encoder.quantize(samples)
    return dict(enumerate(_trit_texts(net, vectors)))


def _trit_texts(net: Netlist, vectors: FeatureVectors) -> Iterator[str]:
    encoder = net.encoder
    assert encoder is not None
    for feature, low, high in zip(encoder.feature, encoder.low, encoder.high, strict=True):
        name, x = encoder.features[feature].name, vectors.values[0, feature]
        if not vectors.valid[0, feature]:
            yield f"feature {name!r} is missing"
        elif x < low:
            yield f"feature {name!r} = {x} is below {low}"
        elif x >= high:
            yield f"feature {name!r} = {x} is at least {high}"
        else:
            yield f"feature {name!r} = {x} is at least {low} and below {high}"
