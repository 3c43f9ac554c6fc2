"""Exploration: many designs, each trained and synthesised once, and the best of them.

A design is chosen by its validation accuracy; the test accuracy stands beside it, to be reported.
"""

import dataclasses
import hashlib
import itertools
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trilut.app.budget import Budget, parse_budget
from trilut.app.console import Stage, silent, stages, talk, tell_missing
from trilut.app.synth import synthesize_netlist
from trilut.app.trials import check_cluster, in_processes, in_threads
from trilut.circuit.format import digest, load
from trilut.circuit.netlist import Netlist
from trilut.data import load_dataset
from trilut.data.names import absolute_name
from trilut.errors import TrilutError
from trilut.extras import missing, require
from trilut.files import make_directory, write_atomically
from trilut.hdl.options import DEFAULT_TARGET, HardwareOptions
from trilut.report.page import PAGE_MODULES, render_page, write_page
from trilut.report.plots import pareto_figure
from trilut.report.summary import percent
from trilut.report.synthesis import (
    SynthesisReport,
    make_synthesis_report,
    read_synthesis_report,
    unit_text,
    write_synthesis_report,
)
from trilut.report.tables import Table
from trilut.synth.cache import Cache
from trilut.synth.runner import SynthesisSettings, find_tools
from trilut.synth.target import Target, load_target

__all__ = [
    "AXES",
    "Exploration",
    "Point",
    "explore",
    "pareto_front",
    "training_grid",
]

AXES = ("budget", "layers", "wiring", "spacing", "thresholds", "delta", "prune", "area_weight")
"""What an exploration varies: settings of training, and budgets that choose the layers."""
FORMAT = "trilut-exploration"
_VERSION = 2


@dataclass(frozen=True, slots=True)
class Point:
    """One design of an exploration.

    Parameters
    ----------
    directory : Path
        Where its report is, or will be.
    net : Path
        The netlist.
    label : str
        What the net is called in the table.
    accuracy : mapping
        What the netlist records of its accuracy, by split.
    pipeline : int
        Layers between registers.
    target : Target
        What it is synthesised for.
    frequency : float
        Goal of place and route, in MHz.
    timeout : float
        Seconds for each step of the tools.
    """

    directory: Path
    net: Path
    label: str
    accuracy: Mapping[str, float]
    pipeline: int
    target: Target
    frequency: float
    timeout: float

    @property
    def is_finished(self) -> bool:
        """Whether its report is there; it is written last, under its name only when complete."""
        return (self.directory / "synthesis.json").exists()


@dataclass(frozen=True, slots=True, eq=False)
class Exploration:
    """What was found.

    Parameters
    ----------
    document : mapping
        Everything, as JSON can hold it.
    """

    document: Mapping[str, Any]

    @property
    def table(self) -> Table:
        """All points, numbered as in the figures."""
        points = self.document["points"]
        unit = next((point["unit"] for point in points if point["unit"]), "area")
        speed = ("FF", "MHz", "cycles", "ns", "best in")
        header = ("point", "net", "pipeline", "validation", "test", unit, *speed)
        failed = [
            f"{p['net']}, pipeline {p['pipeline']}: {p['error']}" for p in points if p["error"]
        ]
        notes = (
            "Best in: no other point has as good a validation accuracy with less area (accuracy), "
            "or as short a latency with less area (latency). The test accuracy chooses nothing.",
            *failed,
        )
        return Table("Exploration", header, tuple(map(_row, points)), notes)

    @property
    def num_failed(self) -> int:
        """How many points have no result."""
        return sum(point["error"] is not None for point in self.document["points"])


def training_grid(
    varied: Mapping[str, Sequence[Any]], base: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return the settings of every combination of the values of some settings."""
    return [
        {**base, **dict(zip(varied, values, strict=True))}
        for values in itertools.product(*varied.values())
    ]


def explore(
    output: str | Path,
    *,
    dataset: str | None = None,
    settings: Sequence[Mapping[str, Any]] = (),
    nets: Sequence[str | Path] = (),
    pipelines: Sequence[int] = (2,),
    target: str = DEFAULT_TARGET,
    route: bool = True,
    frequency: float = 200.0,
    timeout: float = 600.0,
    workers: int | None = None,
    scheduler: str | None = None,
    cache: Cache | None = None,
) -> Exploration:
    """Train and synthesise every point, and write ``explore.json``, ``.html`` and two figures.

    What is finished is kept: an exploration that was stopped, or that is asked for more points,
    goes on where it was. A training or a point that fails has its reason in the table and is tried
    again next time.

    Parameters
    ----------
    output : path
        Directory for all that is made.
    dataset : str, optional
        What to train on.
    settings : sequence of mapping
        For each network to train, the settings that differ from the data set's defaults.
    nets : sequence of path
        Netlists to take as they are.
    pipelines : sequence of int
        Layers between registers, for each netlist.
    route : bool
        Whether to place and route; without, there is area and no timing.
    workers : int, optional
        How many networks to train at a time, each in a process of its own, and how many points to
        synthesise; by default one network, and as many points as there are cores.
    scheduler : str, optional
        Address of a Dask scheduler, whose workers then do both. They have to see the output
        directory and the data under the same paths.
    cache : Cache, optional
        Where the steps of the tools are looked up and kept, also those of points that failed later.

    Raises
    ------
    TrilutError
        If there is nothing to explore, or a setting, a target or the data are wrong, or the
        scheduler cannot be reached.
    """
    output = Path(output)
    part = load_target(target)
    if not route:
        part = dataclasses.replace(part, place_and_route=None)
    # Not after the last training: its reports are read again.
    require("jsonschema")
    require("amaranth")
    find_tools(part)
    tell_missing("The page", *PAGE_MODULES)
    if scheduler is not None:
        # The workers have other working directories.
        output = output.absolute()
        check_cluster(scheduler)
    if dataset is not None:
        require("jax", "optax", "jaxtyping")
    trials = [] if dataset is None else _trials(output, dataset, settings)
    untrained = _train_all(trials, workers or 1, scheduler)
    chosen = {str(path): Path(path) for path in nets}
    chosen |= {trial.label: trial.net for trial in trials if trial.label not in untrained}
    if not chosen and not untrained:
        raise TrilutError("There is nothing to explore: name a data set, or netlists with --net")
    points = [
        point
        for label, net in chosen.items()
        for point in _points(output, label, net, pipelines, part, frequency, timeout)
    ]
    errors = _synthesize_all(points, workers or os.cpu_count() or 1, scheduler, cache)
    rows = [_facts(point, errors.get(point.directory), output) for point in points]
    rows += [
        _row_of(label, pipeline, part, error)
        for label, error in untrained.items()
        for pipeline in pipelines
    ]
    found = Exploration(_document(rows))
    _write(found, output)
    return found


def pareto_front(points: Sequence[tuple[float, float]]) -> list[int]:
    """Return the indices of the points that no other beats, where less is better in both values.

    A point is beaten by one that is no worse in both and better in one; equal points do not beat
    each other.
    """
    order = sorted(range(len(points)), key=lambda index: points[index])
    front: list[int] = []
    for index in order:
        last = points[front[-1]] if front else (math.inf, math.inf)
        if points[index][1] < last[1] or points[index] == last:
            front.append(index)
    return sorted(front)


@dataclass(frozen=True, slots=True)
class _Trial:
    """A network to train.

    Parameters
    ----------
    dataset : str
        What to train on.
    place : str
        The same, as it can be loaded from anywhere.
    settings : mapping
        What differs from the data set's defaults.
    directory : Path
        Where the training is.
    """

    dataset: str
    place: str
    settings: Mapping[str, Any]
    directory: Path

    @property
    def label(self) -> str:
        """What it is called in the table."""
        return _label(self.settings)

    @property
    def net(self) -> Path:
        """The netlist; it is there when the training is finished."""
        return self.directory / "net.trilut"


def _trials(output: Path, dataset: str, settings: Sequence[Mapping[str, Any]]) -> list[_Trial]:
    """Return the networks to train, after their settings have been checked."""
    from trilut.training import TrainingConfig

    samples = load_dataset(dataset)
    place = absolute_name(dataset)
    trials = []
    for own in settings:
        budget, chosen = _split_budget(own)
        if budget is not None and "layers" in chosen:
            raise TrilutError("A budget chooses the number of gates; leave out --layers")
        TrainingConfig.for_dataset(samples, **chosen).head(samples.class_names)
        name = f"{_file_name(_label(own))}-{_hash([dataset, dict(own)])}"
        trials.append(_Trial(dataset, place, own, output / "nets" / name))
    return trials


def _train_all(trials: Sequence[_Trial], workers: int, scheduler: str | None) -> dict[str, str]:
    """Train the networks that are not there yet, and return why some could not be."""
    todo = [trial for trial in trials if not trial.net.exists()]
    errors: dict[str, str] = {}
    if not todo:
        return errors
    is_here = workers == 1 and scheduler is None
    train = _train_here if is_here else _train_elsewhere
    with (
        silent() if is_here else stages() as show,
        closing(in_processes(train, todo, workers=workers, scheduler=scheduler)) as outcomes,
    ):
        stage = show.start("train")
        stage.update(0, len(todo), f"{len(trials) - len(todo)} of {len(trials)} found finished")
        for done, (label, error) in enumerate(outcomes, start=1):
            if error is not None:
                errors[label] = error
            stage.update(done, len(todo), label)
        stage.finish(f"{len(trials)} networks, {len(errors)} without a result")
    for trial in todo:
        if trial.label not in errors and not trial.net.exists():
            raise TrilutError(
                f"Network {trial.label!r} was trained, but {str(trial.net)!r} is not there; "
                "all workers have to see the same directory"
            )
    return errors


def _train_here(trial: _Trial) -> tuple[str, str | None]:
    """Train a network and show how it goes; return its label, and why it could not be trained."""
    talk(f"network: {trial.label}")
    with stages() as show:
        return _train(trial, show.start("train"))


def _train_elsewhere(trial: _Trial) -> tuple[str, str | None]:
    with silent() as show:
        return _train(trial, show.start("train"))


def _train(trial: _Trial, stage: Stage) -> tuple[str, str | None]:
    from trilut.app.train import train_in_stage

    try:
        samples = load_dataset(trial.place, seed=trial.settings.get("seed", 0))
        samples = dataclasses.replace(samples, name=trial.dataset)
        budget, settings = _split_budget(trial.settings)
        train_in_stage(samples, trial.directory, settings, stage, budget=budget, resume=True)
    except TrilutError as error:
        return trial.label, str(error)
    for checkpoint in trial.directory.glob("checkpoint*"):
        checkpoint.unlink()
    return trial.label, None


def _split_budget(settings: Mapping[str, Any]) -> tuple[Budget | None, dict[str, Any]]:
    """Return the budget, if there is one, and the settings of training."""
    rest = dict(settings)
    text = rest.pop("budget", None)
    return None if text is None else parse_budget(text), rest


def _label(settings: Mapping[str, Any]) -> str:
    """Name a network by what its exploration varies."""
    parts = [
        f"{name} {'x'.join(map(str, value)) if isinstance(value, tuple) else value}"
        for name, value in settings.items()
        if name in AXES
    ]
    return ", ".join(parts) or "default"


def _file_name(label: str) -> str:
    return "".join(letter if letter.isalnum() or letter in ".-" else "_" for letter in label)[:80]


def _hash(value: object) -> str:
    """Return what tells apart points of equal names."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:10]


def _points(
    output: Path,
    label: str,
    net: Path,
    pipelines: Sequence[int],
    target: Target,
    frequency: float,
    timeout: float,
) -> list[Point]:
    netlist = load(net)
    circuit, accuracy = digest(netlist), _recorded_accuracy(netlist)
    points = []
    for pipeline in pipelines:
        # The target is hashed as a whole: a user's file can change under the same name.
        key = _hash([circuit, pipeline, repr(target), frequency])
        name = f"{_file_name(label)}_pipeline-{pipeline}_{target.name}-{key}"
        place = output / "points" / name
        points.append(Point(place, net, label, accuracy, pipeline, target, frequency, timeout))
    return points


def _recorded_accuracy(netlist: Netlist) -> dict[str, float]:
    """Return what a netlist says of its own accuracy, by split."""
    known: Any = netlist.provenance.get("accuracy")
    try:
        return {str(name): float(share) for name, share in known["hardened"].items()}
    except (AttributeError, KeyError, TypeError, ValueError):
        return {}


def _synthesize_all(
    points: Sequence[Point], workers: int, scheduler: str | None, cache: Cache | None
) -> dict[Path, str]:
    """Synthesise what is not finished, and return why some could not be."""
    todo = [(point, cache) for point in points if not point.is_finished]
    errors: dict[Path, str] = {}
    if not todo:
        return errors
    outcomes = in_threads(_synthesize, todo, workers=workers, scheduler=scheduler)
    with stages() as show, closing(outcomes):
        stage = show.start("synth")
        stage.update(0, len(todo), f"{len(points) - len(todo)} of {len(points)} found finished")
        for done, outcome in enumerate(outcomes, start=1):
            if outcome.report is not None:
                name = "synthesis" if outcome.error is None else "partial"
                write_synthesis_report(outcome.report, outcome.point.directory, name=name)
            if outcome.error is not None:
                errors[outcome.point.directory] = outcome.error
            stage.update(done, len(todo), f"{outcome.point.label}, {outcome.point.pipeline}")
        stage.finish(f"{len(points)} points, {len(errors)} without a result")
    return errors


@dataclass(frozen=True, slots=True, eq=False)
class _Outcome:
    """What became of a point: its report, why there is none, or why it is not complete."""

    point: Point
    report: SynthesisReport | None
    error: str | None = None


def _synthesize(task: tuple[Point, Cache | None]) -> _Outcome:
    point, cache = task
    settings = SynthesisSettings(frequency=point.frequency, timeout=point.timeout, cache=cache)
    options = HardwareOptions(pipeline=point.pipeline, sums=point.target.sums)
    try:
        synthesis = synthesize_netlist(
            load(point.net), point.target, options, point.directory, settings
        )
    except TrilutError as error:
        return _Outcome(point, None, str(error))
    return _Outcome(point, make_synthesis_report(synthesis), synthesis.result.incomplete or None)


def _document(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return all points, numbered, and which of them no other beats."""
    for number, row in enumerate(rows, start=1):
        row["point"] = number
    _mark(rows, "accuracy", lambda row: None if row["validation"] is None else -row["validation"])
    _mark(rows, "latency", lambda row: row["latency_ns"])
    return {"format": FORMAT, "version": _VERSION, "points": rows}


def _row_of(label: str, pipeline: int, target: Target, error: str | None) -> dict[str, Any]:
    """Return a point of which no more is known."""
    figures = ("area", "unit", "ff", "fmax_mhz", "latency_cycles", "latency_ns", "report")
    return {
        "net": label,
        "pipeline": pipeline,
        "target": target.name,
        "error": error,
        "best_in": [],
        **dict.fromkeys(("validation", "test", *figures)),
    }


def _facts(point: Point, error: str | None, output: Path) -> dict[str, Any]:
    facts = _row_of(point.label, point.pipeline, point.target, error)
    facts |= {split: point.accuracy.get(split) for split in ("validation", "test")}
    name = "synthesis" if error is None else "partial"
    if not (point.directory / f"{name}.json").exists():
        return facts
    section = read_synthesis_report(point.directory / f"{name}.json").section
    return facts | {
        "area": section["figures"]["area"],
        "unit": unit_text(section),
        "ff": section["ff"],
        "fmax_mhz": section["fmax_mhz"],
        "latency_cycles": section["latency_cycles"],
        "latency_ns": section["figures"]["latency_ns"],
        "report": str((point.directory / f"{name}.html").relative_to(output)),
    }


def _mark(
    rows: Sequence[dict[str, Any]], name: str, cost: Callable[[Mapping[str, Any]], float | None]
) -> None:
    """Write into the rows on the front of a cost and the area that they are."""
    known = [
        (row, value) for row in rows if row["area"] is not None and (value := cost(row)) is not None
    ]
    for index in pareto_front([(row["area"], value) for row, value in known]):
        known[index][0]["best_in"].append(name)


def _row(point: Mapping[str, Any]) -> tuple[str, ...]:
    def number(value: float | None, form: str) -> str:
        return "–" if value is None else format(value, form)

    return (
        str(point["point"]),
        point["net"],
        str(point["pipeline"]),
        *(
            "–" if point[split] is None else percent(point[split])
            for split in ("validation", "test")
        ),
        number(point["area"], ",.0f"),
        number(point["ff"], ","),
        number(point["fmax_mhz"], ".1f"),
        number(point["latency_cycles"], "d"),
        number(point["latency_ns"], ".1f"),
        "failed" if point["error"] else ", ".join(point["best_in"]),
    )


def _write(found: Exploration, output: Path) -> None:
    make_directory(output)
    write_atomically(output / "explore.json", json.dumps(found.document, indent=2) + "\n")
    points = found.document["points"]
    figures = []
    for name, key in (("accuracy", "validation"), ("latency", "latency_ns")):
        shown = [p for p in points if p["area"] is not None and p[key] is not None]
        if shown and not missing(*PAGE_MODULES):
            figures.append(pareto_figure(shown, name, key))
            write_atomically(output / f"{name}.svg", figures[-1])
    write_page(
        output / "explore.html",
        lambda: render_page("explore.html.j2", table=found.table, figures=figures, points=points),
    )
