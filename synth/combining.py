"""Pairs of lookup tables in one place of a part, as vendors' packers put them there."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from trilut.synth.graph import cell_levels
from trilut.synth.yosys import Cell, Module

__all__ = ["combine_tables"]

_PAIR = "LUT6_2"
_MAX_INPUTS = 5
_TABLES = {f"LUT{size}": size for size in range(1, _MAX_INPUTS + 1)}
# A net with more readers than this, such as an enable, tells little about what belongs together.
_MAX_READERS = 64


@dataclass(frozen=True, slots=True)
class _Lut:
    """A table and the bits that it reads, the first in the lowest place of the row number.

    Tables of the same level cannot depend on each other.
    """

    name: str
    table: int
    inputs: tuple[Any, ...]
    output: Any
    level: int


def combine_tables(module: Module, kind: Callable[[str], str | None]) -> int:
    """Put tables that share inputs into LUT6_2 of Xilinx parts, and return how many pairs that is.

    A LUT6_2 is two tables of the same five inputs, which take the place of one LUT6. Tables with at
    most five inputs together, one or more of them shared, can go into one if they are as many cells
    away from registers, so that no loop comes of it; those that share most go first. Yosys leaves
    this to the vendor's packer, whose count of LUTs is what is published.

    Parameters
    ----------
    module : mapping
        A module of the mapped netlist, as Yosys writes it in JSON. It is changed.
    kind : callable
        Gives the kind of a cell type; see :meth:`Target.kind`.
    """
    cells = module["cells"]
    levels = cell_levels(module, kind)
    luts = [
        _read(name, cell, levels[name]) for name, cell in cells.items() if cell["type"] in _TABLES
    ]
    paired: set[str] = set()
    count = 0
    for first, second in _by_sharing(luts):
        if not paired & {first.name, second.name}:
            paired |= {first.name, second.name}
            cells[first.name] = _pair(first, second, cells[first.name])
            del cells[second.name]
            count += 1
    return count


def _read(name: str, cell: Cell, level: int) -> _Lut:
    wires = cell["connections"]
    inputs = tuple(wires[f"I{pin}"][0] for pin in range(_TABLES[cell["type"]]))
    return _Lut(name, int(cell["parameters"]["INIT"], 2), inputs, wires["O"][0], level)


def _by_sharing(luts: Sequence[_Lut]) -> Iterable[tuple[_Lut, _Lut]]:
    """Return the pairs that fit, those first that share most and leave the fewest pins unused."""
    readers: defaultdict[tuple[Any, int], list[int]] = defaultdict(list)
    for index, lut in enumerate(luts):
        for bit in set(lut.inputs):
            readers[bit, lut.level].append(index)
    found: dict[tuple[int, int], tuple[int, int]] = {}
    for (bit, _), indices in readers.items():
        if isinstance(bit, str) or len(indices) > _MAX_READERS:
            continue
        for pair in combinations(indices, 2):
            a, b = (set(luts[index].inputs) for index in pair)
            if pair not in found and len(a | b) <= _MAX_INPUTS:
                found[pair] = len(a & b), len(a | b)
    ordered = sorted(found, key=lambda pair: (*(-number for number in found[pair]), pair))
    return ((luts[a], luts[b]) for a, b in ordered)


def _pair(first: _Lut, second: _Lut, cell: Cell) -> Cell:
    """Return the LUT6_2 of two tables, in the place of a cell.

    Its output O6 is the upper half of the table while the last pin is 1, and O5 the lower half.
    """
    shared = list(dict.fromkeys((*first.inputs, *second.inputs)))
    pins = [*shared, *["0"] * (_MAX_INPUTS - len(shared)), "1"]
    table = _widened(first, shared) << 32 | _widened(second, shared)
    connections = {f"I{pin}": [bit] for pin, bit in enumerate(pins)}
    return {
        **cell,
        "type": _PAIR,
        "parameters": {"INIT": f"{table:064b}"},
        "port_directions": {**dict.fromkeys(connections, "input"), "O5": "output", "O6": "output"},
        "connections": {**connections, "O6": [first.output], "O5": [second.output]},
    }


def _widened(lut: _Lut, pins: list[Any]) -> int:
    """Return a table of 32 rows that reads its inputs from other pins."""
    places = [pins.index(bit) for bit in lut.inputs]
    rows = (
        sum((row >> place & 1) << index for index, place in enumerate(places)) for row in range(32)
    )
    return sum((lut.table >> source & 1) << row for row, source in enumerate(rows))
