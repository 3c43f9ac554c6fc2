import random

import numpy as np
import pytest

from trilut.circuit.formula import ALL_ROWS, gate_formulas, netlist_formulas, plane_formulas
from trilut.circuit.gates import NAMED_GATES, gate_table, num_gates

TRITS = (-1, 0, 1)
NAMES = {"a_plus": "a[1]", "a_minus": "a[0]", "b_plus": "b[1]", "b_minus": "b[0]"}
ROW_SETS = [
    tuple(sorted(random.Random(seed).sample(range(9), size)))
    for seed in range(8)
    for size in (0, 1, 4, 6, 7, 8, 9)
]


def dual_rail(a: int, b: int) -> dict[str, int]:
    return {
        "a_plus": -(a == 1),
        "a_minus": -(a == -1),
        "b_plus": -(b == 1),
        "b_minus": -(b == -1),
        "one": -1,
    }


@pytest.mark.parametrize("rows", ROW_SETS, ids=str)
def test_every_plane_formula_equals_its_function(rows):
    formulas = plane_formulas(rows)
    assert len(formulas) == 1 << len(rows)
    for function, formula in enumerate(formulas):
        bits = [formula.build(dual_rail(row // 3 - 1, row % 3 - 1)) & 1 for row in rows]
        assert sum(bit << position for position, bit in enumerate(bits)) == function


def test_gate_that_is_never_reached_is_not_illegal():
    plus, minus = gate_formulas([1] * 9, rows=())
    assert (plus.text(NAMES), minus.text(NAMES)) == ("1'b0", "1'b0")


def test_formulas_of_many_gates_are_those_of_each():
    rng = np.random.default_rng(0)
    tables = rng.integers(-1, 2, (60, 9)).astype(np.int8)
    rows = rng.random((60, 9)) < 0.6
    rows[0] = True
    for table, own, formulas in zip(tables, rows, netlist_formulas(tables, rows), strict=True):
        assert formulas == gate_formulas(table.tolist(), np.flatnonzero(own).tolist())


def test_every_gate_is_its_pair_of_planes():
    tables = gate_table(np.arange(num_gates())).astype(int).tolist()
    pairs = [dual_rail(a, b) for a in TRITS for b in TRITS]
    formulas = plane_formulas(ALL_ROWS)
    values = {id(f): [f.build(bits) & 1 for bits in pairs] for f in formulas}
    for table in tables:
        plus, minus = gate_formulas(table)
        assert [p - m for p, m in zip(values[id(plus)], values[id(minus)], strict=True)] == table
        assert not any(p and m for p, m in zip(values[id(plus)], values[id(minus)], strict=True))


def test_no_plane_needs_more_than_six_nodes():
    assert max(formula.num_nodes for formula in plane_formulas(ALL_ROWS)) == 6


def test_kleene_gates_cost_one_node_a_plane():
    plus, minus = gate_formulas(NAMED_GATES["and"].tolist())
    assert plus.text(NAMES) == "a[1] & b[1]"
    assert minus.text(NAMES) == "a[0] | b[0]"


def test_binary_gate_reads_one_wire_of_each_input():
    xor = [-1, 0, 1, 0, 0, 0, 1, 0, -1]
    plus, minus = gate_formulas(xor, rows=(0, 2, 6, 8))
    assert plus.leaves == minus.leaves == {"a_plus", "b_plus"}


def test_formula_text_puts_brackets_around_operands():
    plus, _ = gate_formulas(NAMED_GATES["xnor"].tolist())
    assert plus.text(NAMES) == "(a[0] | b[1]) & (a[1] | b[0])"


def test_constant_text():
    plus, minus = gate_formulas(NAMED_GATES["true"].tolist())
    assert (plus.text(NAMES), minus.text(NAMES)) == ("1'b1", "1'b0")
