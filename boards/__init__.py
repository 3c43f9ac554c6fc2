"""Boards: a netlist behind a serial line, its bitstream, and the host that talks to it."""

from trilut.boards.batch import Batch, classify_table, to_csv
from trilut.boards.board import BOARDS, Board, Family, find_board, load_board
from trilut.boards.build import BoardBuild, build_board, program_board
from trilut.boards.design import BoardDesign
from trilut.boards.host import BoardError, BoardLink
from trilut.boards.simulated import LineFaults, SimulatedBoard, build_simulation

__all__ = [
    "BOARDS",
    "Batch",
    "Board",
    "BoardBuild",
    "BoardDesign",
    "BoardError",
    "BoardLink",
    "Family",
    "LineFaults",
    "SimulatedBoard",
    "build_board",
    "build_simulation",
    "classify_table",
    "find_board",
    "load_board",
    "program_board",
    "to_csv",
]
