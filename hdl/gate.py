"""One gate: a ternary look-up table over dual-rail trits."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from trilut.circuit.formula import Formula, gate_formulas
from trilut.errors import NetlistError

__all__ = ["TRIT_CODE", "Gate", "gate_expression"]

TRIT_CODE = {-1: 0b01, 0: 0b00, 1: 0b10}
"""The two bits of a trit: bit 1 = [v = +1], bit 0 = [v = −1]. The code 11 is illegal."""


class Gate(wiring.Component):
    """A two-input gate.

    Combinational. The output is never the illegal code while the inputs are legal; what an illegal
    input does is unspecified.

    Parameters
    ----------
    table : sequence of 9 trits
        Truth table, row-major in (a, b), both from −1 up.

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

    def __init__(self, table: Sequence[int]):
        if len(table) != 9 or any(trit not in TRIT_CODE for trit in table):
            raise NetlistError(f"A gate's table is {list(table)}, expected 9 trits")
        self.table = tuple(int(trit) for trit in table)
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.o.eq(gate_expression(gate_formulas(self.table), self.a, self.b))
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
    bits = {"a_plus": a[1], "a_minus": a[0], "b_plus": b[1], "b_minus": b[0], "one": Const(1, 1)}
    return Cat(minus.build(bits), plus.build(bits))
