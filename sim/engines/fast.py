"""The fast engine: bit planes, 512 samples at a time, on every processor.

It computes what :meth:`trilut.circuit.netlist.Netlist.evaluate` and the head compute. A netlist
becomes instructions once (:mod:`trilut.sim.engines.program`) and is never compiled; the interpreter
is compiled once for the machine (:mod:`trilut.sim.engines.native`) and takes encoder, gates,
GroupSum and argmax as one. Where there is no C compiler, numpy interprets the same instructions
(:mod:`trilut.sim.engines.bitplanes`).
"""

import dataclasses
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.encoder import FeatureVectors
from trilut.circuit.head import Decisions
from trilut.circuit.netlist import Netlist
from trilut.errors import ToolError
from trilut.sim.engines import native
from trilut.sim.engines.machine import Machine, NativeMachine, NumpyMachine, Samples
from trilut.sim.engines.program import Program

__all__ = ["Progress", "decide", "evaluate", "kernel_name", "machine_of"]

Progress = Callable[[int, int], None]
"""Called with the number of samples done and of all samples."""

# A piece is what a thread takes at a time: small enough for Ctrl-C, progress and the bytes of its
# samples if they have to be converted.
_PIECE_GATES = 1 << 32
_PIECE_BYTES = 1 << 25
_PIECE_SAMPLES = 1 << 17


def kernel_name() -> str:
    """Say what interprets: ``C`` and the library, or ``numpy`` and why."""
    try:
        return f"C, {native.library().path}"
    except ToolError as error:
        return f"numpy: {error}"


def evaluate(
    netlist: Netlist, trits: NDArray[Any], *, threads: int | None, progress: Progress | None
) -> NDArray[np.int8]:
    """Evaluate trits [sample, input] of the right shape; return outputs [sample, output].

    Raises
    ------
    DataError
        If some input is not a truth value.
    """
    machine = machine_of(netlist)
    outputs = np.empty((len(trits), len(netlist.outputs)), dtype=np.int8)

    def run(piece: slice) -> None:
        if not machine.evaluate(_trits(netlist, trits[piece]), outputs[piece]):
            netlist.checked_inputs(trits[piece])

    _in_pieces(run, _pieces(machine, len(trits), netlist.num_inputs, threads), threads, progress)
    return outputs


def decide(
    netlist: Netlist,
    samples: Samples,
    *,
    certain: bool,
    threads: int | None,
    progress: Progress | None,
) -> Decisions:
    """Classify samples of the right shape; trits if the netlist has no encoder.

    Raises
    ------
    DataError
        If some input is not a truth value.
    """
    assert netlist.head is not None
    machine = machine_of(netlist)
    count = len(samples)
    decisions = Decisions(
        scores=np.empty((count, len(netlist.head.classes)), dtype=np.int64),
        chosen=np.empty(count, dtype=np.int64),
        margin=np.empty(count, dtype=np.int64),
        unknown=np.empty(count, dtype=np.bool_),
        certain=np.empty(count, dtype=np.bool_) if certain else None,
    )

    def run(piece: slice) -> None:
        part = samples[piece]
        if netlist.encoder is None and not isinstance(part, FeatureVectors):
            part = _trits(netlist, part)
        if not machine.decide(part, decisions[piece]):
            assert not isinstance(part, FeatureVectors)
            netlist.checked_inputs(part)

    width = netlist.num_inputs if netlist.encoder is None else len(netlist.encoder.features)
    _in_pieces(run, _pieces(machine, count, width, threads), threads, progress)
    return dataclasses.replace(decisions, members=netlist.head.members(decisions.scores))


_machines: WeakKeyDictionary[Netlist, dict[bool, Machine]] = WeakKeyDictionary()
_lock = threading.Lock()


def machine_of(netlist: Netlist) -> Machine:
    """Return the machine that runs a netlist; the same one for the same netlist."""
    try:
        library = native.library()
    except ToolError:
        library = None
    with _lock:
        machines = _machines.setdefault(netlist, {})
        if (library is not None) not in machines:
            other = next(iter(machines.values()), None)
            program = other.program if other else Program.of(netlist)
            machines[library is not None] = (
                NativeMachine(netlist, program, library)
                if library
                else NumpyMachine(netlist, program)
            )
        return machines[library is not None]


def _trits(netlist: Netlist, values: NDArray[Any]) -> NDArray[np.int8]:
    """Convert trits, leaving it to the machine whether small integers are truth values."""
    if values.dtype == np.int8:
        return np.ascontiguousarray(values)
    if values.dtype.kind not in "biuf":
        return netlist.checked_inputs(values)
    with np.errstate(invalid="ignore"):
        trits = values.astype(np.int8, order="C")
    return trits if np.array_equal(trits, values) else netlist.checked_inputs(values)


def _num_threads(threads: int | None) -> int:
    if threads is not None and threads < 1:
        raise ValueError(f"Number of threads is {threads}, expected at least 1")
    if threads is not None:
        return threads
    # What the process may use, not what the machine has.
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _pieces(
    machine: Machine, num_samples: int, num_columns: int, threads: int | None
) -> Iterator[slice]:
    num_threads = _num_threads(threads)
    most = min(
        _PIECE_GATES // max(1, machine.program.num_instructions),
        _PIECE_BYTES // (8 * num_columns),
        _PIECE_SAMPLES,
        # Some pieces for each thread, lest one waits long for the other at the end.
        -(-num_samples // (4 * num_threads)) if num_threads > 1 else num_samples,
    )
    size = max(1, -(-most // machine.step)) * machine.step
    return (slice(start, min(start + size, num_samples)) for start in range(0, num_samples, size))


def _in_pieces(
    run: Callable[[slice], None],
    pieces: Iterator[slice],
    threads: int | None,
    progress: Progress | None,
) -> None:
    """Run all pieces, at most as many at a time as there are threads."""
    todo = list(pieces)
    total = todo[-1].stop if todo else 0
    done = 0
    num_threads = min(_num_threads(threads), len(todo))
    if num_threads <= 1:
        for piece in todo:
            run(piece)
            if progress:
                progress(piece.stop, total)
        return
    with ThreadPoolExecutor(num_threads) as pool:
        running = {pool.submit(run, piece): piece for piece in todo}
        try:
            while running:
                finished, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in finished:
                    future.result()
                    piece = running.pop(future)
                    done += piece.stop - piece.start
                    if progress:
                        progress(done, total)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
