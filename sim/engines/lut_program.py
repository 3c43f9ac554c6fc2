"""Plane instructions of circuits whose gates are lowered to functions of up to six wires.

A wire is a plane. In a circuit of bits alone a net has one plane; where there are trits, every net
has two, as trits have, so that all that stands before and after the gates is the same for both. A
bit's second plane, minus, is written only where an output needs it. The planes of scores stand
behind all others.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.kinds import Kind
from trilut.circuit.netlist import Netlist
from trilut.circuit.wires import NO_WIRE, Wires
from trilut.sim.engines.planes import FIRST_LUT, binary_functions

__all__ = ["LUT_ROWS", "Layout", "Scores", "lut_instructions"]

LUT_ROWS = 3
"""Rows of operands that a LUT takes."""

# What a LUT of three inputs does, four, five and six kernels do; below are those of two operands.
_LEAST_INPUTS = 3

# The function of two bits that is not its second operand.
_NOT_B = 0b0101

Instructions = tuple[NDArray[np.uint32], NDArray[np.uint32]]


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """The outputs that are scores.

    Parameters
    ----------
    is_score : bool array [output]
        Which outputs are.
    widths : int64 array [output]
        Number of their planes; 0 for other outputs.
    lowest : int64 array [output]
        What is added to the number that their planes hold; 0 for other outputs.
    """

    is_score: NDArray[np.bool_]
    widths: NDArray[np.int64]
    lowest: NDArray[np.int64]

    @classmethod
    def of(cls, netlist: Netlist, wires: Wires) -> Self | None:
        """Return the scores of a netlist, None if it has none."""
        is_score = netlist.kinds[netlist.outputs] == Kind.SCORE
        widths = np.where(is_score, np.diff(wires.first)[netlist.outputs], 0)
        return cls(is_score, widths, wires.lowest[netlist.outputs]) if is_score.any() else None


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Where the wires of a netlist are.

    Parameters
    ----------
    planes_per_net : int
        1 if there are only bits, else 2.
    num_planes : int
        Number of planes.
    first : int64 array [net]
        The first plane of each net.
    of_wire : int64 array [wire]
        The plane of each wire.
    """

    planes_per_net: int
    num_planes: int
    first: NDArray[np.int64]
    of_wire: NDArray[np.int64]

    @classmethod
    def of(cls, netlist: Netlist, wires: Wires, slots: NDArray[np.int64], num_slots: int) -> Self:
        """Give planes to nets that have slots [net], -1 for those that nothing reads."""
        planes_per_net = 1 + bool(np.any(netlist.kinds == Kind.TRIT))
        first = np.maximum(slots, 0) * planes_per_net
        widths = np.diff(wires.first)
        scores = np.flatnonzero(netlist.kinds == Kind.SCORE)
        end = num_slots * planes_per_net
        first[scores] = end + np.cumsum(widths[scores]) - widths[scores]
        # A score that has no wires still has a first plane, and what reads a pair reads one more.
        num_planes = end + int(widths[scores].sum()) + 2
        place = np.arange(wires.num_wires) - np.repeat(wires.first[:-1], widths)
        return cls(planes_per_net, num_planes, first, np.repeat(first, widths) + place)

    def complements(self, netlist: Netlist) -> Instructions:
        """Return the instructions for the minus planes of outputs that are bits."""
        own = np.unique(netlist.outputs)
        own = own[(netlist.kinds[own] == Kind.BIT) & (own >= netlist.num_inputs)]
        if self.planes_per_net == 1 or len(own) == 0:
            return np.empty((0, 2), dtype=np.uint32), np.empty((0, 3), dtype=np.uint32)
        plus = self.first[own]
        runs = np.array([[binary_functions().kernel[_NOT_B], len(own)]], dtype=np.uint32)
        return runs, np.stack([plus, plus, plus + 1], axis=1).astype(np.uint32)


def lut_instructions(
    netlist: Netlist, wires: Wires, layout: Layout, gates: NDArray[np.int64]
) -> Instructions:
    """Return the runs and operands of some gates, none of which reads another."""
    nets = netlist.num_inputs + gates
    widths = np.diff(wires.first)[nets]
    place = np.arange(widths.sum()) - np.repeat(np.cumsum(widths) - widths, widths)
    functions = np.repeat(wires.first[nets], widths) + place - wires.num_input_wires
    num_inputs = (wires.inputs[functions] != NO_WIRE).sum(axis=1)
    runs, operands = [], []
    for count in np.unique(num_inputs).tolist():
        own = functions[num_inputs == count]
        planes = layout.of_wire[np.maximum(wires.inputs[own], 0)]
        result = layout.of_wire[wires.num_input_wires + own]
        if count >= _LEAST_INPUTS:
            halves = wires.on[own].astype("<u8").view("<u4").reshape(-1, 2)
            rows = np.concatenate([planes, result[:, None], halves], axis=1)
            runs.append([[FIRST_LUT + count - _LEAST_INPUTS, len(own) * LUT_ROWS]])
            operands.append(rows.reshape(-1, 3).astype(np.uint32))
            continue
        kernel = binary_functions().kernel[_of_two(wires.on[own], count)]
        order = np.argsort(kernel, kind="stable")
        numbers, counts = np.unique(kernel, return_counts=True)
        runs.append(np.stack([numbers, counts], axis=1).tolist())
        # Row 2a + b of a function of two bits: the second input is a.
        rows = np.stack([planes[:, 1 if count == 2 else 0], planes[:, 0], result], axis=1)
        operands.append(rows[order].astype(np.uint32))
    return (
        np.array([run for part in runs for run in part], dtype=np.uint32).reshape(-1, 2),
        np.concatenate([np.empty((0, 3), dtype=np.uint32), *operands]),
    )


def _of_two(on: NDArray[np.uint64], num_inputs: int) -> NDArray[np.int64]:
    """Return tables of fewer inputs as functions of two bits, which do not look at the others."""
    functions = on.astype(np.int64)
    for count in range(num_inputs, 2):
        functions |= functions << (1 << count)
    return functions
