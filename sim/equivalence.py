"""Whether two netlists compute the same, by trying all inputs or many."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.encoder import Encoder, FeatureVectors
from trilut.circuit.interface import Vectors
from trilut.circuit.kinds import Kind
from trilut.circuit.netlist import Netlist
from trilut.circuit.sequential import Circuit
from trilut.circuit.shapes import inputs_text
from trilut.errors import NetlistError
from trilut.sim.bench.stimulus import stimulus
from trilut.sim.engines.dispatch import evaluate

__all__ = [
    "MAX_EXHAUSTIVE",
    "Comparison",
    "Counterexample",
    "all_inputs",
    "all_shared_inputs",
    "check_comparable",
    "compare",
    "counterexample",
    "inputs_of",
    "num_shared_inputs",
]

MAX_EXHAUSTIVE = 1 << 24
"""The most inputs that are all tried."""

_BATCH = 1 << 15


@dataclass(frozen=True, slots=True)
class Counterexample:
    """An input on which two netlists differ.

    Parameters
    ----------
    inputs : tuple of (int or None)
        The integer of each feature, None where it is missing; the input trits if the netlists have
        no encoder.
    outputs : tuple of int
        The outputs that differ, or the classes whose scores do if the outputs are not comparable.
    first, second : tuple of int
        What the two netlists have there.
    """

    inputs: tuple[int | None, ...]
    outputs: tuple[int, ...]
    first: tuple[int, ...]
    second: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of a comparison.

    Parameters
    ----------
    counterexample : Counterexample or None
        An input on which the netlists differ, if one was found.
    num_tried : int
        Number of inputs tried.
    exhaustive : bool
        Whether these are all there are: without a counterexample, the netlists are equal.
    """

    counterexample: Counterexample | None
    num_tried: int
    exhaustive: bool

    def rows(self) -> dict[str, str]:
        """Describe the comparison."""
        tried = f"{self.num_tried}{', all there are' if self.exhaustive else ''}"
        if self.counterexample is None:
            verdict = "equal" if self.exhaustive else "no difference found"
            return {"verdict": verdict, "inputs tried": tried}
        found = self.counterexample
        inputs = ", ".join("missing" if value is None else str(value) for value in found.inputs)
        return {
            "verdict": "DIFFERENT",
            "inputs tried": str(self.num_tried),
            "inputs": inputs,
            **{
                f"output {output}": f"{first} and {second}"
                for output, first, second in zip(
                    found.outputs[:8], found.first, found.second, strict=False
                )
            },
        }


def counterexample(
    a: Netlist, b: Netlist, *, num_random: int = 100_000, seed: int = 0
) -> Counterexample | None:
    """Return an input on which two netlists differ, or None; see :func:`compare`."""
    return compare(a, b, num_random=num_random, seed=seed).counterexample


def compare(
    a: Netlist,
    b: Netlist,
    *,
    num_random: int = 100_000,
    seed: int = 0,
    limit: int = MAX_EXHAUSTIVE,
) -> Comparison:
    """Look for an input on which two netlists differ.

    Netlists with encoders are compared over feature vectors, others over trits. If all inputs that
    can differ are at most ``limit``, every one is tried; feature values between the same thresholds
    cannot differ. Otherwise the stimulus of :func:`trilut.sim.bench.stimulus` for both netlists is
    tried. What is compared is the outputs, or the scores if the numbers of outputs differ.

    Raises
    ------
    NetlistError
        If the netlists do not take the same inputs, or have neither as many outputs nor the same
        classes.
    """
    check_comparable(a, b)
    total = num_shared_inputs(a, b)
    exhaustive = total <= limit
    batches = all_shared_inputs(a, b) if exhaustive else _samples(a, b, num_random, seed)
    num_tried = 0
    for batch in batches:
        found = _difference(a, b, batch)
        num_tried += len(batch)
        if found is not None:
            return Comparison(found, num_tried, exhaustive)
    return Comparison(None, num_tried, exhaustive)


def all_inputs(netlist: Netlist, *, limit: int = MAX_EXHAUSTIVE) -> Iterator[Vectors]:
    """Give every input that a netlist can tell apart, in batches.

    Feature vectors if the netlist has an encoder, one for each combination of its thresholds'
    intervals and of missing features; else trits.

    Raises
    ------
    NetlistError
        If there are more than ``limit``.
    """
    total = num_shared_inputs(netlist, netlist)
    if total > limit:
        raise NetlistError(f"Netlist {netlist.name!r} has {total} inputs to try, more than {limit}")
    return all_shared_inputs(netlist, netlist)


def check_comparable(a: Circuit, b: Circuit) -> None:
    """Check that two circuits take the same inputs and have something to compare.

    Raises
    ------
    NetlistError
        If not.
    """
    if (a.encoder is None) != (b.encoder is None):
        raise NetlistError(
            f"Netlists {a.name!r} and {b.name!r} take different inputs: only one has an encoder"
        )
    if a.encoder is not None and b.encoder is not None:
        if a.encoder.features != b.encoder.features:
            raise NetlistError(
                f"Netlists {a.name!r} and {b.name!r} take different inputs: "
                "their encoders have different features"
            )
    elif not np.array_equal(a.input_kinds, b.input_kinds):
        raise NetlistError(
            f"Netlists {a.name!r} and {b.name!r} take different inputs: "
            f"{inputs_text(a.input_kinds)} and {inputs_text(b.input_kinds)}"
        )
    if a.num_outputs != b.num_outputs and not _share_classes(a, b):
        raise NetlistError(
            f"Netlists {a.name!r} and {b.name!r} have {a.num_outputs} and {b.num_outputs} "
            "outputs and not the same classes, so there is nothing to compare"
        )


def _share_classes(a: Circuit, b: Circuit) -> bool:
    return a.head is not None and b.head is not None and a.head.classes == b.head.classes


def _levels(a: Circuit, b: Circuit) -> list[NDArray[np.int64]]:
    """Return the values that each input must be tried with."""
    if a.encoder is None or b.encoder is None:
        return [np.array(Kind(kind).values) for kind in a.input_kinds]
    return [_starts((a.encoder, b.encoder), number) for number in range(len(a.encoder.features))]


def _starts(encoders: tuple[Encoder, Encoder], number: int) -> NDArray[np.int64]:
    """Return the first integer of each interval between the thresholds of a feature."""
    feature = encoders[0].features[number]
    thresholds = np.concatenate(
        [
            limit[encoder.feature == number]
            for encoder in encoders
            for limit in (encoder.low, encoder.high)
        ]
    )
    seen = [encoder.features[number].seen for encoder in encoders]
    ends = [end for pair in seen if pair is not None for end in (pair[0], pair[1] + 1)]
    thresholds = np.append(thresholds, np.array(ends, dtype=np.int64))
    inside = (thresholds > feature.minimum) & (thresholds <= feature.maximum)
    return np.unique(np.append(thresholds[inside], feature.minimum))


def num_shared_inputs(a: Circuit, b: Circuit) -> int:
    """Return how many inputs there are that one of two circuits can tell apart."""
    missing = a.encoder is not None
    total = 1
    for values in _levels(a, b):
        total *= len(values) + missing
    return total


def all_shared_inputs(a: Circuit, b: Circuit) -> Iterator[Vectors]:
    """Give every input that one of two circuits can tell apart, in batches; see :func:`compare`."""
    levels = _levels(a, b)
    missing = a.encoder is not None
    sizes = [len(values) + missing for values in levels]
    total = num_shared_inputs(a, b)
    for start in range(0, total, _BATCH):
        rest = np.arange(start, min(start + _BATCH, total))
        columns = []
        for size in sizes:
            rest, digit = np.divmod(rest, size)
            columns.append(digit)
        # One past the end of a feature's values: the feature is missing.
        table = [np.append(values, 0) if missing else values for values in levels]
        values = np.stack([row[digit] for row, digit in zip(table, columns, strict=True)], axis=1)
        if not missing:
            yield values.astype(np.int8)
            continue
        valid = np.stack(
            [digit < len(row) for row, digit in zip(levels, columns, strict=True)], axis=1
        )
        yield FeatureVectors(values, valid)


def _samples(a: Netlist, b: Netlist, num_random: int, seed: int) -> Iterator[Vectors]:
    rng = np.random.default_rng(seed)
    # Each netlist has thresholds of its own to be near to.
    groups = (stimulus(netlist, None, rng, num_random=num_random // 2) for netlist in (a, b))
    for vectors in chain.from_iterable(group.values() for group in groups):
        for start in range(0, len(vectors), _BATCH):
            yield vectors[start : start + _BATCH]


def _difference(a: Netlist, b: Netlist, batch: Vectors) -> Counterexample | None:
    as_scores = len(a.outputs) != len(b.outputs)
    first, second = (_answers(netlist, batch, as_scores=as_scores) for netlist in (a, b))
    for sample in np.flatnonzero((first != second).any(axis=1))[:1]:
        where = np.flatnonzero(first[sample] != second[sample])
        return Counterexample(
            inputs=inputs_of(batch, int(sample)),
            outputs=tuple(where.tolist()),
            first=tuple(first[sample, where].tolist()),
            second=tuple(second[sample, where].tolist()),
        )
    return None


def _answers(netlist: Netlist, batch: Vectors, *, as_scores: bool) -> NDArray[np.int64]:
    if isinstance(batch, FeatureVectors):
        assert netlist.encoder is not None
        batch = netlist.encoder.trits(batch)
    outputs = evaluate(netlist, batch)
    if not as_scores:
        return outputs.astype(np.int64)
    assert netlist.head is not None
    return netlist.head.scores(outputs)


def inputs_of(batch: Vectors, sample: int) -> tuple[int | None, ...]:
    """Return one vector: integers, None where a feature is missing, or trits."""
    if not isinstance(batch, FeatureVectors):
        return tuple(batch[sample].tolist())
    pairs = zip(batch.values[sample].tolist(), batch.valid[sample].tolist(), strict=True)
    return tuple(value if valid else None for value, valid in pairs)
