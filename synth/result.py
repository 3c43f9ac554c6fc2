"""What synthesis, place and route say about a design."""

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Asic", "Cells", "Energy", "Hop", "SynthesisResult", "Timing", "Utilization"]


@dataclass(frozen=True, slots=True)
class Cells:
    """Number of cells of each kind.

    Parameters
    ----------
    lut4 : int
        LUT4, on parts that are made of them.
    lut6 : int
        LUTs of one to six inputs, on parts where each takes the place of a LUT6.
    carry : int
        Cells of carry chains, CCU2C on ECP5.
    mux : int
        Multiplexers that join LUTs to wider ones.
    gate : int
        Combinational cells of an ASIC library.
    other : int
        Cells of no known kind.
    lut4_equivalents, lut6_equivalents : int
        LUTs, plus those that cells of other kinds take: two LUT4 for a CCU2C.
    area : float
        Area of the standard cells, in the unit of :attr:`Asic.area_unit`; 0 on an FPGA.
    gate_equivalents : float
        That area in the smallest two-input NANDs of the library.
    """

    lut4: int = 0
    ff: int = 0
    carry: int = 0
    bram: int = 0
    dsp: int = 0
    other: int = 0
    lut4_equivalents: int = 0
    lut6: int = 0
    mux: int = 0
    gate: int = 0
    lut6_equivalents: int = 0
    area: float = 0.0
    gate_equivalents: float = 0.0

    @property
    def summary(self) -> str:
        """The logic and the flip-flops in a few words."""
        if self.gate or self.area:
            return f"{self.gate_equivalents:.0f} gate equivalents, {self.ff} FF"
        luts = f"{self.lut6} LUT6" if self.lut6 else f"{self.lut4} LUT4"
        return f"{luts}, {self.ff} FF"


@dataclass(frozen=True, slots=True)
class Utilization:
    """What a design takes of one resource of the part."""

    used: int
    available: int

    @property
    def share(self) -> float:
        """Used part, 0 to 1."""
        return self.used / self.available if self.available else 0.0


@dataclass(frozen=True, slots=True)
class Hop:
    """One piece of the critical path.

    Parameters
    ----------
    kind : str
        ``clk-to-q``, ``routing``, ``logic``, ``setup`` or ``clk-skew``.
    delay_ns : float
        Its delay.
    block : str
        The block of its cell, ``port`` for a register at a port. Mapping moves logic between two
        registers across the borders of blocks; such a cell goes by the nearest signal that is left.
    cell : str
        The cell in which the hop ends.
    net : str
        The net of a ``routing`` hop, by its name in the design if it has one; the net that the
        last register drives in a ``setup`` hop, if that has one; else empty.
    """

    kind: str
    delay_ns: float
    block: str
    cell: str
    net: str


@dataclass(frozen=True, slots=True)
class Timing:
    """Timing from register to register.

    A register stands at each port, so that the paths from the inputs and to the outputs count.

    Parameters
    ----------
    fmax_mhz : float
        Highest clock frequency, of the middle seed if there are several (the slower of two).
    goal_mhz : float
        What the tools were asked for.
    critical_path : tuple of Hop
        The slowest path of that seed.
    method : str
        ``post-route``, or for an ASIC ``static, no wires``, the delays of the cells alone, or
        ``static, wire load`` and the model of the library that stands for the wires.
    seeds : mapping
        The frequency for each seed of the placer; empty where there is none.
    """

    fmax_mhz: float
    goal_mhz: float
    critical_path: tuple[Hop, ...]
    method: str = "post-route"
    seeds: Mapping[int, float] = field(default_factory=dict)

    @property
    def period_ns(self) -> float:
        """Shortest clock period."""
        return 1000 / self.fmax_mhz

    @property
    def spread_mhz(self) -> dict[str, float]:
        """Lowest, middle and highest frequency over the seeds."""
        values = list(self.seeds.values()) or [self.fmax_mhz]
        return {"min": min(values), "median": statistics.median(values), "max": max(values)}


@dataclass(frozen=True, slots=True)
class Energy:
    """What an ASIC is estimated to use: no glitches, no clock tree.

    Parameters
    ----------
    switching_pj, internal_pj : float
        Energy per clock cycle of charging the inputs of cells, and inside the cells.
    vectors : int
        Vectors that entered while the activity was counted.
    activity : float
        Mean number of times that a net changes in a cycle.
    stimulus : str
        What was driven.
    vector_cycles : int
        Cycles from one vector to the next: the beats of its packet, if any.
    wires_pj : float, optional
        Energy per clock cycle of charging wires, those of the clock left out; None if the library
        has no model of them.
    """

    switching_pj: float
    internal_pj: float
    vectors: int
    activity: float
    stimulus: str
    vector_cycles: int = 1
    wires_pj: float | None = None

    @property
    def vector_pj(self) -> float:
        """Energy per vector, without wires and leakage."""
        return round((self.switching_pj + self.internal_pj) * self.vector_cycles, 6)


@dataclass(frozen=True, slots=True)
class Asic:
    """What an ASIC library says of a design.

    Parameters
    ----------
    library : str
        Its own name.
    is_invented : bool
        Whether its values are made up, for comparisons only: no process has them.
    area_unit : str
        ``um2``, or ``library units`` where nothing says that.
    nand2_area : float
        Area of the smallest two-input NAND; 0 if there is none.
    cell_counts, cell_areas : mapping
        Number of cells of each type, and the area of all of them together.
    leakage_nw : float, optional
        Leakage of all cells; None if the library does not tell.
    voltage, temperature : float, optional
        The library's nominal conditions, in V and degrees Celsius.
    energy : Energy, optional
        None if it was not estimated.
    has_delays : bool
        Whether the library says how fast its cells are; else there is area alone.
    wire_load : str
        The library's model of wires that the timing takes; empty if it has none.
    fmax_without_wires_mhz : float, optional
        Highest clock frequency of the cells alone.
    """

    library: str
    is_invented: bool
    area_unit: str
    nand2_area: float
    cell_counts: Mapping[str, int]
    cell_areas: Mapping[str, float]
    leakage_nw: float | None = None
    voltage: float | None = None
    temperature: float | None = None
    energy: Energy | None = None
    has_delays: bool = True
    wire_load: str = ""
    fmax_without_wires_mhz: float | None = None


@dataclass(frozen=True, slots=True)
class SynthesisResult:
    """Area and timing of a design on a target.

    Parameters
    ----------
    target, device : str
        Name of the target, and its part.
    cells : Cells
        The whole design, flattened, as Yosys maps it.
    blocks : mapping
        Cells of each block, every block mapped on its own. They add up to more than ``cells``,
        because flattening lets logic merge across the borders of blocks. Empty if not asked for.
    utilization : mapping
        Resources of the part by kind of cell, after place and route if that was done. It includes
        the registers at the ports and what packing adds, such as entries into carry chains.
    timing : Timing, optional
        None if the target has no timing, the design has no path from register to register, or
        ``incomplete`` says why.
    port_registers : int
        Number of registers that place and route put at the ports; no part of ``cells``.
    tools : mapping
        Version of each tool.
    seconds : mapping
        Wall-clock time of each step; of the run that filled the cache, if the step came from there.
    title : str
        What the target is called in a report.
    levels : int, optional
        Cells on the longest path between registers or ports, a run along a carry chain counted
        once. It is a number of cells and no timing. None if it was not counted.
    asic : Asic, optional
        None on an FPGA.
    incomplete : str
        Why place and route gave no timing, with the log's name; empty if nothing is missing.
    counted : str
        At which step the cells are counted.
    """

    target: str
    device: str
    cells: Cells
    blocks: Mapping[str, Cells]
    utilization: Mapping[str, Utilization]
    timing: Timing | None
    port_registers: int
    tools: Mapping[str, str]
    seconds: Mapping[str, float]
    title: str = ""
    levels: int | None = None
    asic: Asic | None = None
    incomplete: str = ""
    counted: str = "after mapping, before packing"
