"""A report of whatever a run directory holds."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
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
from trilut.report.verification import read_verification, verification_rows

__all__ = ["dataset_if_any", "near_synthesis", "report_run"]


def report_run(
    path: str | Path,
    *,
    output: str | Path | None = None,
    data: str | None = None,
    rtl: str | Path | None = None,
) -> Report:
    """Write ``report.html`` and ``report.json`` of a run, with what is there.

    Parameters
    ----------
    path : path
        A run directory with ``net.trilut``, or a netlist file. ``metrics.jsonl`` and an earlier
        ``report.json`` beside it are used if they are there, and the newest ``verification.json``
        and ``synthesis.json`` of this netlist in its directory, one below it, or one beside it.
    output : path, optional
        Directory to write to; by default that of the netlist.
    data : str, optional
        Data set to measure on; by default the one that the netlist was trained on. Without any,
        the report has no accuracy.
    rtl : path, optional
        The directory of a design, or its Verilog file: the report says whether that design is the
        one that was verified and synthesised. Results that are in the directory come first.

    Raises
    ------
    TrilutError
        If the netlist or a file beside it cannot be read, or the packages for a page are missing.
    """
    rtl = None if rtl is None else Path(rtl)
    output = None if output is None else Path(output)
    path = Path(path)
    require(*PAGE_MODULES)
    file = path / "net.trilut" if path.is_dir() else path
    netlist = load(file)
    split, accuracy = None, None
    dataset = dataset_if_any(netlist, data, without="no accuracy")
    if dataset is not None:
        split = samples_for(netlist, dataset)
        accuracy = dataset_accuracy(netlist, dataset)
    earlier = _earlier(netlist, file.parent / "report.json")
    places = [file.parent]
    if rtl is not None:
        places.insert(0, rtl if rtl.is_dir() else rtl.parent)
    if accuracy is not None and "layers" in (earlier.get("accuracy") or {}):
        accuracy = replace(accuracy, layers=tuple(earlier["accuracy"]["layers"]))
    report = make_report(
        netlist,
        accuracy=accuracy,
        history=read_history(file.parent / "metrics.jsonl"),
        verification=_nearest(netlist, places, _VERIFICATION) or earlier.get("verification"),
        synthesis=_nearest(netlist, places, _SECTION) or earlier.get("synthesis"),
        design=None if rtl is None else _design(netlist, rtl),
    )
    write_report(report, netlist, split, make_directory(output or file.parent))
    return report


def dataset_if_any(netlist: Netlist, name: str | None, *, without: str) -> Dataset | None:
    """Return a data set by name, or the one that a netlist was trained on if it can be had.

    If it cannot, the user is told, and what there is ``without`` it.
    """
    if netlist.encoder is None or netlist.head is None:
        return None
    try:
        return netlist_dataset(netlist, name=name)
    except (DataError, FormatError, ToolError) as error:
        if name is not None:
            raise
        talk(f"No samples, so {without}: {error}")
        return None


def _earlier(netlist: Netlist, path: Path) -> Mapping[str, Any]:
    """Return an earlier report, if it is of the same netlist."""
    from trilut.report.synthesis import section_rows

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


def near_synthesis(netlist: Netlist, directory: str | Path) -> Mapping[str, Any] | None:
    """Return the newest synthesis of a netlist near its directory, if there is one."""
    directory = Path(directory)
    return _nearest(netlist, [directory], _SECTION)


@dataclass(frozen=True, slots=True)
class _Kind:
    """A file with results, and how to read what it says of a netlist."""

    file: str
    read: Callable[[Netlist, Path], Mapping[str, Any] | None]


def _nearest(
    netlist: Netlist, directories: Sequence[Path], kind: _Kind
) -> Mapping[str, Any] | None:
    """Return the result of a netlist in the first of some directories, or the newest near them."""
    own = [directory / kind.file for directory in directories]
    # Where `trilut synth run/net.trilut -o synth` puts it, or -o run/synth.
    near = {place for each in directories for place in (each, each.absolute().parent)}
    found = {path.resolve() for place in near for path in place.glob(f"*/{kind.file}")}
    others = found - {path.resolve() for path in own}
    results = [kind.read(netlist, path) for path in own if path.exists()]
    for path in sorted(others, key=lambda path: -path.stat().st_mtime):
        # One of another netlist may be damaged, or of a version that is gone.
        with suppress(FormatError):
            results.append(kind.read(netlist, path))
    return next((result for result in results if result is not None), None)


def _design(netlist: Netlist, path: Path) -> dict[str, str]:
    from trilut.hdl import read_design

    design = read_design(path, netlist)
    return {"file": str(design.path), "sha256": design.sha256}


def _read_verification(netlist: Netlist, path: Path) -> Mapping[str, Any] | None:
    document = read_verification(path)
    return document if document.get("netlist_sha256") == digest(netlist) else None


def _read_section(netlist: Netlist, path: Path) -> Mapping[str, Any] | None:
    from trilut.report.synthesis import read_synthesis_report

    report = read_synthesis_report(path)
    return report.section if report.document["netlist"]["sha256"] == digest(netlist) else None


_VERIFICATION = _Kind("verification.json", _read_verification)
_SECTION = _Kind("synthesis.json", _read_section)
