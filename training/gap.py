"""The hardening gap, layer by layer: what each one loses when it is rounded."""

from trilut.data import Split
from trilut.training.network import accuracy
from trilut.training.relax import lookup_layer
from trilut.training.samples import encode
from trilut.training.trainer import Fitted

__all__ = ["layer_accuracies"]


def layer_accuracies(fitted: Fitted, split: Split) -> list[float]:
    """Return the accuracy with the first n layers hardened, for n = 0 … number of layers.

    The first is the soft accuracy and the last that of the circuit, so the fall from one to the
    next is what that layer loses. Layers harden from the inputs upwards because a hardened gate is
    defined for truth values only.
    """
    samples = encode(fitted.encoder, split)
    hard, soft = lookup_layer(fitted.recipe.valence), fitted.recipe.layer
    num_layers = len(fitted.tables)
    return [
        accuracy(
            (hard,) * num_hard + (soft,) * (num_layers - num_hard),
            fitted.tables[:num_hard] + fitted.learned.parameters[num_hard:],
            fitted.learned.wiring,
            samples,
            fitted.topology,
        )
        for num_hard in range(num_layers + 1)
    ]
