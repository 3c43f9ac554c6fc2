"""The search for the settings of a table, by validation accuracy."""

import hashlib
import json
import multiprocessing
import os
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trilut import interrupt
from trilut.app.console import Stage
from trilut.circuit.format import load, save
from trilut.circuit.netlist import Netlist
from trilut.data import Dataset
from trilut.files import make_directory
from trilut.report.summary import percent

__all__ = ["Trial", "search_settings"]


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """A training of the search.

    Parameters
    ----------
    directory : Path
        Where its checkpoints and, when it is finished, its netlist are.
    settings : mapping
        All its settings, by their flat names.
    """

    directory: Path
    settings: Mapping[str, Any]

    @property
    def net(self) -> Path:
        """The netlist, written last and under its name only when complete."""
        return self.directory / "net.trilut"


def search_settings(
    dataset: Dataset,
    output: str | Path,
    variants: Sequence[Mapping[str, Any]],
    stage: Stage,
    *,
    abstain_margin: int = 1,
    jobs: int | None = None,
) -> Trial:
    """Train with each of some settings, and return the trial of the best validation accuracy.

    Of equal ones it is the one with fewer gates. The test samples are not looked at. What is
    finished is kept in ``trials/``, so that a search that was stopped goes on where it was.

    Parameters
    ----------
    jobs : int, optional
        How many to train at a time; by default as many as there are cores.
    """
    output = Path(output)
    trials = [_trial(dataset, output, each, abstain_margin) for each in variants]
    todo = [trial for trial in trials if not trial.net.exists()]
    ranks = {id(trial): _rank(load(trial.net)) for trial in trials if trial not in todo}
    jobs = min(jobs or os.cpu_count() or 1, max(1, len(todo)))
    # Closed at once, also by Ctrl-C: the trainings end with it.
    with closing(_finished(dataset, todo, abstain_margin, jobs)) as finished:
        stage.update(len(ranks), len(trials), "searching", unit="trial")
        for trial in finished:
            ranks[id(trial)] = _rank(load(trial.net))
            best = percent(max(ranks.values())[0])
            stage.update(len(ranks), len(trials), f"best validation {best}", unit="trial")
    return max(trials, key=lambda trial: ranks[id(trial)])


def _trial(
    dataset: Dataset, output: Path, settings: Mapping[str, Any], abstain_margin: int
) -> Trial:
    text = json.dumps([dict(settings), abstain_margin], sort_keys=True, default=str)
    # A file may have changed since a search was stopped.
    data = (split for split in (dataset.train, dataset.validation))
    arrays = (np.ascontiguousarray(array) for split in data for array in (split.x, split.y))
    digest = hashlib.sha256(text.encode())
    for array in arrays:
        digest.update(array.data)
    return Trial(output / "trials" / digest.hexdigest()[:12], settings)


def _rank(netlist: Netlist) -> tuple[float, int]:
    accuracy: Any = netlist.provenance["accuracy"]
    return accuracy["hardened"]["validation"], -netlist.num_gates


def _finished(
    dataset: Dataset, todo: Sequence[Trial], abstain_margin: int, jobs: int
) -> Generator[Trial, None, None]:
    """Train so many at a time, and give each when it is done."""
    if jobs == 1:
        for trial in todo:
            interrupt.check()
            train_trial(dataset, trial, abstain_margin)
            yield trial
        return
    # A process that was forked cannot use JAX.
    executor = ProcessPoolExecutor(
        jobs, multiprocessing.get_context("spawn"), initializer=_use_one_thread
    )
    try:
        futures = {
            executor.submit(train_trial, dataset, trial, abstain_margin): trial for trial in todo
        }
        for future in as_completed(futures):
            future.result()
            yield futures[future]
    finally:
        interrupt.pass_on(child.pid for child in multiprocessing.active_children())
        executor.shutdown(cancel_futures=True)


def _use_one_thread() -> None:
    """Let trainings at the same time not wait for each other's threads."""
    flags = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flags}".strip()


def train_trial(dataset: Dataset, trial: Trial, abstain_margin: int) -> None:
    """Train, from the checkpoint if there is one, and write the netlist."""
    from trilut.training import TrainingConfig, train

    make_directory(trial.directory)
    result = train(
        dataset,
        TrainingConfig.of(**trial.settings),
        abstain_margin=abstain_margin,
        directory=trial.directory,
        resume=True,
    )
    save(result.netlist, trial.net)
    for checkpoint in trial.directory.glob("checkpoint*"):
        checkpoint.unlink()
