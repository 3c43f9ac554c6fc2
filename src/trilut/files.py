"""Writing files so that they are either old, or new and complete."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trilut.errors import FormatError

__all__ = ["make_directory", "read_bytes", "work_directory", "write_atomically"]


def write_atomically(path: Path, content: bytes | str) -> None:
    """Write a file under a temporary name and rename it when it is complete.

    Raises
    ------
    FormatError
        If the file cannot be written.
    """
    data = content.encode(errors="backslashreplace") if isinstance(content, str) else content
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:64]}.")
    except OSError as error:
        raise FormatError(f"Cannot write {str(path)!r}: {error.strerror}") from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise FormatError(f"Cannot write {str(path)!r}: {error.strerror}") from error
        raise


def read_bytes(path: Path) -> bytes:
    """Read a whole file.

    Raises
    ------
    FormatError
        If the file cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise FormatError(f"Cannot read {str(path)!r}: {error.strerror}") from error


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
def work_directory(parent: Path) -> Iterator[Path]:
    """Give a new directory inside ``parent`` that is removed at the end, however that comes."""
    make_directory(parent)
    work = Path(tempfile.mkdtemp(dir=parent, prefix=".work-"))
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _umask() -> int:
    # The mask can only be read by setting it.
    mask = os.umask(0)
    os.umask(mask)
    return mask
