import json
import os
import socket
import subprocess
import sys

import pytest

from trilut import digest
from trilut.data import load_dataset
from trilut.training import TrainingConfig, TrainingError, make_mesh, train

PLAIN = {"layers": (48, 24, 12), "steps": 30, "evaluate_every": 15, "batch": 32}
LEARNED = {**PLAIN, "layers": (30, 12), "wiring": "learned", "skip": True, "output_layers": 2}
# 600 slots in three blocks, with candidates of their own each.
BLOCKS = {**PLAIN, "layers": (300, 12), "wiring": "learned", "candidates": 8, "distance_cost": 0.5}

CHILD = """
import json
import sys
from pathlib import Path

import jax

settings, meshes, directory, stop, join = json.loads(sys.argv[1])
if join:
    jax.distributed.initialize(*join)

from trilut import digest
from trilut.data import load_dataset
from trilut.training import TrainingConfig, make_mesh, train

def progress(measured, steps):
    if measured["step"] == stop:
        raise KeyboardInterrupt


wine = load_dataset("wine")
for batch, gate in meshes:
    try:
        result = train(
            wine,
            TrainingConfig.of(**settings),
            mesh=make_mesh(batch=batch, gate=gate),
            directory=directory and Path(directory),
            progress=progress,
            resume=True,
        )
    except KeyboardInterrupt:
        break
    print("digest", digest(result.netlist), flush=True)
"""


def start(settings, meshes, *, devices, directory=None, stop=None, join=None):
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, json.dumps([settings, meshes, directory, stop, join])],
        env={
            **os.environ,
            "JAX_PLATFORMS": "cpu",
            "XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}",
        },
        stdout=subprocess.PIPE,
        text=True,
    )


def digests(process):
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    return [line.split()[1] for line in output.splitlines() if line.startswith("digest ")]


def free_port():
    with socket.socket() as server:
        server.bind(("localhost", 0))
        return server.getsockname()[1]


def expected(settings):
    return digest(train(load_dataset("wine"), TrainingConfig.of(**settings)).netlist)


# 30 gates and the 60 slots of 30 gates are not all divisible by 4: those arrays stay whole.
@pytest.mark.parametrize(
    ("settings", "meshes"),
    [
        pytest.param(PLAIN, [(4, 1)], id="plain"),
        pytest.param(LEARNED, [(1, 4)], id="learned"),
        pytest.param(BLOCKS, [(2, 2)], id="blocks"),
    ],
)
def test_four_devices_learn_what_one_does(settings, meshes):
    process = start(settings, meshes, devices=4)
    assert digests(process) == [expected(settings)] * len(meshes)


def two_processes(directory, *, stop=None):
    """Train in two processes of two devices each, and return what each of them prints."""
    address = f"localhost:{free_port()}"
    shared = {"devices": 2, "directory": str(directory), "stop": stop}
    processes = [start(LEARNED, [(2, 2)], **shared, join=[address, 2, number]) for number in (0, 1)]
    return [digests(process) for process in processes]


def test_two_processes_learn_what_one_does_though_they_are_stopped(tmp_path):
    assert two_processes(tmp_path, stop=15) == [[], []]
    assert json.loads((tmp_path / "checkpoint.json").read_text())["step"] == 15
    assert two_processes(tmp_path) == [[expected(LEARNED)]] * 2
    assert json.loads((tmp_path / "checkpoint.json").read_text())["step"] == 30
    assert len((tmp_path / "metrics.jsonl").read_text().splitlines()) == 2


def test_mesh_needs_devices():
    with pytest.raises(
        TrainingError, match=r"^A mesh of 64 × 2 needs 128 devices, but there are \d+$"
    ):
        make_mesh(batch=64, gate=2)
