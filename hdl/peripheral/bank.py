"""The register bank around a design, and the buses in front of it."""

from typing import Any

from amaranth.hdl import Cat, ClockSignal, Const, Instance, Module, Mux, ResetSignal, Signal
from amaranth.lib import wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from trilut.circuit.interface import FieldKind, Port
from trilut.hdl.peripheral.registers import (
    MAGIC,
    QUEUE,
    VERSION,
    Access,
    Register,
    RegisterMap,
    is_word_a_field,
    register_name,
)

__all__ = ["BUSES", "AxiLite", "Bank", "Wishbone"]

_FULL = 0b1111
_OKAY, _SLVERR = 0, 2


class Bank(wiring.Component):
    """The registers of a design, which is an instance of its Verilog module.

    A write takes effect at the edge at which ``write`` is high, if it is legal: the address is that
    of a register that may be written, all four bytes are, and no input is written while the last
    vector has not been taken. What is not legal changes nothing but the count of refused accesses.
    Reads have no effect; what may not be read reads as 0.

    Members
    -------
    address : :py:`In`
        Of a byte; the lowest two bits must be 0.
    write, read : :py:`In(1)`
        An access in this cycle, at most one of them.
    data, strobes, value, legal
        What is written, which bytes of it, what is read, and whether the access is legal, all in
        the cycle of the access.
    irq : :py:`Out(1)`
        High while it is enabled and a result waits.
    """

    def __init__(self, registers: RegisterMap):
        self.registers = registers
        super().__init__(
            {
                "address": In(registers.address_bits),
                "write": In(1),
                "read": In(1),
                "data": In(32),
                "strobes": In(4),
                "value": Out(32),
                "legal": Out(1),
                "irq": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        interface = self.registers.design.interface
        inputs = {port.name: Signal(port.width, name=port.name) for port in interface.inputs}
        outputs = {port.name: Signal(port.width, name=port.name) for port in interface.outputs}
        busy, taken, interrupt = Signal(), Signal(), Signal()
        names = ("STARTED", "FINISHED", "REFUSED")
        counts = {name: Signal(32, name=name.lower()) for name in names}
        width = sum(map(len, outputs.values()))
        m.submodules.queue = queue = SyncFIFOBuffered(width=width, depth=QUEUE)
        margin = self._instance(m, inputs, outputs, busy, taken, queue)

        # The oldest result, port by port.
        shown, first = {}, 0
        for port in interface.outputs:
            shown[port.name] = queue.r_data[first : first + port.width]
            first += port.width
        words: dict[str, list[Any]] = {
            "ID": [Const(MAGIC, 32)],
            "VERSION": [Const(VERSION, 32)],
            "HASH": [Const(word, 32) for word in self.registers.hash_words],
            "CONTROL": [Cat(Const(0, 1), interrupt)],
            "STATUS": [Cat(busy, queue.r_rdy, Const(0, 6), queue.r_level)],
            **{name: [count] for name, count in counts.items()},
        }
        if margin is not None:
            words["ABSTAIN_MARGIN"] = [margin]
        for port in interface.outputs:
            words[register_name(port)] = _words(port, shown[port.name])

        accepted, too_early = Signal(), Signal()
        wanted = {
            register.name: Signal(name=f"is_{register.name.lower()}")
            for register in self.registers.registers
        }
        m.d.comb += accepted.eq(self.write & self.legal)
        self._decode(m, words, wanted, busy)
        for port in interface.inputs:
            self._write_words(m, self.registers[register_name(port)], inputs[port.name], accepted)
        if margin is not None:
            self._write_words(m, self.registers["ABSTAIN_MARGIN"], margin, accepted)

        start = accepted & wanted["CONTROL"] & self.data[0]
        with m.If(accepted & wanted["CONTROL"]):
            m.d.sync += interrupt.eq(self.data[1])
        drop = accepted & wanted["NEXT"]
        m.d.comb += [
            queue.r_en.eq(drop & queue.r_rdy),
            # Nothing is started while a vector waits, and nothing dropped that is not there.
            too_early.eq((start & busy) | (drop & ~queue.r_rdy)),
            self.irq.eq(interrupt & queue.r_rdy),
        ]
        with m.If(start & ~busy):
            m.d.sync += [busy.eq(1), counts["STARTED"].eq(counts["STARTED"] + 1)]
        with m.Elif(taken):
            m.d.sync += busy.eq(0)
        with m.If(queue.r_en):
            m.d.sync += counts["FINISHED"].eq(counts["FINISHED"] + 1)
        with m.If(((self.write | self.read) & ~self.legal) | too_early):
            m.d.sync += counts["REFUSED"].eq(counts["REFUSED"] + 1)
        return m

    def _instance(
        self, m: Module, inputs: Any, outputs: Any, busy: Signal, taken: Signal, queue: Any
    ) -> Signal | None:
        """Add the design between the registers of a vector and the queue; return its margin."""
        design = self.registers.design
        ready = Signal()
        connections: dict[str, Any] = {
            "i_clk": ClockSignal(),
            "i_rst": ResetSignal(),
            "i_in_valid": busy,
            "o_in_ready": ready,
            "o_out_valid": queue.w_en,
            "i_out_ready": queue.w_rdy,
            **{f"i_{name}": signal for name, signal in inputs.items()},
            **{f"o_{name}": signal for name, signal in outputs.items()},
        }
        margin = None
        if (port := design.interface.margin) is not None:
            assert design.netlist.head is not None
            most = (1 << port.width) - 1
            initial = min(design.netlist.head.abstain_margin, most)
            margin = Signal(port.width, name=port.name, init=initial)
            connections[f"i_{port.name}"] = margin
        m.submodules.design = Instance(design.top, **connections)
        m.d.comb += [queue.w_data.eq(Cat(*outputs.values())), taken.eq(busy & ready)]
        return margin

    def _decode(self, m: Module, words: Any, wanted: Any, busy: Signal) -> None:
        """Say which register an address is of, what it reads as, and whether that is legal."""
        inputs = {register_name(port) for port in self.registers.design.interface.inputs}
        whole = self.strobes == _FULL
        place = self.address[2:]
        with m.If(self.address[:2] == 0), m.Switch(place):
            for register in self.registers.registers:
                first = register.offset // 4
                with m.Case(*range(first, first + register.words)):
                    m.d.comb += wanted[register.name].eq(1)
                    may_write = whole if register.access is not Access.READ else Const(0, 1)
                    if register.name in inputs:
                        may_write = may_write & ~busy
                    may_read = Const(int(register.access is not Access.WRITE), 1)
                    m.d.comb += self.legal.eq(Mux(self.write, may_write, may_read))
        with m.If(self.read & (self.address[:2] == 0)), m.Switch(place):
            for name, values in words.items():
                for number, value in enumerate(values):
                    with m.Case(self.registers[name].offset // 4 + number):
                        m.d.comb += self.value.eq(value)

    def _write_words(self, m: Module, register: Register, target: Signal, accepted: Any) -> None:
        for number in range(register.words):
            part = target[32 * number : min(32 * number + 32, len(target))]
            with m.If(accepted & (self.address[2:] == register.offset // 4 + number)):
                m.d.sync += part.eq(self.data)


def _words(port: Port, bits: Any) -> list[Any]:
    """Return what the registers of a result show."""
    if not is_word_a_field(port):
        return [bits[at : min(at + 32, port.width)] for at in range(0, port.width, 32)]
    words, first = [], 0
    for field in port.fields:
        assert field.kind is FieldKind.SIGNED
        part = bits[first : first + field.bits]
        words.append(Cat(part, part[-1].replicate(32 - field.bits)))
        first += field.bits
    return words


class AxiLite(wiring.Component):
    """A :class:`Bank` behind AXI4-Lite.

    A write is answered in the cycle after both its address and its data are taken, a read in the
    cycle after its address; the next one is taken when the answer is. Writes go first. What is not
    legal is answered with SLVERR.
    """

    def __init__(self, registers: RegisterMap):
        self.bank = Bank(registers)
        bits = registers.address_bits
        super().__init__(
            {
                "s_axi_awaddr": In(bits),
                "s_axi_awprot": In(3),
                "s_axi_awvalid": In(1),
                "s_axi_awready": Out(1),
                "s_axi_wdata": In(32),
                "s_axi_wstrb": In(4),
                "s_axi_wvalid": In(1),
                "s_axi_wready": Out(1),
                "s_axi_bresp": Out(2),
                "s_axi_bvalid": Out(1),
                "s_axi_bready": In(1),
                "s_axi_araddr": In(bits),
                "s_axi_arprot": In(3),
                "s_axi_arvalid": In(1),
                "s_axi_arready": Out(1),
                "s_axi_rdata": Out(32),
                "s_axi_rresp": Out(2),
                "s_axi_rvalid": Out(1),
                "s_axi_rready": In(1),
                "irq": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.bank = bank = self.bank
        answer = Mux(bank.legal, _OKAY, _SLVERR)
        write = self.s_axi_awvalid & self.s_axi_wvalid & (~self.s_axi_bvalid | self.s_axi_bready)
        read = self.s_axi_arvalid & ~write & (~self.s_axi_rvalid | self.s_axi_rready)
        m.d.comb += [
            bank.write.eq(write),
            bank.read.eq(read),
            bank.address.eq(Mux(write, self.s_axi_awaddr, self.s_axi_araddr)),
            bank.data.eq(self.s_axi_wdata),
            bank.strobes.eq(self.s_axi_wstrb),
            self.s_axi_awready.eq(write),
            self.s_axi_wready.eq(write),
            self.s_axi_arready.eq(read),
            self.irq.eq(bank.irq),
        ]
        with m.If(write):
            m.d.sync += [self.s_axi_bvalid.eq(1), self.s_axi_bresp.eq(answer)]
        with m.Elif(self.s_axi_bready):
            m.d.sync += self.s_axi_bvalid.eq(0)
        with m.If(read):
            m.d.sync += [
                self.s_axi_rvalid.eq(1),
                self.s_axi_rresp.eq(answer),
                self.s_axi_rdata.eq(bank.value),
            ]
        with m.Elif(self.s_axi_rready):
            m.d.sync += self.s_axi_rvalid.eq(0)
        return m


class Wishbone(wiring.Component):
    """A :class:`Bank` behind Wishbone B4, classic cycles.

    An access is answered in the cycle after it is there, with ``ack`` or, if it is not legal,
    ``err``, for one cycle.
    """

    def __init__(self, registers: RegisterMap):
        self.bank = Bank(registers)
        super().__init__(
            {
                "wb_adr": In(registers.address_bits),
                "wb_dat_w": In(32),
                "wb_dat_r": Out(32),
                "wb_sel": In(4),
                "wb_cyc": In(1),
                "wb_stb": In(1),
                "wb_we": In(1),
                "wb_ack": Out(1),
                "wb_err": Out(1),
                "irq": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.bank = bank = self.bank
        access = self.wb_cyc & self.wb_stb & ~self.wb_ack & ~self.wb_err
        m.d.comb += [
            bank.write.eq(access & self.wb_we),
            bank.read.eq(access & ~self.wb_we),
            bank.address.eq(self.wb_adr),
            bank.data.eq(self.wb_dat_w),
            bank.strobes.eq(self.wb_sel),
            self.irq.eq(bank.irq),
        ]
        m.d.sync += [
            self.wb_ack.eq(access & bank.legal),
            self.wb_err.eq(access & ~bank.legal),
        ]
        with m.If(access):
            m.d.sync += self.wb_dat_r.eq(bank.value)
        return m


BUSES: dict[str, type[AxiLite] | type[Wishbone]] = {"axi-lite": AxiLite, "wishbone": Wishbone}
"""The buses by name."""
