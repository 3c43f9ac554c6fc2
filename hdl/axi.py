# amaranth: UnusedElaboratable=no
# A component may be made only to ask for its latency.
"""AXI4-Stream at both ends, with wide vectors sent over several beats."""

import dataclasses
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from trilut.circuit.interface import Axi
from trilut.hdl.classifier import Classifier

__all__ = ["AxiClassifier", "BeatLoader"]


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
            # One past the last beat means too long, and stays so until the packet ends. An Elif
            # would have Yosys write an undefined value for when nothing is to be counted.
            m.d.sync += count.eq(Mux(self.last, 0, count + (count != self.num_beats)))
            with m.If(self.last):
                m.d.sync += [full.eq(is_final), error.eq(~is_final)]
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
        The circuit. Its options say how wide a beat of ``s_axis_tdata`` is, and whether packets say
        which features are there; if not, all of them always are.

    Attributes
    ----------
    interface : Interface
        Its ports, and where those of the classifier lie in a packet and in a result.

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

    def __init__(self, classifier: Classifier):
        beat_bits = classifier.options.axi_beat_bits
        if beat_bits is None:
            raise ValueError("The options of the classifier have no beats of an AXI stream")
        self.classifier = classifier
        self.latency = classifier.latency + 1
        self.interface = dataclasses.replace(
            classifier.interface,
            latency=self.latency,
            axi=Axi(beat_bits, classifier.options.presence_bits),
        )
        self._loader = BeatLoader(sum(map(len, self.interface.packet.values())), beat_bits)
        self.num_beats = self._loader.num_beats
        super().__init__(
            {
                "s_axis_tdata": In(beat_bits),
                "s_axis_tvalid": In(1),
                "s_axis_tready": Out(1),
                "s_axis_tlast": In(1),
                "m_axis_tdata": Out(self.interface.result_bits),
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
        inputs = [Value.cast(getattr(core, name)) for name in self.interface.packet]
        outputs = [Value.cast(getattr(core, name)) for name in self.interface.result]
        m.d.comb += [
            loader.beat.eq(self.s_axis_tdata),
            loader.last.eq(self.s_axis_tlast),
            loader.beat_valid.eq(self.s_axis_tvalid),
            self.s_axis_tready.eq(loader.beat_ready),
            self.framing_error.eq(loader.framing_error),
            Cat(inputs).eq(loader.vector),
            core.in_valid.eq(loader.vector_valid),
            loader.vector_ready.eq(core.in_ready),
            self.m_axis_tdata.eq(Cat(_padded(port) for port in outputs)),
            self.m_axis_tvalid.eq(core.out_valid),
            self.m_axis_tlast.eq(1),
            core.out_ready.eq(self.m_axis_tready),
            *(getattr(core, name).eq(getattr(self, name)) for name in core.margin_members),
        ]
        if hasattr(core, "in_present") and "in_present" not in self.interface.packet:
            m.d.comb += core.in_present.eq(~0)
        return m


def _padded(port: Any) -> Any:
    """Return a port with zeros up to a whole number of bytes."""
    return Cat(port, Const(0, -len(port) % 8))
