"""Vectors that reach a design at full throughput, for the energy that they cost."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.interface import Interface
from trilut.circuit.trit import TRIT_BITS, pack_trits
from trilut.synth.yosys import Module

__all__ = ["Bits", "Traffic", "design_traffic"]

Bits = NDArray[np.bool_]

# Handshakes at full throughput, out of reset, with every feature there.
_HELD = {
    "rst": False,
    "in_valid": True,
    "out_ready": True,
    "in_present": True,
    "s_axis_tvalid": True,
    "m_axis_tready": True,
}
_BEAT, _LAST = "s_axis_tdata", "s_axis_tlast"


@dataclass(frozen=True, slots=True)
class Traffic:
    """How random vectors reach a design, one after the other without a pause.

    Parameters
    ----------
    num_beats : int
        Cycles that a vector takes to enter.
    latency : int
        Cycles from its last beat to its result, at least.
    packet : mapping
        Bits of each port of the classifier that a packet holds, the lowest first; empty if the
        vectors come over those ports themselves.
    """

    num_beats: int = 1
    latency: int = 40
    packet: Mapping[str, int] = field(default_factory=dict)

    def reaches(self, module: Module) -> bool:
        """Say whether this is how a module takes its vectors."""
        return (_BEAT in module["ports"]) == bool(self.packet)

    def drive(
        self, module: Module, num_streams: int, rng: np.random.Generator
    ) -> Iterator[dict[str, Bits]]:
        """Give the values [stream, bit] of the input ports, cycle by cycle without end."""
        widths = {
            name: len(port["bits"])
            for name, port in module["ports"].items()
            if port["direction"] == "input" and name != "clk"
        }
        while True:
            beats = self._beats(widths.get(_BEAT, 0), num_streams, rng)
            for number in range(self.num_beats):
                inputs = {name: _draw(name, (num_streams, widths[name]), rng) for name in widths}
                if self.packet:
                    inputs[_BEAT] = beats[:, number]
                    inputs[_LAST] = np.full((num_streams, 1), number == self.num_beats - 1)
                yield inputs

    def _beats(self, beat_bits: int, num_streams: int, rng: np.random.Generator) -> Bits:
        """Draw a packet for each stream: its beats [stream, beat, bit]."""
        beats = np.zeros((num_streams, self.num_beats * beat_bits), bool)
        fields = [_draw(name, (num_streams, bits), rng) for name, bits in self.packet.items()]
        # Without presence bits a packet is shorter than the ports that the loader fills.
        vector = np.concatenate([beats[:, :0], *fields], axis=1)[:, : beats.shape[1]]
        beats[:, : vector.shape[1]] = vector
        return beats.reshape(num_streams, self.num_beats, beat_bits)


def design_traffic(interface: Interface) -> Traffic:
    """Say how vectors reach a design."""
    if interface.axi is None:
        return Traffic(latency=interface.latency)
    packet = {port.name: port.width for port in interface.inputs}
    return Traffic(interface.num_beats, interface.latency, packet)


def _draw(name: str, shape: tuple[int, int], rng: np.random.Generator) -> Bits:
    if name in _HELD:
        return np.full(shape, _HELD[name])
    if name == "in_trits":
        trits = rng.integers(-1, 2, (shape[0], shape[1] // TRIT_BITS))
        return pack_trits(trits).astype(bool)
    return rng.integers(0, 2, shape).astype(bool)
