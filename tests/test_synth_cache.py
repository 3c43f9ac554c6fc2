import gzip
import json
import os

import pytest

from trilut.synth import cache as module
from trilut.synth.cache import Cache, digest


def test_what_was_put_is_there(tmp_path):
    cache = Cache(tmp_path / "made")
    assert cache.get("a") is None
    cache.put("a", "{}", 1.5)
    assert cache.get("a") == ("{}", 1.5)
    assert Cache(tmp_path / "made").get("a") == ("{}", 1.5)


def test_parts_of_a_key_do_not_run_together():
    assert digest("ab", "c") != digest("a", "bc")
    assert digest("a") == digest(b"a")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no gzip",
        gzip.compress(b"no json"),
        gzip.compress(b"[]"),
        gzip.compress(json.dumps({"digest": "x", "seconds": 1, "result": "y"}).encode()),
        gzip.compress(json.dumps({"digest": "x", "seconds": 1, "result": 5}).encode()),
        gzip.compress(b'{"seconds": 1}'),
        gzip.compress(b"x" * 1000)[:20],
        gzip.compress(b"[" * 100_000),
        gzip.compress(b'{"result": ' + b"9" * 5000),
    ],
    # Not the bytes, which hold the time: all workers must find tests of the same names.
    ids=[
        "empty",
        "no gzip",
        "no json",
        "list",
        "wrong digest",
        "number",
        "no result",
        "cut",
        "deep",
        "digits",
    ],
)
def test_damaged_entry_counts_as_missing_and_is_replaced(tmp_path, content):
    cache = Cache(tmp_path)
    (tmp_path / "a.json.gz").write_bytes(content)
    assert cache.get("a") is None
    cache.put("a", "new", 1)
    assert cache.get("a") == ("new", 1)


def test_entry_that_holds_too_much_counts_as_missing(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_MAX_BYTES", 1 << 20)
    cache = Cache(tmp_path)
    cache.put("a", "x" * (1 << 20), 1)
    assert not list(tmp_path.iterdir())
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(b" " * (8 << 20)))
    assert cache.get("a") is None


def test_cache_that_cannot_be_written_does_not_stop_anybody(tmp_path):
    (tmp_path / "file").write_text("")
    cache = Cache(tmp_path / "file" / "made")
    cache.put("a", "{}", 1)
    assert cache.get("a") is None


def test_oldest_entries_go_when_there_are_too_many(tmp_path, monkeypatch):
    cache = Cache(tmp_path)
    for age, key in enumerate("cba"):
        cache.put(key, "{}", 1)
        os.utime(tmp_path / f"{key}.json.gz", (1000 - age, 1000 - age))
    size = (tmp_path / "a.json.gz").stat().st_size
    monkeypatch.setattr(module, "_MAX_BYTES", 3 * size)
    cache.put("d", "{}", 1)
    assert [cache.get(key) is not None for key in "abcd"] == [False, True, True, True]


def test_place_of_the_cache(monkeypatch, tmp_path):
    monkeypatch.delenv("TRILUT_CACHE", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    Cache().put("a", "{}", 1)
    assert (tmp_path / "trilut" / "synth" / "a.json.gz").is_file()
