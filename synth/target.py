"""Targets: what a part asks of the tools, as data in one TOML file each."""

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path

from trilut.errors import FormatError, ToolError
from trilut.files import read_bytes
from trilut.hdl.options import PORTABLE
from trilut.toml import TomlTable

__all__ = [
    "FREE",
    "KINDS",
    "LOGIC_CELL",
    "ClockSource",
    "PlaceAndRoute",
    "PortRegister",
    "Target",
    "load_target",
    "target_names",
]

KINDS = ("lut4", "lut6", "ff", "carry", "mux", "bram", "dsp")
"""The kinds of cells that are counted."""
LOGIC_CELL = "lc"
"""What nextpnr counts on a part whose cells hold a LUT, a carry and a flip-flop together."""
FREE = "free"
"""The kind of cells that take nothing of a part, such as constants."""

_KEYS = (
    *("title", "device", "sums", "pairs_tables", "yosys", "cells", "equivalents", "capacity"),
    *("asic", "nextpnr"),
)
_NEXTPNR_KEYS = ("register", "clock")
# What a target file says ends up in a Yosys script and in command lines, and a user's file may come
# from anywhere. So every text is a plain word, and what names a file, a script or a command of the
# tools' own languages is not among the options.
_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
# Order codes such as GW1NR-LV9QN88PC6/I5.
_PART = re.compile(rf"{_WORD.pattern}(/[A-Za-z0-9]+)?")
_SUMS = ("generic", "carry", "ecp5", "xilinx")
_TITLE = re.compile(r"[^\x00-\x1f\x7f]{1,100}")
_CELL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\*?")
_YOSYS_COMMAND = re.compile(r"synth(_[a-z0-9_]+)?")
# Files that come with Yosys.
_MODEL = re.compile(r"[a-z0-9_]+(/[a-z0-9_]+)*\.v")
_LIBRARY = re.compile(r"[a-z0-9_]+")
_ALIAS = re.compile(r"[a-z0-9-]+")
_YOSYS_OPTION = re.compile(r"[a-z][a-z0-9_-]*")
_YOSYS_RESERVED = frozenset(
    {
        "top",
        "run",
        "flatten",
        "noflatten",
        "json",
        "edif",
        "blif",
        "vpr",
        "vlog",
        "vqm",
        "extra-map",
    }
)
_NEXTPNR_PROGRAM = re.compile(r"nextpnr-[a-z0-9]+(-[a-z0-9]+)?")
# nextpnr also completes shortened options, and has some that run Python files: only these, and the
# flags that choose a part, such as 25k, um5g-85k or lp384.
_NEXTPNR_OPTION = re.compile(
    r"package|speed|device|family|vopt-family|router|placer|placer-heap-(alpha|beta|critexp|timingweight)"
    r"|lpf-allow-unconstrained|pcf-allow-unconstrained|(um-|um5g-|lp|hx|up|u)?[0-9]+k?"
)


@dataclass(frozen=True, slots=True)
class PortRegister:
    """The cell that stands at each port during place and route.

    Parameters
    ----------
    cell : str
        Its type.
    clock, d, q : str
        Its ports.
    parameters : mapping
        Those that differ from the cell's defaults.
    attributes : mapping
        Those that make the tools keep the cell.
    tied : bool
        Whether the input is 0 where it leads nowhere, for tools that fall over an open one.
    ties : mapping
        Constants at its other inputs, such as a reset.
    """

    cell: str
    clock: str
    d: str
    q: str
    parameters: Mapping[str, str]
    attributes: Mapping[str, str] = field(default_factory=dict)
    tied: bool = False
    ties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClockSource:
    """The cell that drives the clock, for tools that do not put one there themselves.

    Parameters
    ----------
    cell : str
        Its type.
    output : str
        The port that drives the clock.
    input : str
        The port at the pin ``clk``; empty for an oscillator, which needs no pin.
    parameters, attributes : mapping
        Of the cell.
    """

    cell: str
    output: str
    input: str
    parameters: Mapping[str, str]
    attributes: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PlaceAndRoute:
    """How a target is placed and routed.

    Parameters
    ----------
    program : str
        ``nextpnr-`` and the family.
    options : tuple of str
        Arguments that choose the part.
    resources : mapping
        What nextpnr calls a kind of cells in its report.
    register : PortRegister
        What stands at the ports.
    clock : ClockSource, optional
        What drives the clock; by default the tool's own choice.
    """

    program: str
    options: tuple[str, ...]
    resources: Mapping[str, str]
    register: PortRegister
    clock: ClockSource | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """A part, and what the tools must be told about it.

    Parameters
    ----------
    name : str
        Name of its file.
    title : str
        What to call it in a report.
    device : str
        The part's order code.
    synthesis : tuple of str
        The Yosys command and its options; empty for an ASIC.
    cells : mapping
        Cell types of each of the ``KINDS``, and of those that are free; ``*`` at the end stands for
        any text.
    equivalents : mapping
        How many LUTs a cell of another kind takes.
    capacity : mapping
        How many cells of each kind the part has.
    place_and_route : PlaceAndRoute, optional
        None if the open tools only map to this part.
    sums : str
        What sums of trits are made of on this part; see
        :data:`trilut.hdl.sums.plan.SUM_TARGETS`.
    keeps_hierarchy : bool
        Whether the Yosys command must be told to flatten; the others must be told not to.
    models : tuple of str
        Files of Yosys with the behaviour of the cells, for simulation.
    library : str
        Name of the standard cells of an ASIC; empty for an FPGA.
    pairs_tables : bool
        Whether two tables with five inputs together take the place of one, as on Xilinx parts.
    """

    name: str
    title: str
    device: str
    synthesis: tuple[str, ...]
    cells: Mapping[str, tuple[str, ...]]
    equivalents: Mapping[str, int]
    capacity: Mapping[str, int]
    place_and_route: PlaceAndRoute | None
    sums: str = "generic"
    keeps_hierarchy: bool = False
    models: tuple[str, ...] = ()
    library: str = ""
    pairs_tables: bool = False

    @property
    def lut(self) -> str:
        """The kind of LUT that the part is made of."""
        return "lut6" if "lut6" in self.cells else "lut4"

    @property
    def counted(self) -> str:
        """At which step its cells are counted."""
        if self.pairs_tables:
            return "after mapping and pairing of LUTs"
        return "after mapping, before packing"

    @property
    def timing(self) -> str:
        """Where its timing comes from."""
        if self.library:
            return "static, with the library's wire load if it has one"
        return "none, logic levels only" if self.place_and_route is None else "post-route"

    @property
    def programs(self) -> tuple[str, ...]:
        """The tools that it needs."""
        if self.place_and_route is None:
            return ("yosys",)
        return ("yosys", self.place_and_route.program)

    def kind(self, cell_type: str) -> str | None:
        """Return the kind of a cell type, or None if it is none of the ``KINDS``."""
        for kind, types in self.cells.items():
            for known in types:
                if cell_type == known or (
                    known.endswith("*") and cell_type.startswith(known.removesuffix("*"))
                ):
                    return kind
        return None


def target_names() -> tuple[str, ...]:
    """Return the names of the targets that come with TriLUT."""
    folder = files("trilut.synth").joinpath("targets")
    return tuple(
        sorted(
            entry.name.removesuffix(".toml")
            for entry in folder.iterdir()
            if entry.name.endswith(".toml")
        )
    )


def load_target(name: str) -> Target:
    """Return a target by its name, or from the user's own file if the name ends in ``.toml``.

    The name of an ASIC may end in that of a library: ``asic:freepdk45``.

    Raises
    ------
    ToolError
        If there is no target of that name.
    FormatError
        If the file cannot be read or says something that a target must not say.
    """
    if name.endswith(".toml"):
        return _parse(Path(name).stem, read_bytes(Path(name)), f"Target file {name!r}")
    base, _, library = name.partition(":")
    if library:
        target = load_target(base)
        if not target.library or not _LIBRARY.fullmatch(library):
            raise ToolError(f"Target {base!r} takes no library {library!r}")
        return dataclasses.replace(target, name=f"{base}-{library}", library=library)
    names = target_names()
    if name not in names:
        close = get_close_matches(name, names, 1)
        raise ToolError(
            f"Unknown target {name!r}, expected one of {', '.join(names)} or a file NAME.toml"
            + (f"; did you mean {close[0]!r}?" if close else "")
        )
    content = files("trilut.synth").joinpath("targets", f"{name}.toml").read_bytes()
    return _parse(name, content, f"Target {name!r}")


def sums_of(target: str) -> str:
    """Return what sums of trits are made of on a target; :data:`PORTABLE` is none and has no cells.

    Raises
    ------
    TrilutError
        If there is no such target, or its file cannot be read.
    """
    return PORTABLE if target == PORTABLE else load_target(target).sums


def _parse(name: str, content: bytes, origin: str) -> Target:
    if not _WORD.fullmatch(name):
        raise FormatError(f"{origin} is not named by a plain word")
    table = TomlTable.parse(content, origin)
    if "alias" in table:
        table.check_keys(["alias"])
        other = load_target(table.text("alias", _ALIAS, "the name of a target"))
        return dataclasses.replace(other, name=name)
    table.check_keys(_KEYS + _NEXTPNR_KEYS if "nextpnr" in table else _KEYS)
    asic = "asic" in table
    cells = table.table("cells", optional=asic)
    cells.check_keys((*KINDS, FREE))
    yosys = table.table("yosys", optional=asic)
    yosys.check_keys(("command", "models", "keeps_hierarchy", "options"))
    return Target(
        name=name,
        title=table.text("title", _TITLE, "a line of text"),
        device=table.text("device", _PART, "a plain word"),
        keeps_hierarchy=yosys.flag("keeps_hierarchy"),
        models=yosys.words("models", _MODEL, "files of Yosys", optional=True),
        synthesis=() if asic else _synthesis(yosys),
        cells={kind: cells.words(kind, _CELL, "cell types") for kind in cells},
        equivalents=_counts(table.table("equivalents", optional=True)),
        capacity=_counts(table.table("capacity", optional=True)),
        place_and_route=_place_and_route(table) if "nextpnr" in table else None,
        sums=table.choice("sums", _SUMS, "generic"),
        library=_library(table.table("asic")) if asic else "",
        pairs_tables=table.flag("pairs_tables"),
    )


def _library(table: TomlTable) -> str:
    table.check_keys(["library"])
    return table.text("library", _LIBRARY, "the name of a library")


def _counts(table: TomlTable) -> dict[str, int]:
    table.check_keys(KINDS)
    counts = {kind: table.get(kind) for kind in table}
    for kind, value in counts.items():
        if type(value) is not int or value < 0:
            raise table.wrong(kind, "a number of cells")
    return counts


def _synthesis(table: TomlTable) -> tuple[str, ...]:
    words = [table.text("command", _YOSYS_COMMAND, "a command synth_…")]
    options = table.table("options", optional=True)
    expected = "an option of Yosys that a target may set"
    options.match_keys(_YOSYS_OPTION, expected, _YOSYS_RESERVED)
    for name in options:
        value = _option(options, name, _WORD)
        words += [f"-{name}"] if value is None else [f"-{name}", value]
    return tuple(words)


def _place_and_route(document: TomlTable) -> PlaceAndRoute:
    table = document.table("nextpnr")
    table.check_keys(("program", "options", "resources"))
    options = table.table("options", optional=True)
    options.match_keys(_NEXTPNR_OPTION, "an option of nextpnr that a target may set")
    arguments = []
    for name in options:
        value = _option(options, name, _PART if name == "device" else _WORD)
        flag = f"--{name}".replace("--vopt-", "--vopt=")
        # One argument, so that no value can pass for an option.
        arguments.append(flag if value is None else f"{flag}={value}")
    resources = table.table("resources", optional=True)
    resources.check_keys((*KINDS, LOGIC_CELL))
    return PlaceAndRoute(
        table.text("program", _NEXTPNR_PROGRAM, "a program nextpnr-…"),
        tuple(arguments),
        _words(resources, _WORD),
        _register(document.table("register")),
        _clock(document.table("clock")) if "clock" in document else None,
    )


def _option(table: TomlTable, key: str, pattern: re.Pattern[str]) -> str | None:
    """Return the value of an option, None if it has none."""
    value = table.get(key)
    if value is True:
        return None
    text = str(value)
    if isinstance(value, str | int | float) and value is not False and pattern.fullmatch(text):
        return text
    raise table.wrong(key, "true, a number or a plain word")


def _clock(table: TomlTable) -> ClockSource:
    table.check_keys(("cell", "output", "input", "parameters", "attributes"))
    return ClockSource(
        cell=table.text("cell", _WORD, "a cell type"),
        output=table.text("output", _WORD, "a port"),
        input=table.text("input", _WORD, "a port") if "input" in table else "",
        parameters=_words(table.table("parameters", optional=True), _WORD),
        attributes=_words(table.table("attributes", optional=True), _PART),
    )


def _register(table: TomlTable) -> PortRegister:
    table.check_keys(("cell", "clock", "d", "q", "parameters", "attributes", "tied"))
    return PortRegister(
        cell=table.text("cell", _WORD, "a cell type"),
        clock=table.text("clock", _WORD, "a port"),
        d=table.text("d", _WORD, "a port"),
        q=table.text("q", _WORD, "a port"),
        parameters=_words(table.table("parameters", optional=True), _WORD),
        attributes=_words(table.table("attributes", optional=True), _WORD),
        tied=table.flag("tied"),
    )


def _words(table: TomlTable, pattern: re.Pattern[str]) -> dict[str, str]:
    table.match_keys(_WORD, "a word")
    return {name: table.text(name, pattern, "a word") for name in table}
