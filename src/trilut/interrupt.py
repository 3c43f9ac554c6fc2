"""Ctrl-C that is neither lost nor breaks what it interrupts.

Python raises KeyboardInterrupt wherever it happens to be. In a callback or an import inside a
native library that is swallowed, turned into another error, or fatal. So around such code the
request is only remembered, and the code asks for it now and then.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["check", "deferred", "install"]

_requested = False
_is_deferred = False


def install() -> None:
    """Handle SIGINT from now on."""
    global _requested
    _requested = False
    signal.signal(signal.SIGINT, _handle)


def check() -> None:
    """Raise KeyboardInterrupt if the user has asked to stop."""
    if _requested:
        raise KeyboardInterrupt


@contextmanager
def deferred() -> Iterator[None]:
    """Remember a first Ctrl-C until the next check or the end; a second one interrupts at once."""
    global _is_deferred
    _is_deferred = True
    try:
        yield
    finally:
        _is_deferred = False
    check()


def _handle(number: int, frame: FrameType | None) -> None:
    global _requested
    if _is_deferred and not _requested:
        _requested = True
        return
    _requested = True
    raise KeyboardInterrupt
