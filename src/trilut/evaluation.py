"""How good a circuit is on labelled samples."""

from dataclasses import dataclass

from trilut.data import Split
from trilut.errors import NetlistError
from trilut.metrics import (
    abstained_fraction,
    accuracy,
    accuracy_at_coverage,
    encoding_ceiling,
    unknown_fraction,
)
from trilut.netlist import Netlist

__all__ = ["Evaluation", "evaluate_split"]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Measures of the hardened circuit on one split, all fractions of one.

    Parameters
    ----------
    samples : int
        Number of samples.
    accuracy : float
        Right classes among all samples, abstained ones included.
    accuracy_at_90, accuracy_at_50 : float
        Accuracy on the 90 % and 50 % of the samples with the largest margins.
    unknown : float
        Share of output trits that are UNKNOWN.
    abstained : float
        Share of samples on which the circuit abstains.
    ceiling : float
        The best accuracy that any circuit behind this encoder could have on these samples.
    """

    samples: int
    accuracy: float
    accuracy_at_90: float
    accuracy_at_50: float
    unknown: float
    abstained: float
    ceiling: float


def evaluate_split(netlist: Netlist, split: Split, *, engine: str = "lookup") -> Evaluation:
    """Run a circuit on a split and measure it.

    Raises
    ------
    NetlistError
        If the netlist has no encoder or no head.
    DataError
        If the split has other features than the netlist.
    """
    from trilut.sim import evaluate

    if netlist.encoder is None or netlist.head is None:
        raise NetlistError(
            f"Netlist {netlist.name!r} has no encoder or no head, so it cannot classify samples"
        )
    trits = netlist.encoder.encode(split.x)
    outputs = evaluate(netlist, trits, engine=engine)
    decisions = netlist.head.decide(netlist.head.scores(outputs))
    return Evaluation(
        samples=len(split),
        accuracy=accuracy(decisions, split.y),
        accuracy_at_90=accuracy_at_coverage(decisions, split.y, 0.9),
        accuracy_at_50=accuracy_at_coverage(decisions, split.y, 0.5),
        unknown=unknown_fraction(outputs),
        abstained=abstained_fraction(decisions),
        ceiling=encoding_ceiling(trits, split.y),
    )
