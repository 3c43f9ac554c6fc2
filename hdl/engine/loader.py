"""The loader: it takes a model in byte by byte, and refuses all but a whole one that fits."""

from enum import IntEnum

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from trilut.engine.image import HEADER_BYTES, MAGIC, VERSION
from trilut.hdl.engine.program import WORD_BITS
from trilut.hdl.engine.size import EngineSize

__all__ = ["LoadState", "Loader"]

_POLYNOMIAL = 0xEDB88320
# What the register holds after a content and its own checksum, before the last inversion.
_RESIDUE = 0xDEBB20E3


class LoadState(IntEnum):
    """How the last loading ended, or that it goes on."""

    NONE = 0
    LOADING = 1
    LOADED = 2
    """Loaded; it serves as soon as the samples under way are answered."""
    NOT_A_MODEL = 3
    WRONG_VERSION = 4
    TOO_LARGE = 5
    """It does not fit this engine."""
    WRONG_CHECKSUM = 6


class Loader(wiring.Component):
    """Bytes to instructions.

    A model is everything up to the first checksum of its file. A byte takes nine cycles. The
    program goes where the model in use is not, so what is refused, or given up by another
    ``start``, leaves that as it is. A model that does not fit beside it is refused.

    Members
    -------
    start : :py:`In(1)`
        A model begins; what has come of another one is forgotten.
    data, valid, ready : :py:`In(8)`, :py:`In(1)`, :py:`Out(1)`
        Its bytes.
    taken : :py:`In(1)`
        The model that is ``done`` is in use from now on.
    begin, write, word : :py:`Out`
        A program begins; its next instruction.
    done : :py:`Out(1)`
        A whole model is there and waits.
    num_classes, abstain_margin, digest : :py:`Out`
        What it says of itself; ``digest`` has its first four bytes.
    state : :py:`Out(3)`
        A :class:`LoadState`.
    """

    def __init__(self, size: EngineSize):
        self.size = size
        super().__init__(
            {
                "start": In(1),
                "data": In(8),
                "valid": In(1),
                "ready": Out(1),
                "taken": In(1),
                "begin": Out(1),
                "write": Out(1),
                "word": Out(WORD_BITS),
                "done": Out(1),
                "num_classes": Out(range(size.classes + 1)),
                "abstain_margin": Out(size.score_bits),
                "digest": Out(32),
                "state": Out(3),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        size = self.size
        checksum, bits, bit = Signal(32, init=0xFFFFFFFF), Signal(8), Signal(4)
        # Bytes of the word at hand, words of the part at hand, and the last instruction.
        byte = Signal(3)
        number, last = (Signal(range(size.instructions), name=name) for name in ("number", "last"))
        is_header, is_checksum = Signal(init=1), Signal()
        # Instructions that fit beside the model in use.
        self._room = Signal(range(size.instructions + 1), init=size.instructions)
        loading = self.state == LoadState.LOADING
        m.d.comb += self.ready.eq(loading & (bit == 0) & ~self.start)
        with m.If(bit != 0):
            fed = checksum[0] ^ bits[0]
            m.d.sync += [
                checksum.eq((checksum >> 1) ^ Mux(fed, _POLYNOMIAL, 0)),
                bits.eq(bits >> 1),
                bit.eq(bit - 1),
            ]
        ended = Signal()
        m.d.sync += ended.eq(0)
        with m.If(self.ready & self.valid):
            m.d.sync += [
                self.word.eq(Cat(self.word, self.data)[8:]),
                byte.eq(byte + 1),
                bits.eq(self.data),
                bit.eq(8),
                ended.eq(Mux(is_checksum, byte == 3, byte == 7)),
            ]
        with m.If(ended & loading):
            m.d.sync += number.eq(number + 1)
            with m.If(is_header):
                self._read_header(m, number, last)
                with m.If(number == HEADER_BYTES // 8 - 1):
                    m.d.sync += [is_header.eq(0), number.eq(0)]
            with m.Elif(~is_checksum):
                m.d.comb += self.write.eq(1)
                with m.If(number == last):
                    m.d.sync += is_checksum.eq(1)
        # The last bits of the checksum are fed eight cycles after its last byte.
        waiting = Signal()
        with m.If(ended & is_checksum):
            m.d.sync += waiting.eq(1)
        with m.If(waiting & (bit == 0) & loading):
            m.d.sync += waiting.eq(0)
            with m.If(checksum == _RESIDUE):
                m.d.sync += [self.done.eq(1), self.state.eq(LoadState.LOADED)]
            with m.Else():
                m.d.sync += self.state.eq(LoadState.WRONG_CHECKSUM)
        with m.If(self.taken):
            m.d.sync += [self.done.eq(0), self._room.eq(size.instructions - 1 - last)]
        # What is whole is taken before another one begins.
        wanted = Signal()
        with m.If(self.start):
            m.d.sync += wanted.eq(1)
        m.d.comb += self.begin.eq((self.start | wanted) & ~self.done)
        with m.If(self.begin):
            m.d.sync += [
                wanted.eq(0),
                checksum.eq(0xFFFFFFFF),
                *(signal.eq(0) for signal in (bit, byte, number, is_checksum, waiting, ended)),
                is_header.eq(1),
                self.state.eq(LoadState.LOADING),
            ]
        return m

    def _read_header(self, m: Module, number: Signal, last: Signal) -> None:
        """Take in a word of the header, and refuse what does not fit."""
        size, word = self.size, self.word
        magic = Const(int.from_bytes(MAGIC, "little"), 32)
        with m.Switch(number):
            with m.Case(0):
                with m.If(word[:32] != magic):
                    m.d.sync += self.state.eq(LoadState.NOT_A_MODEL)
                with m.Elif(word[32:48] != VERSION):
                    m.d.sync += self.state.eq(LoadState.WRONG_VERSION)
                with m.Elif((word[48:56] != size.lanes) | (word[56:64] > size.value_bits)):
                    m.d.sync += self.state.eq(LoadState.TOO_LARGE)
            with m.Case(1):
                m.d.sync += last.eq(word[32:] - 1)
                too_long = (word[32:] > self._room) | (word[32:] == 0)
                with m.If((word[16:32] > size.entries) | too_long):
                    m.d.sync += self.state.eq(LoadState.TOO_LARGE)
            with m.Case(2):
                m.d.sync += [self.num_classes.eq(word[:16]), self.abstain_margin.eq(word[32:48])]
                with m.If(word[32:48] >> size.score_bits != 0):
                    m.d.sync += self.abstain_margin.eq((1 << size.score_bits) - 1)
                few = (word[:16] < 2) | (word[:16] > size.classes)
                with m.If(few | (word[16:24] > size.score_bits)):
                    m.d.sync += self.state.eq(LoadState.TOO_LARGE)
            with m.Case(3):
                m.d.sync += self.digest.eq(word[:32])
