"""Flow control of the pipeline: which stages hold a vector, when they move, and the results."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Control"]


class Control(wiring.Component):
    """The valid bits of a pipeline that moves as a whole, and a buffer for two results at its end.

    A transfer happens at the rising edge at which valid and ready are both high. A result holds
    while ``out_valid`` is high and ``out_ready`` low. The stages learn of that from a register, one
    cycle late, and the result that they push out meanwhile waits in a spare register; then they
    stop until it has left. So no path leads from ``out_ready`` to ``in_ready`` or to the enables of
    all registers. The buffer adds one cycle to the latency. Reset empties the pipeline.

    Parameters
    ----------
    depth : int
        Number of pipeline stages before the buffer.
    width : int
        Bits of a result.

    Members
    -------
    in_valid, in_ready : :py:`In(1)`, :py:`Out(1)`
        Handshake at the first stage.
    advance : :py:`Out(1)`
        Enables the registers of all stages.
    i : :py:`In(width)`
        What the last stage holds.
    out_valid, out_ready : :py:`Out(1)`, :py:`In(1)`
        Handshake of the results.
    o : :py:`Out(width)`
        The result.
    """

    def __init__(self, depth: int, width: int):
        self.depth = depth
        super().__init__(
            {
                "in_valid": In(1),
                "in_ready": Out(1),
                "advance": Out(1),
                "i": In(width),
                "out_valid": Out(1),
                "out_ready": In(1),
                "o": Out(width),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        occupied = Signal(self.depth)
        stages = Cat(self.in_valid, occupied)
        # The spare register is empty exactly while the stages move.
        advance = Signal(init=1)
        spare = Signal(len(self.i), reset_less=True)
        result = Signal(len(self.i), reset_less=True)
        is_valid = Signal()
        takes = self.out_ready | ~is_valid
        with m.If(advance):
            m.d.sync += [occupied.eq(stages), spare.eq(self.i)]
        with m.If(takes):
            m.d.sync += [
                result.eq(Mux(advance, self.i, spare)),
                is_valid.eq(stages[-1] | ~advance),
            ]
        # So written, no path to a register has more than one LUT.
        with m.If(takes | stages[-1]):
            m.d.sync += advance.eq(takes)
        m.d.comb += [
            self.advance.eq(advance),
            self.in_ready.eq(advance),
            self.out_valid.eq(is_valid),
            self.o.eq(result),
        ]
        return m
