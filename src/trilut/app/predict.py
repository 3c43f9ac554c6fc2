"""The answers of a circuit to the rows of a file, as a file."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path

from trilut.app.answers import rows_writer
from trilut.circuit.head import Decisions
from trilut.circuit.monotone import check_monotone
from trilut.circuit.netlist import Netlist
from trilut.data.tables import columns_for, read_blocks
from trilut.measure.matching import cannot_classify, table_features
from trilut.sim import classify

__all__ = ["Predicted", "predict_file"]


@dataclass(frozen=True, slots=True)
class Predicted:
    """How many answers a circuit has given.

    Parameters
    ----------
    rows : int
        Number of rows.
    unknown : int
        Of those, on how many the circuit abstains.
    certain : int, optional
        Of those, how many answers are certain; None if nobody has asked.
    """

    rows: int
    unknown: int
    certain: int | None = None


def predict_file(
    netlist: Netlist,
    path: str | Path,
    output: str | Path | None = None,
    *,
    certain: bool = False,
    header: bool | None = None,
    engine: str = "fast",
    progress: Callable[[int, int], None] | None = None,
) -> Predicted:
    """Classify the rows of a table, whatever its size: it is read and answered part by part.

    The answer to a row is the name of its class, the margin, 1 if the circuit abstains, and the
    score of each class. Before the scores stand 1 if the answer is certain, if that is asked for,
    and the classes of the prediction set, if the head has a margin for it.

    Parameters
    ----------
    path : path
        A table of text or a Parquet file with a column for each feature, by its name; other columns
        may hold anything. ``-`` is a table of text that is piped in.
    output : path, optional
        The table of answers, which is there when it is complete; by default, or as ``-``, stdout.
    certain : bool
        Whether to say which answers no value of a missing feature could change.
    header : bool, optional
        Whether the first line names the columns; by default it has to look so.
    engine : str
        The simulator; all give the same answers.
    progress : callable, optional
        Called with the number of bytes of the file that have been read, and of all.

    Raises
    ------
    NetlistError
        If the netlist has no encoder or no head, or is not information-monotone and asked what is
        certain.
    FormatError, DataError
        If the file cannot be read, lacks a column, or the answers cannot be written.
    """
    path = Path(path)
    if netlist.encoder is None or netlist.head is None:
        raise cannot_classify(netlist)
    if certain:
        check_monotone(netlist)
    names = [feature.name for feature in netlist.encoder.features]
    title = "stdin" if str(path) == "-" else str(path)
    kinds = columns_for(title, names, netlist.encoder.categories)
    classes = netlist.head.classes
    has_set = netlist.head.set_margin is not None
    counts = dict.fromkeys(["rows", "unknown", *["certain"] * certain], 0)
    with rows_writer(output) as write:
        extra = ["certain"] * certain + ["set"] * has_set
        scores = [f"score {name}" for name in classes]
        for number, block in enumerate(read_blocks(path, kinds, header=header, progress=progress)):
            # Not before: of a file that is refused, nothing is on stdout.
            if number == 0:
                write([["class", "margin", "unknown", *extra, *scores]])
            if len(block) == 0:
                continue
            samples = table_features(netlist, block)
            decisions = classify(netlist, samples, certain=certain, engine=engine)
            write(_answers(decisions, classes))
            counts["rows"] += len(block)
            counts["unknown"] += int(decisions.unknown.sum())
            if decisions.certain is not None:
                counts["certain"] += int(decisions.certain.sum())
    return Predicted(**counts)


def _answers(decisions: Decisions, classes: Sequence[str]) -> list[list[object]]:
    """Return the cells of each answer."""
    columns: list[list[object]] = [
        [classes[chosen] for chosen in decisions.chosen.tolist()],
        decisions.margin.tolist(),
        decisions.unknown.astype(int).tolist(),
    ]
    if decisions.certain is not None:
        columns.append(decisions.certain.astype(int).tolist())
    if decisions.members is not None:
        columns.append(["; ".join(compress(classes, row)) for row in decisions.members.tolist()])
    return [list(row) for row in zip(*columns, *decisions.scores.T.tolist(), strict=True)]
