"""A table classified on a board, and compared with the simulator."""

import csv
import io
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trilut.boards.host import BoardError, BoardLink
from trilut.boards.protocol import Result
from trilut.circuit.encoder import FeatureVectors
from trilut.circuit.interface import HeadOutput
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
    table: str | Path,
    *,
    output: str | Path | None = None,
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
    table : path
        A CSV file with a column for each feature, by its name; an empty cell is a missing feature.
    output : path, optional
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
    output = None if output is None else Path(output)
    table = Path(table)
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
        expected = _expected(netlist, vectors, link.identity.outputs)
        pairs = zip(results, expected, strict=True)
        mismatches = [row for row, (result, answer) in enumerate(pairs) if result != answer]
    return Batch(results, mismatches, dict(link.troubles))


def _expected(
    netlist: Netlist, vectors: FeatureVectors, outputs: Collection[HeadOutput]
) -> list[Result]:
    """Return what the simulator says, as far as a board says it."""
    decisions = classify(netlist, vectors, certain=HeadOutput.CERTAIN in outputs)
    count = len(vectors)
    certain = [None] * count if decisions.certain is None else decisions.certain.tolist()
    members: list[tuple[int, ...] | None] = [None] * count
    if HeadOutput.SET in outputs and decisions.members is not None:
        members = [tuple(np.flatnonzero(row).tolist()) for row in decisions.members]
    columns = (decisions.chosen, decisions.margin, decisions.unknown)
    plain = zip(*(column.tolist() for column in columns), strict=True)
    return [Result(*row, *more) for row, *more in zip(plain, certain, members, strict=True)]


def to_csv(netlist: Netlist, results: list[Result]) -> str:
    """Return a table of answers: class by name, margin, and 1 where the circuit abstains.

    If the board says it, 1 where the answer is certain, and the classes of the set by name.
    """
    assert netlist.head is not None
    classes = netlist.head.classes
    has_certain = bool(results) and results[0].certain is not None
    has_set = bool(results) and results[0].members is not None
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["class", "margin", "unknown", *["certain"] * has_certain, *["set"] * has_set])
    for result in results:
        row: list[object] = [classes[result.chosen], result.margin, int(result.unknown)]
        if result.certain is not None:
            row.append(int(result.certain))
        if result.members is not None:
            row.append("; ".join(classes[member] for member in result.members))
        writer.writerow(row)
    return text.getvalue()
