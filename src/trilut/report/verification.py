"""What verification found, as JSON, as rows, and for the first look."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trilut.errors import FormatError
from trilut.files import make_directory, parse_json, read_bytes, write_atomically
from trilut.report.summary import percent, plain
from trilut.verify.result import Level, LevelResult, MappedResult, Outcome, Verification

__all__ = [
    "level_rows",
    "read_verification",
    "verification_cards",
    "verification_document",
    "verification_rows",
    "write_verification",
]


def verification_document(verification: Verification) -> dict[str, Any]:
    """Return everything as JSON can hold it, for ``verification.json`` and ``report.json``."""
    coverage = verification.coverage
    return {
        "passed": verification.passed,
        "sha256": verification.sha256,
        "netlist_sha256": verification.netlist_sha256,
        "levels": [_level(result) for result in verification.levels],
        "coverage": {} if coverage is None else {**plain(coverage), "share": coverage.share},
    }


def _level(result: LevelResult) -> dict[str, Any]:
    return {
        "level": result.level.value,
        "outcome": result.outcome.value,
        "verdict": result.verdict,
        "seconds": result.seconds,
        "details": _details(result),
    }


def _details(result: LevelResult) -> dict[str, Any]:
    finding = result.finding
    if finding is None:
        return {}
    if isinstance(finding, MappedResult):
        details = {"target": finding.target, **plain(finding.regression)}
        return details | {"claims": dict(result.claims)} if result.claims else details
    document: dict[str, Any] = finding.to_dict() if hasattr(finding, "to_dict") else plain(finding)
    return document


def write_verification(verification: Verification, directory: Path) -> None:
    """Write ``verification.json`` into a directory."""
    text = json.dumps(verification_document(verification), indent=2) + "\n"
    write_atomically(make_directory(directory) / "verification.json", text)


def read_verification(path: Path) -> dict[str, Any]:
    """Read a file ``verification.json``.

    Raises
    ------
    FormatError
        If it is none.
    """
    document = parse_json(read_bytes(path), f"File {str(path)!r}")
    try:
        verification_rows(document)
        if not isinstance(document["sha256"], str):
            raise TypeError("the hash of the design is no text")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FormatError(f"File {str(path)!r} is not a verification: {error!r}") from error
    return document


def level_rows(verification: Verification) -> dict[str, str]:
    """Describe every level, with its claims and the coverage."""
    rows = {"design": f"sha256 {verification.sha256[:16]}…"} if verification.sha256 else {}
    for result in verification.levels:
        took = "" if result.outcome is Outcome.NOT_RUN else f" in {result.seconds:.1f} s"
        rows[result.level.value] = f"{result.outcome.value}{took}: {result.verdict}"
        rows |= {f"  {claim}": text for claim, text in result.claims.items()}
    if verification.coverage is not None:
        rows["coverage"] = _coverage_text(verification_document(verification)["coverage"])
    return rows


def verification_rows(document: Mapping[str, Any]) -> dict[str, str]:
    """Describe a verification from its document: what was simulated, and what is proven."""
    levels = _by_level(document)
    rows = {}
    if rtl := levels.get(Level.RTL):
        result = rtl["details"]
        counts = ", ".join(f"{count} {origin}" for origin, count in result["num_checked"].items())
        rows["vectors checked"] = f"{sum(result['num_checked'].values())} ({counts})"
        rows["mismatches"] = str(result["num_mismatches"])
        is_equal = rtl["outcome"] == Outcome.PASSED
        rows["verdict"] = "RTL equals the reference" if is_equal else "RTL DIFFERS"
    if document["coverage"]:
        rows["coverage"] = _coverage_text(document["coverage"])
    if proof := levels.get(Level.FORMAL):
        rows["proof"] = f"{proof['outcome']}: {proof['verdict']}"
    if rtl:
        rows["simulator"] = rtl["details"]["simulator"]
    return rows


def verification_cards(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the figures that a reader looks for first, each with its name."""
    levels = _by_level(document)
    cards = []
    if rtl := levels.get(Level.RTL):
        checked = sum(rtl["details"]["num_checked"].values())
        mismatches = rtl["details"]["num_mismatches"]
        cards.append((f"mismatches in {checked:,} vectors", f"{mismatches}"))
    if proof := levels.get(Level.FORMAL):
        cards.append(("proof, all inputs", proof["outcome"]))
    return cards


def _by_level(document: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {level["level"]: level for level in document["levels"]}


def _coverage_text(coverage: Mapping[str, Any]) -> str:
    text = (
        f"{percent(coverage['share'])} of {coverage['num_rows']} table rows occur "
        f"({coverage['num_directed']} vectors directed, "
        f"{coverage['num_proven_unreachable']} rows proven impossible)"
    )
    missed = ", ".join(f"gate {gate} row {row}" for gate, row in coverage["uncovered"])
    return f"{text}; not: {missed}, …" if missed else text
