"""Files of images: IDX as MNIST has it, and the batches of CIFAR-10."""

import io
import math
import pickle
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trilut.errors import FormatError

__all__ = [
    "CIFAR10_CLASSES",
    "Bytes",
    "colour_names",
    "parse_cifar_binary",
    "parse_cifar_pickle",
    "parse_idx",
    "pixel_names",
]

Bytes = NDArray[np.uint8]

CIFAR10_CLASSES = (
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
)

# Bytes of an image: three planes of 32 × 32.
_CIFAR_SIZE = 3 * 32 * 32

# Third byte of an IDX file: unsigned bytes. Images and their labels are never stored otherwise.
_IDX_UNSIGNED_BYTE = 8


def pixel_names(rows: int, columns: int) -> tuple[str, ...]:
    """Return the names of the features of a grey image, row by row."""
    return tuple(f"pixel_{row}_{column}" for row in range(rows) for column in range(columns))


def colour_names(rows: int, columns: int) -> tuple[str, ...]:
    """Return the names of the features of a coloured image, plane by plane as CIFAR has them."""
    return tuple(
        f"{colour}_{row}_{column}"
        for colour in ("red", "green", "blue")
        for row in range(rows)
        for column in range(columns)
    )


def parse_idx(content: bytes, title: str) -> Bytes:
    """Read an IDX file of unsigned bytes; ``title`` names it in messages.

    Raises
    ------
    FormatError
        If it is something else, or longer or shorter than its header says.
    """
    if len(content) < 4 or content[:3] != bytes([0, 0, _IDX_UNSIGNED_BYTE]):
        raise FormatError(
            f"{title!r} starts with {content[:4].hex(' ')!r}, "
            "expected '00 00 08' and the number of dimensions, as an IDX file of bytes does"
        )
    header = 4 + 4 * content[3]
    if len(content) < header:
        raise FormatError(
            f"{title!r} has {len(content)} bytes, but its header alone has {header}, "
            f"for {content[3]} dimensions"
        )
    shape = tuple(int(size) for size in np.frombuffer(content[4:header], dtype=">u4"))
    if len(content) - header != math.prod(shape):
        raise FormatError(
            f"{title!r} has {len(content)} bytes, expected {header + math.prod(shape)} "
            f"for the dimensions {'×'.join(map(str, shape))}"
        )
    return np.frombuffer(content, dtype=np.uint8, offset=header).reshape(shape)


def parse_cifar_binary(content: bytes, title: str) -> tuple[Bytes, Bytes]:
    """Read a binary batch of CIFAR-10; return images [sample, feature] and labels.

    Raises
    ------
    FormatError
        If the length is not that of whole images, or a label is above 9.
    """
    if len(content) == 0 or len(content) % (1 + _CIFAR_SIZE):
        raise FormatError(
            f"{title!r} has {len(content)} bytes, "
            f"expected a multiple of {1 + _CIFAR_SIZE} as a binary batch of CIFAR-10 has"
        )
    records = np.frombuffer(content, dtype=np.uint8).reshape(-1, 1 + _CIFAR_SIZE)
    return _checked_cifar(records[:, 1:], records[:, 0], title)


def parse_cifar_pickle(content: bytes, title: str) -> tuple[Bytes, Bytes]:
    """Read a Python batch of CIFAR-10; return images [sample, feature] and labels.

    Such a file is a pickle, which may name any function to be called when it is read. Here it gets
    the few names that an array needs, and they stand for code of ours that only keeps what it is
    given; so a file can do no more than be refused.

    Raises
    ------
    FormatError
        If it holds anything else than a batch of CIFAR-10.
    """
    try:
        batch = _BatchUnpickler(io.BytesIO(content), encoding="bytes").load()
        images, labels = batch[b"data"], batch[b"labels"]
        x = np.frombuffer(images.content, dtype=np.uint8).reshape(-1, _CIFAR_SIZE)
        y = np.array(labels, dtype=np.uint8)
    except FormatError as error:
        raise FormatError(f"{title!r} {error}") from error
    # What a damaged pickle raises is not documented beyond these.
    except (
        pickle.UnpicklingError,
        AttributeError,
        EOFError,
        ImportError,
        IndexError,
        KeyError,
        MemoryError,
        OverflowError,
        TypeError,
        ValueError,
        struct.error,
    ) as error:
        raise FormatError(f"{title!r} is not a Python batch of CIFAR-10") from error
    if y.shape != (len(x),):
        raise FormatError(f"{title!r} has {len(x)} images but labels of shape {y.shape}")
    return _checked_cifar(x, y, title)


def _checked_cifar(x: Bytes, y: Bytes, title: str) -> tuple[Bytes, Bytes]:
    for image in np.flatnonzero(y >= len(CIFAR10_CLASSES)):
        raise FormatError(f"{title!r} has the label {y[image]} at image {image}, expected 0…9")
    return x, y


class _Array:
    """What a pickle says of an array: its bytes, if it is an array of bytes."""

    def __init__(self, *arguments: object) -> None:
        self.content = b""

    def __setstate__(self, state: Any) -> None:
        _, _, dtype, is_fortran, content = state
        if not (isinstance(dtype, _Dtype) and dtype.is_bytes and not is_fortran):
            raise FormatError("has an array of something other than bytes, row by row")
        if not isinstance(content, bytes):
            raise FormatError("has an array without bytes")
        self.content = content


class _Dtype:
    """What a pickle says of a type."""

    def __init__(self, code: object = None, *arguments: object) -> None:
        self.is_bytes = code in (b"u1", "u1")

    def __setstate__(self, state: object) -> None:
        """Ignore byte order and alignment, which bytes do not have."""


def _encode(text: str, encoding: str) -> bytes:
    # How Python 3 writes bytes for Python 2.
    if encoding != "latin1":
        raise FormatError("has text that is not Latin-1")
    return text.encode(encoding)


_PICKLE_NAMES: dict[tuple[str, str], Callable[..., object]] = {
    ("_codecs", "encode"): _encode,
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy._core.multiarray", "_reconstruct"): _Array,
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Dtype,
}


class _BatchUnpickler(pickle._Unpickler):
    """Reads lists, dictionaries, text, numbers and bytes, and arrays as :class:`_Array`.

    The one in C takes gigabytes if a few bytes of a file ask it to; this one remembers in a
    dictionary.
    """

    def find_class(self, module: str, name: str) -> Callable[..., object]:
        if (module, name) not in _PICKLE_NAMES:
            raise FormatError(
                f"wants to call {f'{module}.{name}'!r}, which no batch of CIFAR-10 does"
            )
        return _PICKLE_NAMES[module, name]
