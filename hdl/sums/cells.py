"""The cells of a plan as hardware."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Instance, Module, Mux, Signal

from trilut.hdl.sums.compressor import (
    FALSE,
    TRUE,
    Adder,
    Bit,
    Cell,
    Chain,
    Counter,
    Position,
    TritAdder,
)

__all__ = ["CHAINS", "build_cell", "build_chain", "read_bit"]

Values = Mapping[Bit, Any]
ChainBuilder = Callable[[Module, str, Chain, Values], dict[Bit, Any]]


def read_bit(bits: Values, bit: Bit) -> Any:
    """Return a bit, a complement or a constant as an Amaranth value."""
    if bit in (FALSE, TRUE):
        return Const(bit == TRUE, 1)
    return bits[bit] if bit > 0 else ~bits[~bit]


def build_cell(
    m: Module, name: str, cell: Cell, bits: Values, chain: ChainBuilder
) -> dict[Bit, Any]:
    """Build a cell and return the bits that it makes.

    Parameters
    ----------
    name : str
        What to call its signals.
    bits : mapping
        The bits that it reads.
    chain : callable
        How to build a chain: :func:`build_chain`, or one of :data:`CHAINS`.
    """
    match cell:
        case Counter():
            made: Any = _count([read_bit(bits, bit) for bit in cell.inputs])
        case TritAdder():
            made = _count_trits(
                [read_bit(bits, bit) for bit in cell.zeros],
                [read_bit(bits, bit) for bit in cell.pluses],
            )
        case Adder():
            made = Signal(len(cell.outputs), name=name)
            a, b = (Cat(read_bit(bits, bit) for bit in side) for side in (cell.a, cell.b))
            if cell.carry == FALSE:
                m.d.comb += made.eq(a + b)
            else:
                # One adder with one place more; a sum of three would be two adders.
                carry = read_bit(bits, cell.carry)
                m.d.comb += made.eq((Cat(carry, a) + Cat(carry, b))[1:])
        case Chain():
            return chain(m, name, cell, bits)
    return {bit: made[index] for index, bit in enumerate(cell.outputs)}


def _count(inputs: Sequence[Any]) -> list[Any]:
    if len(inputs) == 2:
        a, b = inputs
        return [a ^ b, a & b]
    a, b, c = inputs
    return [a ^ b ^ c, (a & b) | (c & (a ^ b))]


def _count_trits(zeros: Sequence[Any], pluses: Sequence[Any]) -> list[Any]:
    low, d = _count(zeros)
    a, b, c = pluses
    return [low, a ^ b ^ c ^ d, (a & b) | (c & d) | ((a | b) & (c | d))]


def build_chain(m: Module, name: str, chain: Chain, bits: Values) -> dict[Bit, Any]:
    """Describe a chain by what it does, for simulators without models of a part's cells."""
    made: dict[Bit, Any] = {}
    length = len(chain.positions)
    propagate = Signal(length, name=f"{name}_propagate")
    carry = Signal(length + 1, name=f"{name}_carry")
    m.d.comb += carry[0].eq(read_bit(bits, chain.carry))
    for index, position in enumerate(chain.positions):
        # What a position makes on its side can be a pin of the next.
        row = Cat(read_bit(made if bit in made else bits, bit) for bit in position.pins)
        generate = _look_up(position.generate, row)
        m.d.comb += [
            propagate[index].eq(_look_up(position.propagate, row)),
            carry[index + 1].eq(Mux(propagate[index], carry[index], generate)),
        ]
        if position.sum is not None:
            made[position.sum] = propagate[index] ^ carry[index]
        if position.carry is not None:
            made[position.carry] = carry[index + 1]
        if position.side is not None:
            made[position.side] = _look_up(position.side_table, row)
    return made


def _look_up(table: int, row: Any) -> Any:
    return Const(table, 1 << len(row)).bit_select(row, 1)


class _Outputs:
    """The outputs of a chain's cells: the bits that are needed, and the rest.

    nextpnr stops at a cell that lacks an output, so all are wired. The rest meet in one signal by
    whose name Verilator knows that nobody reads it.
    """

    def __init__(self, name: str):
        self.made: dict[Bit, Any] = {}
        self._name = name
        self._unused: list[Any] = []

    def wire(self, bit: Bit | None, name: str) -> Any:
        """Return the wire of an output."""
        wire = Signal(name=name)
        if bit is None:
            self._unused.append(wire)
        else:
            self.made[bit] = wire
        return wire

    def end(self, m: Module) -> dict[Bit, Any]:
        """Return the bits that are needed."""
        if self._unused:
            rest = Signal(len(self._unused), name=f"{self._name}_unused", attrs={"keep": 1})
            m.d.comb += rest.eq(Cat(self._unused))
        return self.made


def _build_ccu2c(m: Module, name: str, chain: Chain, bits: Values) -> dict[Bit, Any]:
    """Build a chain of CCU2C, two positions in each."""
    assert chain.carry == FALSE
    positions = [*chain.positions, Position((), 0, 0)][: len(chain.positions) + 1 & ~1]
    outputs = _Outputs(name)
    carry: Any = Const(0, 1)
    for pair in range(len(positions) // 2):
        ports: dict[str, Any] = {"i_CIN": carry}
        for half in (0, 1):
            position = positions[2 * pair + half]
            sources, init = _ccu2c_half(position)
            wires = [read_bit(bits, bit) for bit in sources]
            ports |= {f"i_{pin}{half}": wire for pin, wire in zip("ABCD", wires, strict=True)}
            ports |= {f"p_INIT{half}": Const(init, 16), f"p_INJECT1_{half}": "NO"}
            ports[f"o_S{half}"] = outputs.wire(position.sum, f"{name}_sum_{2 * pair + half}")
        if 2 * pair + 2 < len(positions):
            carry = Signal(name=f"{name}_carry_{pair}")
        else:
            carry = outputs.wire(None, f"{name}_carry_{pair}")
        m.submodules[f"{name}_{pair}"] = Instance("CCU2C", o_COUT=carry, **ports)
    return outputs.end(m)


def _ccu2c_half(position: Position) -> tuple[tuple[Bit, ...], int]:
    """Return what the pins A to D of one half are wired to, and its table.

    The half propagates what the table says in the row of all four pins, and generates what it says
    in the row of A and B with C and D at 0. So with D tied to 1 the two are free of each other.
    """
    num_pins = len(position.pins)
    sources = (*position.pins, *(FALSE, FALSE, FALSE, TRUE)[num_pins:])
    inverted = sum((bit < TRUE) << pin for pin, bit in enumerate(sources))
    init = 0
    for row in range(16):
        table = position.generate if num_pins < 4 and row < 4 else position.propagate
        init |= (table >> _row(row ^ inverted, num_pins) & 1) << row
    for row in range(16):
        seen = _row(row ^ inverted, num_pins)
        # What is generated matters where nothing is propagated.
        if not position.propagate >> seen & 1:
            assert position.generate >> seen & 1 == init >> (row & 3) & 1, "No CCU2C can do this"
    return tuple(bit if bit >= TRUE else ~bit for bit in sources), init


def _row(row: int, num_pins: int) -> int:
    return row & (1 << num_pins) - 1


def _build_carry4(m: Module, name: str, chain: Chain, bits: Values) -> dict[Bit, Any]:
    """Build a chain of CARRY4, each with up to four LUT6_2."""
    outputs = _Outputs(name)
    positions = [*chain.positions, *[Position((), 0, 0)] * 3][: len(chain.positions) + 3 & ~3]
    carry: Any = None
    for first in range(0, len(positions), 4):
        part = f"{name}_{first // 4}"
        is_last = first + 4 == len(positions)
        s, di, o, co = [], [], [], []
        for index, position in enumerate(positions[first : first + 4]):
            bit_name = f"{part}_{index}"
            propagate, generated = _build_lut6(m, bit_name, position, bits, outputs.made)
            s.append(propagate)
            di.append(generated)
            o.append(outputs.wire(position.sum, f"{bit_name}_o"))
            if index == 3 and not is_last:
                co.append(Signal(name=f"{bit_name}_co"))
            else:
                co.append(outputs.wire(position.carry, f"{bit_name}_co"))
        m.submodules[part] = Instance(
            "CARRY4",
            i_CI=Const(0, 1) if carry is None else carry,
            i_CYINIT=read_bit(bits, chain.carry) if carry is None else Const(0, 1),
            i_S=Cat(s),
            i_DI=Cat(di),
            o_O=Cat(o),
            o_CO=Cat(co),
        )
        carry = co[3]
    return outputs.end(m)


def _build_lut6(
    m: Module, name: str, position: Position, bits: Values, made: dict[Bit, Any]
) -> tuple[Any, Any]:
    """Build the LUT of a position, and return what it propagates and what it generates."""
    pins = position.pins
    if not pins:
        return Const(0, 1), Const(0, 1)
    known = {**bits, **{bit: made[bit] for bit in pins if bit in made}}
    inverted = sum((bit < TRUE) << pin for pin, bit in enumerate(pins))
    wires = [read_bit(known, bit if bit >= TRUE else ~bit) for bit in pins]
    propagate = Signal(name=f"{name}_s")
    if len(pins) == 6:
        # All six pins and one output: the carry that is generated comes past the LUT.
        table = _lut_table(position.propagate, 6, inverted, 6)
        ports = {f"i_I{pin}": wire for pin, wire in enumerate(wires)}
        m.submodules[f"{name}_lut"] = Instance(
            "LUT6", p_INIT=Const(table, 64), o_O=propagate, **ports
        )
        return propagate, read_bit(known, pins[_generated_pin(position)])
    table = position.generate if position.side is None else position.side_table
    low = _lut_table(table, len(pins), inverted, 5)
    high = _lut_table(position.propagate, len(pins), inverted, 5)
    wires += [Const(0, 1)] * (5 - len(wires))
    o5 = Signal(name=f"{name}_o5")
    m.submodules[f"{name}_lut"] = Instance(
        "LUT6_2",
        p_INIT=Const(high << 32 | low, 64),
        i_I5=Const(1, 1),
        o_O6=propagate,
        o_O5=o5,
        **{f"i_I{pin}": wire for pin, wire in enumerate(wires)},
    )
    if position.side is None:
        return propagate, o5
    made[position.side] = o5
    return propagate, read_bit(known, pins[_generated_pin(position)])


def _lut_table(table: int, num_pins: int, inverted: int, lut_pins: int) -> int:
    """Return a table for pins some of which are wired to the complements of their bits."""
    rows = range(1 << lut_pins)
    return sum((table >> _row(row ^ inverted, num_pins) & 1) << row for row in rows)


def _generated_pin(position: Position) -> int:
    """Return the pin that a position generates."""
    rows = range(1 << len(position.pins))
    tables = [sum((row >> pin & 1) << row for row in rows) for pin in range(len(position.pins))]
    return tables.index(position.generate)


CHAINS: dict[str, ChainBuilder] = {"ecp5": _build_ccu2c, "xilinx": _build_carry4}
"""How to build a chain from a part's own cells."""
