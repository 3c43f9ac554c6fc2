# amaranth: UnusedElaboratable=no
# A component may be made only to ask for its latency.
"""AXI4-Stream at both ends, with wide vectors sent over several beats."""

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from trilut.hdl.classifier import Classifier, InputKind

__all__ = ["MAX_BEAT_BITS", "AxiClassifier", "BeatLoader", "payload_ports"]

MAX_BEAT_BITS = 1024
"""The widest beats: other cores have no wider ones either."""


class BeatLoader(wiring.Component):
    """Collects the beats of a vector, lowest bits first.

    A vector is a packet of exactly ``num_beats`` beats, the last one marked. A packet of another
    length is dropped as a whole and raises ``framing_error`` for one cycle at its end, so that the
    next packet is whole again. The last beat's unused upper bits are ignored. One beat is taken per
    cycle, also while the vector before it waits for its last cycle in the register.

    Parameters
    ----------
    width : int
        Bits of a vector.
    beat_bits : int
        Bits of a beat.

    Members
    -------
    beat, last : :py:`In(beat_bits)`, :py:`In(1)`
        A beat, and whether it ends a packet.
    beat_valid, beat_ready : :py:`In(1)`, :py:`Out(1)`
        Handshake of the beats.
    vector : :py:`Out(width)`
        A whole vector.
    vector_valid, vector_ready : :py:`Out(1)`, :py:`In(1)`
        Handshake of the vectors.
    framing_error : :py:`Out(1)`
        A packet of a wrong length has just ended.
    """

    def __init__(self, width: int, beat_bits: int):
        if width < 1 or beat_bits < 1:
            raise ValueError(f"A vector of {width} bits cannot be sent in beats of {beat_bits}")
        self.num_beats = -(-width // beat_bits)
        super().__init__(
            {
                "beat": In(beat_bits),
                "last": In(1),
                "beat_valid": In(1),
                "beat_ready": Out(1),
                "vector": Out(width),
                "vector_valid": Out(1),
                "vector_ready": In(1),
                "framing_error": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count = Signal(range(self.num_beats + 1))
        is_final = count == self.num_beats - 1
        beat_bits = len(self.beat)
        register = Signal(self.num_beats * beat_bits, reset_less=True)
        full = Signal()
        error = Signal()
        m.d.comb += [
            self.vector.eq(register),
            self.vector_valid.eq(full),
            self.beat_ready.eq(~full | self.vector_ready),
            self.framing_error.eq(error),
        ]
        m.d.sync += error.eq(0)
        with m.If(self.vector_ready):
            m.d.sync += full.eq(0)
        with m.If(self.beat_valid & self.beat_ready):
            # Beats shift in from the top, so that after all of them the first is lowest.
            m.d.sync += register.eq(Cat(register, self.beat)[beat_bits:])
            with m.If(self.last):
                m.d.sync += [count.eq(0), full.eq(is_final), error.eq(~is_final)]
            # One past the last beat means too long, and stays so until the packet ends.
            with m.Elif(count != self.num_beats):
                m.d.sync += count.eq(count + 1)
        return m


class AxiClassifier(wiring.Component):
    """A :class:`Classifier` between AXI4-Streams.

    An input packet is one vector: the ``in_`` ports of the classifier, the first one in the lowest
    bits (features and then the presence bits, or trits), cut into beats, lowest bits first. A
    result is one beat: the ``out_`` ports, each padded to whole bytes, the first one in the lowest
    byte (class, margin, unknown and scores, or trits), with ``tlast`` high.

    The latency from the last beat of a packet to its result is one cycle more than the
    classifier's, which needs no register at its input: the loader holds a vector until it is taken.

    Parameters
    ----------
    classifier : Classifier
        The circuit.
    beat_bits : int
        Width of ``s_axis_tdata``, a multiple of 8 up to :data:`MAX_BEAT_BITS`.
    presence_bits : bool
        Whether packets say which features are there. If not, all of them always are.

    Attributes
    ----------
    packet, result : dict of str to range
        Where the ``in_`` ports lie in a packet, and the ``out_`` ports in a result.

    Members
    -------
    s_axis_tdata, s_axis_tvalid, s_axis_tready, s_axis_tlast
        Input packets.
    m_axis_tdata, m_axis_tvalid, m_axis_tready, m_axis_tlast
        Results.
    framing_error : :py:`Out(1)`
        A packet of a wrong length was dropped; see :class:`BeatLoader`.
    abstain_margin : :py:`In`
        The abstention margin, if the classifier has a port for it. No stream carries it: it counts
        for all results that are decided while it is there.
    """

    def __init__(self, classifier: Classifier, *, beat_bits: int = 32, presence_bits: bool = True):
        if beat_bits < 8 or beat_bits % 8:
            raise ValueError(f"Beats of an AXI stream are whole bytes, not {beat_bits} bits")
        if beat_bits > MAX_BEAT_BITS:
            raise ValueError(
                f"Beats of an AXI stream have up to {MAX_BEAT_BITS} bits, not {beat_bits}"
            )
        self.classifier = classifier
        self.presence_bits = presence_bits
        inputs, outputs = (payload_ports(classifier, side) for side in ("in_", "out_"))
        if not presence_bits:
            inputs.pop("in_present", None)
        self._inputs = inputs.values()
        self._outputs = outputs.values()
        self.packet = _places(inputs)
        self.result = _places(outputs, alignment=8)
        self._loader = BeatLoader(sum(map(len, self._inputs)), beat_bits)
        self.num_beats = self._loader.num_beats
        self.latency = classifier.latency + 1
        result_bits = sum(_whole_bytes(port) for port in self._outputs)
        super().__init__(
            {
                "s_axis_tdata": In(beat_bits),
                "s_axis_tvalid": In(1),
                "s_axis_tready": Out(1),
                "s_axis_tlast": In(1),
                "m_axis_tdata": Out(result_bits),
                "m_axis_tvalid": Out(1),
                "m_axis_tready": In(1),
                "m_axis_tlast": Out(1),
                "framing_error": Out(1),
                **classifier.margin_members,
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.loader = loader = self._loader
        m.submodules.classifier = core = self.classifier
        m.d.comb += [
            loader.beat.eq(self.s_axis_tdata),
            loader.last.eq(self.s_axis_tlast),
            loader.beat_valid.eq(self.s_axis_tvalid),
            self.s_axis_tready.eq(loader.beat_ready),
            self.framing_error.eq(loader.framing_error),
            Cat(self._inputs).eq(loader.vector),
            core.in_valid.eq(loader.vector_valid),
            loader.vector_ready.eq(core.in_ready),
            self.m_axis_tdata.eq(Cat(_padded(port) for port in self._outputs)),
            self.m_axis_tvalid.eq(core.out_valid),
            self.m_axis_tlast.eq(1),
            core.out_ready.eq(self.m_axis_tready),
            *(getattr(core, name).eq(getattr(self, name)) for name in core.margin_members),
        ]
        if not self.presence_bits and core.input_kind is InputKind.FEATURES:
            m.d.comb += core.in_present.eq(~0)
        return m


def payload_ports(classifier: Classifier, prefix: str) -> dict[str, Any]:
    """Return the ports of one side without the handshake, as plain values."""
    return {
        name: Value.cast(getattr(classifier, name))
        for name in classifier.signature.members
        if name.startswith(prefix) and not name.endswith(("_valid", "_ready"))
    }


def _places(ports: Mapping[str, Any], *, alignment: int = 1) -> dict[str, range]:
    """Return the bits of ports that stand side by side, each from a multiple of the alignment."""
    places = {}
    first = 0
    for name, port in ports.items():
        places[name] = range(first, first + len(port))
        first += len(port) + -len(port) % alignment
    return places


def _whole_bytes(port: Any) -> int:
    return -(-len(port) // 8) * 8


def _padded(port: Any) -> Any:
    return Cat(port, Const(0, _whole_bytes(port) - len(port)))
