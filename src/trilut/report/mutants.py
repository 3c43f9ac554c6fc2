"""The table of a campaign of mutants: what each level sees of each kind."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trilut.report.tables import Table

if TYPE_CHECKING:
    from trilut.verify.design_campaign import KindResult

__all__ = ["mutant_table"]


def mutant_table(title: str, results: "Sequence[KindResult]") -> Table:
    """Return one row for each kind, and what the regression or the proof did not see below."""
    rows = tuple(
        (
            result.kind,
            f"{result.num_mutants:,}",
            f"{result.num_equivalent:,}",
            f"{result.num_hidden:,}",
            f"{result.num_killed:,} of {result.num_faults - result.num_hidden:,}",
            f"{result.num_refused:,} of {result.num_faults:,}",
        )
        for result in results
    )
    missed = [f"Missed by rtl, {each.kind}: {text}" for each in results for text in each.missed]
    believed = [f"Proven though wrong, {r.kind}: {text}" for r in results for text in r.believed]
    header = ("kind", "mutants", "equivalent", "hidden", "killed by rtl", "refused by formal")
    return Table(title, header, rows, (*believed, *missed))
