"""Directories to work in: removed at the end, or by the next process if theirs was killed.

A directory is locked as long as its process lives. The system gives the lock back however a process
ends, so no process number that has a new owner misleads anybody. Where a directory is shared,
only those of the same host are removed: not every file system tells one host of another's locks.
"""

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

if sys.platform != "win32":
    import fcntl

__all__ = ["scratch_directory"]

_PREFIX = ".work-"
_LOCK = ".lock"


@contextmanager
def scratch_directory(parent: Path) -> Iterator[Path]:
    """Give a new directory inside ``parent``; remove it, and those whose process was killed.

    Raises
    ------
    OSError
        If it cannot be made.
    """
    _remove_abandoned(parent)
    # It gets the name that others look for when it is locked.
    directory = Path(tempfile.mkdtemp(dir=parent, prefix=".new-"))
    try:
        with _locked(directory / _LOCK):
            directory = directory.rename(parent / directory.name.replace(".new-", _PREFIX))
            yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if sys.platform == "win32":

    @contextmanager
    def _locked(path: Path) -> Iterator[None]:
        yield

    def _remove_abandoned(parent: Path) -> None:
        """Leave them: without locks nobody knows whose they are."""

else:

    @contextmanager
    def _locked(path: Path) -> Iterator[None]:
        """Make a file that names this host, and lock it if the file system can."""
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(handle, _host())
            with suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        finally:
            os.close(handle)

    def _remove_abandoned(parent: Path) -> None:
        for directory in parent.glob(f"{_PREFIX}*"):
            # Without a lock it is nobody's to remove, and what is locked cannot be locked again.
            with suppress(OSError):
                handle = os.open(directory / _LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
                try:
                    if os.read(handle, 1024) == _host():
                        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        shutil.rmtree(directory, ignore_errors=True)
                finally:
                    os.close(handle)

    def _host() -> bytes:
        return platform.node().encode()[:1024]
