"""Hardening: from trained tables and wires to a netlist."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Array, Float
from numpy.typing import NDArray

from trilut.circuit.encoder import Encoder
from trilut.circuit.head import Head
from trilut.circuit.kinds import Kind
from trilut.circuit.netlist import Netlist
from trilut.training.encoding import input_kinds
from trilut.training.network import Topology
from trilut.training.node import Node
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
        _fold(np.asarray(table), wires, topology.node)
        for table, wires in zip(tables, wiring, strict=True)
    ]
    sources = [
        np.stack([_nets(np.asarray(slot), layer, widths, first_nets) for slot in wires.parents])
        for layer, wires in enumerate(wiring)
    ]
    node = topology.node
    made = Kind.SCORE if node.is_scored else node.levels
    kinds = np.append(input_kinds(encoder, node), np.full(sum(widths[1:]), made, dtype=np.int8))
    return Netlist(
        num_inputs=encoder.num_trits,
        table=np.concatenate(folded).astype(np.int8),
        sources=np.concatenate(sources, axis=1).T,
        outputs=_outputs(widths, first_nets, topology),
        kinds=kinds,
        encoder=encoder,
        head=head,
        name=name,
        provenance=provenance or {},
    )


def _fold(table: NDArray[np.float32], wires: LayerWiring, node: Node) -> NDArray[np.float32]:
    """Return the tables that do to the parents what these do to the wires."""
    by_input = table.reshape(-1, *node.radices)
    for slot, sign in enumerate(wires.signs or ()):
        negate = (np.asarray(sign) < 0).reshape(-1, *(1,) * len(node.radices))
        by_input = np.where(negate, np.flip(by_input, axis=slot + 1), by_input)
    return by_input.reshape(table.shape)


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
