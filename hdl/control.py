"""Flow control of the pipeline: which stages hold a vector, when they move, and the results."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Control"]


class Control(wiring.Component):
    """The valid bits of a pipeline that moves as a whole, and a buffer for two results at its end.

    A transfer happens at the rising edge at which valid and ready are both high. A result holds
    while ``out_valid`` is high and ``out_ready`` low. The stages learn of that from a register, one
    cycle late, and the result that they push out meanwhile waits behind the first; then they stop
    until one has left. So no path leads from ``out_ready`` to ``in_ready`` or to the enables of
    all registers. The buffer adds one cycle to the latency. Reset empties the pipeline.

    The two places of the buffer take turns. Each takes what the last stage holds in every cycle in
    which it is empty, so its enable is a register too, and a multiplexer shows the one whose turn
    it is. If there is one result, it is its turn.

    Parameters
    ----------
    depth : int
        Number of pipeline stages before the buffer.
    width : int
        Bits of a result.
    loop : int, optional
        The stage that a state belongs to: so many registers lie before it.

    Members
    -------
    in_valid, in_ready : :py:`In(1)`, :py:`Out(1)`
        Handshake at the first stage.
    advance : :py:`Out(1)`
        Enables the registers of all stages.
    present : :py:`Out(1)`
        Whether the stage of the state holds a vector, if there is one.
    i : :py:`In(width)`
        What the last stage holds.
    out_valid, out_ready : :py:`Out(1)`, :py:`In(1)`
        Handshake of the results.
    o : :py:`Out(width)`
        The result.
    """

    def __init__(self, depth: int, width: int, *, loop: int | None = None):
        self.depth = depth
        self.loop = loop
        super().__init__(
            {
                "in_valid": In(1),
                "in_ready": Out(1),
                "advance": Out(1),
                **({} if loop is None else {"present": Out(1)}),
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
        leaving = stages[-1]
        advance = Signal(init=1)
        is_valid = Signal()
        turn = Signal()
        full = [Signal(name=f"full_{place}") for place in (0, 1)]
        results = [Signal(len(self.i), reset_less=True, name=f"result_{place}") for place in (0, 1)]
        with m.If(advance):
            m.d.sync += occupied.eq(stages)
        with m.If(self.out_ready & is_valid):
            m.d.sync += turn.eq(~turn)
        for place in (0, 1):
            is_turn = turn == place
            with m.If(~full[place]):
                m.d.sync += results[place].eq(self.i)
            # So written, no register here has more than one LUT4 before it.
            with m.If(self.out_ready | ~full[place]):
                fills = ~full[place] & leaving & (is_turn | full[1 - place])
                m.d.sync += full[place].eq(fills | (full[place] & ~is_turn))
        both, either = full[0] & full[1], full[0] | full[1]
        m.d.sync += [
            advance.eq(self.out_ready | ~(both | (either & leaving))),
            is_valid.eq(both | leaving | (either & ~self.out_ready)),
        ]
        m.d.comb += [
            self.advance.eq(advance),
            self.in_ready.eq(advance),
            self.out_valid.eq(is_valid),
            self.o.eq(Mux(turn, results[1], results[0])),
        ]
        if self.loop is not None:
            m.d.comb += self.present.eq(stages[self.loop])
        return m
