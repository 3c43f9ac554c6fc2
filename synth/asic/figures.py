"""Standard cells: how Yosys maps to them, and area, timing and power of what it made."""

import dataclasses
from collections import Counter

from trilut.errors import FormatError
from trilut.synth.asic.activity import estimate_energy
from trilut.synth.asic.buffers import buffer_nets
from trilut.synth.asic.library import Library
from trilut.synth.asic.sta import slowest_path
from trilut.synth.asic.wires import WireLoad
from trilut.synth.mapped import MappedDesign
from trilut.synth.result import Asic, Hop, SynthesisResult, Timing
from trilut.synth.traffic import Traffic
from trilut.synth.yosys import Module

__all__ = ["CONSTRAINTS", "AsicDesign", "mapping_script"]

CONSTRAINTS = "set_load 0 [all_outputs]\n"
"""What ``library.constr`` holds: with it ABC puts buffers in and chooses the sizes of cells."""


def mapping_script(top: str, library: Library, frequency: float, *, flat: bool) -> str:
    """Return the commands that map a design to ``library.lib`` under ``library.constr``.

    Without delays there is nothing to meet: then the area alone counts.
    """
    flatten = " -flatten" if flat else ""
    goal = f" -D {1e6 / frequency:.0f} -constr library.constr" if library.has_delays else ""
    return (
        # The cells as black boxes, for the directions of their pins.
        "read_liberty -lib -ignore_miss_dir library.lib\n"
        f"synth -top {top}{flatten}\n"
        "dfflibmap -liberty library.lib\n"
        f"abc -liberty library.lib{goal}\n"
        # Bits that nobody sets are 0 in silicon too, once they are tied.
        "setundef -zero\n"
        "opt_clean -purge\n"
    )


class AsicDesign:
    """A design of standard cells.

    Parameters
    ----------
    design : MappedDesign
        The flattened design; it is changed.
    library : Library
        Its cells.
    traffic : Traffic, optional
        How vectors reach it; by default one enters in each cycle.

    Raises
    ------
    FormatError
        If a pin that a cell reads is open, because Yosys reads the library in another way.
    """

    def __init__(self, design: MappedDesign, library: Library, traffic: Traffic | None = None):
        self._design = design
        self._library = library
        self._traffic = traffic
        self._wires = library.wire_load(_area(design.module, library))
        _check_inputs(design.module, library)

    def buffer(self) -> int:
        """Give nets that drive too much trees of buffers; see :func:`buffer_nets`."""
        return buffer_nets(self._design.module, self._library, self._wires)

    def complete(self, result: SynthesisResult, frequency: float) -> SynthesisResult:
        """Add timing, leakage and energy to the area of a design.

        A flip-flop stands at each port for the timing, as on an FPGA.
        """
        asic = self._asic(self._design.module)
        if not self._library.has_delays:
            return dataclasses.replace(result, asic=asic)
        ports = self._design.register_ports(self._library.register)
        bare = self._timing(frequency, None)
        timing = bare if self._wires is None else self._timing(frequency, self._wires)
        asic = dataclasses.replace(
            asic, fmax_without_wires_mhz=None if bare is None else round(bare.fmax_mhz, 2)
        )
        return dataclasses.replace(result, asic=asic, timing=timing, port_registers=ports)

    def _asic(self, module: Module) -> Asic:
        library = self._library
        counts = Counter(
            cell["type"] for cell in module["cells"].values() if cell["type"] in library.cells
        )
        leakages = [
            None if (leakage := library.cells[name].leakage) is None else leakage * count
            for name, count in counts.items()
        ]
        known = [leakage for leakage in leakages if leakage is not None]
        return Asic(
            library=library.name,
            is_invented=library.is_invented,
            area_unit="library units" if library.is_invented else "um2",
            nand2_area=library.areas.nand2,
            cell_counts=dict(counts.most_common()),
            cell_areas={
                name: round(library.cells[name].area * count, 4)
                for name, count in counts.most_common()
            },
            leakage_nw=round(sum(known) * library.nw, 4) if len(known) == len(leakages) else None,
            voltage=library.voltage,
            temperature=library.temperature,
            energy=estimate_energy(module, library, self._traffic, self._wires),
            has_delays=library.has_delays,
            wire_load="" if self._wires is None else self._wires.name,
        )

    def _timing(self, frequency: float, wires: WireLoad | None) -> Timing | None:
        path = slowest_path(self._design.module, self._library, wires)
        if not path or path[-1].time <= 0:
            return None
        period = path[-1].time * self._library.ns
        signals = self._design.signals
        names = self._design.bit_names
        hops = []
        for index, stage in enumerate(path):
            kind = "clk-to-q" if index == 0 else "setup" if index == len(path) - 1 else "logic"
            block = self._design.block_of(stage.cell)
            delay = round(stage.delay * self._library.ns, 4)
            net = signals.register_name(stage.cell) if kind == "setup" else ""
            hops.append(Hop(kind, delay, block, stage.cell, net))
            if kind != "setup":
                wire = signals.name(names.get(stage.bit, ""))
                hops.append(Hop("routing", 0.0, block, path[index + 1].cell, wire))
        method = "static, no wires" if wires is None else f"static, wire load {wires.name}"
        return Timing(1000 / period, frequency, tuple(hops), method=method)


def _area(module: Module, library: Library) -> float:
    types = (cell["type"] for cell in module["cells"].values())
    return sum(library.cells[name].area for name in types if name in library.cells)


def _check_inputs(module: Module, library: Library) -> None:
    for cell in module["cells"].values():
        if known := library.cells.get(cell["type"]):
            for pin in known.inputs_read:
                if not cell["connections"].get(pin):
                    raise FormatError(
                        f"Yosys leaves pin {pin!r} of cell {known.name!r} of the library open, "
                        "expected it to be connected"
                    )
