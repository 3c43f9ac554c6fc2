"""Tolerance: thresholds moved apart, so that no small error of a feature makes a trit wrong.

A trit of the tolerant circuit is UNKNOWN if a threshold lies within the tolerance of the value, and
otherwise what it would be for every value that the feature could really have. So if the gates are
information-monotone (:mod:`trilut.circuit.monotone`), an answer of the tolerant circuit that is
certain is the answer of the circuit itself to every sample whose features are no further away.
"""

import dataclasses
import math
from dataclasses import dataclass

import numpy as np

from trilut.circuit.encoder import Feature
from trilut.circuit.limits import MAX_INTEGER
from trilut.circuit.monotone import check_monotone, with_least_claims
from trilut.circuit.netlist import Netlist
from trilut.errors import NetlistError

__all__ = ["Tolerance", "with_tolerance"]


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far a feature may be off.

    Parameters
    ----------
    amount : float
        In the unit of the feature, or a share of its range: that of the integers that count, if the
        feature says so, or else of all its integers.
    is_share : bool
        Which of the two.

    Raises
    ------
    NetlistError
        If the amount is negative or no number.
    """

    amount: float
    is_share: bool = False

    def __post_init__(self) -> None:
        if not (math.isfinite(self.amount) and self.amount >= 0):
            raise NetlistError(f"Tolerance is {self.amount}, expected a number from 0 up")

    def __str__(self) -> str:
        return f"{100 * self.amount:g} %" if self.is_share else f"{self.amount:g}"

    def steps(self, feature: Feature) -> int:
        """Return by how many integers a feature may be off: the next whole number."""
        least, most = feature.seen or (feature.minimum, feature.maximum)
        scale = most - least if self.is_share else abs(feature.scale)
        # One part in 10⁹ less, lest the rounding of a product asks for a step more.
        return min(math.ceil(self.amount * scale * (1 - 1e-9)), MAX_INTEGER // 2)


def with_tolerance(netlist: Netlist, tolerance: Tolerance) -> Netlist:
    """Return a netlist with thresholds moved apart, each by the tolerance of its feature.

    Its hardware has no more logic than that of the netlist, only other thresholds.

    Raises
    ------
    NetlistError
        If the netlist has no encoder, or is not information-monotone.
    """
    encoder = netlist.encoder
    if encoder is None:
        raise NetlistError(f"Netlist {netlist.name!r} has no encoder, so it has no thresholds")
    check_monotone(netlist)
    # With wider bands, rows of tables occur that could not before.
    netlist = with_least_claims(netlist)
    steps = [tolerance.steps(feature) for feature in encoder.features]
    features = list(encoder.features)
    for index, feature in enumerate(features):
        if feature.seen is not None:
            # Near the ends of what counts, the true value may be one that does not.
            least, most = feature.seen[0] + steps[index], feature.seen[1] - steps[index]
            if max(least, feature.minimum) <= min(most, feature.maximum):
                features[index] = dataclasses.replace(feature, seen=(least, most))
            else:
                steps[index] = MAX_INTEGER
    away = np.array(steps, dtype=np.int64)[encoder.feature]
    return dataclasses.replace(
        netlist,
        encoder=dataclasses.replace(
            encoder,
            features=tuple(features),
            low=np.maximum(encoder.low - away, -MAX_INTEGER),
            high=np.minimum(encoder.high + away, MAX_INTEGER),
        ),
    )
