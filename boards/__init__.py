"""Boards: a netlist behind a serial line, its bitstream, and the host that talks to it."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from trilut.extras import explained as _explained

if TYPE_CHECKING:
    from trilut.boards.batch import Batch, classify_table, to_csv
    from trilut.boards.board import BOARDS, Board, Family, find_board, load_board
    from trilut.boards.build import BoardBuild, build_board, program_board
    from trilut.boards.design import BoardDesign
    from trilut.boards.host import BoardError, BoardLink
    from trilut.boards.simulation import LineErrors, SimulatedBoard, build_simulation

__all__ = [
    "BOARDS",
    "Batch",
    "Board",
    "BoardBuild",
    "BoardDesign",
    "BoardError",
    "BoardLink",
    "Family",
    "LineErrors",
    "SimulatedBoard",
    "build_board",
    "build_simulation",
    "classify_table",
    "find_board",
    "load_board",
    "program_board",
    "to_csv",
]

# A host beside a board needs no Amaranth, and who builds for one no serial port.
_MODULES = {
    **dict.fromkeys(("BOARDS", "Board", "Family", "find_board", "load_board"), "board"),
    **dict.fromkeys(("Batch", "classify_table", "to_csv"), "batch"),
    **dict.fromkeys(("BoardBuild", "build_board", "program_board"), "build"),
    **dict.fromkeys(("LineErrors", "SimulatedBoard", "build_simulation"), "simulation"),
    **dict.fromkeys(("BoardError", "BoardLink"), "host"),
    "BoardDesign": "design",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with _explained():
        return getattr(_import_module(f"{__name__}.{_MODULES[name]}"), name)
