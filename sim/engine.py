"""The software simulators behind one interface, streamed in batches of bounded memory."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trilut.encoder import FeatureVectors
from trilut.errors import NetlistError
from trilut.head import Decisions
from trilut.netlist import Netlist
from trilut.sim import lookup

__all__ = ["DEFAULT_ENGINE", "ENGINES", "classify", "evaluate"]

Trits = NDArray[np.int8]

DEFAULT_ENGINE = "lookup"
"""The fastest engine."""

# Bytes that a batch may take at one byte for each net and sample.
_BATCH_BYTES = 1 << 26
_MAX_BATCH = 1 << 10


def _reference(net: Netlist) -> Callable[[Trits], Trits]:
    return net.evaluate


def _lookup(net: Netlist) -> Callable[[Trits], Trits]:
    schedule = lookup.Schedule.of(net)
    return lambda trits: lookup.evaluate(net, schedule, trits)


_PREPARE: dict[str, Callable[[Netlist], Callable[[Trits], Trits]]] = {
    "reference": _reference,
    "lookup": _lookup,
}

ENGINES = tuple(_PREPARE)
"""Names of the engines. All give the same answers; ``reference`` is the one that is right."""


def evaluate(net: Netlist, trits: ArrayLike, *, engine: str = DEFAULT_ENGINE) -> Trits:
    """Evaluate a netlist on input trits [sample, input]; return its outputs [sample, output].

    Raises
    ------
    DataError
        If the inputs have another shape or hold something other than truth values.
    ValueError
        If there is no such engine.
    """
    inputs = net._checked_inputs(trits)
    run = _prepared(net, engine)
    outputs = np.empty((len(inputs), len(net.outputs)), dtype=np.int8)
    for batch in _batches(net, len(inputs)):
        outputs[batch] = run(inputs[batch])
    return outputs


def classify(
    net: Netlist, samples: FeatureVectors | ArrayLike, *, engine: str = DEFAULT_ENGINE
) -> Decisions:
    """Evaluate a netlist and decide with its head.

    Parameters
    ----------
    net : Netlist
        A netlist with a head.
    samples : FeatureVectors or array [sample, feature]
        Integers as the hardware receives them, or feature values, NaN where one is missing. A
        netlist without an encoder takes its trits [sample, input].
    engine : str
        One of :data:`ENGINES`.

    Raises
    ------
    NetlistError
        If the netlist has no head, or no encoder for feature vectors.
    DataError
        If the samples do not fit the netlist.
    ValueError
        If there is no such engine.
    """
    if net.head is None:
        raise NetlistError(f"Netlist {net.name!r} has no head, so it cannot classify")
    if isinstance(samples, FeatureVectors) and net.encoder is None:
        raise NetlistError(f"Netlist {net.name!r} has no encoder, so it takes no feature vectors")
    vectors: FeatureVectors | NDArray[np.generic]
    if isinstance(samples, FeatureVectors):
        vectors = samples
    else:
        vectors = np.asarray(samples) if net.encoder is not None else net._checked_inputs(samples)
    run = _prepared(net, engine)
    scores = np.empty((len(vectors), len(net.head.classes)), dtype=np.int64)
    for batch in _batches(net, len(vectors)):
        scores[batch] = net.head.scores(run(_encoded(net, vectors[batch])))
    return net.head.decide(scores)


def _prepared(net: Netlist, engine: str) -> Callable[[Trits], Trits]:
    if engine not in _PREPARE:
        raise ValueError(f"Engine {engine!r} is not one of {', '.join(map(repr, ENGINES))}")
    return _PREPARE[engine](net)


def _batches(net: Netlist, num_samples: int) -> Iterator[slice]:
    size = min(max(_BATCH_BYTES // net.num_nets, 1), _MAX_BATCH)
    return (slice(start, start + size) for start in range(0, num_samples, size))


def _encoded(net: Netlist, vectors: FeatureVectors | NDArray[np.generic]) -> Trits:
    if isinstance(vectors, FeatureVectors):
        assert net.encoder is not None
        return net.encoder.trits(vectors)
    return vectors.astype(np.int8) if net.encoder is None else net.encoder.encode(vectors)
