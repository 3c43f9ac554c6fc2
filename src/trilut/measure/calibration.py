"""Guarantees about new samples, from samples that nobody has chosen anything by.

*Risk.* The abstention margin is the smallest for which the error among answered samples is at most
a given one, with a given confidence: over all calibration sets that one could draw, the promise is
broken in no more than 1 − confidence of them. Of n answered samples with k errors, the probability
of so few errors, if the risk were any larger than promised, is that of a binomial distribution, and
exact. Margins are tested from one down to the next until the first that fails (fixed-sequence
testing), so that many tests cost no confidence. Where the sequence begins may depend on anything
but the samples that are tested: other samples, the pilot, choose it.

*Coverage.* A prediction set has all classes whose score is no more than a margin below the highest.
That of a sample's own class is so far below; the ⌈(n + 1)·coverage⌉-th smallest of these distances
is the margin by which a new sample's class is in its set with that probability (split conformal
prediction).

Both hold for samples drawn as the calibration samples were, and for no others.
"""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.head import Decisions
from trilut.circuit.netlist import Netlist
from trilut.data import Split
from trilut.errors import TrilutError
from trilut.measure.matching import cannot_classify

__all__ = [
    "CalibrationError",
    "Coverage",
    "Risk",
    "calibrate_risk",
    "calibrate_set",
    "fewest_samples",
    "margin_for_risk",
    "margin_for_sets",
    "probability_of_fewer",
    "with_certificate",
]


Answers = tuple[Decisions, NDArray[np.int64]]
"""What a circuit says of samples, and their right classes."""


class CalibrationError(TrilutError):
    """A promise that the samples do not support."""


@dataclass(frozen=True, slots=True)
class Risk:
    """A promise about the error among answered samples, and what it rests on.

    Parameters
    ----------
    risk, confidence : float
        The promise: the error is at most ``risk``, with this confidence.
    per_class : bool
        Whether it holds for the samples answered as any one class.
    margin : int
        The abstention margin that keeps it.
    samples, answered, errors : int
        Calibration samples, those of them that are answered, and how many of these are wrong.
    """

    risk: float
    confidence: float
    per_class: bool
    margin: int
    samples: int
    answered: int
    errors: int

    @property
    def coverage(self) -> float:
        """Share of calibration samples that are answered."""
        return self.answered / self.samples


@dataclass(frozen=True, slots=True)
class Coverage:
    """A promise about prediction sets, and what it rests on.

    Parameters
    ----------
    coverage : float
        The promise: the right class is in the set at least with this probability.
    margin : int
        The margin of the sets that keeps it.
    samples : int
        Calibration samples.
    mean_size : float
        Classes in a set, on average over them.
    """

    coverage: float
    margin: int
    samples: int
    mean_size: float


def probability_of_fewer(errors: int, samples: int, risk: float) -> float:
    """Return the probability of at most so many errors if each sample is one with ``risk``."""
    if risk <= 0:
        return 1.0
    if errors >= samples or risk >= 1:
        return float(errors >= samples)
    count = np.arange(errors + 1)
    ways = [math.lgamma(each + 1) + math.lgamma(samples - each + 1) for each in range(errors + 1)]
    terms = math.lgamma(samples + 1) - np.array(ways)
    terms += count * math.log(risk) + (samples - count) * math.log1p(-risk)
    highest = terms.max()
    return float(min(1.0, math.exp(highest) * np.exp(terms - highest).sum()))


def fewest_samples(risk: float, confidence: float) -> int:
    """Return how many samples without an error support a promise; with fewer there is none."""
    return math.ceil(math.log1p(-confidence) / math.log1p(-risk))


def calibrate_risk(
    netlist: Netlist,
    samples: Split,
    *,
    pilot: Split,
    risk: float,
    confidence: float = 0.95,
    per_class: bool = False,
) -> Risk:
    """Find the smallest abstention margin that keeps a risk.

    Parameters
    ----------
    netlist : Netlist
        The circuit.
    samples : Split
        Samples that had no part in training, or in the choice of anything.
    pilot : Split
        Other samples, which choose where the sequence of tests begins. They may have had a part in
        training; that makes the search worse, but not the promise.
    risk, confidence : float
        The promise, both between 0 and 1.
    per_class : bool
        Whether to keep it for the samples answered as each one class, and not only for all.

    Raises
    ------
    CalibrationError
        If the samples do not support it.
    NetlistError, DataError
        If the samples do not fit the netlist.
    """
    return margin_for_risk(
        (_decisions(netlist, samples), samples.y),
        pilot=(_decisions(netlist, pilot), pilot.y),
        risk=risk,
        confidence=confidence,
        per_class=per_class,
    )


def margin_for_risk(
    answers: Answers, *, pilot: Answers, risk: float, confidence: float, per_class: bool = False
) -> Risk:
    """Find the smallest abstention margin that keeps a risk, as :func:`calibrate_risk` does.

    Parameters
    ----------
    answers, pilot : Answers
        What a circuit says of the two kinds of samples.

    Raises
    ------
    CalibrationError
        If the samples do not support it.
    """
    _check_share("risk", risk)
    _check_share("confidence", confidence)
    tests = _Tests(*answers, risk, per_class=per_class)
    trial = _Tests(*pilot, risk, per_class=per_class)
    num_samples = len(answers[1])
    kept = None
    for margin in range(trial.most_hopeful(num_samples), 0, -1):
        if tests.p_value(margin) > 1 - confidence:
            break
        kept = margin
    if kept is None:
        needed = fewest_samples(risk, confidence)
        raise CalibrationError(
            f"{num_samples} samples do not support a risk of {risk:g} with confidence "
            f"{confidence:g}: it takes {needed} answered ones without an error"
            + (" for each class" if per_class else "")
            + ", more with errors; give more samples, or promise less"
        )
    answered, errors = tests.counts(kept)
    return Risk(
        risk, confidence, per_class, kept, num_samples, int(answered.sum()), int(errors.sum())
    )


class _Tests:
    """The tests of one set of samples: whether a margin keeps the risk."""

    def __init__(
        self, decisions: Decisions, labels: NDArray[np.int64], risk: float, *, per_class: bool
    ):
        self._margin = decisions.margin
        self._wrong = decisions.chosen != labels
        self._risk = risk
        num_classes = decisions.scores.shape[1]
        self._group = decisions.chosen if per_class else np.zeros(len(labels), dtype=np.int64)
        self._num_groups = num_classes if per_class else 1

    def counts(self, margin: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the answered samples of each group, and the errors among them."""
        answered = self._margin >= margin
        wrong = answered & self._wrong
        return (
            np.bincount(self._group[answered], minlength=self._num_groups),
            np.bincount(self._group[wrong], minlength=self._num_groups),
        )

    def p_value(self, margin: int) -> float:
        """Return the largest probability of so few errors in a group if it broke the promise.

        If one group broke it, its own test would fail but for this probability; so all may be
        tested at the same level.
        """
        return self._worst(*self.counts(margin))

    def _worst(self, answered: NDArray[np.int64], errors: NDArray[np.int64]) -> float:
        groups = zip(errors.tolist(), answered.tolist(), strict=True)
        return max(probability_of_fewer(*group, self._risk) for group in groups)

    def most_hopeful(self, num_samples: int) -> int:
        """Return the margin that so many samples like these most likely show to keep the risk."""
        scale = num_samples / max(1, len(self._margin))
        candidates = np.unique(self._margin[self._margin > 0]).tolist()

        def expected(margin: int) -> float:
            answered, errors = self.counts(margin)
            # Half an error more than seen: none in a few samples means little.
            likely = np.ceil((errors + 0.5 * (answered > 0)) * scale).astype(np.int64)
            return self._worst((answered * scale).astype(np.int64), likely)

        return min(candidates, key=lambda margin: (expected(margin), margin), default=1)


def calibrate_set(netlist: Netlist, samples: Split, *, coverage: float) -> Coverage:
    """Find the margin of prediction sets that have the right class with a probability.

    Parameters
    ----------
    netlist : Netlist
        The circuit.
    samples : Split
        Samples that had no part in training, or in the choice of anything.
    coverage : float
        The probability, between 0 and 1.

    Raises
    ------
    CalibrationError
        If there are too few samples.
    NetlistError, DataError
        If the samples do not fit the netlist.
    """
    return margin_for_sets((_decisions(netlist, samples), samples.y), coverage=coverage)


def margin_for_sets(answers: Answers, *, coverage: float) -> Coverage:
    """Find the margin of prediction sets, as :func:`calibrate_set` does.

    Parameters
    ----------
    answers : Answers
        What a circuit says of the samples.

    Raises
    ------
    CalibrationError
        If there are too few samples.
    """
    _check_share("coverage", coverage)
    decisions, labels = answers
    scores, num_samples = decisions.scores, len(labels)
    own = np.take_along_axis(scores, labels[:, None], axis=1)[:, 0]
    distance = np.sort(scores.max(axis=1) - own)
    # A little less, lest rounding asks for one more than (n + 1)·coverage is.
    place = math.ceil((num_samples + 1) * coverage - 1e-9)
    if place > num_samples:
        needed = math.ceil(coverage / (1 - coverage) - 1e-9)
        raise CalibrationError(
            f"{num_samples} samples do not support a coverage of {coverage:g}: "
            f"it takes {needed}; give more samples, or promise less"
        )
    margin = int(distance[place - 1])
    size = (scores.max(axis=1, keepdims=True) - scores <= margin).sum(axis=1).mean()
    return Coverage(coverage, margin, num_samples, float(size))


def with_certificate(
    netlist: Netlist, *, risk: Risk | None, coverage: Coverage | None, samples: str
) -> Netlist:
    """Return a netlist with the margins of promises, which its provenance has as ``calibration``.

    Parameters
    ----------
    samples : str
        What the calibration samples are.
    """
    assert netlist.head is not None
    head = netlist.head
    certificate: dict[str, Any] = {"samples": samples}
    if risk is not None:
        head = dataclasses.replace(head, abstain_margin=risk.margin)
        certificate["risk"] = dataclasses.asdict(risk)
    if coverage is not None:
        head = dataclasses.replace(head, set_margin=coverage.margin)
        certificate["coverage"] = dataclasses.asdict(coverage)
    return dataclasses.replace(
        netlist, head=head, provenance={**netlist.provenance, "calibration": certificate}
    )


def _decisions(netlist: Netlist, samples: Split) -> Decisions:
    # The simulator is not needed to look at certificates.
    from trilut.sim import classify

    if netlist.encoder is None or netlist.head is None:
        raise cannot_classify(netlist)
    return classify(netlist, samples.x)


def _check_share(name: str, value: float) -> None:
    if not 0 < value < 1:
        raise CalibrationError(f"The {name} is {value:g}, expected a number between 0 and 1")
