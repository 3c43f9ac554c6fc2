"""The shuttles of Tiny Tapeout: their process, the sizes of their tiles, and what fits."""

from collections.abc import Mapping
from dataclasses import dataclass

from trilut.errors import ToolError

__all__ = ["SHUTTLES", "Block", "Shuttle", "choose_block"]

# Of the area of a block that cells take. From the first on, routing may fail; from the second on,
# it hardly ever succeeds.
_DOUBTFUL, _HOPELESS = 0.4, 0.6


@dataclass(frozen=True, slots=True)
class Shuttle:
    """A process on which Tiny Tapeout makes chips.

    Parameters
    ----------
    name : str
        What to call it on the command line.
    process : str
        What Tiny Tapeout's tools call it.
    tag : str
        Release of their GitHub actions.
    hardening : mapping
        What the action that hardens a project is told.
    models : tuple of str
        Verilog files of the process kit, from its root on, for simulation of gates.
    blocks : mapping
        Width and height, in µm, of each number of tiles that a project can have.
    library : str
        The standard cells by whose area a block is chosen; empty if the user must name their file.
    liberty : str
        The file with those cells in the process kit.
    """

    name: str
    process: str
    tag: str
    hardening: Mapping[str, str]
    models: tuple[str, ...]
    blocks: Mapping[str, tuple[float, float]]
    library: str
    liberty: str


@dataclass(frozen=True, slots=True)
class Block:
    """A number of tiles for cells of some area.

    Parameters
    ----------
    tiles : str
        Columns and rows, as ``2x2``.
    area : float
        Of the block, in µm².
    utilization : float
        Share of that area which the cells take.
    """

    tiles: str
    area: float
    utilization: float

    @property
    def is_doubtful(self) -> bool:
        """Whether place and route may fail."""
        return self.utilization > _DOUBTFUL


_SKY130 = Shuttle(
    name="sky130",
    process="sky130A",
    tag="ttsky26a",
    hardening={"pdk": "sky130A"},
    models=(
        "sky130A/libs.ref/sky130_fd_sc_hd/verilog/primitives.v",
        "sky130A/libs.ref/sky130_fd_sc_hd/verilog/sky130_fd_sc_hd.v",
    ),
    blocks={
        "1x1": (161.0, 111.52),
        "1x2": (161.0, 225.76),
        "2x2": (334.88, 225.76),
        "3x2": (508.76, 225.76),
        "4x2": (682.64, 225.76),
        "6x2": (1030.4, 225.76),
        "8x2": (1378.16, 225.76),
    },
    library="sky130",
    liberty="sky130_fd_sc_hd__tt_025C_1v80.lib",
)
_IHP = Shuttle(
    name="ihp",
    process="ihp-sg13g2",
    tag="ttihp26a",
    hardening={"pdk": "ihp-sg13g2", "librelane-version": "3.0.0.dev44"},
    models=(
        "ihp-sg13g2/libs.ref/sg13g2_io/verilog/sg13g2_io.v",
        "ihp-sg13g2/libs.ref/sg13g2_stdcell/verilog/sg13g2_stdcell.v",
    ),
    blocks={
        "1x1": (202.08, 154.98),
        "1x2": (202.08, 313.74),
        "2x2": (419.52, 313.74),
        "3x2": (636.96, 313.74),
        "4x2": (854.4, 313.74),
        "6x2": (1289.28, 313.74),
        "8x2": (1724.16, 313.74),
    },
    library="",
    liberty="sg13g2_stdcell_typ_1p20V_25C.lib",
)
SHUTTLES: Mapping[str, Shuttle] = {shuttle.name: shuttle for shuttle in (_SKY130, _IHP)}
"""The shuttles by name."""


def choose_block(shuttle: Shuttle, area: float, tiles: str | None = None) -> Block:
    """Return the smallest block in which cells of an area can be placed and routed.

    Where none leaves enough room to be sure of that, it is the largest one.

    Parameters
    ----------
    area : float
        Of all cells, in µm².
    tiles : str, optional
        The block to take instead.

    Raises
    ------
    ToolError
        If there is no such block, or the cells fill it so far that routing must fail.
    """
    if tiles is not None and tiles not in shuttle.blocks:
        raise ToolError(
            f"There is no block of {tiles!r} tiles on {shuttle.name}, "
            f"expected one of {', '.join(shuttle.blocks)}"
        )
    blocks = [_block(shuttle, name, area) for name in ([tiles] if tiles else shuttle.blocks)]
    chosen = next((block for block in blocks if not block.is_doubtful), blocks[-1])
    if chosen.utilization > _HOPELESS:
        size = f"a block of {tiles} tiles" if tiles else f"the largest block, {chosen.tiles} tiles"
        raise ToolError(
            f"The cells take {area:,.0f} µm², {chosen.utilization:.0%} of {size} "
            f"({chosen.area:,.0f} µm²); above {_HOPELESS:.0%} it cannot be routed"
        )
    return chosen


def _block(shuttle: Shuttle, tiles: str, area: float) -> Block:
    width, height = shuttle.blocks[tiles]
    return Block(tiles, round(width * height, 2), area / (width * height))
