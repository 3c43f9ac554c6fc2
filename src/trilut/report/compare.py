"""Synthesis reports side by side, with ratios only where they mean something."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trilut.report.synthesis import SynthesisReport
from trilut.report.tables import Table

__all__ = ["Comparison", "Metric", "compare_reports"]

_Reader = Callable[[Mapping[str, Any]], float | None]


@dataclass(frozen=True, slots=True)
class Metric:
    """One figure of several reports.

    Parameters
    ----------
    name : str
        What it is.
    values : tuple of float or None
        Its value in each report; None where it is not known.
    ratios : tuple of float or None
        Each value over the first; None where there is none, or where conventions differ.
    differing : tuple of str
        For each report, the conventions that forbid a ratio, empty if none do.
    """

    name: str
    values: tuple[float | None, ...]
    ratios: tuple[float | None, ...]
    differing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Reports side by side.

    Parameters
    ----------
    titles : tuple of str
        What each report is of.
    conventions : mapping
        What each report counts, by convention.
    metrics : tuple of Metric
        The figures.
    """

    titles: tuple[str, ...]
    conventions: Mapping[str, tuple[str, ...]]
    metrics: tuple[Metric, ...]

    @property
    def differing(self) -> dict[str, tuple[str, ...]]:
        """The conventions in which the reports differ."""
        return {name: c for name, c in self.conventions.items() if len(set(c)) > 1}

    @property
    def table(self) -> Table:
        """The comparison as a table: values, then ratios to the first report."""
        letters = [chr(ord("A") + index) for index in range(len(self.titles))]
        rows = [
            (name, *values, *("differs" if value != values[0] else "" for value in values[1:]))
            for name, values in self.conventions.items()
        ]
        rows += [_metric_row(metric) for metric in self.metrics]
        notes = [f"{letter}: {title}" for letter, title in zip(letters, self.titles, strict=True)]
        if self.differing:
            listed = "; ".join(
                f"{name} {' against '.join(dict.fromkeys(values))}"
                for name, values in self.differing.items()
            )
            notes.append(f"CONVENTIONS DIFFER: {listed}. No ratio is given where that matters.")
        header = ("", *letters, *(f"{letter}/A" for letter in letters[1:]))
        return Table("Comparison", header, tuple(rows), tuple(notes))


# A figure, and the conventions that must be equal for a ratio of it to mean anything.
_COUNTED = ("technology", "unit", "loader", "encoder", "head", "counted")
_METRICS: dict[str, tuple[_Reader, tuple[str, ...]]] = {
    "test accuracy": (lambda d: d["accuracy"] and d["accuracy"]["test"], ("dataset",)),
    "neurons": (lambda d: d["synthesis"]["neurons"], ()),
    "area": (lambda d: d["synthesis"]["figures"]["area"], _COUNTED),
    "area per neuron": (lambda d: d["synthesis"]["figures"]["area_per_neuron"], _COUNTED),
    "FF": (lambda d: d["synthesis"]["ff"], ("technology", "loader", "encoder", "head")),
    "carry": (lambda d: d["synthesis"]["carry"], _COUNTED),
    "BRAM": (lambda d: d["synthesis"]["bram"], _COUNTED),
    "latency, cycles": (lambda d: d["synthesis"]["latency_cycles"], ("encoder", "head")),
    "logic levels": (lambda d: d["synthesis"]["levels"], _COUNTED),
    "Fmax, MHz": (lambda d: d["synthesis"]["fmax_mhz"], ("technology", "timing")),
    "latency, ns": (
        lambda d: d["synthesis"]["figures"]["latency_ns"],
        ("technology", "timing", "encoder", "head"),
    ),
    "M samples/s": (
        lambda d: _millions(d["synthesis"]["figures"]),
        ("technology", "timing", "loader"),
    ),
    "area × latency": (
        lambda d: d["synthesis"]["figures"]["area_delay"],
        (*_COUNTED, "timing"),
    ),
    "energy, pJ": (
        lambda d: d["synthesis"]["figures"]["energy_pj"],
        ("technology", "timing", "encoder", "head"),
    ),
}


def compare_reports(reports: Sequence[SynthesisReport]) -> Comparison:
    """Put reports side by side.

    Raises
    ------
    ValueError
        If there are fewer than two.
    """
    if len(reports) < 2:
        raise ValueError(f"A comparison needs at least 2 reports, not {len(reports)}")
    documents = [report.document for report in reports]
    each = [_conventions(document) for document in documents]
    metrics = tuple(
        metric
        for name, (read, needed) in _METRICS.items()
        if any((metric := _metric(name, read, needed, documents, each)).values)
    )
    conventions = {name: tuple(c[name] for c in each) for name in each[0]}
    if set(conventions["loader"]) == {"out"}:
        del conventions["loader"]
    return Comparison(tuple(report.title for report in reports), conventions, metrics)


def _conventions(document: Mapping[str, Any]) -> dict[str, str]:
    accuracy = document["accuracy"]
    dataset = "none" if accuracy is None else str(accuracy["dataset"])
    # A loader is said only where there is one.
    return {"dataset": dataset, "loader": "out", **document["synthesis"]["conventions"]}


def _metric(
    name: str,
    read: _Reader,
    needed: Sequence[str],
    documents: Sequence[Mapping[str, Any]],
    conventions: Sequence[Mapping[str, str]],
) -> Metric:
    values = tuple(read(document) for document in documents)
    differing = tuple(
        ", ".join(key for key in needed if own[key] != conventions[0][key]) for own in conventions
    )
    first = values[0]
    ratios = tuple(
        None if not first or value is None or reason else value / first
        for value, reason in zip(values, differing, strict=True)
    )
    return Metric(name, values, ratios, differing)


def _millions(figures: Mapping[str, Any]) -> float | None:
    samples = figures["samples_per_second"]
    return None if samples is None else samples / 1e6


def _metric_row(metric: Metric) -> tuple[str, ...]:
    ratios = [
        f"not comparable: {reason}" if reason else "–" if ratio is None else f"{ratio:.3f}"
        for ratio, reason in zip(metric.ratios[1:], metric.differing[1:], strict=True)
    ]
    return (metric.name, *map(_text, metric.values), *ratios)


def _text(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if isinstance(value, int) or value >= 1000 else f"{value:.4g}"
