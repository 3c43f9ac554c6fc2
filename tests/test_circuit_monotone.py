import itertools

import numpy as np
import pytest

from trilut.circuit.gates import NAMED_GATES, gate_table, num_gates
from trilut.circuit.monotone import is_information_monotone, project

TRITS = (-1, 0, 1)


def says_no_more(less, more):
    return less in (0, more)


def is_monotone_by_definition(table):
    value = dict(zip(itertools.product(TRITS, TRITS), table, strict=True))
    return all(
        says_no_more(value[a, b], value[c, d])
        for (a, b), (c, d) in itertools.product(value, value)
        if says_no_more(a, c) and says_no_more(b, d)
    )


def test_197_gates_are_monotone_and_they_are_those_of_the_definition():
    tables = gate_table(np.arange(num_gates())).astype(np.int8)
    monotone = is_information_monotone(tables)
    assert monotone.sum() == 197
    assert monotone.tolist() == [is_monotone_by_definition(table) for table in tables.tolist()]


def test_a_projection_is_monotone_keeps_the_corners_and_monotone_gates():
    tables = gate_table(np.arange(num_gates())).astype(np.int8)
    projected = project(tables)
    assert is_information_monotone(projected).all()
    assert np.array_equal(projected[:, [0, 2, 6, 8]], tables[:, [0, 2, 6, 8]])
    # What does not stay becomes UNKNOWN, never another decision.
    assert np.isin(projected - tables * (projected != 0), 0).all()
    monotone = is_information_monotone(tables)
    assert np.array_equal(projected[monotone], tables[monotone])


@pytest.mark.parametrize("name", ["and", "or", "nand", "nor", "xor", "implies", "a", "not_b"])
def test_connectives_of_kleene_are_monotone(name):
    assert is_information_monotone(NAMED_GATES[name])


@pytest.mark.parametrize("name", ["accept_any", "lukasiewicz_implies"])
def test_a_gate_that_decides_by_what_it_does_not_know_is_not_monotone(name):
    assert not is_information_monotone(NAMED_GATES[name])
