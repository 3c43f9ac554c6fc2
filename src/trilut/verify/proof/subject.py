"""The subject of a proof: a design by its blocks, and the netlist that it must compute."""

import dataclasses
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trilut.circuit.head import Head
from trilut.circuit.interface import InputKind, VerilogModule
from trilut.circuit.netlist import Netlist
from trilut.files import read_bytes, write_atomically
from trilut.verify.proof.aig import FALSE, TRUE, Aig, Literal
from trilut.verify.proof.design import Bit, BitNetlist, Pipeline, PipelineError, read_design

__all__ = ["Subject", "read_subject"]

_CONTROL_PORTS = ("clk", "rst", "en", "in_valid", "out_ready")


@dataclass(frozen=True, slots=True)
class Subject:
    """A design, and the netlist that it must compute.

    Parameters
    ----------
    netlist : Netlist
        The netlist; it has no encoder if the design takes trits.
    top : str
        Name of the module with the ports.
    latency : int
        Clock cycles from a vector to its result.
    modules : mapping
        That module and its blocks ``control`` and, if there is a head, ``groupsum`` and ``argmax``;
        all else is part of the top module.
    """

    netlist: Netlist
    top: str
    latency: int
    modules: Mapping[str, BitNetlist]

    @property
    def main(self) -> BitNetlist:
        """The module with the ports."""
        return self.modules[self.top]

    @property
    def head(self) -> Head:
        """The head of a netlist that has one."""
        assert self.netlist.head is not None
        return self.netlist.head

    @property
    def gives_scores(self) -> bool:
        """Whether scores leave the design."""
        return "out_scores" in self.main.ports

    def block(self, name: str) -> BitNetlist:
        """Return a block as a module of its own."""
        return self.modules[f"{self.top}_{name}"]

    def wiring(self, block: str) -> list[tuple[Bit, Bit]]:
        """Return the bits by which data enter a block, as it sees them and as the top does."""
        netlist = self.block(block)
        return [
            pair
            for port, direction in netlist.directions.items()
            if direction == "input" and port not in _CONTROL_PORTS
            for pair in zip(netlist.ports[port], self.main.blocks[block][port], strict=True)
        ]

    def through(
        self, block: str, aig: Aig, known: Mapping[Bit, Literal], cuts: Container[Bit] = ()
    ) -> tuple[Pipeline, dict[Bit, Literal]]:
        """Return a block given its inputs, and its outputs by their bits in the top module."""
        netlist = self.block(block)
        control = {
            netlist.ports[port][0]: level
            for port, level in (("en", TRUE), ("rst", FALSE))
            if port in netlist.ports
        }
        pipeline = Pipeline(aig, netlist, {**known, **control}, cuts)
        outside = {
            outer: pipeline.literal(inner)
            for port, direction in netlist.directions.items()
            if direction == "output"
            for inner, outer in zip(netlist.ports[port], self.main.blocks[block][port], strict=True)
        }
        return pipeline, outside

    def past_control(self, aig: Aig, known: Mapping[Bit, Literal]) -> dict[Bit, Literal]:
        """Add the results that leave control: those that enter it, bit for bit."""
        ports = self.main.blocks["control"]
        before = Pipeline(aig, self.main, known)
        pairs = zip(ports["i"], ports["o"], strict=True)
        return {**known, **{after: before.literal(bit) for bit, after in pairs}}

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
            raise PipelineError(
                "Block 'argmax' reads other bits than those of one wire with scores"
            )
        return min(wires, key=len)

    def numbers(self, literals: Sequence[Literal]) -> list[list[Literal]]:
        """Split what enters the decision into numbers: the scores, or their one difference."""
        count = len(self.head.classes)
        if count == 2 and not self.gives_scores:
            count = 1
        width = len(literals) // count
        return [list(literals[first : first + width]) for first in range(0, count * width, width)]


def read_subject(netlist: Netlist, design: VerilogModule, work: Path) -> Subject:
    """Read a design through Yosys, to be compared with a netlist.

    Parameters
    ----------
    netlist : Netlist
        What the design must compute.
    design : VerilogModule
        The design, without a port for the abstention margin.
    work : Path
        Directory for scratch files and logs.

    Raises
    ------
    ToolError
        If Yosys is missing or fails.
    PipelineError
        If a block is missing.
    """
    source = work / "proof.v"
    write_atomically(source, read_bytes(design.path) + design.models.encode())
    blocks = ["control", *(["groupsum", "argmax"] if netlist.head else [])]
    kept = [f"{design.top}_{block}" for block in blocks]
    modules = read_design([source], design.top, work, kept=kept)
    if design.interface.input_kind is InputKind.TRITS:
        netlist = dataclasses.replace(netlist, encoder=None)
    return Subject(netlist, design.top, design.interface.latency, modules)
