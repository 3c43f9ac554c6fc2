"""The hardening gap, layer by layer: what each one loses when it is rounded."""

from trilut.data import Split
from trilut.training.network import accuracy_by_layer
from trilut.training.relax import lookup_layer
from trilut.training.samples import encode
from trilut.training.trainer import Fitted

__all__ = ["layer_accuracies"]


def layer_accuracies(fitted: Fitted, split: Split) -> list[float]:
    """Return the accuracy with the first n layers hardened, for n = 0 … number of layers.

    See :func:`trilut.training.network.accuracy_by_layer`.
    """
    return accuracy_by_layer(
        (fitted.recipe.layer, lookup_layer(fitted.topology.node)),
        fitted.learned.parameters,
        fitted.tables,
        fitted.learned.wiring,
        encode(fitted.encoder, split),
        fitted.topology,
    )
