"""Carry chains for nextpnr: ends that lead nowhere."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

__all__ = ["open_carries"]

_CELL = "CCU2C"
_PINS = ("A0", "B0", "C0", "D0")


def open_carries(module: Mapping[str, Any]) -> int:
    """Open the ends of the carry chains of an ECP5 design, and return how many were opened.

    nextpnr spends a slice wherever a chain begins with a constant, and another one wherever it ends
    in a carry, read or not. It spends none on a carry that is ``x``. So a carry out that nobody
    reads becomes ``x``, and so does a constant carry in that cannot matter, because the first
    position neither propagates it nor has its sum read. Both ports must be there: nextpnr stops at
    a cell without them.

    Parameters
    ----------
    module : mapping
        A flattened module of the mapped netlist, as Yosys writes it in JSON. It is changed.
    """
    reads = _reads(module)
    opened = 0
    for cell in module["cells"].values():
        if cell["type"] != _CELL:
            continue
        wires = cell["connections"]
        if isinstance(wires["COUT"][0], int) and not reads[wires["COUT"][0]]:
            wires["COUT"] = ["x"]
            opened += 1
        if wires["CIN"][0] in ("0", "1") and not reads[wires["S0"][0]] and _kills(cell):
            wires["CIN"] = ["x"]
            opened += 1
    return opened


def _reads(module: Mapping[str, Any]) -> Counter[int | str]:
    """Count how often each bit is read."""
    reads: Counter[int | str] = Counter()
    for port in module["ports"].values():
        if port["direction"] != "input":
            reads.update(port["bits"])
    for cell in module["cells"].values():
        for name, bits in cell["connections"].items():
            if cell["port_directions"][name] != "output":
                reads.update(bits)
    return reads


def _kills(cell: Mapping[str, Any]) -> bool:
    """Say whether a cell's first position never propagates, whatever its pins that vary."""
    table = int(cell["parameters"]["INIT0"], 2)
    for row in range(16):
        tied = zip(_PINS, (row >> pin & 1 for pin in range(4)), strict=True)
        possible = all(cell["connections"][pin][0] != str(1 - value) for pin, value in tied)
        if possible and table >> row & 1:
            return False
    return True
