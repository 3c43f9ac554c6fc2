"""The boards that are known, and how a file describes another."""

import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import Any

from trilut.errors import FormatError, ToolError
from trilut.extras import require
from trilut.files import read_bytes
from trilut.toml import TomlTable

__all__ = ["BOARDS", "Board", "Family", "Programmer", "find_board", "load_board"]


class Family(StrEnum):
    """Families of parts, each with its tools."""

    ICE40 = "ice40"
    ECP5 = "ecp5"
    GOWIN = "gowin"
    XC7 = "xc7"

    @property
    def sums(self) -> str:
        """What sums of trits are made of: the same as on the synthesis target of that name."""
        return {"ice40": "carry", "ecp5": "ecp5", "gowin": "generic", "xc7": "xilinx"}[self]

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


def _from_amaranth_boards(module: str, name: str) -> Callable[[], Any]:
    def make() -> Any:
        require("amaranth_boards")
        return getattr(importlib.import_module(f"amaranth_boards.{module}"), name)()

    return make


def _icebreaker() -> Any:
    platform = _from_amaranth_boards("icebreaker", "ICEBreakerPlatform")()
    # The section with five LEDs can be broken off, but on most boards it still is there.
    platform.add_resources(platform.break_off_pmod)
    return platform


def _orangecrab() -> Any:
    from amaranth.build import Attrs
    from amaranth.vendor import LatticePlatform
    from amaranth_boards.resources import UARTResource

    base = type(_from_amaranth_boards("orangecrab_r0_2", "OrangeCrabR0_2Platform")())
    # Without its last step, a tool that few have and that appends 16 bytes to the bitstream.
    commands = {"command_templates": LatticePlatform.command_templates}
    platform = type("OrangeCrabPlatform", (base,), commands)()
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
            _from_amaranth_boards("ulx3s", "ULX3S_85F_Platform"),
            (_LOADER, "-b", "ulx3s"),
        ),
        Board(
            "ulx3s-12f",
            "ULX3S, Lattice LFE5U-12F",
            Family.ECP5,
            _from_amaranth_boards("ulx3s", "ULX3S_12F_Platform"),
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
            _from_amaranth_boards("tang_nano_9k", "TangNano9kPlatform"),
            (_LOADER, "-b", "tangnano9k"),
        ),
        Board(
            "arty-a7",
            "Arty A7-35T, Xilinx XC7A35T (Vivado)",
            Family.XC7,
            _from_amaranth_boards("arty_a7", "ArtyA7_35Platform"),
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
_KEYS = (
    *("title", "family", "device", "package", "speed", "gowin_family"),
    *("program", "program_board", "clock", "uart", "leds", "attributes"),
)
_TABLES = {
    "clock": ("pin", "mhz"),
    "uart": ("rx", "tx"),
    "leds": ("pins", "active_low"),
}


def load_board(path: str | Path) -> Board:
    """Read the description of a board; ``docs/boards.md`` has an example.

    Raises
    ------
    FormatError
        If the file cannot be read, or something in it is missing, unknown or not a plain word.
    """
    path = Path(path)
    table = TomlTable.parse(read_bytes(path), repr(str(path)))
    _check_keys(table)
    family = Family(table.choice("family", (Family.ICE40, Family.ECP5, Family.GOWIN)))
    programmer = table.choice("program", tuple(Programmer), default=Programmer.OPENFPGALOADER)
    arguments: tuple[str, ...] = ("-a", "0", "-D") if programmer == Programmer.DFU_UTIL else ()
    if programmer == Programmer.OPENFPGALOADER and "program_board" in table:
        arguments = ("-b", _word(table, "program_board"))
    members = _part(table, family) | {
        "default_clk": "clk",
        "connectors": [],
        "resources": _resources(table, str(path)),
    }
    platform = type("FilePlatform", (_base(family),), members)
    try:
        platform()
    except ValueError as error:
        # Of a Gowin part, which Amaranth takes apart.
        raise FormatError(f"{str(path)!r}: {error}") from error
    return Board(
        path.stem,
        table.text("title", _TITLE, "a line of text", default=path.stem),
        family,
        platform,
        (programmer, *arguments),
    )


def _check_keys(table: TomlTable) -> None:
    table.check_keys(_KEYS)
    for name, keys in _TABLES.items():
        table.table(name, optional=True).check_keys(keys)


def _word(table: TomlTable, key: str) -> str:
    return table.text(key, _WORD, "a plain word in quotes")


def _base(family: Family) -> Any:
    from amaranth import vendor

    return {
        Family.ICE40: vendor.LatticeICE40Platform,
        Family.ECP5: vendor.LatticeECP5Platform,
        Family.GOWIN: vendor.GowinPlatform,
    }[family]


def _part(table: TomlTable, family: Family) -> dict[str, str]:
    if family is Family.GOWIN:
        return {
            "part": table.text("device", _PART, "a plain word in quotes"),
            "family": _word(table, "gowin_family"),
        }
    members = {
        "device": table.choice("device", tuple(_base(family)._nextpnr_device_options)),
        "package": _word(table, "package"),
    }
    if family is Family.ECP5:
        packages = tuple(_base(family)._nextpnr_package_options)
        members["package"] = table.choice("package", packages)
        members["speed"] = table.choice("speed", ("6", "7", "8"))
    return members


def _resources(table: TomlTable, path: str) -> list[Any]:
    from amaranth.build import Attrs, Clock, Pins, Resource
    from amaranth_boards.resources import LEDResources, UARTResource

    clock, uart, leds, attributes = (
        table.table(name, optional=True) for name in ("clock", "uart", "leds", "attributes")
    )
    pin, rx, tx = _word(clock, "pin"), _word(uart, "rx"), _word(uart, "tx")
    lights = leds.words("pins", _WORD, "plain words", optional=True)
    _check_pins([pin, rx, tx, *lights], path)
    attributes.match_keys(_WORD, "a plain word")
    attrs = Attrs(**{name: _word(attributes, name) for name in attributes})
    return [
        Resource("clk", 0, Pins(pin, dir="i"), Clock(_megahertz(clock) * 1e6), attrs),
        UARTResource(0, rx=rx, tx=tx, attrs=attrs),
        *LEDResources(pins=" ".join(lights), invert=leds.flag("active_low"), attrs=attrs),
    ]


def _check_pins(pins: Sequence[str], path: str) -> None:
    for pin in pins:
        if pins.count(pin) > 1:
            raise FormatError(f"{path!r}: pin {pin!r} is used more than once")


def _megahertz(clock: TomlTable) -> float:
    value = clock.get("mhz")
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1000:
        raise clock.wrong("mhz", "a number above 0 and below 1000")
    return float(value)
