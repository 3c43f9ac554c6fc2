"""Trainings that experiments share: each is data, trained once, and kept under its hash."""

import dataclasses
import functools
import hashlib
import json
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from trilut.circuit.encoder import Encoder
from trilut.circuit.format import load, save
from trilut.circuit.netlist import Netlist
from trilut.data import Dataset, Split, load_dataset
from trilut.files import make_directory, parse_json, read_bytes, write_atomically
from trilut.measure.evaluation import Evaluation, evaluate_split
from trilut.report.summary import plain

__all__ = ["Run", "RunResult", "RunStore"]

# Part of the hash: raise it when what a run records changes.
_VERSION = 1


@dataclass(frozen=True, slots=True)
class Run:
    """A training, as data.

    Parameters
    ----------
    dataset : str
        Name of the data set; its seed is the training's.
    settings : mapping
        Fields of TrainingConfig.
    images : tuple of int, optional
        How many of the training and of the test samples to use; all if left out.
    landscape : bool
        Whether to measure the loss around the result.
    informed_by : float, optional
        δ of a ternary encoder; a binary circuit then gets the bits that tell the same samples
        apart.
    """

    dataset: str
    settings: Mapping[str, Any] = field(hash=False)
    images: tuple[int, int] | None = None
    landscape: bool = False
    informed_by: float | None = None

    @property
    def key(self) -> str:
        """A hash of all that decides the result."""
        content = json.dumps([_VERSION, version("trilut"), plain(self)], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:16]

    @property
    def title(self) -> str:
        """A few words for the progress display."""
        return f"{self.settings['recipe']} on {self.dataset}"

    @property
    def by_layer(self) -> bool:
        """Whether to harden layer by layer, which takes a compilation each.

        Only PST loses something on the way, and only the small tasks show where.
        """
        return self.settings["recipe"] == "paper" and self.images is None

    @property
    def work(self) -> int:
        """About how long it takes: gates times steps, and a little for the compiler."""
        return sum(self.settings["layers"]) * self.settings["steps"] + 2_000_000


@dataclass(frozen=True)
class RunResult:
    """A finished training.

    Parameters
    ----------
    run : Run
        What was trained.
    record : mapping
        What was measured; ``evaluation`` is the hardened circuit's on the test samples.
    directory : Path
        Where ``net.trilut`` and ``run.json`` are.
    """

    run: Run
    record: Mapping[str, Any]
    directory: Path

    @functools.cached_property
    def netlist(self) -> Netlist:
        """The hardened circuit."""
        return load(self.directory / "net.trilut")

    @functools.cached_property
    def evaluation(self) -> Evaluation:
        """How good the circuit is on the test samples."""
        return Evaluation(**self.record["evaluation"])

    @functools.cached_property
    def test(self) -> Split:
        """The test samples."""
        return _samples(self.run).test

    @property
    def soft(self) -> float:
        """Accuracy of the training forward on the test samples."""
        return float(self.record["soft"])

    @property
    def gap(self) -> float:
        """What hardening loses of the accuracy."""
        return self.soft - self.evaluation.accuracy


Progress = Callable[[float, str], None]
"""Called with the share of a training that is done and a few words."""


@dataclass(frozen=True, slots=True)
class RunStore:
    """Finished trainings in a directory."""

    directory: Path

    def path(self, run: Run) -> Path:
        """Return the directory of a run."""
        name = run.dataset.partition(":")[0]
        return self.directory / f"{name}-{run.settings['recipe']}-{run.key}"

    def load(self, run: Run) -> RunResult | None:
        """Return a finished run, or None."""
        path = self.path(run)
        record = path / "run.json"
        if not record.exists():
            return None
        return RunResult(run, parse_json(read_bytes(record), f"Run {str(record)!r}"), path)

    def forget(self, run: Run) -> None:
        """Remove a run, finished or not."""
        shutil.rmtree(self.path(run), ignore_errors=True)

    def train(self, run: Run, progress: Progress) -> RunResult:
        """Train, go on from a checkpoint if there is one, and keep the result."""
        path = make_directory(self.path(run))
        netlist, record = _train(run, path, progress)
        save(netlist, path / "net.trilut")
        # Written last: a directory with this file is complete.
        write_atomically(path / "run.json", json.dumps(plain(record), indent=1) + "\n")
        for checkpoint in path.glob("checkpoint*"):
            checkpoint.unlink()
        return RunResult(run, plain(record), path)


def _train(run: Run, directory: Path, progress: Progress) -> tuple[Netlist, dict[str, Any]]:
    from trilut.paper.measure import loss_landscape, table_errors
    from trilut.training import TrainingConfig, layer_accuracies, train

    dataset = _samples(run)
    config = TrainingConfig.of(**run.settings)
    clock = _Clock()

    def report(measured: Mapping[str, Any], steps: int) -> None:
        clock.mark(measured["step"])
        progress(measured["step"] / steps, f"loss {measured['loss']:.3f}")

    result = train(
        dataset,
        config,
        encoder=_binary_encoder(run, dataset),
        progress=report,
        directory=directory,
        resume=True,
    )
    netlist, fitted = result.netlist, result.fitted
    record = {
        "run": run,
        "soft": fitted.soft.test,
        "validation": fitted.hardened.validation,
        "evaluation": evaluate_split(netlist, dataset.test),
        "layers": layer_accuracies(fitted, dataset.test) if run.by_layer else None,
        "tables": table_errors(fitted),
        "history": fitted.history,
        "cpu_seconds": clock.total,
        "cpu_per_step": clock.per_step,
    }
    if run.landscape:
        record["landscape"] = loss_landscape(fitted, dataset.validation)
    return netlist, record


def _binary_encoder(run: Run, dataset: Dataset) -> Encoder | None:
    """Return the encoder whose bits tell apart what trits with a band would."""
    from trilut.training import fit_encoder
    from trilut.training.encoding import equal_information

    if run.informed_by is None:
        return None
    return equal_information(
        fit_encoder(
            dataset.train.x,
            dataset.feature_names,
            thresholds=run.settings["thresholds"],
            delta=run.informed_by,
        )
    )


class _Clock:
    """Processor time of a training, which other programs do not make longer."""

    def __init__(self) -> None:
        self._start = time.process_time()
        self._marks: list[tuple[int, float]] = []

    def mark(self, step: int) -> None:
        self._marks.append((step, time.process_time()))

    @property
    def total(self) -> float:
        return time.process_time() - self._start

    @property
    def per_step(self) -> float | None:
        """Seconds a step, the compilation before the first mark left out."""
        if len(self._marks) < 2:
            return None
        (first, start), (last, end) = self._marks[0], self._marks[-1]
        return (end - start) / (last - first)


# The runs on one data set come one after the other.
@functools.lru_cache(maxsize=1)
def _load(name: str, seed: int) -> Dataset:
    return load_dataset(name, seed=seed)


def _samples(run: Run) -> Dataset:
    dataset = _load(run.dataset, run.settings["seed"])
    if run.images is None:
        return dataset
    train, test = run.images

    def first(split: Split, count: int) -> Split:
        return Split(split.x[:count], split.y[:count])

    return dataclasses.replace(
        dataset,
        train=first(dataset.train, train),
        # As many as are evaluated at once: it is measured often, and nothing is chosen by it.
        validation=first(dataset.validation, 1024),
        test=first(dataset.test, test),
    )
