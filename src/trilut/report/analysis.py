"""The analysis in words and tables."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trilut.circuit.gates import NAMED_GATES, exponents
from trilut.measure.analysis.census import Census
from trilut.measure.analysis.circuit import CircuitAnalysis
from trilut.measure.analysis.classes import GATE_CLASSES
from trilut.report.summary import percent
from trilut.report.tables import Table

__all__ = ["analysis_tables", "gate_rows"]


def analysis_tables(analysis: CircuitAnalysis) -> list[Table]:
    """Describe the gates of a circuit beside the controls: census, energy by term and by level."""
    columns = [
        dict(_census_rows(census))
        for census in (analysis.census, analysis.control, analysis.untrained)
    ]
    return [
        Table(
            "Gates",
            ("", "this circuit", "random gates", "untrained"),
            tuple((name, *(column[name] for column in columns)) for name in columns[0]),
            (
                "Random: as many gates, all equally likely. Untrained: what the paper's training "
                "starts from, hardened at once. Only what differs from both was learned.",
            ),
        ),
        _term_table(analysis.census.terms),
        _level_table(analysis.layers),
    ]


def _census_rows(census: Census) -> Iterator[tuple[str, str]]:
    yield "different gates", f"{census.unique:,}"
    yield "effective diversity", f"{census.effective:,.1f}"
    yield "Gini", f"{census.gini:.3f}"
    yield "redundancy", percent(census.redundancy)
    yield "most copies", f"{census.max_copies:,}"
    yield "singletons", f"{census.singletons:,}"
    for band, share in census.bands.items():
        yield f"Fourier energy, {band}", percent(share)
    for name, share in {**census.spectral, **census.classes}.items():
        yield f"gates, {name}", percent(share)
    if census.named is not None:
        yield f"named gates that occur, of {len(NAMED_GATES)}", f"{census.names}"
        yield "gates with a name", percent(census.named)
        yield "entries to the nearest name", f"{census.named_distance:.2f}"


def _term_table(terms: Sequence[Sequence[float]]) -> Table:
    a, b = (("1", name, f"φ2({name})")[: len(terms)] for name in "ab")
    rows = tuple((a[i], *(percent(share) for share in row)) for i, row in enumerate(terms))
    return Table("Fourier energy by term", ("", *b), rows)


def _level_table(layers: Sequence[Mapping[str, float]]) -> Table:
    rows = tuple(
        (str(level), *(percent(share) for share in bands.values()))
        for level, bands in enumerate(layers, start=1)
    )
    return Table("Fourier energy by level", ("level", *layers[0]), rows)


def gate_rows(facts: Mapping[str, Any]) -> dict[str, str]:
    """Describe a ternary gate from :func:`trilut.report.summary.gate_facts` and gate_properties."""
    total = max(sum(facts["energy"].values()), 1e-12)
    weights = facts["threshold_weights"]
    absent = [name for name in GATE_CLASSES if name not in facts["classes"]]
    return {
        "name": facts["name"] or "–",
        "table": f"{facts['table']} (rows: a = −, 0, +; in each b = −, 0, +)",
        "polynomial": _polynomial_text(facts["polynomial"]),
        "output is +": facts["plus"],
        "output is −": facts["minus"],
        "spectral class": facts["spectral_class"],
        "Fourier energy": ", ".join(
            f"{band} {percent(share / total)}" for band, share in facts["energy"].items() if share
        )
        or "none",
        "complexity Σ|f̂|": f"{facts['complexity']:.3f}",
        "classes": ", ".join(facts["classes"]) or "–",
        "not": ", ".join(absent) or "–",
        "as a threshold": "none" if weights is None else f"{weights[0]}·a + {weights[1]}·b",
        "nearest named gates": f"{', '.join(facts['nearest_names'])}, "
        f"{facts['entries_to_nearest_name']} of 9 entries differ",
    }


def _polynomial_text(coefficients: Sequence[float]) -> str:
    """Write a polynomial as mathematicians do."""
    powers = ("", "{}", "{}²")
    text = ""
    for weight, (i, j) in zip(coefficients, exponents(), strict=True):
        if weight:
            term = powers[i].format("a") + powers[j].format("b")
            size = "" if abs(weight) == 1 and term else f"{abs(weight):g}"
            text += f" {'−' if weight < 0 else '+'} {size}{'·' if size and term else ''}{term}"
    text = text.strip().removeprefix("+ ")
    return text.replace("− ", "−", 1) if text.startswith("− ") else text or "0"
