"""The interface of a design: its ports, what lies in their bits, and when results come.

The generator builds an :class:`Interface` once. The bench, the callable RTL, the bitstream, the
boards, the energy estimate, the header and the manifest read it.
"""

import dataclasses
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.bits import pack_integers, unpack_integers
from trilut.circuit.encoder import Encoder, FeatureVectors
from trilut.circuit.head import Decisions, Head
from trilut.circuit.netlist import Netlist
from trilut.circuit.sequential import Circuit, SequentialNetlist
from trilut.circuit.trit import TRIT_BITS, Bits, pack_trits, unpack_trits

__all__ = [
    "LIST_PORTS",
    "Axi",
    "Direction",
    "Field",
    "FieldKind",
    "HeadOutput",
    "InputKind",
    "Interface",
    "Port",
    "Steps",
    "Values",
    "Vectors",
    "VerilogModule",
    "input_ports",
    "margin_port",
    "output_ports",
    "result_values",
    "vector_values",
]

Vectors = FeatureVectors | NDArray[np.int8]
"""Feature vectors, or trits [vector, input] for a design that takes trits."""


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """Vectors of sequences, one sequence after the other.

    Parameters
    ----------
    vectors : FeatureVectors or int8 array [vector, trit]
        A vector for each step.
    last : bool array [vector]
        Whether it is the last one of its sequence.
    """

    vectors: Vectors
    last: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.last)

    def __getitem__(self, part: slice) -> "Steps":
        return Steps(self.vectors[part], self.last[part])

    @property
    def values(self) -> "Values":
        """What each port of a step carries."""
        return {**vector_values(self.vectors), "in_last": self.last[:, None]}


_Circuit = TypeVar("_Circuit", Netlist, SequentialNetlist, Circuit)

LIST_PORTS = ("out_trits", "out_scores", "out_set")
"""The ports of a result that carry several values, even where there is but one."""

Values = Mapping[str, NDArray[np.integer[Any] | np.bool_]]
"""What ports carry: numbers or trits [vector, field] of each, by name."""


class InputKind(StrEnum):
    """What enters the hardware."""

    FEATURES = "features"
    TRITS = "trits"


class HeadOutput(StrEnum):
    """What a decision can have beside class, margin and abstention, in the order of the ports.

    The port of each is called ``out_`` and its value. All that carries results, from the hardware
    to the host of a board, is made from the ports.
    """

    SCORES = "scores"
    CERTAIN = "certain"
    """Of netlists that are information-monotone; see :mod:`trilut.circuit.monotone`."""
    SET = "set"
    """Of heads with a margin for prediction sets."""

    @property
    def port(self) -> str:
        """Name of the port."""
        return f"out_{self.value}"

    def fields(self, head: Head) -> "tuple[Field, ...]":
        """Return what the port carries."""
        match self:
            case HeadOutput.SCORES:
                return (Field(head.score_bits, FieldKind.SIGNED),) * len(head.classes)
            case HeadOutput.CERTAIN:
                return (_WIRE,)
            case HeadOutput.SET:
                return (_WIRE,) * len(head.classes)


class Direction(StrEnum):
    """Which way a port goes, as Verilog says it."""

    INPUT = "input"
    OUTPUT = "output"


class FieldKind(StrEnum):
    """What the bits of a field are."""

    UNSIGNED = "unsigned"
    SIGNED = "signed"
    """Two's complement."""
    TRIT = "trit"


@dataclass(frozen=True, slots=True)
class Field:
    """Bits of a port that stand for one value."""

    bits: int
    kind: FieldKind = FieldKind.UNSIGNED


@dataclass(frozen=True, slots=True)
class Port:
    """A port, and the fields in its bits, the first in the lowest. Either all are trits or none."""

    name: str
    direction: Direction
    fields: tuple[Field, ...]

    @property
    def meaning(self) -> str:
        """What it is for, in a few words."""
        return _MEANINGS[self.name]

    @property
    def width(self) -> int:
        """Number of bits."""
        return sum(field.bits for field in self.fields)

    def pack(self, values: NDArray[Any]) -> Bits:
        """Return the bits [vector, bit] of values [vector, field].

        Raises
        ------
        ValueError
            If there are not as many values as fields, or one does not fit its field.
        """
        if self._holds_trits:
            return pack_trits(values)
        return pack_integers(values, self._widths, signed=self._signed)

    def unpack(self, bits: Bits) -> NDArray[np.int64]:
        """Return the values [vector, field] of bits [vector, bit]; an illegal trit is 2."""
        if self._holds_trits:
            return unpack_trits(bits).astype(np.int64)
        return unpack_integers(bits, self._widths, signed=self._signed)

    @property
    def _holds_trits(self) -> bool:
        return self.fields[0].kind is FieldKind.TRIT

    @property
    def _widths(self) -> list[int]:
        return [field.bits for field in self.fields]

    @property
    def _signed(self) -> list[bool]:
        return [field.kind is FieldKind.SIGNED for field in self.fields]


@dataclass(frozen=True, slots=True)
class Axi:
    """AXI4-Streams at both ends of a design.

    Parameters
    ----------
    beat_bits : int
        Width of an input beat. A packet is the inputs side by side, the first one in the lowest
        bits, cut into beats.
    presence_bits : bool
        Whether packets hold ``in_present``. If not, every feature is always there.
    """

    beat_bits: int
    presence_bits: bool = True


@dataclass(frozen=True, slots=True)
class Interface:
    """How vectors enter a design and results leave it.

    Parameters
    ----------
    inputs, outputs : tuple of Port
        What a vector is, and what a result is: ports of their own between a handshake, or parts of
        a packet.
    latency : int
        Clock cycles from the edge that takes a vector, or the last beat of it, to the edge at which
        its result can be taken.
    margin : Port, optional
        The port that sets the abstention margin, if there is one.
    axi : Axi, optional
        The streams, if the design has them.
    is_combinational : bool
        Whether there is neither a clock nor a handshake: the ports are those of a vector and of its
        result, and of the margin.
    """

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    latency: int
    margin: Port | None = None
    axi: Axi | None = None
    is_combinational: bool = False

    @property
    def input_kind(self) -> InputKind:
        """What enters."""
        is_trits = self.inputs[0].name == "in_trits"
        return InputKind.TRITS if is_trits else InputKind.FEATURES

    def specification(self, netlist: _Circuit) -> _Circuit:
        """Return what a design with these ports must compute of a netlist."""
        encoder = netlist.encoder if self.input_kind is InputKind.FEATURES else None
        if isinstance(netlist, SequentialNetlist):
            return dataclasses.replace(netlist, encoder=encoder)
        head = None if self.has_port("out_trits") else netlist.head
        return dataclasses.replace(netlist, encoder=encoder, head=head)

    @property
    def ports(self) -> tuple[Port, ...]:
        """All ports of the module, in its order."""
        margin = () if self.margin is None else (self.margin,)
        if self.is_combinational:
            return (*self.inputs, *margin, *self.outputs)
        if self.axi is None:
            return (*_CLOCK, *_INPUT_STREAM, *self.inputs, *margin, *_OUTPUT_STREAM, *self.outputs)
        beat = Port("s_axis_tdata", Direction.INPUT, (Field(self.axi.beat_bits),))
        result = Port("m_axis_tdata", Direction.OUTPUT, (Field(self.result_bits),))
        return (*_CLOCK, beat, *_AXI_INPUT, result, *_AXI_OUTPUT, *margin)

    def port(self, name: str) -> Port:
        """Return the port of a vector or a result with a name."""
        return next(port for port in (*self.inputs, *self.outputs) if port.name == name)

    def has_port(self, name: str) -> bool:
        """Say whether a vector or a result has a port of a name."""
        return any(port.name == name for port in (*self.inputs, *self.outputs))

    @property
    def head_outputs(self) -> tuple[HeadOutput, ...]:
        """What a decision has beside class, margin and abstention."""
        return tuple(output for output in HeadOutput if self.has_port(output.port))

    @property
    def packet(self) -> dict[str, range]:
        """Where the inputs lie in a packet of AXI4-Stream."""
        kept = [port for port in self.inputs if port.name != "in_present" or self.has_presence]
        return _places(kept, alignment=1)

    @property
    def result(self) -> dict[str, range]:
        """Where the outputs lie in a beat of AXI4-Stream: each starts with a byte of its own."""
        return _places(self.outputs, alignment=8)

    @property
    def num_beats(self) -> int:
        """Clock cycles that a vector takes to enter, at least."""
        if self.axi is None:
            return 1
        return -(-sum(map(len, self.packet.values())) // self.axi.beat_bits)

    @property
    def result_bits(self) -> int:
        """Width of a result of AXI4-Stream, in whole bytes."""
        return sum(-(-port.width // 8) * 8 for port in self.outputs)

    @property
    def has_presence(self) -> bool:
        """Whether a vector says which features are there; if not, all of them are."""
        return self.has_port("in_present") and (self.axi is None or self.axi.presence_bits)

    def pack_vectors(self, vectors: Vectors | Steps) -> dict[str, Bits]:
        """Return the bits of each input port; missing features carry the values that they have.

        Raises
        ------
        ValueError
            If a value does not fit.
        """
        values = vectors.values if isinstance(vectors, Steps) else vector_values(vectors)
        return {port.name: port.pack(values[port.name]) for port in self.inputs}

    def pack_results(self, results: Decisions | NDArray[np.int8]) -> dict[str, Bits]:
        """Return the bits of each output port.

        Raises
        ------
        ValueError
            If a value does not fit.
        """
        values = result_values(results)
        return {port.name: port.pack(values[port.name]) for port in self.outputs}

    def unpack_results(self, bits: Mapping[str, Bits]) -> dict[str, NDArray[np.int64]]:
        """Return the values [vector, field] of each output port."""
        return {port.name: port.unpack(bits[port.name]) for port in self.outputs}

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it; :meth:`from_dict` reads it."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> "Interface":
        """Return the interface that :meth:`to_dict` wrote.

        Raises
        ------
        KeyError, TypeError, ValueError
            If it did not.
        """
        margin, axi = document["margin"], document["axi"]
        return cls(
            tuple(map(_read_port, document["inputs"])),
            tuple(map(_read_port, document["outputs"])),
            int(document["latency"]),
            None if margin is None else _read_port(margin),
            None if axi is None else Axi(**axi),
            bool(document.get("is_combinational", False)),
        )


@dataclass(frozen=True, slots=True)
class VerilogModule:
    """A design in Verilog, and how to talk to it.

    Parameters
    ----------
    path : Path
        The file.
    top : str
        Name of the top module.
    interface : Interface
        Its ports.
    models : str
        Verilog models of the part's own cells that the design instantiates, for simulation only.
    """

    path: Path
    top: str
    interface: Interface
    models: str = ""


def input_ports(
    encoder: Encoder | None, num_inputs: int, *, presence: bool = True, last: bool = False
) -> tuple[Port, ...]:
    """Return the ports of a vector: features and their presence, or trits without an encoder.

    Behind them, where there is state, whether the vector is the last one of its sequence.
    """
    if last:
        vector = input_ports(encoder, num_inputs, presence=presence)
        return (*vector, Port("in_last", Direction.INPUT, (_WIRE,)))
    if encoder is None:
        return (Port("in_trits", Direction.INPUT, (_TRIT,) * num_inputs),)
    features = tuple(
        Field(feature.bits, FieldKind.SIGNED if feature.signed else FieldKind.UNSIGNED)
        for feature in encoder.features
    )
    values = Port("in_features", Direction.INPUT, features)
    if not presence:
        return (values,)
    return (values, Port("in_present", Direction.INPUT, (_WIRE,) * len(features)))


def output_ports(
    head: Head | None,
    num_outputs: int,
    extra: Collection[HeadOutput] = (),
    *,
    margin: bool = True,
) -> tuple[Port, ...]:
    """Return the ports of a result: a decision and what else is asked for, or trits."""
    if head is None:
        return (Port("out_trits", Direction.OUTPUT, (_TRIT,) * num_outputs),)
    fields: dict[str, tuple[Field, ...]] = {
        "out_class": (Field(head.class_bits),),
        "out_margin": (Field(head.margin_bits),),
        "out_unknown": (_WIRE,),
    }
    if not margin:
        del fields["out_margin"]
    fields |= {output.port: output.fields(head) for output in HeadOutput if output in extra}
    return tuple(Port(name, Direction.OUTPUT, parts) for name, parts in fields.items())


def margin_port(head: Head) -> Port:
    """Return the port that sets the abstention margin."""
    return Port("abstain_margin", Direction.INPUT, (Field(head.margin_bits),))


def vector_values(vectors: Vectors) -> Values:
    """Return what vectors are by the names of input ports."""
    if isinstance(vectors, FeatureVectors):
        return {"in_features": vectors.values, "in_present": vectors.valid}
    return {"in_trits": vectors}


def result_values(results: Decisions | NDArray[np.int8]) -> Values:
    """Return what results are by the names of output ports."""
    if not isinstance(results, Decisions):
        return {"out_trits": results}
    values: dict[str, NDArray[Any]] = {
        "out_class": results.chosen[:, None],
        "out_margin": results.margin[:, None],
        "out_unknown": results.unknown[:, None],
        "out_scores": results.scores,
    }
    if results.certain is not None:
        values["out_certain"] = results.certain[:, None]
    if results.members is not None:
        values["out_set"] = results.members
    return values


def _places(ports: Iterable[Port], *, alignment: int) -> dict[str, range]:
    """Return the bits of ports that stand side by side, each from a multiple of the alignment."""
    places = {}
    first = 0
    for port in ports:
        places[port.name] = range(first, first + port.width)
        first += port.width + -port.width % alignment
    return places


def _read_port(document: Mapping[str, Any]) -> Port:
    fields = tuple(Field(field["bits"], FieldKind(field["kind"])) for field in document["fields"])
    return Port(document["name"], Direction(document["direction"]), fields)


_TRIT_MEANING = "two bits a trit: 10 is +1, 01 is -1, 00 is 0, 11 is forbidden"
_MEANINGS = {
    "clk": "clock, rising edge",
    "rst": "synchronous reset, empties the pipeline",
    "in_valid": "a vector is there",
    "in_ready": "it is taken at this edge",
    "in_features": "values, as listed above",
    "in_present": "bit f is 0 if feature f is missing",
    "in_trits": _TRIT_MEANING,
    "in_last": "the vector is the last one of its sequence",
    "abstain_margin": "abstain below this margin",
    "out_valid": "a result is there, and holds until it is taken",
    "out_ready": "it is taken at this edge",
    "out_class": "class with the highest score, the lowest on a tie",
    "out_margin": "margin, the highest score minus the second highest",
    "out_unknown": "the circuit abstains",
    "out_scores": "scores in two's complement, class 0 in the lowest bits",
    "out_certain": "no value of a missing feature could change the class",
    "out_set": "bit c is 1 if class c is in the prediction set",
    "out_trits": _TRIT_MEANING,
    "s_axis_tdata": "a packet as listed above, lowest bits first; the rest is ignored",
    "s_axis_tvalid": "a beat is there",
    "s_axis_tready": "it is taken at this edge",
    "s_axis_tlast": "last beat of a packet",
    "m_axis_tdata": "a result as listed above; the rest is 0",
    "m_axis_tvalid": "a result is there, and holds until it is taken",
    "m_axis_tready": "it is taken at this edge",
    "m_axis_tlast": "always 1: a result is one beat",
    "framing_error": "a packet of a wrong length was dropped",
}


def _wires(**directions: Direction) -> tuple[Port, ...]:
    return tuple(Port(name, direction, (_WIRE,)) for name, direction in directions.items())


_WIRE = Field(1)
_TRIT = Field(TRIT_BITS, FieldKind.TRIT)
_IN, _OUT = Direction.INPUT, Direction.OUTPUT
_CLOCK = _wires(clk=_IN, rst=_IN)
_INPUT_STREAM = _wires(in_valid=_IN, in_ready=_OUT)
_OUTPUT_STREAM = _wires(out_valid=_OUT, out_ready=_IN)
_AXI_INPUT = _wires(s_axis_tvalid=_IN, s_axis_tready=_OUT, s_axis_tlast=_IN)
_AXI_OUTPUT = _wires(m_axis_tvalid=_OUT, m_axis_tready=_IN, m_axis_tlast=_OUT, framing_error=_OUT)
