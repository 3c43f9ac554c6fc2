"""Energy of a design of standard cells, from how often its nets change."""

from collections.abc import Iterator, Mapping
from itertools import islice

import numpy as np

from trilut.synth.asic.boolean import Bits
from trilut.synth.asic.liberty import LookupTable
from trilut.synth.asic.library import Library, LibraryCell
from trilut.synth.asic.sta import loads
from trilut.synth.graph import drivers, evaluation_order
from trilut.synth.result import Energy
from trilut.synth.traffic import Traffic
from trilut.synth.yosys import Cell, Module

__all__ = ["Simulation", "estimate_energy"]

# Streams side by side, and cycles that count, at least.
_STREAMS = 64
_CYCLES = 24


class Simulation:
    """A flattened module of standard cells, many streams of inputs at once.

    Parameters
    ----------
    module : mapping
        The module, as Yosys writes it.
    library : Library
        Its cells.
    num_streams : int
        How many streams.
    """

    def __init__(self, module: Module, library: Library, num_streams: int):
        self._module = module
        self._num_streams = num_streams
        cells = module["cells"].items()
        self.registers = {
            name: library.cells[cell["type"]]
            for name, cell in cells
            if cell["type"] in library.cells and library.cells[cell["type"]].is_sequential
        }
        order = evaluation_order(
            module,
            drivers(module),
            lambda cell_type: cell_type in library.cells and library.cells[cell_type].is_sequential,
        )
        self._gates = [
            (module["cells"][name], library.cells[module["cells"][name]["type"]])
            for name in order
            if module["cells"][name]["type"] in library.cells
        ]
        self._state = {name: self._constant(False) for name in self.registers}

    def _constant(self, value: bool) -> Bits:
        return np.full(self._num_streams, value)

    def cycle(self, inputs: Mapping[str, Bits]) -> dict[int | str, Bits]:
        """Run one clock cycle on values [stream, bit] of the ports; return the value of each bit.

        The values are those before the clock edge that ends the cycle.
        """
        values: dict[int | str, Bits] = {bit: self._constant(bit == "1") for bit in "01xz"}
        for name, bits in inputs.items():
            port = self._module["ports"][name]["bits"]
            values |= {bit: bits[:, index] for index, bit in enumerate(port)}
        for name, known in self.registers.items():
            self._output(
                self._module["cells"][name], known, self._pins(name, known, values), values
            )
        for cell, known in self._gates:
            pins = {pin: values[bits[0]] for pin, bits in self._read(cell, known, values)}
            self._output(cell, known, pins, values)
        for name, known in self.registers.items():
            assert known.next_state is not None
            self._state[name] = known.next_state(self._pins(name, known, values))
        return values

    def _pins(
        self, name: str, known: LibraryCell, values: Mapping[int | str, Bits]
    ) -> dict[str, Bits]:
        """Return what the functions of a flip-flop can name: inputs as far as known, its state."""
        cell = self._module["cells"][name]
        pins = {pin: values[bits[0]] for pin, bits in self._read(cell, known, values)}
        states = (self._state[name], ~self._state[name])
        return pins | dict(zip(known.state_names, states, strict=False))

    def _read(
        self, cell: Cell, known: LibraryCell, values: Mapping[int | str, Bits]
    ) -> Iterator[tuple[str, list[int | str]]]:
        for pin, bits in cell["connections"].items():
            if bits and bits[0] in values and not known.pins[pin].is_output:
                yield pin, bits

    def _output(
        self,
        cell: Cell,
        known: LibraryCell,
        pins: Mapping[str, Bits],
        values: dict[int | str, Bits],
    ) -> None:
        for pin, function in known.functions.items():
            if bits := cell["connections"].get(pin):
                values[bits[0]] = np.broadcast_to(function(pins), self._num_streams)


def estimate_energy(
    module: Module, library: Library, traffic: Traffic | None = None
) -> Energy | None:
    """Estimate the energy of a clock cycle when random vectors come at full throughput.

    Cycles are counted for whole vectors, once the first ones have passed through.

    A net that changes charges or discharges the pins that it drives, ½CV², and makes its cell use
    what the library's tables say for that edge, averaged over the inputs that can cause it. The
    clock pins count; wires, glitches and the clock tree do not.

    Parameters
    ----------
    module : mapping
        The flattened module, as Yosys writes it.
    library : Library
        Its cells.
    traffic : Traffic, optional
        How vectors reach it; by default one enters in each cycle.

    Returns
    -------
    Energy or None
        None if the library has no voltage, its flip-flops have no function, or the module takes
        packets and ``traffic`` does not say what they hold.
    """
    traffic = traffic or Traffic()
    registers = [
        cell
        for cell in module["cells"].values()
        if cell["type"] in library.cells and library.cells[cell["type"]].is_sequential
    ]
    has_functions = all(library.cells[cell["type"]].next_state for cell in registers)
    if not library.voltage or not has_functions or not traffic.reaches(module):
        return None
    num_vectors = -(-_CYCLES // traffic.num_beats)
    num_cycles = num_vectors * traffic.num_beats
    rises, falls, names = _count_edges(module, library, traffic, num_cycles)
    share = 1 / (num_cycles * _STREAMS)
    load = loads(module, library)
    # Half of the edges draw CV² from the supply.
    edges = {bit: (rises[bit] + falls[bit]) * share for bit in names}
    switched = sum(load.get(bit, 0.0) * count / 2 for bit, count in edges.items())
    internal = 0.0
    for cell in module["cells"].values():
        if cell["type"] in library.cells:
            known = library.cells[cell["type"]]
            for pin, bits in cell["connections"].items():
                tables = known.pins[pin].powers
                if pin == known.clock:
                    switched += known.pins[pin].capacitance
                    internal += sum(_mean(tables, edge, 0.0) for edge in ("rise", "fall"))
                elif bits and bits[0] in edges and known.pins[pin].is_output:
                    charge = load.get(bits[0], 0.0)
                    internal += rises[bits[0]] * share * _mean(tables, "rise", charge)
                    internal += falls[bits[0]] * share * _mean(tables, "fall", charge)
    # A library's unit of energy is that of its capacitance times a volt squared.
    return Energy(
        switching_pj=round(switched * library.pf * library.voltage**2, 6),
        internal_pj=round(internal * library.pf, 6),
        vectors=num_vectors * _STREAMS,
        activity=round(sum(edges.values()) / len(edges), 4) if edges else 0.0,
        stimulus="random inputs at full throughput",
        vector_cycles=traffic.num_beats,
    )


def _mean(groups: tuple[Mapping[str, LookupTable], ...], edge: str, load: float) -> float:
    tables = [
        group[name] for group in groups for name in (f"{edge}_power", "power") if name in group
    ]
    values = [table.at({**table.least, "total_output_net_capacitance": load}) for table in tables]
    return sum(values) / len(values) if values else 0.0


def _count_edges(
    module: Module, library: Library, traffic: Traffic, num_cycles: int
) -> tuple[dict[int, int], dict[int, int], list[int]]:
    simulation = Simulation(module, library, _STREAMS)
    inputs = traffic.drive(module, _STREAMS, np.random.default_rng(0))
    rises: dict[int, int] = {}
    falls: dict[int, int] = {}
    before: dict[int | str, Bits] = {}
    # The registers start with anything, so what the loader first takes may be no whole vector.
    for driven in islice(inputs, traffic.latency + 2 * traffic.num_beats):
        before = simulation.cycle(driven)
    for driven in islice(inputs, num_cycles):
        values = simulation.cycle(driven)
        for bit, value in values.items():
            if isinstance(bit, int):
                rises[bit] = rises.get(bit, 0) + int(np.count_nonzero(value & ~before[bit]))
                falls[bit] = falls.get(bit, 0) + int(np.count_nonzero(~value & before[bit]))
        before = values
    return rises, falls, list(rises)
