"""Time that passes when a test says so, and not when a busy machine does."""

import time
from types import SimpleNamespace


def skip_an_hour_when_there(monkeypatch, path):
    """Let an hour pass for whoever waits for a tool once a file is there, which the tool writes."""

    def monotonic():
        return time.monotonic() + (3600 if path.exists() else 0)

    monkeypatch.setattr("trilut.tools.time", SimpleNamespace(monotonic=monotonic))
