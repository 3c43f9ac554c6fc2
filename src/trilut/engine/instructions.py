"""The instruction set of the engine: words of 64 bits, the same for every size of engine.

The engine has a memory of *entries*. An entry holds a code of two bits for each of the samples that
are computed side by side: a trit by its code of :mod:`trilut.circuit.trit`, a bit as the trit that
it is, or any of the four codes where the compiler needs them. What each instruction does is said by
:class:`trilut.engine.machine.Machine`; ``docs/engine.md`` has the layout as a table.
"""

from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "ADDRESS_BITS",
    "LATENCY",
    "LONG_ROWS",
    "MAX_LANES",
    "SCORE_BITS",
    "SHORT_ROWS",
    "VALUE_BITS",
    "Field",
    "Op",
    "Tables",
    "Words",
    "field",
    "is_gate",
    "joined_table",
    "split_tables",
    "word",
]

Words = NDArray[np.uint64]
Tables = NDArray[np.uint32]
"""Tables of operations: bits 2·(4·a + b) and the one above hold the code for the codes a and b."""

LATENCY = 4
"""An instruction reads what is written by instructions at least so many steps before it. The
compiler sees to it, and an image that does otherwise is refused."""

ADDRESS_BITS = 14
VALUE_BITS = 16
"""Most bits of a feature's value."""
SCORE_BITS = 16
"""Most bits of a signed score."""
MAX_LANES = 8


class Op(IntEnum):
    """What an instruction does: its highest four bits."""

    NOP = 0
    ENCODE = 1
    """Write the trit of two thresholds on the feature that is being taken in."""
    NEXT = 2
    """Go on to the next feature."""
    EXTEND = 3
    """Give the next gate of the lane the rows of its table that have a code 3."""
    SCORE = 4
    """Give the sums to the score of a class, and let them be 0."""
    END = 5
    """Decide, and begin again with the next samples."""
    GATE = 8
    """Write what the table says of the codes of two entries."""
    GATE_SUM = 9
    """Write it, and add the trit to the sums."""
    SUM_1 = 12
    """Add the trit of the table to the sums, without writing it."""
    SUM_2 = 13
    SUM_4 = 14
    SUM_8 = 15


class Field(IntEnum):
    """Where a field of an instruction begins; 256 times its width is added.

    Fields of different instructions that lie in the same bits are the same member.
    """

    A = 0 | ADDRESS_BITS << 8
    B = 14 | ADDRESS_BITS << 8
    DESTINATION = 28 | ADDRESS_BITS << 8
    TABLE = 42 | 18 << 8
    OP = 60 | 4 << 8
    # Of ENCODE:
    LOW = 0 | (VALUE_BITS + 1) << 8
    MISSING = 17 | 1 << 8
    LAST = 18 | 1 << 8
    HIGH = 42 | (VALUE_BITS + 1) << 8
    # Of EXTEND:
    ROWS = 42 | 14 << 8
    # Of SCORE:
    CLASS = 0 | ADDRESS_BITS << 8
    ADD = 14 | 1 << 8
    BASE = 42 | SCORE_BITS << 8

    @property
    def first(self) -> int:
        """The lowest bit."""
        return self & 0xFF

    @property
    def width(self) -> int:
        """Number of bits."""
        return self >> 8


def field(words: Words | np.uint64, name: Field) -> NDArray[np.int64]:
    """Return a field of instructions."""
    mask = np.uint64((1 << name.width) - 1)
    return np.asarray(words >> np.uint64(name.first) & mask).astype(np.int64)


def word(op: Op, **fields: int) -> int:
    """Return an instruction by its fields, in lower case; what is not given is 0."""
    result = op << Field.OP.first
    for name, value in fields.items():
        place = Field[name.upper()]
        assert 0 <= value < 1 << place.width, (name, value)
        result |= int(value) << place.first
    return result


def is_gate(ops: ArrayLike) -> NDArray[np.bool_]:
    """Say which operations read two entries."""
    return np.asarray(ops) >= Op.GATE


SHORT_ROWS = [(a, b) for a in range(3) for b in range(3)]
"""The rows of a table that a gate has, by their codes."""
LONG_ROWS = [(0, 3), (1, 3), (2, 3), (3, 0), (3, 1), (3, 2), (3, 3)]
"""The rows that EXTEND has."""


def split_tables(tables: Tables) -> tuple[Tables, Tables]:
    """Return the fields ``TABLE`` and ``ROWS`` of tables; of most the second is 0."""
    short, long = (
        sum(
            ((tables >> np.uint32(2 * (4 * a + b)) & np.uint32(3)) << np.uint32(2 * place))
            for place, (a, b) in enumerate(rows)
        )
        for rows in (SHORT_ROWS, LONG_ROWS)
    )
    return np.asarray(short, dtype=np.uint32), np.asarray(long, dtype=np.uint32)


def joined_table(table: int, rows: int) -> list[int]:
    """Return the codes of a table [16] from the fields of its instruction and of EXTEND."""
    codes = [0] * 16
    for known, bits in ((SHORT_ROWS, table), (LONG_ROWS, rows)):
        for place, (a, b) in enumerate(known):
            codes[4 * a + b] = bits >> 2 * place & 3
    return codes
