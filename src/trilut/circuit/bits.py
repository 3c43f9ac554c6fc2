"""Integers as bits, and bits as text.

A batch of port values is a *bit matrix*: a uint8 array [vector, bit] of zeros and ones, bit 0 the
least significant. A simulator takes and gives a port value as text, most significant bit first.
"""

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trilut.circuit.trit import Bits

__all__ = [
    "bits_to_text",
    "pack_integers",
    "text_to_bits",
    "unpack_integers",
]


def pack_integers(
    values: ArrayLike, widths: Sequence[int], *, signed: bool | Sequence[bool]
) -> Bits:
    """Pack integers [vector, field] side by side, field 0 in the lowest bits, in two's complement.

    Raises
    ------
    ValueError
        If there are not as many fields as widths, or a value does not fit its field.
    """
    values = np.asarray(values, dtype=np.int64)
    if values.ndim != 2 or values.shape[1] != len(widths):
        raise ValueError(f"Values have shape {values.shape}, expected (vectors, {len(widths)})")
    signs = _signs(signed, len(widths))
    _check_fit(values, widths, signs)
    bits = np.empty((len(values), sum(widths)), dtype=np.uint8)
    for field, part in enumerate(_fields(widths)):
        bits[:, part] = values[:, field, None] >> np.arange(widths[field]) & 1
    return bits


def unpack_integers(
    bits: Bits, widths: Sequence[int], *, signed: bool | Sequence[bool]
) -> NDArray[np.int64]:
    """Read integers [vector, field] that stand side by side, field 0 in the lowest bits."""
    signs = _signs(signed, len(widths))
    values = np.empty((len(bits), len(widths)), dtype=np.int64)
    for field, part in enumerate(_fields(widths)):
        weights = 1 << np.arange(widths[field], dtype=np.int64)
        weights[-1] *= -1 if signs[field] else 1
        values[:, field] = bits[:, part] @ weights
    return values


def bits_to_text(bits: Bits) -> list[str]:
    """Write each vector as zeros and ones, most significant bit first."""
    width = bits.shape[1]
    text = (bits[:, ::-1] + np.uint8(ord("0"))).tobytes().decode("ascii")
    return [text[start : start + width] for start in range(0, len(bits) * width, width)]


def text_to_bits(texts: Sequence[str]) -> Bits:
    """Read vectors of equal width written as zeros and ones, most significant bit first.

    Raises
    ------
    ValueError
        If the widths differ or a character is neither 0 nor 1.
    """
    if len({len(text) for text in texts}) > 1:
        raise ValueError("Texts have different widths, expected the same number of bits in each")
    codes = np.frombuffer("".join(texts).encode(), dtype=np.uint8)
    bits = codes - np.uint8(ord("0"))
    if np.any(bits > 1):
        raise ValueError(f"Text holds {chr(codes[bits > 1][0])!r}, expected zeros and ones")
    return bits.reshape(len(texts), -1)[:, ::-1] if texts else np.empty((0, 0), dtype=np.uint8)


def _signs(signed: bool | Sequence[bool], num_fields: int) -> Sequence[bool]:
    return [signed] * num_fields if isinstance(signed, bool) else signed


def _fields(widths: Sequence[int]) -> list[slice]:
    ends = list(accumulate(widths))
    return [slice(end - width, end) for end, width in zip(ends, widths, strict=True)]


def _check_fit(values: NDArray[np.int64], widths: Sequence[int], signs: Sequence[bool]) -> None:
    spans = [1 << width for width in widths]
    lows = [-(span // 2) if sign else 0 for span, sign in zip(spans, signs, strict=True)]
    outside = (values < lows) | (values >= np.add(lows, spans))
    for vector, field in np.argwhere(outside):
        raise ValueError(
            f"Value {values[vector, field]} of vector {vector} does not fit the {widths[field]} "
            f"{'signed' if signs[field] else 'unsigned'} bits of field {field}"
        )
