"""Reading files, and writing them so that they are either old, or new and complete."""

import gzip
import io
import json
import os
import stat
import sys
import tempfile
import tomllib
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from trilut.errors import FormatError, ToolError
from trilut.scratch import scratch_directory

__all__ = [
    "cache_directory",
    "check_nesting",
    "decompress",
    "keep_logs",
    "make_directory",
    "open_atomically",
    "parse_json",
    "parse_toml",
    "read_bytes",
    "work_directory",
    "write_atomically",
]

_PIECE = 1 << 20
# What people and programs write is not deeper; every reader of it is then safe to be recursive.
_MAX_NESTING = 100
# The reader's memory grows with the square of the length of a dotted name.
_MAX_TOML_LINE = 1000


def write_atomically(path: Path, content: bytes | str) -> None:
    """Write a file under a temporary name and rename it when it is complete.

    A symbolic link stays, and the file that it points to is written.

    Raises
    ------
    FormatError
        If the file cannot be written, or is there and not a regular one, but a pipe or a device.
    """
    data = content.encode(errors="backslashreplace") if isinstance(content, str) else content
    with open_atomically(path) as file:
        file.write(data)


@contextmanager
def open_atomically(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for writing under a temporary name, which is renamed when all is written.

    Raises
    ------
    FormatError
        If the file cannot be written, or is there and not a regular one, but a pipe or a device.
    """
    target = _behind_links(path)
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:64]}.")
    except OSError as error:
        raise FormatError(f"Cannot write {str(path)!r}: {error.strerror}") from error
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        # One of another file, which is read meanwhile, has a name of its own.
        if isinstance(error, OSError) and error.filename in (None, temporary, str(target)):
            raise FormatError(f"Cannot write {str(path)!r}: {error.strerror}") from error
        raise


def _behind_links(path: Path) -> Path:
    """Return the file to replace; only a regular one can be, because a new one is such."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        mode = stat.S_IFREG
    except OSError as error:
        raise FormatError(f"Cannot write {str(path)!r}: {error.strerror}") from error
    # For a directory the system has words of its own.
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise FormatError(f"Cannot write {str(path)!r}: Not a regular file")
    return Path(os.path.realpath(path))


def read_bytes(path: Path, most: int | None = None) -> bytes:
    """Read a whole file, of at most so many bytes.

    Raises
    ------
    FormatError
        If the file cannot be read, or is larger.
    """
    try:
        with path.open("rb") as file:
            return file.read() if most is None else _read(file, str(path), most)
    except OSError as error:
        raise FormatError(f"Cannot read {str(path)!r}: {error.strerror}") from error


def decompress(content: bytes, title: str, most: int) -> bytes:
    """Return what a file holds, compressed with gzip or not, of at most so many bytes.

    What is larger is not read to its end: a compressed file can be a thousand times as large.

    Raises
    ------
    FormatError
        If it is larger, or compressed and damaged; ``title`` names the file.
    """
    if not content.startswith(b"\x1f\x8b"):
        return _checked_size(content, title, most)
    try:
        return _read(gzip.GzipFile(fileobj=io.BytesIO(content)), title, most)
    except (OSError, EOFError, zlib.error) as error:
        raise FormatError(f"{title!r} is not a complete gzip file: {error}") from error


def _read(file: io.BufferedIOBase, title: str, most: int) -> bytes:
    content = io.BytesIO()
    while content.tell() <= most and (piece := file.read(_PIECE)):
        content.write(piece)
    return _checked_size(content.getvalue(), title, most)


def _checked_size(content: bytes, title: str, most: int) -> bytes:
    if len(content) > most:
        raise FormatError(f"{title!r} holds more than {most >> 20} MiB")
    return content


def parse_json(content: bytes, title: str) -> Any:
    """Read JSON; the title is what an error calls it.

    Raises
    ------
    FormatError
        If it is something else, or nested too deeply.
    """
    try:
        document = json.loads(content)
        check_nesting(document)
    # Not JSON, not Unicode, or an integer of thousands of digits.
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{title} is not JSON: {_reason(error)}") from error
    return document


def check_nesting(document: object) -> None:
    """Check that containers do not stand in each other more than a hundred deep.

    Raises
    ------
    RecursionError
        If they do, as readers raise it themselves a little later.
    """
    level = [document]
    for _ in range(_MAX_NESTING + 1):
        containers = [value for value in level if isinstance(value, (dict, list))]
        level = [
            member
            for value in containers
            for member in (value.values() if isinstance(value, dict) else value)
        ]
        if not level:
            return
    raise RecursionError


def _reason(error: Exception) -> str:
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)


def parse_toml(content: bytes, title: str) -> dict[str, Any]:
    """Read TOML; the title is what an error calls it.

    Raises
    ------
    FormatError
        If it is something else, nested too deeply, or has a line that is too long.
    """
    try:
        text = content.decode()
        for number, line in enumerate(text.split("\n"), start=1):
            if len(line) > _MAX_TOML_LINE:
                raise FormatError(
                    f"{title} has {len(line)} characters in line {number}, "
                    f"expected at most {_MAX_TOML_LINE}"
                )
        document = tomllib.loads(text)
        check_nesting(document)
    # Not TOML, not Unicode, or an integer of thousands of digits.
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{title} is not TOML: {_reason(error)}") from error
    return document


def cache_directory() -> Path:
    """Return the directory for what is downloaded: TRILUT_CACHE, or where such things are kept."""
    if chosen := os.environ.get("TRILUT_CACHE"):
        return Path(chosen)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "trilut"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "trilut" / "Cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "trilut"


def make_directory(path: Path) -> Path:
    """Make a directory and its parents, and return it.

    Raises
    ------
    FormatError
        If it cannot be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FormatError(f"Cannot make directory {str(path)!r}: {error.strerror}") from error
    return path


@contextmanager
def work_directory(parent: Path, *, logs: Path | None = None) -> Iterator[Path]:
    """Give a new directory inside ``parent`` that is removed at the end, however that comes.

    If the process is killed, the next one that works in ``parent`` removes it.

    Parameters
    ----------
    parent : Path
        Where to make it.
    logs : Path, optional
        Where files named ``*.log`` are moved before that, unless the user interrupts. A ToolError
        that names one of them is changed to name its new place. By default logs are kept only for
        such an error, in ``logs`` of ``parent``.

    Raises
    ------
    FormatError
        If it cannot be made.
    """
    make_directory(parent)
    with ExitStack() as stack:
        try:
            work = stack.enter_context(scratch_directory(parent))
        except OSError as error:
            raise FormatError(f"Cannot write into {str(parent)!r}: {error.strerror}") from error
        try:
            yield work
            if logs is not None:
                keep_logs(work, logs)
        except ToolError as error:
            if logs is None and str(work) not in str(error):
                raise
            kept = logs or parent / "logs"
            keep_logs(work, kept)
            raise ToolError(str(error).replace(str(work), str(kept))) from error


def keep_logs(work: Path, logs: Path) -> None:
    """Move all logs of a directory that is about to go."""
    for log in work.rglob("*.log"):
        kept = logs / log.relative_to(work)
        make_directory(kept.parent)
        os.replace(log, _behind_links(kept))


def _umask() -> int:
    # The mask can only be read by setting it.
    mask = os.umask(0)
    os.umask(mask)
    return mask
