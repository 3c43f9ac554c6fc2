"""What errors of features could do to answers."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trilut.circuit.netlist import Netlist
from trilut.circuit.tolerance import Tolerance, with_tolerance
from trilut.data import Split
from trilut.measure.matching import cannot_classify

__all__ = ["TolerancePoint", "tolerance_curve"]


@dataclass(frozen=True, slots=True)
class TolerancePoint:
    """What a circuit is sure of if every feature may be off.

    Parameters
    ----------
    tolerance : str
        How far, as text.
    certain : float
        Share of answers that no error of that size could change.
    certified : float
        Share of samples whose answer is certain and right: with every error of that size the
        circuit is right on them.
    """

    tolerance: str
    certain: float
    certified: float


def tolerance_curve(
    netlist: Netlist, split: Split, tolerances: Sequence[Tolerance], *, engine: str = "fast"
) -> list[TolerancePoint]:
    """Measure what a circuit is sure of if every feature may be off by so much.

    Raises
    ------
    NetlistError
        If the netlist has no encoder or no head, or is not information-monotone.
    DataError
        If the split has other features than the netlist.
    """
    from trilut.sim import classify

    if netlist.encoder is None or netlist.head is None:
        raise cannot_classify(netlist)
    points = []
    for tolerance in tolerances:
        tolerant = with_tolerance(netlist, tolerance)
        decisions = classify(tolerant, split.x, certain=True, engine=engine)
        assert decisions.certain is not None
        right = decisions.certain & (decisions.chosen == split.y)
        points.append(
            TolerancePoint(str(tolerance), float(np.mean(decisions.certain)), float(np.mean(right)))
        )
    return points
