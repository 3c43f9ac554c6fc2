import gzip
import os
import stat
from pathlib import Path

import pytest

from trilut.errors import FormatError, ToolError
from trilut.files import (
    decompress,
    make_directory,
    parse_json,
    read_bytes,
    work_directory,
    write_atomically,
)


def test_file_is_replaced_and_nothing_else_is_left(tmp_path):
    path = tmp_path / "a file"
    write_atomically(path, "old")
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_file_has_the_mode_of_any_new_file(tmp_path):
    write_atomically(tmp_path / "ours", "")
    (tmp_path / "theirs").write_text("")
    modes = {stat.S_IMODE(os.stat(path).st_mode) for path in tmp_path.iterdir()}
    assert len(modes) == 1


def test_text_that_is_not_unicode_is_escaped(tmp_path):
    write_atomically(tmp_path / "file", "a\ud800b")
    assert (tmp_path / "file").read_text() == "a\\ud800b"


def test_write_over_a_directory_leaves_no_temporary_file(tmp_path):
    (tmp_path / "there").mkdir()
    with pytest.raises(FormatError) as caught:
        write_atomically(tmp_path / "there", "x")
    assert str(caught.value) == f"Cannot write {str(tmp_path / 'there')!r}: Is a directory"
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


def test_a_pipe_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for name in ("pipe", "link"):
        with pytest.raises(FormatError) as caught:
            write_atomically(tmp_path / name, "x")
        assert str(caught.value) == f"Cannot write {str(tmp_path / name)!r}: Not a regular file"
    assert stat.S_ISFIFO(os.stat(tmp_path / "pipe").st_mode)
    assert {path.name for path in tmp_path.iterdir()} == {"pipe", "link"}


def test_a_device_is_not_replaced(tmp_path, monkeypatch):
    path = tmp_path / "null"
    path.write_text("")
    facts = list(os.stat(path))
    facts[stat.ST_MODE] = stat.S_IFCHR | 0o666
    # To make a real one needs rights that tests should not have.
    monkeypatch.setattr(os, "stat", lambda path: os.stat_result(facts))
    with pytest.raises(FormatError) as caught:
        write_atomically(path, "x")
    assert str(caught.value) == f"Cannot write {str(path)!r}: Not a regular file"
    assert path.read_text() == ""


def test_a_symbolic_link_stays_and_leads_to_the_new_file(tmp_path):
    there = tmp_path / "there"
    there.mkdir()
    for name in ("old", "new"):
        (tmp_path / f"first-{name}").symlink_to(there / f"second-{name}")
        (there / f"second-{name}").symlink_to(name)
    (there / "old").write_text("before")
    for name in ("old", "new"):
        write_atomically(tmp_path / f"first-{name}", "after")
        assert (tmp_path / f"first-{name}").is_symlink()
        assert (there / f"second-{name}").is_symlink()
        assert (there / name).read_text() == "after"
    assert len(list(there.iterdir())) == 4
    assert len(list(tmp_path.iterdir())) == 3


def test_a_symbolic_link_to_itself(tmp_path):
    (tmp_path / "link").symlink_to("link")
    with pytest.raises(FormatError) as caught:
        write_atomically(tmp_path / "link", "x")
    message = f"Cannot write {str(tmp_path / 'link')!r}: Too many levels of symbolic links"
    assert str(caught.value) == message


def test_a_log_does_not_replace_a_pipe(tmp_path):
    (tmp_path / "logs").mkdir()
    os.mkfifo(tmp_path / "logs" / "tool.log")
    with (
        pytest.raises(FormatError, match=r"^Cannot write '.*logs/tool\.log': Not a regular file$"),
        work_directory(tmp_path, logs=tmp_path / "logs") as work,
    ):
        (work / "tool.log").write_text("said")
    assert stat.S_ISFIFO(os.stat(tmp_path / "logs" / "tool.log").st_mode)


def test_read_a_directory(tmp_path):
    with pytest.raises(FormatError) as caught:
        read_bytes(tmp_path)
    assert str(caught.value) == f"Cannot read {str(tmp_path)!r}: Is a directory"


def test_directory_in_place_of_a_file(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FormatError) as caught:
        make_directory(tmp_path / "file" / "below")
    message = f"Cannot make directory {str(tmp_path / 'file' / 'below')!r}: Not a directory"
    assert str(caught.value) == message


def test_work_directory_where_none_can_be():
    with (
        pytest.raises(FormatError, match=r"^Cannot write into '/proc': No such file or directory$"),
        work_directory(Path("/proc")),
    ):
        pass


@pytest.mark.parametrize("error", [None, RuntimeError, KeyboardInterrupt])
def test_work_directory_is_removed(tmp_path, error):
    def work_in():
        with work_directory(tmp_path) as work:
            (work / "half").write_text("half")
            if error:
                raise error

    if error:
        with pytest.raises(error):
            work_in()
    else:
        work_in()
    assert not list(tmp_path.iterdir())


def test_logs_are_kept_and_the_error_names_their_new_place(tmp_path):
    logs = tmp_path / "logs"

    def fail():
        with work_directory(tmp_path, logs=logs) as work:
            (work / "step").mkdir()
            log = work / "step" / "tool.log"
            log.write_text("what happened")
            raise ToolError(f"It failed; log: {str(log)!r}")

    with pytest.raises(ToolError) as caught:
        fail()
    assert str(caught.value) == f"It failed; log: {str(logs / 'step' / 'tool.log')!r}"
    assert (logs / "step" / "tool.log").read_text() == "what happened"
    assert [path.name for path in tmp_path.iterdir()] == ["logs"]


def test_log_that_an_error_names_is_kept_where_no_others_are(tmp_path):
    def fail():
        with work_directory(tmp_path) as outer, work_directory(outer) as work:
            (work / "tool.log").write_text("what happened")
            raise ToolError(f"It failed; log: {str(work / 'tool.log')!r}")

    with pytest.raises(ToolError) as caught:
        fail()
    kept = tmp_path / "logs" / "logs" / "tool.log"
    assert str(caught.value) == f"It failed; log: {str(kept)!r}"
    assert kept.read_text() == "what happened"
    assert [path.name for path in tmp_path.iterdir()] == ["logs"]


def test_error_that_names_no_log_is_the_same_one(tmp_path):
    error = ToolError("There is no tool")

    def fail():
        with work_directory(tmp_path) as work:
            (work / "tool.log").write_text("nothing")
            raise error

    with pytest.raises(ToolError) as caught:
        fail()
    assert caught.value is error
    assert not list(tmp_path.iterdir())


def test_logs_are_dropped_on_an_interrupt(tmp_path):
    def interrupt():
        with work_directory(tmp_path, logs=tmp_path / "logs") as work:
            (work / "tool.log").write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupt()
    assert not list(tmp_path.iterdir())


def test_read_no_more_than_so_much(tmp_path):
    (tmp_path / "file").write_bytes(bytes(1 << 20))
    assert len(read_bytes(tmp_path / "file", 1 << 20)) == 1 << 20
    (tmp_path / "file").write_bytes(bytes((1 << 20) + 1))
    with pytest.raises(FormatError) as caught:
        read_bytes(tmp_path / "file", 1 << 20)
    assert str(caught.value) == f"{str(tmp_path / 'file')!r} holds more than 1 MiB"


@pytest.mark.parametrize("compress", [gzip.compress, bytes])
def test_decompress_no_more_than_so_much(compress):
    content = bytes(1 << 20)
    assert decompress(compress(content), "file", 1 << 20) == content
    with pytest.raises(FormatError, match=r"^'file' holds more than 1 MiB$"):
        decompress(compress(content + b"x"), "file", 1 << 20)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        (b"\xff", "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
        (b"[" * 101 + b"1" + b"]" * 101, "nested too deeply"),
        (b'{"a":' * 101 + b"1" + b"}" * 101, "nested too deeply"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_not_json(content, message):
    with pytest.raises(FormatError) as caught:
        parse_json(content, "File")
    assert str(caught.value) == f"File is not JSON: {message}"


def test_json_of_a_hundred_levels():
    assert parse_json(b"[" * 100 + b"1" + b"]" * 100, "File")
