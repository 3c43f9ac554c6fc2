"""The mapped netlist, as Yosys writes it in JSON: counting its cells and closing its ports."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from trilut.files import read_bytes, write_atomically
from trilut.synth.carries import open_carries
from trilut.synth.result import Cells
from trilut.synth.target import KINDS, PortRegister, Target

__all__ = ["PORT_BLOCK", "TOP_BLOCK", "MappedDesign"]

TOP_BLOCK = "top"
"""Name of the block of what lies in no submodule."""
PORT_BLOCK = "port"
"""Name of the block of the registers at the ports."""

_BLOCK = re.compile(r"encoder|layer_[0-9]+|groupsum|argmax|control")
_CLOCK = "clk"
_LINE = re.compile(r"design\.v:([0-9]+)")
_LINES = re.compile(r"design\.v:([0-9]+)\.[0-9]+-([0-9]+)")


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
        self._modules: Mapping[str, Any] = self._document["modules"]
        self._top: dict[str, Any] = self._modules[top]

    def count(self, target: Target) -> Cells:
        """Count the cells of the whole design."""
        return _cells((cell for _, cell in self._cells(self._top, ())), target)

    def count_blocks(self, target: Target) -> dict[str, Cells]:
        """Count the cells of each block: the submodules that the design is known by."""
        types: dict[str, list[str]] = {}
        for path, cell in self._cells(self._top, ()):
            types.setdefault(_block(path), []).append(cell)
        return {name: _cells(types[name], target) for name in sorted(types, key=_order)}

    def _cells(
        self, module: Mapping[str, Any], path: tuple[str, ...]
    ) -> Iterator[tuple[tuple[str, ...], str]]:
        """Give the instance path and the type of every cell."""
        for name, cell in module["cells"].items():
            definition = self._modules.get(cell["type"])
            # Cells of the part are modules too, but black boxes.
            if definition is not None and "blackbox" not in definition["attributes"]:
                yield from self._cells(definition, (*path, name))
            elif cell["type"] != "$scopeinfo":
                yield path, cell["type"]

    def block_of(self, cell: str) -> str:
        """Return the block of a cell of a flattened design.

        A register knows the line that declares it. The rest of the logic has only the path in its
        name, which is that of the nearest signal that was left.
        """
        attributes = self._top["cells"].get(cell, {}).get("attributes", {})
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
    def has_clock(self) -> bool:
        """Whether there is a port ``clk``."""
        return _CLOCK in self._top["ports"]

    def open_carries(self) -> int:
        """Open the ends of carry chains that lead nowhere; see :func:`open_carries`."""
        return open_carries(self._top)

    def register_ports(self, register: PortRegister) -> int:
        """Put a register at every port but the clock, and return how many there are.

        A design then needs a single pin, whatever the number of its ports, and the paths from its
        inputs and to its outputs lie between registers. The other side of these registers is open:
        nextpnr removes nothing. A design without a clock gets one.
        """
        ports = self._top["ports"]
        clock = ports.pop(_CLOCK, None) or {"direction": "input", "bits": [self._free_bit()]}
        self._top["ports"] = {_CLOCK: clock}
        read = self._bits_read(ports.values())
        count = 0
        for name, port in ports.items():
            is_input = port["direction"] == "input"
            for index, bit in enumerate(port["bits"]):
                # Bits can be constants, which are text, and inputs that nothing reads.
                if isinstance(bit, int) and (not is_input or bit in read):
                    cell = _register_cell(register, clock["bits"][0], bit, is_input=is_input)
                    self._top["cells"][f"${PORT_BLOCK}.{name}[{index}]"] = cell
                    count += 1
        return count

    def _bits_read(self, ports: Iterable[Mapping[str, Any]]) -> set[int | str]:
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
    flow = ("encoder", "layer", "groupsum", "argmax", "control")
    if not _BLOCK.fullmatch(block):
        return (len(flow), 0, block)
    name, _, number = block.partition("_")
    return (flow.index(name), int(number or 0), block)


def _cells(types: Iterable[str], target: Target) -> Cells:
    kinds = Counter(target.kind(cell_type) or "other" for cell_type in types)
    equivalents = sum(target.equivalents.get(kind, 0) * kinds[kind] for kind in KINDS)
    return Cells(**kinds, lut4_equivalents=kinds["lut4"] + equivalents)


def _register_cell(
    register: PortRegister, clock: int, bit: int, *, is_input: bool
) -> dict[str, Any]:
    return {
        "hide_name": 0,
        "type": register.cell,
        "parameters": {
            # Text that could be a number in binary is marked with a space.
            name: f"{value} " if re.fullmatch(r"[01xz]*", value) else value
            for name, value in register.parameters.items()
        },
        "attributes": {},
        "port_directions": {register.clock: "input", register.d: "input", register.q: "output"},
        "connections": {
            register.clock: [clock],
            register.d: [] if is_input else [bit],
            register.q: [bit] if is_input else [],
        },
    }
