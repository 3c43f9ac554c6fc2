import itertools

import numpy as np
import pytest

from trilut.formula import gate_formulas, plane_formulas
from trilut.gates import NAMED_GATES, gate_table, num_gates
from trilut.hdl.gate import ternary_table

TRITS = (-1, 0, 1)
NAMES = {"a_plus": "a[1]", "a_minus": "a[0]", "b_plus": "b[1]", "b_minus": "b[0]"}
SUBSETS = [subset for size in (1, 2, 3) for subset in itertools.combinations(TRITS, size)]


def dual_rail(a: int, b: int) -> dict[str, int]:
    return {
        "a_plus": -(a == 1),
        "a_minus": -(a == -1),
        "b_plus": -(b == 1),
        "b_minus": -(b == -1),
        "one": -1,
    }


@pytest.mark.parametrize("a_values", SUBSETS)
@pytest.mark.parametrize("b_values", SUBSETS)
def test_every_plane_formula_equals_its_function(a_values, b_values):
    formulas = plane_formulas(a_values, b_values)
    pairs = list(itertools.product(a_values, b_values))
    assert len(formulas) == 1 << len(pairs)
    for function, formula in enumerate(formulas):
        bits = [formula.build(dual_rail(a, b)) & 1 for a, b in pairs]
        assert sum(bit << row for row, bit in enumerate(bits)) == function


def test_every_gate_is_its_pair_of_planes():
    tables = gate_table(np.arange(num_gates())).astype(int).tolist()
    pairs = [dual_rail(a, b) for a in TRITS for b in TRITS]
    formulas = plane_formulas(TRITS, TRITS)
    values = {id(f): [f.build(bits) & 1 for bits in pairs] for f in formulas}
    for table in tables:
        plus, minus = gate_formulas(table)
        assert [p - m for p, m in zip(values[id(plus)], values[id(minus)], strict=True)] == table
        assert not any(p and m for p, m in zip(values[id(plus)], values[id(minus)], strict=True))


def test_no_plane_needs_more_than_six_nodes():
    assert max(formula.num_nodes for formula in plane_formulas(TRITS, TRITS)) == 6


def test_kleene_gates_cost_one_node_a_plane():
    plus, minus = gate_formulas(NAMED_GATES["and"].tolist())
    assert plus.text(NAMES) == "a[1] & b[1]"
    assert minus.text(NAMES) == "a[0] | b[0]"


def test_binary_gate_reads_one_wire_of_each_input():
    xor = ternary_table([-1, 1, 1, -1], valence=2)
    plus, minus = gate_formulas(xor, (-1, 1), (-1, 1))
    assert plus.leaves == minus.leaves == {"a_plus", "b_plus"}


def test_formula_text_puts_brackets_around_operands():
    plus, _ = gate_formulas(NAMED_GATES["xnor"].tolist())
    assert plus.text(NAMES) == "(a[0] | b[1]) & (a[1] | b[0])"


def test_constant_text():
    plus, minus = gate_formulas(NAMED_GATES["true"].tolist())
    assert (plus.text(NAMES), minus.text(NAMES)) == ("1'b1", "1'b0")
