"""Boosting: gates that give scores, each grown to mend what those before it get wrong.

A gate asks a few questions, each whether an input is 1, and has a whole number for every
combination of answers, as a tree has that asks the same on each of its levels. It fills lookup
tables as no other tree does. A question that no gate has asked before takes a comparator, so it has
to be better than those that have been, by the more the more its comparator takes.

Scores are rounded as each gate is grown, so that the next ones see what the circuit will do.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from trilut.circuit.encoder import Encoder
from trilut.circuit.kinds import MAX_SCORE
from trilut.circuit.limits import MAX_BITS
from trilut.training.checkpoint import Measurement
from trilut.training.network import Samples, standard_error
from trilut.training.node import Node
from trilut.training.settings.groups import Course
from trilut.training.step import Learned
from trilut.training.wiring import LayerWiring

__all__ = ["Boosted", "boost", "comparator_costs"]

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]

# What the sums of a leaf's second derivatives are larger by.
_RIDGE = 1.0
# A class gets no gate in a round if it would gain less than this share of the best of the last one.
_LEAST_GAIN = 0.3
# Bits of all samples together, which bounds the memory; and products of all models together, which
# bounds the time to about half a minute.
_MAX_CELLS = 1 << 25
_MAX_PRODUCTS = 2e11

# What the choice between circuits takes for LUT4 of a score's bit in the sums, and of its adder.
_SUM_COST = 0.9
_ADDER_COST = 0.5
# The same of a bit of the scores in each comparison of two, with its margin.
_ARGMAX_COST = 5.0
# Less than a comparator that takes nothing, so that it is not asked for without need either.
_LEAST_COST = 0.3
_USUAL_COST = 2.0

# What 'small' may be below the best, as a part of the standard error.
_TOLERANCE = 0.25
# What scores may be divided by.
_TAUS = tuple(2.0 ** (step / 2) for step in range(-4, 13))
# Keeps a logarithm finite.
_TINY = 1e-12


class _Manner(NamedTuple):
    """How gates are grown.

    Parameters
    ----------
    rate : float
        How far of Newton's step a gate goes.
    reach : float
        How far a gate can change the logarithm of the odds.
    thrift : float
        The share of its gain that a question is charged which takes a usual comparator.
    largest : int
        Largest score, or that of the node if it is less.
    """

    rate: float
    reach: float
    thrift: float
    largest: int


# In the order in which they are tried; a large table has time for the first ones only. More of them
# found circuits that were better on some validation samples and worse on others.
_MANNERS = tuple(
    _Manner(rate, reach, thrift, largest)
    for largest in (MAX_SCORE, 1)
    for rate, reach, thrift in itertools.product((0.8, 0.4), (1.0, 0.5), (0.3, 0.6))
)


class _Gate(NamedTuple):
    """The score that a gate adds to, the inputs that it reads, and its table [row]."""

    score: int
    reads: list[int]
    table: Integers


class _Circuit(NamedTuple):
    """The first rounds of a model.

    Parameters
    ----------
    accuracy : float
        On the validation samples; or on the training samples, if that is less: what is better on
        samples that it was not grown from was lucky.
    cost : float
        About how many LUT4 it takes.
    gates : tuple of _Gate
        All that it has.
    history : tuple of Measurement
        A line for each round.
    """

    accuracy: float
    cost: float
    gates: tuple[_Gate, ...]
    history: tuple[Measurement, ...]


class Boosted(NamedTuple):
    """A layer of boosted gates.

    Parameters
    ----------
    learned : Learned
        Tables, and wires to inputs.
    tau : float
        What the scores are divided by to be logits.
    history : list of Measurement
        Its course, a round for a step.
    """

    learned: Learned
    tau: float
    history: list[Measurement]


def comparator_costs(encoder: Encoder) -> NDArray[np.float64]:
    """Return about how many LUT4 each input [input] of an encoder takes.

    Bits below the last 1 of a threshold need not be compared. One LUT4 compares four bits, and each
    further one three more.
    """
    costs = np.zeros(encoder.num_trits)
    for number, (feature, threshold) in enumerate(
        zip(encoder.feature.tolist(), encoder.low.tolist(), strict=True)
    ):
        zeros = (threshold & -threshold).bit_length() - 1 if threshold else MAX_BITS
        compared = encoder.features[feature].bits - zeros
        costs[number] = max(0, math.ceil((compared - 1) / 3))
    return costs


def boost(
    train: Samples,
    validation: Samples,
    num_gates: int,
    num_classes: int,
    node: Node,
    *,
    costs: NDArray[np.float64],
    course: Course,
    progress: Callable[[Measurement, int], None] | None = None,
) -> Boosted:
    """Grow gates in a few manners, and return the circuit that is best on the validation samples.

    Parameters
    ----------
    train, validation : Samples
        Samples of bits.
    num_gates : int
        Gates at most, a multiple of the number of classes; gate g is of class g modulo that.
    node : Node
        Bits to a score.
    costs : float64 array [input]
        LUT4 that each input takes; see :func:`comparator_costs`.
    course : Course
        Which circuit is kept: the ``best``, or the ``small``est that is about as good. The seed
        draws the samples, if there are too many.
    progress : callable, optional
        Called with each round, and the number of all of them.
    """
    samples = _bits(_drawn(train, course.seed))
    others = _bits(validation)
    num_scores = 1 if num_classes == 2 else num_classes
    rounds = num_gates // num_scores
    products = samples.bits.size * (2 + 2.0 ** (len(node.radices) - 1)) * num_scores * rounds
    manners = _MANNERS[: max(1, int(_MAX_PRODUCTS // products))]
    # Where nothing can be learned, this one is left.
    circuits = [_Circuit(0.0, 0.0, (), ())]
    for number, manner in enumerate(manners):
        model = _Model(manner, samples, others, num_scores, node, costs)
        while len(model.history) < rounds and model.add_round():
            circuits.append(model.circuit())
            if progress is not None:
                line = circuits[-1].history[-1]
                counted = Measurement(**{**line, "step": number * rounds + line["step"]})
                progress(counted, len(manners) * rounds)
    chosen = _choose(circuits, validation.num_samples, course.keep)
    gates = _needed(chosen.gates, samples, others, num_scores)
    learned = _layer(gates, num_classes, node)
    scores = _scores(gates, [others.rows(gate.reads) for gate in gates], num_scores, others)
    return Boosted(learned, _tau(scores, others), list(chosen.history))


class _Bits(NamedTuple):
    """Samples to grow gates from.

    Parameters
    ----------
    bits : float32 array [sample, input]
        0 and 1.
    labels : int64 array [sample]
    weights : float64 array [sample]
        With a mean of 1.
    """

    bits: Floats
    labels: Integers
    weights: NDArray[np.float64]

    def accuracy(self, scores: Integers) -> float:
        """Return the share of samples, by their weights, whose class has the highest score."""
        highest = scores[0] > 0 if len(scores) == 1 else scores.argmax(axis=0)
        return float(np.mean(self.weights * (highest == self.labels)))

    def rows(self, reads: Sequence[int]) -> Integers:
        """Return the row of a gate's table that each sample is in."""
        weights = 1 << np.arange(len(reads))[::-1]
        return self.bits[:, reads].astype(np.int64) @ weights


def _drawn(samples: Samples, seed: int) -> Samples:
    """Return no more samples than there is memory for."""
    most = max(1, _MAX_CELLS // samples.num_inputs)
    if samples.num_samples <= most:
        return samples
    chosen = np.sort(np.random.default_rng(seed).permutation(samples.num_samples)[:most])
    weights = None if samples.weights is None else samples.weights[chosen]
    return Samples(samples.inputs[chosen], samples.labels[chosen], weights)


def _bits(samples: Samples) -> _Bits:
    weights = np.ones(samples.num_samples)
    if samples.weights is not None:
        weights = np.asarray(samples.weights, dtype=np.float64)
        weights = weights / weights.mean()
    bits = (np.asarray(samples.inputs) > 0).astype(np.float32)
    return _Bits(bits, np.asarray(samples.labels).astype(np.int64), weights)


class _Model:
    """Gates that are being grown in one manner.

    Parameters
    ----------
    samples, others : _Bits
        Those to grow gates from, and those to measure on.
    num_scores : int
        One for two classes, of the second against the first; else one for each class.
    """

    def __init__(
        self,
        manner: _Manner,
        samples: _Bits,
        others: _Bits,
        num_scores: int,
        node: Node,
        costs: NDArray[np.float64],
    ):
        self.history: tuple[Measurement, ...] = ()
        self._gates: tuple[_Gate, ...] = ()
        self._manner, self._costs = manner, costs
        self._num_reads = len(node.radices)
        self._largest = min(manner.largest, node.largest)
        self._samples, self._others = samples, others
        self._unit = manner.reach / self._largest
        self._scores = np.zeros((num_scores, len(samples.labels)), dtype=np.int64)
        self._others_scores = np.zeros((num_scores, len(others.labels)), dtype=np.int64)
        self._is_read = np.zeros(len(costs), dtype=np.bool_)
        charged = manner.thrift * np.maximum(costs, _LEAST_COST) / _USUAL_COST
        self._charge = np.clip(1 - charged, 0, 1).astype(np.float32)
        self._gain = self._cost = 0.0

    def add_round(self) -> bool:
        """Add a gate to each score that gains enough by it; tell whether any has."""
        loss, slopes = _slopes(self._scores.astype(np.float64) * self._unit, self._samples)
        least, self._gain = _LEAST_GAIN * self._gain, 0.0
        added = [self._add_gate(score, own, least) for score, own in enumerate(slopes)]
        accuracy = self._others.accuracy(self._others_scores)
        line = Measurement(
            step=len(self.history) + 1,
            loss=loss,
            accuracy=accuracy,
            learning_rate=self._manner.rate,
        )
        self.history = (*self.history, line)
        return any(added)

    def _add_gate(self, score: int, slopes: Floats, least: float) -> bool:
        """Add a gate, unless it gains less than is wanted or its table is empty."""
        factor = np.where(self._is_read, np.float32(1), self._charge)
        reads, gain = _questions(self._samples.bits, slopes, self._num_reads, factor)
        self._gain = max(self._gain, gain)
        if gain < least:
            return False
        rows = self._samples.rows(reads)
        table = self._table(rows, slopes, 1 << len(reads))
        if not table.any():
            return False
        new = [read for read in reads if not self._is_read[read]]
        self._cost += float(self._costs[new].sum()) + _gate_cost(len(reads), table)
        self._is_read[new] = True
        self._scores[score] += table[rows]
        self._others_scores[score] += table[self._others.rows(reads)]
        self._gates = (*self._gates, _Gate(score, reads, table))
        return True

    def _table(self, rows: Integers, slopes: Floats, num_rows: int) -> Integers:
        """Return Newton's step in each row, rounded."""
        first, second = (np.bincount(rows, each, minlength=num_rows) for each in slopes)
        steps = -self._manner.rate * first / (second + _RIDGE) / self._unit
        return np.clip(np.rint(steps), -self._largest, self._largest).astype(np.int64)

    def circuit(self) -> _Circuit:
        """Return what there is so far."""
        accuracy = min(self.history[-1]["accuracy"], self._samples.accuracy(self._scores))
        highest = self._largest * len(self.history)
        compared = (len(self._scores) - 1) * (highest.bit_length() + 1)
        cost = self._cost + _ARGMAX_COST * compared
        return _Circuit(accuracy, cost, self._gates, self.history)


def _slopes(logits: NDArray[np.float64], samples: _Bits) -> tuple[float, Floats]:
    """Return the loss, and its derivatives [score, first or second, sample] by the logits."""
    # One score is that of the second of two classes, beside 0 for the first.
    whole = np.vstack([np.zeros_like(logits), logits]) if len(logits) == 1 else logits
    shares = np.exp(whole - whole.max(axis=0))
    shares /= shares.sum(axis=0)
    place = np.arange(len(samples.labels))
    loss = -np.mean(samples.weights * np.log(shares[samples.labels, place] + _TINY))
    is_label = np.zeros_like(shares)
    is_label[samples.labels, place] = 1.0
    first, second = shares - is_label, shares * (1 - shares)
    if len(logits) == 1:
        first, second = first[1:], second[1:]
    else:
        # A step of one score moves those of the others against it.
        second = second * len(logits) / (len(logits) - 1)
    return float(loss), (np.stack([first, second], axis=1) * samples.weights).astype(np.float32)


def _questions(
    bits: Floats, slopes: Floats, num_reads: int, factor: Floats
) -> tuple[list[int], float]:
    """Return inputs that a gate should read, and what it gains by them.

    Each is the one that gains the most, times its factor, if all rows are divided by it.

    Parameters
    ----------
    bits : float32 array [sample, input]
    slopes : float32 array [first or second, sample]
        Derivatives of the loss.
    factor : float32 array [input]
        The share of its gain that counts for an input.
    """
    reads: list[int] = []
    rows, gained = np.zeros(len(bits), dtype=np.int64), 0.0
    totals = slopes.sum(axis=1, keepdims=True)
    # Sums of the derivatives [first or second, row, input] over the samples whose input is 1.
    ones = (slopes @ bits)[:, None]
    for level in range(num_reads):
        zeros = totals[:, :, None] - ones
        gain = (_gain(ones) + _gain(zeros)).sum(axis=0) - _gain(totals).sum()
        counted = gain * factor
        counted[reads] = -np.inf
        best = int(counted.argmax())
        if not gain[best] > 0:
            break
        reads.append(best)
        gained += float(gain[best])
        is_one = bits[:, best] > 0
        if level + 1 < num_reads:
            # Those of the other half are what is left of the whole.
            own = _sums_by_row(bits[is_one], slopes[:, is_one], rows[is_one], 1 << level)
            totals = np.stack([zeros[:, :, best], ones[:, :, best]], axis=2).reshape(2, -1)
            ones = np.stack([ones - own, own], axis=2).reshape(2, -1, bits.shape[1])
        rows = 2 * rows + is_one
    return reads, gained


def _gain(slopes: Floats) -> Floats:
    """Return what rows or parts of them gain by a step of their own: twice that of the loss."""
    gain: Floats = slopes[0] ** 2 / (slopes[1] + np.float32(_RIDGE))
    return gain


def _sums_by_row(bits: Floats, slopes: Floats, rows: Integers, num_rows: int) -> Floats:
    """Return the sums [first or second, row, input] of derivatives of the inputs that are 1."""
    spread = np.zeros((2, num_rows, len(bits)), dtype=np.float32)
    spread[:, rows, np.arange(len(bits))] = slopes
    sums: Floats = (spread.reshape(2 * num_rows, -1) @ bits).reshape(2, num_rows, -1)
    return sums


def _gate_cost(num_reads: int, table: Integers) -> float:
    num_bits = int(np.ptp(table)).bit_length()
    return num_bits * (max(1, 1 << num_reads >> 4) + _SUM_COST) + _ADDER_COST


def _choose(circuits: Sequence[_Circuit], num_samples: int, keep: str) -> _Circuit:
    """Return the cheapest circuit of the best accuracy, or of one that is hardly below it."""
    least = max(circuit.accuracy for circuit in circuits)
    if keep == "small":
        least -= _TOLERANCE * standard_error(least, num_samples)
    good = [circuit for circuit in circuits if circuit.accuracy >= least]
    return min(good, key=lambda circuit: circuit.cost)


def _needed(gates: Sequence[_Gate], samples: _Bits, others: _Bits, num_scores: int) -> list[_Gate]:
    """Return the gates without those that the accuracy does not need, the last ones first.

    Neither that on all samples nor that on the validation samples becomes less: the latter alone
    would be learned by heart.
    """
    joined = _Bits(
        np.concatenate([samples.bits, others.bits]),
        np.concatenate([samples.labels, others.labels]),
        np.concatenate([samples.weights, others.weights]),
    )
    rows = [joined.rows(gate.reads) for gate in gates]
    scores = _scores(gates, rows, num_scores, joined)

    def accuracies() -> tuple[float, float]:
        return joined.accuracy(scores), others.accuracy(scores[:, len(samples.labels) :])

    wanted = accuracies()
    kept: list[_Gate] = []
    for gate, place in zip(reversed(gates), reversed(rows), strict=True):
        scores[gate.score] -= gate.table[place]
        if any(now < before for now, before in zip(accuracies(), wanted, strict=True)):
            scores[gate.score] += gate.table[place]
            kept.insert(0, gate)
    return kept


def _scores(
    gates: Sequence[_Gate], rows: Sequence[Integers], num_scores: int, samples: _Bits
) -> Integers:
    """Return the scores [score, sample] that gates add up to, given the rows of the samples."""
    scores = np.zeros((num_scores, len(samples.labels)), dtype=np.int64)
    for gate, place in zip(gates, rows, strict=True):
        scores[gate.score] += gate.table[place]
    return scores


def _tau(scores: Integers, samples: _Bits) -> float:
    """Return what to divide scores by, so that they tell the most of other samples as logits."""
    return min(_TAUS, key=lambda tau: _slopes(scores / tau, samples)[0])


def _layer(gates: Sequence[_Gate], num_classes: int, node: Node) -> Learned:
    """Return gates as a layer, in which the classes take turns.

    Classes with fewer gates than others have gates of zeros. Of two classes, every other gate is
    one against the first class.
    """
    counts = [0] * num_classes
    places: list[tuple[int, _Gate]] = []
    for gate in gates:
        of_class = len(places) % 2 if num_classes == 2 else gate.score
        places.append((counts[of_class] * num_classes + of_class, gate))
        counts[of_class] += 1
    num_slots, num_gates = len(node.radices), num_classes * max(1, *counts)
    sources = np.zeros((num_slots, num_gates), dtype=np.int32)
    tables = np.zeros((num_gates, node.num_rows), dtype=np.float32)
    for place, (_, reads, table) in places:
        more = num_slots - len(reads)
        # A gate that is a constant has asked nothing.
        sources[:, place] = [*reads, *(reads[:1] or [0]) * more]
        against = num_classes == 2 and place % 2 == 0
        tables[place] = np.repeat(-table if against else table, 1 << more) / node.largest
    parents = tuple(jnp.asarray(slot) for slot in sources)
    signs = tuple(jnp.ones(num_gates, dtype=jnp.float32) for _ in parents)
    return Learned((jnp.asarray(tables),), (LayerWiring(parents, signs),))
