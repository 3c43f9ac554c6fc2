"""Layers as Verilog text: made from the same formulas as the Amaranth layers, but in bulk.

Amaranth takes milliseconds a gate and names what it makes as it likes. Text takes microseconds, and
every line can say which neuron it is.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

import numpy as np

from trilut.circuit.formula import Formula
from trilut.circuit.gates import gate_id, gate_name
from trilut.circuit.kinds import NO_NET, Kind
from trilut.circuit.netlist import Netlist
from trilut.circuit.reach import reachable_rows
from trilut.circuit.trit import PLUS, TRIT_BITS
from trilut.circuit.vectors import NetWires
from trilut.hdl.lookup import Lookup, lookup_text
from trilut.hdl.plan import LayerPlan

__all__ = ["LayerFaults", "fabric_verilog", "layer_verilog"]


@dataclass(frozen=True, slots=True)
class LayerFaults:
    """What to make wrong in a layer, as Verilog expressions of which every 1 inverts a bit.

    Parameters
    ----------
    neurons : mapping
        For a neuron, by its place in the plan, an expression of as many bits as its net has wires,
        two in a circuit of two-input gates, which may read ``i``.
    output : str
        An expression of as many bits as ``o`` has, which meets what ``o`` takes.
    """

    neurons: Mapping[int, str] = field(default_factory=dict)
    output: str = ""


def fabric_verilog(netlist: Netlist, plans: Sequence[LayerPlan], module: str) -> str:
    """Return the gates of a netlist as a combinational module of its own, layer by layer.

    Its ports are ``in_trits`` and ``out_trits``, two bits a trit.

    Parameters
    ----------
    plans : sequence of LayerPlan
        The layers, none of them registered.
    """
    wires = plans[0].wires if plans else NetWires(netlist, reachable_rows(netlist))
    inputs = range(netlist.num_inputs)
    ports = [
        f"input wire [{TRIT_BITS * netlist.num_inputs - 1}:0] in_trits",
        f"output wire [{TRIT_BITS * len(netlist.outputs) - 1}:0] out_trits",
    ]
    lines = [f"module {module} (", *comma_lines(ports), ");"]
    source = "in_trits"
    if not wires.is_dual_rail:
        source = "in_wires"
        lines.append(f"  wire [{wires.width(inputs) - 1}:0] in_wires = {{")
        lines += [*comma_lines(_entering(netlist)[::-1]), "  };"]
    for plan in plans:
        name = f"layer_{plan.level}"
        lines.append(f"  wire [{plan.width_out - 1}:0] {name}_o;")
        lines.append(f"  {module}_{name} {name} (.i({source}), .o({name}_o));")
        source = f"{name}_o"
    if plans and wires.is_dual_rail:
        lines.append(f"  assign out_trits = {source};")
    else:
        nets = netlist.outputs.tolist()
        places = _output_places(wires, nets) if plans else _input_places(wires, nets, netlist)
        trits = [_trit(source, place) for place in places]
        lines += ["  assign out_trits = {", *comma_lines(trits[::-1]), "  };"]
    layers = [layer_verilog(netlist, plan, f"{module}_layer_{plan.level}") for plan in plans]
    return "\n".join([*lines, "endmodule", "", *layers])


def _entering(netlist: Netlist) -> list[str]:
    """Return what is taken of each dual-rail trit of ``in_trits``."""
    return [
        f"in_trits[{_bits(range(2 * net, 2 * net + 2))}]"
        if kind == Kind.TRIT
        else f"in_trits[{2 * net + PLUS}]"
        for net, kind in enumerate(netlist.kinds[: netlist.num_inputs].tolist())
    ]


def _output_places(wires: NetWires, nets: Sequence[int]) -> list[range]:
    """Return where each output's wires are; a net can be several outputs."""
    ends = list(accumulate(wires.num_wires[nets].tolist(), initial=0))
    return [range(*place) for place in pairwise(ends)]


def _input_places(wires: NetWires, nets: Sequence[int], netlist: Netlist) -> list[range]:
    places = wires.places(range(netlist.num_inputs))
    return [places[net] for net in nets]


def _trit(vector: str, place: range) -> str:
    """Return a bit or a trit of a vector as a dual-rail trit."""
    bits = f"{vector}[{_bits(place)}]"
    return bits if len(place) == TRIT_BITS else f"{bits}, ~{bits}"


def _bits(place: range) -> str:
    """Return what selects a place in a vector."""
    return f"{place[-1]}:{place[0]}" if len(place) > 1 else str(place[0])


def layer_verilog(
    netlist: Netlist,
    plan: LayerPlan,
    module: str,
    *,
    lut_cells: bool = False,
    lookup: Lookup = lookup_text,
    faults: LayerFaults | None = None,
) -> str:
    """Return a Verilog module with the ports and the behaviour of :class:`Layer`.

    Its ports are ``i`` and ``o``, and ``clk`` and ``en`` if the layer is registered.

    Parameters
    ----------
    lut_cells : bool
        Whether every plane is a LUT4 of the ECP5 and not an expression. Between registers that
        takes as many LUTs, but Yosys likes to make one plane from the other, and then the signal
        passes two. Of two-input gates only.
    lookup : callable
        What makes the functions of other gates.
    faults : LayerFaults, optional
        What to make wrong.
    """
    faults = faults or LayerFaults()
    clock = ["input wire clk", "input wire en"] if plan.registered else []
    kind = "reg" if plan.registered else "wire"
    ports = [
        *clock,
        f"input wire [{plan.width_in - 1}:0] i",
        f"output {kind} [{plan.width_out - 1}:0] o",
    ]
    lines = [f"module {module} (", *comma_lines(ports), ");"]
    if plan.wires.is_dual_rail:
        lines += _neurons(netlist, plan, faults.neurons, lut_cells=lut_cells)
    else:
        lines += _nodes(netlist, plan, faults.neurons, lookup)
    lines += _output(netlist, plan, faults.output)
    lines += ["endmodule", ""]
    return "\n".join(lines)


def _neurons(
    netlist: Netlist, plan: LayerPlan, faults: Mapping[int, str], *, lut_cells: bool
) -> Iterable[str]:
    position = {net: index for index, net in enumerate(plan.nets_in)}
    gates = np.array(plan.gates, dtype=np.int64)
    ids = gate_id(netlist.table[gates], netlist.valence).tolist()
    texts = _plane_texts(plan)
    sources = zip(netlist.a[gates].tolist(), netlist.b[gates].tolist(), strict=True)
    for neuron, (a, b) in enumerate(sources):
        name = (gate_name(ids[neuron]) if netlist.valence == 3 else None) or f"gate_{ids[neuron]}"
        bits = (2 * position[a] + 1, 2 * position[a], 2 * position[b] + 1, 2 * position[b])
        plus, minus = (texts[plane].format(*bits) for plane in plan.formulas[neuron])
        yield f"  // net {netlist.num_inputs + plan.gates[neuron]} = {name}(net {a}, net {b})"
        right = f"neuron_{neuron}_right" if neuron in faults else f"neuron_{neuron}"
        if lut_cells:
            yield f"  wire [1:0] {right}; // {{{plus}, {minus}}}"
            for bit, plane in zip((1, 0), plan.formulas[neuron], strict=True):
                yield _lut_cell(plane, bits, right, bit)
        else:
            yield f"  wire [1:0] {right} = {{{plus}, {minus}}};"
        if neuron in faults:
            yield f"  wire [1:0] neuron_{neuron} = {right} ^ ({faults[neuron]});"


def _nodes(
    netlist: Netlist, plan: LayerPlan, faults: Mapping[int, str], lookup: Lookup
) -> Iterable[str]:
    """Give the lines of gates that are not two-input gates."""
    places = plan.wires.places(plan.nets_in)
    for neuron, (gate, functions) in enumerate(zip(plan.gates, plan.functions, strict=True)):
        net = netlist.num_inputs + gate
        sources = [source for source in netlist.sources[gate].tolist() if source != NO_NET]
        nets = ", ".join(f"net {source}" for source in sources)
        yield f"  // net {net}, a {Kind(netlist.kinds[net]).name.lower()}, of {nets}"
        width = "" if len(functions) == 1 else f"[{len(functions) - 1}:0] "
        right = f"neuron_{neuron}_right" if neuron in faults else f"neuron_{neuron}"
        yield f"  wire {width}{right};"
        for bit, function in enumerate(functions):
            target = right if len(functions) == 1 else f"{right}[{bit}]"
            read = [f"i[{places[source][wire]}]" for source, wire in function.wires]
            yield from lookup(target, function, read)
        if neuron in faults:
            yield f"  wire {width}neuron_{neuron} = {right} ^ ({faults[neuron]});"


_LEAVES = ("a_plus", "a_minus", "b_plus", "b_minus")


def _lut_cell(plane: Formula, bits: Sequence[int], neuron: str, bit: int) -> str:
    names = {leaf: f"i[{number}]" for leaf, number in zip(_LEAVES, bits, strict=True)}
    leaves = sorted(plane.leaves)
    if len(leaves) < 2:
        return f"  assign {neuron}[{bit}] = {plane.text(names)};"
    # Each pin as its column of the truth table: the formula of the columns is the table.
    columns = dict(zip(leaves, (0xAAAA, 0xCCCC, 0xF0F0, 0xFF00), strict=False))
    table = plane.build(columns) & 0xFFFF
    wires = [*(names[leaf] for leaf in leaves), "1'b0", "1'b0"]
    pins = ", ".join(f".{pin}({wire})" for pin, wire in zip("ABCD", wires, strict=False))
    return (
        f"  LUT4 #(.INIT(16'h{table:04x})) {neuron}_{'plus' if bit else 'minus'} "
        f"({pins}, .Z({neuron}[{bit}]));"
    )


def _plane_texts(plan: LayerPlan) -> dict[Formula, str]:
    """Return the text of every plane, with places for the numbers of its bits."""
    places = {leaf: f"i[{{{place}}}]" for place, leaf in enumerate(_LEAVES)}
    planes = {plane for formulas in plan.formulas for plane in formulas}
    return {plane: plane.text(places) for plane in planes}


def _output(netlist: Netlist, plan: LayerPlan, fault: str) -> Iterable[str]:
    places = plan.wires.places(plan.nets_in)
    neuron = {netlist.num_inputs + gate: index for index, gate in enumerate(plan.gates)}
    trits = [
        f"neuron_{neuron[net]}" if net in neuron else f"i[{_bits(places[net])}]"
        for net in reversed(plan.nets_out)
    ]
    if plan.registered:
        yield f"  initial o = {plan.width_out}'d0;"
        yield "  always @(posedge clk)"
        yield "    if (en) o <= {"
    else:
        yield "  assign o = {"
    yield from comma_lines(trits)
    yield f"  }} ^ ({fault});" if fault else "  };"


def comma_lines(items: list[str]) -> Iterable[str]:
    """Give items with commas between, one a line."""
    # Verilator's parser does not take lines of a hundred thousand characters.
    for index, item in enumerate(items):
        yield f"    {item}{',' if index + 1 < len(items) else ''}"
