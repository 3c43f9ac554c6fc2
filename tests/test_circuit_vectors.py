import numpy as np
import pytest
from circuits import random_netlist, random_nodes

from trilut.circuit.kinds import Kind
from trilut.circuit.reach import reachable_rows
from trilut.circuit.trit import CODES
from trilut.circuit.vectors import BIT, NetWires, Number


@pytest.mark.parametrize(
    ("number", "values"),
    [(BIT, (-1, 1)), (Number.of_range(-8, 7), range(-8, 8)), (Number.of_range(2, 4), (2, 3, 4))],
)
def test_negative_numbers_have_inverted_wires(number, values):
    for value in values:
        assert number.base + (number.code(value) << number.shift) == value
        inverted = number.code(value) ^ (1 << number.num_wires) - 1
        assert number.negated().code(-value) == inverted


def test_a_constant_score_has_a_wire_all_the_same():
    assert Number.of_range(5, 5).num_wires == 1


def wires_on(netlist, wires, values, net):
    """Return the binary number on a net's wires for each sample."""
    number = wires.number(net)
    if number is None:
        return np.array([CODES[-1], CODES[0], CODES[1]])[values[:, net] + 1]
    return np.array([number.code(value) for value in values[:, net].tolist()])


@pytest.mark.parametrize("with_encoder", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_functions_of_gates_are_their_tables_on_rows_that_occur(seed, with_encoder):
    netlist = random_nodes(
        seed,
        num_inputs=8,
        num_gates=60,
        num_outputs=12,
        num_classes=3,
        scores=seed % 2 == 1,
        with_encoder=with_encoder,
    )
    rng = np.random.default_rng(seed)
    if with_encoder:
        assert netlist.encoder is not None
        count = len(netlist.encoder.features)
        trits = netlist.encoder.encode(rng.integers(-150, 300, (400, count)))
    else:
        is_bit = netlist.kinds[:8] == Kind.BIT
        trits = np.where(is_bit, rng.choice([-1, 1], (400, 8)), rng.choice([-1, 0, 1], (400, 8)))
    values = netlist.values(trits)
    rows = reachable_rows(netlist)
    wires = NetWires(netlist, rows)
    for gate, functions in enumerate(wires.functions()):
        net = netlist.num_inputs + gate
        expected = wires_on(netlist, wires, values, net)
        assert len(functions) == wires.num_wires[net]
        for bit, function in enumerate(functions):
            row = np.zeros(len(trits), dtype=np.int64)
            for place, (source, wire) in enumerate(function.wires):
                row |= (wires_on(netlist, wires, values, source) >> wire & 1) << place
            got = [function.table >> index & 1 for index in row.tolist()]
            assert got == (expected >> bit & 1).tolist()
            assert all(function.care >> index & 1 for index in row.tolist())


def test_two_input_circuits_are_dual_rail():
    for valence in (2, 3):
        netlist = random_netlist(0, num_inputs=3, num_gates=4, num_outputs=2, valence=valence)
        wires = NetWires(netlist, reachable_rows(netlist))
        assert wires.is_dual_rail
        assert wires.num_wires.tolist() == [2] * 7
        assert wires.number(5) is None
        assert wires.places([4, 0]) == {4: range(2), 0: range(2, 4)}
