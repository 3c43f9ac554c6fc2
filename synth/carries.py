"""Carry chains for nextpnr: ends that lead nowhere."""

from collections import Counter
from collections.abc import Mapping

from trilut.synth.yosys import Bit, Cell, Module

__all__ = ["open_carries"]

_ECP5 = "CCU2C"
_NEXUS = "CCU2"
_CONSTANTS = {"VLO": "0", "VHI": "1"}


def open_carries(module: Module) -> int:
    """Open the ends of the carry chains of a Lattice design, and return how many were opened.

    nextpnr spends a slice wherever a chain begins with a constant, and another one wherever it ends
    in a carry, read or not. It spends none on a carry that is ``x``. So a carry out that nobody
    reads becomes ``x``, and so does a constant carry in that cannot matter, because the first
    position neither propagates it nor has its sum read. Both ports must be there: nextpnr stops at
    a cell without them. On Nexus it stops at a carry in that is constant: it must not be there.

    Parameters
    ----------
    module : mapping
        A flattened module of the mapped netlist, as Yosys writes it in JSON. It is changed.
    """
    reads = _reads(module)
    constants = _constants(module)
    opened = 0
    for cell in module["cells"].values():
        wires = cell["connections"]
        if cell["type"] == _ECP5:
            if isinstance(wires["COUT"][0], int) and not reads[wires["COUT"][0]]:
                wires["COUT"] = ["x"]
                opened += 1
            if wires["CIN"][0] in ("0", "1") and not reads[wires["S0"][0]] and _kills(cell, 0):
                wires["CIN"] = ["x"]
                opened += 1
        elif cell["type"] == _NEXUS:
            sums = reads[wires["S0"][0]] + reads[wires["S1"][0]]
            if wires["CIN"][0] in constants and not sums and _kills(cell, 1, constants):
                wires["CIN"] = []
                opened += 1
    return opened


def _constants(module: Module) -> dict[Bit, str]:
    """Return the bits that cells of the part hold at 0 or 1."""
    return {
        bits[0]: _CONSTANTS[cell["type"]]
        for cell in module["cells"].values()
        if cell["type"] in _CONSTANTS
        for bits in cell["connections"].values()
    }


def _reads(module: Module) -> Counter[Bit]:
    """Count how often each bit is read."""
    reads: Counter[Bit] = Counter()
    for port in module["ports"].values():
        if port["direction"] != "input":
            reads.update(port["bits"])
    for cell in module["cells"].values():
        for name, bits in cell["connections"].items():
            if cell["port_directions"][name] != "output":
                reads.update(bits)
    return reads


def _kills(cell: Cell, position: int, constants: Mapping[Bit, str] | None = None) -> bool:
    """Say whether a position of a cell never propagates, whatever its pins that vary."""
    text = cell["parameters"][f"INIT{position}"]
    table = int(text, 16) if text.startswith("0x") else int(text, 2)
    bits = [cell["connections"][f"{pin}{position}"][0] for pin in "ABCD"]
    values: list[Bit] = (
        bits if constants is None else [constants.get(bit, str(bit)) for bit in bits]
    )
    for row in range(16):
        possible = all(value != str(1 - (row >> pin & 1)) for pin, value in enumerate(values))
        if possible and table >> row & 1:
            return False
    return True
