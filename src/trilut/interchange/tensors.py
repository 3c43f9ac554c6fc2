"""Arrays in files of PyTorch and of safetensors, read without PyTorch and without running anything.

A file of PyTorch is an archive of raw numbers and one pickle. A pickle is a program for a small
machine that can call any function of Python. This reader is that machine without the calls: what
the pickle would import is a name here, what it would call is a record of the call, and only the
calls that make tensors and ordered dictionaries mean something.
"""

import io
import math
import pickletools
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trilut.errors import FormatError
from trilut.files import parse_json

__all__ = ["Object", "read_pytorch", "read_safetensors"]

# Elements of a tensor: one that repeats its storage can be as large as it likes.
_MOST = 1 << 27

Tensor = NDArray[np.generic]

_STORAGES = {
    "DoubleStorage": "<f8",
    "FloatStorage": "<f4",
    "HalfStorage": "<f2",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ShortStorage": "<i2",
    "CharStorage": "|i1",
    "ByteStorage": "|u1",
    "BoolStorage": "|b1",
}
_SAFE = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "|i1",
    "U8": "|u1",
    "BOOL": "|b1",
}
_DAMAGED = (
    *(ValueError, IndexError, KeyError, TypeError, AttributeError, AssertionError, EOFError),
    *(OverflowError, UnicodeDecodeError, RuntimeError, NotImplementedError, MemoryError),
    *(struct.error, zipfile.BadZipFile, zlib.error),
)


def read_safetensors(content: bytes, title: str) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Read a file of safetensors; return its arrays, and the texts that it says of itself.

    Raises
    ------
    FormatError
        If it is no such file; ``title`` names it.
    """
    try:
        (length,) = struct.unpack("<Q", content[:8])
        header = parse_json(content[8 : 8 + length], title)
        data = content[8 + length :]
        about = header.pop("__metadata__", {})
        return {name: _safe_tensor(data, entry) for name, entry in header.items()}, about
    except _DAMAGED as error:
        raise FormatError(f"{title!r} is not a complete file of safetensors") from error


def _safe_tensor(data: bytes, entry: Mapping[str, Any]) -> Tensor:
    start, end = entry["data_offsets"]
    shape = tuple(entry["shape"])
    dtype = np.dtype(_SAFE[entry["dtype"]])
    if not 0 <= start <= end <= len(data) or end - start != math.prod(shape) * dtype.itemsize:
        raise ValueError
    return np.frombuffer(data[start:end], dtype=dtype).reshape(shape)


@dataclass(frozen=True, slots=True)
class _Name:
    """What a pickle would import."""

    module: str
    name: str


@dataclass(slots=True, eq=False)
class Object:
    """What a pickle would make by a call that means nothing here.

    Parameters
    ----------
    kind : str
        The class or function, with its module.
    state : object
        What its attributes would be set from.
    """

    kind: str
    state: Any = field(default=None)

    @property
    def attributes(self) -> dict[Any, Any]:
        """The attributes; none if there is something else."""
        return self.state if isinstance(self.state, dict) else {}


def read_pytorch(content: bytes, title: str) -> Any:
    """Read what ``torch.save`` has written: dictionaries, lists, arrays, and :class:`Object`.

    Raises
    ------
    FormatError
        If it is no such file, or one of a form that this reader does not know.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return _read_archive(archive, len(content))
    except _DAMAGED as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise FormatError(
            f"{title!r} is not a file of torch.save that can be read: {reason}"
        ) from error


def _read_archive(archive: zipfile.ZipFile, size: int) -> Any:
    members = {member.filename: member for member in archive.infolist()}
    (place,) = (name.removesuffix("data.pkl") for name in members if name.endswith("/data.pkl"))
    # Its numbers are stored as they are, so there cannot be more than the file has.
    if sum(member.file_size for member in members.values()) > size:
        raise ValueError("it is compressed")

    def storage(key: tuple[Any, ...]) -> Tensor:
        kind, which, number = key[:3]
        if kind != "storage" or which.name not in _STORAGES:
            raise ValueError(f"unknown storage {which}")
        return np.frombuffer(archive.read(f"{place}data/{number}"), dtype=_STORAGES[which.name])

    return _Machine(storage).run(archive.read(f"{place}data.pkl"))


def _tensor(storage: Tensor, offset: int, size: tuple[int, ...], stride: tuple[int, ...]) -> Tensor:
    """Return a view of a storage, if it lies within it."""
    last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    count = math.prod(size)
    if min((offset, *size, *stride)) < 0 or (count and last >= len(storage)) or count > _MOST:
        raise ValueError("a tensor lies outside of its storage")
    steps = [step * storage.itemsize for step in stride]
    return np.lib.stride_tricks.as_strided(storage[offset:], size, steps).copy()


class _Machine:
    """The machine of a pickle, which calls nothing."""

    def __init__(self, storage: Callable[[tuple[Any, ...]], Tensor]) -> None:
        self._storage = storage
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}

    def run(self, program: bytes) -> Any:
        for opcode, argument, _ in pickletools.genops(program):
            if opcode.name == "STOP":
                return self._stack.pop()
            if opcode.name in _PUSHED:
                self._stack.append(argument)
            elif opcode.name in _CONSTANTS:
                self._stack.append(_CONSTANTS[opcode.name]())
            else:
                step = getattr(self, f"_{opcode.name.lower()}", None)
                if step is None:
                    raise ValueError(f"unknown instruction {opcode.name}")
                step(argument)
        raise ValueError("the pickle does not end")

    def _since_mark(self) -> list[Any]:
        start = self._marks.pop()
        items = self._stack[start:]
        del self._stack[start:]
        return items

    def _proto(self, _: Any) -> None: ...

    def _frame(self, _: Any) -> None: ...

    def _mark(self, _: Any) -> None:
        self._marks.append(len(self._stack))

    def _pop(self, _: Any) -> None:
        self._stack.pop()

    def _binput(self, place: int) -> None:
        self._memo[place] = self._stack[-1]

    _long_binput = _binput

    def _memoize(self, _: Any) -> None:
        self._memo[len(self._memo)] = self._stack[-1]

    def _binget(self, place: int) -> None:
        self._stack.append(self._memo[place])

    _long_binget = _binget

    def _tuple(self, _: Any) -> None:
        self._stack.append(tuple(self._since_mark()))

    def _tuple_of(self, count: int) -> None:
        items = tuple(self._stack[-count:])
        del self._stack[-count:]
        self._stack.append(items)

    def _tuple1(self, _: Any) -> None:
        self._tuple_of(1)

    def _tuple2(self, _: Any) -> None:
        self._tuple_of(2)

    def _tuple3(self, _: Any) -> None:
        self._tuple_of(3)

    def _append(self, _: Any) -> None:
        item = self._stack.pop()
        self._stack[-1].append(item)

    def _appends(self, _: Any) -> None:
        items = self._since_mark()
        self._stack[-1].extend(items)

    def _additems(self, _: Any) -> None:
        self._since_mark()

    def _setitem(self, _: Any) -> None:
        value, key = self._stack.pop(), self._stack.pop()
        self._set([key, value])

    def _setitems(self, _: Any) -> None:
        self._set(self._since_mark())

    def _set(self, items: list[Any]) -> None:
        if isinstance(self._stack[-1], dict):
            self._stack[-1].update(zip(items[::2], items[1::2], strict=True))

    def _global(self, argument: str) -> None:
        module, name = argument.split(" ")
        self._stack.append(_Name(module, name))

    def _stack_global(self, _: Any) -> None:
        name, module = self._stack.pop(), self._stack.pop()
        self._stack.append(_Name(module, name))

    def _binpersid(self, _: Any) -> None:
        self._stack.append(self._storage(self._stack.pop()))

    def _reduce(self, _: Any) -> None:
        arguments, function = self._stack.pop(), self._stack.pop()
        self._stack.append(_called(function, arguments))

    _newobj = _reduce

    def _build(self, _: Any) -> None:
        state = self._stack.pop()
        if isinstance(self._stack[-1], Object):
            self._stack[-1].state = state


def _called(function: Any, arguments: tuple[Any, ...]) -> Any:
    """Return what a call means here."""
    if function == _Name("collections", "OrderedDict") and not arguments:
        return {}
    if function == _Name("torch._utils", "_rebuild_tensor_v2"):
        return _tensor(*arguments[:4])
    if function == _Name("torch._utils", "_rebuild_parameter"):
        return arguments[0]
    kind = f"{function.module}.{function.name}" if isinstance(function, _Name) else "?"
    return Object(kind)


_PUSHED = {
    *("BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE"),
    *("BINBYTES", "SHORT_BINBYTES"),
}
_CONSTANTS: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_DICT": dict,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
    "EMPTY_SET": set,
}
