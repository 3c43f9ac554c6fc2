import os
import platform
import signal
import subprocess
import sys

import pytest

from trilut.scratch import scratch_directory

HOLD = """
import sys, time
from pathlib import Path
from trilut.scratch import scratch_directory
with scratch_directory(Path(sys.argv[1])) as directory:
    (directory / "below").mkdir()
    print(directory.name, flush=True)
    time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that works in the same place, and the name of its directory."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()
        process.kill()


def test_directory_is_removed_at_the_end(tmp_path):
    with scratch_directory(tmp_path) as directory:
        assert directory.parent == tmp_path
        assert directory.name.startswith(".work-")
        (directory / "file").write_text("")
    assert not list(tmp_path.iterdir())


def test_directory_of_a_killed_process_is_removed_by_the_next(tmp_path, holder):
    process, name = holder
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert (tmp_path / name / "below").is_dir()
    with scratch_directory(tmp_path) as directory:
        assert list(tmp_path.iterdir()) == [directory]


def test_directory_of_a_living_process_stays(tmp_path, holder):
    _, name = holder
    with scratch_directory(tmp_path) as outer, scratch_directory(tmp_path) as inner:
        assert {path.name for path in tmp_path.iterdir()} == {name, outer.name, inner.name}
    assert (tmp_path / name / "below").is_dir()


@pytest.mark.parametrize("host", [None, b"", platform.node().encode() + b"x"])
def test_directory_of_another_host_or_without_a_lock_stays(tmp_path, host):
    there = tmp_path / ".work-there"
    there.mkdir()
    if host is not None:
        (there / ".lock").write_bytes(host)
    with scratch_directory(tmp_path):
        assert there.is_dir()


def test_what_only_has_the_name_stays(tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / ".lock").write_bytes(platform.node().encode())
    (tmp_path / ".work-file").write_text("")
    (tmp_path / ".work-link").symlink_to("kept")
    (tmp_path / ".work-pipe").mkdir()
    os.mkfifo(tmp_path / ".work-pipe" / ".lock")
    with scratch_directory(tmp_path):
        pass
    names = {".work-file", ".work-link", ".work-pipe", "kept"}
    assert {path.name for path in tmp_path.iterdir()} == names
