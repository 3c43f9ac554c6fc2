import numpy as np
import pytest
from circuits import all_trits, random_netlist, random_nodes

from trilut import Head, Netlist
from trilut.circuit.kinds import Kind
from trilut.circuit.wires import NO_WIRE, lower


def wire_bits(netlist, wires, values):
    """Return the bits [wire] that stand for values [net]."""
    bits = []
    for net, value in enumerate(values):
        if netlist.kinds[net] == Kind.SCORE:
            bits += [
                value - wires.lowest[net] >> place & 1 for place, _ in enumerate(wires.of(net))
            ]
        else:
            bits += [value == 1, value == -1][: netlist.kinds[net] - 1]
    return [int(bit) for bit in bits]


def check(netlist, trits):
    """Compare every function with the value of its wire; it must have no other input to read."""
    wires = lower(netlist)
    for values in netlist.values(trits).tolist():
        bits = wire_bits(netlist, wires, values)
        assert len(bits) == wires.num_wires
        for function, inputs in enumerate(wires.inputs.tolist()):
            read = [bits[wire] for wire in inputs if wire != NO_WIRE]
            row = sum(bit << place for place, bit in enumerate(read))
            assert not int(wires.free[function]) >> row & 1
            own = wires.num_input_wires + function
            assert int(wires.on[function]) >> row & 1 == bits[own]
    return wires


@pytest.mark.parametrize("seed", range(6))
def test_functions_are_what_the_gates_compute(seed):
    net = random_nodes(
        seed, num_inputs=5, num_gates=25, num_outputs=5, num_classes=2, scores=seed % 2 == 1
    )
    wires = check(net, all_trits(net))
    for function, inputs in enumerate(wires.inputs.tolist()):
        read = [wire for wire in inputs if wire != NO_WIRE]
        assert inputs == read + [NO_WIRE] * (6 - len(read))
        assert len(set(read)) == len(read)
        assert not (int(wires.on[function]) | int(wires.free[function])) >> (1 << len(read))
        assert not wires.on[function] & wires.free[function]


@pytest.mark.parametrize("valence", [2, 3])
def test_two_input_gates_have_wires_too(valence):
    net = random_netlist(1, num_inputs=5, num_gates=40, num_outputs=3, valence=valence)
    wires = check(net, all_trits(net))
    assert wires.num_wires == (valence - 1) * net.num_nets


def test_inputs_that_change_nothing_are_not_read():
    # An exclusive or that reads a net twice, and a gate to which only plus of its trit matters.
    tables = [[-1, 1, 1, 1, 1, 1, -1, -1], [-1, -1, -1, -1, 1, -1, 0, 0]]
    net = Netlist(3, tables, [[0, 1, 0], [2, 1, -1]], [3, 4], [2, 2, 3, 2, 2])
    wires = check(net, all_trits(net))
    assert wires.inputs[:, :3].tolist() == [[1, 0, NO_WIRE], [2, 1, NO_WIRE]]
    assert wires.on.tolist() == [0b0110, 0b0010]
    assert wires.free.tolist() == [0, 0]


def test_score_has_the_bits_of_its_range():
    head = Head(("a", "b"), (1, 1), limit=7)
    tables = np.array([[-3, 2], [5, 5]])
    net = Netlist(1, tables, [[0], [0]], [1, 2], [2, 16, 16], head=head)
    wires = check(net, all_trits(net))
    assert wires.first.tolist() == [0, 1, 4, 4]
    assert wires.lowest.tolist() == [0, -3, 5]
    # 0 or 5: the middle bit is never set.
    assert wires.on.tolist() == [0b10, 0b0, 0b10]
    assert wires.free.tolist() == [0, 0, 0]
