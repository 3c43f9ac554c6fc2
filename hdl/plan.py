"""Layers: a netlist cut by level, with what each layer reads, makes and hands on."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.formula import Formula, netlist_formulas
from trilut.circuit.kinds import NO_NET
from trilut.circuit.netlist import Netlist
from trilut.circuit.reach import level_gates, reachable_rows, ternary_rows, ternary_tables
from trilut.circuit.vectors import Function, NetWires

__all__ = ["LayerPlan", "plan_layers"]


@dataclass(frozen=True, slots=True)
class LayerPlan:
    """Which nets one layer reads, makes and hands on.

    Parameters
    ----------
    level : int
        The level of the gates, from 1.
    gates : tuple of int
        The gates of the netlist that stand in this layer.
    formulas : tuple of (Formula, Formula)
        The planes plus and minus of each of them, in a circuit of two-input gates.
    nets_in : tuple of int
        The nets that enter, in the order of the input vector.
    nets_out : tuple of int
        The nets that leave: those that a later layer or an output needs.
    registered : bool
        Whether the output is a register.
    wires : NetWires
        How the nets stand on the wires of vectors.
    functions : tuple of tuple of Function
        The functions of each gate, one for each of its wires, in any other circuit.
    """

    level: int
    gates: tuple[int, ...]
    formulas: tuple[tuple[Formula, Formula], ...]
    nets_in: tuple[int, ...]
    nets_out: tuple[int, ...]
    registered: bool
    wires: NetWires = field(compare=False)
    functions: tuple[tuple[Function, ...], ...] = ()

    @property
    def width_in(self) -> int:
        """Number of wires that enter."""
        return self.wires.width(self.nets_in)

    @property
    def width_out(self) -> int:
        """Number of wires that leave."""
        return self.wires.width(self.nets_out)


def plan_layers(
    netlist: Netlist,
    pipeline: int | None,
    *,
    register_last: bool = True,
    rows: NDArray[np.bool_] | None = None,
) -> list[LayerPlan]:
    """Cut a netlist into layers by level.

    There is a register every ``pipeline`` levels, none if that is None, and one after the last
    level if that is asked for.

    The first layer reads all inputs, and the last one hands on exactly the netlist's outputs, in
    their order. Each gate has the cheapest formulas for the rows of its table that can occur, which
    are :func:`reachable_rows` unless the caller has them already.
    """
    if rows is None:
        rows = reachable_rows(netlist)
    wires = NetWires(netlist, rows)
    formulas: list[tuple[Formula, Formula]] = []
    functions: list[tuple[Function, ...]] = []
    if netlist.is_two_input:
        formulas = netlist_formulas(ternary_tables(netlist), ternary_rows(netlist, rows))
    else:
        functions = wires.functions()
    last_use = _last_use(netlist)
    nets = np.arange(netlist.num_inputs)
    plans = []
    for level, gates in enumerate(level_gates(netlist), start=1):
        is_last = level == netlist.depth
        available = np.concatenate([nets, netlist.num_inputs + gates])
        nets_out = netlist.outputs if is_last else available[last_use[available] > level]
        plans.append(
            LayerPlan(
                level,
                tuple(gates.tolist()),
                tuple(formulas[gate] for gate in gates.tolist() if formulas),
                tuple(nets.tolist()),
                tuple(nets_out.tolist()),
                registered=pipeline is not None
                and (register_last if is_last else level % pipeline == 0),
                wires=wires,
                functions=tuple(functions[gate] for gate in gates.tolist() if functions),
            )
        )
        nets = nets_out
    return plans


def _last_use(netlist: Netlist) -> NDArray[np.int64]:
    """Return the highest level that reads each net; an output is read after the last one."""
    last_use = np.zeros(netlist.num_nets, dtype=np.int64)
    levels = netlist.levels[netlist.num_inputs :]
    for sources in netlist.sources.T:
        is_read = sources != NO_NET
        np.maximum.at(last_use, sources[is_read], levels[is_read])
    last_use[netlist.outputs] = netlist.depth + 1
    return last_use
