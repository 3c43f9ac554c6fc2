"""Integers and arrays as C writes them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Integers", "array"]

_PER_LINE = 16


@dataclass(frozen=True, slots=True)
class Integers:
    """A range of integers, and the narrowest types that hold it."""

    lowest: int
    highest: int

    @property
    def type(self) -> str:
        """The type of a value."""
        if 0 <= self.lowest <= self.highest < 256:
            return "uint8_t"
        for bits in (8, 16, 32):
            if -(1 << bits - 1) <= self.lowest and self.highest < 1 << bits - 1:
                return f"int{bits}_t"
        return "int64_t"

    @property
    def index(self) -> str:
        """The type of a number that counts from 0."""
        return "uint16_t" if self.highest < 1 << 16 else "uint32_t"


def array(
    kind: str, name: str, numbers: Sequence[int] | NDArray[np.integer] | NDArray[np.bool_]
) -> str:
    """Write a constant array of numbers, or of rows of numbers."""
    values = np.asarray(numbers)
    texts = [_item(value) for value in values.tolist()]
    rows = [texts[start : start + _PER_LINE] for start in range(0, len(texts), _PER_LINE)]
    lines = ",\n".join(f"    {', '.join(row)}" for row in rows)
    width = "" if values.ndim == 1 else f"[{values.shape[1]}]"
    return f"static const {kind} {name}[]{width} = {{\n{lines}\n}};"


def _item(value: int | list[int]) -> str:
    return str(int(value)) if isinstance(value, int) else f"{{{', '.join(map(str, value))}}}"
