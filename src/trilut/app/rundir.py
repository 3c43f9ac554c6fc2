"""A report of whatever a run directory holds."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from trilut.app.console import talk
from trilut.app.history import read_history
from trilut.circuit.format import digest, load
from trilut.circuit.netlist import Netlist
from trilut.data import Dataset
from trilut.errors import DataError, FormatError, ToolError
from trilut.extras import require
from trilut.files import make_directory, parse_json, read_bytes
from trilut.measure.evaluation import dataset_accuracy
from trilut.measure.matching import netlist_dataset, samples_for
from trilut.report.page import PAGE_MODULES
from trilut.report.run import Report, make_report, write_report

__all__ = ["near_synthesis", "report_run"]


def report_run(path: Path, *, output: Path | None = None, data: str | None = None) -> Report:
    """Write ``report.html`` and ``report.json`` of a run, with what is there.

    Parameters
    ----------
    path : Path
        A run directory with ``net.trilut``, or a netlist file. ``metrics.jsonl`` and an earlier
        ``report.json`` beside it are used if they are there, and the newest ``synthesis.json`` of
        this netlist in its directory, one below it, or one beside it.
    output : Path, optional
        Directory to write to; by default that of the netlist.
    data : str, optional
        Data set to measure on; by default the one that the netlist was trained on. Without any,
        the report has no accuracy.

    Raises
    ------
    TrilutError
        If the netlist or a file beside it cannot be read, or the packages for a page are missing.
    """
    require(*PAGE_MODULES)
    file = path / "net.trilut" if path.is_dir() else path
    netlist = load(file)
    split, accuracy = None, None
    dataset = _dataset(netlist, data)
    if dataset is not None:
        split = samples_for(netlist, dataset)
        accuracy = dataset_accuracy(netlist, dataset)
    earlier = _earlier(netlist, file.parent / "report.json")
    if accuracy is not None and "layers" in (earlier.get("accuracy") or {}):
        accuracy = replace(accuracy, layers=tuple(earlier["accuracy"]["layers"]))
    report = make_report(
        netlist,
        accuracy=accuracy,
        history=read_history(file.parent / "metrics.jsonl"),
        verification=earlier.get("verification"),
        synthesis=near_synthesis(netlist, file.parent) or earlier.get("synthesis"),
    )
    write_report(report, netlist, split, make_directory(output or file.parent))
    return report


def _dataset(netlist: Netlist, name: str | None) -> Dataset | None:
    if netlist.encoder is None or netlist.head is None:
        return None
    try:
        return netlist_dataset(netlist, name=name)
    except (DataError, FormatError, ToolError) as error:
        if name is not None:
            raise
        talk(f"No samples, so no accuracy: {error}")
        return None


def _earlier(netlist: Netlist, path: Path) -> Mapping[str, Any]:
    """Return an earlier report, if it is of the same netlist."""
    from trilut.report.synthesis import section_rows
    from trilut.report.verification import verification_rows

    if not path.exists():
        return {}
    document = parse_json(read_bytes(path), f"File {str(path)!r}")
    try:
        same = document["netlist"]["sha256"] == digest(netlist)
        # One that was written before a figure was added cannot be shown.
        if same and document.get("synthesis"):
            section_rows(document["synthesis"])
        if same and document.get("verification"):
            verification_rows(document["verification"])
    except (ValueError, KeyError, TypeError) as error:
        raise FormatError(f"File {str(path)!r} is not a report: {error!r}") from error
    return document if same else {}


def near_synthesis(netlist: Netlist, directory: Path) -> Mapping[str, Any] | None:
    """Return the newest synthesis of a netlist near its directory, if there is one."""
    own = directory / "synthesis.json"
    # Where `trilut synth run/net.trilut -o synth` puts it, or -o run/synth.
    near = (directory, directory.absolute().parent)
    found = {path.resolve() for place in near for path in place.glob("*/synthesis.json")}
    others = found - {own.resolve()}
    sections = [_section(netlist, own)] if own.exists() else []
    for path in sorted(others, key=lambda path: -path.stat().st_mtime):
        # One of another netlist may be damaged, or of a version that is gone.
        with suppress(FormatError):
            sections.append(_section(netlist, path))
    return next((section for section in sections if section is not None), None)


def _section(netlist: Netlist, path: Path) -> Mapping[str, Any] | None:
    from trilut.report.synthesis import read_synthesis_report

    report = read_synthesis_report(path)
    return report.section if report.document["netlist"]["sha256"] == digest(netlist) else None
