"""Layers as Verilog text: made from the same formulas as the Amaranth layers, but in bulk.

Amaranth takes milliseconds a gate and names what it makes as it likes. Text takes microseconds, and
every line can say which neuron it is.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from trilut.circuit.formula import Formula
from trilut.circuit.gates import gate_id, gate_name
from trilut.circuit.netlist import Netlist
from trilut.hdl.plan import LayerPlan

__all__ = ["LayerFaults", "fabric_verilog", "layer_verilog"]


@dataclass(frozen=True, slots=True)
class LayerFaults:
    """What to make wrong in a layer, as Verilog expressions of which every 1 inverts a bit.

    Parameters
    ----------
    neurons : mapping
        For a neuron, by its place in the plan, an expression of two bits, which may read ``i``.
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
    widths = [2 * netlist.num_inputs, *(2 * len(plan.nets_out) for plan in plans)]
    wires = ["in_trits", *(f"layer_{plan.level}_o" for plan in plans)]
    ports = [
        f"input wire [{widths[0] - 1}:0] in_trits",
        f"output wire [{2 * len(netlist.outputs) - 1}:0] out_trits",
    ]
    lines = [f"module {module} (", *_comma_lines(ports), ");"]
    for index, plan in enumerate(plans):
        lines.append(f"  wire [{widths[index + 1] - 1}:0] {wires[index + 1]};")
        lines.append(
            f"  {module}_layer_{plan.level} layer_{plan.level} "
            f"(.i({wires[index]}), .o({wires[index + 1]}));"
        )
    if plans:
        lines.append(f"  assign out_trits = {wires[-1]};")
    else:
        trits = [f"in_trits[{2 * net + 1}:{2 * net}]" for net in netlist.outputs.tolist()]
        lines += ["  assign out_trits = {", *_comma_lines(trits[::-1]), "  };"]
    layers = [layer_verilog(netlist, plan, f"{module}_layer_{plan.level}") for plan in plans]
    return "\n".join([*lines, "endmodule", "", *layers])


def layer_verilog(
    netlist: Netlist,
    plan: LayerPlan,
    module: str,
    *,
    lut_cells: bool = False,
    faults: LayerFaults | None = None,
) -> str:
    """Return a Verilog module with the ports and the behaviour of :class:`Layer`.

    Its ports are ``i`` and ``o``, and ``clk`` and ``en`` if the layer is registered.

    Parameters
    ----------
    lut_cells : bool
        Whether every plane is a LUT4 of the ECP5 and not an expression. Between registers that
        takes as many LUTs, but Yosys likes to make one plane from the other, and then the signal
        passes two.
    faults : LayerFaults, optional
        What to make wrong.
    """
    faults = faults or LayerFaults()
    clock = ["input wire clk", "input wire en"] if plan.registered else []
    kind = "reg" if plan.registered else "wire"
    ports = [
        *clock,
        f"input wire [{2 * len(plan.nets_in) - 1}:0] i",
        f"output {kind} [{2 * len(plan.nets_out) - 1}:0] o",
    ]
    lines = [f"module {module} (", *_comma_lines(ports), ");"]
    lines += _neurons(netlist, plan, faults.neurons, lut_cells=lut_cells)
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
    position = {net: index for index, net in enumerate(plan.nets_in)}
    neuron = {netlist.num_inputs + gate: index for index, gate in enumerate(plan.gates)}
    trits = [
        f"neuron_{neuron[net]}"
        if net in neuron
        else f"i[{2 * position[net] + 1}:{2 * position[net]}]"
        for net in reversed(plan.nets_out)
    ]
    if plan.registered:
        width = 2 * len(plan.nets_out)
        yield f"  initial o = {width}'d0;"
        yield "  always @(posedge clk)"
        yield "    if (en) o <= {"
    else:
        yield "  assign o = {"
    yield from _comma_lines(trits)
    yield f"  }} ^ ({fault});" if fault else "  };"


def _comma_lines(items: list[str]) -> Iterable[str]:
    # One item a line: Verilator's parser does not take lines of a hundred thousand characters.
    for index, item in enumerate(items):
        yield f"    {item}{',' if index + 1 < len(items) else ''}"
