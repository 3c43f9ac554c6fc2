"""One gate: a ternary look-up table over dual-rail trits."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from trilut.circuit.formula import Formula, gate_formulas
from trilut.circuit.trit import CODES, MINUS, PLUS
from trilut.errors import NetlistError

__all__ = ["Gate", "gate_expression"]


class Gate(wiring.Component):
    """A two-input gate.

    Combinational. The output is never the illegal code while the inputs are legal; what an illegal
    input does is unspecified.

    Parameters
    ----------
    table : sequence of 9 trits
        Truth table, row-major in (a, b), both from −1 up.
    formulas : tuple of Formula, optional
        The planes plus and minus, which may differ from the table in rows that never occur; by
        default the cheapest for all of them.

    Members
    -------
    a, b : :py:`In(2)`
        Input trits.
    o : :py:`Out(2)`
        Output trit.
    """

    a: In(2)
    b: In(2)
    o: Out(2)

    def __init__(self, table: Sequence[int], formulas: tuple[Formula, Formula] | None = None):
        if len(table) != 9 or any(trit not in CODES for trit in table):
            raise NetlistError(f"A gate's table is {list(table)}, expected 9 trits")
        self.table = tuple(int(trit) for trit in table)
        self._formulas = formulas or gate_formulas(self.table)
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.o.eq(gate_expression(self._formulas, self.a, self.b))
        return m


def gate_expression(formulas: tuple[Formula, Formula], a: Any, b: Any) -> Any:
    """Return the two bits of a gate's output as an Amaranth expression.

    Parameters
    ----------
    formulas : tuple of Formula
        The planes plus and minus.
    a, b : Value
        Dual-rail trits.
    """
    plus, minus = formulas
    bits = {
        **{"a_plus": a[PLUS], "a_minus": a[MINUS], "b_plus": b[PLUS], "b_minus": b[MINUS]},
        "one": Const(1, 1),
    }
    return Cat(minus.build(bits), plus.build(bits))
