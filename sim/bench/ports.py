"""The ports of a design inside the simulator, and how a model's arrays stand in them."""

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np

from trilut.circuit.bits import bits_to_text, text_to_bits
from trilut.circuit.encoder import FeatureVectors
from trilut.circuit.head import Decisions
from trilut.circuit.interface import LIST_PORTS, Interface, Port, Steps
from trilut.circuit.trit import Bits
from trilut.sim.bench.job import Job, Model

__all__ = ["Payload", "Ports", "is_resolved", "port_objection"]

Payload = tuple[str, ...]
"""The value of every port of one side of the design, most significant bit first."""

_LAST = "1"


class Ports:
    """The ports of the design, and how a model's arrays stand in them.

    A vector is one transfer, or a packet of them between AXI4-Streams. A result is one transfer.

    Attributes
    ----------
    in_valid, in_ready, out_valid, out_ready
        The handshakes; None without a clock.
    inputs, outputs : mapping
        What a transfer carries.
    framing_error
        Whether a packet was dropped; None where there are none.
    """

    def __init__(self, dut: Any, job: Job, model: Model) -> None:
        self._interface = interface = job.interface
        self._model = model
        handles = {port.name: getattr(dut, port.name) for port in interface.ports}
        self.framing_error = handles.get("framing_error")
        if interface.axi is None:
            names: tuple[str, ...] = ("in_valid", "in_ready", "out_valid", "out_ready")
            inputs = [port.name for port in interface.inputs]
            outputs = [port.name for port in interface.outputs]
        else:
            names = ("s_axis_tvalid", "s_axis_tready", "m_axis_tvalid", "m_axis_tready")
            inputs, outputs = ["s_axis_tdata", "s_axis_tlast"], ["m_axis_tdata", "m_axis_tlast"]
        handshake: list[Any] = [handles.get(name) for name in names]
        self.in_valid, self.in_ready, self.out_valid, self.out_ready = handshake
        self.inputs = {name: handles[name] for name in inputs}
        self.outputs = {name: handles[name] for name in outputs}
        self._margin = handles.get("abstain_margin")
        self._limit = 0

    def choose_margin(self, part: slice, rng: Random) -> None:
        """Set the abstention margin, if there is a port for it: one that decides, or an extreme."""
        results = self._model.results[part]
        if self._margin is not None and isinstance(results, Decisions):
            highest = (1 << len(self._margin)) - 1
            near = int(rng.choice(results.margin.tolist())) + rng.randrange(2)
            self._limit = min(highest, rng.choice((0, 1, near, near, near, highest)))
            self._margin.value = self._limit

    def vectors(self, part: slice) -> list[list[Payload]]:
        """Pack some vectors of the model, each into its transfers."""
        bits = self._interface.pack_vectors(self._model.vectors[part])
        if self._interface.axi is None:
            return [[each] for each in zip(*map(bits_to_text, bits.values()), strict=True)]
        width, count = self._interface.axi.beat_bits, self._interface.num_beats
        packet = _side_by_side(bits, self._interface.packet, width * count)
        beats = bits_to_text(packet.reshape(-1, width))
        return [
            [(beat, str(int(place == count - 1))) for place, beat in enumerate(beats[first:last])]
            for first, last in ((start, start + count) for start in range(0, len(beats), count))
        ]

    def broken_packet(self, packet: list[Payload], rng: Random) -> list[Payload]:
        """Return a packet of another length: some beats less, or a few more."""
        count = len(packet)
        longer = count + rng.choice((1, 2, count))
        length = longer if count == 1 or rng.random() < 0.5 else rng.randrange(1, count)
        beats = [packet[place % count][0] for place in range(length)]
        return [(beat, str(int(place == length - 1))) for place, beat in enumerate(beats)]

    def results(self, part: slice) -> list[Payload]:
        """Pack some results of the model, as the margin that was chosen has them."""
        results = self._model.results[part]
        if self._margin is not None and isinstance(results, Decisions):
            results = replace(results, unknown=results.margin < max(1, self._limit))
        bits = self._interface.pack_results(results)
        if self._interface.axi is None:
            return list(zip(*map(bits_to_text, bits.values()), strict=True))
        beat = _side_by_side(bits, self._interface.result, self._interface.result_bits)
        return [(text, _LAST) for text in bits_to_text(beat)]

    def read_result(self, payload: Payload) -> dict[str, object]:
        """Read a result for a report; a port that is not resolved stays text."""
        if self._interface.axi is None:
            texts = list(payload)
        else:
            lowest_first = payload[0][::-1]
            places = self._interface.result.values()
            texts = ["".join(lowest_first[at] for at in reversed(each)) for each in places]
        return {
            port.name.removeprefix("out_"): _read(port, text) if is_resolved(text) else text
            for port, text in zip(self._interface.outputs, texts, strict=True)
        }

    def read_vector(self, vector: int) -> list[int | None]:
        """Read a vector of the model for a report; a missing feature is None."""
        vectors = self._model.vectors[vector : vector + 1]
        if isinstance(vectors, Steps):
            vectors = vectors.vectors
        if not isinstance(vectors, FeatureVectors):
            return [int(trit) for trit in vectors[0]]
        pairs = zip(vectors.values[0].tolist(), vectors.valid[0].tolist(), strict=True)
        return [value if valid else None for value, valid in pairs]


def _side_by_side(bits: Mapping[str, Bits], places: Mapping[str, range], width: int) -> Bits:
    """Put bits where they lie in a packet, with zeros between and behind."""
    packet = np.zeros((len(next(iter(bits.values()))), width), dtype=np.uint8)
    for name, part in places.items():
        packet[:, part.start : part.stop] = bits[name]
    return packet


def _read(port: Port, text: str) -> object:
    values = port.unpack(text_to_bits([text]))[0].tolist()
    return values if port.name in LIST_PORTS else values[0]


def port_objection(dut: Any, interface: Interface) -> str:
    """Say which port of an interface a design has not, or has with another width, if any."""
    for port in interface.ports:
        handle = getattr(dut, port.name, None)
        if handle is None:
            return f"has no {port.direction} port {port.name!r}, expected one of {port.width} bits"
        if len(handle) != port.width:
            return f"has {len(handle)} bits at port {port.name!r}, expected {port.width}"
    return ""


def is_resolved(text: str) -> bool:
    """Say whether every bit of a port value is 0 or 1."""
    return not text.strip("01")
