"""Chips: a Tiny Tapeout project of a netlist, with the tiles that it needs."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from trilut.boards.shuttle import SHUTTLES, Block, choose_block
from trilut.boards.tinytapeout import CORE, project_top, write_project, write_sources
from trilut.circuit.netlist import Netlist
from trilut.errors import ToolError
from trilut.files import make_directory, read_bytes, work_directory, write_atomically
from trilut.hdl.design import Design

__all__ = ["TinyTapeout", "make_tinytapeout"]


@dataclass(frozen=True, slots=True)
class TinyTapeout:
    """A Tiny Tapeout project.

    Parameters
    ----------
    directory : Path
        Where it is.
    process : str
        For which process.
    top : str
        Name of its module.
    block : Block
        Its tiles.
    cell_area : float
        Of all cells, in µm².
    flip_flops : int
        How many of the cells are flip-flops.
    clock_mhz : float
        The clock that it is hardened for.
    fmax_mhz : float, optional
        The highest frequency of the cells, without wires; None if the library has no delays.
    packet_bytes, latency : int
        Bytes of a sample, and clock cycles from the last one to the result.
    author : str
        As it stands in ``info.yaml``.
    """

    directory: Path
    process: str
    top: str
    block: Block
    cell_area: float
    flip_flops: int
    clock_mhz: float
    fmax_mhz: float | None
    packet_bytes: int
    latency: int
    author: str


def make_tinytapeout(
    netlist: Netlist,
    directory: str | Path,
    *,
    shuttle: str = "sky130",
    top: str | None = None,
    author: str = "",
    tiles: str | None = None,
    clock_mhz: float = 10.0,
    liberty: str | Path | None = None,
    timeout: float = 3600.0,
    progress: Callable[[str], None] | None = None,
) -> TinyTapeout:
    """Write a project for Tiny Tapeout, in a block of tiles that fits its cells.

    Parameters
    ----------
    netlist : Netlist
        A circuit with an encoder and a head.
    directory : path
        Where the project goes; made if necessary.
    shuttle : str
        One of :data:`~trilut.boards.shuttle.SHUTTLES`.
    top : str, optional
        Name of the top module, from ``tt_um_`` on; by default made of the netlist's.
    author : str
        Whose project it is.
    tiles : str, optional
        The block, if not the smallest that fits.
    clock_mhz : float
        Frequency of the clock.
    liberty : path, optional
        The process's cells, with delays. Needed where no library is known by name.
    timeout : float
        Seconds that each step may take.
    progress : callable, optional
        Called with the name of each step when it begins.

    Raises
    ------
    NetlistError
        If the netlist has no encoder or no head, or the name of the module is not one.
    ToolError
        If the shuttle or the block is unknown, the cells do not fit or are too slow, or a tool
        fails.
    """
    liberty = None if liberty is None else Path(liberty)
    directory = Path(directory)
    from trilut.synth import SynthesisSettings, load_target, synthesize
    from trilut.synth.asic.sources import load_library
    from trilut.synth.models import write_mapped_verilog

    chosen = SHUTTLES[shuttle]
    if not chosen.library and liberty is None:
        raise ToolError(
            f"No package has the cells of {chosen.process}; give them with "
            f"--liberty {chosen.liberty}, from its process kit"
        )
    name = project_top(netlist, top)
    say = progress or (lambda step: None)
    target = load_target(f"asic:{chosen.library}" if chosen.library else "asic")
    settings = SynthesisSettings(frequency=clock_mhz, liberty=liberty, timeout=timeout)
    with work_directory(make_directory(directory), logs=directory / "logs") as work:
        say("Verilog")
        design = write_sources(netlist, work / "src", name)
        whole = work / "whole.v"
        write_atomically(whole, _joined(design))
        result = synthesize(
            whole, name, target, out=work, settings=settings, blocks=False, progress=say
        )
        block = choose_block(chosen, result.cells.area, tiles)
        fmax = None if result.timing is None else result.timing.fmax_mhz
        if fmax is not None and fmax < clock_mhz:
            raise ToolError(
                f"The cells reach {fmax:.1f} MHz before wires, but the clock has {clock_mhz:g} "
                "MHz; lower it with --clock"
            )
        library = load_library(target.library, liberty)
        gates = write_mapped_verilog(work, name, target, library=library, timeout=timeout)
        for path in ("project.v", f"{CORE}.v"):
            make_directory(directory / "src")
            write_atomically(directory / "src" / path, read_bytes(work / "src" / path))
        write_project(
            design,
            directory,
            chosen,
            block,
            top=name,
            author=author,
            clock_mhz=clock_mhz,
            gates=gates.path.read_text(),
            cells=gates.models,
        )
    return TinyTapeout(
        directory=directory,
        process=chosen.process,
        top=name,
        block=block,
        cell_area=result.cells.area,
        flip_flops=result.cells.ff,
        clock_mhz=clock_mhz,
        fmax_mhz=fmax,
        packet_bytes=design.interface.num_beats,
        latency=design.interface.latency,
        author=author,
    )


def _joined(design: Design) -> bytes:
    """Return the sources as one file."""
    return read_bytes(design.path) + b"\n" + read_bytes(design.path.parent / "project.v")
