"""A design as Yosys reads it: gates, registers and names."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trilut.files import read_bytes
from trilut.tools import find_tool, run

__all__ = [
    "Bit",
    "BitNetlist",
    "PipelineError",
    "Register",
    "ShapeError",
    "UnclearError",
    "read_design",
    "read_mapped",
]

Bit = int | str
"""A wire's number in Yosys's JSON, or the text of a constant."""

_TIMEOUT = 1800.0
# Nothing may be simplified before it is known that no value is undefined; no register may go, for
# what one holds at first counts. Modules become gates before they are put together: a part's cell
# is the same gates in each place. Attributes are three quarters of the JSON of a large design.
_SCRIPT = """\
read_verilog -noautowire -nomem2reg {source}
hierarchy -check -top {top}
proc -noopt -norom
check -initdrv -nolatches
setundef -anyseq
opt_expr
simplemap
techmap
setundef -anyseq
opt_expr
opt_clean
{keep}flatten
attrmap -remove src -remove hdlname
check
opt_expr
opt_clean
write_json {name}.json
"""
# Here registers may go if by their initial values they are constant.
_MAPPED_SCRIPT = """\
{read}
hierarchy -check -top {top}
proc
opt_expr
simplemap
techmap
opt_clean
flatten
attrmap -remove src -remove hdlname
opt_expr
opt_dff
opt_clean
dffunmap -srst-only
simplemap
opt_clean
attrmap -remove src
write_json {name}.json
"""
_REGISTER = re.compile(r"\$_DFF(E?)_([NP])([NP]?)_")
# A module that is to be kept may not be there; that is said in other words.
_WARNING = re.compile(r"^(?:\S+?:(\d+): )?Warning: (?!Selection )(.*(?:\n +.*)*)", re.MULTILINE)
_GATES = {
    "$_BUF_": "A",
    "$_NOT_": "A",
    "$_AND_": "AB",
    "$_NAND_": "AB",
    "$_OR_": "AB",
    "$_NOR_": "AB",
    "$_XOR_": "AB",
    "$_XNOR_": "AB",
    "$_ANDNOT_": "AB",
    "$_ORNOT_": "AB",
    "$_MUX_": "SAB",
}


class PipelineError(Exception):
    """The design is not a pipeline whose registers move together."""


class UnclearError(PipelineError):
    """What the design does is not clear: tools may differ, or there is no model of it."""


class ShapeError(UnclearError):
    """The sums and the decision are not where they are looked for."""


@dataclass(frozen=True, slots=True)
class Register:
    """A flip-flop: what it takes, and at which level of which bit it takes it."""

    name: str
    d: Bit
    enable: Bit
    enable_level: bool


@dataclass(frozen=True, slots=True, eq=False)
class BitNetlist:
    """A flattened design of one-bit cells.

    Every bit has one driver at most, and every register takes its value at the rising edge of the
    port ``clk``.

    Parameters
    ----------
    ports : mapping
        Bits of each port, lowest first.
    nets : mapping
        Bits of each wire that has a name of its own, with the path to it: ``layer_1.neuron_0``.
    gates : mapping
        What drives a bit: the type of the cell, and the bits that it reads.
    registers : mapping
        The registers, by the bit that they drive.
    directions : mapping
        ``input`` or ``output`` of each port.
    blocks : mapping
        Modules that were kept and are instantiated here, with the bits at each of their ports.
    initial : mapping
        What registers hold at first, ``0`` or ``1``, where that is said.
    """

    ports: Mapping[str, Sequence[Bit]]
    nets: Mapping[str, Sequence[Bit]]
    gates: Mapping[Bit, tuple[str, tuple[Bit, ...]]]
    registers: Mapping[Bit, Register]
    blocks: Mapping[str, Mapping[str, Sequence[Bit]]]
    directions: Mapping[str, str]
    initial: Mapping[Bit, str]

    def is_driven(self, bit: Bit) -> bool:
        """Say whether a bit is a constant, or a gate or a register drives it."""
        return isinstance(bit, str) or bit in self.gates or bit in self.registers

    def bits_read(self) -> set[Bit]:
        """Return the bits that a gate, a register or an output port takes."""
        by_gates = (source for _, sources in self.gates.values() for source in sources)
        by_registers = (
            source
            for register in self.registers.values()
            for source in (register.d, register.enable)
        )
        by_ports = (
            bit
            for port, direction in self.directions.items()
            if direction == "output"
            for bit in self.ports[port]
        )
        return {*by_gates, *by_registers, *by_ports}

    def describe(self, bit: Bit) -> str:
        """Name a wire, by its shortest path."""
        names = [
            f"{net}[{list(bits).index(bit)}]" if len(bits) > 1 else net
            for net, bits in self.nets.items()
            if bit in bits
        ]
        return f"Wire {min(names, key=len)!r}" if names else "A wire without a name"


def read_design(
    source: Path, top: str, work: Path, *, name: str = "read", kept: Sequence[str] = ()
) -> dict[str, BitNetlist]:
    """Read Verilog through Yosys and return its modules: the top, and those that are kept apart.

    Parameters
    ----------
    source : Path
        The Verilog, in the directory ``work``.
    top : str
        Name of the top module, a plain identifier.
    name : str
        What to call the scratch files.
    kept : sequence of str
        Modules not to flatten.

    Raises
    ------
    ToolError
        If Yosys is missing or fails.
    UnclearError
        If Yosys has a warning, a value is undefined, a cell is none that is known, or nothing reads
        what a module computes that is to be kept.
    PipelineError
        If a register has another clock.
    """
    keep = f"setattr -mod -set keep_hierarchy 1 {' '.join(kept)}\n" if kept else ""
    script = _SCRIPT.format(source=source.name, top=top, keep=keep, name=name)
    modules = _run(script, work, name)
    _check_warnings((work / f"{name}.log").read_text(errors="replace"))
    for module in kept:
        if module not in modules:
            # It may be right all the same: the result may be a constant.
            raise ShapeError(f"Module {module!r} is gone, because nothing reads what it computes")
    return {module: _parse(modules[module], frozenset(kept)) for module in (top, *kept)}


def _check_warnings(log: str) -> None:
    """Raise the first warning of a log as an error."""
    warning = _WARNING.search(log)
    if warning:
        line = f"line {warning[1]}: " if warning[1] else ""
        text = " ".join(warning[2].split()).replace("\\", "").replace(" [", "[").rstrip(".")
        raise UnclearError(f"Yosys warns: {line}{text}")


def read_mapped(
    source: Path, top: str, work: Path, *, name: str, models: Sequence[str] = ()
) -> BitNetlist:
    """Read a netlist of a part's cells through Yosys and return it as one module.

    Parameters
    ----------
    source : Path
        The netlist, as Yosys writes it in JSON, or Verilog, in the directory ``work``.
    top : str
        Name of the top module, a plain identifier.
    name : str
        What to call the scratch files.
    models : sequence of str
        Files with models of the part's cells: of Yosys, such as ``+/ecp5/cells_sim.v``, or in the
        directory ``work``.

    Raises
    ------
    ToolError
        If Yosys is missing or fails.
    UnclearError
        If a cell is none that is known.
    PipelineError
        If a register has another clock.
    """
    languages = {".v": "verilog", ".json": "json"}
    read = [f"read_{languages[source.suffix]} {source.name}"]
    # The models of ECP5 define some cells twice, and those of RAMs take minutes if not deferred.
    read += [f"read_verilog -overwrite -defer {model}" for model in models]
    script = _MAPPED_SCRIPT.format(read="\n".join(read), top=top, name=name)
    return _parse(_run(script, work, name)[top], frozenset())


def _run(script: str, work: Path, name: str) -> Mapping[str, Any]:
    (work / f"{name}.ys").write_text(script)
    run(
        find_tool("yosys"),
        ["-q", "-s", f"{name}.ys"],
        step=name,
        log=work / f"{name}.log",
        cwd=work,
        timeout=_TIMEOUT,
    )
    modules: Mapping[str, Any] = json.loads(read_bytes(work / f"{name}.json"))["modules"]
    return modules


@dataclass(frozen=True, slots=True)
class _FlipFlop:
    """A flip-flop as Yosys writes it: its type, and the bit at each of its pins."""

    name: str
    kind: re.Match[str]
    pins: Mapping[str, Bit]


def _parse(module: Mapping[str, Any], kept: frozenset[str]) -> BitNetlist:
    gates: dict[Bit, tuple[str, tuple[Bit, ...]]] = {}
    flip_flops: list[_FlipFlop] = []
    blocks: dict[str, Mapping[str, Sequence[Bit]]] = {}
    for name, cell in module["cells"].items():
        kind = cell["type"]
        pins = {port: bits[0] for port, bits in cell["connections"].items() if bits}
        if kind in _GATES:
            gates[pins["Y"]] = (kind, tuple(pins[port] for port in _GATES[kind]))
        elif match := _REGISTER.fullmatch(kind):
            flip_flops.append(_FlipFlop(name, match, pins))
        elif kind in blocks:
            raise UnclearError(f"Module {kind!r} is instantiated more than once")
        elif kind in kept:
            blocks[kind] = cell["connections"]
        elif kind == "$anyseq":
            raise UnclearError("An undefined value is read")
        elif kind != "$scopeinfo":
            raise UnclearError(f"Cell {name!r} has the type {kind!r}, for which there is no model")
    netlist = BitNetlist(
        {port: facts["bits"] for port, facts in module["ports"].items()},
        {net: facts["bits"] for net, facts in module["netnames"].items() if not facts["hide_name"]},
        gates,
        {each.pins["Q"]: _register(each, gates) for each in flip_flops},
        blocks,
        {port: facts["direction"] for port, facts in module["ports"].items()},
        _initial(module),
    )
    _check_drivers(netlist, module)
    _check_clocks(netlist, flip_flops)
    return netlist


def _register(flip_flop: _FlipFlop, gates: Mapping[Bit, tuple[str, tuple[Bit, ...]]]) -> Register:
    """Return a register, with the enable that a multiplexer before it is."""
    pins, (_, _, level) = flip_flop.pins, flip_flop.kind.groups()
    if "E" in pins:
        return Register(flip_flop.name, pins["D"], pins["E"], level != "N")
    kind, sources = gates.get(pins["D"], ("", ()))
    if kind == "$_MUX_":
        select, low, high = sources
        if low == pins["Q"]:
            return Register(flip_flop.name, high, select, True)
        if high == pins["Q"]:
            return Register(flip_flop.name, low, select, False)
    return Register(flip_flop.name, pins["D"], "1", True)


def _initial(module: Mapping[str, Any]) -> dict[Bit, str]:
    return {
        bit: value
        for facts in module["netnames"].values()
        for bit, value in zip(
            facts["bits"], reversed(facts["attributes"].get("init", "")), strict=False
        )
        if value in "01"
    }


def _check_drivers(netlist: BitNetlist, module: Mapping[str, Any]) -> None:
    """Check that every bit has one driver at most."""
    driven: set[Bit] = {"0", "1"}
    for bit in _drivers(module):
        if bit in driven:
            raise PipelineError(f"{netlist.describe(bit)} has two drivers")
        driven.add(bit)


def _drivers(module: Mapping[str, Any]) -> Iterator[Bit]:
    """Yield what the input ports and all cells drive."""
    for port in module["ports"].values():
        if port["direction"] == "input":
            yield from port["bits"]
    for cell in module["cells"].values():
        for port, direction in cell["port_directions"].items():
            if direction == "output":
                yield from (bit for bit in cell["connections"][port] if bit != "x")


def _check_clocks(netlist: BitNetlist, flip_flops: Sequence[_FlipFlop]) -> None:
    clock = netlist.ports.get("clk")
    for each in flip_flops:
        if [each.pins["C"]] != clock or each.kind[2] != "P":
            raise PipelineError(
                f"{netlist.describe(each.pins['Q'])} has another clock than the rising edge of "
                "'clk'"
            )
