# amaranth: UnusedElaboratable=no
# A design may be made only to ask whether it fits the line.
"""The design on a board: a serial link, a classifier between, and a self-test at the start."""

import struct
from collections.abc import Callable, Collection
from typing import Any

import numpy as np
from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from trilut.boards.framing import FrameReceiver, FrameTransmitter
from trilut.boards.loader import VectorLoader
from trilut.boards.protocol import (
    ANSWER_BYTES,
    FLAG,
    HEADER_BYTES,
    VERSION,
    Identity,
    Kind,
    Rejection,
    payload_bytes,
    payloads,
    result_bytes,
    value_bytes,
)
from trilut.boards.selftest import SelfTest, self_test_vectors
from trilut.boards.uart import MIN_CYCLES_PER_BIT, UartReceiver, UartTransmitter
from trilut.circuit.format import digest
from trilut.circuit.interface import HeadOutput, InputKind
from trilut.circuit.netlist import Netlist
from trilut.circuit.optimize import optimize
from trilut.errors import NetlistError, TrilutError
from trilut.hdl import HardwareOptions
from trilut.hdl.classifier import Classifier
from trilut.hdl.plan import LayerPlan

__all__ = ["BoardDesign"]

# How far the speed of the line may be off; at 5 % the last bit of a byte would be missed.
_BAUD_TOLERANCE = 0.02
_BITS_PER_BYTE = 10
# What a host needs at most between two bytes of a frame, with the operating system in between.
_TIMEOUT_SECONDS = 0.1
_WORD_BITS = 16


class BoardDesign(wiring.Component):
    """A netlist behind a serial line.

    The line and its frames are specified in ``docs/boards.md``. One request is served at a time:
    when a vector's frame has ended and its checksum is right, the classifier runs once, and the
    answer begins as soon as its result is there. Every frame that is rejected is counted by the
    reason, and answered with it unless it is mere noise or an answer is being sent. Reset forgets
    everything. The self-test then takes a few cycles for each of its bytes and trits, and until it
    is over nothing is heard.

    Parameters
    ----------
    netlist : Netlist
        A circuit with an encoder and a head.
    clock_hz : float
        Frequency of the clock.
    baud : int
        Bits per second on the line.
    outputs : collection of HeadOutput
        What results have beside class, margin and abstention: what is certain, a prediction set.
    pipeline, target, layer_module
        As of :class:`~trilut.hdl.classifier.Classifier`.
    timeout : int, optional
        Clock cycles after which an unfinished frame is given up; a tenth of a second by default.

    Raises
    ------
    NetlistError
        If the netlist cannot stand behind a line.
    TrilutError
        If the clock is too slow for the line.

    Attributes
    ----------
    netlist, circuit : Netlist
        What was asked for, and what is built: the same, optimised.
    classifier : Classifier
        The circuit.
    cycles_per_bit : int
        Clock cycles of a bit on the line.
    self_tests : Decisions
        The answers that the self-test expects.

    Members
    -------
    rx, tx : :py:`In(1)`, :py:`Out(1)`
        The line.
    lights : :py:`Out`
        For LEDs, the most important first: the self-test passed; the last answer was UNKNOWN; the
        bits of the last class, lowest first.
    """

    def __init__(
        self,
        netlist: Netlist,
        *,
        clock_hz: float,
        baud: int,
        outputs: Collection[HeadOutput] = (),
        pipeline: int = 2,
        target: str = "generic",
        layer_module: Callable[[LayerPlan], str] | None = None,
        timeout: int | None = None,
    ):
        _check_netlist(netlist)
        assert netlist.encoder is not None
        assert netlist.head is not None
        self.netlist = netlist
        self.clock_hz = clock_hz
        self.cycles_per_bit = _cycles_per_bit(clock_hz, baud)
        options = HardwareOptions(
            pipeline=pipeline,
            input_kind=InputKind.TRITS,
            sums=target,
            certain=HeadOutput.CERTAIN in outputs,
            prediction_set=HeadOutput.SET in outputs,
        )
        options.check_head(netlist)
        self.outputs = options.head_outputs
        self.circuit = optimize(netlist).netlist
        self.classifier = Classifier(
            self.circuit,
            options,
            encoded=True,
            input_register=False,
            layer_module=layer_module,
        )
        _check_widths(self.classifier)
        inputs = set(range(netlist.num_inputs))
        read = {*self.circuit.sources.ravel().tolist(), *self.circuit.outputs.tolist()}
        self._loader = VectorLoader(netlist.encoder, sorted(inputs & read))
        self._check_speed(baud)
        self.timeout = timeout or int(clock_hz * _TIMEOUT_SECONDS)
        length = payload_bytes(netlist.encoder)
        vectors, self.self_tests = self_test_vectors(netlist, length, certain=options.certain)
        self._self_test = SelfTest(
            b"".join(payloads(netlist.encoder, vectors)),
            self._expected(),
            sum(port.width for port in self.classifier.interface.outputs),
        )
        self._lengths: dict[int, int] = {Kind.IDENTIFY: 0, Kind.STATUS: 0, Kind.CLASSIFY: length}
        super().__init__(
            {
                "rx": In(1, init=1),
                "tx": Out(1, init=1),
                "lights": Out(2 + len(self.classifier.out_class)),
            }
        )

    def _expected(self) -> list[int]:
        """Return the answers of the self-test as the classifier's outputs, class lowest."""
        ports = self.classifier.interface.pack_results(self.self_tests)
        rows = np.concatenate(list(ports.values()), axis=1).astype(int).tolist()
        return [sum(bit << place for place, bit in enumerate(row)) for row in rows]

    def _check_speed(self, baud: int) -> None:
        # A feature must be encoded before the next byte, and a result be there before the first
        # value of the next vector, which comes after a flag, the header and the presence bits.
        byte_cycles = _BITS_PER_BYTE * self.cycles_per_bit
        needed = max(self._loader.max_steps + 2, -(-self.classifier.latency // 3))
        if byte_cycles < needed:
            raise TrilutError(
                f"A byte at {baud} baud takes {byte_cycles} cycles of {self.clock_hz / 1e6:g} MHz, "
                f"but the circuit needs {needed}; choose a lower --baud"
            )

    def layers_verilog(self) -> str:
        """Return the Verilog of the modules that ``layer_module`` names."""
        return "\n".join(map(self.classifier.layer_text, self.classifier.plans))

    @property
    def identity(self) -> Identity:
        """What the board says it is."""
        assert self.netlist.encoder is not None
        assert self.netlist.head is not None
        return Identity(
            version=VERSION,
            num_features=len(self.netlist.encoder.features),
            value_bytes=value_bytes(self.netlist.encoder),
            num_classes=len(self.netlist.head.classes),
            clock_hz=round(self.clock_hz),
            digest=digest(self.netlist)[:16],
            outputs=self.outputs,
        )

    @property
    def _result_ports(self) -> list[Any]:
        """The ports of the classifier that make a result."""
        return [getattr(self.classifier, port.name) for port in self.classifier.interface.outputs]

    @property
    def _max_words(self) -> int:
        """Words of the longest answer, header included."""
        assert self.netlist.head is not None
        size = result_bytes(self.outputs, len(self.netlist.head.classes))
        return (HEADER_BYTES + max(*ANSWER_BYTES.values(), size)) // 2

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.uart_rx = line_in = UartReceiver(self.cycles_per_bit)
        m.submodules.uart_tx = line_out = UartTransmitter(self.cycles_per_bit)
        m.submodules.receiver = receiver = FrameReceiver(self._lengths, timeout=self.timeout)
        m.submodules.transmitter = transmitter = FrameTransmitter(self._max_words)
        m.submodules.loader = loader = self._loader
        m.submodules.classifier = core = self.classifier
        m.submodules.self_test = test = self._self_test
        wiring.connect(m, transmitter.o, line_out.i)
        # The first flag after the self-test is where listening begins: of the frame before it, the
        # board may have missed the beginning.
        in_step = Signal()
        with m.If(line_in.valid & (line_in.data == FLAG) & ~test.running):
            m.d.sync += in_step.eq(1)
        m.d.comb += [
            line_in.rx.eq(self.rx),
            self.tx.eq(line_out.tx),
            receiver.data.eq(line_in.data),
            receiver.valid.eq(line_in.valid & in_step),
            receiver.error.eq(line_in.error & in_step),
            loader.start.eq(Mux(test.running, test.start, receiver.start)),
            loader.i.payload.eq(Mux(test.running, test.o.payload, receiver.payload)),
            loader.i.valid.eq(Mux(test.running, test.o.valid, receiver.payload_valid)),
            test.o.ready.eq(loader.i.ready),
            test.loaded.eq(loader.done),
            core.in_trits.eq(loader.trits),
            core.out_ready.eq(1),
            test.answer_valid.eq(core.out_valid),
            test.answer.eq(Cat(self._result_ports)),
        ]
        self._serve(m, receiver, transmitter, core, test)
        return m

    def _judge(self, m: Module, receiver: Any, transmitter: Any) -> Any:
        """Return what is wrong with the request that ends now, and remember its number if nothing.

        The receiver has judged all but its place in the sequence.
        """
        rejection = Signal.like(receiver.rejection)
        last = Signal(8)
        is_synchronized = Signal()
        is_next = (receiver.sequence == last) | (receiver.sequence == (last + 1)[:8])
        with m.If(receiver.rejection != 0):
            m.d.comb += rejection.eq(receiver.rejection)
        with m.Elif(transmitter.busy):
            m.d.comb += rejection.eq(Rejection.BUSY)
        with m.Elif((receiver.kind != Kind.IDENTIFY) & ~(is_synchronized & is_next)):
            m.d.comb += rejection.eq(Rejection.SEQUENCE)
        with m.If(receiver.end & (rejection == 0)):
            m.d.sync += [last.eq(receiver.sequence), is_synchronized.eq(1)]
        return rejection

    def _classify(self, m: Module, start: Any, core: Any) -> tuple[Any, Any, list[Any]]:
        """Run the classifier; return when its result comes, the latency, and the last result."""
        waiting = Signal()
        is_result = Signal()
        latency = Signal(_WORD_BITS)
        ports = self._result_ports
        result = [Signal.like(port) for port in ports]
        m.d.comb += is_result.eq(waiting & core.out_valid)
        with m.If(start):
            m.d.sync += [waiting.eq(1), latency.eq(1)]
        with m.Elif(is_result):
            m.d.sync += [waiting.eq(0), Cat(result).eq(Cat(ports))]
        with m.Elif(waiting):
            m.d.sync += latency.eq(latency + 1)
        return is_result, latency, result

    def _serve(self, m: Module, receiver: Any, transmitter: Any, core: Any, test: Any) -> None:
        """Judge what the receiver brings, run the classifier, and answer."""
        rejection = self._judge(m, receiver, transmitter)
        classify = receiver.end & (rejection == 0) & (receiver.kind == Kind.CLASSIFY)
        m.d.comb += core.in_valid.eq(classify | test.run)
        is_result, latency, result = self._classify(m, classify, core)
        chosen, margin, unknown, *more = result
        named = dict(zip(self.outputs, more, strict=True))
        flags = Cat(unknown, named.get(HeadOutput.CERTAIN, Const(0, 1)))
        members = named.get(HeadOutput.SET, Const(0, 0))
        places = range(0, len(members), _WORD_BITS)
        m.d.comb += self.lights.eq(Cat(test.passed, unknown, chosen))

        answer = Signal(2)
        answered_rejection = Signal.like(receiver.rejection)
        answered_sequence = Signal(8)
        # An answer to noise could keep the next request from being heard.
        is_answered = receiver.end & ~receiver.is_noise & ~transmitter.busy
        m.d.comb += transmitter.start.eq(is_result | (is_answered & ~classify))
        with m.If(is_answered):
            m.d.sync += [
                answer.eq(Mux(rejection == 0, receiver.kind[:2], Kind.REJECTED & 3)),
                answered_rejection.eq(rejection),
                answered_sequence.eq(receiver.sequence),
            ]
        counters = self._counters(m, receiver.end, rejection)
        answers = {
            Kind.REJECTED: [answered_rejection],
            Kind.IDENTITY: list(struct.unpack("<10H", self.identity.pack())),
            Kind.STATE: [test.passed, latency, *counters],
            Kind.RESULT: [
                *(chosen, margin, flags),
                *(members[first : first + _WORD_BITS] for first in places),
            ],
        }
        with m.Switch(answer):
            for kind, words in answers.items():
                header = Cat(Const(kind, 8), answered_sequence)
                with m.Case(kind & 3):
                    m.d.comb += transmitter.num_words.eq(1 + len(words))
                    with m.Switch(transmitter.index):
                        for index, word in enumerate([header, *words]):
                            with m.Case(index):
                                m.d.comb += transmitter.word.eq(word)

    def _counters(self, m: Module, end: Any, rejection: Any) -> list[Any]:
        """Return counters of the frames that were accepted, and of those rejected by reason."""
        counters = [Signal(_WORD_BITS, name="frames")]
        counters += [
            Signal(_WORD_BITS, name=f"{kind.name.lower()}_rejections") for kind in Rejection
        ]
        with m.If(end), m.Switch(rejection):
            for number, counter in enumerate(counters):
                with m.Case(number):
                    m.d.sync += counter.eq(counter + 1)
        return counters


def _cycles_per_bit(clock_hz: float, baud: int) -> int:
    cycles = round(clock_hz / baud)
    if cycles < MIN_CYCLES_PER_BIT or abs(clock_hz / cycles / baud - 1) > _BAUD_TOLERANCE:
        raise TrilutError(
            f"A clock of {clock_hz / 1e6:g} MHz cannot make {baud} baud, expected a fraction of it "
            f"by {MIN_CYCLES_PER_BIT} or more, within {_BAUD_TOLERANCE:.0%}; choose another --baud"
        )
    return cycles


def _check_netlist(netlist: Netlist) -> None:
    for part, value in (("encoder", netlist.encoder), ("head", netlist.head)):
        if value is None:
            raise NetlistError(f"Netlist {netlist.name!r} has no {part}, which a board needs")
    assert netlist.encoder is not None
    num_features, most = len(netlist.encoder.features), (1 << _WORD_BITS) - 1
    if num_features > most:
        raise NetlistError(
            f"Netlist {netlist.name!r} has {num_features} features, but a board takes {most}"
        )


def _check_widths(classifier: Classifier) -> None:
    for name, port in (("class", classifier.out_class), ("margin", classifier.out_margin)):
        if len(port) > _WORD_BITS:
            raise NetlistError(
                f"The {name} of {classifier.netlist.name!r} takes {len(port)} bits, "
                f"but an answer has room for {_WORD_BITS}"
            )
