"""Bounds of a netlist, checked by its parts and by the reader of files."""

__all__ = ["MAX_BITS", "MAX_INPUTS", "MAX_INTEGER"]

MAX_INTEGER = 2**62 - 1
"""Largest threshold, abstention margin and group size, with either sign: engines compute with 64
bits, and sums and differences of two such integers must not wrap."""

MAX_BITS = 32
"""Most bits of a feature."""

MAX_INPUTS = 2**31 - 1
"""Most input nets: nets are numbered with 64 bits, and one sample should fit into memory."""
