"""A lane: it looks a gate's table up for all samples."""

from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from trilut.circuit.trit import MINUS, PLUS
from trilut.engine.instructions import LONG_ROWS, SHORT_ROWS, Field, Op
from trilut.hdl.engine.program import WORD_BITS
from trilut.hdl.engine.size import EngineSize

__all__ = ["Lane", "part"]


def part(word: Any, name: Field, width: int | None = None) -> Any:
    """Return a field of an instruction, or its lowest bits."""
    return word[name.first : name.first + (name.width if width is None else width)]


class Lane(wiring.Component):
    """The gate unit of a lane.

    An instruction enters with ``go`` while its operands are being read. The operands come one cycle
    later, and two cycles after that the result is there.

    Members
    -------
    go, word : :py:`In`
        An instruction.
    a, b : :py:`In(2 * samples)`
        The operands of the instruction before, as a plane of plus and one of minus.
    result : :py:`Out(2 * samples)`
        What the table says, three cycles after ``go``.
    store, sum : :py:`Out(1)`
        Whether the result is to be written, and to be added.
    shift : :py:`Out(2)`
        How it is to be added: 1, 2, 4 or 8 times.
    destination : :py:`Out`
        Where it is to be written.
    """

    def __init__(self, size: EngineSize):
        self.size = size
        planes = 2 * size.samples
        super().__init__(
            {
                "go": In(1),
                "word": In(WORD_BITS),
                "a": In(planes),
                "b": In(planes),
                "result": Out(planes),
                "store": Out(1),
                "sum": Out(1),
                "shift": Out(2),
                "destination": Out(size.address_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        op = part(self.word, Field.OP)
        is_gate = self.go & op[3]
        rows = Signal(Field.ROWS.width)
        with m.If(self.go & (op == Op.EXTEND)):
            m.d.sync += rows.eq(part(self.word, Field.ROWS))
        with m.Elif(is_gate):
            m.d.sync += rows.eq(0)
        table = Cat(part(self.word, Field.TABLE), rows)
        control = Cat(
            is_gate & ~op[2],
            is_gate & (op[2] | op[0]),
            op[:2] & op[2].replicate(2),
            part(self.word, Field.DESTINATION, self.size.address_bits),
        )
        # While the memory is read, and while the operands stand in registers.
        tables = [Signal.like(table, name=f"table_{stage}") for stage in range(2)]
        controls = [Signal.like(control, name=f"control_{stage}") for stage in range(3)]
        a, b = Signal.like(self.a), Signal.like(self.b)
        m.d.sync += [
            tables[0].eq(table),
            tables[1].eq(tables[0]),
            controls[0].eq(control),
            controls[1].eq(controls[0]),
            controls[2].eq(controls[1]),
            a.eq(self.a),
            b.eq(self.b),
            self.result.eq(self._looked_up(tables[1], a, b)),
        ]
        m.d.comb += Cat(self.store, self.sum, self.shift, self.destination).eq(controls[2])
        return m

    def _looked_up(self, table: Any, a: Any, b: Any) -> Any:
        """Return the planes of all results."""
        places = {codes: place for place, codes in enumerate([*SHORT_ROWS, *LONG_ROWS])}
        planes = {}
        for wire in (PLUS, MINUS):
            rows = Cat(table[2 * places[divmod(row, 4)] + wire] for row in range(16))
            planes[wire] = [
                rows.bit_select(Cat(self._code(b, sample), self._code(a, sample)), 1)
                for sample in range(self.size.samples)
            ]
        return Cat(*planes[PLUS], *planes[MINUS])

    def _code(self, planes: Any, sample: int) -> Any:
        """Return the code of one sample."""
        plus, minus = planes[sample], planes[self.size.samples + sample]
        return Cat(minus, plus)
