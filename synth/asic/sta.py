"""Static timing of a mapped design from the tables of a library."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

from trilut.errors import FormatError
from trilut.synth.asic.liberty import LookupTable
from trilut.synth.asic.library import Arc, Library, LibraryCell
from trilut.synth.asic.wires import WireLoad
from trilut.synth.graph import drivers, evaluation_order
from trilut.synth.yosys import Cell, Module

__all__ = ["Stage", "loads", "slowest_path", "worst_delay"]

_EDGES = ("rise", "fall")
_SLEWS = ("input_net_transition", "input_transition_time", "related_pin_transition")
_LOAD = "total_output_net_capacitance"
# Kinds of arcs, and the edges of the output that their tables are for.
_STARTS = {"rising_edge": _EDGES, "falling_edge": _EDGES}
_PASSES = {
    "combinational": _EDGES,
    "combinational_rise": ("rise",),
    "combinational_fall": ("fall",),
}
_DELAYS = _STARTS | _PASSES


@dataclass(frozen=True, slots=True)
class Stage:
    """One cell of a path: when its output changes, how fast, and what it waits for.

    Parameters
    ----------
    cell : str
        The cell.
    bit : int
        The bit that it drives; of the last stage, the bit that it reads.
    time, slew : float
        In units of the library.
    delay : float
        What the cell adds to the stage before, its setup time at the end.
    before : Stage, optional
        None for the register where the path begins.
    """

    cell: str
    bit: int
    time: float
    slew: float
    delay: float
    before: "Stage | None"


Arrivals = dict[int, dict[str, Stage]]


def loads(module: Module, library: Library, wires: WireLoad | None = None) -> dict[int, float]:
    """Return the capacitance of the pins that each bit drives, and of its wires if they count."""
    result: dict[int, float] = {}
    num_sinks: Counter[int] = Counter()
    for cell in module["cells"].values():
        known = library.cells.get(cell["type"])
        for port, bits in cell["connections"].items():
            if known is not None and port in known.pins and not known.pins[port].is_output:
                for bit in bits:
                    if isinstance(bit, int):
                        result[bit] = result.get(bit, 0.0) + known.pins[port].capacitance
                        num_sinks[bit] += 1
    if wires is None:
        return result
    return {bit: load + wires.capacitance(num_sinks[bit]) for bit, load in result.items()}


def worst_delay(cell: LibraryCell, slew: float | None, load: float) -> tuple[float, float]:
    """Return the longest delay through a cell and the worst slew of its outputs, 0 if it has none.

    Parameters
    ----------
    slew : float, optional
        Of its inputs; by default the least of the tables.
    load : float
        That each output drives.
    """
    found = [
        each
        for pin in cell.outputs
        for arc in pin.arcs
        for edge in _EDGES
        if (each := _delay(arc, edge, slew, load))
    ]
    delays, slews = zip(*found, strict=True) if found else ((0.0,), (0.0,))
    return max(delays), max(slews)


def slowest_path(module: Module, library: Library, wires: WireLoad | None = None) -> list[Stage]:
    """Find the slowest path from register to register of a flattened module.

    The clock is ideal, with the steepest edge of the tables. A cell takes the worst time and the
    worst slew of its inputs, which is optimistic only where a table falls as the slew grows. Beyond
    a table its last piece goes on.

    Parameters
    ----------
    module : mapping
        The module, as Yosys writes it.
    library : Library
        Its cells.
    wires : WireLoad, optional
        What wires add to the load of a net; by default nothing.

    Returns
    -------
    list of Stage
        From the first register to the last, whose delay is the setup time; empty if there is none.

    Raises
    ------
    FormatError
        If the library has no delay for a way through one of the cells.
    """
    _check_delays(module, library)
    load = loads(module, library, wires)
    driver = drivers(module)
    arrivals: Arrivals = {}

    def is_register(cell_type: str) -> bool:
        return cell_type in library.cells and library.cells[cell_type].is_sequential

    for name, cell in module["cells"].items():
        if is_register(cell["type"]):
            _start(name, cell, library.cells[cell["type"]], load, arrivals)
    for name in evaluation_order(module, driver, is_register):
        cell = module["cells"][name]
        if cell["type"] in library.cells:
            _pass(name, cell, library.cells[cell["type"]], load, arrivals)
    ends = [
        stage
        for name, cell in module["cells"].items()
        if is_register(cell["type"])
        for stage in _ends(name, cell, library.cells[cell["type"]], arrivals)
    ]
    path: list[Stage] = []
    stage = max(ends, key=lambda end: end.time, default=None)
    while stage is not None:
        path.append(stage)
        stage = stage.before
    return path[::-1]


def _check_delays(module: Module, library: Library) -> None:
    used = {
        (cell["type"], pin)
        for cell in module["cells"].values()
        for pin in cell["connections"]
        if cell["type"] in library.cells and _bit(cell, pin) is not None
    }
    for cell_type, pin_name in sorted(used):
        known = library.cells[cell_type]
        if pin_name not in known.pins or not known.pins[pin_name].is_output:
            continue
        for source, edge in product(sorted(known.sources(pin_name)), _EDGES):
            arcs = [arc for arc in known.pins[pin_name].arcs if arc.related == source]
            if not any(_tables(arc, edge) for arc in arcs):
                raise FormatError(
                    f"Library {library.name!r} has no delay from pin {source!r} of cell "
                    f"{cell_type!r} to a {edge} of its output {pin_name!r}"
                )


def _bit(cell: Cell, pin: str) -> int | None:
    bits = cell["connections"].get(pin, [])
    return bits[0] if bits and isinstance(bits[0], int) else None


def _keep(arrivals: Arrivals, edge: str, stage: Stage) -> None:
    """Keep the later of two arrivals, with the worse slew of both."""
    known = arrivals.setdefault(stage.bit, {}).get(edge)
    if known is not None:
        later, other = (stage, known) if stage.time > known.time else (known, stage)
        slew = max(later.slew, other.slew)
        stage = Stage(later.cell, later.bit, later.time, slew, later.delay, later.before)
    arrivals[stage.bit][edge] = stage


def _delay(arc: Arc, edge: str, slew: float | None, load: float) -> tuple[float, float] | None:
    """Return the delay and the slew of an edge at the output, None if the arc has no such edge."""
    tables = _tables(arc, edge)
    if tables is None:
        return None
    delay, transition = tables
    return _look_up(delay, slew, load), _look_up(transition, slew, load)


def _tables(arc: Arc, edge: str) -> tuple[LookupTable, LookupTable] | None:
    if edge not in _DELAYS.get(arc.kind, ()):
        return None
    delay, transition = arc.tables.get(f"cell_{edge}"), arc.tables.get(f"{edge}_transition")
    return None if delay is None or transition is None else (delay, transition)


def _look_up(table: LookupTable, slew: float | None, load: float) -> float:
    point = table.least if slew is None else dict.fromkeys(_SLEWS, slew)
    return table.at({**point, _LOAD: load})


def _start(
    name: str, cell: Cell, known: LibraryCell, load: Mapping[int, float], to: Arrivals
) -> None:
    for pin_name, pin in known.pins.items():
        bit = _bit(cell, pin_name)
        if not pin.is_output or bit is None:
            continue
        for arc in pin.arcs:
            for edge in _EDGES:
                if arc.kind in _STARTS and (found := _delay(arc, edge, None, load.get(bit, 0.0))):
                    _keep(to, edge, Stage(name, bit, found[0], found[1], found[0], None))


def _pass(
    name: str, cell: Cell, known: LibraryCell, load: Mapping[int, float], to: Arrivals
) -> None:
    for pin_name, pin in known.pins.items():
        bit = _bit(cell, pin_name)
        if not pin.is_output or bit is None:
            continue
        for arc in pin.arcs:
            source = _bit(cell, arc.related)
            if source not in to or arc.kind not in _PASSES:
                continue
            assert source is not None
            for edge in _EDGES:
                for begin, before in to[source].items():
                    if not _causes(arc.sense, begin, edge):
                        continue
                    if found := _delay(arc, edge, before.slew, load.get(bit, 0.0)):
                        time = before.time + found[0]
                        _keep(to, edge, Stage(name, bit, time, found[1], found[0], before))


def _causes(sense: str, begin: str, end: str) -> bool:
    """Say whether an edge at an input can cause one at the output."""
    if sense == "positive_unate":
        return begin == end
    return begin != end if sense == "negative_unate" else True


def _ends(name: str, cell: Cell, known: LibraryCell, arrivals: Arrivals) -> list[Stage]:
    stages = []
    for pin_name, pin in known.pins.items():
        bit = _bit(cell, pin_name)
        if pin.is_output or bit not in arrivals or pin_name == known.clock:
            continue
        assert bit is not None
        for edge, before in arrivals[bit].items():
            setups = [
                arc.tables[f"{edge}_constraint"].at({"constrained_pin_transition": before.slew})
                for arc in pin.arcs
                if arc.kind in ("setup_rising", "setup_falling")
                and f"{edge}_constraint" in arc.tables
            ]
            setup = max(setups, default=0.0)
            stages.append(Stage(name, bit, before.time + setup, before.slew, setup, before))
    return stages
