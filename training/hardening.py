"""Hardening: from trained tables and wires to a netlist."""

import math
from collections.abc import Mapping

import numpy as np
from jaxtyping import Array, Float
from numpy.typing import NDArray

from trilut.circuit.encoder import Encoder
from trilut.circuit.head import Head
from trilut.circuit.netlist import Netlist
from trilut.training.network import Topology
from trilut.training.wiring import LayerWiring, Wiring

__all__ = ["harden"]


def harden(
    tables: tuple[Float[Array, "_ row"], ...],
    wiring: Wiring,
    topology: Topology,
    *,
    encoder: Encoder,
    head: Head,
    name: str = "net",
    provenance: Mapping[str, object] | None = None,
) -> Netlist:
    """Join layers of tables of truth values into a netlist.

    Negated wires become plain ones to tables with that input turned round.
    """
    widths = (encoder.num_trits, *map(len, tables))
    first_nets = np.cumsum((0, *widths))
    folded = [
        _fold(np.asarray(table), parents) for table, parents in zip(tables, wiring, strict=True)
    ]
    parents = [
        [_nets(np.asarray(side), layer, widths, first_nets) for side in (wires.a, wires.b)]
        for layer, wires in enumerate(wiring)
    ]
    return Netlist.of_gates(
        num_inputs=encoder.num_trits,
        table=np.concatenate(folded).astype(np.int8),
        a=np.concatenate([a for a, _ in parents]),
        b=np.concatenate([b for _, b in parents]),
        outputs=_outputs(widths, first_nets, topology),
        valence=_valence(folded[0]),
        encoder=encoder,
        head=head,
        name=name,
        provenance=provenance or {},
    )


def _fold(table: NDArray[np.float32], parents: LayerWiring) -> NDArray[np.float32]:
    """Return the tables that do to the parents what these do to the wires."""
    if parents.sign_a is None or parents.sign_b is None:
        return table
    square = table.reshape(-1, _valence(table), _valence(table))
    negate_a, negate_b = (
        np.asarray(sign)[:, None, None] < 0 for sign in (parents.sign_a, parents.sign_b)
    )
    square = np.where(negate_a, square[:, ::-1, :], square)
    return np.where(negate_b, square[:, :, ::-1], square).reshape(table.shape)


def _valence(table: NDArray[np.float32]) -> int:
    return math.isqrt(table.shape[1])


def _nets(
    positions: NDArray[np.int32],
    layer: int,
    widths: tuple[int, ...],
    first_nets: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return the nets of positions among the sources of a layer."""
    below = widths[layer]
    return np.where(positions < below, first_nets[layer] + positions, positions - below)


def _outputs(
    widths: tuple[int, ...], first_nets: NDArray[np.int64], topology: Topology
) -> NDArray[np.int64]:
    """Return the nets of the outputs, class by class."""
    layers = range(len(widths) - topology.output_layers, len(widths))
    by_class = [
        np.arange(first_nets[layer], first_nets[layer + 1]).reshape(-1, topology.num_classes).T
        for layer in layers
    ]
    return np.concatenate(by_class, axis=1).ravel()
