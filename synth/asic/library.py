"""Standard cell libraries: what a liberty file says of each cell."""

import dataclasses
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import inf, nan

from trilut.errors import FormatError
from trilut.synth.asic.boolean import Function, function_names, parse_function
from trilut.synth.asic.liberty import Group, LookupTable
from trilut.synth.asic.wires import WireLoad, read_wire_loads
from trilut.synth.mapped import Areas
from trilut.synth.target import PortRegister, Target

__all__ = ["Arc", "Library", "LibraryCell", "Pin"]

# What is counted in, and what a library counts in that does not say.
_UNITS = {"time_unit": "1ns", "capacitive_load_unit": "1pf", "leakage_power_unit": "1nW"}
_PREFIXES = {"f": 1e-15, "p": 1e-12, "n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1.0}
_UNIT = re.compile(r"\s*([0-9.]*(?:e[+-]?[0-9]+)?)\s*([fpnum]?)([sfw])\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Arc:
    """A path through a cell, or a condition on its inputs.

    Parameters
    ----------
    related : str
        The pin where it begins.
    sense : str
        ``positive_unate``, ``negative_unate`` or anything else for both.
    kind : str
        Liberty's ``timing_type``; ``combinational`` if it says none.
    tables : mapping
        Tables by liberty's names: ``cell_rise``, ``fall_transition``, ``rise_constraint``.
    """

    related: str
    sense: str
    kind: str
    tables: Mapping[str, LookupTable]


@dataclass(frozen=True, slots=True)
class Pin:
    """A pin of a cell; ``function`` is empty but for outputs, ``max_load`` infinite if not told."""

    is_output: bool
    capacitance: float
    max_load: float
    function: str
    arcs: tuple[Arc, ...]
    powers: tuple[Mapping[str, LookupTable], ...]


class LibraryCell:
    """What a library says of one cell.

    Parameters
    ----------
    group : Group
        The group ``cell``.
    templates : mapping
        The library's templates of tables.
    """

    def __init__(self, group: Group, templates: Mapping[str, Group]):
        self.name = group.name
        self.area = group.number("area") or 0.0
        self._group = group
        self._templates = templates
        self.state = next(group.all("ff"), None)
        self.is_sequential = self.state is not None or any(True for _ in group.all("latch"))

    @cached_property
    def pins(self) -> dict[str, Pin]:
        """The pins by name, buses left out."""
        pins: dict[str, Pin] = {}
        for group in self._group.all("pin"):
            pins |= dict.fromkeys(_listed(group.names), self._pin(group))
        return pins

    def _pin(self, group: Group) -> Pin:
        arcs = tuple(arc for timing in group.all("timing") for arc in self._arcs(timing))
        limit = group.number("max_capacitance")
        return Pin(
            is_output=group.values.get("direction") == "output",
            capacitance=group.number("capacitance") or 0.0,
            max_load=_last_load(arcs) if limit is None else limit,
            function=group.values.get("function", ""),
            arcs=arcs,
            powers=tuple(self._tables(power) for power in group.all("internal_power")),
        )

    def _arcs(self, group: Group) -> list[Arc]:
        """Return the arcs of a group, one for each pin that it is related to."""
        sense = group.values.get("timing_sense", "")
        kind = group.values.get("timing_type", "combinational")
        tables = self._tables(group)
        related = _listed([group.values.get("related_pin", "")])
        return [Arc(pin, sense, kind, tables) for pin in related or [""]]

    def _tables(self, group: Group) -> dict[str, LookupTable]:
        try:
            return {
                table.kind: LookupTable.read(table, self._templates)
                for table in group.groups
                if "values" in table.lists
            }
        except FormatError as error:
            raise FormatError(f"Cell {self.name!r} of the library: {error}") from error

    @cached_property
    def leakage(self) -> float | None:
        """Its leakage in the library's unit, averaged over its conditions; None if not told."""
        if (told := self._group.number("cell_leakage_power")) is not None:
            return told
        values = [group.number("value") for group in self._group.all("leakage_power")]
        known = [value for value in values if value is not None]
        return sum(known) / len(known) if known else None

    @cached_property
    def functions(self) -> dict[str, Function]:
        """The function of each output, of the inputs or of the state of a flip-flop."""
        return {
            name: parse_function(pin.function)
            for name, pin in self.pins.items()
            if pin.is_output and pin.function
        }

    @property
    def outputs(self) -> list[Pin]:
        """The pins that it drives."""
        return [pin for pin in self.pins.values() if pin.is_output]

    @property
    def max_load(self) -> float:
        """The least load that one of its outputs should not pass."""
        return min((pin.max_load for pin in self.outputs), default=inf)

    @property
    def is_buffer(self) -> bool:
        """Whether it is a gate whose output is its only input."""
        inputs = [name for name, pin in self.pins.items() if not pin.is_output]
        functions = [pin.function.strip("() ") for pin in self.outputs]
        return not self.is_sequential and len(inputs) == 1 and functions == inputs

    def sources(self, output: str) -> set[str]:
        """Return the pins at which a change can make an output change: of a flip-flop the clock."""
        if self.is_sequential:
            return {self.clock} - {""}
        return set(function_names(self.pins[output].function)) & set(self.pins)

    @cached_property
    def inputs_read(self) -> list[str]:
        """The pins that its functions or its state depend on."""
        texts = [pin.function for pin in self.outputs]
        texts += [] if self.state is None else self.state.values.values()
        names = {name for text in texts for name in function_names(text)}
        return sorted(name for name in names if name in self.pins and not self.pins[name].is_output)

    @property
    def state_names(self) -> tuple[str, ...]:
        """What the functions call the state of a flip-flop and its inverse."""
        return () if self.state is None else self.state.names

    @cached_property
    def next_state(self) -> Function | None:
        """The state after the clock, cleared and preset included; None if there is no flip-flop."""
        if self.state is None:
            return None
        text = f"({self.state.values.get('next_state', '0')})"
        if preset := self.state.values.get("preset"):
            text = f"({text} + ({preset}))"
        if clear := self.state.values.get("clear"):
            text = f"({text} * !({clear}))"
        return parse_function(text)

    @property
    def clock(self) -> str:
        """The pin on whose rising edge it works; empty if there is no such pin."""
        pin = "" if self.state is None else self.state.values.get("clocked_on", "").strip("() ")
        return pin if pin in self.pins else ""

    @property
    def register(self) -> PortRegister | None:
        """How it stands at a port, if it is a flip-flop with a clock, an input and an output.

        Pins that clear or preset it are tied to where they do not.
        """
        if self.state is None or not self.clock:
            return None
        data = self.state.values.get("next_state", "").strip("() ")
        state = self.state_names[0] if self.state_names else ""
        outputs = [name for name, pin in self.pins.items() if pin.function == state]
        ties = self._idle
        if data not in self.pins or not outputs or ties is None or data in ties:
            return None
        return PortRegister(self.name, self.clock, data, outputs[0], {}, ties=ties)

    @property
    def _idle(self) -> dict[str, str] | None:
        """Values of pins with which a flip-flop is neither cleared nor preset; None if none are."""
        assert self.state is not None
        texts = [self.state.values[key] for key in ("clear", "preset") if key in self.state.values]
        names = sorted({name for text in texts for name in function_names(text)})
        functions = [parse_function(text) for text in texts]
        for values in product((0, 1), repeat=len(names)):
            pins = dict(zip(names, values, strict=True))
            if not any(function(pins) & 1 for function in functions):
                return {name: str(value) for name, value in pins.items()}
        return None

    @property
    def is_nand2(self) -> bool:
        """Whether it is a NAND of two inputs."""
        inputs = [name for name, pin in self.pins.items() if not pin.is_output]
        if self.is_sequential or len(inputs) != 2 or len(self.functions) != 1:
            return False
        (function,) = self.functions.values()
        try:
            # Four cases at once.
            return function({inputs[0]: 0b0011, inputs[1]: 0b0101}) & 0b1111 == 0b1110
        except KeyError:
            # It reads something else than its pins.
            return False


class Library:
    """A standard cell library.

    Parameters
    ----------
    group : Group
        The parsed file.
    text : bytes
        The file as it is, for Yosys.
    is_invented : bool
        Whether its values are made up.

    Raises
    ------
    FormatError
        If it has no cells, or a unit that cannot be read.
    """

    def __init__(self, group: Group, text: bytes, *, is_invented: bool = False):
        self.name = group.name
        self.text = text
        self.is_invented = is_invented
        templates = {
            template.name: template
            for kind in ("lu_table_template", "power_lut_template")
            for template in group.all(kind)
        }
        # The special template of a value that depends on nothing has no definition.
        self.cells = {
            cell.name: LibraryCell(cell, templates)
            for cell in group.all("cell")
            if cell.values.get("dont_use") != "true"
        }
        if not self.cells:
            raise FormatError(f"Library {self.name!r} has no cells")
        self.voltage = group.number("nom_voltage")
        self.temperature = group.number("nom_temperature")
        capacitance = "".join(group.lists.get("capacitive_load_unit", ("1", "pf")))
        units = {name: group.values.get(name, default) for name, default in _UNITS.items()}
        units["capacitive_load_unit"] = capacitance
        self.ns, self.pf, self.nw = (self._unit(name, units[name]) for name in _UNITS)
        self._wire_loads = read_wire_loads(group)

    def _unit(self, attribute: str, text: str) -> float:
        """Return how many of the unit that we count in a unit of the library is."""
        usual = _UNITS[attribute]
        match, ours = _UNIT.fullmatch(text), _UNIT.fullmatch(usual)
        assert ours is not None
        scale = _number(match[1] or "1") if match and match[3].lower() == ours[3].lower() else 0.0
        if match is None or not 0 < scale < inf:
            raise FormatError(
                f"Library {self.name!r} has the {attribute} {text!r}, expected one like {usual!r}"
            )
        return scale * _PREFIXES[match[2].lower()] / _PREFIXES[ours[2]]

    @cached_property
    def buffers(self) -> tuple[LibraryCell, ...]:
        """The gates that pass a value on as it is."""
        return tuple(cell for cell in self.cells.values() if cell.is_buffer)

    @cached_property
    def has_delays(self) -> bool:
        """Whether any cell has a delay; without them there is area alone."""
        return any(
            arc.tables
            for cell in self.cells.values()
            for pin in cell.pins.values()
            for arc in pin.arcs
        )

    @cached_property
    def areas(self) -> Areas:
        """The area of each cell, and of the smallest NAND."""
        areas = {name: cell.area for name, cell in self.cells.items()}
        nands = [cell.area for cell in self.cells.values() if cell.is_nand2 and cell.area]
        return Areas(areas, min(nands, default=0.0))

    @cached_property
    def register(self) -> PortRegister:
        """The smallest flip-flop that takes its input at each clock, if its other pins are tied.

        Raises
        ------
        FormatError
            If there is none.
        """
        plain = [cell for cell in self.cells.values() if cell.is_sequential and cell.register]
        if not plain:
            raise FormatError(
                f"Library {self.name!r} has no flip-flop that takes its input at each rising edge"
            )
        register = min(plain, key=lambda cell: cell.area).register
        assert register is not None
        return register

    def wire_load(self, area: float) -> WireLoad | None:
        """Return the library's model of wires for a design of this area, None if it has none."""
        return self._wire_loads(area)

    def target(self, target: Target) -> Target:
        """Return a target that counts the cells of this library."""
        kinds: dict[str, list[str]] = {"gate": [], "ff": []}
        for name, cell in self.cells.items():
            kinds["ff" if cell.is_sequential else "gate"].append(name)
        return dataclasses.replace(
            target,
            device=self.name,
            cells={kind: tuple(names) for kind, names in kinds.items()},
        )


def _last_load(arcs: Iterable[Arc]) -> float:
    """Return the load at which the first of the tables of arcs ends."""
    ends = [
        axis[-1]
        for arc in arcs
        for table in arc.tables.values()
        for variable, axis in zip(table.variables, table.axes, strict=True)
        if variable == "total_output_net_capacitance"
    ]
    return min(ends, default=inf)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return nan


def _listed(texts: Iterable[str]) -> list[str]:
    """Return the names of lists like ``A B`` or ``A, B``."""
    return [name for text in texts for name in text.replace(",", " ").split()]
