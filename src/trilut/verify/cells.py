"""A design as Yosys's cells: read, changed in places, and written as Verilog again."""

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trilut.circuit.interface import VerilogModule
from trilut.files import read_bytes, write_atomically
from trilut.hdl.faulty import SELECT_BITS
from trilut.tools import find_tool, run

__all__ = ["Bit", "Cell", "Editor", "Pin", "Structure", "read_structure", "write_structures"]

Bit = int | str
"""A wire's number in a module, or the text of a constant."""

_TIMEOUT = 1800.0
# Registers get pins for enable and reset; all else stays as it was written, and so do its names.
_READ = """\
read_verilog design.v
hierarchy -top {top}
proc
opt_dff
opt_clean
write_json structure.json
"""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell, or an instance of another module.

    Parameters
    ----------
    module, name : str
        The module that it is in, and its name there.
    kind : str
        Its type: ``$add``, or the name of a module.
    parameters : mapping
        Its parameters as Yosys writes them: binary text.
    pins : mapping
        The bits at each of its ports, lowest first.
    inputs : frozenset of str
        Which ports are inputs.
    label : str
        The name of the wire that it drives, if it has no name of its own.
    """

    module: str
    name: str
    kind: str
    parameters: Mapping[str, str]
    pins: Mapping[str, tuple[Bit, ...]]
    inputs: frozenset[str]
    label: str

    @property
    def is_register(self) -> bool:
        """Whether it is a flip-flop, or a row of them."""
        return "Q" in self.pins and "CLK" in self.pins

    def pin(self, port: str, index: int = 0) -> "Pin":
        """Return one bit of a port."""
        return Pin(self.module, self.name, port, index)

    def level(self, port: str) -> bool:
        """Return at which level a control input of a register acts."""
        return self.parameters[f"{port}_POLARITY"].endswith("1")


@dataclass(frozen=True, slots=True)
class Pin:
    """One bit of a port of a cell; of the module itself if no cell is named."""

    module: str
    cell: str
    port: str
    index: int = 0


class Structure:
    """The modules of a design.

    Parameters
    ----------
    document : mapping
        What Yosys writes as JSON.
    top : str
        The top module.
    """

    def __init__(self, document: Mapping[str, Any], top: str):
        self._document = document
        self._modules = {name: _Module(data) for name, data in document["modules"].items()}
        self.top = top

    @property
    def modules(self) -> list[str]:
        """Names of the modules, the top module first."""
        return sorted(self._document["modules"], key=lambda name: (name != self.top, name))

    def cells(self, module: str) -> Iterator[Cell]:
        """Give the cells of a module."""
        labels = {bits[0]: name for name, bits in self.wires(module).items()}
        for name, cell in self._document["modules"][module]["cells"].items():
            directions = cell["port_directions"]
            pins = cell["connections"]
            output = pins.get("Q", pins.get("Y", [None]))[0]
            yield Cell(
                module,
                name,
                cell["type"],
                cell["parameters"],
                {port: tuple(bits) for port, bits in pins.items()},
                frozenset(port for port, way in directions.items() if way == "input"),
                labels.get(output, name) if cell["hide_name"] else name,
            )

    def ports(self, module: str, direction: str) -> dict[str, tuple[Bit, ...]]:
        """Return the ports of a module that are ``input`` or ``output``."""
        ports = self._document["modules"][module]["ports"]
        return {
            name: tuple(port["bits"])
            for name, port in ports.items()
            if port["direction"] == direction
        }

    def wires(self, module: str) -> dict[str, tuple[Bit, ...]]:
        """Return the wires of a module that have a name of their own."""
        wires = self._document["modules"][module]["netnames"]
        return {name: tuple(wire["bits"]) for name, wire in wires.items() if not wire["hide_name"]}

    def copy(self) -> "Structure":
        """Return one that can be changed without harm to this one."""
        return Structure(copy.deepcopy(self._document), self.top)

    def add_select(self) -> None:
        """Give every module an input ``select`` of 32 bits, and wire them all to the top's."""
        for name in self.modules:
            module = self.module(name)
            bits = [module.fresh() for _ in range(SELECT_BITS)]
            module.data["ports"]["select"] = {"direction": "input", "bits": bits}
            module.data["netnames"]["select"] = {"hide_name": 0, "bits": bits, "attributes": {}}
        for name in self.modules:
            data = self.module(name).data
            for cell in data["cells"].values():
                if cell["type"] in self._document["modules"]:
                    cell["connections"]["select"] = data["ports"]["select"]["bits"]
                    cell["port_directions"]["select"] = "input"

    def editor(self, number: int | None = None) -> "Editor":
        """Return what changes this structure; for ``select`` = number only, if there is one."""
        return Editor(self, number)

    def text(self) -> str:
        """Return it as Yosys reads it."""
        return json.dumps(self._document)

    def module(self, name: str) -> "_Module":
        """Return a module to be changed."""
        return self._modules[name]


class _Module:
    """A module that gets more wires and cells."""

    def __init__(self, data: dict[str, Any]):
        self.data = data
        pins = (bits for cell in data["cells"].values() for bits in cell["connections"].values())
        wires = (wire["bits"] for wire in data["netnames"].values())
        numbers = [bit for bits in (*pins, *wires) for bit in bits if isinstance(bit, int)]
        self._next = max(numbers, default=1) + 1

    def fresh(self) -> int:
        """Return the number of a new wire."""
        self._next += 1
        return self._next

    def move_initial(self, old: Bit, new: Bit) -> None:
        """Let a new wire start with what an old one started with."""
        for wire in list(self.data["netnames"].values()):
            text = wire["attributes"].get("init", "")
            values = dict(zip(wire["bits"], reversed(text), strict=False))
            if old in values:
                values[old], value = "x", values[old]
                wire["attributes"]["init"] = "".join(
                    values.get(bit, "x") for bit in reversed(wire["bits"])
                )
                self.data["netnames"][f"$raw${new}"] = {
                    "hide_name": 1,
                    "bits": [new],
                    "attributes": {"init": value},
                }

    def bits_of(self, pin: Pin) -> list[Bit]:
        """Return the list that holds the bit of a pin, to be read and written."""
        holder = self.data["cells"][pin.cell]["connections"] if pin.cell else None
        bits: list[Bit] = (
            self.data["ports"][pin.port]["bits"] if holder is None else holder[pin.port]
        )
        return bits


class Editor:
    """Changes what stands at pins of a structure.

    With a number, the change acts only while ``select`` has that value, so that one structure can
    hold many changes.
    """

    def __init__(self, structure: Structure, number: int | None):
        self._structure = structure
        self._number = number
        self._active: dict[str, Bit] = {}
        self._raw: dict[Pin, Bit] = {}

    def bit(self, pin: Pin) -> Bit:
        """Return what is at a pin; at an output, what the cell drives."""
        return self._module(pin.module).bits_of(pin)[pin.index]

    def port(self, module: str, name: str, index: int = 0) -> Bit:
        """Return a bit of a port of a module."""
        bits: list[Bit] = self._module(module).data["ports"][name]["bits"]
        return bits[index]

    def wire(self, module: str) -> Bit:
        """Return a new wire, which :meth:`drive` must drive."""
        return self._module(module).fresh()

    def gate(self, module: str, kind: str, *operands: Bit) -> Bit:
        """Add a gate of one bit, ``$not``, ``$and``, ``$or`` or ``$xor``, and return its output."""
        parameters = {"Y_WIDTH": 1}
        pins: dict[str, Sequence[Bit]] = {}
        for port, operand in zip("AB", operands, strict=False):
            parameters |= {f"{port}_WIDTH": 1, f"{port}_SIGNED": 0}
            pins[port] = [operand]
        return self._add(module, kind, parameters, pins, "Y")

    def equal(self, module: str, left: Sequence[Bit], right: Sequence[Bit]) -> Bit:
        """Add a comparison, and return its output."""
        parameters = {
            "A_WIDTH": len(left),
            "B_WIDTH": len(right),
            "Y_WIDTH": 1,
            "A_SIGNED": 0,
            "B_SIGNED": 0,
        }
        return self._add(module, "$eq", parameters, {"A": left, "B": right}, "Y")

    def choose(self, module: str, select: Bit, yes: Bit, no: Bit) -> Bit:
        """Add a multiplexer, and return its output."""
        pins = {"A": [no], "B": [yes], "S": [select]}
        return self._add(module, "$mux", {"WIDTH": 1}, pins, "Y")

    def register(self, module: str, clock: Bit, value: Bit) -> Bit:
        """Add a register of one bit without enable, and return what it holds."""
        parameters = {"WIDTH": 1, "CLK_POLARITY": 1}
        return self._add(module, "$dff", parameters, {"CLK": [clock], "D": [value]}, "Q")

    def register_like(self, cell: Cell, values: Sequence[Bit]) -> list[Bit]:
        """Add a register with the clock, enable and reset of another, and return what it holds."""
        module = self._module(cell.module)
        outputs: list[Bit] = [module.fresh() for _ in values]
        data = copy.deepcopy(module.data["cells"][cell.name])
        data["connections"] |= {"D": list(values), "Q": outputs}
        self._insert(module, data)
        return outputs

    def replace(self, pin: Pin, new: Bit) -> None:
        """Let an input of a cell, or an output of a module, take another bit."""
        module = self._module(pin.module)
        bits = module.bits_of(pin)
        bits[pin.index] = self._chosen(pin.module, new, bits[pin.index])
        if not pin.cell:
            module.data["netnames"][pin.port]["bits"] = list(bits)

    def split(self, pin: Pin) -> Bit:
        """Part an output of a cell from its readers; :meth:`join` must follow."""
        bits = self._module(pin.module).bits_of(pin)
        self._raw[pin] = bits[pin.index]
        bits[pin.index] = self._module(pin.module).fresh()
        self._module(pin.module).move_initial(self._raw[pin], bits[pin.index])
        return bits[pin.index]

    def join(self, pin: Pin, new: Bit) -> None:
        """Give the readers of a pin that was split another bit."""
        old = self.bit(pin)
        module = self._module(pin.module)
        parameters = {"A_WIDTH": 1, "A_SIGNED": 0, "Y_WIDTH": 1}
        pins = {"A": [self._chosen(pin.module, new, old)]}
        self._drive(module, "$pos", parameters, pins, "Y", self._raw.pop(pin))

    def drive(self, module: str, bit: Bit, source: Bit) -> None:
        """Drive a wire, whatever ``select`` is, also one that has a driver already."""
        parameters = {"A_WIDTH": 1, "A_SIGNED": 0, "Y_WIDTH": 1}
        self._drive(self._module(module), "$pos", parameters, {"A": [source]}, "Y", bit)

    def _chosen(self, module: str, new: Bit, old: Bit) -> Bit:
        if self._number is None:
            return new
        if module not in self._active:
            select = self._module(module).data["ports"]["select"]["bits"]
            number = list(reversed(format(self._number, f"0{SELECT_BITS}b")))
            self._active[module] = self.equal(module, select, number)
        return self.choose(module, self._active[module], new, old)

    def _module(self, name: str) -> _Module:
        return self._structure.module(name)

    def _add(
        self,
        module: str,
        kind: str,
        parameters: Mapping[str, int],
        pins: Mapping[str, Sequence[Bit]],
        output: str,
    ) -> Bit:
        wire = self._module(module).fresh()
        self._drive(self._module(module), kind, parameters, pins, output, wire)
        return wire

    def _drive(
        self,
        module: _Module,
        kind: str,
        parameters: Mapping[str, int],
        pins: Mapping[str, Sequence[Bit]],
        output: str,
        wire: Bit,
    ) -> None:
        cell = {
            "hide_name": 1,
            "type": kind,
            "parameters": {key: format(value, "032b") for key, value in parameters.items()},
            "attributes": {},
            "port_directions": {**dict.fromkeys(pins, "input"), output: "output"},
            "connections": {**{port: list(bits) for port, bits in pins.items()}, output: [wire]},
        }
        self._insert(module, cell)

    def _insert(self, module: _Module, cell: dict[str, Any]) -> None:
        module.data["cells"][f"$mutant${len(module.data['cells'])}"] = cell


def read_structure(design: VerilogModule, work: Path) -> Structure:
    """Read a design through Yosys.

    Raises
    ------
    ToolError
        If Yosys is missing or fails.
    """
    write_atomically(work / "design.v", read_bytes(design.path))
    _run(_READ.format(top=design.top), "read structure", work)
    return Structure(json.loads(read_bytes(work / "structure.json")), design.top)


def write_structures(structures: Mapping[Path, Structure], work: Path) -> None:
    """Write structures as Verilog, all in one run of Yosys.

    Raises
    ------
    ToolError
        If Yosys is missing or fails.
    """
    lines = []
    for number, structure in enumerate(structures.values()):
        write_atomically(work / f"structure-{number}.json", structure.text())
        lines += [
            f"read_json structure-{number}.json",
            f"write_verilog -noattr written-{number}.v",
            "design -reset",
        ]
    _run("\n".join([*lines, ""]), "write structures", work)
    for number, path in enumerate(structures):
        write_atomically(path, read_bytes(work / f"written-{number}.v"))
        for name in (f"structure-{number}.json", f"written-{number}.v"):
            (work / name).unlink()


def _run(script: str, step: str, work: Path) -> None:
    name = step.replace(" ", "-")
    write_atomically(work / f"{name}.ys", script)
    run(
        find_tool("yosys"),
        ["-q", "-s", f"{name}.ys"],
        step=step,
        log=work / f"{name}.log",
        cwd=work,
        timeout=_TIMEOUT,
    )
