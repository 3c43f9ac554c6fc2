import json
import math
import os
import re
import sys

import pytest

from trilut.app.trials import check_cluster, in_processes, in_threads
from trilut.cli import main
from trilut.errors import ToolError


@pytest.mark.parametrize("many", [in_threads, in_processes])
def test_every_item_is_done_once(many):
    done = many(math.sqrt, [1.0, 4.0, 9.0, 16.0, 25.0], workers=2)
    assert sorted(done) == [1.0, 2.0, 3.0, 4.0, 5.0]


def test_one_worker_is_this_process():
    assert [pid() for pid in in_processes(lambda item: os.getpid, [1, 2], workers=1)] == [
        os.getpid(),
        os.getpid(),
    ]


def test_killed_process():
    message = r"^A worker process was killed, perhaps for want of memory; what is finished is kept$"
    with pytest.raises(ToolError, match=message):
        list(in_processes(os._exit, [1, 1], workers=2))


def test_error_of_a_task_is_raised():
    with pytest.raises(ValueError, match=r"math domain error|expected a nonnegative input"):
        list(in_processes(math.sqrt, [4.0, -1.0], workers=2))


def test_scheduler_that_is_no_address():
    message = "Cannot reach a Dask scheduler at 'nothing://x': "
    with pytest.raises(ToolError, match=f"^{re.escape(message)}.*$"):
        check_cluster("nothing://x")


def test_dask_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    message = r"^Cannot find the Python package distributed; install trilut\[distributed\]$"
    with pytest.raises(ToolError, match=message):
        check_cluster("tcp://127.0.0.1:1")


@pytest.fixture
def cluster():
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
    ) as workers:
        yield workers.scheduler_address


def exploration(capsys, *options):
    assert main(["explore", "moons", "--steps", "40", "--no-route", "--json", *options]) == 0
    return json.loads(capsys.readouterr().out)["points"]


@pytest.mark.slow
@pytest.mark.synth
@pytest.mark.filterwarnings("default")
def test_cluster_finds_the_same_as_processes_and_this_one(cluster, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    layers = ("--layers", "8,4", "--layers", "12,4", "--wiring", "random,learned")
    ways = {
        "here": (),
        "processes": ("--workers", "2"),
        "cluster": ("--scheduler", cluster),
    }
    found = {way: exploration(capsys, *layers, "-o", way, *more) for way, more in ways.items()}
    assert len(found["here"]) == 4
    assert found["here"] == found["processes"] == found["cluster"]
    # Nothing is done again.
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("cluster/*/*/*.*")}
    assert exploration(capsys, *layers, "-o", "cluster", *ways["cluster"]) == found["here"]
    after = {path: path.stat().st_mtime_ns for path in tmp_path.glob("cluster/*/*/*.*")}
    assert after == before
