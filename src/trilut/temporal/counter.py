"""Counters without carries: a shift register with feedback that goes through all numbers but 0.

The digits of a number are the coefficients of a polynomial over two values, and a step multiplies
it by x, modulo a primitive polynomial. So a digit depends on two digits, however long the counter
is, where the highest digit of a binary counter depends on all others.
"""

from trilut.errors import FormulaError

__all__ = ["LONGEST", "counter"]

# The exponents between the highest and 0 of a primitive polynomial of each degree from 2 on.
_EXPONENTS: dict[int, tuple[int, ...]] = {
    2: (1,),
    3: (2,),
    4: (3,),
    5: (3,),
    6: (5,),
    7: (6,),
    8: (6, 5, 4),
    9: (5,),
    10: (7,),
    11: (9,),
    12: (6, 4, 1),
    13: (4, 3, 1),
    14: (5, 3, 1),
    15: (14,),
    16: (15, 13, 4),
    17: (14,),
    18: (11,),
    19: (6, 2, 1),
    20: (17,),
    21: (19,),
    22: (21,),
    23: (18,),
    24: (23, 22, 17),
    25: (22,),
    26: (6, 2, 1),
    27: (5, 2, 1),
    28: (25,),
    29: (27,),
    30: (6, 4, 1),
    31: (28,),
    32: (22, 2, 1),
}

LONGEST = (1 << max(_EXPONENTS)) - 1
"""The most steps that a counter can count."""


def counter(steps: int) -> tuple[int, int, int]:
    """Return the first and the last number of a counter that counts steps, and its polynomial.

    It has as few digits as that takes; the first number is that of the first step.

    Raises
    ------
    FormulaError
        If there is none that counts so many.
    """
    if steps > LONGEST:
        raise FormulaError(f"A window of {steps} steps is too long, expected at most {LONGEST}")
    degree = max(2, steps.bit_length())
    polynomial = sum(1 << place for place in (degree, *_EXPONENTS[degree], 0))
    return 1, _power(steps - 1, polynomial), polynomial


def _power(exponent: int, polynomial: int) -> int:
    """Return x to a power, modulo a polynomial."""
    result = 1
    for digit in f"{exponent:b}":
        result = _product(result, result, polynomial)
        if digit == "1":
            result = _product(result, 2, polynomial)
    return result


def _product(a: int, b: int, polynomial: int) -> int:
    result = 0
    while b:
        if b & 1:
            result ^= a
        a <<= 1
        if a.bit_length() == polynomial.bit_length():
            a ^= polynomial
        b >>= 1
    return result
