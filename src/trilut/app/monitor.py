"""Monitors of formulas, and what they say about a recorded trace."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from trilut.app.answers import rows_writer
from trilut.circuit.format import save
from trilut.circuit.sequential import SequentialNetlist
from trilut.data.selection import feature_values
from trilut.data.tables import columns_for, read_blocks
from trilut.errors import NetlistError
from trilut.sim.sequences import run_sequences
from trilut.temporal import Mode, Monitor, compile_formula, parse, parse_features
from trilut.temporal.parser import seconds

__all__ = ["Watched", "monitor_file", "watch_file"]

_WORDS = {-1: "false", 0: "unknown", 1: "true"}


def monitor_file(
    formula: str,
    features: str,
    output: str | Path | None,
    *,
    mode: Mode = Mode.DELAY,
    period: str | None = None,
    name: str = "monitor",
) -> Monitor:
    """Compile a formula over features and write the circuit, if there is a place for it.

    Parameters
    ----------
    features : str
        As in ``x:8,p``; see :func:`trilut.temporal.parse_features`.
    period : str, optional
        The time from one sample to the next with its unit, if the formula has times.

    Raises
    ------
    FormulaError
        If formula, features or period cannot be read, or the circuit would be too large.
    """
    parsed = parse(formula, period=None if period is None else seconds(period))
    monitor = compile_formula(parsed, parse_features(features), mode, name=name)
    if output is not None:
        save(monitor.netlist, output)
    return monitor


@dataclass(frozen=True, slots=True)
class Watched:
    """How often a monitor said what.

    Parameters
    ----------
    steps : int
        Number of steps.
    true, false, unknown : int
        Of those, how many verdicts were what.
    """

    steps: int
    true: int
    false: int
    unknown: int


def watch_file(
    netlist: SequentialNetlist,
    path: str | Path,
    output: str | Path | None = None,
    *,
    header: bool | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Watched:
    """Run a monitor over the rows of a table, one a step, and write its verdicts.

    Parameters
    ----------
    path : path
        A table with a column for each feature; an empty cell is a missing sample. ``-`` is a table
        that is piped in.
    output : path, optional
        The table of verdicts; by default, or as ``-``, stdout.

    Raises
    ------
    NetlistError
        If the netlist has no encoder.
    FormatError, DataError
        If the file cannot be read, lacks a column, or the verdicts cannot be written.
    """
    if netlist.encoder is None:
        raise NetlistError(f"Netlist {netlist.name!r} has no encoder, so it takes no samples")
    names = [feature.name for feature in netlist.encoder.features]
    title = "stdin" if str(path) == "-" else str(path)
    kinds = columns_for(title, names, netlist.encoder.categories)
    counts = dict.fromkeys(_WORDS.values(), 0)
    steps, states = 0, None
    with rows_writer(output) as write:
        for block in read_blocks(Path(path), kinds, header=header, progress=progress):
            if steps == 0:
                write([["step", "verdict"]])
            trits = netlist.encoder.encode(feature_values(block, names, {}))
            made, states = run_sequences(netlist, trits[None], states)
            words = [_WORDS[verdict] for verdict in made[0, :, 0].tolist()]
            write([[steps + step, word] for step, word in enumerate(words)])
            steps += len(words)
            for word in counts:
                counts[word] += words.count(word)
    return Watched(steps, **counts)
