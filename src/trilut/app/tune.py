"""The search for the settings of a table, by validation accuracy."""

import functools
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trilut.app.console import Stage
from trilut.app.trials import in_processes
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
    ranks = {trial.net: _rank(load(trial.net)) for trial in trials if trial not in todo}
    jobs = min(jobs or os.cpu_count() or 1, max(1, len(todo)))
    task = functools.partial(train_trial, dataset, abstain_margin)
    # Closed at once, also by Ctrl-C: the trainings end with it.
    with closing(in_processes(task, todo, workers=jobs)) as finished:
        stage.update(len(ranks), len(trials), "searching", unit="trial")
        for trial in finished:
            ranks[trial.net] = _rank(load(trial.net))
            best = percent(max(ranks.values())[0])
            stage.update(len(ranks), len(trials), f"best validation {best}", unit="trial")
    return max(trials, key=lambda trial: ranks[trial.net])


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


def train_trial(dataset: Dataset, abstain_margin: int, trial: Trial) -> Trial:
    """Train, from the checkpoint if there is one, and write the netlist; return the same trial."""
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
    return trial
