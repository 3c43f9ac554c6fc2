import dataclasses
import itertools

import numpy as np
import pytest
from circuits import monotone_netlist, random_netlist

from trilut import Head
from trilut.circuit.gates import NAMED_GATES, gate_table, num_gates
from trilut.circuit.monotone import check_monotone, is_information_monotone, project
from trilut.circuit.optimize import optimize
from trilut.errors import NetlistError

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


def test_a_netlist_stays_monotone_when_it_is_optimised():
    for seed in range(40):
        net = monotone_netlist(seed, num_inputs=8, num_gates=60, num_outputs=9, with_encoder=True)
        check_monotone(net)
        check_monotone(optimize(net).netlist)


def test_a_netlist_with_other_gates_is_refused():
    net = random_netlist(1, num_inputs=6, num_gates=9, num_outputs=4)
    message = (
        "^Netlist 'net' has 9 gates of 9 that are not information-monotone, gate 0 first, "
        "so nothing in it can be certain$"
    )
    with pytest.raises(NetlistError, match=message):
        check_monotone(net)


def test_a_binary_netlist_is_refused():
    net = random_netlist(1, num_inputs=6, num_gates=9, num_outputs=4, valence=2)
    message = r"^Netlist 'net' has no UNKNOWN, only bits, so nothing in it can be certain$"
    with pytest.raises(NetlistError, match=message):
        check_monotone(net)


def test_a_netlist_that_takes_missing_features_as_false_is_refused():
    net = monotone_netlist(1, num_inputs=6, num_gates=9, num_outputs=4, with_encoder=True)
    net = dataclasses.replace(net, encoder=dataclasses.replace(net.encoder, missing=-1))
    message = (
        "^Netlist 'net' takes missing features as FALSE and not as UNKNOWN, "
        "so nothing in it can be certain$"
    )
    with pytest.raises(NetlistError, match=message):
        check_monotone(net)


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_no_completion_changes_a_decided_net_or_a_certain_class(seed):
    net = monotone_netlist(seed, num_inputs=5, num_gates=30, num_outputs=9, num_classes=3)
    inputs = np.array(list(itertools.product(TRITS, repeat=5)), dtype=np.int8)
    values, decisions = net.values(inputs), net.classify(inputs, certain=True)
    certain = 0
    for row, known in enumerate(inputs):
        completions = inputs[((known == 0) | (inputs == known)).all(axis=1)]
        completed = net.values(completions)
        assert ((values[row] == 0) | (completed == values[row])).all()
        full = net.classify(completions)
        if decisions.certain[row]:
            certain += 1
            assert (full.chosen == decisions.chosen[row]).all()
            assert (full.margin > 0).all()
    assert certain > 0


def test_certain_is_what_no_value_of_an_unknown_output_changes():
    head = Head(("a", "b", "c"), (2, 2, 1))
    outputs = np.array(list(itertools.product(TRITS, repeat=5)), dtype=np.int8)
    decisions = head.decide(head.scores(outputs), head.unknowns(outputs))
    for row, known in enumerate(outputs):
        full = head.scores(outputs[((known == 0) | (outputs == known)).all(axis=1)])
        best = full.max(axis=1, keepdims=True) == full
        same = best[:, decisions.chosen[row]].all() and (best.sum(axis=1) == 1).all()
        assert decisions.certain[row] == same


def test_a_prediction_set_has_all_classes_within_its_margin():
    head = Head(("a", "b", "c"), (5, 5, 5), set_margin=2)
    decisions = head.decide(np.array([[3, 1, 0], [0, 0, 0], [-5, 5, 2]]))
    assert decisions.members.tolist() == [
        [True, True, False],
        [True, True, True],
        [False, True, False],
    ]
    assert head.decide(np.array([[3, 1, 0]])).certain is None
    message = r"^Head has set margin -1, expected none or 0…4611686018427387903$"
    with pytest.raises(NetlistError, match=message):
        Head(("a", "b"), (1, 1), set_margin=-1)
