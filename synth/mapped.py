"""The mapped netlist, as Yosys writes it in JSON: counting its cells and closing its ports."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trilut.files import read_bytes, write_atomically
from trilut.synth.carries import open_carries
from trilut.synth.combining import combine_tables
from trilut.synth.graph import cell_levels
from trilut.synth.result import Cells
from trilut.synth.signals import Signals
from trilut.synth.target import FREE, KINDS, ClockSource, PortRegister, Target
from trilut.synth.yosys import Bit, Cell, Module, Port

__all__ = ["PORT_BLOCK", "TOP_BLOCK", "Areas", "MappedDesign"]

TOP_BLOCK = "top"
"""Name of the block of what lies in no submodule."""
PORT_BLOCK = "port"
"""Name of the block of the registers at the ports."""

_BLOCK = re.compile(r"loader|encoder|layer_[0-9]+|groupsum|argmax|control")
_CLOCK = "clk"
_LINE = re.compile(r"design\.v:([0-9]+)")
_LINES = re.compile(r"design\.v:([0-9]+)\.[0-9]+-([0-9]+)")


@dataclass(frozen=True, slots=True)
class Areas:
    """Area of each type of standard cell, and of the NAND that it is compared with."""

    cells: Mapping[str, float]
    nand2: float


class MappedDesign:
    """A mapped design.

    Parameters
    ----------
    path : Path
        File that ``write_json`` has written.
    top : str
        Name of the top module.
    """

    def __init__(self, path: Path, top: str):
        self._document: dict[str, Any] = json.loads(read_bytes(path))
        self._modules: Mapping[str, Module] = self._document["modules"]
        self._top: Module = self._modules[top]

    @property
    def module(self) -> Module:
        """The top module, as Yosys writes it."""
        return self._top

    def count(self, target: Target, areas: Areas | None = None) -> Cells:
        """Count the cells of the whole design."""
        return _cells((cell for _, cell in self._cells(self._top, ())), target, areas)

    def levels(self, target: Target) -> int:
        """Count the cells on the longest path of a flattened design; see :func:`cell_levels`."""
        return max(cell_levels(self._top, target.kind).values(), default=0)

    def count_blocks(self, target: Target, areas: Areas | None = None) -> dict[str, Cells]:
        """Count the cells of each block: the submodules that the design is known by."""
        types: dict[str, list[str]] = {}
        for path, cell in self._cells(self._top, ()):
            types.setdefault(_block(path), []).append(cell)
        return {name: _cells(types[name], target, areas) for name in sorted(types, key=_order)}

    def _cells(
        self, module: Module, path: tuple[str, ...]
    ) -> Iterator[tuple[tuple[str, ...], str]]:
        """Give the instance path and the type of every cell."""
        for name, cell in module["cells"].items():
            if self._is_submodule(cell):
                yield from self._cells(self._modules[cell["type"]], (*path, name))
            elif cell["type"] != "$scopeinfo":
                yield path, cell["type"]

    def block_of(self, cell: str) -> str:
        """Return the block of a cell of a flattened design.

        A register knows the line that declares it. The rest of the logic has only the path in its
        name, which is that of the nearest signal that was left.
        """
        cells = self._top["cells"]
        attributes = cells[cell].get("attributes", {}) if cell in cells else {}
        if source := _LINE.match(attributes.get("src", "")):
            for first, last, block in self._scopes():
                if first <= int(source[1]) <= last:
                    return block
        *path, _ = cell.split(".")
        return _block(tuple(path))

    def _scopes(self) -> Iterator[tuple[int, int, str]]:
        """Give the first and the last line of each module that was flattened, and its block."""
        for name, cell in self._top["cells"].items():
            if cell["type"] == "$scopeinfo" and (
                lines := _LINES.match(cell["attributes"].get("module_src", ""))
            ):
                yield int(lines[1]), int(lines[2]), _block(tuple(name.split(".")))

    @property
    def signals(self) -> Signals:
        """The names of the nets of a flattened design."""
        return Signals(self._top)

    @property
    def bit_names(self) -> dict[int, str]:
        """A name of each bit of a flattened design, as the tools write it."""
        return {
            bit: f"{name}[{index}]" if len(net["bits"]) > 1 else name
            for name, net in self._top["netnames"].items()
            for index, bit in enumerate(net["bits"], start=net.get("offset", 0))
            if isinstance(bit, int)
        }

    @property
    def has_clock(self) -> bool:
        """Whether there is a port ``clk``."""
        return _CLOCK in self._top["ports"]

    def combine_tables(self, target: Target) -> int:
        """Put pairs of tables into one place, and return how many; see :func:`combine_tables`.

        A module with submodules stays as it is: which of its tables depend on each other is then
        not known.
        """
        leaves = [
            module
            for module in self._modules.values()
            if not any(self._is_submodule(cell) for cell in module["cells"].values())
        ]
        return sum(combine_tables(module, target.kind) for module in leaves)

    def _is_submodule(self, cell: Cell) -> bool:
        """Say whether a cell is a module of the design; those of the part are black boxes."""
        definition = self._modules.get(cell["type"])
        return definition is not None and "blackbox" not in definition["attributes"]

    def open_carries(self) -> int:
        """Open the ends of carry chains that lead nowhere; see :func:`open_carries`."""
        return open_carries(self._top)

    def register_ports(self, register: PortRegister, source: ClockSource | None = None) -> int:
        """Put a register at every port but the clock, and return how many there are.

        A design then needs a single pin, whatever the number of its ports, and the paths from its
        inputs and to its outputs lie between registers. The other side of these registers is open:
        nextpnr removes nothing. A design without a clock gets one, and ``source`` drives it.
        """
        ports = self._top["ports"]
        unclocked: Port = {"direction": "input", "bits": [self._free_bit()]}
        clock = ports.pop(_CLOCK, unclocked)
        clock_bit = clock["bits"][0]
        self._top["ports"] = {_CLOCK: clock}
        if source is not None:
            self._drive_clock(source, clock)
        read = self._bits_read(ports.values())
        count = 0
        for name, port in ports.items():
            is_input = port["direction"] == "input"
            for index, bit in enumerate(port["bits"]):
                # Bits can be constants, which are text, and inputs that nothing reads.
                if isinstance(bit, int) and (not is_input or bit in read):
                    cell = _register_cell(register, clock_bit, bit, is_input=is_input)
                    self._top["cells"][f"${PORT_BLOCK}.{name}[{index}]"] = cell
                    count += 1
        return count

    def _drive_clock(self, source: ClockSource, clock: Port) -> None:
        """Put a cell between the pin of the clock and the design, or in the place of the pin."""
        connections = {source.output: clock["bits"]}
        self._top["ports"] = {}
        if source.input:
            # A design without a clock has a bit for it that no cell has yet.
            taken = [bit for bit in clock["bits"] if isinstance(bit, int)]
            pin: list[Bit] = [1 + max(self._free_bit(), *taken)]
            connections[source.input] = pin
            self._top["ports"] = {_CLOCK: {**clock, "bits": pin}}
            # nextpnr knows a port by the net of its name, which is now another.
            self._top["netnames"][_CLOCK] = {"hide_name": 0, "bits": pin, "attributes": {}}
        self._top["cells"]["$clock"] = {
            "hide_name": 0,
            "type": source.cell,
            "parameters": _texts(source.parameters),
            "attributes": dict(source.attributes),
            "port_directions": {
                port: "output" if port == source.output else "input" for port in connections
            },
            "connections": connections,
        }

    def _bits_read(self, ports: Iterable[Port]) -> set[int | str]:
        """Return the bits that a cell or an output reads."""
        groups = [port["bits"] for port in ports if port["direction"] != "input"]
        for cell in self._top["cells"].values():
            directions = cell["port_directions"]
            groups += [
                bits for name, bits in cell["connections"].items() if directions[name] != "output"
            ]
        return {bit for bits in groups for bit in bits}

    def _free_bit(self) -> int:
        nets = self._top["netnames"].values()
        return 1 + max(
            (bit for net in nets for bit in net["bits"] if isinstance(bit, int)), default=1
        )

    def save(self, path: Path) -> None:
        """Write the design for nextpnr."""
        write_atomically(path, json.dumps(self._document))


def _block(path: tuple[str, ...]) -> str:
    """Return the first name on the path that is one of ours, else the outermost."""
    for name in path:
        if _BLOCK.fullmatch(name):
            return name
    return path[0].removeprefix("$") if path else TOP_BLOCK


def _order(block: str) -> tuple[int, int, str]:
    """Sort blocks as data flows through them."""
    flow = ("loader", "encoder", "layer", "groupsum", "argmax", "control")
    if not _BLOCK.fullmatch(block):
        return (len(flow), 0, block)
    name, _, number = block.partition("_")
    return (flow.index(name), int(number or 0), block)


def _cells(types: Iterable[str], target: Target, areas: Areas | None) -> Cells:
    cells = Counter(types)
    kinds: Counter[str] = Counter()
    for cell_type, count in cells.items():
        kinds[target.kind(cell_type) or "other"] += count
    del kinds[FREE]
    if areas is not None:
        area = sum(areas.cells.get(cell_type, 0.0) * count for cell_type, count in cells.items())
        gates = area / areas.nand2 if areas.nand2 else 0.0
        return Cells(**kinds, area=round(area, 4), gate_equivalents=round(gates, 1))
    extra = sum(target.equivalents.get(kind, 0) * kinds[kind] for kind in KINDS)
    return Cells(**kinds, **{f"{target.lut}_equivalents": kinds[target.lut] + extra})


def _texts(parameters: Mapping[str, str]) -> dict[str, str]:
    """Return parameters as Yosys writes texts: one that could be binary is marked with a space."""
    return {
        name: f"{value} " if re.fullmatch(r"[01xz]*", value) else value
        for name, value in parameters.items()
    }


def _register_cell(register: PortRegister, clock: Bit, bit: Bit, *, is_input: bool) -> Cell:
    return {
        "hide_name": 0,
        "type": register.cell,
        "parameters": _texts(register.parameters),
        "attributes": dict(register.attributes),
        "port_directions": {
            **dict.fromkeys((register.clock, register.d, *register.ties), "input"),
            register.q: "output",
        },
        "connections": {
            **{pin: [value] for pin, value in register.ties.items()},
            register.clock: [clock],
            register.d: [bit] if not is_input else ["0"] if register.tied else [],
            register.q: [bit] if is_input else [],
        },
    }
