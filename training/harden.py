"""Hardening: from trained parameters to a netlist."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Array, Float

from trilut.encoder import Encoder
from trilut.head import Head
from trilut.netlist import Netlist
from trilut.training.wiring import Wiring

__all__ = ["harden"]


def harden(
    tables: tuple[Float[Array, "_ row"], ...],
    wiring: Wiring,
    *,
    encoder: Encoder,
    head: Head,
    name: str = "net",
    provenance: Mapping[str, object] | None = None,
) -> Netlist:
    """Join layers of tables of truth values into a netlist whose outputs are the last layer."""
    widths = (encoder.num_trits, *map(len, tables))
    first_nets = np.cumsum((0, *widths))
    below = list(zip(first_nets, wiring, strict=False))
    return Netlist(
        num_inputs=encoder.num_trits,
        table=np.concatenate([np.asarray(table) for table in tables]).astype(np.int8),
        a=np.concatenate([net + np.asarray(parents.a) for net, parents in below]),
        b=np.concatenate([net + np.asarray(parents.b) for net, parents in below]),
        outputs=np.arange(first_nets[-2], first_nets[-1]),
        encoder=encoder,
        head=head,
        name=name,
        provenance=provenance or {},
    )
