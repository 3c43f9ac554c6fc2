"""One layer of the fabric: the gates of one level, and the wires that pass it by."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.data import ArrayLayout
from amaranth.lib.wiring import In, Out

from trilut.circuit.netlist import Netlist
from trilut.circuit.reach import ternary_tables
from trilut.circuit.vectors import Function, NetWires
from trilut.hdl.gate import Gate, gate_expression
from trilut.hdl.plan import LayerPlan

__all__ = ["Layer", "Node", "vector_layout"]


def vector_layout(wires: NetWires, nets: Sequence[int]) -> ArrayLayout:
    """Return the packing of some nets: two bits a trit if all are dual-rail, or bit by bit."""
    return ArrayLayout(2, len(nets)) if wires.is_dual_rail else ArrayLayout(1, wires.width(nets))


class Node(wiring.Component):
    """A gate of any inputs.

    Combinational. What comes out when a row comes in that cannot occur is unspecified.

    Members
    -------
    i : :py:`In(...)`
        What each function reads, one function after the other.
    o : :py:`Out(len(functions))`
        The wires of its net.
    """

    def __init__(self, functions: tuple[Function, ...]):
        self.functions = functions
        num_wires = sum(len(function.wires) for function in functions)
        super().__init__({"i": In(num_wires), "o": Out(len(functions))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        first = 0
        for bit, function in enumerate(self.functions):
            row = self.i[first : first + len(function.wires)]
            first += len(function.wires)
            m.d.comb += self.o[bit].eq(_look_up(function, row))
        return m


def _look_up(function: Function, row: Any) -> Any:
    return Const(function.table, 1 << len(row)).bit_select(row, 1)


class Layer(wiring.Component):
    """The gates of one level.

    The latency is one clock cycle if the layer is registered, and zero otherwise. The register
    takes a new vector in every cycle in which ``en`` is high and keeps the old one otherwise. It
    starts as all UNKNOWN, a legal code, and reset leaves it alone.

    Parameters
    ----------
    netlist : Netlist
        The circuit.
    plan : LayerPlan
        Which of its gates these are.
    has_components : bool
        Whether every gate is a component of its own, ``neuron_0`` and so on, and not an expression.

    Members
    -------
    i : :py:`In(vector_layout(plan.wires, plan.nets_in))`
        Nets that enter.
    o : :py:`Out(vector_layout(plan.wires, plan.nets_out))`
        Nets that leave.
    en : :py:`In(1)`
        Enables the register. Absent if the layer is not registered.
    """

    def __init__(self, netlist: Netlist, plan: LayerPlan, *, has_components: bool = False):
        self.netlist = netlist
        self.plan = plan
        self._has_components = has_components
        super().__init__(
            {
                "i": In(vector_layout(plan.wires, plan.nets_in)),
                "o": Out(vector_layout(plan.wires, plan.nets_out)),
                **({"en": In(1)} if plan.registered else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self.plan.wires.is_dual_rail:
            position = {net: index for index, net in enumerate(self.plan.nets_in)}
            trits = {net: self.i[position[net]] for net in self.plan.nets_in}
            trits |= self._gates(m, trits)
        else:
            places = self.plan.wires.places(self.plan.nets_in)
            vector = self.i.as_value()
            trits = {net: vector[place[0] : place[-1] + 1] for net, place in places.items()}
            trits |= self._lookups(m, trits)
        result = Cat(trits[net] for net in self.plan.nets_out)
        if not self.plan.registered:
            m.d.comb += self.o.as_value().eq(result)
            return m
        register = Signal(self.plan.width_out, reset_less=True, name="pipeline_register")
        with m.If(self.en):
            m.d.sync += register.eq(result)
        m.d.comb += self.o.as_value().eq(register)
        return m

    def _gates(self, m: Module, trits: dict[int, Any]) -> dict[int, Any]:
        netlist = self.netlist
        outputs = {}
        for neuron, gate in enumerate(self.plan.gates):
            net = netlist.num_inputs + gate
            a, b = trits[int(netlist.a[gate])], trits[int(netlist.b[gate])]
            formulas = self.plan.formulas[neuron]
            if self._has_components:
                table = ternary_tables(netlist)[gate].tolist()
                m.submodules[f"neuron_{neuron}"] = component = Gate(table, formulas)
                m.d.comb += [component.a.eq(a), component.b.eq(b)]
                outputs[net] = component.o
                continue
            outputs[net] = Signal(2, name=f"neuron_{neuron}")
            m.d.comb += outputs[net].eq(gate_expression(formulas, a, b))
        return outputs

    def _lookups(self, m: Module, nets: dict[int, Any]) -> dict[int, Any]:
        netlist = self.netlist
        outputs = {}
        for neuron, (gate, functions) in enumerate(
            zip(self.plan.gates, self.plan.functions, strict=True)
        ):
            rows = [
                Cat(nets[source][wire] for source, wire in function.wires) for function in functions
            ]
            made = Signal(len(functions), name=f"neuron_{neuron}")
            outputs[netlist.num_inputs + gate] = made
            if self._has_components:
                m.submodules[f"neuron_{neuron}"] = node = Node(functions)
                m.d.comb += [node.i.eq(Cat(rows)), made.eq(node.o)]
                continue
            m.d.comb += made.eq(Cat(map(_look_up, functions, rows)))
        return outputs
