"""The software simulators behind one interface, streamed in batches of bounded memory."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trilut.arrays import as_numbers
from trilut.circuit.encoder import FeatureVectors
from trilut.circuit.head import Decisions
from trilut.circuit.monotone import check_monotone
from trilut.circuit.netlist import Netlist
from trilut.errors import DataError, NetlistError
from trilut.extras import require
from trilut.sim.engines import fast, lookup
from trilut.sim.engines.fast import Progress
from trilut.sim.engines.machine import Samples

__all__ = [
    "DEFAULT_ENGINE",
    "ENGINES",
    "checked_samples",
    "classify",
    "evaluate",
    "input_trits",
    "predict",
    "scores",
]

Trits = NDArray[np.int8]

DEFAULT_ENGINE = "fast"
"""The fastest engine."""

# Bytes that a batch may take at one byte for each net and sample.
_BATCH_BYTES = 1 << 26
_MAX_BATCH = 1 << 10


def _reference(netlist: Netlist) -> Callable[[Trits], Trits]:
    return netlist.evaluate


def _lookup(netlist: Netlist) -> Callable[[Trits], Trits]:
    schedule = lookup.Schedule.of(netlist)
    return lambda trits: lookup.evaluate(netlist, schedule, trits)


def _jax(netlist: Netlist) -> Callable[[Trits], Trits]:
    # It takes a second to import.
    require("jax")
    from trilut.sim.engines import jax_planes

    return jax_planes.evaluator(netlist)


# Engines that take a batch of trits at a time.
_PREPARE: dict[str, Callable[[Netlist], Callable[[Trits], Trits]]] = {
    "reference": _reference,
    "lookup": _lookup,
    "jax": _jax,
}

ENGINES = ("reference", "lookup", "fast", "jax")
"""Names of the engines. All give the same answers; ``reference`` is the one that is right."""


def evaluate(
    netlist: Netlist,
    trits: ArrayLike,
    *,
    engine: str = DEFAULT_ENGINE,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Trits:
    """Evaluate a netlist on input trits [sample, input]; return its outputs [sample, output].

    Parameters
    ----------
    netlist : Netlist
        The circuit.
    trits : array [sample, input]
        Truth values.
    engine : str
        One of :data:`ENGINES`.
    threads : int, optional
        Threads of the engine ``fast``; as many as the process has processors if not given.
    progress : callable, optional
        Called with the number of samples done and of all samples, now and then.

    Raises
    ------
    DataError
        If the inputs have another shape or hold something other than truth values.
    ToolError
        If the engine is ``jax`` and JAX is not installed.
    ValueError
        If there is no such engine.
    """
    _check_engine(engine)
    if engine == "fast":
        values = _trit_matrix(netlist, trits)
        return fast.evaluate(netlist, values, threads=threads, progress=progress)
    inputs = netlist.checked_inputs(trits)
    run = _PREPARE[engine](netlist)
    outputs = np.empty((len(inputs), len(netlist.outputs)), dtype=np.int8)
    for batch in _batches(netlist, len(inputs), progress):
        outputs[batch] = run(inputs[batch])
    return outputs


def classify(
    netlist: Netlist,
    samples: FeatureVectors | ArrayLike,
    *,
    certain: bool = False,
    engine: str = DEFAULT_ENGINE,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Decisions:
    """Evaluate a netlist and decide with its head.

    Parameters
    ----------
    netlist : Netlist
        A netlist with a head.
    samples : FeatureVectors or array [sample, feature]
        Integers as the hardware receives them, or feature values, NaN where one is missing. A
        netlist without an encoder takes its trits [sample, input].
    certain : bool
        Whether to say which answers are certain: no value of a missing feature could change them.
    engine, threads, progress
        As for :func:`evaluate`.

    Raises
    ------
    NetlistError
        If the netlist has no head, or no encoder for feature vectors, or is not
        information-monotone and asked what is certain.
    DataError
        If the samples do not fit the netlist.
    ToolError
        If the engine is ``jax`` and JAX is not installed.
    ValueError
        If there is no such engine.
    """
    _check_engine(engine)
    if netlist.head is None:
        raise NetlistError(f"Netlist {netlist.name!r} has no head, so it cannot classify")
    if certain:
        check_monotone(netlist)
    vectors = checked_samples(netlist, samples)
    if engine == "fast":
        return fast.decide(netlist, vectors, certain=certain, threads=threads, progress=progress)
    if netlist.encoder is None:
        assert not isinstance(vectors, FeatureVectors)
        vectors = netlist.checked_inputs(vectors)
    run = _PREPARE[engine](netlist)
    shape = (len(vectors), len(netlist.head.classes))
    sums = np.empty(shape, dtype=np.int64)
    unknowns = np.empty(shape, dtype=np.int64) if certain else None
    for batch in _batches(netlist, len(vectors), progress):
        outputs = run(_encoded(netlist, vectors[batch]))
        sums[batch] = netlist.head.scores(outputs)
        if unknowns is not None:
            unknowns[batch] = netlist.head.unknowns(outputs)
    return netlist.head.decide(sums, unknowns)


def scores(
    netlist: Netlist, samples: FeatureVectors | ArrayLike, *, engine: str = DEFAULT_ENGINE
) -> NDArray[np.int64]:
    """Return the scores [sample, class] of samples, as :func:`classify` takes them."""
    return classify(netlist, samples, engine=engine).scores


def predict(
    netlist: Netlist, samples: FeatureVectors | ArrayLike, *, engine: str = DEFAULT_ENGINE
) -> NDArray[np.int64]:
    """Return the class [sample] of samples, as :func:`classify` takes them, abstained or not."""
    return classify(netlist, samples, engine=engine).chosen


def input_trits(netlist: Netlist, samples: FeatureVectors | ArrayLike) -> Trits:
    """Return the input trits [sample, input] of samples, as :func:`classify` takes them."""
    vectors = checked_samples(netlist, samples)
    if netlist.encoder is None:
        assert not isinstance(vectors, FeatureVectors)
        return netlist.checked_inputs(vectors)
    return _encoded(netlist, vectors)


def _check_engine(engine: str) -> None:
    if engine not in ENGINES:
        raise ValueError(f"Engine {engine!r} is not one of {', '.join(map(repr, ENGINES))}")


def _trit_matrix(netlist: Netlist, trits: ArrayLike) -> NDArray[Any]:
    inputs = np.asarray(trits)
    if inputs.ndim != 2 or inputs.shape[1] != netlist.num_inputs:
        netlist.checked_inputs(inputs)
    return inputs


def checked_samples(netlist: Netlist, samples: FeatureVectors | ArrayLike) -> Samples:
    """Check the shape of samples; an encoder or the engine checks what they hold."""
    if isinstance(samples, FeatureVectors):
        if netlist.encoder is None:
            raise NetlistError(
                f"Netlist {netlist.name!r} has no encoder, so it takes no feature vectors"
            )
        expected = (len(samples), len(netlist.encoder.features))
        for name, array in (("values", samples.values), ("valid bits", samples.valid)):
            if array.shape != expected:
                raise DataError(
                    f"Feature vectors have {name} of shape {array.shape}, expected {expected}"
                )
        return samples
    if netlist.encoder is None:
        return _trit_matrix(netlist, samples)
    values = as_numbers(samples)
    if values.ndim != 2 or values.shape[1] != len(netlist.encoder.features):
        netlist.encoder.quantize(values)
    return values


def _batches(netlist: Netlist, num_samples: int, progress: Progress | None) -> Iterator[slice]:
    size = min(max(_BATCH_BYTES // netlist.num_nets, 1), _MAX_BATCH)
    for start in range(0, num_samples, size):
        yield slice(start, start + size)
        if progress:
            progress(min(start + size, num_samples), num_samples)


def _encoded(netlist: Netlist, vectors: Samples) -> Trits:
    if isinstance(vectors, FeatureVectors):
        assert netlist.encoder is not None
        return netlist.encoder.trits(vectors)
    return vectors.astype(np.int8) if netlist.encoder is None else netlist.encoder.encode(vectors)
