"""Numbers in the name of a data set: ``moons:noise=.2,train=500``."""

import difflib
import math
from dataclasses import dataclass

from trilut.errors import DataError

__all__ = ["Number", "Parameter", "parse_parameters"]

Number = float
"""An integer where the default is one."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A number that may be chosen.

    Parameters
    ----------
    name : str
        What stands before the equals sign.
    default : float
        Its value if it is left out. An integer makes it an integer.
    lowest, highest : float
        The range.
    """

    name: str
    default: Number
    lowest: float
    highest: float = math.inf

    def parse(self, name: str, text: str) -> Number:
        """Read the number from the name of a data set.

        Raises
        ------
        DataError
            If it is no number of the kind, or out of its range.
        """
        is_count = isinstance(self.default, int)
        try:
            value: Number = int(text) if is_count else float(text)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and self.lowest <= value <= self.highest):
            wanted = "an integer" if is_count else "a number"
            highest = "" if self.highest == math.inf else f" and at most {self.highest:g}"
            raise DataError(
                f"Data set {name!r} has {self.name} {text!r}, "
                f"expected {wanted} of at least {self.lowest:g}{highest}"
            )
        return value


def parse_parameters(name: str, text: str, parameters: tuple[Parameter, ...]) -> dict[str, Number]:
    """Read ``key=value,key=value``; what is left out has its default.

    Parameters
    ----------
    name : str
        The whole name of the data set, for messages.
    text : str
        What stands behind the colon; may be empty.
    parameters : tuple of Parameter
        What there is to choose.

    Raises
    ------
    DataError
        If a key is not known or comes twice, or if a value is wrong.
    """
    known = {parameter.name: parameter for parameter in parameters}
    chosen: dict[str, Number] = {}
    for item in text.split(",") if text else []:
        key, equals, value = (part.strip() for part in item.partition("="))
        if key not in known or not equals:
            close = difflib.get_close_matches(key, known, n=1)
            hint = f"; did you mean {close[0]!r}?" if close and close[0] != key else ""
            wanted = f"key=value with one of {', '.join(known)}" if known else "no colon"
            raise DataError(
                f"Data set {name!r} has {item!r} behind its colon, expected {wanted}{hint}"
            )
        if key in chosen:
            raise DataError(f"Data set {name!r} has {key} twice, expected it once")
        chosen[key] = known[key].parse(name, value)
    return {key: chosen.get(key, parameter.default) for key, parameter in known.items()}
