"""Running experiments: which there are, training what they need, and writing the page."""

import functools
import math
import time
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass
from multiprocessing import active_children, get_context
from pathlib import Path

from trilut import interrupt
from trilut.app.console import stages, talk
from trilut.data import load_dataset
from trilut.errors import TrilutError
from trilut.extras import require
from trilut.files import make_directory
from trilut.paper.diversity import DIVERSITY
from trilut.paper.experiment import Experiment, Scale
from trilut.paper.page import write_page
from trilut.paper.runs import Run, RunResult, RunStore
from trilut.paper.scaling import SCALING
from trilut.paper.sweeps import SWEEPS
from trilut.paper.synthetic import SYNTHETIC
from trilut.paper.theory import THEORY
from trilut.report.summary import percent

__all__ = ["EXPERIMENTS", "SCALES", "PaperResult", "needed_runs", "run_paper", "select_experiments"]

EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (*THEORY, *SYNTHETIC, *SWEEPS, *SCALING, *DIVERSITY)
}
"""All experiments, in the order of the page."""

SCALES = {
    "small": Scale("small", (0,), 2000, shrink=12, image_steps=600, images=(10_000, 2000)),
    "full": Scale("full", (0, 1, 2), 5000),
}
"""What one machine can do in half an hour, and what the paper did."""


@dataclass(frozen=True, slots=True)
class PaperResult:
    """What was done.

    Parameters
    ----------
    page : Path
        The results page.
    trained, kept : int
        Trainings that were run now, and that were there already.
    cpu_seconds : float
        Processor time of all of them.
    """

    page: Path
    trained: int
    kept: int
    cpu_seconds: float


def select_experiments(names: Iterable[str]) -> list[Experiment]:
    """Return experiments by name, in the order of the page; ``all`` stands for all of them.

    Raises
    ------
    TrilutError
        If there is no experiment of a name.
    """
    wanted = set(names)
    for name in sorted(wanted - set(EXPERIMENTS) - {"all"}):
        raise TrilutError(
            f"There is no experiment {name!r}, expected all or some of {', '.join(EXPERIMENTS)}"
        )
    return [e for name, e in EXPERIMENTS.items() if name in wanted or "all" in wanted]


def needed_runs(experiments: Iterable[Experiment], scale: Scale) -> list[Run]:
    """Return the trainings that experiments need, each once."""
    runs = {run.key: run for experiment in experiments for run in experiment.runs(scale)}
    return list(runs.values())


def run_paper(
    names: Iterable[str], output: Path, *, scale: Scale, resume: bool = False, jobs: int = 1
) -> PaperResult:
    """Train what the experiments need and write their page.

    Parameters
    ----------
    names : iterable of str
        Experiments, or ``all``.
    output : Path
        Directory for ``results.md``, ``results/*.svg``, and ``runs/`` with the trainings.
    resume : bool
        Whether to keep the trainings that are there and go on with one that was interrupted;
        otherwise all start anew.
    jobs : int
        Trainings at a time, each in a process of its own if there are several.
    """
    experiments = select_experiments(names)
    runs = needed_runs(experiments, scale)
    store = RunStore(make_directory(output) / "runs")
    finished = {run.key: store.load(run) for run in runs} if resume else {}
    results = {key: result for key, result in finished.items() if result is not None}
    kept = len(results)
    pending = [run for run in runs if run.key not in results]
    # What is missing should not be found out after half an hour.
    if pending:
        require("jax", "optax", "jaxtyping", "matplotlib")
    for name in sorted({run.dataset for run in pending}):
        load_dataset(name)
    if not resume:
        for run in pending:
            store.forget(run)
    train_all = _train_one_by_one if jobs == 1 else functools.partial(_train_apart, jobs=jobs)
    results |= train_all(pending, store)
    seconds = sum(float(result.record["cpu_seconds"]) for result in results.values())
    with stages() as show:
        stage = show.start("page")
        sections = {}
        for done, experiment in enumerate(experiments):
            stage.update(done, len(experiments), experiment.name)
            sections[experiment] = experiment.build(results, scale)
        chosen = (
            "all" if len(experiments) == len(EXPERIMENTS) else " ".join(e.name for e in experiments)
        )
        page = write_page(sections, scale, seconds, output, names=chosen)
        stage.finish(str(page))
    return PaperResult(page, len(runs) - kept, kept, seconds)


def _train_one_by_one(runs: list[Run], store: RunStore) -> dict[str, RunResult]:
    """Train with one bar for all, so that it shows when everything will be done."""
    results: dict[str, RunResult] = {}
    progress = _Progress(runs)
    with stages() as show:
        stage = show.start("train")
        for run in runs:

            def report(share: float, info: str, *, run: Run = run) -> None:
                stage.update(*progress.during(run, share), f"{run.title}: {info}")

            report(0, "compiling")
            with interrupt.deferred():
                results[run.key] = store.train(run, report)
            talk(progress.finish(results[run.key]))
        stage.finish(f"{len(runs)} trainings")
    return results


def _train_apart(runs: list[Run], store: RunStore, *, jobs: int) -> dict[str, RunResult]:
    """Train several at a time, the longest first, so that none is left alone at the end."""
    results: dict[str, RunResult] = {}
    progress = _Progress(runs)
    # A forked process would share the threads of JAX.
    pool = ProcessPoolExecutor(jobs, get_context("spawn"), initializer=interrupt.install)
    try:
        with stages() as show:
            stage = show.start("train")
            ordered = sorted(runs, key=lambda run: -run.work)
            waiting = {pool.submit(_train_and_store, run, store) for run in ordered}
            while waiting:
                finished, waiting = wait(waiting, timeout=1, return_when=FIRST_COMPLETED)
                stage.update(*progress.so_far, f"{jobs} at a time")
                for future in finished:
                    result = future.result()
                    results[result.run.key] = result
                    talk(progress.finish(result))
            stage.finish(f"{len(runs)} trainings")
    finally:
        # After Ctrl-C, which the processes get too: they write checkpoints and end.
        interrupt.pass_on(process.pid for process in active_children())
        pool.shutdown(cancel_futures=True)
    return results


def _train_and_store(run: Run, store: RunStore) -> RunResult:
    with interrupt.deferred():
        return store.train(run, lambda share, info: interrupt.check())


class _Progress:
    """How much of the work is done, and how long the rest will take."""

    def __init__(self, runs: list[Run]) -> None:
        self._total = sum(run.work for run in runs)
        self._num_runs, self._num_finished = len(runs), 0
        self._done = 0
        self._start = time.monotonic()

    @property
    def so_far(self) -> tuple[int, int]:
        """The finished work, and all of it."""
        return self._done, self._total

    def during(self, run: Run, share: float) -> tuple[int, int]:
        """Return the work that is done with a share of a run, and all of it."""
        return self._done + int(share * run.work), self._total

    def finish(self, result: RunResult) -> str:
        """Count a run as finished, and say so."""
        self._done += result.run.work
        self._num_finished += 1
        number = f"{self._num_finished} of {self._num_runs}"
        accuracy = percent(result.evaluation.accuracy)
        return f"{number}, {result.run.title}: {accuracy}{self._remaining()}"

    def _remaining(self) -> str:
        if self._done >= self._total:
            return ""
        seconds = (time.monotonic() - self._start) * (self._total - self._done) / self._done
        return f", about {math.ceil(seconds / 60)} min left"
