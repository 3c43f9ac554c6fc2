"""Arrays of a circuit: exact copies that nobody can change."""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trilut.errors import NetlistError

__all__ = ["frozen"]

_Integer = TypeVar("_Integer", bound=np.signedinteger[Any])


def frozen(values: ArrayLike, dtype: type[_Integer], title: str) -> NDArray[_Integer]:
    """Return integers that cannot be written; numpy alone would wrap or round what does not fit.

    Raises
    ------
    NetlistError
        If something is not an integer of that type; ``title`` says of what.
    """
    given = np.asarray(values)
    try:
        with np.errstate(invalid="ignore"):
            array = given.astype(dtype)
        fits = np.array_equal(array, given)
    except OverflowError:
        fits = False
    if not fits:
        raise NetlistError(f"{title} has other values than integers of {8 * dtype().itemsize} bits")
    array.flags.writeable = False
    return array
