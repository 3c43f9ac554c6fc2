"""Ctrl-C and other requests to end that are neither lost nor break what they interrupt.

Python raises KeyboardInterrupt wherever it happens to be. In a callback or an import inside a
native library that is swallowed, turned into another error, or fatal. So around such code the
request is only remembered, and the code asks for it now and then.
"""

import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

__all__ = ["check", "deferred", "install", "pass_on", "status"]

# SIGTERM is how batch systems and containers end a program, SIGHUP how a closed terminal does.
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
_SIGNALS = tuple(getattr(signal, name) for name in _NAMES if hasattr(signal, name))

_requested = 0
"""The signal that came, or 0."""
_is_deferred = False


def install() -> None:
    """Handle SIGINT, SIGTERM and SIGHUP from now on."""
    global _requested
    _requested = 0
    for number in _SIGNALS:
        # Whoever starts a program with nohup wants it to go on.
        if number == signal.SIGINT or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _handle)


def check() -> None:
    """Raise KeyboardInterrupt if the user has asked to stop."""
    if _requested:
        raise KeyboardInterrupt


def status() -> int:
    """Return the exit status of a program that was asked to stop: 128 and the signal's number."""
    return 128 + (_requested or signal.SIGINT)


def pass_on(processes: Iterable[int | None]) -> None:
    """Ask other processes to stop, too, if a signal came that a terminal does not send to all."""
    if _requested in (0, signal.SIGINT):
        return
    for process in processes:
        # It may come to its own end before it can be asked.
        with suppress(ProcessLookupError):
            if process is not None:
                os.kill(process, signal.SIGTERM)


@contextmanager
def deferred() -> Iterator[None]:
    """Remember a first request until the next check or the end; a second interrupts at once."""
    global _is_deferred
    _is_deferred = True
    try:
        yield
    finally:
        _is_deferred = False
    check()


def _handle(number: int, frame: FrameType | None) -> None:
    global _requested
    is_first = not _requested
    _requested = number
    if not (_is_deferred and is_first):
        raise KeyboardInterrupt
