"""JSON that is read with care: every member is checked, and an error says where it stands."""

import json
import math
import re
from collections import Counter
from typing import Any, NoReturn

import numpy as np

from trilut.circuit.limits import MAX_INTEGER, MAX_VALUES
from trilut.errors import FormatError
from trilut.files import check_nesting

__all__ = [
    "elements",
    "integer",
    "integers",
    "member",
    "most_values",
    "number",
    "parse_document",
    "short",
]

# Where half of a character could be: in an escape, or in the text itself.
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")


def parse_document(text: str) -> Any:
    """Read JSON; what is returned can be written again."""
    if most_values(text) > MAX_VALUES:
        raise FormatError(f"Not a netlist: more than {MAX_VALUES} values")
    try:
        document = json.loads(
            text,
            parse_constant=_refuse_constant,
            parse_float=_finite,
            object_pairs_hook=_with_different_keys,
        )
        check_nesting(document)
        if _SURROGATE.search(text):
            json.dumps(document, ensure_ascii=False).encode()
    except RecursionError as error:
        raise FormatError("Not JSON: nested too deeply") from error
    except json.JSONDecodeError as error:
        raise FormatError(
            f"Not JSON: {error.msg} at line {error.lineno} column {error.colno}"
        ) from error
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        raise FormatError(f"Not Unicode: {half!r} is half of a character") from error
    except ValueError as error:
        # Python refuses it, because the time would grow with the square of the digits.
        raise FormatError("An integer has thousands of digits, too many to read") from error
    return document


def most_values(text: str) -> int:
    """Count the values of JSON before they are made: brackets and commas in strings are few."""
    return sum(map(text.count, "[{,"))


def _with_different_keys(members: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(members)
    if len(document) < len(members):
        counts = Counter(key for key, _ in members)
        (key, _), *_ = counts.most_common(1)
        raise FormatError(f"An object has the key {short(key)} more than once")
    return document


def _refuse_constant(constant: str) -> NoReturn:
    raise FormatError(f"Not JSON: {constant} is not a number")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise FormatError(f"{_cut(text)} is too large for a number")
    return value


def member(document: dict[str, Any], key: str, kind: type | tuple[type, ...], where: str) -> Any:
    """Return a member of a JSON object after checking its type."""
    path = f"{where}.{key}" if where else key
    if key not in document:
        raise FormatError(f"{path!r} is missing")
    value = document[key]
    kinds = kind if isinstance(kind, tuple) else (kind,)
    # In Python a bool is an int; in JSON it is not a number.
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        expected = " or ".join(_JSON_NAMES[kind] for kind in kinds)
        raise FormatError(f"{path!r} is {short(value)}, expected {expected}")
    return value


def number(document: dict[str, Any], key: str, where: str) -> float:
    """Return a member that is a number."""
    value = member(document, key, (float, int), where)
    try:
        return float(value)
    except OverflowError:
        raise FormatError(f"'{where}.{key}' is {short(value)}, too large for a number") from None


_JSON_NAMES: dict[type, str] = {
    bool: "true or false",
    dict: "an object",
    float: "a number",
    int: "an integer",
    list: "an array",
    str: "a string",
    type(None): "null",
}


def short(value: object) -> str:
    """Write a value for a message, cut if it is long."""
    return _cut(json.dumps(value))


def _cut(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


def elements(document: dict[str, Any], key: str, kind: type, where: str) -> list[Any]:
    """Return a member that is an array of values of one type."""
    values: list[Any] = member(document, key, list, where)
    for index, value in enumerate(values):
        if type(value) is not kind:
            path = f"{where}.{key}[{index}]" if where else f"{key}[{index}]"
            raise FormatError(f"{path!r} is {short(value)}, expected {_JSON_NAMES[kind]}")
    return values


def integers(document: dict[str, Any], key: str, where: str) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return a member that is an array of integers, none too large."""
    values = elements(document, key, int, where)
    for index, value in enumerate(values):
        if not -MAX_INTEGER <= value <= MAX_INTEGER:
            path = f"{where}.{key}[{index}]" if where else f"{key}[{index}]"
            raise FormatError(f"{path!r} is {short(value)}, expected {-MAX_INTEGER}…{MAX_INTEGER}")
    return np.array(values, dtype=np.int64)


def integer(
    document: dict[str, Any], key: str, where: str, most: int = MAX_INTEGER, *, least: int = 1
) -> int:
    """Return a member that is an integer within bounds."""
    value: int = member(document, key, int, where)
    if not least <= value <= most:
        path = f"{where}.{key}" if where else key
        raise FormatError(f"{path!r} is {short(value)}, expected {least}…{most}")
    return value
