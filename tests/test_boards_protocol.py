import struct

import numpy as np
import pytest
from boardlink import random_vectors
from circuits import random_encoder
from hypothesis import given
from hypothesis import strategies as st

from trilut import Encoder, Feature, FeatureVectors
from trilut.boards.protocol import (
    ANSWER_BYTES,
    ESCAPE,
    FLAG,
    Frame,
    FrameReader,
    Identity,
    Kind,
    Rejection,
    Result,
    Status,
    encode_frame,
    payload_bytes,
    payloads,
    result_bytes,
)
from trilut.circuit.interface import HeadOutput

LENGTHS = {1: 0, 3: 5}


def read(data, lengths=LENGTHS):
    reader = FrameReader(lengths)
    return reader.feed(data)


def test_bytes_of_a_frame():
    # The example of docs/boards.md; the checksum is that of zip and Ethernet.
    assert encode_frame(Kind.IDENTIFY, 0x7E) == bytes.fromhex("7e 01 7d5e 857f7fef 7e")


@given(st.integers(0, 255), st.binary(min_size=5, max_size=5))
def test_every_frame_is_read_back(sequence, payload):
    frame = encode_frame(3, sequence, payload)
    assert FLAG not in frame[1:-1]
    assert read(frame) == [Frame(3, sequence, payload)]


@given(st.binary(max_size=40), st.binary(min_size=5, max_size=5))
def test_a_frame_after_any_noise_is_read(noise, payload):
    *_, last = read(noise + encode_frame(3, 7, payload))
    assert last == Frame(3, 7, payload)


@given(st.binary(min_size=5, max_size=5), st.data())
def test_no_inverted_bits_pass(payload, data):
    frame = bytearray(encode_frame(3, 7, payload))
    for position in data.draw(st.sets(st.integers(8, len(frame) * 8 - 9), min_size=1, max_size=3)):
        frame[position // 8] ^= 1 << position % 8
    assert Frame(3, 7, payload) not in read(bytes(frame))


@pytest.mark.parametrize(
    ("data", "rejection"),
    [
        (bytes([FLAG, 1, 2, ESCAPE, FLAG]), Rejection.MALFORMED),
        (bytes([FLAG, 1, 2, 3, FLAG]), Rejection.TRUNCATED),
        (encode_frame(3, 0, b"1234"), Rejection.TRUNCATED),
        (encode_frame(3, 0, b"123456"), Rejection.OVERSIZED),
        (encode_frame(3, 0, b"x" * 1000), Rejection.OVERSIZED),
        (encode_frame(3, 0, b"12345").replace(b"3", b"4"), Rejection.CHECKSUM),
        (encode_frame(9, 0, b"123"), Rejection.KIND),
        (encode_frame(9, 0, b"x" * 1000), Rejection.CHECKSUM),
    ],
)
def test_rejections(data, rejection):
    assert read(data) == [rejection]


def test_flags_between_frames_are_nothing():
    assert read(bytes([FLAG] * 5)) == []


def test_a_frame_that_stops_is_given_up():
    reader = FrameReader(LENGTHS)
    assert reader.feed(encode_frame(3, 0, b"12345")[:-3]) == []
    assert reader.give_up() == [Rejection.TRUNCATED]
    assert reader.give_up() == []
    assert reader.feed(encode_frame(1, 4)) == [Frame(1, 4, b"")]


def test_bytes_of_a_vector():
    features = (*(Feature(f"f{i}", 4) for i in range(8)), Feature("wide", 10, signed=True))
    encoder = Encoder(features, np.array([8]), np.array([0]), np.array([1]))
    values = np.array([[1, 2, 3, 4, 5, 6, 7, 8, -512]])
    valid = np.array([[True, False, True, True, True, True, True, True, True]])
    (payload,) = payloads(encoder, FeatureVectors(values, valid))
    assert payload.hex(" ") == ("fd 01 00 00 00 03 00 04 00 05 00 06 00 07 00 08 00 01 00 00")


@given(st.integers(0, 20), st.integers(2, 40))
def test_all_vectors_have_the_same_length(seed, num_trits):
    encoder = random_encoder(seed, num_trits)
    for payload in payloads(encoder, random_vectors(encoder, 3, seed)):
        assert len(payload) == payload_bytes(encoder)


def test_answers_are_read_as_documented():
    identity = Identity(1, 64, 1, 10, 12_000_000, "0123456789abcdef")
    assert identity.pack().hex(" ", 2) == "0100 4000 0100 0a00 001b b700 0123 4567 89ab cdef"
    assert Identity.unpack(identity.pack()) == identity
    status = Status.unpack(bytes.fromhex("0100 0d00 0201 0100 0000 0000 0400 0000 0000 0700"))
    rejections = dict.fromkeys(Rejection, 0)
    rejections |= {Rejection.MALFORMED: 1, Rejection.CHECKSUM: 4, Rejection.BUSY: 7}
    assert status == Status(True, 13, 0x102, rejections)
    assert Result.unpack(bytes.fromhex("0900 0c01 0100")) == Result(9, 0x10C, True)
    assert ANSWER_BYTES[Kind.STATE] == 20


def test_a_result_has_what_the_identity_says():
    outputs = (HeadOutput.CERTAIN, HeadOutput.SET)
    identity = Identity(1, 4, 1, 20, 12_000_000, "0123456789abcdef", outputs)
    assert Identity.unpack(identity.pack()) == identity
    assert identity.pack()[:2] == b"\x01\x03"
    assert result_bytes(outputs, 20) == 10
    assert result_bytes(outputs[:1], 20) == result_bytes((), 20) == 6
    payload = struct.pack("<HHHI", 3, 7, 2, 1 << 3 | 1 << 19)
    assert Result.unpack(payload, outputs) == Result(3, 7, False, True, (3, 19))
    assert Result.unpack(payload[:6]) == Result(3, 7, False)


def test_an_identity_that_nobody_knows_is_another_version():
    payload = b"\x01\x80" + Identity(1, 4, 1, 20, 1, "0123456789abcdef").pack()[2:]
    assert Identity.unpack(payload).version == 0x8001
