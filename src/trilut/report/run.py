"""The report of a run: one JSON document, and a page that shows it without a network."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from trilut.circuit.gates import gate_id
from trilut.circuit.netlist import Netlist
from trilut.data import Split
from trilut.files import write_atomically
from trilut.measure.analysis import CircuitAnalysis, analyze, gate_landscape
from trilut.measure.evaluation import Accuracy, missing_curve
from trilut.report.analysis import analysis_tables
from trilut.report.drawing import circuit_figure
from trilut.report.explorer import ExplorerSamples, explorer_page
from trilut.report.figures import (
    confusion_figure,
    coverage_figure,
    decision_figure,
    decision_grid,
    frequency_figure,
    landscape_figure,
    layer_gap_figure,
    margin_figure,
    missing_figure,
    spectrum_figure,
    training_figure,
    unknown_figure,
)
from trilut.report.origin import origin_rows
from trilut.report.page import machine_facts, render_page, write_page
from trilut.report.summary import (
    accuracy_document,
    accuracy_rows,
    netlist_facts,
    netlist_rows,
    plain,
)
from trilut.report.verification import verification_cards, verification_rows

__all__ = ["Report", "make_report", "write_report"]

FORMAT = "trilut-report"
VERSION = 2

# Of larger circuits the page is slow to load, and there is little to see.
_EXPLORED_GATES = 50_000


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """What is known of a run.

    Parameters
    ----------
    document : mapping
        Everything, as JSON can hold it; ``format`` and ``version`` say what it is.
    """

    document: Mapping[str, Any]

    @property
    def title(self) -> str:
        """A heading for the summary."""
        parts = ["test set"] if self.document["accuracy"] else []
        parts += ["RTL"] if self.document["verification"] else []
        if self.document["synthesis"]:
            parts.append(self.document["synthesis"]["target"])
        return f"{self.document['netlist']['name']}: {', '.join(parts) or 'gates'}"

    @property
    def passed(self) -> bool:
        """Whether the design passed its verification, if there was one."""
        verification = self.document["verification"]
        return verification is None or bool(verification["passed"])

    @property
    def parts(self) -> dict[str, dict[str, str]]:
        """Rows of ``accuracy``, ``verification`` and ``synthesis``, as far as there are any."""
        from trilut.report.synthesis import section_rows

        describe = {
            "accuracy": accuracy_rows,
            "verification": verification_rows,
            "synthesis": section_rows,
        }
        parts = {
            name: rows(self.document[name])
            for name, rows in describe.items()
            if self.document[name]
        }
        return parts | ({"design": {"design": text}} if (text := self._design) else {})

    @property
    def _design(self) -> str:
        """Which design was verified and synthesised, or that they are not the same."""
        verification, synthesis, design = (
            self.document.get(name) or {} for name in ("verification", "synthesis", "design")
        )
        found = {
            "in the file": design.get("sha256"),
            "verified": verification.get("sha256"),
            "synthesised": synthesis.get("design_sha256"),
        }
        uses: dict[str, list[str]] = {}
        for use, sha256 in found.items():
            if sha256:
                uses.setdefault(sha256, []).append(use)
        texts = [f"sha256 {sha256[:16]}… {' and '.join(each)}" for sha256, each in uses.items()]
        text = ", ".join(texts)
        return f"DIFFERENT DESIGNS: {text}" if len(texts) > 1 else text

    @property
    def summary(self) -> dict[str, str]:
        """The rows of the summary table."""
        return {key: text for rows in self.parts.values() for key, text in rows.items()}

    @property
    def cards(self) -> list[tuple[str, str]]:
        """The figures that a reader looks for first, each with its name."""
        from trilut.report.synthesis import section_cards

        cards = []
        if accuracy := self.document["accuracy"]:
            rows = accuracy_rows(accuracy)
            shown = ("hardened accuracy", "hardening gap", "encoding ceiling", "UNKNOWN outputs")
            cards += [(name, rows[name]) for name in shown if name in rows]
        if verification := self.document["verification"]:
            cards += verification_cards(verification)
        if synthesis := self.document["synthesis"]:
            cards += section_cards(synthesis)
        return cards


def make_report(
    netlist: Netlist,
    *,
    accuracy: Accuracy | None = None,
    history: list[dict[str, Any]] | None = None,
    verification: Mapping[str, Any] | None = None,
    synthesis: Mapping[str, Any] | None = None,
    design: Mapping[str, Any] | None = None,
) -> Report:
    """Put the results of the stages together, as far as there are any.

    Parameters
    ----------
    design : mapping, optional
        The ``file`` of the design that is asked about, and its ``sha256``.
    """
    return Report(
        plain(
            {
                "format": FORMAT,
                "version": VERSION,
                "trilut": version("trilut"),
                "netlist": netlist_facts(netlist),
                "analysis": analyze(netlist),
                "provenance": netlist.provenance,
                "accuracy": None if accuracy is None else accuracy_document(accuracy),
                "history": history,
                "verification": verification,
                "synthesis": synthesis,
                "design": design,
                "environment": machine_facts("numpy", "jax", "optax", "amaranth", "cocotb"),
            }
        )
    )


def write_report(report: Report, netlist: Netlist, split: Split | None, directory: Path) -> None:
    """Write ``report.json``, ``report.html`` and ``explorer.html`` into a directory.

    The samples are for figures. Without the packages of :data:`trilut.report.page.PAGE_MODULES`
    there is no report.html; of a very large circuit there is no explorer.html.
    """
    write_atomically(directory / "report.json", json.dumps(report.document, indent=2) + "\n")
    write_page(directory / "report.html", lambda: _page(report, netlist, split))
    explorer = directory / "explorer.html"
    if _is_explored(netlist):
        samples = None if split is None else ExplorerSamples.first(netlist, split)
        write_atomically(explorer, explorer_page(netlist, samples))
    else:
        explorer.unlink(missing_ok=True)


def _is_explored(netlist: Netlist) -> bool:
    return netlist.num_gates <= _EXPLORED_GATES


def _page(report: Report, netlist: Netlist, split: Split | None) -> str:
    from trilut.report.plots import section_figures
    from trilut.report.synthesis import section_tables

    synthesis = report.document["synthesis"]
    analysis = analyze(netlist)
    figures = _decision_figures(report, netlist, split)
    titles = {
        "accuracy": ("Test set and training", figures),
        "circuit": ("Circuit", split),
        "gates": ("Gates", analysis),
        "origin": ("Netlist and training", report.document["netlist"]),
        "verification": ("Verification", report.document["verification"]),
        "synthesis": (f"Synthesis on {synthesis['target']}" if synthesis else "", synthesis),
        "machine": ("Machine and tools", report.document["environment"]),
    }
    return render_page(
        "run.html.j2",
        report=report.document,
        has_explorer=_is_explored(netlist),
        cards=report.cards,
        sections={name: title for name, (title, content) in titles.items() if content},
        summary=report.parts,
        origin=netlist_rows(report.document["netlist"]) | origin_rows(netlist.provenance),
        figures=figures,
        is_without_gap=_is_without_gap(report),
        gate_tables=[] if analysis is None else analysis_tables(analysis),
        gate_figures=[] if analysis is None else _gate_figures(netlist, analysis),
        circuit="" if split is None else circuit_figure(netlist, split.x),
        synthesis_tables=section_tables(synthesis) if synthesis else [],
        synthesis_figures=section_figures(synthesis) if synthesis else [],
    )


def _is_without_gap(report: Report) -> bool:
    accuracy = report.document["accuracy"]
    return bool(accuracy) and accuracy["soft"] == accuracy["hardened"]


def _decision_figures(report: Report, netlist: Netlist, split: Split | None) -> list[str]:
    from trilut.sim import classify

    figures = []
    accuracy, history = report.document["accuracy"], report.document["history"]
    if split is not None and netlist.encoder is not None and netlist.head is not None:
        if len(netlist.encoder.features) == 2:
            grid = decision_grid(netlist, split)
            figures += [decision_figure(grid, split), unknown_figure(grid)]
        decisions = classify(netlist, netlist.encoder.quantize(split.x))
        figures += [coverage_figure(decisions, split), margin_figure(decisions, split)]
        figures.append(missing_figure(missing_curve(netlist, split)))
    if accuracy:
        evaluation = accuracy["evaluation"]
        figures.append(
            confusion_figure(evaluation["confusion"], list(evaluation["class_accuracy"]))
        )
    if history:
        figures.append(training_figure(history))
    if accuracy and accuracy.get("layers"):
        figures.append(layer_gap_figure(accuracy["layers"]))
    return figures


def _gate_figures(netlist: Netlist, analysis: CircuitAnalysis) -> list[str]:
    figures = [spectrum_figure(analysis.layers), frequency_figure(netlist)]
    if netlist.valence == 3:
        gates = gate_id(netlist.table)
        figures += [
            landscape_figure("Hamming", gate_landscape(gates, "hamming")),
            landscape_figure("Fourier", gate_landscape(gates, "fourier")),
        ]
    return figures
