"""One layer of the fabric: the gates of one level, and the wires that pass it by."""

from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.data import ArrayLayout
from amaranth.lib.wiring import In, Out

from trilut.circuit.netlist import Netlist
from trilut.circuit.reach import ternary_tables
from trilut.hdl.gate import Gate, gate_expression
from trilut.hdl.plan import LayerPlan

__all__ = ["Layer"]


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
    i : :py:`In(ArrayLayout(2, len(plan.nets_in)))`
        Trits that enter.
    o : :py:`Out(ArrayLayout(2, len(plan.nets_out)))`
        Trits that leave.
    en : :py:`In(1)`
        Enables the register. Absent if the layer is not registered.
    """

    def __init__(self, netlist: Netlist, plan: LayerPlan, *, has_components: bool = False):
        self.netlist = netlist
        self.plan = plan
        self._has_components = has_components
        super().__init__(
            {
                "i": In(ArrayLayout(2, len(plan.nets_in))),
                "o": Out(ArrayLayout(2, len(plan.nets_out))),
                **({"en": In(1)} if plan.registered else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        position = {net: index for index, net in enumerate(self.plan.nets_in)}
        trits = {net: self.i[position[net]] for net in self.plan.nets_in}
        trits |= self._gates(m, trits)
        result = Cat(trits[net] for net in self.plan.nets_out)
        if not self.plan.registered:
            m.d.comb += self.o.as_value().eq(result)
            return m
        register = Signal(2 * len(self.plan.nets_out), reset_less=True, name="pipeline_register")
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
