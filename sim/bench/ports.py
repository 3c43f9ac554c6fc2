"""The payload ports of a design inside the simulator, and how a model's arrays stand in them."""

from typing import Any

from trilut.circuit.bits import bits_to_text, text_to_bits
from trilut.circuit.encoder import FeatureVectors
from trilut.circuit.interface import LIST_PORTS, Port
from trilut.sim.bench.job import Job, Model

__all__ = ["Payload", "Ports", "is_resolved"]

Payload = tuple[str, ...]
"""The value of every port of one side of the design, most significant bit first."""


class Ports:
    """The payload ports of the design, and how a model's arrays stand in them.

    Raises
    ------
    ValueError
        If a port has another width than the interface says.
    """

    def __init__(self, dut: Any, job: Job, model: Model) -> None:
        self._interface = job.interface
        self._model = model
        self.inputs = {port.name: _handle(dut, port) for port in self._interface.inputs}
        self.outputs = {port.name: _handle(dut, port) for port in self._interface.outputs}

    def vectors(self, part: slice) -> list[Payload]:
        """Pack some vectors of the model."""
        bits = self._interface.pack_vectors(self._model.vectors[part])
        return list(zip(*map(bits_to_text, bits.values()), strict=True))

    def results(self, part: slice) -> list[Payload]:
        """Pack some results of the model."""
        bits = self._interface.pack_results(self._model.results[part])
        return list(zip(*map(bits_to_text, bits.values()), strict=True))

    def read_result(self, payload: Payload) -> dict[str, object]:
        """Read a result for a report; a port that is not resolved stays text."""
        return {
            port.name.removeprefix("out_"): _read(port, text) if is_resolved(text) else text
            for port, text in zip(self._interface.outputs, payload, strict=True)
        }

    def read_vector(self, vector: int) -> list[int | None]:
        """Read a vector of the model for a report; a missing feature is None."""
        vectors = self._model.vectors[vector : vector + 1]
        if not isinstance(vectors, FeatureVectors):
            return [int(trit) for trit in vectors[0]]
        pairs = zip(vectors.values[0].tolist(), vectors.valid[0].tolist(), strict=True)
        return [value if valid else None for value, valid in pairs]


def _read(port: Port, text: str) -> object:
    values = port.unpack(text_to_bits([text]))[0].tolist()
    return values if port.name in LIST_PORTS else values[0]


def _handle(dut: Any, port: Port) -> Any:
    handle = getattr(dut, port.name)
    if len(handle) != port.width:
        raise ValueError(f"Port {port.name!r} has {len(handle)} bits, expected {port.width}")
    return handle


def is_resolved(text: str) -> bool:
    """Say whether every bit of a port value is 0 or 1."""
    return not text.strip("01")
