# amaranth: UnusedElaboratable=no
import functools
import random

import numpy as np
import pytest
from amaranth.hdl import Module
from amaranth.sim import Simulator
from boardlink import line_bits, random_vectors, small_net
from circuits import random_encoder
from hypothesis import given, settings
from hypothesis import strategies as st

from trilut import Encoder, Feature, FeatureVectors
from trilut.boards.design import BoardDesign
from trilut.boards.framing import FrameReceiver, FrameTransmitter
from trilut.boards.loader import VectorLoader
from trilut.boards.protocol import (
    ANSWER_BYTES,
    ESCAPE,
    FLAG,
    Frame,
    FrameReader,
    Kind,
    Rejection,
    Status,
    encode_frame,
    payloads,
)
from trilut.boards.uart import UartReceiver, UartTransmitter

LENGTHS = {1: 0, 2: 0, 3: 5}
TIMEOUT = 50


def simulate(component, *testbenches, background=()):
    simulator = Simulator(component)
    simulator.add_clock(1e-6)
    for testbench in testbenches:
        simulator.add_testbench(testbench)
    for testbench in background:
        simulator.add_testbench(testbench, background=True)
    simulator.run()


@pytest.mark.parametrize(
    ("cycles", "drift", "stride"), [(4, 0.0, 1), (5, 0.0, 3), (16, 0.02, 17), (16, -0.02, 17)]
)
def test_receiver_takes_every_byte(cycles, drift, stride):
    uart = UartReceiver(cycles)
    data = list(range(0, 256, stride))
    received = []

    async def drive(ctx):
        time = 0.0
        now = 0
        for byte in data:
            for bit in line_bits(byte):
                ctx.set(uart.rx, bit)
                time += cycles * (1 + drift)
                await ctx.tick().repeat(int(time) - now)
                now = int(time)
        await ctx.tick().repeat(2 * cycles)

    async def collect(ctx):
        async for *_, byte, valid, error in ctx.tick().sample(uart.data, uart.valid, uart.error):
            assert not error
            if valid:
                received.append(byte)

    simulate(uart, drive, background=[collect])
    assert received == data


def test_a_byte_without_a_stop_bit_is_an_error_and_the_next_is_whole():
    uart = UartReceiver(4)
    events = []

    async def drive(ctx):
        # A glitch, a byte without a stop bit, a line that stays low, and a whole byte.
        lengths = [(0, 1), (1, 8), *((bit, 4) for bit in line_bits(0x55)[:-1]), (0, 80), (1, 8)]
        for bit, length in [*lengths, *((bit, 4) for bit in line_bits(0xA3)), (1, 8)]:
            ctx.set(uart.rx, bit)
            await ctx.tick().repeat(length)

    async def collect(ctx):
        async for *_, data, valid, error in ctx.tick().sample(uart.data, uart.valid, uart.error):
            if valid or error:
                events.append(data if valid else "error")

    simulate(uart, drive, background=[collect])
    assert events == ["error", 0xA3]


@pytest.mark.parametrize("cycles", [4, 5])
def test_transmitter_and_receiver_agree(cycles):
    m = Module()
    m.submodules.tx = tx = UartTransmitter(cycles)
    m.submodules.rx = rx = UartReceiver(cycles)
    m.d.comb += rx.rx.eq(tx.tx)
    received = []

    async def drive(ctx):
        for byte in range(256):
            ctx.set(tx.i.payload, byte)
            ctx.set(tx.i.valid, 1)
            await ctx.tick().until(tx.i.ready)
        ctx.set(tx.i.valid, 0)
        await ctx.tick().repeat(12 * cycles)

    async def collect(ctx):
        async for *_, data, valid in ctx.tick().sample(rx.data, rx.valid):
            if valid:
                received.append(data)

    simulate(m, drive, background=[collect])
    assert received == list(range(256))


@pytest.mark.parametrize("component", [UartReceiver, UartTransmitter])
def test_a_bit_of_three_cycles(component):
    with pytest.raises(ValueError, match=r"^A bit takes at least 4 clock cycles, not 3$"):
        component(3)


# Pieces of a stream: whole frames, frames with a piece cut out, noise, silence.
_FRAMES = st.builds(
    encode_frame,
    st.sampled_from([1, 2, 3, 9]),
    st.integers(0, 255),
    st.one_of(st.just(b""), st.binary(min_size=4, max_size=6), st.just(b"\x7e\x7d\x7e\x7d\x5e")),
)
_CUT = st.builds(
    lambda frame, start, length: frame[:start] + frame[start + length :],
    _FRAMES,
    st.integers(0, 15),
    st.integers(1, 3),
)
_NOISE = st.lists(st.sampled_from([0, 1, 3, 0x5E, ESCAPE, FLAG, 255]), max_size=20).map(bytes)
_PIECES = st.lists(st.one_of(_FRAMES, _CUT, _NOISE, st.none()), max_size=12)


class HardwareReader:
    """A receiver in the simulator, built once, because that takes longer than many streams."""

    def __init__(self):
        self.receiver = FrameReceiver(LENGTHS, timeout=TIMEOUT)
        self.simulator = Simulator(self.receiver)
        self.simulator.add_clock(1e-6)
        self.simulator.add_testbench(self.drive)
        self.simulator.add_testbench(self.collect, background=True)
        self.found = None

    def read(self, pieces):
        self.pieces = pieces
        if self.found is not None:
            self.simulator.reset()
        self.found = []
        self.simulator.run()
        return self.found

    async def drive(self, ctx):
        receiver = self.receiver
        for piece in self.pieces:
            for byte in piece or b"":
                ctx.set(receiver.data, byte)
                ctx.set(receiver.valid, 1)
                await ctx.tick()
                ctx.set(receiver.valid, 0)
                await ctx.tick().repeat(9)
            if piece is None:
                await ctx.tick().repeat(TIMEOUT + 3)
        await ctx.tick().repeat(2)

    async def collect(self, ctx):
        receiver = self.receiver
        payload = bytearray()
        signals = (receiver.end, receiver.rejection, receiver.kind, receiver.sequence)
        data = (receiver.start, receiver.payload, receiver.payload_valid)
        async for *_, end, rejection, kind, sequence, start, byte, valid in ctx.tick().sample(
            *signals, *data
        ):
            if start:
                payload.clear()
            if valid:
                payload.append(byte)
            if end:
                found = Rejection(rejection) if rejection else Frame(kind, sequence, bytes(payload))
                self.found.append(found)


@functools.cache
def hardware_reader():
    return HardwareReader()


@settings(max_examples=40, deadline=None)
@given(_PIECES)
def test_hardware_reads_what_the_reader_reads(pieces):
    reader = FrameReader(LENGTHS)
    expected = []
    for piece in pieces:
        expected += reader.give_up() if piece is None else reader.feed(piece)
    assert hardware_reader().read(pieces) == expected


def test_a_line_error_spoils_one_frame():
    receiver = FrameReceiver(LENGTHS, timeout=TIMEOUT)
    rejections = []

    async def drive(ctx):
        for number in range(3):
            for position, byte in enumerate(encode_frame(1, number)):
                broken = number == 1 and position == 3
                ctx.set(receiver.data, byte)
                ctx.set(receiver.valid, not broken)
                ctx.set(receiver.error, broken)
                await ctx.tick()
                ctx.set(receiver.valid, 0)
                ctx.set(receiver.error, 0)
                await ctx.tick().repeat(9)

    async def collect(ctx):
        async for *_, end, rejection in ctx.tick().sample(receiver.end, receiver.rejection):
            if end:
                rejections.append(rejection)

    simulate(receiver, drive, background=[collect])
    assert rejections == [0, Rejection.MALFORMED, 0]


@settings(max_examples=8, deadline=None)
@given(
    st.lists(st.sampled_from([0, 0x7E7E, 0x7D7D, 0x7E00, 0x1234, 0x5E7D]), min_size=1, max_size=6),
    st.integers(0, 1000),
)
def test_transmitted_frames_are_read_back(words, seed):
    transmitter = FrameTransmitter(6)
    chance = random.Random(seed)
    sent = bytearray()

    async def drive(ctx):
        for _ in range(2):
            ctx.set(transmitter.num_words, len(words))
            ctx.set(transmitter.start, 1)
            await ctx.tick()
            ctx.set(transmitter.start, 0)
            while ctx.get(transmitter.busy):
                index = ctx.get(transmitter.index)
                ctx.set(transmitter.word, words[index] if index < len(words) else 0)
                await ctx.tick()

    async def collect(ctx):
        held = None
        while True:
            ready = chance.random() < 0.5
            ctx.set(transmitter.o.ready, ready)
            *_, valid, byte = await ctx.tick().sample(transmitter.o.valid, transmitter.o.payload)
            # A byte that waits must not change.
            assert held is None or (valid and byte == held)
            held = byte if valid and not ready else None
            if valid and ready:
                sent.append(byte)

    simulate(transmitter, drive, background=[collect])
    data = b"".join(word.to_bytes(2, "little") for word in words)
    frame = Frame(data[0], data[1], data[2:])
    assert FrameReader({data[0]: len(data) - 2}).feed(bytes(sent)) == [frame, frame]


def loaded_trits(encoder, vectors, used, gap):
    loader = VectorLoader(encoder, used)
    rows = []

    async def drive(ctx):
        for payload in payloads(encoder, vectors):
            ctx.set(loader.start, 1)
            await ctx.tick()
            ctx.set(loader.start, 0)
            for byte in payload:
                for _ in range(gap):
                    await ctx.tick()
                ctx.set(loader.i.payload, byte)
                ctx.set(loader.i.valid, 1)
                await ctx.tick().until(loader.i.ready)
                ctx.set(loader.i.valid, 0)
            await ctx.tick().repeat(loader.max_steps + 1)
            assert ctx.get(loader.done)
            code = ctx.get(loader.trits.as_value())
            rows.append(
                [(code >> 2 * t + 1 & 1) - (code >> 2 * t & 1) for t in range(encoder.num_trits)]
            )

    simulate(loader, drive)
    return np.array(rows)


@pytest.mark.parametrize("signed", [False, True])
def test_loader_agrees_on_every_value_and_threshold(signed):
    feature = Feature("x", 3, signed=signed)
    steps = range(feature.minimum - 1, feature.maximum + 3)
    pairs = [(low, high) for low in steps for high in steps if low <= high]
    low, high = np.array(pairs).T
    encoder = Encoder((feature,), np.zeros(len(pairs), np.int64), low, high)
    values = np.arange(feature.minimum, feature.maximum + 1)[:, None]
    vectors = FeatureVectors.concatenate(
        [
            FeatureVectors(values, np.ones_like(values, dtype=bool)),
            FeatureVectors(np.zeros((1, 1), np.int64), np.zeros((1, 1), dtype=bool)),
        ]
    )
    trits = loaded_trits(encoder, vectors, list(range(len(pairs))), gap=0)
    assert np.array_equal(trits, encoder.trits(vectors))


@pytest.mark.parametrize("seed", range(4))
def test_loader_agrees_with_the_encoder_and_leaves_out_what_is_not_used(seed):
    encoder = random_encoder(seed, 7 + 10 * seed, valence=2 if seed == 3 else 3)
    vectors = random_vectors(encoder, 12, seed)
    chance = random.Random(seed)
    used = [trit for trit in range(encoder.num_trits) if chance.random() < 0.7]
    trits = loaded_trits(encoder, vectors, used, gap=seed % 3)
    expected = np.zeros_like(trits)
    expected[:, used] = encoder.trits(vectors)[:, used]
    assert np.array_equal(trits, expected)


def test_wide_features_come_in_several_bytes():
    encoder = Encoder(
        (Feature("a", 20, signed=True), Feature("b", 9)),
        np.array([0, 0, 1]),
        np.array([-70_000, 5, 255]),
        np.array([-69_999, 300_000, 257]),
    )
    values = np.array([[-70_001, 254], [-70_000, 255], [4, 256], [299_999, 257], [300_000, 0]])
    vectors = FeatureVectors(values, np.ones_like(values, dtype=bool))
    assert np.array_equal(loaded_trits(encoder, vectors, [0, 1, 2], 0), encoder.trits(vectors))


def test_start_forgets_a_vector_under_way():
    encoder = random_encoder(1, 20)
    loader = VectorLoader(encoder, list(range(20)))
    (payload,) = payloads(encoder, random_vectors(encoder, 1))

    async def drive(ctx):
        for data in (payload[: len(payload) // 2], payload):
            ctx.set(loader.start, 1)
            await ctx.tick()
            ctx.set(loader.start, 0)
            for byte in data:
                assert not ctx.get(loader.done)
                ctx.set(loader.i.payload, byte)
                ctx.set(loader.i.valid, 1)
                await ctx.tick().until(loader.i.ready)
            ctx.set(loader.i.valid, 0)
        await ctx.tick().repeat(loader.max_steps)
        assert ctx.get(loader.done)

    simulate(loader, drive)


def test_a_frame_whose_beginning_fell_into_the_self_test_counts_as_nothing():
    cycles = 8
    design = BoardDesign(small_net(), clock_hz=8e6, baud=8_000_000 // cycles)
    received = bytearray()

    async def send(ctx, data):
        for byte in data:
            for bit in line_bits(byte):
                ctx.set(design.rx, bit)
                await ctx.tick().repeat(cycles)

    async def drive(ctx):
        await send(ctx, [FLAG])
        assert not ctx.get(design.lights[0])
        while not ctx.get(design.lights[0]):
            await send(ctx, [0])
        await send(ctx, [0, 0, FLAG])
        for request in (Kind.IDENTIFY, Kind.STATUS):
            await send(ctx, encode_frame(request, 0))
            # The longest answer, with every byte escaped.
            await ctx.tick().repeat(64 * 10 * cycles)

    async def collect(ctx):
        while True:
            await ctx.negedge(design.tx)
            await ctx.tick().repeat(cycles // 2)
            byte = 0
            for place in range(8):
                await ctx.tick().repeat(cycles)
                byte |= ctx.get(design.tx) << place
            received.append(byte)
            await ctx.tick().repeat(cycles)

    simulate(design, drive, background=[collect])
    identity, status = FrameReader(ANSWER_BYTES).feed(bytes(received))
    assert identity.kind == Kind.IDENTITY
    assert Status.unpack(status.payload).rejections == dict.fromkeys(Rejection, 0)
