"""Flow control of the pipeline: which stages hold a vector, and when they move."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Control"]


class Control(wiring.Component):
    """The valid bits of a pipeline that moves as a whole.

    All stages advance in every cycle unless the last one holds a result that is not being taken.
    A transfer happens at the rising edge at which valid and ready are both high. While
    ``out_valid`` is high and ``out_ready`` low, nothing moves, so the result holds. Reset empties
    the pipeline.
    ``in_ready`` depends on ``out_ready`` combinationally.

    Parameters
    ----------
    depth : int
        Number of pipeline stages, at least one.

    Members
    -------
    in_valid, in_ready : :py:`In(1)`, :py:`Out(1)`
        Handshake at the first stage.
    out_valid, out_ready : :py:`Out(1)`, :py:`In(1)`
        Handshake at the last stage.
    advance : :py:`Out(1)`
        Enables the registers of all stages.
    """

    in_valid: In(1)
    in_ready: Out(1)
    out_valid: Out(1)
    out_ready: In(1)
    advance: Out(1)

    def __init__(self, depth: int):
        if depth < 1:
            raise ValueError(f"A pipeline has at least one stage, not {depth}")
        self.depth = depth
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        occupied = Signal(self.depth)
        with m.If(self.advance):
            m.d.sync += occupied.eq(Cat(self.in_valid, occupied))
        m.d.comb += [
            self.out_valid.eq(occupied[-1]),
            self.advance.eq(self.out_ready | ~self.out_valid),
            self.in_ready.eq(self.advance),
        ]
        return m
