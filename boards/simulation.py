"""A simulated board: the whole design in Verilator, its serial pins behind a pseudo-terminal."""

import ctypes
import os
import threading
import tty
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from trilut.boards.design import BoardDesign
from trilut.circuit.interface import HeadOutput
from trilut.circuit.netlist import Netlist
from trilut.files import make_directory, write_atomically
from trilut.hdl.conversion import convert
from trilut.hdl.plan import LayerPlan
from trilut.sim import Verilator, find_simulator

__all__ = ["LineErrors", "LiveBoard", "SimulatedBoard", "build_simulation"]

_TOP = "trilut_board"
_CLOCK_HZ = 12_000_000
# As few cycles a bit as leave the design time for a byte: it is the bits that take time.
_CYCLES_PER_BIT = 8
# Bytes come without a pause here, so an unfinished frame can be given up early.
_TIMEOUT_BYTES = 50


@dataclass(frozen=True, slots=True)
class LineErrors:
    """What goes wrong on a simulated line, both ways, each by its probability.

    Parameters
    ----------
    bit_errors : float
        For a bit, start and stop bits too, to arrive inverted; on the way to the board also when
        nothing is being sent.
    dropped_bytes : float
        For a byte to be lost.
    resets : float
        For the board to be reset before a byte reaches it.
    seed : int
        Seed of the errors, and of what registers hold before reset.
    """

    bit_errors: float = 0.0
    dropped_bytes: float = 0.0
    resets: float = 0.0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class LiveBoard:
    """A simulated board that is running.

    Parameters
    ----------
    port : str
        The serial port to talk to.
    """

    port: str
    _done: ctypes.Array[ctypes.c_uint64]

    @property
    def injected(self) -> dict[str, int]:
        """How many errors there were up to now, by kind."""
        return dict(zip(("bit_errors", "dropped_bytes", "resets"), self._done, strict=True))


@dataclass(frozen=True, slots=True)
class SimulatedBoard:
    """A board that is built and can be started, any number of times."""

    library: Path
    design: BoardDesign

    @contextmanager
    def start(self, errors: LineErrors | None = None) -> Iterator[LiveBoard]:
        """Run the board in a thread until the end of the block."""
        errors = errors or LineErrors()
        run = ctypes.CDLL(str(self.library)).trilut_board_run
        run.argtypes = [ctypes.c_int] * 4 + [ctypes.c_uint64] + [ctypes.c_double] * 3
        run.argtypes.append(ctypes.POINTER(ctypes.c_uint64))
        run.restype = None
        done = (ctypes.c_uint64 * 3)()
        line, port = os.openpty()
        stop, stopper = os.pipe()
        try:
            tty.setraw(port)
            cycles = self.design.cycles_per_bit
            thread = threading.Thread(
                target=run,
                args=(
                    *(line, stop, cycles, self.design.timeout + 1000 * cycles, errors.seed),
                    *(errors.bit_errors, errors.dropped_bytes, errors.resets, done),
                ),
            )
            thread.start()
            try:
                yield LiveBoard(os.ttyname(port), done)
            finally:
                os.write(stopper, b"x")
                thread.join()
        finally:
            for descriptor in (line, port, stop, stopper):
                os.close(descriptor)


def build_simulation(
    netlist: Netlist,
    directory: str | Path,
    *,
    outputs: Collection[HeadOutput] = (),
    pipeline: int = 2,
    timeout: float = 1800.0,
) -> SimulatedBoard:
    """Compile the design of a board with Verilator.

    Parameters
    ----------
    netlist : Netlist
        A circuit with an encoder and a head.
    directory : path
        Where to build.
    outputs : collection of HeadOutput
        What results have beside class, margin and abstention.
    pipeline : int
        Layers between registers.
    timeout : float
        Seconds that each tool may take.

    Raises
    ------
    NetlistError, ToolError, FormatError
        If the netlist does not fit, a tool is missing or fails, or a file cannot be written.
    """
    directory = Path(directory)
    simulator = find_simulator("verilator")
    assert isinstance(simulator, Verilator)
    make_directory(directory)
    design = BoardDesign(
        netlist,
        clock_hz=_CLOCK_HZ,
        baud=_CLOCK_HZ // _CYCLES_PER_BIT,
        outputs=outputs,
        pipeline=pipeline,
        layer_module=_layer_module,
        timeout=_TIMEOUT_BYTES * 10 * _CYCLES_PER_BIT,
    )
    verilog = [convert(design, _TOP, directory), design.layers_verilog()]
    write_atomically(directory / "board.v", "\n".join(verilog))
    source = resources.files("trilut.boards").joinpath("simulation.cpp").read_text()
    write_atomically(directory / "simulation.cpp", source)
    simulator.translate(directory / "board.v", _TOP, directory, timeout=timeout)
    library = simulator.build_library(directory, "simulation.cpp", timeout=timeout)
    return SimulatedBoard(library.absolute(), design)


def _layer_module(plan: LayerPlan) -> str:
    return f"{_TOP}_layer_{plan.level}"
