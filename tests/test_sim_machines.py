import dataclasses

import numpy as np
import pytest
from formulas import random_formula

from trilut.circuit.format import save
from trilut.circuit.netlist import Netlist
from trilut.cli import main
from trilut.errors import NetlistError
from trilut.sim import compare_circuits, compare_machines
from trilut.temporal import compile_formula, parse, parse_features

FEATURES = parse_features("p:2,q:2")


def monitor(text, features=FEATURES):
    return compile_formula(parse(text), features).netlist


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("p since q", "(p and p) since[0,inf] (q or q)"),
        ("once[0,3] p", "not historically[0,3] not p"),
        ("eventually[2,4] p", "eventually[0,2] eventually[2,2] p"),
        ("once[0,20] p", "once[0,10] once[0,10] p"),
        ("historically (p -> q)", "not once (p and not q)"),
    ],
)
def test_equal_formulas_are_equal_machines(first, second):
    result = compare_machines(monitor(first), monitor(second))
    assert result.counterexample is None
    assert result.exhaustive


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("p since q", "p since[0,7] q"),
        ("once[0,3] p", "once[0,4] p"),
        ("once[0,30] p", "once[0,31] p"),
        ("always[0,2] (p -> q)", "always[0,2] (p -> eventually[0,0] p)"),
    ],
)
def test_difference_is_a_shortest_sequence(first, second):
    a, b = monitor(first), monitor(second)
    found = compare_machines(a, b).counterexample
    values = np.array([[np.nan if x is None else x / 3 for x in step] for step in found.inputs])
    made = [net.run(net.encoder.encode(values)[None])[0] for net in (a, b)]
    assert np.array_equal(made[0][:-1], made[1][:-1])
    assert made[0][-1].tolist() == list(found.first)
    assert made[1][-1].tolist() == list(found.second)


def test_difference_needs_as_many_steps_as_the_window():
    found = compare_machines(monitor("once[0,30] p"), monitor("once[0,31] p")).counterexample
    assert len(found.inputs) == 32


@pytest.mark.parametrize("seed", range(8))
def test_one_gate_changed_is_a_difference_or_makes_none(seed):
    rng = np.random.default_rng(seed)
    net = compile_formula(random_formula(seed), FEATURES).netlist
    table = net.core.table.copy()
    gate, row = rng.integers(net.core.num_gates), rng.integers(9)
    table[gate, row] = (table[gate, row] + 2) % 3 - 1
    other = dataclasses.replace(net, core=dataclasses.replace(net.core, table=table))
    trits = rng.integers(-1, 2, (200, 30, net.num_inputs)).astype(np.int8)
    plain = [dataclasses.replace(each, encoder=None) for each in (net, other)]
    is_seen = not np.array_equal(net.run(trits), other.run(trits))
    result = compare_machines(*plain, limit=1 << 14, num_random=2000)
    if result.exhaustive or is_seen:
        assert (result.counterexample is not None) == is_seen


def test_too_many_states_are_sampled():
    a, b = monitor("once[0,30] p"), monitor("once[0,31] p")
    result = compare_machines(a, b, limit=50, num_random=2000)
    assert not result.exhaustive
    assert result.counterexample is not None
    same = compare_machines(a, a, limit=50, num_random=200)
    assert same.rows() == {
        "verdict": "no difference found",
        "tried": "25 pairs of states × 3 inputs",
    }


def test_command(tmp_path, capsys):
    paths = [str(tmp_path / name) for name in ("a.trilut", "b.trilut")]
    for path, text in zip(paths, ("once[0,1] p", "once[0,2] p"), strict=True):
        save(monitor(text), path)
    assert main(["compare", paths[0], paths[0]]) == 0
    assert "equal" in capsys.readouterr().out
    assert main(["compare", *paths]) == 1
    assert "DIFFERENT" in capsys.readouterr().out


def test_only_one_has_state():
    plain = Netlist.of_gates(2, np.zeros((0, 9), dtype=np.int8), [], [], [0], name="plain")
    with pytest.raises(
        NetlistError, match=r"^Of netlists 'monitor' and 'plain' only one has state$"
    ):
        compare_circuits(monitor("once p"), plain)


def test_other_features():
    with pytest.raises(
        NetlistError,
        match=r"^Netlists 'monitor' and 'monitor' take different inputs: "
        r"their encoders have different features$",
    ):
        compare_machines(monitor("once p"), monitor("once p", parse_features("p:3,q:2")))
