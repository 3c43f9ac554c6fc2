"""Netlists as BLIF and BLIF-MV, for logic tools of the academic kind.

BLIF is binary: every trit is the two bits of its dual-rail code, named ``n7_p`` ([v = +1]) and
``n7_m`` ([v = −1]). BLIF-MV has variables of three values, 0 … 2 for −1 … +1, so a gate is one
table. Both hold the gates only: encoder and head are arithmetic, which these formats do not have.
"""

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.netlist import Netlist
from trilut.circuit.reach import ternary_tables

__all__ = ["to_blif", "to_blif_mv"]

_RAILS = (("p", 1), ("m", -1))


def to_blif(netlist: Netlist, *, model: str = "trilut") -> str:
    """Write the gates as BLIF over dual-rail bits; illegal input codes give 0."""
    nets = range(netlist.num_inputs)
    inputs = [f"n{net}_{rail}" for net in nets for rail, _ in _RAILS]
    outputs = [f"o{index}_{rail}" for index in range(len(netlist.outputs)) for rail, _ in _RAILS]
    lines = [f".model {model}", *_wrapped(".inputs", inputs), *_wrapped(".outputs", outputs)]
    for gate, table in enumerate(ternary_tables(netlist)):
        a, b = int(netlist.a[gate]), int(netlist.b[gate])
        net = netlist.num_inputs + gate
        for rail, value in _RAILS:
            rows = np.flatnonzero(table == value).tolist()
            # A constant 0 has no inputs and no rows; Yosys reads inputs without rows as undefined.
            sources = f"n{a}_p n{a}_m n{b}_p n{b}_m " if rows else ""
            lines.append(f".names {sources}n{net}_{rail}")
            lines += [f"{_code(row)} 1" for row in rows]
    for index, net in enumerate(netlist.outputs.tolist()):
        for rail, _ in _RAILS:
            lines += [f".names n{net}_{rail} o{index}_{rail}", "1 1"]
    return "\n".join([*lines, ".end", ""])


def to_blif_mv(netlist: Netlist, *, model: str = "trilut") -> str:
    """Write the gates as BLIF-MV, one variable of ``valence`` values a net."""
    inputs = [f"n{net}" for net in range(netlist.num_inputs)]
    outputs = [f"o{index}" for index in range(len(netlist.outputs))]
    lines = [f".model {model}", *_wrapped(".inputs", inputs), *_wrapped(".outputs", outputs)]
    names = [*(f"n{net}" for net in range(netlist.num_nets)), *outputs]
    lines += [f".mv {name} {netlist.valence}" for name in names]
    levels = _levels(netlist.table, netlist.valence)
    for gate, table in enumerate(levels.tolist()):
        a, b = int(netlist.a[gate]), int(netlist.b[gate])
        lines.append(f".table n{a} n{b} -> n{netlist.num_inputs + gate}")
        lines += [
            f"{row // netlist.valence} {row % netlist.valence} {level}"
            for row, level in enumerate(table)
        ]
    for index, net in enumerate(netlist.outputs.tolist()):
        lines.append(f".table n{net} -> o{index}")
        lines += [f"{level} {level}" for level in range(netlist.valence)]
    return "\n".join([*lines, ".end", ""])


def _levels(values: NDArray[np.int8], valence: int) -> NDArray[np.int8]:
    return (values + 1) // (2 // (valence - 1))


def _code(row: int) -> str:
    """Return the four input bits of a row: a.plus, a.minus, b.plus, b.minus."""
    rails = {-1: "01", 0: "00", 1: "10"}
    return rails[row // 3 - 1] + rails[row % 3 - 1]


def _wrapped(keyword: str, names: list[str]) -> list[str]:
    """Write a long list over several lines, each but the last ending in a backslash."""
    parts = [names[start : start + 16] for start in range(0, len(names), 16)]
    lines = [
        f"{keyword if index == 0 else ' '} {' '.join(part)}" for index, part in enumerate(parts)
    ]
    return [f"{line} \\" for line in lines[:-1]] + lines[-1:]
