import hashlib
import io
import json
import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest

from trilut import digest
from trilut.app.train import train_to_directory
from trilut.data import load_dataset
from trilut.errors import FormatError
from trilut.training import TrainingConfig, TrainingError, train
from trilut.training.checkpoint import check_finished

SETTINGS = {
    "layers": (24, 12),
    "wiring": "learned",
    "skip": True,
    "recipe": "noise",
    "steps": 200,
    "evaluate_every": 20,
    "batch": 16,
}
SHORT = {"layers": (12, 6), "steps": 40, "evaluate_every": 20}

CHILD = """
import sys
from pathlib import Path
from trilut.data import load_dataset
from trilut.training import TrainingConfig, train

def progress(measured, steps):
    print(measured["step"], flush=True)
    if measured["step"] == 80:
        sys.stdin.read()

settings = {**eval(sys.argv[2]), "layers": (24, 12)}
train(load_dataset("wine"), TrainingConfig.of(**settings), progress=progress,
      directory=Path(sys.argv[1]))
"""


@pytest.fixture(scope="module")
def wine():
    return load_dataset("wine")


def run_until(step, directory):
    """Train in a process of its own that waits at step 80, and kill it there without warning."""
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, str(directory), repr(SETTINGS)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "JAX_PLATFORMS": "cpu"},
    ) as process:
        for line in process.stdout:
            if int(line) >= step:
                break
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL


def lines(directory):
    return [json.loads(line) for line in (directory / "metrics.jsonl").read_text().splitlines()]


def edit(path, **changes):
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def resume_error(wine, directory, **settings):
    with pytest.raises(TrainingError) as caught:
        train(wine, TrainingConfig.of(**{**SHORT, **settings}), directory=directory, resume=True)
    return str(caught.value).replace(str(directory), "RUN")


def test_killed_training_goes_on_bit_for_bit(wine, tmp_path):
    run_until(80, tmp_path / "killed")
    stopped = json.loads((tmp_path / "killed" / "checkpoint.json").read_text())["step"]
    assert 20 <= stopped <= 80
    config = TrainingConfig.of(**SETTINGS)
    steps = []
    resumed = train(
        wine,
        config,
        directory=tmp_path / "killed",
        resume=True,
        progress=lambda measured, _: steps.append(measured["step"]),
    )
    assert steps[0] == stopped + 20
    whole = train(wine, config, directory=tmp_path / "whole")
    assert digest(resumed.netlist) == digest(whole.netlist)
    assert resumed.history == whole.history == lines(tmp_path / "killed")
    assert lines(tmp_path / "killed") == lines(tmp_path / "whole")


def test_finished_training_is_only_read(wine, tmp_path):
    config = TrainingConfig.of(**SHORT)
    first = train(wine, config, directory=tmp_path)
    again = train(
        wine, config, directory=tmp_path, resume=True, progress=lambda *_: pytest.fail("a step")
    )
    assert digest(first.netlist) == digest(again.netlist)
    assert {path.name for path in tmp_path.iterdir()} == {
        "checkpoint.json",
        "checkpoint-40.npz",
        "metrics.jsonl",
    }


def test_interrupted_training_is_saved(wine, tmp_path):
    def interrupt(measured, _):
        if measured["step"] == 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(wine, TrainingConfig.of(**SHORT), directory=tmp_path, progress=interrupt)
    assert json.loads((tmp_path / "checkpoint.json").read_text())["step"] == 20


def test_without_resume_a_training_starts_anew(wine, tmp_path):
    train(wine, TrainingConfig.of(**SHORT), directory=tmp_path)
    other = TrainingConfig.of(**{**SHORT, "seed": 1})
    result = train(wine, other, directory=tmp_path)
    assert lines(tmp_path) == result.history
    assert [path.name for path in tmp_path.glob("*.npz")] == ["checkpoint-40.npz"]


def test_nothing_to_resume(wine, tmp_path):
    result = train(wine, TrainingConfig.of(**SHORT), directory=tmp_path, resume=True)
    assert lines(tmp_path) == result.history


def test_checkpoint_does_not_fit(wine, tmp_path):
    train(wine, TrainingConfig.of(**SHORT), directory=tmp_path)
    assert resume_error(wine, tmp_path, steps=60) == (
        "Cannot resume from 'RUN/checkpoint.json': setting 'steps' is 60 now, but was 40"
    )
    other = load_dataset("wine", seed=1)
    assert resume_error(other, tmp_path) == (
        "Cannot resume from 'RUN/checkpoint.json': the training samples have changed"
    )
    path = tmp_path / "checkpoint.json"
    edit(path, arrays="gone.npz")
    assert resume_error(wine, tmp_path) == (
        "Checkpoint 'RUN/checkpoint.json' is damaged: Cannot read 'RUN/gone.npz': "
        "No such file or directory; start anew with --restart"
    )
    edit(path, arrays="checkpoint-40.npz", sha256="")
    assert resume_error(wine, tmp_path) == (
        "Checkpoint 'RUN/checkpoint.json' is damaged: its arrays have another checksum; "
        "start anew with --restart"
    )
    edit(path, version=1)
    assert resume_error(wine, tmp_path) == (
        "Checkpoint 'RUN/checkpoint.json' has version 1, expected 2"
    )
    path.write_text("{")
    assert resume_error(wine, tmp_path) == (
        "Checkpoint 'RUN/checkpoint.json' is damaged: it is not JSON: Expecting property name "
        "enclosed in double quotes: line 1 column 2 (char 1); start anew with --restart"
    )
    path.write_text("[" * 5000)
    assert resume_error(wine, tmp_path) == (
        "Checkpoint 'RUN/checkpoint.json' is damaged: it is not JSON: nested too deeply; "
        "start anew with --restart"
    )


def test_arrays_of_a_checkpoint_that_are_larger_than_their_file(wine, tmp_path):
    train(wine, TrainingConfig.of(**SHORT), directory=tmp_path)
    content = io.BytesIO()
    np.savez_compressed(content, a=np.zeros(100_000))
    (tmp_path / "checkpoint-40.npz").write_bytes(content.getvalue())
    digest = hashlib.sha256(content.getvalue()).hexdigest()
    edit(tmp_path / "checkpoint.json", sha256=digest)
    assert resume_error(wine, tmp_path) == (
        "Checkpoint 'RUN/checkpoint.json' is damaged: 'checkpoint-40.npz' holds more than 0 MiB; "
        "start anew with --restart"
    )


def test_diverged_training_goes_on_with_a_lower_rate(wine, tmp_path, monkeypatch):
    config = TrainingConfig.of(**SHORT, learning_rate=0.02)
    monkeypatch.setattr("trilut.training.loop._DIVERGED", 0.0)
    with pytest.raises(
        TrainingError,
        match=r"^Loss has grown from \S+ to \S+ after 40 steps; go on from step 20, "
        r"the last one saved, with --resume and a learning rate below 0\.02$",
    ):
        train(wine, config, directory=tmp_path)
    assert json.loads((tmp_path / "checkpoint.json").read_text())["step"] == 20
    monkeypatch.undo()
    lower = TrainingConfig.of(**SHORT, learning_rate=0.01)
    result = train(wine, lower, directory=tmp_path, resume=True)
    assert [line["learning_rate"] for line in lines(tmp_path)] == [0.02, 0.01]
    assert result.netlist.provenance["learning_rates"] == [
        {"learning_rate": 0.02, "until": 20},
        {"learning_rate": 0.01, "until": 40},
    ]
    assert resume_error(wine, tmp_path, learning_rate=0.02) == (
        "Cannot resume from 'RUN/checkpoint.json': "
        "setting 'learning_rate' is 0.02 now, but was 0.01"
    )
    # What has ended cannot be trained with another rate.
    assert resume_error(wine, tmp_path, learning_rate=0.005) == (
        "Cannot resume from 'RUN/checkpoint.json': "
        "setting 'learning_rate' is 0.005 now, but was 0.01"
    )


def test_divergence_before_the_first_checkpoint(wine, tmp_path):
    settings = {"recipe": "paper", "layers": (12, 6), "steps": 20, "schedule": "constant"}
    with pytest.raises(
        TrainingError,
        match=r"^Loss is inf after 20 steps; "
        r"start anew with --restart and a learning rate below 1e\+19$",
    ):
        train(wine, TrainingConfig.of(learning_rate=1e19, **settings), directory=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["metrics.jsonl"]


def test_checkpoint_older_than_a_setting(wine, tmp_path):
    first = train(wine, TrainingConfig.of(**SHORT), directory=tmp_path)
    path = tmp_path / "checkpoint.json"
    document = json.loads(path.read_text())
    del document["settings"]["minority"], document["history"][0]["learning_rate"]
    path.write_text(json.dumps(document))
    again = train(wine, TrainingConfig.of(**SHORT), directory=tmp_path, resume=True)
    assert again.history == first.history
    assert resume_error(wine, tmp_path, minority=0.1) == (
        "Cannot resume from 'RUN/checkpoint.json': setting 'minority' is 0.1 now, but was 0.0"
    )


def test_unfinished_training_is_not_thrown_away(tmp_path):
    def run(**start):
        return train_to_directory("wine", tmp_path, SHORT, **start)

    check_finished(tmp_path)
    run()
    with pytest.raises(TrainingError) as caught:
        run()
    finished = (
        f"Directory {str(tmp_path)!r} has a finished training; train anew with --restart, or "
        "name another directory"
    )
    assert str(caught.value) == finished
    edit(tmp_path / "checkpoint.json", step=20)
    with pytest.raises(TrainingError) as caught:
        run()
    assert str(caught.value) == (
        f"Directory {str(tmp_path)!r} has a training that stopped after step 20 of 40; "
        "go on with --resume, or start anew with --restart"
    )
    run(restart=True)
    assert json.loads((tmp_path / "checkpoint.json").read_text())["step"] == 40
    (tmp_path / "checkpoint.json").write_text("{")
    with pytest.raises(TrainingError, match=f"^{re.escape(finished)}$"):
        check_finished(tmp_path)


def test_loss_that_grows_is_stopped(wine):
    commitment = {"commitment_max": 1e6, "commitment_power": 0.0}
    settings = {"recipe": "paper", "layers": (12, 6), "steps": 20, "evaluate_every": 1}
    config = TrainingConfig.of(learning_rate=3.0, **settings, **commitment)
    with pytest.raises(
        TrainingError,
        match=r"^Loss has grown from \S+ to \S+ after \d+ steps; "
        r"start anew with a learning rate below 3\.0$",
    ):
        train(wine, config)


def test_metrics_cannot_be_written(wine, tmp_path):
    def block(*_):
        (tmp_path / "metrics.jsonl").unlink()
        (tmp_path / "metrics.jsonl").mkdir()

    with pytest.raises(FormatError) as caught:
        train(wine, TrainingConfig.of(**SHORT), directory=tmp_path, progress=block)
    assert str(caught.value) == f"Cannot write '{tmp_path}/metrics.jsonl': Is a directory"
