"""Layers as Verilog text: made from the same formulas as the Amaranth layers, but in bulk.

Amaranth takes milliseconds a gate and names what it makes as it likes. Text takes microseconds, and
every line can say which neuron it is.
"""

from collections.abc import Iterable
from functools import cache

from trilut.formula import gate_formulas
from trilut.gates import gate_id, gate_name
from trilut.hdl.gate import ternary_table
from trilut.hdl.layer import LayerPlan
from trilut.netlist import Netlist

__all__ = ["layer_verilog"]


def layer_verilog(netlist: Netlist, plan: LayerPlan, module: str) -> str:
    """Return a Verilog module with the ports and the behaviour of :class:`Layer`.

    Its ports are ``i`` and ``o``, and ``clk`` and ``en`` if the layer is registered.
    """
    clock = ["input wire clk", "input wire en"] if plan.registered else []
    kind = "reg" if plan.registered else "wire"
    ports = [
        *clock,
        f"input wire [{2 * len(plan.nets_in) - 1}:0] i",
        f"output {kind} [{2 * len(plan.nets_out) - 1}:0] o",
    ]
    lines = [f"module {module} (", *_comma_lines(ports), ");"]
    lines += _neurons(netlist, plan)
    lines += _output(netlist, plan)
    lines += ["endmodule", ""]
    return "\n".join(lines)


def _neurons(netlist: Netlist, plan: LayerPlan) -> Iterable[str]:
    position = {net: index for index, net in enumerate(plan.nets_in)}
    ids = gate_id(netlist.table, netlist.valence).tolist()
    for neuron, gate in enumerate(plan.gates):
        a, b = int(netlist.a[gate]), int(netlist.b[gate])
        name, plus, minus = _gate_text(ids[gate], tuple(netlist.table[gate].tolist()))
        bits = (2 * position[a] + 1, 2 * position[a], 2 * position[b] + 1, 2 * position[b])
        yield f"  // net {netlist.num_inputs + gate} = {name}(net {a}, net {b})"
        yield f"  wire [1:0] neuron_{neuron} = {{{plus.format(*bits)}, {minus.format(*bits)}}};"


@cache
def _gate_text(gate: int, table: tuple[int, ...]) -> tuple[str, str, str]:
    """Return a gate's name and the texts of its planes, with places for the four bit numbers."""
    valence = 3 if len(table) == 9 else 2
    values = (-1, 0, 1) if valence == 3 else (-1, 1)
    plus, minus = gate_formulas(ternary_table(table, valence), values, values)
    places = {"a_plus": "i[{0}]", "a_minus": "i[{1}]", "b_plus": "i[{2}]", "b_minus": "i[{3}]"}
    name = (gate_name(gate) if valence == 3 else None) or f"gate_{gate}"
    return name, plus.text(places), minus.text(places)


def _output(netlist: Netlist, plan: LayerPlan) -> Iterable[str]:
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
    yield "  };"


def _comma_lines(items: list[str]) -> Iterable[str]:
    # One item a line: Verilator's parser does not take lines of a hundred thousand characters.
    for index, item in enumerate(items):
        yield f"    {item}{',' if index + 1 < len(items) else ''}"
