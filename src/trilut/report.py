"""The report of a flow: one JSON document, and a page that shows it without a network."""

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jinja2

from trilut.data import Split
from trilut.figures import coverage_figure, decision_figure, training_figure
from trilut.files import write_atomically
from trilut.netlist import Netlist
from trilut.summary import (
    accuracy_rows,
    netlist_facts,
    plain,
    synthesis_rows,
    verification_rows,
)

__all__ = ["Report", "make_report", "write_report"]

FORMAT = "trilut-report"
VERSION = 1


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """What a flow found.

    Parameters
    ----------
    document : mapping
        Everything, as JSON can hold it; ``format`` and ``version`` say what it is.
    """

    document: Mapping[str, Any]

    @property
    def title(self) -> str:
        """A heading for the summary."""
        name, target = self.document["netlist"]["name"], self.document["synthesis"]["target"]
        return f"{name}: test set, RTL and {target}"

    @property
    def passed(self) -> bool:
        """Whether the RTL agreed with the reference."""
        return bool(self.document["verification"]["passed"])

    @property
    def summary(self) -> dict[str, str]:
        """The rows of the summary table."""
        return {
            **accuracy_rows(self.document["accuracy"]),
            **verification_rows(self.document["verification"]),
            **synthesis_rows(self.document["synthesis"]),
        }


def make_report(
    netlist: Netlist,
    *,
    accuracy: Mapping[str, Any],
    history: list[dict[str, Any]],
    verification: Mapping[str, Any],
    synthesis: Mapping[str, Any],
) -> Report:
    """Put the results of the stages together."""
    return Report(
        plain(
            {
                "format": FORMAT,
                "version": VERSION,
                "trilut": version("trilut"),
                "netlist": netlist_facts(netlist),
                "provenance": netlist.provenance,
                "accuracy": accuracy,
                "history": history,
                "verification": verification,
                "synthesis": synthesis,
                "environment": _environment(),
            }
        )
    )


def write_report(report: Report, netlist: Netlist, split: Split, directory: Path) -> None:
    """Write ``report.json`` and ``report.html`` into a directory."""
    write_atomically(directory / "report.json", json.dumps(report.document, indent=2) + "\n")
    write_atomically(directory / "report.html", _page(report, netlist, split))


def _page(report: Report, netlist: Netlist, split: Split) -> str:
    assert netlist.encoder is not None
    figures = [coverage_figure(netlist, split), training_figure(report.document["history"])]
    if len(netlist.encoder.features) == 2:
        figures.insert(0, decision_figure(netlist, split))
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("trilut", package_path=""),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    blocks = report.document["synthesis"]["blocks"].values()
    kinds = sorted({kind for cells in blocks for kind, count in cells.items() if count})
    return environment.get_template("report.html.j2").render(
        report=report.document,
        summary=report.summary,
        figures=figures,
        block_kinds=kinds,
    )


def _environment() -> dict[str, str]:
    return {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}",
        "python": platform.python_version(),
        **{
            package: version(package) for package in ("numpy", "jax", "optax", "amaranth", "cocotb")
        },
    }
