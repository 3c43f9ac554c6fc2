"""Truth tables as CSV, out of TriLUT and in: an example of a package that adds formats.

A file has a column for each input and each output, named ``i0 …`` and ``o0 …``, and a row for each
combination of the inputs. Values are −1, 0 and +1, or −1 and +1.
"""

import csv
import io
import itertools
from pathlib import Path

import numpy as np

from trilut import FormatError, Netlist, NetlistError
from trilut.interchange import Exporter, Importer, gates_alone

MOST_INPUTS = 8


def write(netlist: Netlist, name: str, optimized: bool) -> dict[str, str]:
    """Return the one file of a netlist that has few enough inputs."""
    gates = gates_alone(netlist, optimized)
    if gates.num_inputs > MOST_INPUTS:
        raise NetlistError(
            f"A truth table has at most {MOST_INPUTS} inputs, and the netlist {gates.num_inputs}"
        )
    inputs = np.array(list(itertools.product(_values(gates.valence), repeat=gates.num_inputs)))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = [f"i{number}" for number in range(gates.num_inputs)]
    writer.writerow([*names, *(f"o{number}" for number in range(len(gates.outputs)))])
    writer.writerows(np.concatenate([inputs, gates.evaluate(inputs)], axis=1).tolist())
    return {f"{name}.table.csv": text.getvalue()}


def read(path: Path) -> Netlist:
    """Read a table of two inputs: each output is one gate."""
    header, *rows = csv.reader(path.read_text().splitlines())
    valence = {4: 2, 9: 3}.get(len(rows))
    if valence is None or header[:2] != ["i0", "i1"] or "i2" in header:
        raise FormatError(
            f"{str(path)!r} has {len(rows)} rows of {','.join(header)[:40]!r}, "
            "expected all rows of two bits or two trits"
        )
    values = np.array(rows, dtype=np.int8)
    values = values[np.lexsort((values[:, 1], values[:, 0]))]
    count = len(header) - 2
    zeros, ones = np.zeros(count, dtype=np.int64), np.ones(count, dtype=np.int64)
    outputs = 2 + np.arange(count)
    return Netlist.of_gates(2, values[:, 2:].T, zeros, ones, outputs, valence=valence)


def _values(valence: int) -> tuple[int, ...]:
    return (-1, 1) if valence == 2 else (-1, 0, 1)


EXPORTER = Exporter("truth-table", "a row for each combination of the inputs, as CSV", write)
IMPORTER = Importer("truth-table", "tables of two inputs, as CSV", (".table.csv",), read)
