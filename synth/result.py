"""What synthesis, place and route say about a design."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Cells", "Hop", "SynthesisResult", "Timing", "Utilization"]


@dataclass(frozen=True, slots=True)
class Cells:
    """Number of cells of each kind.

    Parameters
    ----------
    carry : int
        Cells of carry chains, CCU2C on ECP5.
    other : int
        Cells of no known kind.
    lut4_equivalents : int
        LUT4, plus the LUT4 that cells of other kinds take: two for a CCU2C.
    """

    lut4: int = 0
    ff: int = 0
    carry: int = 0
    bram: int = 0
    dsp: int = 0
    other: int = 0
    lut4_equivalents: int = 0


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
        The net of a ``routing`` hop, else empty.
    """

    kind: str
    delay_ns: float
    block: str
    cell: str
    net: str


@dataclass(frozen=True, slots=True)
class Timing:
    """Timing after place and route, from register to register.

    A register stands at each port, so that the paths from the inputs and to the outputs count.

    Parameters
    ----------
    fmax_mhz : float
        Highest clock frequency.
    goal_mhz : float
        What place and route was asked for.
    critical_path : tuple of Hop
        The slowest path.
    """

    fmax_mhz: float
    goal_mhz: float
    critical_path: tuple[Hop, ...]

    @property
    def period_ns(self) -> float:
        """Shortest clock period."""
        return 1000 / self.fmax_mhz


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
        None if the design was not placed and routed, or has no path from register to register.
    port_registers : int
        Number of registers that place and route put at the ports; no part of ``cells``.
    tools : mapping
        Version of each tool.
    seconds : mapping
        Wall-clock time of each step.
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

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold; ``fmax_mhz`` is None without timing."""
        timing = self.timing
        return {
            "target": self.target,
            "device": self.device,
            **asdict(self.cells),
            "blocks": {name: asdict(cells) for name, cells in self.blocks.items()},
            "blocks_method": "each block mapped on its own",
            "utilization": {
                kind: {"used": use.used, "available": use.available, "share": round(use.share, 4)}
                for kind, use in self.utilization.items()
            },
            "fmax_mhz": None if timing is None else round(timing.fmax_mhz, 2),
            "period_ns": None if timing is None else round(timing.period_ns, 3),
            "goal_mhz": None if timing is None else timing.goal_mhz,
            "critical_path": []
            if timing is None
            else [asdict(hop) for hop in timing.critical_path],
            "port_registers": self.port_registers,
            "tools": dict(self.tools),
            "seconds": {step: round(seconds, 1) for step, seconds in self.seconds.items()},
        }
