"""A model of the engine, and the file that holds it; ``docs/engine.md`` specifies the bytes."""

import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.encoder import Encoder, FeatureVectors
from trilut.circuit.format import dumps, loads
from trilut.circuit.head import Head
from trilut.circuit.limits import MAX_BYTES
from trilut.circuit.netlist import Netlist
from trilut.engine.instructions import (
    ADDRESS_BITS,
    LATENCY,
    MAX_LANES,
    SCORE_BITS,
    VALUE_BITS,
    Field,
    Op,
    Words,
    field,
    is_gate,
)
from trilut.errors import FormatError
from trilut.files import read_bytes, write_atomically

__all__ = ["HEADER", "HEADER_BYTES", "MAGIC", "MAX_MARGIN", "VERSION", "Image", "load_image"]

MAGIC = b"TLEN"
VERSION = 1
MAX_MARGIN = (1 << SCORE_BITS) - 1
"""Largest abstention margin; no margin of scores reaches it."""

HEADER = struct.Struct("<4sHBBHHIHBxHH8s")
"""Magic, version, lanes, bits of a value, features, entries, instructions, classes, bits of a
score, abstention margin, 0, digest of the netlist."""
HEADER_BYTES = HEADER.size
_WORD_BYTES = 8
_CRC = struct.Struct("<I")
_LENGTH = struct.Struct("<I")


@dataclass(frozen=True, slots=True, eq=False)
class Image:
    """A model of the engine.

    Parameters
    ----------
    lanes : int
        Number of lanes of the engine that it is for.
    num_entries : int
        Number of entries that it needs.
    num_features, value_bits : int
        Number of features, and bits of the widest of them.
    num_classes, score_bits : int
        Number of classes, and bits of a signed number that holds every score.
    abstain_margin : int
        The margin below which the engine abstains.
    digest : bytes
        The first eight bytes of the netlist's digest.
    words : uint64 array [step, lane]
        The program.
    shell : Netlist
        The netlist without its gates: how samples become features and what the classes are.

    Raises
    ------
    FormatError
        If the parts contradict one another, or the program does what no program may do.
    """

    lanes: int
    num_entries: int
    num_features: int
    value_bits: int
    num_classes: int
    score_bits: int
    abstain_margin: int
    digest: bytes
    words: Words
    shell: Netlist

    def __post_init__(self) -> None:
        self._check_sizes()
        self._check_shell()
        _Check(self).run()

    def _check_sizes(self) -> None:
        for what, number, least, most in (
            ("bits of a value", self.value_bits, 1, VALUE_BITS),
            ("features", self.num_features, 1, (1 << 16) - 1),
            ("entries", self.num_entries, 1, 1 << ADDRESS_BITS),
            ("classes", self.num_classes, 2, (1 << ADDRESS_BITS) - 1),
            ("bits of a score", self.score_bits, 2, SCORE_BITS),
            ("as its abstention margin", self.abstain_margin, 1, MAX_MARGIN),
        ):
            if not least <= number <= most:
                raise FormatError(f"The model has {number} {what}, expected {least}…{most}")
        if self.lanes not in (1, 2, 4, MAX_LANES):
            raise FormatError(f"The model has {self.lanes} lanes, expected 1, 2, 4 or {MAX_LANES}")

    def _check_shell(self) -> None:
        encoder, head = self.shell.encoder, self.shell.head
        if encoder is None or head is None:
            raise FormatError("The model's description has no encoder or no head")
        said = {
            "features": (self.num_features, len(encoder.features)),
            "bits of a value": (self.value_bits, max(each.bits for each in encoder.features)),
            "classes": (self.num_classes, len(head.classes)),
            "bits of a score": (self.score_bits, head.score_bits),
            "as its abstention margin": (
                self.abstain_margin,
                min(head.abstain_margin, MAX_MARGIN),
            ),
        }
        for what, (number, other) in said.items():
            if number != other:
                raise FormatError(f"The model has {number} {what}, but its description {other}")

    @property
    def encoder(self) -> Encoder:
        """What makes features of samples."""
        assert self.shell.encoder is not None
        return self.shell.encoder

    @property
    def head(self) -> Head:
        """What the classes are."""
        assert self.shell.head is not None
        return self.shell.head

    @property
    def num_steps(self) -> int:
        """Number of steps of the program: clock cycles, but for those that the engine waits."""
        return len(self.words)

    @property
    def num_gates(self) -> int:
        """Number of instructions that compute a gate."""
        return int(is_gate(field(self.words, Field.OP)).sum())

    @property
    def utilization(self) -> float:
        """Share of the gate units' cycles in which they compute a gate."""
        return self.num_gates / self.words.size

    def codes(self, vectors: FeatureVectors) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return features as the engine takes them, counted from the lowest of each."""
        lowest = np.array([feature.minimum for feature in self.encoder.features])
        return np.where(vectors.valid, vectors.values - lowest, 0), vectors.valid

    def program_bytes(self) -> bytes:
        """Return what the engine is loaded with: header, program and checksum."""
        header = HEADER.pack(
            MAGIC,
            VERSION,
            self.lanes,
            self.value_bits,
            self.num_features,
            self.num_entries,
            self.words.size,
            self.num_classes,
            self.score_bits,
            self.abstain_margin,
            0,
            self.digest,
        )
        content = header + self.words.astype("<u8").tobytes()
        return content + _CRC.pack(zlib.crc32(content))

    def to_bytes(self) -> bytes:
        """Return the file: what the engine is loaded with, and the description for the host."""
        text = dumps(self.shell).encode()
        description = _LENGTH.pack(len(text)) + text
        return self.program_bytes() + description + _CRC.pack(zlib.crc32(description))

    @classmethod
    def from_bytes(cls, content: bytes) -> "Image":
        """Read a file.

        Raises
        ------
        FormatError
            If it is no model, of another version, incomplete, damaged, or has a program that no
            engine may run.
        """
        program, description = _parts(content)
        (_, _, lanes, value_bits, num_features, num_entries, num_words, num_classes) = (
            header := HEADER.unpack_from(program)
        )[:8]
        score_bits, abstain_margin, zero, digest = header[8:]
        if zero:
            raise FormatError("The model's header has something where nothing may be")
        if lanes and num_words % lanes:
            raise FormatError(f"The model has {num_words} instructions for {lanes} lanes")
        words = np.frombuffer(program, dtype="<u8", count=num_words, offset=HEADER_BYTES)
        try:
            shell = loads(description.decode())
        except UnicodeDecodeError as error:
            raise FormatError("The model's description is no text") from error
        return cls(
            lanes,
            num_entries,
            num_features,
            value_bits,
            num_classes,
            score_bits,
            abstain_margin,
            digest,
            words.astype(np.uint64).reshape(-1, max(1, lanes)),
            shell,
        )

    def save(self, path: str | Path) -> None:
        """Write the file."""
        write_atomically(Path(path), self.to_bytes())


def load_image(path: str | Path) -> Image:
    """Read a model from a file.

    Raises
    ------
    FormatError
        As :meth:`Image.from_bytes`; the message names the file.
    """
    try:
        return Image.from_bytes(read_bytes(Path(path), MAX_BYTES))
    except FormatError as error:
        raise FormatError(f"{str(path)!r}: {error}") from error


def _parts(content: bytes) -> tuple[bytes, bytes]:
    """Return program and description of a file whose checksums are right."""
    if content[: len(MAGIC)] != MAGIC:
        raise FormatError(f"Not a model of the engine: it does not begin with {MAGIC.decode()!r}")
    if len(content) < HEADER_BYTES:
        raise FormatError(f"The model ends after {len(content)} bytes, within its header")
    version, num_words = HEADER.unpack_from(content)[1], HEADER.unpack_from(content)[6]
    if version != VERSION:
        raise FormatError(f"The model is of version {version}, expected {VERSION}")
    size = HEADER_BYTES + _WORD_BYTES * num_words
    program, rest = _checked(content, size, "program")
    length = _LENGTH.unpack_from(rest)[0] if len(rest) >= _LENGTH.size else 0
    description, rest = _checked(rest, _LENGTH.size + length, "description")
    if rest:
        raise FormatError(f"The model has {len(rest)} bytes after its end")
    return program, description[_LENGTH.size :]


def _checked(content: bytes, size: int, what: str) -> tuple[bytes, bytes]:
    """Return a part without its checksum, and what follows."""
    end = size + _CRC.size
    if len(content) < end:
        raise FormatError(f"The model ends within its {what}")
    (expected,) = _CRC.unpack_from(content, size)
    if zlib.crc32(content[:size]) != expected:
        raise FormatError(f"The model's {what} is damaged: its checksum is wrong")
    return content[:size], content[end:]


class _Check:
    """Whether a program is one that engines may run."""

    def __init__(self, image: Image):
        self._image = image
        self._ops = field(image.words, Field.OP)
        self._gates = is_gate(self._ops)

    def run(self) -> None:
        """Check everything."""
        self._check_ops()
        self._check_bounds()
        self._check_features()
        self._check_scores()
        self._check_order()

    def _check_ops(self) -> None:
        known = np.isin(self._ops, [int(op) for op in Op])
        for step, lane in np.argwhere(~known):
            raise FormatError(
                f"Step {step} lane {lane} has the operation {self._ops[step, lane]}, which is none"
            )
        is_alone = np.isin(self._ops, (Op.ENCODE, Op.NEXT, Op.SCORE, Op.END))
        for step, lane in np.argwhere(is_alone):
            if lane or np.any(self._ops[step, 1:]):
                name = Op(self._ops[step, lane]).name
                raise FormatError(f"Step {step} has {name} beside others, expected it alone")
        ends = np.flatnonzero((self._ops == Op.END).any(axis=1))
        if ends.tolist() != [self._image.num_steps - 1]:
            raise FormatError("The program does not end once, in its last step")
        for step, lane in np.argwhere(self._ops == Op.EXTEND):
            if not self._gates[step + 1, lane]:
                raise FormatError(f"Step {step} lane {lane} extends what is no gate")

    def _check_bounds(self) -> None:
        words, most = self._image.words, self._image.num_entries
        reads = {Field.A: self._gates, Field.B: self._gates}
        writes = np.isin(self._ops, (Op.ENCODE, Op.GATE, Op.GATE_SUM))
        for name, has in {**reads, Field.DESTINATION: writes}.items():
            entries = field(words, name)
            for step, lane in np.argwhere(has & (entries >= most)):
                raise FormatError(
                    f"Step {step} lane {lane} has entry {entries[step, lane]}, but there are {most}"
                )
        lanes = self._image.lanes
        own = field(words, Field.DESTINATION) % lanes == np.arange(lanes)
        for step, lane in np.argwhere(writes & (self._ops != Op.ENCODE) & ~own):
            raise FormatError(f"Step {step} lane {lane} writes an entry of another lane")

    def _check_features(self) -> None:
        first = self._image.words[:, 0]
        is_last = (self._ops[:, 0] == Op.ENCODE) & (field(first, Field.LAST) == 1)
        taken = is_last | (self._ops[:, 0] == Op.NEXT)
        if taken.sum() != self._image.num_features:
            raise FormatError(
                f"The program takes {taken.sum()} features, expected {self._image.num_features}"
            )
        encodes = np.flatnonzero(self._ops[:, 0] == Op.ENCODE)
        if len(encodes) and encodes[-1] > np.flatnonzero(taken)[-1]:
            raise FormatError(f"Step {encodes[-1]} encodes a feature after the last")

    def _check_scores(self) -> None:
        first = self._image.words[:, 0]
        begun: set[int] = set()
        for step in np.flatnonzero(self._ops[:, 0] == Op.SCORE).tolist():
            number = int(field(first[step], Field.CLASS))
            add = bool(field(first[step], Field.ADD))
            if number >= self._image.num_classes or add != (number in begun):
                raise FormatError(f"Step {step} gives a score to class {number} out of turn")
            begun.add(number)
        if len(begun) != self._image.num_classes:
            raise FormatError(
                f"The program gives scores to {len(begun)} classes, "
                f"expected {self._image.num_classes}"
            )

    def _check_order(self) -> None:
        """Check that what is read has been written, and long enough before."""
        words = self._image.words
        a, b, destination = (field(words, name) for name in (Field.A, Field.B, Field.DESTINATION))
        writes = np.isin(self._ops, (Op.ENCODE, Op.GATE, Op.GATE_SUM))
        written = np.full(self._image.num_entries, np.iinfo(np.int64).max)
        for step in range(self._image.num_steps):
            has = self._gates[step]
            for entry in (*a[step, has].tolist(), *b[step, has].tolist()):
                if step - written[entry] < LATENCY:
                    raise FormatError(
                        f"Step {step} reads entry {entry}, "
                        f"which is not written {LATENCY} steps before it"
                    )
            written[destination[step, writes[step]]] = step
