"""Comparing a number with a constant in two steps of one LUT4 each."""

from functools import partial
from typing import Any

from amaranth.hdl import Const, Module, Signal

__all__ = ["DIGIT_BITS", "DigitComparator", "compared_bits"]

DIGIT_BITS = 4
"""How many bits a LUT4 can compare with a constant."""
# So few bits pass the register as they are, and are compared behind it.
_RAW_BITS = 2


def compared_bits(width: int, threshold: int) -> int:
    """Return how many bits of a number matter: not those below the threshold's lowest one."""
    return width - _trailing_zeros(threshold)


class DigitComparator:
    """Comparisons of one unsigned number with constants, with a register amid them.

    Digits are compared before the register and joined behind it, which for a number of up to eight
    bits takes a LUT4 of three inputs. Comparisons share what they can.

    Parameters
    ----------
    m : Module
        Where to build.
    name : str
        What the names of the registers begin with.
    number : Value
        The number.
    en : Value
        Enables the registers.
    """

    def __init__(self, m: Module, name: str, number: Any, en: Any):
        self._m = m
        self._name = name
        self._number = number
        self._en = en
        self._registers: dict[str, Any] = {}

    def reaches(self, threshold: int) -> Any:
        """Return whether the number was at or above a threshold one cycle ago.

        The threshold lies between 1 and the highest number.
        """
        reached: Any = None
        for low in range(_trailing_zeros(threshold), len(self._number), DIGIT_BITS):
            bits = self._number[low : low + DIGIT_BITS]
            digit = threshold >> low & (1 << len(bits)) - 1
            compare = partial(self._compare, f"{self._name}_{low + len(bits) - 1}_{low}", bits)
            if reached is None:
                reached = compare(digit)
            else:
                reached = compare(digit + 1) | (compare(digit) & reached)
        return reached

    def _compare(self, name: str, bits: Any, digit: int) -> Any:
        if digit in (0, 1 << len(bits)):
            return Const(digit == 0, 1)
        if len(bits) <= _RAW_BITS:
            return self._register(name, bits) >= digit
        return self._register(f"{name}_reach_{digit}", bits >= digit)

    def _register(self, name: str, content: Any) -> Any:
        if name not in self._registers:
            self._registers[name] = Signal(len(content), name=name, reset_less=True)
            with self._m.If(self._en):
                self._m.d.sync += self._registers[name].eq(content)
        return self._registers[name]


def _trailing_zeros(number: int) -> int:
    return (number & -number).bit_length() - 1
