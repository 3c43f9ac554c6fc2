"""Bounds of a netlist, checked by its parts and by the reader of files."""

from trilut.errors import NetlistError

__all__ = [
    "MAX_BITS",
    "MAX_BYTES",
    "MAX_INPUTS",
    "MAX_INTEGER",
    "MAX_NAME",
    "MAX_VALUES",
    "check_name",
]

MAX_INTEGER = 2**62 - 1
"""Largest threshold, abstention margin and group size, with either sign: engines compute with 64
bits, and sums and differences of two such integers must not wrap."""

MAX_BITS = 32
"""Most bits of a feature."""

MAX_INPUTS = 1 << 24
"""Most input nets: without an encoder they take no place in a file, but some in memory."""

MAX_NAME = 65_536
"""Most characters in the name of a netlist, a feature or a class."""

MAX_BYTES = 128 << 20
"""Most bytes of a netlist as JSON."""

MAX_VALUES = 1 << 24
"""Most values in that JSON, three for each of some five million gates: in memory an empty array
takes twenty times its two characters."""


def check_name(name: str, owner: str) -> None:
    """Check the length of a name; the owner is what an error calls it.

    Raises
    ------
    NetlistError
        If it is too long.
    """
    if len(name) > MAX_NAME:
        raise NetlistError(
            f"The name of {owner} has {len(name)} characters, expected at most {MAX_NAME}"
        )
