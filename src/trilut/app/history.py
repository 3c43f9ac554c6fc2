"""The course of a training, as its directory holds it."""

from pathlib import Path
from typing import Any

from trilut.errors import FormatError
from trilut.files import parse_json, read_bytes

__all__ = ["read_history"]


def read_history(path: str | Path) -> list[dict[str, Any]]:
    """Return the course of a training from ``metrics.jsonl``; empty if there is no such file."""
    path = Path(path)
    if not path.exists():
        return []
    lines = read_bytes(path).splitlines()
    history = [
        parse_json(line, f"Line {number} of {str(path)!r}")
        for number, line in enumerate(lines, start=1)
    ]
    try:
        return [{key: line[key] for key in ("step", "loss", "accuracy")} for line in history]
    except (KeyError, TypeError) as error:
        raise FormatError(f"File {str(path)!r} is not a course of training: {error!r}") from error
