"""Exploration: many designs, each trained and synthesised once, and the best of them."""

import dataclasses
import hashlib
import itertools
import json
import math
import os
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trilut.app.console import stages, talk, tell_missing
from trilut.app.synth import synthesize_netlist
from trilut.circuit.format import digest, load
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

AXES = ("layers", "delta", "thresholds", "prune", "area_weight")
"""The settings of training that an exploration varies."""
FORMAT = "trilut-exploration"
_VERSION = 1


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
        """All points; a star marks those that no other beats."""
        points = self.document["points"]
        unit = next((point["unit"] for point in points if point["unit"]), "area")
        header = ("net", "pipeline", "accuracy", unit, "FF", "MHz", "cycles", "ns", "best in")
        failed = [
            f"{p['net']}, pipeline {p['pipeline']}: {p['error']}" for p in points if p["error"]
        ]
        notes = (
            "Best in: no other point has as good an accuracy with less area (accuracy), or as "
            "short a latency with less area (latency).",
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
    output: Path,
    *,
    dataset: str | None = None,
    settings: Sequence[Mapping[str, Any]] = (),
    nets: Sequence[Path] = (),
    pipelines: Sequence[int] = (2,),
    target: str = DEFAULT_TARGET,
    route: bool = True,
    frequency: float = 200.0,
    timeout: float = 600.0,
    jobs: int | None = None,
    cache: Cache | None = None,
) -> Exploration:
    """Train and synthesise every point, and write ``explore.json``, ``.html`` and two figures.

    What is finished is kept: an exploration that was stopped, or that is asked for more points,
    goes on where it was. A point that fails has its reason in the table and is tried again next
    time.

    Parameters
    ----------
    output : Path
        Directory for all that is made.
    dataset : str, optional
        What to train on.
    settings : sequence of mapping
        For each network to train, the settings that differ from the data set's defaults.
    nets : sequence of Path
        Netlists to take as they are.
    pipelines : sequence of int
        Layers between registers, for each netlist.
    route : bool
        Whether to place and route; without, there is area and no timing.
    jobs : int, optional
        How many points to synthesise at a time; by default as many as there are cores.
    cache : Cache, optional
        Where the steps of the tools are looked up and kept, also those of points that failed later.

    Raises
    ------
    TrilutError
        If there is nothing to explore, or a network, a target or the data are wrong.
    """
    part = load_target(target)
    if not route:
        part = dataclasses.replace(part, place_and_route=None)
    # Not after the last training: its reports are read again.
    require("jsonschema")
    require("amaranth")
    find_tools(part)
    tell_missing("The page", *PAGE_MODULES)
    chosen = {str(path): path for path in nets}
    chosen |= _train_all(output, dataset, settings)
    if not chosen:
        raise TrilutError("There is nothing to explore: name a data set, or netlists with --net")
    points = [
        _point(output, label, net, pipeline, part, frequency, timeout)
        for (label, net), pipeline in itertools.product(chosen.items(), pipelines)
    ]
    errors = _synthesize_all(points, jobs or os.cpu_count() or 1, cache)
    found = Exploration(_document(points, errors, output))
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


def _train_all(
    output: Path, dataset: str | None, settings: Sequence[Mapping[str, Any]]
) -> dict[str, Path]:
    """Train the networks that are not there yet, and return the netlist of each."""
    if dataset is None:
        return {}
    from trilut.app.train import train_to_directory

    nets = {}
    for number, own in enumerate(settings, start=1):
        label = _label(own)
        name = f"{_file_name(label)}-{_hash([dataset, dict(own)])}"
        directory = output / "nets" / name
        nets[label] = directory / "net.trilut"
        if not nets[label].exists():
            talk(f"network {number} of {len(settings)}: {label}")
            train_to_directory(dataset, directory, own, resume=True)
            for checkpoint in directory.glob("checkpoint*"):
                checkpoint.unlink()
    return nets


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


def _point(
    output: Path,
    label: str,
    net: Path,
    pipeline: int,
    target: Target,
    frequency: float,
    timeout: float,
) -> Point:
    # The target is hashed as a whole: a user's file can change under the same name.
    key = _hash([digest(load(net)), pipeline, repr(target), frequency])
    directory = output / "points" / f"{_file_name(label)}_pipeline-{pipeline}_{target.name}-{key}"
    return Point(directory, net, label, pipeline, target, frequency, timeout)


def _synthesize_all(points: Sequence[Point], jobs: int, cache: Cache | None) -> dict[Path, str]:
    """Synthesise what is not finished, and return why some could not be."""
    todo = [point for point in points if not point.is_finished]
    errors: dict[Path, str] = {}
    if not todo:
        return errors
    # Closed at once, also by Ctrl-C: the tools end with it.
    with stages() as show, closing(_outcomes(todo, jobs, cache)) as outcomes:
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


def _outcomes(
    todo: Sequence[Point], jobs: int, cache: Cache | None
) -> Generator[_Outcome, None, None]:
    """Synthesise so many points at a time, and give each when it is done."""
    executor = ThreadPoolExecutor(jobs)
    try:
        futures = [executor.submit(_synthesize, point, cache) for point in todo]
        for future in as_completed(futures):
            yield future.result()
    finally:
        executor.shutdown(cancel_futures=True)


def _synthesize(point: Point, cache: Cache | None) -> _Outcome:
    settings = SynthesisSettings(frequency=point.frequency, timeout=point.timeout, cache=cache)
    options = HardwareOptions(pipeline=point.pipeline, sums=point.target.sums)
    try:
        synthesis = synthesize_netlist(
            load(point.net), point.target, options, point.directory, settings
        )
    except TrilutError as error:
        return _Outcome(point, None, str(error))
    return _Outcome(point, make_synthesis_report(synthesis), synthesis.result.incomplete or None)


def _document(points: Sequence[Point], errors: Mapping[Path, str], output: Path) -> dict[str, Any]:
    rows = [_facts(point, errors.get(point.directory), output) for point in points]
    _mark(rows, "accuracy", lambda row: None if row["accuracy"] is None else -row["accuracy"])
    _mark(rows, "latency", lambda row: row["latency_ns"])
    return {"format": FORMAT, "version": _VERSION, "points": rows}


def _facts(point: Point, error: str | None, output: Path) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "net": point.label,
        "pipeline": point.pipeline,
        "target": point.target.name,
        "error": error,
        "best_in": [],
        **dict.fromkeys(
            ("accuracy", "area", "unit", "ff", "fmax_mhz", "latency_cycles", "latency_ns", "report")
        ),
    }
    name = "synthesis" if error is None else "partial"
    if not (point.directory / f"{name}.json").exists():
        return facts
    report = read_synthesis_report(point.directory / f"{name}.json")
    section, accuracy = report.section, report.document["accuracy"]
    return facts | {
        "accuracy": None if accuracy is None else accuracy["test"],
        "area": section["figures"]["area"],
        "unit": section["conventions"]["unit"],
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
        point["net"],
        str(point["pipeline"]),
        "–" if point["accuracy"] is None else percent(point["accuracy"]),
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
    for name, key in (("accuracy", "accuracy"), ("latency", "latency_ns")):
        shown = [p for p in points if p["area"] is not None and p[key] is not None]
        if shown and not missing(*PAGE_MODULES):
            figures.append(pareto_figure(shown, name, key))
            write_atomically(output / f"{name}.svg", figures[-1])
    write_page(
        output / "explore.html",
        lambda: render_page("explore.html.j2", table=found.table, figures=figures, points=points),
    )
