"""Running experiments: which there are, training what they need, and writing the page."""

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from trilut import interrupt
from trilut.console import stages, talk
from trilut.data import load_dataset
from trilut.errors import TrilutError
from trilut.files import make_directory
from trilut.paper.experiment import Experiment, Scale
from trilut.paper.page import write_page
from trilut.paper.runs import Run, RunResult, RunStore
from trilut.paper.scaling import SCALING
from trilut.paper.sweeps import SWEEPS
from trilut.paper.synthetic import SYNTHETIC
from trilut.paper.theory import THEORY
from trilut.summary import percent

__all__ = ["EXPERIMENTS", "SCALES", "PaperResult", "needed_runs", "run_paper", "select_experiments"]

EXPERIMENTS = {
    experiment.name: experiment for experiment in (*THEORY, *SYNTHETIC, *SWEEPS, *SCALING)
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
    names: Iterable[str], output: Path, *, scale: Scale, resume: bool = False
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
    """
    experiments = select_experiments(names)
    runs = needed_runs(experiments, scale)
    store = RunStore(make_directory(output) / "runs")
    finished = {run.key: store.load(run) for run in runs} if resume else {}
    results = {key: result for key, result in finished.items() if result is not None}
    kept = len(results)
    pending = [run for run in runs if run.key not in results]
    # What is missing should not be found out after half an hour.
    for name in sorted({run.dataset for run in pending}):
        load_dataset(name)
    results |= _train_all(pending, store, resume=resume)
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


def _train_all(runs: list[Run], store: RunStore, *, resume: bool) -> dict[str, RunResult]:
    """Train with one bar for all, so that it shows when everything will be done."""
    results: dict[str, RunResult] = {}
    total = sum(run.work for run in runs)
    done = 0
    start = time.monotonic()
    with stages() as show:
        stage = show.start("train")
        for number, run in enumerate(runs, start=1):
            if not resume:
                store.forget(run)
            title = f"{number} of {len(runs)}, {run.title}"
            before = done

            def progress(
                share: float, info: str, *, run: Run = run, before: int = before, title: str = title
            ) -> None:
                stage.update(before + int(share * run.work), total, f"{title}: {info}")

            progress(0, "compiling")
            with interrupt.deferred():
                result = results[run.key] = store.train(run, progress)
            done += run.work
            talk(f"{title}: {percent(result.evaluation.accuracy)}{_remaining(start, done, total)}")
        stage.finish(f"{len(runs)} trainings")
    return results


def _remaining(start: float, done: int, total: int) -> str:
    if done >= total:
        return ""
    seconds = (time.monotonic() - start) * (total - done) / done
    return f", about {math.ceil(seconds / 60)} min left"
