"""The value memory: a bank for each lane that writes, with a copy for each operand that is read."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from trilut.hdl.engine.size import EngineSize

__all__ = ["ValueMemory"]


class ValueMemory(wiring.Component):
    """Entries that all lanes read and that each lane writes some of.

    Entry e is in bank e modulo the number of lanes, which lane e modulo the number of lanes writes.
    What is read is there one cycle after its address; a read beside a write of the same entry gives
    what was there before.

    Members
    -------
    read, data : :py:`In`, :py:`Out`
        Two addresses and two entries for each lane, lane 0 lowest, first operand lower.
    store, destination, result : :py:`In`
        What each lane writes.
    encode : :py:`In(1)`
        Lane 0 writes to whatever bank its destination is in, and no other lane writes.
    """

    def __init__(self, size: EngineSize):
        self.size = size
        width, address = 2 * size.samples, size.address_bits
        super().__init__(
            {
                "read": In(2 * size.lanes * address),
                "data": Out(2 * size.lanes * width),
                "store": In(size.lanes),
                "destination": In(size.lanes * address),
                "result": In(size.lanes * width),
                "encode": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        size = self.size
        width, bits = 2 * size.samples, size.address_bits
        bank_bits = (size.lanes - 1).bit_length()
        read = [self.read.word_select(port, bits) for port in range(2 * size.lanes)]
        found: list[list[Any]] = [[] for _ in read]
        first = self.destination[:bits]
        for lane in range(size.lanes):
            own = self.destination.word_select(lane, bits)
            is_encoded = self.encode & (first[:bank_bits] == lane)
            for port, address in enumerate(read):
                memory = Memory(shape=width, depth=size.entries // size.lanes, init=[])
                m.submodules[f"bank_{lane}_{port}"] = memory
                write_port, read_port = memory.write_port(), memory.read_port()
                m.d.comb += [
                    write_port.en.eq(self.store[lane] & ~self.encode | is_encoded & self.store[0]),
                    write_port.addr.eq(Mux(self.encode, first, own)[bank_bits:]),
                    write_port.data.eq(
                        Mux(self.encode, self.result[:width], self.result.word_select(lane, width))
                    ),
                    read_port.addr.eq(address[bank_bits:]),
                ]
                found[port].append(read_port.data)
        for port, address in enumerate(read):
            bank = Signal(bank_bits)
            m.d.sync += bank.eq(address[:bank_bits])
            m.d.comb += self.data.word_select(port, width).eq(
                Cat(found[port]).word_select(bank, width)
            )
        return m
