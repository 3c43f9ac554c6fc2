"""The program memory and the fetching of instructions."""

from typing import Any

from amaranth.hdl import Cat, ClockSignal, Const, Instance, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from trilut.engine.instructions import Field
from trilut.hdl.engine.size import EngineSize

__all__ = ["RESTART_CYCLES", "WORD_BITS", "Fetch", "ProgramMemory", "memory_verilog", "stored_bits"]

WORD_BITS = 64
RESTART_CYCLES = 2
"""Cycles without an instruction at hand after a restart."""


def stored_bits(size: EngineSize) -> list[int]:
    """Return which bits of an instruction an engine has to keep; the others are always 0."""
    needed = [
        *((name, size.address_bits) for name in (Field.A, Field.B, Field.DESTINATION)),
        *((name, size.value_bits + 1) for name in (Field.LOW, Field.HIGH)),
        (Field.BASE, size.score_bits),
        (Field.CLASS, size.class_bits),
        *((name, name.width) for name in (Field.TABLE, Field.OP, Field.ROWS)),
        *((name, name.width) for name in (Field.MISSING, Field.LAST, Field.ADD)),
    ]
    kept = {name.first + bit for name, width in needed for bit in range(width)}
    return sorted(kept)


class ProgramMemory(wiring.Component):
    """A memory of instructions with one port: it reads, or it writes the words of some lanes.

    Parameters
    ----------
    width, lanes, depth : int
        Bits of a word, words of a row, and rows.
    module : str, optional
        Name of a Verilog module that it is; by default it is described here.

    Members
    -------
    address, write, write_data, read_data
        What is read is there one cycle later; after a write it is anything.
    """

    def __init__(self, width: int, lanes: int, depth: int, *, module: str | None = None):
        self.width, self.lanes, self.depth = width, lanes, depth
        self._module = module
        super().__init__(
            {
                "address": In(range(depth)),
                "write": In(lanes),
                "write_data": In(width),
                "read_data": Out(width * lanes),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self._module is not None:
            m.submodules.memory = Instance(
                self._module,
                i_clk=ClockSignal(),
                i_address=self.address,
                i_write=self.write,
                i_write_data=self.write_data,
                o_read_data=self.read_data,
            )
            return m
        m.submodules.memory = memory = Memory(
            shape=self.width * self.lanes, depth=self.depth, init=[]
        )
        write_port, read_port = memory.write_port(granularity=self.width), memory.read_port()
        m.d.comb += [
            write_port.addr.eq(self.address),
            write_port.en.eq(self.write),
            write_port.data.eq(Cat([self.write_data] * self.lanes)),
            read_port.addr.eq(self.address),
            read_port.en.eq(self.write == 0),
            self.read_data.eq(read_port.data),
        ]
        return m


def memory_verilog(size: EngineSize, module: str) -> str:
    """Return the program memory of an engine as a Verilog module.

    Amaranth's memories are 0 at the start, which large RAM on a chip is not: an SPRAM of an
    iCE40UP5K, a macro of an ASIC. This one may be replaced by whatever does the same.
    """
    width, depth = len(stored_bits(size)), size.steps
    lanes = "\n".join(
        f"""\
  reg [{width - 1}:0] memory_{lane} [0:{depth - 1}];
  reg [{width - 1}:0] data_{lane};
  always @(posedge clk)
    if (write[{lane}]) memory_{lane}[address] <= write_data;
    else data_{lane} <= memory_{lane}[address];"""
        for lane in range(size.lanes)
    )
    joined = ", ".join(f"data_{lane}" for lane in reversed(range(size.lanes)))
    return f"""\
module {module} (
  input clk,
  input [{(depth - 1).bit_length() - 1}:0] address,
  input [{size.lanes - 1}:0] write,
  input [{width - 1}:0] write_data,
  output [{width * size.lanes - 1}:0] read_data
);
{lanes}
  assign read_data = {{{joined}}};
endmodule
"""


class Fetch(wiring.Component):
    """The program memory, with up to two models, and the instruction register behind it.

    A model that is being written stands behind the one in use, round the end of the memory. The
    memory has one port, as single-port RAM has: a write takes the place of a read, and what was
    read before it is read again, so two steps are lost.

    Parameters
    ----------
    memory_module : str, optional
        Name of a module that the memory is an instance of; see :func:`memory_verilog`.

    Members
    -------
    begin : :py:`In(1)`
        A model will be written; what has been written of another is forgotten.
    write, word : :py:`In(1)`, :py:`In(64)`
        Its next instruction.
    take : :py:`In(1)`
        The model that has been written is in use from now on.
    restart : :py:`In(1)`
        Begin again, with the model that is or comes into use; the instruction at hand is dropped.
    run : :py:`In(1)`
        Low keeps the fetching still, with no instruction at hand.
    hold : :py:`In(1)`
        Keep the instruction that is at hand.
    valid, words : :py:`Out`
        The instructions at hand, one for each lane.
    """

    def __init__(self, size: EngineSize, *, memory_module: str | None = None):
        self.size = size
        self._memory_module = memory_module
        super().__init__(
            {
                "begin": In(1),
                "write": In(1),
                "word": In(WORD_BITS),
                "take": In(1),
                "restart": In(1),
                "run": In(1),
                "hold": In(1),
                "valid": Out(1),
                "words": Out(WORD_BITS * size.lanes),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        size = self.size
        kept = stored_bits(size)
        m.submodules.memory = memory = ProgramMemory(
            len(kept), size.lanes, size.steps, module=self._memory_module
        )
        steps = range(size.steps)
        first, free = Signal(steps), Signal(steps)
        write_step, write_lane = Signal(steps), Signal(range(size.lanes))
        with m.If(self.begin):
            m.d.sync += [write_step.eq(free), write_lane.eq(0)]
        with m.Elif(self.write):
            m.d.sync += write_lane.eq(write_lane + 1)
            with m.If(write_lane == size.lanes - 1):
                m.d.sync += write_step.eq(self._after(write_step))
        with m.If(self.take):
            m.d.sync += [first.eq(free), free.eq(write_step)]

        next_step, last_step = Signal(steps), Signal(steps)
        # Whether the memory gives what was read, and not what it likes after a write.
        fetched = Signal()
        step = Signal(steps)
        m.d.comb += [
            step.eq(Mux(fetched & self.hold, last_step, next_step)),
            memory.address.eq(Mux(self.write, write_step, step)),
            memory.write_data.eq(Cat(self.word[bit] for bit in kept)),
            memory.write.eq(Mux(self.write, Const(1, size.lanes) << write_lane, 0)),
        ]
        with m.If(self.write):
            m.d.sync += [next_step.eq(step), fetched.eq(0)]
        with m.Else():
            m.d.sync += [last_step.eq(step), next_step.eq(self._after(step)), fetched.eq(self.run)]
        register = Signal(len(kept) * size.lanes)
        with m.If(~self.hold):
            m.d.sync += [register.eq(memory.read_data), self.valid.eq(fetched)]
        with m.If(self.restart | ~self.run):
            m.d.sync += [
                next_step.eq(Mux(self.take, free, first)),
                fetched.eq(0),
                self.valid.eq(0),
            ]
        for lane in range(size.lanes):
            bits = dict(zip(kept, register.word_select(lane, len(kept)), strict=True))
            word = Cat(bits.get(bit, Const(0, 1)) for bit in range(WORD_BITS))
            m.d.comb += self.words.word_select(lane, WORD_BITS).eq(word)
        return m

    def _after(self, step: Any) -> Any:
        """Return the step that follows, round the end of the memory."""
        return Mux(step == self.size.steps - 1, 0, step + 1)
