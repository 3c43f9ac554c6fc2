"""Trees of buffers for nets that drive too much, put into a design of standard cells."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from heapq import heapify, heappop, heappush
from math import ceil, inf

from trilut.synth.asic.library import Library, LibraryCell
from trilut.synth.asic.sta import loads, worst_delay
from trilut.synth.asic.wires import WireLoad
from trilut.synth.graph import drivers, evaluation_order
from trilut.synth.yosys import Module

__all__ = ["MAX_SINKS", "buffer_nets"]

MAX_SINKS = 16
"""What a net may drive before a tree is thought of, whatever the library says."""

# How far the nets of a tree may spread; and what a faster tree may be slower than the fastest, if
# it is smaller.
_BRANCHES = (2, 3, 4, 6, 8, 12, MAX_SINKS, 24, 32)
_SLOWER = 1.15

_Sink = tuple[str, str]
"""A cell and its pin."""


@dataclass(frozen=True, slots=True)
class _Tree:
    """How the sinks of a net are reached: by this buffer, so many to a net."""

    buffer: LibraryCell
    branches: int

    @property
    def pin_load(self) -> float:
        """The load of a buffer."""
        return next(pin.capacitance for pin in self.buffer.pins.values() if not pin.is_output)

    def num_buffers(self, num_sinks: int) -> int:
        """Return how many buffers it takes until no net drives more than it may."""
        return max(0, ceil((num_sinks - self.branches) / (self.branches - 1)))

    def num_levels(self, num_sinks: int) -> int:
        """Return how many buffers are between the driver and a sink if all are as far away."""
        levels, reach = 0, self.branches
        while reach < num_sinks:
            levels, reach = levels + 1, reach * self.branches
        return levels


class _Trees:
    """The choice of trees.

    Parameters
    ----------
    library : Library
        The cells.
    wires : WireLoad, optional
        What the wires of a net add to its load.
    """

    def __init__(self, library: Library, wires: WireLoad | None):
        self._buffers = library.buffers
        self._has_delays = library.has_delays
        self._wires = wires
        self.choose = cache(self._choose)

    def _choose(self, driver: LibraryCell, num_sinks: int, pin_load: float) -> _Tree | None:
        """Return the tree for a net with so many sinks, each of this load; None without buffers.

        It is the smallest of those that are hardly slower than the fastest, which may be a tree
        without any buffer. A library without delays gets its smallest buffer.
        """
        if not self._buffers:
            return None
        if not self._has_delays:
            return _Tree(min(self._buffers, key=lambda cell: cell.area), MAX_SINKS)
        trees = [
            _Tree(buffer, branches)
            for buffer in self._buffers
            # With as many branches as sinks there is no buffer at all.
            for branches in (*_BRANCHES, num_sinks)
            if branches <= num_sinks
        ]
        delays = {tree: self._delay(tree, driver, num_sinks, pin_load) for tree in trees}
        limit = _SLOWER * min(delays.values())
        fast = [tree for tree in trees if delays[tree] <= limit]
        return min(fast, key=lambda tree: tree.buffer.area * tree.num_buffers(num_sinks))

    def _delay(self, tree: _Tree, driver: LibraryCell, num_sinks: int, pin_load: float) -> float:
        """Return the time from the driver's inputs to the last sink; infinite if overloaded."""
        levels = tree.num_levels(num_sinks)
        # From the driver down: the cells, and the load of each pin that they drive.
        stages = [driver, *[tree.buffer] * levels]
        pin_loads = [tree.pin_load] * levels + [pin_load]
        count = tree.branches
        time, slew = 0.0, None
        for cell, load in zip(stages, pin_loads, strict=True):
            total = count * load + (self._wires.capacitance(count) if self._wires else 0.0)
            if total > cell.max_load:
                return inf
            delay, slew = worst_delay(cell, slew, total)
            time += delay
        return time


def buffer_nets(module: Module, library: Library, wires: WireLoad | None = None) -> int:
    """Give each net that drives too much a tree of buffers; return how many buffers there are.

    A net drives too much if its load is beyond what the cell that drives it may drive, or if it has
    more than :data:`MAX_SINKS` sinks and a tree is faster. The clock is left to who lays its tree
    out.

    Parameters
    ----------
    module : mapping
        The flattened module, as Yosys writes it; it is changed.
    library : Library
        Its cells.
    wires : WireLoad, optional
        What the wires of a net add to its load.
    """
    trees = _Trees(library, wires)
    driver = drivers(module)
    every = _sinks(module, library)
    planter = _Planter(module, _Tails(module, library, every))
    before = len(module["cells"])
    for bit, sinks in every.items():
        # At a port a register drives the net; see MappedDesign.register_ports.
        source = module["cells"][driver[bit][0]]["type"] if bit in driver else library.register.cell
        pins = [library.cells[module["cells"][name]["type"]].pins[pin] for name, pin in sinks]
        load = sum(pin.capacitance for pin in pins)
        total = load + (wires.capacitance(len(sinks)) if wires else 0.0)
        is_light = total <= library.cells[source].max_load or len(sinks) == 1
        if len(sinks) > MAX_SINKS or not is_light:
            tree = trees.choose(library.cells[source], len(sinks), load / len(sinks))
            if tree is not None:
                planter.plant(bit, sinks, tree)
    return len(module["cells"]) - before


def _sinks(module: Module, library: Library) -> dict[int, list[_Sink]]:
    """Return the pins of cells that each bit drives, clocks left out."""
    result: dict[int, list[_Sink]] = {}
    for name, cell in module["cells"].items():
        if known := library.cells.get(cell["type"]):
            for pin, bits in cell["connections"].items():
                bit = bits[0] if bits else "x"
                if isinstance(bit, int) and not known.pins[pin].is_output and pin != known.clock:
                    result.setdefault(bit, []).append((name, pin))
    return result


class _Tails:
    """How long it takes from the inputs of a cell to the next registers, roughly.

    Slews are the least of the tables, and no cell counts with more load than it will have once
    there are trees. Without delays each cell counts as one.
    """

    def __init__(self, module: Module, library: Library, sinks: Mapping[int, list[_Sink]]):
        self._library = library
        self._load = loads(module, library)
        self.times: dict[str, float] = {}

        def is_register(cell_type: str) -> bool:
            return cell_type in library.cells and library.cells[cell_type].is_sequential

        for name in reversed(evaluation_order(module, drivers(module), is_register)):
            cell = module["cells"][name]
            if known := library.cells.get(cell["type"]):
                driven = [
                    bits[0]
                    for pin, bits in cell["connections"].items()
                    if bits and isinstance(bits[0], int) and known.pins[pin].is_output
                ]
                readers = [reader for bit in driven for reader, _ in sinks.get(bit, ())]
                load = max((self._load.get(bit, 0.0) for bit in driven), default=0.0)
                after = max((self.times.get(reader, 0.0) for reader in readers), default=0.0)
                self.times[name] = after + self.delay(known, load)

    def delay(self, cell: LibraryCell, load: float) -> float:
        """Return how long a cell takes."""
        if not self._library.has_delays:
            return 1.0
        return worst_delay(cell, None, min(load, cell.max_load))[0]


class _Planter:
    """Puts trees into a module; what a tree reads stays the same net."""

    def __init__(self, module: Module, tails: _Tails):
        self._module = module
        self._tails = tails
        self._names: dict[int, str] = {}
        for name, net in module["netnames"].items():
            for bit in net["bits"]:
                if isinstance(bit, int):
                    self._names[bit] = min(name, self._names.get(bit, name), key=len)
        self._free = 1 + max(self._names, default=1)

    def plant(self, bit: int, sinks: Sequence[_Sink], tree: _Tree) -> None:
        """Reach the sinks of a bit by a tree: those that most time comes after from nearest by.

        Again and again a buffer joins what the least time comes after, as Huffman does. Where all
        are equal, neighbours stay together. The first buffer takes what the others leave over, so
        that the net itself drives as many as any.
        """
        step = self._tails.delay(tree.buffer, tree.branches * tree.pin_load)
        heap = [
            (self._tails.times.get(name, 0.0), index, (name, pin))
            for index, (name, pin) in enumerate(sinks)
        ]
        heapify(heap)
        number = len(heap)
        while len(heap) > tree.branches:
            left_over = (len(heap) - tree.branches) % (tree.branches - 1)
            joined = [heappop(heap) for _ in range(1 + (left_over or tree.branches - 1))]
            added = self._add(bit, [sink for _, _, sink in joined], tree.buffer)
            heappush(heap, (joined[-1][0] + step, number, added))
            number += 1
        self._connect([sink for _, _, sink in heap], bit)

    def _add(self, root: int, sinks: Sequence[_Sink], buffer: LibraryCell) -> _Sink:
        """Put in a buffer before some sinks, and return its own pin."""
        bit, self._free = self._free, self._free + 1
        name, net = (self._free_name(root, f"{word}_{bit}") for word in ("buffer", "buffered"))
        ((output, _),) = ((pin, each) for pin, each in buffer.pins.items() if each.is_output)
        ((source, _),) = ((pin, each) for pin, each in buffer.pins.items() if not each.is_output)
        self._module["cells"][name] = {
            "hide_name": 0,
            "type": buffer.name,
            "parameters": {},
            "attributes": {},
            "port_directions": {source: "input", output: "output"},
            "connections": {source: [root], output: [bit]},
        }
        self._module["netnames"][net] = {"hide_name": 0, "bits": [bit], "attributes": {}}
        self._connect(sinks, bit)
        return name, source

    def _free_name(self, root: int, end: str) -> str:
        """Return a name that no cell and no net has: to Yosys they are of one kind."""
        name = f"{self._names.get(root, 'net')}_{end}"
        while name in self._module["cells"] or name in self._module["netnames"]:
            name += "_"
        return name

    def _connect(self, sinks: Sequence[_Sink], bit: int) -> None:
        for name, pin in sinks:
            self._module["cells"][name]["connections"][pin] = [bit]
