"""The boards that are known, and how a file describes another."""

import importlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import Any

from trilut.errors import FormatError, ToolError
from trilut.extras import require
from trilut.files import parse_toml, read_bytes

__all__ = ["BOARDS", "Board", "Family", "Programmer", "find_board", "load_board"]


class Family(StrEnum):
    """Families of parts, each with its tools."""

    ICE40 = "ice40"
    ECP5 = "ecp5"
    GOWIN = "gowin"
    XC7 = "xc7"

    @property
    def sums(self) -> str:
        """What sums of trits are made of; see :class:`~trilut.hdl.Classifier`."""
        return {"ice40": "carry", "ecp5": "ecp5", "gowin": "carry", "xc7": "xilinx"}[self]

    @property
    def tools(self) -> tuple[str, ...]:
        """The programs that make a bitstream; none if those are the vendor's."""
        return {
            "ice40": ("yosys", "nextpnr-ice40", "icepack"),
            "ecp5": ("yosys", "nextpnr-ecp5", "ecppack"),
            "gowin": ("yosys", "nextpnr-gowin", "gowin_pack"),
            "xc7": (),
        }[self]

    @property
    def bitstream(self) -> str:
        """What the name of a bitstream ends in."""
        return {"ice40": ".bin", "ecp5": ".bit", "gowin": ".fs", "xc7": ".bit"}[self]


class Programmer(StrEnum):
    """Programs that load a bitstream."""

    ICEPROG = "iceprog"
    OPENFPGALOADER = "openFPGALoader"
    DFU_UTIL = "dfu-util"


@dataclass(frozen=True, slots=True)
class Board:
    """A board.

    Parameters
    ----------
    name, title : str
        What to call it on the command line and in messages.
    family : Family
        Its part's family.
    platform : callable
        Makes its Amaranth platform, with the resources ``uart`` and ``led`` or ``rgb_led``.
    programmer : tuple of str
        The program that loads a bitstream, and its arguments before the bitstream's name.
    dfu : tuple of int, optional
        Vendor and product of the USB loader, if bitstreams must name them.
    """

    name: str
    title: str
    family: Family
    platform: Callable[[], Any]
    programmer: tuple[str, ...]
    dfu: tuple[int, int] | None = None


def _known(module: str, name: str) -> Callable[[], Any]:
    def make() -> Any:
        require("amaranth_boards")
        return getattr(importlib.import_module(f"amaranth_boards.{module}"), name)()

    return make


def _icebreaker() -> Any:
    platform = _known("icebreaker", "ICEBreakerPlatform")()
    # The section with five LEDs can be broken off, but on most boards it still is there.
    platform.add_resources(platform.break_off_pmod)
    return platform


def _orangecrab() -> Any:
    from amaranth.build import Attrs
    from amaranth.vendor import LatticePlatform
    from amaranth_boards.resources import UARTResource

    known = type(_known("orangecrab_r0_2", "OrangeCrabR0_2Platform")())
    # Without its last step, a tool that few have and that appends 16 bytes to the bitstream.
    commands = {"command_templates": LatticePlatform.command_templates}
    platform = type("OrangeCrabPlatform", (known,), commands)()
    # It has no serial port of its own: these are the pins marked RX and TX.
    attributes = Attrs(IO_TYPE="LVCMOS33", PULLMODE="UP")
    platform.add_resources([UARTResource(0, rx="0", tx="1", conn=("io", 0), attrs=attributes)])
    return platform


_LOADER = Programmer.OPENFPGALOADER.value

BOARDS: Mapping[str, Board] = {
    board.name: board
    for board in (
        Board(
            "icebreaker",
            "iCEBreaker, Lattice iCE40UP5K",
            Family.ICE40,
            _icebreaker,
            (Programmer.ICEPROG.value,),
        ),
        Board(
            "ulx3s",
            "ULX3S, Lattice LFE5U-85F",
            Family.ECP5,
            _known("ulx3s", "ULX3S_85F_Platform"),
            (_LOADER, "-b", "ulx3s"),
        ),
        Board(
            "ulx3s-12f",
            "ULX3S, Lattice LFE5U-12F",
            Family.ECP5,
            _known("ulx3s", "ULX3S_12F_Platform"),
            (_LOADER, "-b", "ulx3s"),
        ),
        Board(
            "orangecrab",
            "OrangeCrab r0.2, Lattice LFE5U-25F",
            Family.ECP5,
            _orangecrab,
            (Programmer.DFU_UTIL.value, "-a", "0", "-D"),
            dfu=(0x1209, 0x5AF0),
        ),
        Board(
            "tangnano9k",
            "Tang Nano 9K, Gowin GW1NR-9",
            Family.GOWIN,
            _known("tang_nano_9k", "TangNano9kPlatform"),
            (_LOADER, "-b", "tangnano9k"),
        ),
        Board(
            "arty-a7",
            "Arty A7-35T, Xilinx XC7A35T (Vivado)",
            Family.XC7,
            _known("arty_a7", "ArtyA7_35Platform"),
            (_LOADER, "-b", "arty"),
        ),
    )
}
"""The boards that are known by name."""


def find_board(name: str) -> Board:
    """Return a board by its name, or read it from a file whose name ends in ``.toml``.

    Raises
    ------
    ToolError
        If there is no such board.
    FormatError
        If the file cannot be read or is wrong.
    """
    if name.endswith(".toml"):
        return load_board(Path(name))
    if name not in BOARDS:
        close = get_close_matches(name, BOARDS, n=1)
        raise ToolError(
            f"There is no board {name!r}, expected one of {', '.join(map(repr, BOARDS))}, or a "
            "file that ends in .toml" + (f"; did you mean {close[0]!r}?" if close else "")
        )
    return BOARDS[name]


# What a file says ends up in constraint files and on command lines, and a file may come from
# anywhere. So every text is a plain word, and a programmer is one that we know.
_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9/-]*")
_TITLE = re.compile(r"[^\x00-\x1f\x7f]{1,100}")
_TABLES = {
    "": (
        *("title", "family", "device", "package", "speed", "gowin_family"),
        *("program", "program_board", "clock", "uart", "leds", "attributes"),
    ),
    "clock": ("pin", "mhz"),
    "uart": ("rx", "tx"),
    "leds": ("pins", "active_low"),
}


def load_board(path: Path) -> Board:
    """Read the description of a board; ``docs/boards.md`` has an example.

    Raises
    ------
    FormatError
        If the file cannot be read, or something in it is missing, unknown or not a plain word.
    """
    document = parse_toml(read_bytes(path), repr(str(path)))
    values = _Values(str(path), document)
    values.check_names()
    family = values.choice("", "family", (Family.ICE40, Family.ECP5, Family.GOWIN))
    programmer = values.choice("", "program", tuple(Programmer), default=Programmer.OPENFPGALOADER)
    arguments: tuple[str, ...] = ("-a", "0", "-D") if programmer == Programmer.DFU_UTIL else ()
    if programmer == Programmer.OPENFPGALOADER and "program_board" in document:
        arguments = ("-b", values.word("", "program_board"))
    members = _part(values, Family(family)) | {
        "default_clk": "clk",
        "connectors": [],
        "resources": _resources(values),
    }
    platform = type("FilePlatform", (_base(Family(family)),), members)
    try:
        platform()
    except ValueError as error:
        # Of a Gowin part, which Amaranth takes apart.
        raise FormatError(f"{str(path)!r}: {error}") from error
    return Board(
        path.stem,
        values.text("", "title", _TITLE, default=path.stem),
        Family(family),
        platform,
        (programmer, *arguments),
    )


def _base(family: Family) -> Any:
    from amaranth import vendor

    return {
        Family.ICE40: vendor.LatticeICE40Platform,
        Family.ECP5: vendor.LatticeECP5Platform,
        Family.GOWIN: vendor.GowinPlatform,
    }[family]


def _part(values: "_Values", family: Family) -> dict[str, str]:
    if family is Family.GOWIN:
        return {
            "part": values.text("", "device", _PART),
            "family": values.word("", "gowin_family"),
        }
    known = tuple(_base(family)._nextpnr_device_options)
    members = {
        "device": values.choice("", "device", known),
        "package": values.word("", "package"),
    }
    if family is Family.ECP5:
        packages = tuple(_base(family)._nextpnr_package_options)
        members["package"] = values.choice("", "package", packages)
        members["speed"] = values.choice("", "speed", ("6", "7", "8"))
    return members


def _resources(values: "_Values") -> list[Any]:
    from amaranth.build import Attrs, Clock, Pins, Resource
    from amaranth_boards.resources import LEDResources, UARTResource

    values.check_pins()
    attributes = Attrs(**{name: values.word("attributes", name) for name in values.attributes})
    return [
        Resource(
            "clk",
            0,
            Pins(values.word("clock", "pin"), dir="i"),
            Clock(values.megahertz() * 1e6),
            attributes,
        ),
        UARTResource(
            0, rx=values.word("uart", "rx"), tx=values.word("uart", "tx"), attrs=attributes
        ),
        *LEDResources(
            pins=" ".join(values.words("leds", "pins")),
            invert=values.flag("leds", "active_low"),
            attrs=attributes,
        ),
    ]


class _Values:
    """The values of a file, each checked when it is asked for."""

    def __init__(self, path: str, document: dict[str, Any]):
        self._path = path
        self._document = document

    def check_names(self) -> None:
        for table, names in _TABLES.items():
            given = self._table(table)
            for name in given:
                if name not in names:
                    where = f"[{table}] " if table else ""
                    raise FormatError(
                        f"{self._path!r}: {where}{name!r} is unknown, expected "
                        f"{', '.join(map(repr, names))}"
                    )

    def check_pins(self) -> None:
        pins = [self.word("clock", "pin"), self.word("uart", "rx"), self.word("uart", "tx")]
        pins += self.words("leds", "pins")
        for pin in pins:
            if pins.count(pin) > 1:
                raise FormatError(f"{self._path!r}: pin {pin!r} is used more than once")

    @property
    def attributes(self) -> list[str]:
        names = list(self._table("attributes"))
        for name in names:
            if not _WORD.fullmatch(name):
                raise FormatError(f"{self._path!r}: [attributes] {name!r} is not a plain word")
        return names

    def _table(self, table: str) -> dict[str, Any]:
        given = self._document if table == "" else self._document.get(table, {})
        if not isinstance(given, dict):
            raise FormatError(f"{self._path!r}: {table!r} is {given!r}, expected a table")
        return given

    def _wrong(self, table: str, name: str, value: Any, expected: str) -> FormatError:
        where = f"[{table}] " if table else ""
        said = "is missing" if value is None else f"is {value!r}"
        return FormatError(f"{self._path!r}: {where}{name!r} {said}, expected {expected}")

    def text(self, table: str, name: str, pattern: re.Pattern[str], default: str = "") -> str:
        value = self._table(table).get(name, default or None)
        if not (isinstance(value, str) and pattern.fullmatch(value)):
            expected = "a line of text" if pattern is _TITLE else "a plain word in quotes"
            raise self._wrong(table, name, value, expected)
        return value

    def word(self, table: str, name: str) -> str:
        return self.text(table, name, _WORD)

    def words(self, table: str, name: str) -> list[str]:
        values = self._table(table).get(name, [])
        if not (
            isinstance(values, list)
            and all(isinstance(value, str) and _WORD.fullmatch(value) for value in values)
        ):
            raise self._wrong(table, name, values, "a list of plain words")
        return values

    def flag(self, table: str, name: str) -> bool:
        value = self._table(table).get(name, False)
        if not isinstance(value, bool):
            raise self._wrong(table, name, value, "true or false")
        return value

    def choice(
        self, table: str, name: str, choices: tuple[str, ...], default: str | None = None
    ) -> str:
        value = self._table(table).get(name, default)
        if value not in choices:
            raise self._wrong(table, name, value, f"one of {', '.join(map(str, choices))}")
        return str(value)

    def megahertz(self) -> float:
        value = self._table("clock").get("mhz")
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1000:
            raise self._wrong("clock", "mhz", value, "a number above 0 and below 1000")
        return float(value)
