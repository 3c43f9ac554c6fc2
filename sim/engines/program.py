"""A netlist as a stream of plane instructions, ready for an interpreter.

Nothing is compiled for a netlist: its gates are sorted by level and by what they compute, so that
one kernel runs over many gates, and planes that nobody reads any more are given to later gates, so
that the planes in use stay in the cache.

Two-input gates have instructions of two operands, written here. Circuits of other gates are lowered
to functions of up to six wires; :mod:`trilut.sim.engines.lut_program` writes their instructions.
"""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.kinds import NO_NET
from trilut.circuit.netlist import Netlist
from trilut.circuit.optimize import optimize
from trilut.circuit.reach import level_gates
from trilut.circuit.wires import lower
from trilut.sim.engines.lut_program import LUT_ROWS, Layout, Scores, lut_instructions
from trilut.sim.engines.planes import (
    FIRST_LUT,
    PlaneFunctions,
    binary_functions,
    ternary_functions,
)
from trilut.sim.engines.registers import NEVER, allocate

__all__ = ["NO_PLANE", "Program"]

Indices = NDArray[np.int64]

NO_PLANE = 0xFFFFFFFF
"""The plane of an input that nothing reads."""

# Gates between two times that planes are given back. Fewer make shorter runs of one kernel, more
# keep dead planes in the cache.
_CHUNK = 1024


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """Plane instructions that compute the outputs of a netlist from its inputs.

    Parameters
    ----------
    planes_per_net : int
        2 for trits; 1 for bits, which have only plus.
    num_planes : int
        Number of planes that an interpreter must hold.
    runs : uint32 array [run, 2]
        The kernel of each run of instructions, and the number of their rows.
    operands : uint32 array [row, 3]
        A row for each instruction: the planes of the first operand, the second and the result; or
        three rows for a LUT: six planes, those that it does not have any, then the plane of the
        result and the low and the high half of its table. No instruction of a run reads a plane
        that the same run, or its other half for the other plane of the same gates, writes.
    inputs : uint32 array [input]
        The plus plane of each input, or :data:`NO_PLANE`.
    outputs : uint32 array [output]
        The plus plane of each output; of a score the plane of its lowest bit, and those of its
        other bits stand behind it.
    scores : Scores, optional
        What outputs that are scores have; None if there are none.
    """

    planes_per_net: int
    num_planes: int
    runs: NDArray[np.uint32]
    operands: NDArray[np.uint32]
    inputs: NDArray[np.uint32]
    outputs: NDArray[np.uint32]
    scores: Scores | None = None

    @classmethod
    def of(cls, netlist: Netlist) -> Self:
        """Optimise a netlist and write it as instructions.

        The optimiser may not know the encoder: trits that no encoder would make are inputs too.
        """
        if netlist.is_two_input:
            bare = dataclasses.replace(netlist, encoder=None, head=None, provenance={})
            return cls._of(optimize(bare).netlist)
        # Scores need their head.
        return cls._of_wires(dataclasses.replace(netlist, encoder=None, provenance={}))

    @classmethod
    def _of(cls, netlist: Netlist) -> Self:
        kinds = _Kinds.of(netlist)
        chunks = list(_chunks(netlist, kinds.order))
        slots, num_slots = _slots(netlist, chunks)
        planes = slots * kinds.planes_per_net
        parts = [_instructions(netlist, kinds, planes, gates) for gates in chunks]
        return cls(
            planes_per_net=kinds.planes_per_net,
            num_planes=num_slots * kinds.planes_per_net,
            runs=_joined([runs for runs, _ in parts], 2),
            operands=_joined([operands for _, operands in parts], 3),
            inputs=np.where(slots >= 0, planes, NO_PLANE)[: netlist.num_inputs].astype(np.uint32),
            outputs=planes[netlist.outputs].astype(np.uint32),
        )

    @classmethod
    def _of_wires(cls, netlist: Netlist) -> Self:
        wires = lower(netlist)
        chunks = list(_chunks(netlist, np.zeros(netlist.num_gates, dtype=np.int64)))
        slots, num_slots = _slots(netlist, chunks)
        layout = Layout.of(netlist, wires, slots, num_slots)
        parts = [lut_instructions(netlist, wires, layout, gates) for gates in chunks]
        parts.append(layout.complements(netlist))
        return cls(
            planes_per_net=layout.planes_per_net,
            num_planes=layout.num_planes,
            runs=_joined([runs for runs, _ in parts], 2),
            operands=_joined([operands for _, operands in parts], 3),
            inputs=np.where(slots >= 0, layout.first, NO_PLANE)[: netlist.num_inputs].astype(
                np.uint32
            ),
            outputs=layout.first[netlist.outputs].astype(np.uint32),
            scores=Scores.of(netlist, wires),
        )

    @property
    def num_instructions(self) -> int:
        """Number of instructions: planes computed for each word of samples."""
        lengths = np.where(self.runs[:, 0] >= FIRST_LUT, LUT_ROWS, 1)
        return int((self.runs[:, 1] // lengths).sum())


@dataclass(frozen=True, slots=True, eq=False)
class _Kinds:
    """What the gates of a netlist compute: one function for each plane.

    The two planes of a gate are computed by two runs, one after the other, while its operands are
    in the nearest cache; which of the two is first is free, and taken so that runs are long.
    """

    planes_per_net: int
    table: PlaneFunctions
    functions: NDArray[np.int64]  # [plane, gate], in the order in which they are computed
    minus_first: NDArray[np.bool_]
    order: NDArray[np.int64]  # [gate]; equal for gates that share their runs

    @classmethod
    def of(cls, netlist: Netlist) -> Self:
        rows = 1 << np.arange(netlist.valence**2)
        plus = (netlist.table == 1) @ rows
        if netlist.valence == 2:
            table = binary_functions()
            none = np.zeros(netlist.num_gates, dtype=np.bool_)
            return cls(1, table, plus[None, :], none, table.kernel[plus])
        table = ternary_functions()
        minus = (netlist.table == -1) @ rows
        minus_first = table.kernel[plus] > table.kernel[minus]
        functions = np.where(minus_first, [minus, plus], [plus, minus])
        first, second = table.kernel[functions]
        return cls(2, table, functions, minus_first, first * len(table.kernel) + second)


def _joined(parts: list[NDArray[np.uint32]], width: int) -> NDArray[np.uint32]:
    return np.concatenate([np.empty((0, width), dtype=np.uint32), *parts])


def _chunks(netlist: Netlist, order: Indices) -> Iterator[Indices]:
    """Give the gates in the order of computation, some of one level at a time."""
    for gates in level_gates(netlist):
        # Gates that share a run read their first operand in ascending order.
        ordered = gates[np.lexsort((netlist.sources[gates, 0], order[gates]))]
        yield from (ordered[start : start + _CHUNK] for start in range(0, len(gates), _CHUNK))


def _slots(netlist: Netlist, chunks: list[Indices]) -> tuple[Indices, int]:
    """Give each net a slot, -1 if nothing reads it; return them and how many there are."""
    last = np.full(netlist.num_nets, NEVER)
    for number, gates in enumerate(chunks):
        sources = netlist.sources[gates]
        last[sources[sources != NO_NET]] = number
    last[netlist.outputs] = len(chunks)
    return allocate([netlist.num_inputs + gates for gates in chunks], last, netlist.num_inputs)


def _instructions(
    netlist: Netlist, kinds: _Kinds, planes: Indices, gates: Indices
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the runs and operands of some gates that stand in the order of computation."""
    order = kinds.order[gates]
    starts = np.flatnonzero(np.diff(order, prepend=-1))
    sizes = np.diff(starts, append=len(gates))
    count = kinds.planes_per_net
    functions = kinds.functions[:, gates]
    runs = np.empty((len(starts), count, 2), dtype=np.uint32)
    runs[:, :, 0] = kinds.table.kernel[functions[:, starts]].T
    runs[:, :, 1] = sizes[:, None]
    operands = np.empty((len(gates) * count, 3), dtype=np.uint32)
    # The instructions of a run stand together, then those of its other plane.
    position = np.arange(len(gates)) + np.repeat(starts * (count - 1), sizes)
    for plane in range(count):
        a, b = _operands(
            kinds.table, functions[plane], planes[netlist.a[gates]], planes[netlist.b[gates]]
        )
        result = planes[netlist.num_inputs + gates] + (kinds.minus_first[gates] ^ (plane == 1))
        operands[position] = np.stack([a, b, result], axis=1)
        position = position + np.repeat(sizes, sizes)
    return runs.reshape(-1, 2), operands


def _operands(
    table: PlaneFunctions, functions: Indices, a: Indices, b: Indices
) -> tuple[Indices, Indices]:
    """Negate and exchange operands as their functions ask for."""
    a = a ^ table.negate_a[functions]
    b = b ^ table.negate_b[functions]
    swap = table.swap[functions]
    return np.where(swap, b, a), np.where(swap, a, b)
