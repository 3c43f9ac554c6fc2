import re

import pytest

from trilut.errors import FormulaError
from trilut.temporal.counter import LONGEST, counter


def numbers(first, last, polynomial):
    number, degree = first, polynomial.bit_length() - 1
    yield number
    while number != last:
        number <<= 1
        number ^= polynomial if number >> degree else 0
        yield number


@pytest.mark.parametrize("steps", [1, 2, 3, 4, 5, 7, 8, 17, 1000, 1023, 1024, 65_535, 1_000_000])
def test_counter_is_at_its_last_number_after_as_many_steps(steps):
    assert sum(1 for _ in numbers(*counter(steps))) == steps


def prime_factors(number):
    factor = 2
    while factor * factor <= number:
        while number % factor == 0:
            yield factor
            number //= factor
        factor += 1
    if number > 1:
        yield number


def product(a, b, polynomial):
    degree, result = polynomial.bit_length() - 1, 0
    for place in reversed(range(degree)):
        result <<= 1
        result ^= polynomial if result >> degree else 0
        result ^= a if b >> place & 1 else 0
    return result


def power(exponent, polynomial):
    result, square = 1, 2
    while exponent:
        result = product(result, square, polynomial) if exponent & 1 else result
        square = product(square, square, polynomial)
        exponent >>= 1
    return result


@pytest.mark.parametrize("degree", range(2, 33))
def test_counter_returns_after_all_numbers_but_0(degree):
    most = (1 << degree) - 1
    polynomial = counter(most)[2]
    assert polynomial.bit_length() - 1 == degree
    assert power(most, polynomial) == 1
    for factor in set(prime_factors(most)):
        assert power(most // factor, polynomial) != 1


def test_longest_counter():
    assert counter(LONGEST)[2].bit_length() == 33
    message = f"A window of {LONGEST + 1} steps is too long, expected at most {LONGEST}"
    with pytest.raises(FormulaError, match=f"^{re.escape(message)}$"):
        counter(LONGEST + 1)
