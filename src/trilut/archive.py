"""Archives of arrays, ``.npz``: plain arrays only, and no larger than they may be."""

import struct
import tokenize
import zipfile
import zlib
from typing import IO

import numpy as np
from numpy.typing import NDArray

from trilut.errors import FormatError

__all__ = ["read_arrays"]

# What a damaged archive raises is not documented beyond these; zipfile calls a compression that it
# does not know, and a password, a RuntimeError.
_DAMAGED = (
    *(OSError, ValueError, EOFError, AttributeError, KeyError, RuntimeError, MemoryError),
    *(SyntaxError, struct.error, tokenize.TokenError, zipfile.BadZipFile, zlib.error),
)


def read_arrays(file: IO[bytes], title: str, most: int) -> dict[str, NDArray[np.generic]]:
    """Read the arrays of an open file, of at most so many bytes when they are decompressed.

    Raises
    ------
    FormatError
        If it is no such archive or larger, or holds Python objects, which could run code;
        ``title`` names the file.
    """
    try:
        # Of no file in it does a reader take more bytes than the list of the archive says.
        with zipfile.ZipFile(file) as archive:
            size = sum(member.file_size for member in archive.infolist())
        if size > most:
            raise FormatError(f"{title!r} holds more than {most >> 20} MiB")
        file.seek(0)
        with np.load(file, allow_pickle=False) as arrays:
            return {key: arrays[key] for key in arrays.files}
    except _DAMAGED as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise FormatError(f"{title!r} is not an .npz file of plain arrays: {reason}") from error
