"""The gates of a netlist and of a design, from the inputs to the sums, in one graph."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trilut.verify.proof import specification
from trilut.verify.proof.aig import TRUE, Aig
from trilut.verify.proof.design import Bit, PipelineError, ShapeError
from trilut.verify.proof.inputs import Inputs
from trilut.verify.proof.pipeline import Pipeline
from trilut.verify.proof.specification import Trit
from trilut.verify.proof.stream import advance_bit
from trilut.verify.proof.subject import Subject
from trilut.verify.proof.sweep import Sweeper

__all__ = ["Fabric", "build_fabric"]


@dataclass(frozen=True, slots=True, eq=False)
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
    nets : sequence of Trit
        Every net of the netlist.
    pipeline : Pipeline
        The top module of the design, without its registers.
    entering : sequence of int
        The nets that enter the block behind the gates: the outputs, or the inputs if there are no
        gates.
    outputs : mapping
        The bits of the top module by which their trits enter it, by their places. One that nothing
        drives is left out if the block does not read it: Yosys removes the logic before it.
    first_of_design : int
        The first node of the graph that may be one of the design.
    is_split : bool
        Whether they enter by several ports, in an order that need not be theirs.
    """

    aig: Aig
    sweeper: Sweeper
    inputs: Inputs
    nets: Sequence[Trit]
    pipeline: Pipeline
    entering: Sequence[int]
    outputs: Mapping[int, Bit]
    first_of_design: int
    is_split: bool


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
    entering = _nets_entering(subject, len(subject.wiring(block)))
    outputs = _used_outputs(subject, pipeline, block)
    is_split = len(subject.data_ports(block)) > 1
    return Fabric(
        aig, Sweeper(aig), inputs, nets, pipeline, entering, outputs, first_of_design, is_split
    )


def _nets_entering(subject: Subject, num_bits: int) -> list[int]:
    netlist = subject.netlist
    if num_bits == 2 * len(netlist.outputs):
        return [int(net) for net in netlist.outputs]
    if num_bits == 2 * netlist.num_inputs:
        return list(range(netlist.num_inputs))
    raise ShapeError(
        f"{num_bits} bits leave the gates, expected two for each of {len(netlist.outputs)} outputs"
    )


def _used_outputs(subject: Subject, pipeline: Pipeline, block: str) -> dict[int, Bit]:
    reads = subject.block(block).bits_read()
    outputs = {}
    for place, (inner, outer) in enumerate(subject.wiring(block)):
        if pipeline.has_value(outer):
            outputs[place] = outer
        elif inner in reads:
            raise PipelineError(
                f"Output {place // 2} of the gates is read by block {block!r}, but no gate, "
                "register or input drives it"
            )
    return outputs
