"""Targets: what a part asks of the tools, as data in one TOML file each."""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Any

from trilut.errors import FormatError, ToolError
from trilut.files import parse_toml, read_bytes

__all__ = [
    "FREE",
    "KINDS",
    "ClockSource",
    "PlaceAndRoute",
    "PortRegister",
    "Target",
    "load_target",
    "target_names",
]

KINDS = ("lut4", "lut6", "ff", "carry", "mux", "bram", "dsp")
"""The kinds of cells that are counted."""
FREE = "free"
"""The kind of cells that take nothing of a part, such as constants."""

# What a target file says ends up in a Yosys script and in command lines, and a user's file may come
# from anywhere. So every text is a plain word, and what names a file, a script or a command of the
# tools' own languages is not among the options.
_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
# Order codes such as GW1NR-LV9QN88PC6/I5.
_PART = re.compile(rf"{_WORD.pattern}(/[A-Za-z0-9]+)?")
_SUMS = re.compile(r"generic|carry|ecp5|xilinx")
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
    tied : bool
        Whether the input is 0 where it leads nowhere, for tools that fall over an open one.
    """

    cell: str
    clock: str
    d: str
    q: str
    parameters: Mapping[str, str]
    tied: bool = False


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
            return "static, no wires"
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


def _parse(name: str, content: bytes, origin: str) -> Target:
    if not _WORD.fullmatch(name):
        raise FormatError(f"{origin} is not named by a plain word")
    document = parse_toml(content, origin)
    table = _Table(origin, "", document)
    if table.has("alias"):
        other = load_target(table.text("alias", _ALIAS, "the name of a target"))
        table.finish()
        return dataclasses.replace(other, name=name)
    asic = "asic" in document
    cells = table.table("cells", optional=asic)
    yosys = table.table("yosys", optional=asic)
    target = Target(
        name=name,
        title=table.text("title", _TITLE, "a line of text"),
        device=table.text("device", _PART, "a plain word"),
        keeps_hierarchy=yosys.flag("keeps_hierarchy"),
        models=yosys.words("models", _MODEL, "files of Yosys", optional=True),
        synthesis=() if asic else _synthesis(yosys),
        cells={
            kind: cells.words(kind, _CELL, "cell types")
            for kind in cells.keys_among((*KINDS, FREE))
        },
        equivalents=table.counts("equivalents"),
        capacity=table.counts("capacity"),
        place_and_route=_place_and_route(table) if "nextpnr" in document else None,
        sums=table.text("sums", _SUMS, "one of generic, carry, ecp5, xilinx")
        if "sums" in document
        else "generic",
        library=_library(table.table("asic")) if asic else "",
        pairs_tables=table.flag("pairs_tables"),
    )
    cells.finish()
    table.finish()
    return target


def _library(table: "_Table") -> str:
    library = table.text("library", _LIBRARY, "the name of a library")
    table.finish()
    return library


def _synthesis(table: "_Table") -> tuple[str, ...]:
    command = table.text("command", _YOSYS_COMMAND, "a command synth_…")
    options = table.table("options", optional=True)
    words = [command]
    for name in options.keys_matching(_YOSYS_OPTION, _YOSYS_RESERVED):
        value = options.option(name)
        words += [f"-{name}"] if value is None else [f"-{name}", value]
    options.finish()
    table.finish()
    return tuple(words)


def _place_and_route(document: "_Table") -> PlaceAndRoute:
    table = document.table("nextpnr")
    program = table.text("program", _NEXTPNR_PROGRAM, "a program nextpnr-…")
    options = table.table("options", optional=True)
    arguments = []
    for name in options.keys_matching(_NEXTPNR_OPTION):
        value = options.option(name, _PART if name == "device" else _WORD)
        flag = f"--{name}".replace("--vopt-", "--vopt=")
        # One argument, so that no value can pass for an option.
        arguments.append(flag if value is None else f"{flag}={value}")
    options.finish()
    resources = table.table("resources", optional=True)
    kinds = {kind: resources.text(kind, _WORD, "a word") for kind in resources.keys_among(KINDS)}
    resources.finish()
    table.finish()
    clock = _clock(document.table("clock")) if document.has("clock") else None
    register = _register(document.table("register"))
    return PlaceAndRoute(program, tuple(arguments), kinds, register, clock)


def _clock(table: "_Table") -> ClockSource:
    source = ClockSource(
        cell=table.text("cell", _WORD, "a cell type"),
        output=table.text("output", _WORD, "a port"),
        input=table.text("input", _WORD, "a port") if table.has("input") else "",
        parameters=_words(table.table("parameters", optional=True), _WORD),
        attributes=_words(table.table("attributes", optional=True), _PART),
    )
    table.finish()
    return source


def _words(table: "_Table", pattern: re.Pattern[str]) -> dict[str, str]:
    words = {name: table.text(name, pattern, "a word") for name in table.keys_matching(_WORD)}
    table.finish()
    return words


def _register(table: "_Table") -> PortRegister:
    register = PortRegister(
        cell=table.text("cell", _WORD, "a cell type"),
        clock=table.text("clock", _WORD, "a port"),
        d=table.text("d", _WORD, "a port"),
        q=table.text("q", _WORD, "a port"),
        parameters=_words(table.table("parameters", optional=True), _WORD),
        tied=table.flag("tied"),
    )
    table.finish()
    return register


class _Table:
    """A table of a target file that complains about wrong values and about unread keys."""

    def __init__(self, origin: str, path: str, content: Mapping[str, Any]):
        self._origin = origin
        self._path = path
        self._content = content
        self._unread = set(content)

    def _take(self, key: str) -> Any:
        self._unread.discard(key)
        return self._content.get(key)

    def _error(self, key: str, expected: str) -> FormatError:
        value = self._content.get(key)
        found = "nothing" if value is None else repr(value)[:80]
        return FormatError(
            f"{self._origin} has {found} as {self._path + key!r}, expected {expected}"
        )

    def table(self, key: str, *, optional: bool = False) -> "_Table":
        value = self._take(key)
        if value is None and optional:
            value = {}
        if not isinstance(value, dict):
            raise self._error(key, "a table")
        return _Table(self._origin, f"{self._path}{key}.", value)

    def text(self, key: str, pattern: re.Pattern[str], expected: str) -> str:
        value = self._take(key)
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise self._error(key, expected)
        return value

    def has(self, key: str) -> bool:
        return key in self._content

    def flag(self, key: str) -> bool:
        value = self._take(key)
        if value is not None and not isinstance(value, bool):
            raise self._error(key, "true or false")
        return bool(value)

    def words(
        self, key: str, pattern: re.Pattern[str], expected: str, *, optional: bool = False
    ) -> tuple[str, ...]:
        value = self._take(key)
        if value is None and optional:
            return ()
        if not isinstance(value, list) or not all(
            isinstance(word, str) and pattern.fullmatch(word) for word in value
        ):
            raise self._error(key, f"a list of {expected}")
        return tuple(value)

    def option(self, key: str, pattern: re.Pattern[str] = _WORD) -> str | None:
        """Return the value of an option, None if it has none."""
        value = self._take(key)
        if value is True:
            return None
        text = str(value)
        if isinstance(value, str | int | float) and value is not False and pattern.fullmatch(text):
            return text
        raise self._error(key, "true, a number or a plain word")

    def counts(self, key: str) -> dict[str, int]:
        """Return a table of whole numbers, one for a kind of cells."""
        table = self.table(key, optional=True)
        counts = {}
        for kind in table.keys_among(KINDS):
            value = table._take(kind)
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise table._error(kind, "a number of cells")
            counts[kind] = value
        table.finish()
        return counts

    def keys_among(self, known: tuple[str, ...]) -> Iterator[str]:
        return (key for key in self._content if key in known)

    def keys_matching(
        self, pattern: re.Pattern[str], reserved: frozenset[str] = frozenset()
    ) -> Iterator[str]:
        return (key for key in self._content if pattern.fullmatch(key) and key not in reserved)

    def finish(self) -> None:
        for key in sorted(self._unread):
            raise FormatError(f"{self._origin} has {self._path + key!r}, which no target may have")
