"""The subject of a proof: a design by its blocks, and the netlist that it must compute."""

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trilut.circuit.head import Head
from trilut.circuit.interface import HeadOutput, Interface, VerilogModule
from trilut.circuit.netlist import Netlist
from trilut.circuit.sequential import Circuit, SequentialNetlist
from trilut.files import read_bytes, write_atomically
from trilut.verify.proof.aig import FALSE, TRUE, Aig, Literal
from trilut.verify.proof.design import Bit, BitNetlist, PipelineError, ShapeError, read_design
from trilut.verify.proof.pipeline import Pipeline
from trilut.verify.proof.text import check_text

__all__ = ["BLOCKS", "STATE", "Subject", "read_subject"]

BLOCKS = ("control", "groupsum", "argmax")
"""The blocks of a design that are looked at by themselves; the last two are those of a head."""

STATE = "state"
"""The block of a circuit with state that holds it."""

_MARGIN_PORT = "abstain_margin"
_CONTROL_PORTS = ("clk", "rst", "en", "in_valid", "out_ready", _MARGIN_PORT)


@dataclass(frozen=True, slots=True)
class Subject:
    """A design, and the netlist that it must compute.

    Parameters
    ----------
    circuit : Netlist or SequentialNetlist
        The circuit; it has no encoder if the design takes trits.
    top : str
        Name of the module with the ports.
    interface : Interface
        The ports that it should have.
    blocks : mapping
        The modules that are looked at by themselves: ``control``, ``groupsum`` and ``argmax`` if
        there is a head, ``state`` if there are states, and ``loader`` if there are AXI4-Streams.
    modules : mapping
        The modules of the top and of its blocks; all else is part of the top module.
    """

    circuit: Circuit
    top: str
    interface: Interface
    blocks: Mapping[str, str]
    modules: Mapping[str, BitNetlist]

    @property
    def netlist(self) -> Netlist:
        """The netlist: of a circuit with state the core."""
        return self.circuit.core if isinstance(self.circuit, SequentialNetlist) else self.circuit

    @property
    def main(self) -> BitNetlist:
        """The module with the ports."""
        return self.modules[self.top]

    @property
    def latency(self) -> int:
        """Clock cycles from a vector to its result; with a loader, from when it has the vector."""
        return self.interface.latency - self.has_loader

    @property
    def has_loader(self) -> bool:
        """Whether vectors come in packets."""
        return self.interface.axi is not None

    @property
    def always_present(self) -> bool:
        """Whether no feature can be missing."""
        return not self.interface.has_presence

    @property
    def vector(self) -> dict[str, Sequence[Bit]]:
        """The bits of the top module that are a vector, by the names of input ports."""
        if not self.has_loader:
            return {port.name: self.main.ports[port.name] for port in self.interface.inputs}
        bits = self.pins("loader", "vector")
        return {name: [bits[at] for at in places] for name, places in self.interface.packet.items()}

    @property
    def results(self) -> dict[str, Sequence[Bit]]:
        """The bits of the top module that are a result, by the names of output ports."""
        if not self.has_loader:
            return {port.name: self.main.ports[port.name] for port in self.interface.outputs}
        bits = self.main.ports["m_axis_tdata"]
        return {name: [bits[at] for at in places] for name, places in self.interface.result.items()}

    @property
    def margin_bits(self) -> int:
        """Width of the port that sets the abstention margin; 0 if there is none."""
        return 0 if self.interface.margin is None else self.interface.margin.width

    @property
    def head(self) -> Head:
        """The head of a netlist that has one."""
        assert self.netlist.head is not None
        return self.netlist.head

    @property
    def gives_scores(self) -> bool:
        """Whether scores leave the design."""
        return HeadOutput.SCORES in self.interface.head_outputs

    @property
    def gives_certain(self) -> bool:
        """Whether the design says what is certain: then bounds enter the decision, not scores."""
        return HeadOutput.CERTAIN in self.interface.head_outputs

    @property
    def gives_set(self) -> bool:
        """Whether the design gives prediction sets."""
        return HeadOutput.SET in self.interface.head_outputs

    @property
    def num_sums(self) -> int:
        """How many sums there are: one for each class, or one for the difference of two."""
        count = len(self.head.classes)
        return 1 if count == 2 and not self.gives_scores else count

    def block(self, name: str) -> BitNetlist:
        """Return a block as a module of its own."""
        return self.modules[self.blocks[name]]

    def pins(self, block: str, port: str) -> Sequence[Bit]:
        """Return the bits of the top module at a port of a block.

        Raises
        ------
        ShapeError
            If there is no such port: what passes all modules unchanged has other names.
        PipelineError
            If nothing is connected to it.
        """
        inner = self.block(block).ports.get(port)
        outer = self.main.blocks[self.blocks[block]].get(port)
        if inner is None:
            raise ShapeError(f"Block {block!r} has no port {port!r}")
        if outer is None or len(inner) != len(outer):
            raise PipelineError(f"Port {port!r} of block {block!r} is not connected")
        return outer

    def check_wires(self, block: str, wires: Mapping[str, str]) -> None:
        """Check that ports of the design are those of a block.

        Raises
        ------
        PipelineError
            If one is not.
        """
        for port, inner in wires.items():
            if self.main.ports[port] != self.pins(block, inner):
                raise PipelineError(f"Port {port!r} is not wired to {inner!r} of block {block!r}")

    def data_ports(self, block: str) -> list[str]:
        """Return the ports by which data enter a block."""
        return [
            port
            for port, direction in self.block(block).directions.items()
            if direction == "input" and port not in _CONTROL_PORTS
        ]

    def wiring(self, block: str) -> list[tuple[Bit, Bit]]:
        """Return the bits by which data enter a block, as it sees them and as the top does."""
        return [
            pair
            for port in self.data_ports(block)
            for pair in zip(self.block(block).ports[port], self.pins(block, port), strict=True)
        ]

    def through(
        self,
        block: str,
        aig: Aig,
        known: Mapping[Bit, Literal],
        *,
        cuts: Container[Bit] = (),
        margin: Sequence[Literal] = (),
    ) -> tuple[Pipeline, dict[Bit, Literal]]:
        """Return a block given its inputs, and its outputs by their bits in the top module.

        Parameters
        ----------
        cuts : container of Bit
            As of :class:`Pipeline`.
        margin : sequence of Literal
            What the port for the abstention margin carries when the last register of the block
            takes a result, if the block has it.
        """
        netlist = self.block(block)
        enable = dict.fromkeys(netlist.ports.get("en", ()), TRUE)
        later = {}
        if margin and _MARGIN_PORT in netlist.ports:
            before = self._depth(block) - 1
            wires = zip(netlist.ports[_MARGIN_PORT], margin, strict=False)
            later = {bit: (literal, before) for bit, literal in wires}
        pipeline = Pipeline(aig, netlist, {**known, **enable}, cuts, later)
        outside = {
            outer: pipeline.literal(inner)
            for port, direction in netlist.directions.items()
            if direction == "output"
            for inner, outer in zip(netlist.ports[port], self.pins(block, port), strict=True)
        }
        return pipeline, outside

    def _depth(self, block: str) -> int:
        """Return how many registers a vector passes in a block, whatever the margin is."""
        aig, netlist = Aig(), self.block(block)
        known = {inner: aig.input() for inner, _ in self.wiring(block)}
        known |= dict.fromkeys(netlist.ports.get("en", ()), TRUE)
        known |= dict.fromkeys(netlist.ports[_MARGIN_PORT], FALSE)
        pipeline = Pipeline(aig, netlist, known)
        outputs = (port for port, direction in netlist.directions.items() if direction == "output")
        return max(pipeline.depth(bit) for port in outputs for bit in netlist.ports[port])

    def past_control(self, aig: Aig, known: Mapping[Bit, Literal]) -> dict[Bit, Literal]:
        """Return the results that leave control, which are those that enter it, bit for bit.

        Nothing else is known behind it: what enters control is of a later vector.
        """
        before = Pipeline(aig, self.main, known)
        pairs = zip(self.pins("control", "i"), self.pins("control", "o"), strict=True)
        return {after: before.literal(bit) for bit, after in pairs}

    def score_bits(self) -> Sequence[Bit]:
        """Return the wire of the top module that carries the scores to the decision.

        Its constant bits are not among the ports of the block.
        """
        entering = {outer for _, outer in self.wiring("argmax")}
        wires = [
            bits
            for bits in self.main.nets.values()
            if {bit for bit in bits if isinstance(bit, int)} == entering
        ]
        if not wires:
            raise ShapeError("Block 'argmax' reads other bits than those of one wire with scores")
        return min(wires, key=len)

    def numbers(self, literals: Sequence[Literal]) -> list[list[Literal]]:
        """Split what enters the decision into numbers: the scores, or their one difference.

        Where bounds enter in their place, these are two numbers each.
        """
        return self.split(literals, self.num_sums * (1 + self.gives_certain))

    def split(self, literals: Sequence[Literal], count: int) -> list[list[Literal]]:
        """Split bits into so many numbers."""
        width, rest = divmod(len(literals), count)
        if rest or not width:
            raise ShapeError(f"{len(literals)} bits are the scores, which is not {count} numbers")
        return [list(literals[first : first + width]) for first in range(0, count * width, width)]


def read_subject(
    netlist: Circuit,
    design: VerilogModule,
    work: Path,
    *,
    blocks: Sequence[str] = BLOCKS,
) -> Subject:
    """Read a design through Yosys, to be compared with a netlist.

    Parameters
    ----------
    netlist : Netlist or SequentialNetlist
        What the design must compute.
    design : VerilogModule
        The design.
    work : Path
        Directory for scratch files and logs.
    blocks : sequence of str
        What to look at by itself, as far as the design should have it.

    Raises
    ------
    ToolError
        If Yosys is missing or fails.
    UnclearError
        If what the design does is not clear.
    ShapeError
        If a block is missing.
    PipelineError
        If a register has another clock.
    """
    text = read_bytes(design.path).decode(errors="replace")
    check_text(text)
    source = work / "proof.v"
    write_atomically(source, f"{text}\n{design.models}")
    specification = design.interface.specification(netlist)
    kept = _kept(text, design, specification, blocks)
    modules = read_design(source, design.top, work, kept=tuple(kept.values()))
    return Subject(specification, design.top, design.interface, kept, modules)


def _kept(
    text: str, design: VerilogModule, circuit: Circuit, wanted: Sequence[str]
) -> dict[str, str]:
    """Return the modules of the blocks that a design should have, of those that are wanted.

    What their names begin with is found in the text: the top module may have been renamed.
    """
    has_loader = design.interface.axi is not None
    there = BLOCKS if circuit.head is not None else BLOCKS[:1]
    if isinstance(circuit, SequentialNetlist) and circuit.num_states:
        there = (*there, STATE)
    names = [] if design.interface.is_combinational else [each for each in there if each in wanted]
    if not names:
        return {}
    core = f"{design.top}_classifier" if has_loader else design.top
    found = set(re.findall(r"^module (\w+)_control\b", text, flags=re.MULTILINE))
    if core not in found:
        if len(found) != 1:
            raise ShapeError(f"There is no module '{core}_control'")
        core = found.pop()
    top = core.removesuffix("_classifier") if has_loader else core
    kept = {name: f"{top if name == STATE else core}_{name}" for name in names}
    return kept | ({"loader": f"{top}_loader"} if has_loader else {})
