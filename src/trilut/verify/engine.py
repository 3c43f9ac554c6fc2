"""The engine's Verilog, simulated: models are loaded into it and samples run."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.encoder import FeatureVectors
from trilut.engine import Image, classify
from trilut.errors import TrilutError
from trilut.files import make_directory, write_atomically
from trilut.hdl.engine import EngineSize, write_engine
from trilut.hdl.engine.loader import LoadState
from trilut.hdl.engine.writing import TOP
from trilut.sim.bench.simulator import Verilator, find_simulator

__all__ = ["EngineCheck", "SimulatedEngine", "check_engine", "simulate_engine"]

_HARNESS = "engine.cpp"
_TIMEOUT = 1800.0


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """What the engine says of samples.

    Parameters
    ----------
    chosen, margin, unknown : array [sample]
        Class, margin and abstention.
    cycles : int
        Clock cycles from the first feature to the last answer.
    """

    chosen: NDArray[np.uint32]
    margin: NDArray[np.uint32]
    unknown: NDArray[np.uint8]
    cycles: int


@dataclass(frozen=True, slots=True)
class EngineCheck:
    """The engine beside the plain model of its instructions.

    Parameters
    ----------
    samples : int
        Number of samples.
    wrong : int
        Of those, how many have another class, margin or abstention.
    cycles : int
        Clock cycles of all of them, without stalls.
    """

    samples: int
    wrong: int
    cycles: int


class SimulatedEngine:
    """A Verilated engine that is running; see :func:`simulate_engine`."""

    def __init__(self, size: EngineSize, library: ctypes.CDLL):
        self.size = size
        self._library = library
        library.engine_run.restype = ctypes.c_uint64

    def load(self, content: bytes) -> LoadState:
        """Load the bytes of a model; return what the engine says of them."""
        size = ctypes.c_uint64(len(content))
        return LoadState(self._library.engine_load(content, size))

    def run(self, image: Image, vectors: FeatureVectors, *, stalls: bool = False) -> Answers:
        """Run samples; the last ones are filled up with missing features.

        With stalls, features come late and answers are taken late, at random.

        Raises
        ------
        TrilutError
            If the engine gives no answer.
        """
        samples, width = self.size.samples, self.size.value_bits
        batches = -(-len(vectors) // samples)
        values, valid = image.codes(vectors)
        shape = (batches, samples, image.num_features)
        all_values, all_valid = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.bool_)
        all_values.reshape(-1, shape[2])[: len(values)] = values
        all_valid.reshape(-1, shape[2])[: len(values)] = valid
        bits = all_values[..., None] >> np.arange(width) & 1
        beats = _words(bits.transpose(0, 2, 1, 3).reshape(-1, samples * width))
        present = _words(all_valid.transpose(0, 2, 1).reshape(-1, samples))
        count = batches * samples
        chosen, margin = np.zeros((2, count), dtype=np.uint32)
        unknown = np.zeros(count, dtype=np.uint8)
        cycles = self._library.engine_run(
            _pointer(beats),
            ctypes.c_uint64(beats.shape[1]),
            _pointer(present),
            ctypes.c_uint64(present.shape[1]),
            ctypes.c_uint64(len(beats)),
            ctypes.c_uint64(count),
            int(stalls),
            _pointer(chosen),
            _pointer(margin),
            _pointer(unknown),
        )
        if not cycles:
            raise TrilutError("The simulated engine gives no answer")
        own = slice(len(vectors))
        return Answers(chosen[own], margin[own], unknown[own], int(cycles))


@contextmanager
def simulate_engine(size: EngineSize, directory: str | Path) -> Iterator[SimulatedEngine]:
    """Write the Verilog of an engine, compile it with Verilator, and run it inside the block.

    Raises
    ------
    ToolError, FormatError
        If a tool is missing or fails, or a file cannot be written.
    """
    directory = make_directory(Path(directory))
    simulator = find_simulator("verilator")
    assert isinstance(simulator, Verilator)
    verilog = write_engine(size, directory)
    source = resources.files("trilut.verify").joinpath(_HARNESS).read_text()
    write_atomically(directory / _HARNESS, source)
    simulator.translate(verilog, TOP, directory, timeout=_TIMEOUT)
    path = simulator.build_library(directory, _HARNESS, timeout=_TIMEOUT)
    library = ctypes.CDLL(str(path.absolute()))
    library.engine_open()
    try:
        yield SimulatedEngine(size, library)
    finally:
        library.engine_close()


def check_engine(
    image: Image, vectors: FeatureVectors, size: EngineSize, directory: str | Path
) -> EngineCheck:
    """Run samples through the engine's Verilog and through the plain model.

    Raises
    ------
    TrilutError
        If the model does not fit the engine, or a tool fails.
    """
    size.check(image)
    with simulate_engine(size, directory) as engine:
        state = engine.load(image.program_bytes())
        if state is not LoadState.LOADED:
            raise TrilutError(f"The simulated engine refuses the model: {state.name}")
        answers = engine.run(image, vectors)
    expected = classify(image, vectors)
    wrong = (
        (answers.chosen != expected.chosen)
        | (answers.margin != expected.margin)
        | (answers.unknown != expected.unknown)
    )
    return EngineCheck(len(vectors), int(wrong.sum()), answers.cycles)


def _words(bits: NDArray[np.integer] | NDArray[np.bool_]) -> NDArray[np.uint32]:
    """Pack bits [row, bit], the lowest first, into words [row, word], two at least."""
    octets = np.packbits(bits.astype(np.uint8), axis=1, bitorder="little")
    width = max(8, -(-octets.shape[1] // 4) * 4)
    padded = np.zeros((len(octets), width), dtype=np.uint8)
    padded[:, : octets.shape[1]] = octets
    return padded.view("<u4")


def _pointer(array: NDArray[np.uint32] | NDArray[np.uint8]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
