"""The registers of a peripheral: one description, of which hardware, header and documents are made.

All registers are words of 32 bits at multiples of four. A vector is written to the registers of its
ports and started; results wait in a queue, and the registers of a result show the oldest.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from trilut.circuit.format import digest
from trilut.circuit.interface import LIST_PORTS, FieldKind, Port
from trilut.hdl.design import Design

__all__ = [
    "MAGIC",
    "QUEUE",
    "VERSION",
    "Access",
    "BitField",
    "Register",
    "RegisterMap",
    "is_word_a_field",
    "register_name",
]

MAGIC = int.from_bytes(b"TLUT", "little")
"""What the first register holds."""

VERSION = 1
"""The version of the registers."""

QUEUE = 4
"""Results that wait before the classifier has to."""

_WORD = 32


class Access(StrEnum):
    """What software may do to a register, as SVD says it."""

    READ = "read-only"
    WRITE = "write-only"
    BOTH = "read-write"


@dataclass(frozen=True, slots=True)
class BitField:
    """Some bits of a register."""

    name: str
    first: int
    width: int
    meaning: str


@dataclass(frozen=True, slots=True)
class Register:
    """A register, or several of one kind, side by side.

    Parameters
    ----------
    bits : int
        Bits of all its words together that mean something.
    """

    name: str
    offset: int
    access: Access
    meaning: str
    bits: int = _WORD
    fields: tuple[BitField, ...] = ()

    @property
    def words(self) -> int:
        """Number of words."""
        return -(-self.bits // _WORD)


@dataclass(frozen=True, slots=True, eq=False)
class RegisterMap:
    """The registers of a design.

    Parameters
    ----------
    design : Design
        What is behind them.
    registers : tuple of Register
        In the order of their offsets.
    """

    design: Design
    registers: tuple[Register, ...]

    @classmethod
    def of(cls, design: Design) -> "RegisterMap":
        """Return the registers of a design with streams at both ends."""
        return cls(design, tuple(_placed(_registers(design))))

    def __getitem__(self, name: str) -> Register:
        return next(register for register in self.registers if register.name == name)

    def has(self, name: str) -> bool:
        """Say whether there is a register of a name."""
        return any(register.name == name for register in self.registers)

    @property
    def address_bits(self) -> int:
        """Bits of an address of bytes that reaches every register."""
        last = self.registers[-1]
        return (last.offset + 4 * last.words - 1).bit_length()

    @property
    def hash_words(self) -> list[int]:
        """The SHA-256 of the netlist, its first four bytes in the first word."""
        octets = bytes.fromhex(digest(self.design.netlist))
        return [int.from_bytes(octets[at : at + 4], "big") for at in range(0, 32, 4)]


def register_name(port: Port) -> str:
    """Return the name of the register of a port, ``CLASS`` for ``out_class``."""
    if port.name.endswith("_trits"):
        # They go in and out.
        return port.name.upper()
    return port.name.removeprefix("in_").removeprefix("out_").upper()


def is_word_a_field(port: Port) -> bool:
    """Say whether every field of a port has a word of its own, as numbers with a sign do."""
    return port.name in LIST_PORTS and port.fields[0].kind is FieldKind.SIGNED


def _registers(design: Design) -> Iterator[Register]:
    """Give the registers, as yet at no offset."""
    interface = design.interface
    read, both = Access.READ, Access.BOTH
    yield Register("ID", 0, read, f"always 0x{MAGIC:08X}, 'TLUT'")
    yield Register("VERSION", 0, read, f"of these registers: {VERSION}")
    yield Register("HASH", 0, read, "SHA-256 of the netlist, its first bytes first", bits=256)
    yield Register("CONTROL", 0, both, "what is asked for", 2, _CONTROL)
    yield Register("STATUS", 0, read, "what is there", 12, _STATUS)
    yield Register("NEXT", 0, Access.WRITE, "any value drops the oldest result", 1)
    yield Register("STARTED", 0, read, "vectors started since reset")
    yield Register("FINISHED", 0, read, "results dropped by NEXT since reset")
    yield Register("REFUSED", 0, read, "accesses refused since reset, and orders too early")
    if interface.margin is not None:
        meaning = f"{interface.margin.meaning}; as of the netlist after reset"
        yield Register("ABSTAIN_MARGIN", 0, both, meaning, interface.margin.width)
    for port in interface.outputs:
        bits = _WORD * len(port.fields) if is_word_a_field(port) else port.width
        yield Register(register_name(port), 0, read, _meaning(port), bits)
    for port in interface.inputs:
        yield Register(register_name(port), 0, Access.WRITE, _meaning(port), port.width)


def _meaning(port: Port) -> str:
    if is_word_a_field(port):
        return "a word for each class, with its sign"
    if port.name == "in_features":
        return "values side by side, the first in the lowest bits; the Verilog lists them"
    return port.meaning


_CONTROL = (
    BitField("START", 0, 1, "write 1: give the vector to the classifier; reads as 0"),
    BitField("INTERRUPT", 1, 1, "raise the interrupt while a result waits"),
)
_STATUS = (
    BitField("BUSY", 0, 1, "the last vector has not been taken: do not write inputs, nor start"),
    BitField("DONE", 1, 1, "a result waits"),
    BitField("WAITING", 8, 4, "number of results that wait in the queue"),
)


def _placed(registers: Iterator[Register]) -> Iterator[Register]:
    """Give registers their offsets: what has several words starts at a multiple of its size."""
    offset = 0
    for register in registers:
        size = 4 << (register.words - 1).bit_length()
        offset = -(-offset // size) * size
        yield Register(
            *(register.name, offset, register.access, register.meaning, register.bits),
            register.fields,
        )
        offset += 4 * register.words
