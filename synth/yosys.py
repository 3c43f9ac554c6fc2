"""Netlists as Yosys writes them in JSON: types for what is read and changed there."""

from typing import NotRequired, TypedDict

__all__ = ["Bit", "Cell", "Module", "Port"]

Bit = int | str
"""A wire by its number, or the constant ``0``, ``1`` or ``x``."""


class Port(TypedDict):
    """A port of a module."""

    direction: str
    bits: list[Bit]


class Cell(TypedDict):
    """An instance of a cell or of another module."""

    type: str
    connections: dict[str, list[Bit]]
    port_directions: dict[str, str]
    parameters: dict[str, str]
    attributes: NotRequired[dict[str, str]]
    hide_name: NotRequired[int]


class NetName(TypedDict):
    """A named wire."""

    bits: list[Bit]
    offset: NotRequired[int]
    hide_name: NotRequired[int]
    attributes: NotRequired[dict[str, str]]


class Module(TypedDict):
    """A module: its ports, its cells and the names of its wires."""

    ports: dict[str, Port]
    cells: dict[str, Cell]
    netnames: dict[str, NetName]
    attributes: NotRequired[dict[str, str]]
