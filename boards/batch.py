"""A table classified on a board, and compared with the simulator."""

import csv
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from trilut.boards.host import BoardError, BoardLink
from trilut.boards.protocol import Result
from trilut.circuit.netlist import Netlist
from trilut.data.selection import feature_values
from trilut.data.tables import columns_for, read_table
from trilut.errors import NetlistError
from trilut.files import write_atomically
from trilut.sim import classify

__all__ = ["Batch", "classify_table", "to_csv"]


@dataclass(frozen=True, slots=True)
class Batch:
    """What a board said of a table.

    Parameters
    ----------
    results : list of Result
        One for each row.
    mismatches : list of int, optional
        Rows that the simulator answers otherwise; None if it was not asked.
    troubles : mapping
        Requests that had to be repeated, by the reason.
    """

    results: list[Result]
    mismatches: list[int] | None
    troubles: Mapping[str, int]


def classify_table(
    link: BoardLink,
    netlist: Netlist,
    table: Path,
    *,
    output: Path | None = None,
    check: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Batch:
    """Classify the rows of a table on a board.

    Parameters
    ----------
    link : BoardLink
        The board.
    netlist : Netlist
        What the board was built from. It says how values become integers, and names the classes.
    table : Path
        A CSV file with a column for each feature, by its name; an empty cell is a missing feature.
    output : Path, optional
        Where to write the answers, as :func:`to_csv` gives them. If the board falls silent, those
        up to then are written.
    check : bool
        Whether to compare every answer with the simulator's.
    progress : callable, optional
        Called with the number of rows done and of all rows.

    Raises
    ------
    BoardError
        If the board was built from another netlist, or does not answer.
    DataError, FormatError
        If the table or the output cannot be used.
    """
    if netlist.encoder is None or netlist.head is None:
        raise NetlistError(f"Netlist {netlist.name!r} has no encoder or no head")
    names, known = [each.name for each in netlist.encoder.features], netlist.encoder.categories
    rows = read_table(table, columns_for(str(table), names, known))
    vectors = netlist.encoder.quantize(feature_values(rows, names, known))
    results: list[Result] = []
    try:
        for result in link.classify(netlist, vectors):
            results.append(result)
            if progress:
                progress(len(results), len(vectors))
    except BoardError as error:
        if output is None or not results:
            raise
        write_atomically(output, to_csv(netlist, results))
        raise BoardError(
            f"{error}; the answers to the first {len(results)} of {len(vectors)} rows are in "
            f"{str(output)!r}"
        ) from error
    if output is not None:
        write_atomically(output, to_csv(netlist, results))
    mismatches = None
    if check:
        decisions = classify(netlist, vectors)
        expected = zip(decisions.chosen, decisions.margin, decisions.unknown, strict=True)
        mismatches = [
            row
            for row, (result, answer) in enumerate(zip(results, expected, strict=True))
            if (result.chosen, result.margin, result.unknown) != answer
        ]
    return Batch(results, mismatches, dict(link.troubles))


def to_csv(netlist: Netlist, results: list[Result]) -> str:
    """Return a table of answers: class by name, margin, and 1 where the circuit abstains."""
    assert netlist.head is not None
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["class", "margin", "unknown"])
    for result in results:
        name = netlist.head.classes[result.chosen]
        writer.writerow([name, result.margin, int(result.unknown)])
    return text.getvalue()
