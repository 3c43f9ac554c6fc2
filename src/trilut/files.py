"""Reading files, and writing them so that they are either old, or new and complete."""

import os
import shutil
import stat
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trilut.errors import FormatError, ToolError

__all__ = [
    "cache_directory",
    "make_directory",
    "parse_toml",
    "read_bytes",
    "work_directory",
    "write_atomically",
]


def write_atomically(path: Path, content: bytes | str) -> None:
    """Write a file under a temporary name and rename it when it is complete.

    A symbolic link stays, and the file that it points to is written.

    Raises
    ------
    FormatError
        If the file cannot be written, or is there and not a regular one, but a pipe or a device.
    """
    target = _behind_links(path)
    data = content.encode(errors="backslashreplace") if isinstance(content, str) else content
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:64]}.")
    except OSError as error:
        raise FormatError(f"Cannot write {str(path)!r}: {error.strerror}") from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError):
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


def parse_toml(content: bytes, title: str) -> dict[str, Any]:
    """Read TOML; the title is what an error calls it.

    Raises
    ------
    FormatError
        If it is something else.
    """
    try:
        return tomllib.loads(content.decode())
    # Not TOML, not Unicode, or an integer of thousands of digits.
    except ValueError as error:
        raise FormatError(f"{title} is not TOML: {error}") from error


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
    try:
        work = Path(tempfile.mkdtemp(dir=parent, prefix=".work-"))
    except OSError as error:
        raise FormatError(f"Cannot write into {str(parent)!r}: {error.strerror}") from error
    try:
        yield work
        if logs is not None:
            _keep_logs(work, logs)
    except ToolError as error:
        if logs is None and str(work) not in str(error):
            raise
        kept = logs or parent / "logs"
        _keep_logs(work, kept)
        raise ToolError(str(error).replace(str(work), str(kept))) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _keep_logs(work: Path, logs: Path) -> None:
    for log in work.rglob("*.log"):
        kept = logs / log.relative_to(work)
        make_directory(kept.parent)
        os.replace(log, _behind_links(kept))


def _umask() -> int:
    # The mask can only be read by setting it.
    mask = os.umask(0)
    os.umask(mask)
    return mask
