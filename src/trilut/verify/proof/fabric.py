"""The gates of a netlist and of a design, from the inputs to the sums, in one graph."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise

from trilut.circuit.optimize import optimize
from trilut.circuit.reach import reachable_rows
from trilut.circuit.vectors import NetWires
from trilut.verify.proof import specification
from trilut.verify.proof.aig import TRUE, Aig, Literal, Words
from trilut.verify.proof.codes import Code
from trilut.verify.proof.design import Bit, PipelineError, ShapeError
from trilut.verify.proof.inputs import Inputs
from trilut.verify.proof.pipeline import Pipeline
from trilut.verify.proof.specification import Net
from trilut.verify.proof.stream import advance_bit
from trilut.verify.proof.subject import Subject
from trilut.verify.proof.sweep import Sweeper

__all__ = ["NUM_WORDS", "Fabric", "build_fabric"]

NUM_WORDS = 32
"""Words of random patterns, of 64 vectors each."""


@dataclass(frozen=True, eq=False)
class Fabric:
    """What a netlist says of the trits that enter the sums, and what a design makes of them.

    Parameters
    ----------
    aig : Aig
        The graph.
    sweeper : Sweeper
        What is proven of it so far.
    inputs : Inputs
        One vector.
    nets : sequence of Net
        Every net of the netlist.
    pipeline : Pipeline
        The top module of the design, without its registers.
    entering : sequence of int
        The nets that enter the block behind the gates: the outputs, or the inputs if there are no
        gates.
    places : sequence of range
        Where the wires of each of them are: two of a trit, one or two of a bit, some of a score.
    outputs : mapping
        The bits of the top module by which they enter it, by their places. One that nothing drives
        is left out if the block does not read it: Yosys removes the logic before it.
    first_of_design : int
        The first node of the graph that may be one of the design.
    is_split : bool
        Whether they enter by several ports, in an order that need not be theirs.
    codes : dict
        What is proven of the wires of scores, by the places of these among those that enter.
    """

    aig: Aig
    sweeper: Sweeper
    inputs: Inputs
    nets: Sequence[Net]
    pipeline: Pipeline
    entering: Sequence[int]
    places: Sequence[range]
    outputs: Mapping[int, Bit]
    first_of_design: int
    is_split: bool
    codes: dict[int, Code] = field(default_factory=dict)

    @cached_property
    def simulation(self) -> tuple[Mapping[Literal, Words], Words]:
        """Random inputs, and the values of all nodes that there are when it is first asked for."""
        patterns = self.inputs.patterns(self.aig, NUM_WORDS)
        return patterns, self.aig.simulate(patterns)


def build_fabric(subject: Subject) -> Fabric:
    """Build the gates of a netlist and those of its design.

    Raises
    ------
    PipelineError
        If the design is no pipeline, or lacks trits.
    """
    aig = Aig()
    inputs = Inputs(aig, subject.netlist, always_present=subject.always_present)
    nets = specification.gates(aig, subject.netlist, inputs.trits)
    known = {
        bit: literal
        for port, literals in inputs.ports.items()
        for bit, literal in zip(subject.vector[port], literals, strict=True)
    }
    first_of_design = len(aig)
    pipeline = Pipeline(aig, subject.main, {**known, advance_bit(subject): TRUE})
    block = "groupsum" if subject.netlist.head else "control"
    entering, places = _nets_entering(subject, len(subject.wiring(block)))
    return Fabric(
        aig=aig,
        sweeper=Sweeper(aig),
        inputs=inputs,
        nets=nets,
        pipeline=pipeline,
        entering=entering,
        places=places,
        outputs=_used_outputs(subject, pipeline, block),
        first_of_design=first_of_design,
        is_split=len(subject.data_ports(block)) > 1,
    )


def _nets_entering(subject: Subject, num_bits: int) -> tuple[list[int], list[range]]:
    """Return the nets that enter a block by so many wires, and the places of their wires.

    How many wires a score has is what the generator believes of the values that it takes. A wrong
    belief can make the proof fail, but not succeed.
    """
    netlist = subject.netlist
    outputs, inputs = netlist.outputs.tolist(), list(range(netlist.num_inputs))
    if netlist.head is None:
        # Trits leave the design by two wires each, bits too.
        places = [range(2 * place, 2 * place + 2) for place in range(len(outputs))]
        if num_bits == 2 * len(outputs):
            return outputs, places
    for circuit in (optimize(netlist).netlist, netlist):
        wires = NetWires(circuit, reachable_rows(circuit)).num_wires
        for nets, believed in ((outputs, circuit.outputs), (inputs, inputs)):
            ends = list(accumulate(wires[believed].tolist(), initial=0))
            if ends[-1] == num_bits:
                return nets, [range(*place) for place in pairwise(ends)]
    raise ShapeError(
        f"{num_bits} bits leave the gates, which are not the wires of {len(outputs)} outputs"
    )


def _used_outputs(subject: Subject, pipeline: Pipeline, block: str) -> dict[int, Bit]:
    reads = subject.block(block).bits_read()
    outputs = {}
    for place, (inner, outer) in enumerate(subject.wiring(block)):
        if pipeline.has_value(outer):
            outputs[place] = outer
        elif inner in reads:
            raise PipelineError(
                f"Bit {place} of what leaves the gates is read by block {block!r}, but no gate, "
                "register or input drives it"
            )
    return outputs
