"""The trit in hardware: a code of two bits, one a plane, the same in every port and layer.

The planes are *plus* = [v = +1] and *minus* = [v = −1]. A pair of them is written plus first, as in
the Verilog ``{plus, minus}``: plus is bit 1 of the code and minus is bit 0. Both at once is illegal
and never made.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["CODES", "ILLEGAL", "MINUS", "PLUS", "TRIT_BITS", "Bits", "pack_trits", "unpack_trits"]

Bits = NDArray[np.uint8]
"""A bit matrix: zeros and ones [vector, bit], bit 0 the least significant."""

TRIT_BITS = 2
PLUS, MINUS = 1, 0
"""Which bit of the code a plane is."""
CODES = {-1: 1 << MINUS, 0: 0, 1: 1 << PLUS}
ILLEGAL = 0b11


def pack_trits(trits: ArrayLike) -> Bits:
    """Pack trits [vector, trit] by their codes, trit 0 in the lowest bits."""
    values = np.asarray(trits)
    bits = np.empty((*values.shape, TRIT_BITS), dtype=np.uint8)
    bits[..., PLUS] = values > 0
    bits[..., MINUS] = values < 0
    return bits.reshape(len(values), TRIT_BITS * values.shape[1])


def unpack_trits(bits: Bits) -> NDArray[np.int8]:
    """Read trits [vector, trit]; the illegal code gives 2."""
    pairs = bits.reshape(len(bits), bits.shape[1] // TRIT_BITS, TRIT_BITS).astype(np.int8)
    trits = pairs[..., PLUS] - pairs[..., MINUS]
    return np.where(pairs.all(axis=-1), np.int8(2), trits)
