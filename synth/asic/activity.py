"""Energy of a design of standard cells, from how often its nets change."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

import numpy as np

from trilut.synth.asic.boolean import Function
from trilut.synth.asic.liberty import LookupTable
from trilut.synth.asic.library import Library, LibraryCell
from trilut.synth.asic.sta import loads
from trilut.synth.asic.wires import WireLoad
from trilut.synth.graph import drivers, evaluation_order
from trilut.synth.result import Energy
from trilut.synth.traffic import Bits, Traffic
from trilut.synth.yosys import Cell, Module

__all__ = ["Simulation", "estimate_energy"]

# Streams side by side, and cycles that count, at least.
_STREAMS = 64
_CYCLES = 24


class Simulation:
    """A flattened module of standard cells, many streams of inputs at once.

    The value of a bit is an integer with a bit for each stream, the first one lowest.

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
        self._all = (1 << num_streams) - 1
        cells = {
            name: (cell, library.cells[cell["type"]])
            for name, cell in module["cells"].items()
            if cell["type"] in library.cells
        }
        order = evaluation_order(
            module,
            drivers(module),
            lambda cell_type: cell_type in library.cells and library.cells[cell_type].is_sequential,
        )
        self._registers = {
            name: _Place.of(*pair) for name, pair in cells.items() if pair[1].is_sequential
        }
        self._gates = [_Place.of(*cells[name]) for name in order if name in cells]
        self._state = dict.fromkeys(self._registers, 0)

    def cycle(self, inputs: Mapping[str, Bits]) -> dict[int | str, int]:
        """Run one clock cycle on values [stream, bit] of the ports; return the value of each bit.

        The values are those before the clock edge that ends the cycle.
        """
        values: dict[int | str, int] = {"0": 0, "1": self._all, "x": 0, "z": 0}
        for name, bits in inputs.items():
            port = self._module["ports"][name]["bits"]
            packed = np.packbits(bits, axis=0, bitorder="little")
            values |= {
                bit: int.from_bytes(packed[:, index].tobytes(), "little")
                for index, bit in enumerate(port)
            }
        for name, place in self._registers.items():
            place.drive(self._pins(name, place, values), values, self._all)
        for place in self._gates:
            place.drive(place.read(values), values, self._all)
        for name, place in self._registers.items():
            assert place.next_state is not None
            self._state[name] = place.next_state(self._pins(name, place, values)) & self._all
        return values

    def _pins(self, name: str, place: "_Place", values: Mapping[int | str, int]) -> dict[str, int]:
        """Return what the functions of a flip-flop can name: its inputs and its state."""
        states = (self._state[name], ~self._state[name])
        return place.read(values) | dict(zip(place.states, states, strict=False))


@dataclass(frozen=True, slots=True)
class _Place:
    """A cell in its place: the bits that it reads and drives."""

    inputs: tuple[tuple[str, int | str], ...]
    outputs: tuple[tuple[Function, int | str], ...]
    states: tuple[str, ...]
    next_state: Function | None

    @classmethod
    def of(cls, cell: Cell, known: LibraryCell) -> "_Place":
        wires = {pin: bits[0] for pin, bits in cell["connections"].items() if bits}
        return cls(
            tuple((pin, bit) for pin, bit in wires.items() if not known.pins[pin].is_output),
            tuple(
                (function, wires[pin]) for pin, function in known.functions.items() if pin in wires
            ),
            known.state_names,
            known.next_state,
        )

    def read(self, values: Mapping[int | str, int]) -> dict[str, int]:
        """Return the values of the pins; what nothing drives is 0, as the clock is."""
        return {pin: values.get(bit, 0) for pin, bit in self.inputs}

    def drive(self, pins: Mapping[str, int], values: dict[int | str, int], mask: int) -> None:
        """Compute the outputs."""
        for function, bit in self.outputs:
            values[bit] = function(pins) & mask


def estimate_energy(
    module: Module,
    library: Library,
    traffic: Traffic | None = None,
    wires: WireLoad | None = None,
) -> Energy | None:
    """Estimate the energy of a clock cycle when random vectors come at full throughput.

    Cycles are counted for whole vectors, once the first ones have passed through.

    A net that changes charges or discharges the pins that it drives, ½CV², and makes its cell and
    those that read it use what the library's tables say for that edge, averaged over their
    conditions. The clock pins count; glitches and the clock tree do not. Wires are told apart.

    Parameters
    ----------
    module : mapping
        The flattened module, as Yosys writes it.
    library : Library
        Its cells.
    traffic : Traffic, optional
        How vectors reach it; by default one enters in each cycle.
    wires : WireLoad, optional
        The load of wires, those of the clock left out.

    Returns
    -------
    Energy or None
        None if the library has no voltage, its flip-flops have no function, or the module takes
        packets and ``traffic`` does not say what they hold.
    """
    traffic = traffic or Traffic()
    cells = [
        (cell, library.cells[cell["type"]])
        for cell in module["cells"].values()
        if cell["type"] in library.cells
    ]
    registers = [(cell, known) for cell, known in cells if known.is_sequential]
    has_functions = all(known.next_state for _, known in registers)
    if not library.voltage or not has_functions or not traffic.reaches(module):
        return None
    num_vectors = -(-_CYCLES // traffic.num_beats)
    num_cycles = num_vectors * traffic.num_beats
    rises, falls = _count_edges(module, library, traffic, num_cycles)
    share = 1 / (num_cycles * _STREAMS)
    load = loads(module, library)
    edges = {bit: (rises[bit] + falls[bit]) * share for bit in rises}
    clocks = sum(known.pins[known.clock].capacitance for _, known in registers if known.clock)
    # Half of the edges draw CV² from the supply; a clock has two in each cycle.
    pins = clocks + _charge(load, edges)
    wired = None if wires is None else _charge(loads(module, library, wires), edges)
    internal = sum(_internal(cell, known, load, (rises, falls), share) for cell, known in cells)
    volts = library.voltage**2
    # A library's unit of energy is that of its capacitance times a volt squared.
    return Energy(
        switching_pj=round(pins * library.pf * volts, 6),
        internal_pj=round(internal * library.pf, 6),
        vectors=num_vectors * _STREAMS,
        activity=round(sum(edges.values()) / len(edges), 4) if edges else 0.0,
        stimulus="random inputs at full throughput",
        vector_cycles=traffic.num_beats,
        wires_pj=None if wired is None else round((wired + clocks - pins) * library.pf * volts, 6),
    )


def _charge(load: Mapping[int, float], edges: Mapping[int, float]) -> float:
    return sum(load.get(bit, 0.0) * count / 2 for bit, count in edges.items())


def _internal(
    cell: Cell,
    known: LibraryCell,
    load: Mapping[int, float],
    edges: tuple[Counter[int], Counter[int]],
    share: float,
) -> float:
    """Return what a cell uses inside in a cycle, in the library's unit."""
    energy = 0.0
    for pin, bits in cell["connections"].items():
        tables = known.pins[pin].powers
        if pin == known.clock:
            energy += sum(_mean(tables, edge, 0.0) for edge in ("rise", "fall"))
        elif bits and isinstance(bits[0], int):
            charge = load.get(bits[0], 0.0) if known.pins[pin].is_output else 0.0
            for edge, counts in zip(("rise", "fall"), edges, strict=True):
                energy += counts[bits[0]] * share * _mean(tables, edge, charge)
    return energy


def _mean(groups: tuple[Mapping[str, LookupTable], ...], edge: str, load: float) -> float:
    tables = [
        group[name] for group in groups for name in (f"{edge}_power", "power") if name in group
    ]
    values = [table.at({**table.least, "total_output_net_capacitance": load}) for table in tables]
    return sum(values) / len(values) if values else 0.0


def _count_edges(
    module: Module, library: Library, traffic: Traffic, num_cycles: int
) -> tuple[Counter[int], Counter[int]]:
    """Count the times that each bit rises, and falls, in all streams together."""
    simulation = Simulation(module, library, _STREAMS)
    inputs = traffic.drive(module, _STREAMS, np.random.default_rng(0))
    rises: Counter[int] = Counter()
    falls: Counter[int] = Counter()
    before: dict[int | str, int] = {}
    # The registers start with anything, so what the loader first takes may be no whole vector.
    for driven in islice(inputs, traffic.latency + 2 * traffic.num_beats):
        before = simulation.cycle(driven)
    for driven in islice(inputs, num_cycles):
        values = simulation.cycle(driven)
        for bit, value in values.items():
            if isinstance(bit, int):
                rises[bit] += (value & ~before[bit]).bit_count()
                falls[bit] += (~value & before[bit]).bit_count()
        before = values
    return rises, falls
