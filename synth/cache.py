"""What the tools have made before, so that the same step need not run twice."""

import gzip
import hashlib
import json
from pathlib import Path

from trilut.errors import FormatError
from trilut.files import (
    cache_directory,
    decompress,
    make_directory,
    parse_json,
    read_bytes,
    write_atomically,
)

__all__ = ["Cache", "Made", "digest"]

_MAX_BYTES = 1 << 30
Made = tuple[str, float]
"""The file that a step made, and the seconds that it took."""


def digest(*parts: bytes | str) -> str:
    """Return the name of a step: a hash over all that its result depends on."""
    whole = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        whole.update(f"{len(data)}:".encode() + data)
    return whole.hexdigest()


class Cache:
    """Results of steps by their :func:`digest`, one compressed JSON file each.

    A file that is damaged counts as missing, and is written again. When all of them together grow
    beyond a gigabyte, the oldest go.

    Parameters
    ----------
    directory : Path, optional
        By default ``synth`` in the directory for what is downloaded; it is made when it is needed.
    """

    def __init__(self, directory: Path | None = None):
        self._directory = directory or cache_directory() / "synth"

    def get(self, key: str) -> Made | None:
        """Return what a step made, or None if it is not known."""
        try:
            path = self._path(key)
            content = decompress(read_bytes(path), str(path), _MAX_BYTES)
            entry = parse_json(content, "Entry")
            result, seconds = entry["result"], float(entry["seconds"])
            if digest(result) != entry["digest"]:
                return None
        except (FormatError, ValueError, KeyError, TypeError, AttributeError):
            return None
        return result, seconds

    def put(self, key: str, result: str, seconds: float) -> None:
        """Remember what a step made. A cache that cannot be written is no reason to stop."""
        entry = {"digest": digest(result), "seconds": seconds, "result": result}
        content = json.dumps(entry).encode()
        if len(content) > _MAX_BYTES:
            return
        try:
            make_directory(self._directory)
            write_atomically(self._path(key), gzip.compress(content, compresslevel=1))
            self._remove_oldest()
        except (FormatError, OSError):
            return

    def _path(self, key: str) -> Path:
        return self._directory / f"{key}.json.gz"

    def _remove_oldest(self) -> None:
        facts = [(path, path.stat()) for path in self._directory.glob("*.json.gz")]
        excess = sum(fact.st_size for _, fact in facts) - _MAX_BYTES
        for path, fact in sorted(facts, key=lambda pair: pair[1].st_mtime):
            if excess <= 0:
                return
            path.unlink(missing_ok=True)
            excess -= fact.st_size
