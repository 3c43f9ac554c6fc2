"""Published results, and ours beside them, with the conventions of each in columns."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from trilut.errors import DataError
from trilut.report.synthesis import SynthesisReport
from trilut.report.tables import Table

__all__ = [
    "Publication",
    "literature_datasets",
    "literature_page",
    "literature_tables",
    "published",
]

_HEADER = (
    *("result", "year", "variant", "accuracy %", "LUTs", "LUT type", "encoder", "FF", "MHz"),
    *("cycles", "ns", "nJ", "device", "source"),
)
_COUNTED_NOTE = (
    "LUTs of others are counted by the vendor's tools after place and route, ours by Yosys after "
    "mapping, as LUT equivalents; on Xilinx parts two LUTs with five inputs together count as one, "
    "as vendors' packers place them. Times belong to the device beside them and are not comparable "
    "between devices. Rows stand by year and name; their order says nothing of merit."
)
_ENERGY_NOTE = (
    "Our energy is an estimate for the cells of a netlist, without wires, clock tree and pads; "
    "that of a chip is measured with all of them."
)
_ACCURACY_NOTE = (
    "Accuracies have the digits of their sources: 96 can be anything from 95.5 to 96.5."
)
# What is counted, by what is said of the encoder. A network that reads quantised features has none,
# so that all of it is counted too.
_GROUPS = {
    ("in", "none"): "all counted, from the features to the class",
    ("out",): "encoder not counted",
    ("software",): "gates before synthesis, no hardware",
    ("chip",): "chips that were measured, with memory and clock",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """One published result; what its source does not print is None.

    Parameters
    ----------
    accuracy : float
        In percent.
    encoder : str
        ``in`` or ``out`` of the count, ``none`` if the network has none, ``software`` if not
        hardware but gates are counted, ``chip`` if a chip was measured.
    nj : float, optional
        Energy of a classification.
    table : str
        Where the figures stand.
    """

    method: str
    authors: str
    year: int
    venue: str
    reference: str
    dataset: str
    variant: str
    accuracy: float
    encoder: str
    table: str
    luts: int | None = None
    lut_type: str | None = None
    gates: int | None = None
    ff: int | None = None
    bram: int | None = None
    dsp: int | None = None
    mhz: float | None = None
    cycles: int | None = None
    ns: float | None = None
    nj: float | None = None
    device: str | None = None
    note: str = ""


@cache
def published() -> tuple[Publication, ...]:
    """Return all published results, by year and name."""
    document = tomllib.loads(files("trilut.report").joinpath("literature.toml").read_text())
    results = [
        Publication(**{**{key: work[key] for key in work if key != "results"}, **result})
        for work in document["work"]
        for result in work["results"]
    ]
    return tuple(sorted(results, key=lambda result: (result.year, result.method)))


def literature_datasets() -> tuple[str, ...]:
    """Return the names of the data sets that there are results for."""
    return tuple(sorted({result.dataset for result in published()}))


def literature_tables(dataset: str, ours: Sequence[SynthesisReport] = ()) -> list[Table]:
    """Return the results on a data set, one table for each convention, ours in its own.

    Parameters
    ----------
    ours : sequence of SynthesisReport
        Reports to put beside them.

    Raises
    ------
    DataError
        If there are no results on the data set, or one of ours is on another one.
    """
    if dataset not in literature_datasets():
        raise DataError(
            f"No published result on {dataset!r}, only on {', '.join(literature_datasets())}"
        )
    for report in ours:
        _check_dataset(report, dataset)
    tables = []
    for encoders, title in _GROUPS.items():
        theirs = [r for r in published() if r.dataset == dataset and r.encoder in encoders]
        mine = [report for report in ours if _encoder(report) in encoders]
        if theirs or mine:
            tables.append(_table(f"{dataset}: {title}", theirs, mine, ours))
    return tables


def literature_page() -> str:
    """Return ``docs/literature.md``."""
    tables = [table for name in literature_datasets() for table in literature_tables(name)]
    return "\n".join([_INTRODUCTION, *(table.markdown() for table in tables), _sources()])


_INTRODUCTION = """\
# Published results

Made from `src/trilut/report/literature.toml` by `trilut literature --markdown`; do not edit it
here. With `trilut literature mnist --beside build/synth/synthesis.json` your own result stands in
the table of its conventions.

The last column says where a figure is from. They were gathered from the papers and from tables in
which later papers repeat them, not measured here: look a figure up before you quote it. Results
whose counts mean different things are in different tables, and a ratio to ours is printed only
inside one.
"""


def _check_dataset(report: SynthesisReport, dataset: str) -> None:
    accuracy = report.document["accuracy"]
    known = None if accuracy is None else accuracy["dataset"]
    if known != dataset:
        origin = "a data set that it does not name" if known is None else repr(known)
        raise DataError(f"Synthesis report {report.title!r} is of {origin}, not of {dataset!r}")


def _encoder(report: SynthesisReport) -> str:
    encoder: str = report.section["conventions"]["encoder"]
    return encoder


def _table(
    title: str,
    theirs: Sequence[Publication],
    mine: Sequence[SynthesisReport],
    ours: Sequence[SynthesisReport],
) -> Table:
    rows = [*map(_published_row, theirs), *map(_own_row, mine)]
    header: tuple[str, ...] = _HEADER
    notes = [_ACCURACY_NOTE, *([_COUNTED_NOTE] if mine else [])]
    if any(report.section["figures"]["energy_pj"] is not None for report in mine):
        notes.append(_ENERGY_NOTE)
    if mine:
        # A ratio to the first of ours, where the LUTs are of the same type.
        header = (*_HEADER, "LUTs / ours")
        ratios = [_ratio_text(r.luts, r.lut_type, mine[0]) for r in theirs]
        own = [_ratio_text(_area(r), _unit(r), mine[0]) for r in mine]
        rows = [(*row, ratio) for row, ratio in zip(rows, [*ratios, *own], strict=True)]
    elif ours and theirs:
        notes.append("NOT COMPARABLE with ours, which are counted otherwise: no ratio is given.")
    return _without_empty_columns(Table(title, header, tuple(rows), tuple(notes)))


def _without_empty_columns(table: Table) -> Table:
    columns = [
        index for index in range(len(table.header)) if any(row[index] != "–" for row in table.rows)
    ]
    rows = tuple(tuple(row[index] for index in columns) for row in table.rows)
    return Table(table.title, tuple(table.header[index] for index in columns), rows, table.notes)


def _published_row(result: Publication) -> tuple[str, ...]:
    luts = "–" if result.luts is None else f"{result.luts:,}"
    if result.gates is not None:
        luts = f"{result.gates:,} gates"
    figures = (result.ff, result.mhz, result.cycles, result.ns, result.nj)
    return (
        result.method,
        str(result.year),
        result.variant,
        str(result.accuracy),
        luts,
        result.lut_type or "–",
        result.encoder,
        *("–" if figure is None else f"{figure:,}" for figure in figures),
        result.device or "–",
        result.table,
    )


def _own_row(report: SynthesisReport) -> tuple[str, ...]:
    section, accuracy = report.section, report.document["accuracy"]
    figures = section["figures"]
    return (
        f"ours: {report.document['netlist']['name']}",
        "",
        f"{section['neurons']:,} neurons",
        f"{100 * accuracy['test']:.2f}",
        f"{_area(report):,}",
        _unit(report),
        _encoder(report),
        f"{section['ff']:,}",
        "–" if section["fmax_mhz"] is None else f"{section['fmax_mhz']:.0f}",
        str(section["latency_cycles"]),
        "–" if figures["latency_ns"] is None else f"{figures['latency_ns']:.1f}",
        "–" if figures["energy_pj"] is None else f"{figures['energy_pj'] / 1000:.3g}",
        section["device"],
        "synthesis.json",
    )


def _area(report: SynthesisReport) -> int:
    area: int = report.section["figures"]["area"]
    return area


def _unit(report: SynthesisReport) -> str:
    unit: str = report.section["conventions"]["unit"]
    return unit


def _ratio_text(luts: int | None, lut_type: str | None, ours: SynthesisReport) -> str:
    if luts is None:
        return "–"
    if lut_type != _unit(ours):
        return f"{lut_type} is not {_unit(ours)}"
    return f"{luts / _area(ours):.2f}" if _area(ours) else "–"


def _sources() -> str:
    works: Mapping[tuple[Any, ...], None] = dict.fromkeys(
        (r.year, r.method, r.authors, r.venue, r.reference) for r in published()
    )
    rows = tuple(
        (method, authors, f"{venue} {year}", reference)
        for year, method, authors, venue, reference in works
    )
    notes = tuple(sorted({f"{r.method}: {r.note}." for r in published() if r.note}))
    table = Table("Sources", ("result", "authors", "venue", "reference"), rows, notes)
    return table.markdown()
