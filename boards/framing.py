"""Frames in hardware: finding them in what a serial line brings, and making them."""

from collections.abc import Mapping

from amaranth.hdl import Module, Mux, Shape, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.crc import Processor
from amaranth.lib.crc.catalog import CRC32_ISO_HDLC
from amaranth.lib.wiring import In, Out

from trilut.boards.protocol import CRC_BYTES, ESCAPE, FLAG, FLIP, HEADER_BYTES, Rejection

__all__ = ["FrameReceiver", "FrameTransmitter", "SerialCrc"]


class SerialCrc(wiring.Component):
    """CRC-32, one bit a cycle, which takes a third of the logic of one byte a cycle.

    A byte is taken at once and worked off in the eight cycles after it, in which ``busy`` is high
    and no other may come. Reset does what ``start`` does.

    Members
    -------
    start : :py:`In(1)`
        Begin anew; not while busy.
    data, valid : :py:`In(8)`, :py:`In(1)`
        A byte.
    busy : :py:`Out(1)`
        A byte is being worked off.
    crc : :py:`Out(32)`
        The checksum of the bytes up to now.
    is_match : :py:`Out(1)`
        The last four bytes are the checksum of those before them.
    """

    start: In(1)
    data: In(8)
    valid: In(1)
    busy: Out(1)
    crc: Out(32)
    is_match: Out(1)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.bits = bits = Processor(CRC32_ISO_HDLC(data_width=1))
        waiting = Signal(8)
        num_waiting = Signal(range(9))
        m.d.comb += [
            self.busy.eq(num_waiting != 0),
            bits.start.eq(self.start),
            bits.data.eq(waiting[0]),
            bits.valid.eq(self.busy),
            self.crc.eq(bits.crc),
            self.is_match.eq(bits.match_detected),
        ]
        with m.If(self.valid):
            m.d.sync += [waiting.eq(self.data), num_waiting.eq(8)]
        with m.Elif(self.busy):
            m.d.sync += [waiting.eq(waiting >> 1), num_waiting.eq(num_waiting - 1)]
        return m


class FrameReceiver(wiring.Component):
    """Requests from the bytes of a line, by the rules of :class:`FrameReader`.

    Nothing is stored but the header: bytes of the payload leave as they come, one cycle each, long
    before it is known whether the frame is whole. Bytes must come ten cycles apart or more.
    ``end`` is high for one cycle when a frame has ended, one cycle after the byte that ended it;
    ``rejection`` then says what is wrong with it, 0 if nothing is. A frame also ends, as truncated,
    when no byte has come for ``timeout`` cycles. There is no back-pressure, as a line cannot wait.
    Reset forgets the frame that is under way.

    Parameters
    ----------
    lengths : mapping
        Bytes of the payload of each kind of request.
    timeout : int
        Clock cycles after which an unfinished frame is given up.

    Members
    -------
    data, valid, error
        Bytes, as :class:`~trilut.boards.uart.UartReceiver` gives them.
    kind, sequence : :py:`Out(8)`
        The header of the frame, from its first payload byte to ``end``.
    start : :py:`Out(1)`
        High for one cycle when a header is complete.
    payload, payload_valid : :py:`Out(8)`, :py:`Out(1)`
        A byte of the payload, for one cycle. Never more than the kind has.
    end, rejection : :py:`Out(1)`, :py:`Out(Rejection)`
        A frame has ended.
    is_noise : :py:`Out(1)`
        At ``end``: the frame is too short for a header and a checksum.
    """

    data: In(8)
    valid: In(1)
    error: In(1)
    kind: Out(8)
    sequence: Out(8)
    start: Out(1)
    payload: Out(8)
    payload_valid: Out(1)
    end: Out(1)
    rejection: Out(Shape.cast(Rejection))
    is_noise: Out(1)

    def __init__(self, lengths: Mapping[int, int], *, timeout: int):
        self.lengths = dict(lengths)
        self.timeout = timeout
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.crc = crc = SerialCrc()
        shortest = HEADER_BYTES + CRC_BYTES
        limit = shortest + max(self.lengths.values()) + 1

        count = Signal(range(limit + 1))
        escaped = Signal()
        malformed = Signal()
        under_way = Signal()
        timer = Signal(range(self.timeout + 1))
        size = Signal(range(limit + 1))
        is_known = Signal()
        with m.Switch(self.kind):
            for kind, length in self.lengths.items():
                with m.Case(kind):
                    m.d.comb += [size.eq(shortest + length), is_known.eq(1)]

        flag = Signal()
        timed_out = Signal()
        # Flag and timeout end a frame one cycle later, when the checksum has seen the last byte.
        ended_by_flag = Signal()
        ended_by_timeout = Signal()
        m.d.comb += [
            under_way.eq((count != 0) | escaped | malformed),
            flag.eq(self.valid & (self.data == FLAG)),
            timed_out.eq(under_way & (timer == self.timeout)),
            self.end.eq(ended_by_flag | ended_by_timeout),
            self.is_noise.eq(count < shortest),
        ]
        m.d.sync += [
            ended_by_flag.eq(flag & under_way),
            ended_by_timeout.eq(timed_out & ~self.end & ~self.valid & ~self.error),
        ]
        with m.If(self.valid | self.error | ~under_way):
            m.d.sync += timer.eq(0)
        with m.Elif(~timed_out):
            m.d.sync += timer.eq(timer + 1)

        decoded = Signal(8)
        take = Signal()
        m.d.comb += [
            decoded.eq(self.data ^ Mux(escaped, FLIP, 0)),
            take.eq(self.valid & ~flag & ((self.data != ESCAPE) | escaped)),
            crc.data.eq(decoded),
            crc.valid.eq(take),
            crc.start.eq(self.end),
            self.payload.eq(decoded),
            self.payload_valid.eq(
                take & is_known & (count >= HEADER_BYTES) & (count < size - CRC_BYTES)
            ),
            self.start.eq(take & (count == 1)),
        ]
        with m.If(self.valid & ~flag):
            m.d.sync += escaped.eq(~take)
        with m.If(take):
            with m.If(count != limit):
                m.d.sync += count.eq(count + 1)
            with m.If(count == 0):
                m.d.sync += self.kind.eq(decoded)
            with m.If(count == 1):
                m.d.sync += self.sequence.eq(decoded)
        with m.If(self.error | (flag & escaped)):
            m.d.sync += malformed.eq(1)
        with m.If(self.end):
            m.d.sync += [count.eq(0), escaped.eq(0), malformed.eq(0)]

        with m.If(malformed & ~ended_by_timeout):
            m.d.comb += self.rejection.eq(Rejection.MALFORMED)
        with m.Elif(self.is_noise | ended_by_timeout):
            m.d.comb += self.rejection.eq(Rejection.TRUNCATED)
        with m.Elif(~is_known):
            intact = crc.is_match & (count != limit)
            m.d.comb += self.rejection.eq(Mux(intact, Rejection.KIND, Rejection.CHECKSUM))
        with m.Elif(count != size):
            m.d.comb += self.rejection.eq(
                Mux(count < size, Rejection.TRUNCATED, Rejection.OVERSIZED)
            )
        with m.Elif(~crc.is_match):
            m.d.comb += self.rejection.eq(Rejection.CHECKSUM)
        return m


class FrameTransmitter(wiring.Component):
    """A frame from words of 16 bits, lowest byte first, with its checksum.

    ``index`` asks for a word, and ``word`` must answer in the same cycle; it is taken once, so it
    may change afterwards. The first word holds the header. A byte leaves every ten cycles at most.
    A frame begins when ``start`` is high while ``busy`` is low; ``num_words`` must hold until it
    is out. Reset drops the rest of the frame.

    Parameters
    ----------
    max_words : int
        The most words that a frame has.

    Members
    -------
    start, num_words : :py:`In(1)`, :py:`In(range(max_words + 1))`
        Begin a frame of so many words, at least one.
    busy : :py:`Out(1)`
        A frame is being sent.
    index, word : :py:`Out(range(max_words))`, :py:`In(16)`
        The word to send next.
    o : :py:`Out(stream.Signature(8))`
        The bytes.
    """

    def __init__(self, max_words: int):
        self.max_words = max_words
        super().__init__(
            {
                "start": In(1),
                "num_words": In(range(max_words + 1)),
                "busy": Out(1),
                # Two more for the checksum.
                "index": Out(range(max_words + 2)),
                "word": In(16),
                "o": Out(stream.Signature(8)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.crc = crc = SerialCrc()
        word = Signal(16)
        is_high = Signal()
        escaped = Signal()
        byte = Signal(8)
        is_special = Signal()
        in_checksum = Signal()
        taken = Signal()
        m.d.comb += [
            taken.eq(self.o.valid & self.o.ready),
            in_checksum.eq(self.index >= self.num_words),
            byte.eq(word.word_select(is_high, 8)),
            is_special.eq((byte == FLAG) | (byte == ESCAPE)),
            crc.data.eq(byte),
            self.busy.eq(1),
        ]
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += [self.busy.eq(0), crc.start.eq(1)]
                m.d.sync += self.index.eq(0)
                with m.If(self.start):
                    m.next = "OPEN"
            with m.State("OPEN"):
                m.d.comb += [self.o.payload.eq(FLAG), self.o.valid.eq(1)]
                with m.If(self.o.ready):
                    m.next = "FETCH"
            with m.State("FETCH"):
                half = crc.crc.word_select(self.index != self.num_words, 16)
                with m.If(~crc.busy):
                    m.d.sync += [word.eq(Mux(in_checksum, half, self.word)), is_high.eq(0)]
                    m.next = "SEND"
            with m.State("SEND"):
                m.d.comb += self.o.valid.eq(~crc.busy)
                with m.If(is_special & ~escaped):
                    m.d.comb += self.o.payload.eq(ESCAPE)
                    m.d.sync += escaped.eq(taken)
                with m.Else():
                    m.d.comb += self.o.payload.eq(byte ^ Mux(escaped, FLIP, 0))
                    with m.If(taken):
                        m.d.comb += crc.valid.eq(~in_checksum)
                        m.d.sync += [escaped.eq(0), is_high.eq(1)]
                        with m.If(is_high):
                            m.d.sync += self.index.eq(self.index + 1)
                            m.next = "FETCH"
                            with m.If(self.index == self.num_words + 1):
                                m.next = "CLOSE"
            with m.State("CLOSE"):
                m.d.comb += [self.o.payload.eq(FLAG), self.o.valid.eq(1)]
                with m.If(self.o.ready):
                    m.next = "IDLE"
        return m
