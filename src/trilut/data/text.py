"""Lines of a text file as people have them: compressed or not, UTF-8, UTF-16 or Latin-1."""

import codecs
import gzip
import io
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from trilut.errors import DataError, FormatError

__all__ = ["Progress", "TextLines", "open_lines"]

_PIECE = 1 << 20
# A line of a hundred thousand cells is shorter.
_LONGEST_LINE = 16 << 20

Progress = Callable[[int, int], None]
"""What is called with what has been read, and all that there is."""


class TextLines:
    """The lines of a file, each with its end, as an iterator that holds little of it.

    Parameters
    ----------
    title : str
        What messages call the file.
    stream : buffered reader
        The file as it lies on the disk.
    size : int
        Its size in bytes, 0 if that is not known.
    progress : callable, optional
        Called with the number of bytes that have been read, and the size.
    most : int, optional
        Most bytes of a compressed file, which can hold a thousand times its size.

    Attributes
    ----------
    notes : list of str
        What to tell the user.
    """

    def __init__(
        self,
        title: str,
        stream: io.BufferedReader,
        size: int = 0,
        progress: Progress | None = None,
        most: int | None = None,
    ):
        self.title = title
        self.notes: list[str] = []
        self._stream = stream
        self._size = size
        self._progress = progress
        self._most = most
        self._lines = self._split()

    def __iter__(self) -> Iterator[str]:
        return self._lines

    def _split(self) -> Iterator[str]:
        rest = ""
        for text in self._texts():
            if "\0" in text:
                raise DataError(f"{self.title!r} is not text: it holds NUL characters")
            rest += text
            end = rest.rfind("\n") + 1
            yield from io.StringIO(rest[:end], newline="")
            rest = rest[end:]
            if len(rest) > _LONGEST_LINE:
                raise DataError(
                    f"{self.title!r} has a line of more than {_LONGEST_LINE} characters"
                )
        yield from io.StringIO(rest, newline="")

    def _texts(self) -> Iterator[str]:
        decode: _Decoder | None = None
        for piece in self._pieces():
            decode = decode or _Decoder(self, piece[:2])
            yield decode(piece, is_last=False)
        if decode is not None:
            yield decode(b"", is_last=True)

    def _pieces(self) -> Iterator[bytes]:
        is_compressed = self._stream.peek(2)[:2] == b"\x1f\x8b"
        source = gzip.GzipFile(fileobj=self._stream) if is_compressed else self._stream
        try:
            total = 0
            while piece := source.read(_PIECE):
                total += len(piece)
                if is_compressed and self._most is not None and total > self._most:
                    raise FormatError(f"{self.title!r} holds more than {self._most >> 20} MiB")
                yield piece
                if self._progress and self._size:
                    self._progress(self._stream.tell(), self._size)
        except (OSError, EOFError, zlib.error) as error:
            if is_compressed:
                what = f"{self.title!r} is not a complete gzip file: {error}"
            else:
                what = f"Cannot read {self.title!r}: {getattr(error, 'strerror', None) or error}"
            raise FormatError(what) from error


class _Decoder:
    """Bytes to text: UTF-16 by its mark, UTF-8, or Latin-1 if the first odd byte is none of that.

    What begins with UTF-8 beyond ASCII and then is none is broken, and not Latin-1.
    """

    def __init__(self, lines: TextLines, mark: bytes):
        self._lines = lines
        is_wide = mark in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
        self._name = "UTF-16" if is_wide else "UTF-8"
        encoding = "utf-16" if is_wide else "utf-8-sig"
        self._decoder: codecs.IncrementalDecoder = codecs.getincrementaldecoder(encoding)()
        self._is_ascii = not is_wide

    def __call__(self, piece: bytes, *, is_last: bool) -> str:
        pending = self._decoder.getstate()[0]
        try:
            text = self._decoder.decode(piece, final=is_last)
        except UnicodeDecodeError as error:
            return self._latin(pending + piece, error)
        self._is_ascii = self._is_ascii and text.isascii()
        return text

    def _latin(self, data: bytes, error: UnicodeDecodeError) -> str:
        if not (self._is_ascii and data[: error.start].isascii()):
            title = self._lines.title
            raise DataError(f"{title!r} is not {self._name} text: {error.reason}") from error
        self._lines.notes.append(f"{self._lines.title!r} is not UTF-8, so it is read as Latin-1")
        # What Windows calls Latin-1 has letters where the standard has control characters.
        self._decoder = codecs.getincrementaldecoder("cp1252")(errors="replace")
        return self._decoder.decode(data)


@contextmanager
def open_lines(
    path: Path, progress: Progress | None = None, *, most: int | None = None
) -> Iterator[TextLines]:
    """Open a file of text, compressed with gzip or not; ``-`` is what is piped in.

    The options are those of :class:`TextLines`.

    Raises
    ------
    FormatError
        If it cannot be read. The lines raise it, too.
    DataError
        The lines raise it if it is not text.
    """
    if str(path) == "-":
        yield TextLines("stdin", cast(io.BufferedReader, sys.stdin.buffer))
        return
    try:
        stream = path.open("rb")
    except OSError as error:
        raise FormatError(f"Cannot read {str(path)!r}: {error.strerror}") from error
    with stream:
        yield TextLines(str(path), stream, path.stat().st_size, progress, most)
