"""The link between host and board: frames, requests and answers, byte by byte.

The bytes are specified in ``docs/boards.md``. Everything here is plain Python, for the host and for
the tests of the hardware.
"""

import struct
import zlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from trilut.circuit.encoder import Encoder, FeatureVectors
from trilut.circuit.interface import HeadOutput

__all__ = [
    "ANSWER_BYTES",
    "CRC_BYTES",
    "DEFAULT_BAUD",
    "ESCAPE",
    "FLAG",
    "FLIP",
    "GROUP",
    "HEADER_BYTES",
    "OUTPUTS",
    "VERSION",
    "Frame",
    "FrameReader",
    "Identity",
    "Kind",
    "Rejection",
    "Result",
    "Status",
    "encode_frame",
    "payload_bytes",
    "payloads",
    "result_bytes",
    "value_bytes",
]

VERSION = 1
"""Version of the protocol, in the lower byte of its word."""

OUTPUTS = (HeadOutput.CERTAIN, HeadOutput.SET)
"""What a result can have more: bits 0, 1, … of the upper byte of that word say which it has."""

DEFAULT_BAUD = 115_200
"""Bits per second on the line, if nothing else is said."""

FLAG = 0x7E
"""The byte that stands between frames, and nowhere else."""

ESCAPE = 0x7D
"""The byte after which a byte of a frame has its bit ``FLIP`` inverted."""

FLIP = 0x20

HEADER_BYTES = 2
"""Kind and sequence number."""

CRC_BYTES = 4

GROUP = 8
"""Features that share one byte of presence bits."""


class Kind(IntEnum):
    """What a frame is. An answer has the kind of its request plus 128."""

    IDENTIFY = 0x01
    STATUS = 0x02
    CLASSIFY = 0x03
    REJECTED = 0x80
    IDENTITY = 0x81
    STATE = 0x82
    RESULT = 0x83


class Rejection(IntEnum):
    """Why a frame is rejected; the first that applies."""

    MALFORMED = 1
    TRUNCATED = 2
    OVERSIZED = 3
    CHECKSUM = 4
    KIND = 5
    SEQUENCE = 6
    BUSY = 7


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame whose length and checksum are right."""

    kind: int
    sequence: int
    payload: bytes


def encode_frame(kind: int, sequence: int, payload: bytes = b"") -> bytes:
    """Return the bytes of a frame, with a flag at both ends."""
    body = bytes([kind, sequence]) + payload
    body += zlib.crc32(body).to_bytes(CRC_BYTES, "little")
    for special in (ESCAPE, FLAG):
        body = body.replace(bytes([special]), bytes([ESCAPE, special ^ FLIP]))
    return bytes([FLAG]) + body + bytes([FLAG])


class FrameReader:
    """Finds frames in a stream of bytes, whatever else is in it.

    Parameters
    ----------
    lengths : mapping
        Bytes of the payload of each kind of frame that may come.
    """

    def __init__(self, lengths: Mapping[int, int]):
        self._sizes = {kind: HEADER_BYTES + length + CRC_BYTES for kind, length in lengths.items()}
        # One byte more than the longest frame is enough to know that a frame is too long.
        self._limit = max(self._sizes.values()) + 1
        self._begin()

    def _begin(self) -> None:
        self._body = bytearray()
        self._escaped = False

    def feed(self, data: bytes) -> list[Frame | Rejection]:
        """Take bytes as they come; return the frames that end there, and why others are none."""
        frames: list[Frame | Rejection] = []
        for byte in data:
            if byte == FLAG:
                if self.is_under_way:
                    frames.append(self._end())
                self._begin()
            elif byte == ESCAPE and not self._escaped:
                self._escaped = True
            else:
                if len(self._body) < self._limit:
                    self._body.append(byte ^ FLIP if self._escaped else byte)
                self._escaped = False
        return frames

    def give_up(self) -> list[Frame | Rejection]:
        """End an unfinished frame, because nothing more has come for too long."""
        frames: list[Frame | Rejection] = [Rejection.TRUNCATED] if self.is_under_way else []
        self._begin()
        return frames

    @property
    def is_under_way(self) -> bool:
        """Whether a frame has begun and not ended."""
        return bool(self._body) or self._escaped

    def _end(self) -> Frame | Rejection:
        body = bytes(self._body)
        if self._escaped:
            return Rejection.MALFORMED
        if len(body) < HEADER_BYTES + CRC_BYTES:
            return Rejection.TRUNCATED
        intact = zlib.crc32(body[:-CRC_BYTES]) == int.from_bytes(body[-CRC_BYTES:], "little")
        size = self._sizes.get(body[0])
        if size is None:
            return Rejection.KIND if intact and len(body) < self._limit else Rejection.CHECKSUM
        if len(body) != size:
            return Rejection.TRUNCATED if len(body) < size else Rejection.OVERSIZED
        if not intact:
            return Rejection.CHECKSUM
        return Frame(body[0], body[1], body[HEADER_BYTES:-CRC_BYTES])


def value_bytes(encoder: Encoder) -> int:
    """Return the bytes of a feature value: as many as the widest feature needs."""
    return -(-max(feature.bits for feature in encoder.features) // 8)


def payload_bytes(encoder: Encoder) -> int:
    """Return the bytes of a feature vector."""
    num_features = len(encoder.features)
    return -(-num_features // GROUP) + num_features * value_bytes(encoder)


def payloads(encoder: Encoder, vectors: FeatureVectors) -> Iterator[bytes]:
    """Give the payload of each feature vector.

    Every eight features are preceded by a byte of presence bits, the first feature in the lowest
    bit. A value is sent as its distance from the feature's minimum, lowest byte first, and as 0 if
    it is missing.
    """
    minimum = np.array([feature.minimum for feature in encoder.features])
    codes = np.where(vectors.valid, vectors.values - minimum, 0)
    width = value_bytes(encoder)
    for row, valid in zip(codes.tolist(), vectors.valid.tolist(), strict=True):
        payload = bytearray()
        for start in range(0, len(row), GROUP):
            group = slice(start, start + GROUP)
            payload.append(sum(present << bit for bit, present in enumerate(valid[group])))
            for code in row[group]:
                payload += code.to_bytes(width, "little")
        yield bytes(payload)


_IDENTITY = struct.Struct("<HHHHI8s")
_STATUS = struct.Struct("<HHH7H")
_RESULT = struct.Struct("<HHH")

ANSWER_BYTES: Mapping[int, int] = {
    Kind.REJECTED: 2,
    Kind.IDENTITY: _IDENTITY.size,
    Kind.STATE: _STATUS.size,
    Kind.RESULT: _RESULT.size,
}
"""Bytes of the payload of each kind of answer."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What is on the board.

    Parameters
    ----------
    version : int
        Version of the protocol.
    outputs : tuple of HeadOutput
        What results have beside class, margin and abstention.
    num_features, value_bytes, num_classes : int
        Of the netlist.
    clock_hz : int
        Frequency of the clock that latencies are counted in.
    digest : str
        The first 16 digits of the netlist's SHA-256.
    """

    version: int
    num_features: int
    value_bytes: int
    num_classes: int
    clock_hz: int
    digest: str
    outputs: tuple[HeadOutput, ...] = ()

    @classmethod
    def unpack(cls, payload: bytes) -> "Identity":
        """Read an answer's payload."""
        *numbers, clock_hz, digest = _IDENTITY.unpack(payload)
        word, num_features, value_bytes, num_classes = numbers
        version, flags = word, 0
        if word & 0xFF == VERSION and word >> 8 < 1 << len(OUTPUTS):
            version, flags = VERSION, word >> 8
        outputs = tuple(output for bit, output in enumerate(OUTPUTS) if flags >> bit & 1)
        return cls(version, num_features, value_bytes, num_classes, clock_hz, digest.hex(), outputs)

    def pack(self) -> bytes:
        """Return the payload."""
        flags = sum((output in self.outputs) << bit for bit, output in enumerate(OUTPUTS))
        word = self.version | flags << 8
        numbers = (word, self.num_features, self.value_bytes, self.num_classes)
        return _IDENTITY.pack(*numbers, self.clock_hz, bytes.fromhex(self.digest))


@dataclass(frozen=True, slots=True)
class Status:
    """How the board is. The counters have 16 bits, start from 0 at a reset, and wrap around.

    Parameters
    ----------
    self_test_passed : bool
        Whether the vectors in ROM gave the right answers at the start.
    latency : int
        Clock cycles from the end of the last vector's frame to its result.
    frames : int
        Requests that were accepted.
    rejections : mapping
        Requests that were rejected, by the reason.
    """

    self_test_passed: bool
    latency: int
    frames: int
    rejections: Mapping[Rejection, int]

    @classmethod
    def unpack(cls, payload: bytes) -> "Status":
        """Read an answer's payload."""
        flags, latency, frames, *rejections = _STATUS.unpack(payload)
        return cls(bool(flags & 1), latency, frames, dict(zip(Rejection, rejections, strict=True)))


@dataclass(frozen=True, slots=True)
class Result:
    """What the circuit says of one vector.

    Parameters
    ----------
    chosen, margin, unknown
        The class, its margin, and whether the circuit abstains.
    certain : bool, optional
        Whether no value of a missing feature could change the class, if the board says it.
    members : tuple of int, optional
        The classes of the prediction set, if the board has it.
    """

    chosen: int
    margin: int
    unknown: bool
    certain: bool | None = None
    members: tuple[int, ...] | None = None

    @classmethod
    def unpack(cls, payload: bytes, outputs: Collection[HeadOutput] = ()) -> "Result":
        """Read an answer's payload, which has more in it if the identity says so."""
        chosen, margin, flags = _RESULT.unpack(payload[: _RESULT.size])
        members = int.from_bytes(payload[_RESULT.size :], "little")
        return cls(
            chosen,
            margin,
            bool(flags & 1),
            bool(flags & 2) if HeadOutput.CERTAIN in outputs else None,
            tuple(index for index in range(members.bit_length()) if members >> index & 1)
            if HeadOutput.SET in outputs
            else None,
        )


def result_bytes(outputs: Collection[HeadOutput], num_classes: int) -> int:
    """Return the bytes of a result's payload: a bit for each class, in whole words, if asked."""
    return _RESULT.size + (2 * -(-num_classes // 16) if HeadOutput.SET in outputs else 0)
