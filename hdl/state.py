"""The states of a circuit in hardware: what one step leaves for the next.

As with layers there is a component, and text that does the same: inside a design, Amaranth takes
the vectors at the border of a component apart.
"""

from amaranth.hdl import Cat, Module, ResetSignal, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from trilut.circuit.sequential import SequentialNetlist
from trilut.circuit.trit import MINUS, TRIT_BITS, pack_trits
from trilut.circuit.vectors import NetWires
from trilut.hdl.fabric import comma_lines

__all__ = ["StateRegisters", "state_verilog"]


class StateRegisters(wiring.Component):
    """The registers of the states.

    A step happens at the rising edge at which ``advance`` and ``present`` are high: the registers
    take the states that the step has made or, if it was the last one of its sequence, their resets.
    So the resets are those of the flip-flops, and no multiplexer is in the loop.

    A trit that is never UNKNOWN is one flip-flop, which is high for TRUE.

    Parameters
    ----------
    netlist : SequentialNetlist
        The circuit.
    wires : NetWires
        How the nets of its core stand on wires.

    Attributes
    ----------
    held : list of int
        The wires of the states that have a flip-flop.
    reset : int
        What these hold at the first step of a sequence.

    Members
    -------
    i, o : :py:`In(width)`, :py:`Out(width)`
        The wires of the states of the next step, and of this one.
    advance, present, last : :py:`In(1)`
        Whether the pipeline moves, whether its stage of the state holds a vector, and whether that
        is the last one of its sequence.
    """

    def __init__(self, netlist: SequentialNetlist, wires: NetWires):
        nets = range(netlist.num_inputs, netlist.core.num_inputs)
        places = wires.places(nets).values()
        is_single = ~netlist.state_values()[:, 1]
        self.width = wires.width(nets)
        # Minus of a trit that is never UNKNOWN is the inverse of plus, the wire after it.
        inverses = {
            place[MINUS]
            for place, single in zip(places, is_single.tolist(), strict=True)
            if single and len(place) == TRIT_BITS
        }
        self.held = [wire for wire in range(self.width) if wire not in inverses]
        rails = pack_trits(netlist.resets[None])[0].reshape(-1, TRIT_BITS)
        resets = [
            rail
            for rails, place in zip(rails, places, strict=True)
            for rail in rails[-len(place) :]
        ]
        self.reset = sum(int(resets[wire]) << place for place, wire in enumerate(self.held))
        super().__init__(
            {
                "i": In(self.width),
                "o": Out(self.width),
                "advance": In(1),
                "present": In(1),
                "last": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        state = Signal(len(self.held), init=self.reset, reset_less=True, name="state")
        step, clear = Signal(name="step"), Signal(name="clear")
        m.d.comb += [
            step.eq(self.advance & self.present),
            clear.eq(ResetSignal() | (step & self.last)),
        ]
        with m.If(step):
            m.d.sync += state.eq(Cat(self.i[wire] for wire in self.held))
        with m.If(clear):
            m.d.sync += state.eq(self.reset)
        register = dict(zip(self.held, state, strict=True))
        wires = range(self.width)
        m.d.comb += self.o.eq(
            Cat(register[wire] if wire in register else ~register[wire + 1] for wire in wires)
        )
        return m


def state_verilog(states: StateRegisters, module: str) -> str:
    """Return a Verilog module with the ports and the behaviour of the registers."""
    place = {wire: place for place, wire in enumerate(states.held)}
    wires = [
        f"state[{place[wire]}]" if wire in place else f"~state[{place[wire + 1]}]"
        for wire in range(states.width)
    ]
    reset = f"{len(states.held)}'h{states.reset:x}"
    return "\n".join(
        [
            f"module {module} (",
            *(f"    input wire {port}," for port in ("clk", "rst", "advance", "present", "last")),
            f"    input wire [{states.width - 1}:0] i,",
            f"    output wire [{states.width - 1}:0] o",
            ");",
            f"  reg [{len(states.held) - 1}:0] state = {reset};",
            "  wire step = advance & present;",
            "  always @(posedge clk)",
            f"    if (rst | (step & last)) state <= {reset};",
            "    else if (step) state <= {",
            *comma_lines([f"i[{wire}]" for wire in reversed(states.held)]),
            "  };",
            "  assign o = {",
            *comma_lines(wires[::-1]),
            "  };",
            "endmodule",
            "",
        ]
    )
