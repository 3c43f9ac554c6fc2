"""A serial line: eight data bits, no parity, one stop bit."""

from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

__all__ = ["MIN_CYCLES_PER_BIT", "UartReceiver", "UartTransmitter"]

MIN_CYCLES_PER_BIT = 4
"""Below it, the middle of a bit cannot be told from its edges."""


def _check_cycles(cycles_per_bit: int) -> int:
    if cycles_per_bit < MIN_CYCLES_PER_BIT:
        raise ValueError(
            f"A bit takes at least {MIN_CYCLES_PER_BIT} clock cycles, not {cycles_per_bit}"
        )
    return cycles_per_bit


class UartReceiver(wiring.Component):
    """Bytes from a serial line.

    A byte is given for one cycle, in the middle of its stop bit; a line cannot wait, so there is no
    back-pressure. A byte without a stop bit gives ``error`` instead, and the line must then be high
    before another byte begins. A low pulse shorter than half a bit is ignored. Reset forgets the
    byte that is under way.

    Members
    -------
    rx : :py:`In(1)`
        The line, high when idle; synchronised here.
    data, valid : :py:`Out(8)`, :py:`Out(1)`
        A byte, for one cycle.
    error : :py:`Out(1)`
        High for one cycle when a stop bit is missing.
    """

    def __init__(self, cycles_per_bit: int):
        self.cycles_per_bit = _check_cycles(cycles_per_bit)
        super().__init__({"rx": In(1, init=1), "data": Out(8), "valid": Out(1), "error": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        line = Signal(init=1)
        m.submodules.synchronizer = FFSynchronizer(self.rx, line, init=1)
        timer = Signal(range(self.cycles_per_bit))
        bit = Signal(range(8))
        with m.If(timer != 0):
            m.d.sync += timer.eq(timer - 1)

        with m.FSM():
            with m.State("IDLE"), m.If(~line):
                m.d.sync += timer.eq(self.cycles_per_bit // 2 - 1)
                m.next = "START"
            with m.State("START"), m.If(timer == 0):
                m.d.sync += [timer.eq(self.cycles_per_bit - 1), bit.eq(0)]
                with m.If(line):
                    m.next = "IDLE"
                with m.Else():
                    m.next = "DATA"
            with m.State("DATA"), m.If(timer == 0):
                m.d.sync += [
                    timer.eq(self.cycles_per_bit - 1),
                    self.data.eq(Cat(self.data[1:], line)),
                    bit.eq(bit + 1),
                ]
                with m.If(bit == 7):
                    m.next = "STOP"
            with m.State("STOP"), m.If(timer == 0):
                m.d.comb += [self.valid.eq(line), self.error.eq(~line)]
                m.next = "HIGH"
            with m.State("HIGH"), m.If(line):
                m.next = "IDLE"
        return m


class UartTransmitter(wiring.Component):
    """Bytes onto a serial line.

    A byte takes ten bits' time, in which ``ready`` is low. Reset makes the line high at once.

    Members
    -------
    i : :py:`In(stream.Signature(8))`
        Bytes to send.
    tx : :py:`Out(1)`
        The line, high when idle.
    """

    def __init__(self, cycles_per_bit: int):
        self.cycles_per_bit = _check_cycles(cycles_per_bit)
        super().__init__({"i": In(stream.Signature(8)), "tx": Out(1, init=1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        timer = Signal(range(self.cycles_per_bit))
        bits_left = Signal(range(11))
        # The bits after the one on the line; ones follow, the first of which is the stop bit.
        waiting = Signal(9, init=-1)
        line: Any = self.tx
        m.d.comb += self.i.ready.eq((bits_left == 0) & (timer == 0))
        with m.If(timer != 0):
            m.d.sync += timer.eq(timer - 1)
        with m.Elif(bits_left != 0):
            m.d.sync += [
                Cat(line, waiting).eq(Cat(waiting, 1)),
                bits_left.eq(bits_left - 1),
                timer.eq(self.cycles_per_bit - 1),
            ]
        with m.Elif(self.i.valid):
            m.d.sync += [
                Cat(line, waiting).eq(Cat(0, self.i.payload, 1)),
                bits_left.eq(9),
                timer.eq(self.cycles_per_bit - 1),
            ]
        return m
