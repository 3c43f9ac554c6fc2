"""Logic of bits as a graph of ands, and as a netlist: what AIGER and BLIF hold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trilut.circuit.encoder import Encoder, Feature
from trilut.circuit.kinds import Kind
from trilut.circuit.netlist import Netlist
from trilut.circuit.wires import NO_WIRE, lower
from trilut.sim.engines.planes import kernels, lut
from trilut.sim.engines.program import NO_PLANE, Program
from trilut.verify.proof.aig import FALSE, TRUE, Aig, Literal

__all__ = ["Logic", "bit_encoder", "different", "logic_of", "netlist_of", "wire_names"]


@dataclass(frozen=True, slots=True, eq=False)
class Logic:
    """Combinational logic.

    Parameters
    ----------
    graph : Aig
        Its ands.
    inputs, outputs : mapping of str to Literal
        Each by its name.
    """

    graph: Aig
    inputs: Mapping[str, Literal]
    outputs: Mapping[str, Literal]


def different(names: Sequence[str]) -> list[str]:
    """Return names of which no two are equal: what comes again gets a number."""
    taken: set[str] = set()
    result = []
    for name in names:
        number, own = 2, name
        while own in taken:
            number, own = number + 1, f"{name}_{number}"
        taken.add(own)
        result.append(own)
    return result


def bit_encoder(names: Sequence[str]) -> Encoder:
    """Return the encoder of features of one bit: 0 is FALSE, 1 is TRUE, and so is missing FALSE."""
    ones = np.ones(len(names), dtype=np.int64)
    features = tuple(Feature(name, 1) for name in names)
    return Encoder(features, np.arange(len(names)), ones, ones, -ones.astype(np.int8))


def netlist_of(logic: Logic, *, name: str) -> Netlist:
    """Return the netlist of some logic: a feature of one bit for each input, a bit for each output.

    Its provenance has the names of the outputs.
    """
    nets = {literal >> 1: number for number, literal in enumerate(logic.inputs.values())}
    wanted = list(logic.outputs.values())
    tables: list[list[int]] = []
    sources: list[tuple[int, int]] = []

    def add(table: list[int], a: int, b: int) -> int:
        tables.append(table)
        sources.append((a, b))
        return len(nets_of_inputs) + len(tables) - 1

    nets_of_inputs = dict(nets)
    for node in logic.graph.cone(wanted, known={0, *nets}):
        fanins = logic.graph.fanins[node]
        assert fanins is not None
        a, b = fanins
        rows = [(x ^ a & 1) & (y ^ b & 1) for x in (0, 1) for y in (0, 1)]
        nets[node] = add([2 * row - 1 for row in rows], nets[a >> 1], nets[b >> 1])
    made: dict[Literal, int] = {}
    for literal in wanted:
        if literal in made:
            continue
        if literal in (FALSE, TRUE):
            made[literal] = add([2 * literal - 1] * 4, 0, 0)
        elif literal & 1:
            net = nets[literal >> 1]
            made[literal] = add([1, 1, -1, -1], net, net)
        else:
            made[literal] = nets[literal >> 1]
    pairs = np.array(sources, dtype=np.int64).reshape(-1, 2)
    return Netlist.of_gates(
        len(logic.inputs),
        np.array(tables, dtype=np.int8).reshape(-1, 4),
        pairs[:, 0],
        pairs[:, 1],
        [made[literal] for literal in wanted],
        valence=2,
        encoder=bit_encoder(list(logic.inputs)),
        name=name,
        provenance={"outputs": list(logic.outputs)},
    )


class _Wire:
    """A literal that the simulator's kernels can compute with."""

    def __init__(self, graph: Aig, literal: Literal) -> None:
        self.graph = graph
        self.literal = literal

    def __and__(self, other: "_Wire") -> "_Wire":
        return _Wire(self.graph, self.graph.both(self.literal, other.literal))

    def __or__(self, other: "_Wire") -> "_Wire":
        return _Wire(self.graph, self.graph.either(self.literal, other.literal))

    def __xor__(self, other: "_Wire") -> "_Wire":
        return _Wire(self.graph, self.graph.differ(self.literal, other.literal))

    def __invert__(self) -> "_Wire":
        return _Wire(self.graph, self.literal ^ 1)


def wire_names(net: int | str, kind: int) -> list[str]:
    """Return the names of a bit, ``n7``, or of a trit's plus and minus, ``n7_p`` and ``n7_m``."""
    return [str(net)] if kind == Kind.BIT else [f"{net}_p", f"{net}_m"]


def _logic_of_wires(netlist: Netlist) -> Logic:
    wires = lower(netlist)
    graph = Aig()
    kinds = netlist.kinds.tolist()
    names = [
        name for net in range(netlist.num_inputs) for name in wire_names(f"n{net}", kinds[net])
    ]
    inputs = {name: graph.input() for name in names}
    literals = [_Wire(graph, literal) for literal in inputs.values()]
    constants = _Wire(graph, FALSE), _Wire(graph, TRUE)
    for sources, on in zip(wires.inputs.tolist(), wires.on.tolist(), strict=True):
        read = [literals[wire] for wire in sources if wire != NO_WIRE]
        table = [constants[on >> row & 1] for row in range(1 << len(read))]
        literals.append(lut(table.__getitem__, read))
    outputs = {
        name: literals[wire].literal
        for number, net in enumerate(netlist.outputs.tolist())
        for name, wire in zip(wire_names(f"o{number}", kinds[net]), wires.of(net), strict=True)
    }
    return Logic(graph, inputs, outputs)


def logic_of(netlist: Netlist) -> Logic:
    """Return the gates of a netlist without scores as logic.

    Bits are ``n7`` and ``o0``; a trit is the two bits of its dual-rail code, ``n7_p`` ([v = +1])
    and ``n7_m`` ([v = −1]). Two-input gates are what the simulator's program makes of them.
    """
    if not netlist.is_two_input:
        return _logic_of_wires(netlist)
    program = Program.of(netlist)
    rails = ("",) if program.planes_per_net == 1 else ("_p", "_m")
    graph = Aig()
    inputs = {f"n{net}{rail}": graph.input() for net in range(netlist.num_inputs) for rail in rails}
    zero, one = _Wire(graph, FALSE), _Wire(graph, TRUE)
    planes = [zero] * program.num_planes
    for net, plane in enumerate(program.inputs.tolist()):
        if plane != NO_PLANE:
            for offset, rail in enumerate(rails):
                planes[plane + offset] = _Wire(graph, inputs[f"n{net}{rail}"])
    functions = np.repeat(program.runs[:, 0], program.runs[:, 1]).tolist()
    for kernel, (a, b, result) in zip(functions, program.operands.tolist(), strict=True):
        bits = {"zero": zero, "one": one, "ap": planes[a], "bp": planes[b]}
        if len(rails) == 2:
            bits |= {"am": planes[a ^ 1], "bm": planes[b ^ 1]}
        planes[result] = kernels()[kernel].apply(bits)
    outputs = {
        f"o{number}{rail}": planes[plane + offset].literal
        for number, plane in enumerate(program.outputs.tolist())
        for offset, rail in enumerate(rails)
    }
    return Logic(graph, inputs, outputs)
