"""The cells of a mapped design as a graph: who drives a bit, and in what order values flow."""

from collections.abc import Callable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter

from trilut.errors import ToolError
from trilut.synth.yosys import Cell, Module

__all__ = ["CARRY_INPUTS", "Driver", "cell_levels", "drivers", "evaluation_order", "inputs"]

Driver = tuple[str, str, int]
"""A cell, its port and the bit of the port."""

CARRY_INPUTS = frozenset({"CIN", "CI"})
"""What the families call the port where a carry chain goes on."""


def drivers(module: Module) -> dict[int, Driver]:
    """Return what drives each bit of a flattened module; ports and constants are not in it."""
    return {
        bit: (name, port, index)
        for name, cell in module["cells"].items()
        for port, bits in cell["connections"].items()
        if cell["port_directions"][port] == "output"
        for index, bit in enumerate(bits)
        if isinstance(bit, int)
    }


def inputs(cell: Cell) -> Iterator[tuple[str, int | str]]:
    """Give the port and the bit of each input of a cell; a constant bit is text."""
    for port, bits in cell["connections"].items():
        if cell["port_directions"][port] != "output":
            for bit in bits:
                yield port, bit


def evaluation_order(
    module: Module,
    driver: Mapping[int, Driver],
    is_register: Callable[[str], bool],
) -> list[str]:
    """Return the combinational cells of a flattened module, each after those that it reads.

    Raises
    ------
    ToolError
        If they form a loop.
    """
    cells = {name: cell for name, cell in module["cells"].items() if not is_register(cell["type"])}
    sorter = TopologicalSorter(
        {
            name: {
                driver[bit][0]
                for _, bit in inputs(cell)
                if isinstance(bit, int) and bit in driver and driver[bit][0] in cells
            }
            for name, cell in cells.items()
        }
    )
    try:
        return list(sorter.static_order())
    except CycleError as error:
        raise ToolError(
            f"The mapped design has a loop through cell {error.args[1][0]!r}"
        ) from error


def cell_levels(module: Module, kind: Callable[[str], str | None]) -> dict[str, int]:
    """Count the cells on the longest path from registers or ports to each of a flattened module.

    Along a carry chain the carry is fast, so all of its cells count as one. Registers are not in
    the result.
    """
    driver = drivers(module)
    level: dict[str, int] = {}
    for name in evaluation_order(module, driver, lambda cell_type: kind(cell_type) == "ff"):
        cell = module["cells"][name]
        own = kind(cell["type"])
        level[name] = 0 if own == "free" or not cell["connections"] else 1
        for port, bit in inputs(cell):
            if isinstance(bit, int) and bit in driver and driver[bit][0] in level:
                source = driver[bit][0]
                along = own == "carry" == kind(module["cells"][source]["type"])
                step = 0 if along and port in CARRY_INPUTS else 1
                level[name] = max(level[name], level[source] + step)
    return level
