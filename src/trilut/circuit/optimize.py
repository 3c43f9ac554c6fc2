"""The optimiser: a smaller netlist that computes the same.

One sweep over the levels does it all. Every net is described by a *root* net and a function of one
trit: its value is ``unary[root's value]``. A gate whose table, on the rows that can occur, depends
on one input only is such a function of that input's root, and a constant is one of any root. Other
gates absorb the functions of their inputs into their own table and are roots themselves. What no
output needs is left out. Sweeps are repeated until nothing changes, because a smaller netlist has
fewer rows that can occur.

This is for two-input gates, half a million in seconds; :mod:`trilut.circuit.rewrite` sweeps over
others.
"""

import dataclasses
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trilut.circuit import rewrite
from trilut.circuit.kinds import MAX_WIRES
from trilut.circuit.netlist import Netlist
from trilut.circuit.reach import (
    level_gates,
    observed_rows,
    reachable_rows,
    ternary_rows,
    ternary_tables,
)

__all__ = ["Optimized", "optimize"]

_IDENTITY = np.array([-1, 0, 1], dtype=np.int8)
_MAX_SWEEPS = 8


@dataclass(frozen=True, slots=True, eq=False)
class Optimized:
    """An optimised netlist and how it came to be.

    Parameters
    ----------
    netlist : Netlist
        The smaller netlist.
    gates : tuple of int
        Number of gates before, and after each sweep.
    """

    netlist: Netlist
    gates: tuple[int, ...]


def optimize(
    netlist: Netlist,
    *,
    training_trits: NDArray[np.int8] | None = None,
    cover: int | None = None,
) -> Optimized:
    """Return a netlist with the same outputs for every input, with as few gates as are found.

    Parameters
    ----------
    netlist : Netlist
        The circuit.
    training_trits : int8 array [sample, input], optional
        Inputs after whose model to *lose* behaviour: rows that none of them causes are treated as
        free. The result agrees with the netlist on these inputs and may differ on others.
    cover : int, optional
        Absorb gates into those that read them while these read at most so many wires, 2…6. A
        circuit of two-input gates becomes one of larger gates. Without it two-input gates stay
        such, and others have up to six.

    Raises
    ------
    ValueError
        If gates may not have so many wires.
    """
    if cover is not None and not 2 <= cover <= MAX_WIRES:
        raise ValueError(f"Gates cover {cover} wires, expected 2…{MAX_WIRES}")
    counts = [netlist.num_gates]
    while len(counts) <= _MAX_SWEEPS:
        rows = reachable_rows(netlist)
        if training_trits is not None:
            rows &= observed_rows(netlist, training_trits)
        if netlist.is_two_input and cover is None:
            swept = _sweep(netlist, ternary_rows(netlist, rows))
        else:
            swept = rewrite.sweep(netlist, rows, cover or MAX_WIRES)
        if swept.num_gates >= netlist.num_gates:
            break
        netlist = swept
        counts.append(netlist.num_gates)
    return Optimized(netlist, tuple(counts))


@dataclass(slots=True)
class _Nets:
    """Every net of the old netlist as a function of a root, and the tables of the roots."""

    root: NDArray[np.int64]
    unary: NDArray[np.int8]
    a: NDArray[np.int64]
    b: NDArray[np.int64]
    table: NDArray[np.int8]


def _sweep(netlist: Netlist, rows: NDArray[np.bool_]) -> Netlist:
    num_nets = netlist.num_nets
    nets = _Nets(
        root=np.arange(num_nets),
        unary=np.tile(_IDENTITY, (num_nets, 1)),
        a=np.zeros(num_nets, dtype=np.int64),
        b=np.zeros(num_nets, dtype=np.int64),
        table=ternary_tables(netlist).reshape(-1, 3, 3).copy(),
    )
    for gates in level_gates(netlist):
        _fold(netlist, nets, gates, rows[gates].reshape(-1, 3, 3))
    return _rebuilt(netlist, nets)


def _fold(netlist: Netlist, nets: _Nets, gates: NDArray[np.int64], rows: NDArray[np.bool_]) -> None:
    """Describe the gates of one level by the roots of their inputs."""
    own = netlist.num_inputs + gates
    a, b = netlist.a[gates], netlist.b[gates]
    tables, rows = _over_roots(nets, a, b, nets.table[gates], rows)
    root_a, root_b = nets.root[a], nets.root[b]
    of_a, on_a = _as_unary(tables, rows)
    of_b, on_b = _as_unary(tables.transpose(0, 2, 1), rows.transpose(0, 2, 1))
    kept = ~on_a & ~on_b
    nets.root[own] = np.where(on_a, root_a, np.where(on_b, root_b, own))
    nets.unary[own] = np.where(
        on_a[:, None], of_a, np.where(on_b[:, None], of_b, _IDENTITY[None, :])
    )
    nets.a[own], nets.b[own] = root_a, root_b
    # A table without the rows that cannot occur, so that equal gates look equal.
    nets.table[gates] = np.where(rows, tables, 0)
    _merge_twins(netlist, nets, gates[kept])


def _over_roots(
    nets: _Nets,
    a: NDArray[np.int64],
    b: NDArray[np.int64],
    tables: NDArray[np.int8],
    rows: NDArray[np.bool_],
) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
    """Return tables and rows over the values of the inputs' roots instead of the inputs."""
    index = np.arange(len(a))[:, None, None]
    of_a = nets.unary[a][:, :, None] + 1
    of_b = nets.unary[b][:, None, :] + 1
    rows = rows[index, of_a, of_b]
    rows[nets.root[a] == nets.root[b]] &= np.eye(3, dtype=np.bool_)
    return tables[index, of_a, of_b], rows


def _as_unary(
    tables: NDArray[np.int8], rows: NDArray[np.bool_]
) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
    """Return each table as a function [gate, 3] of its first input, and whether it is one."""
    low = np.where(rows, tables, 1).min(axis=2)
    high = np.where(rows, tables, -1).max(axis=2)
    occurs = rows.any(axis=2)
    is_unary = ((low == high) | ~occurs).all(axis=1)
    # Where the input value never occurs, a value that does keeps constants constant.
    some = np.take_along_axis(low, occurs.argmax(axis=1)[:, None], axis=1)
    return np.where(occurs, low, some).astype(np.int8), is_unary


def _merge_twins(netlist: Netlist, nets: _Nets, gates: NDArray[np.int64]) -> None:
    """Let gates with equal inputs and tables share the first of them as their root."""
    own = netlist.num_inputs + gates
    swap = nets.a[own] > nets.b[own]
    nets.a[own], nets.b[own] = (
        np.where(swap, nets.b[own], nets.a[own]),
        np.where(swap, nets.a[own], nets.b[own]),
    )
    nets.table[gates[swap]] = nets.table[gates[swap]].transpose(0, 2, 1)
    ids = (nets.table[gates].reshape(-1, 9).astype(np.int64) + 1) @ 3 ** np.arange(9)
    pairs = nets.a[own] * netlist.num_nets + nets.b[own]
    _, first, twin = np.unique(pairs * 3**9 + ids, return_index=True, return_inverse=True)
    nets.root[own] = own[first][twin]


def _rebuilt(netlist: Netlist, nets: _Nets) -> Netlist:
    """Keep the roots that outputs need, and make gates for outputs that are not plain roots."""
    needed = np.zeros(netlist.num_nets, dtype=np.bool_)
    needed[nets.root[netlist.outputs]] = True
    for gates in reversed(level_gates(netlist)):
        own = (netlist.num_inputs + gates)[needed[netlist.num_inputs + gates]]
        needed[nets.a[own]] = needed[nets.b[own]] = True
    needed[: netlist.num_inputs] = True
    kept = np.flatnonzero(needed)
    number = np.full(netlist.num_nets, -1, dtype=np.int64)
    number[kept] = np.arange(len(kept))
    gates = kept[netlist.num_inputs :]
    a, b = number[nets.a[gates]], number[nets.b[gates]]
    tables = nets.table[gates - netlist.num_inputs].reshape(-1, 9)
    roots = number[nets.root[netlist.outputs]]
    unary = nets.unary[netlist.outputs]
    outputs, buffers = _output_gates(roots, unary, len(kept))
    # A buffer reads its root twice; its table has the unary function on every row.
    buffer_tables = np.repeat(buffers[:, 1:], 3, axis=1).astype(np.int8)
    tables = np.concatenate([tables, buffer_tables])
    if netlist.valence == 2:
        tables = np.where(tables[:, [0, 2, 6, 8]] == 1, np.int8(1), np.int8(-1))
    return dataclasses.replace(
        netlist,
        table=tables,
        sources=np.concatenate([np.stack([a, b], axis=1), buffers[:, [0, 0]]]),
        outputs=outputs,
        kinds=np.full(netlist.num_inputs + len(tables), netlist.valence, dtype=np.int8),
    )


def _output_gates(
    roots: NDArray[np.int64], unary: NDArray[np.int8], first_net: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the nets of the outputs, and the buffers [buffer, (root, function)] to be made."""
    plain = (unary == _IDENTITY).all(axis=1)
    wanted = np.concatenate([roots[:, None], unary.astype(np.int64)], axis=1)
    buffers, position = np.unique(wanted[~plain], axis=0, return_inverse=True)
    outputs = roots.copy()
    outputs[~plain] = first_net + position.ravel()
    return outputs, buffers.reshape(-1, 4)
