import numpy as np
import pytest
from circuits import all_trits, padded, random_netlist, random_nodes

from trilut import Head, Netlist
from trilut.circuit.kinds import Kind
from trilut.circuit.optimize import optimize


@pytest.mark.parametrize("scores", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_optimised_nodes_compute_the_same(seed, scores):
    net = random_nodes(
        seed, num_inputs=5, num_gates=10 + 5 * seed, num_outputs=4, num_classes=2, scores=scores
    )
    smaller = optimize(net).netlist
    trits = all_trits(net)
    assert np.array_equal(smaller.evaluate(trits), net.evaluate(trits))
    assert smaller.num_gates <= net.num_gates
    assert np.array_equal(smaller.kinds[smaller.outputs], net.kinds[net.outputs])


@pytest.mark.parametrize("seed", range(4))
def test_optimised_nodes_behind_an_encoder_compute_the_same(seed):
    net = random_nodes(seed, num_inputs=6, num_gates=40, num_outputs=5, with_encoder=True)
    rng = np.random.default_rng(seed)
    samples = np.where(rng.random((500, 3)) < 0.2, np.nan, rng.integers(-40, 300, (500, 3)))
    trits = net.encoder.encode(samples)
    assert np.array_equal(optimize(net).netlist.evaluate(trits), net.evaluate(trits))


@pytest.mark.parametrize("valence", [2, 3])
@pytest.mark.parametrize("cover", [2, 4, 6])
def test_covered_gates_compute_the_same(valence, cover):
    net = random_netlist(7, num_inputs=5, num_gates=60, num_outputs=4, valence=valence)
    trits = all_trits(net)
    covered = optimize(net, cover=cover).netlist
    assert np.array_equal(covered.evaluate(trits), net.evaluate(trits))
    wires = (np.append(covered.kinds, 1)[covered.sources] - 1).sum(axis=1)
    # Gates that were too large before stay so.
    assert wires.max() <= max(cover, 2 * (valence - 1))
    if cover == 6:
        assert covered.num_gates < optimize(net).netlist.num_gates


def test_two_input_gates_stay_so_unless_covered():
    net = random_netlist(3, num_inputs=5, num_gates=30, num_outputs=2)
    assert optimize(net).netlist.is_two_input


def test_a_tree_of_bits_becomes_one_gate():
    # and(and(0, 1), or(2, 3)), and its negation: one gate and its negation.
    tables = [[-1, -1, -1, 1], [-1, 1, 1, 1], [-1, -1, -1, 1], [1, -1, 0, 0]]
    sources = [[0, 1], [2, 3], [4, 5], [6, -1]]
    net = Netlist(4, tables, sources, [7], [2] * 8)
    smaller = optimize(net).netlist
    assert smaller.num_gates == 1
    assert smaller.sources.tolist() == [[0, 1, 2, 3]]
    assert np.array_equal(smaller.evaluate(all_trits(net)), net.evaluate(all_trits(net)))


def test_bit_of_a_trit_is_not_absorbed_where_it_would_not_fit():
    # Six bits, each made of a trit of its own: a gate cannot read twelve wires.
    tables = [*[[-1, -1, 1]] * 6, np.where(np.arange(64) % 5 == 0, 1, -1).tolist()]
    sources = padded([*[[net] for net in range(6)], list(range(6, 12))], -1)
    net = Netlist(6, padded(tables, 0), sources, [12], [3] * 6 + [2] * 7)
    smaller = optimize(net).netlist
    assert smaller.num_gates == 7
    trits = all_trits(net)
    assert np.array_equal(smaller.evaluate(trits), net.evaluate(trits))


def test_constants_twins_and_unread_inputs():
    kinds = [Kind.BIT, Kind.BIT, Kind.BIT, Kind.BIT, Kind.SCORE, Kind.SCORE]
    # Net 2 is always +1, net 3 is net 0; both scores read them and are the same.
    tables = padded([[1, 1], [-1, -1, 1, 1], [4, -2, 4, 3], [4, -2, 5, 3]], 0)
    sources = padded([[0], [0, 1], [2, 3], [2, 3]], -1)
    head = Head(("a", "b"), (1, 1), limit=7)
    net = Netlist(2, tables, sources, [4, 5], kinds, head=head)
    smaller = optimize(net).netlist
    assert smaller.outputs.tolist() == [2, 3]
    assert smaller.sources.tolist() == [[0], [0]]
    assert smaller.table.tolist() == [[4, 3], [5, 3]]


def test_constant_output_reads_an_input():
    net = Netlist(1, [[1, 1, 1]], [[0]], [1, 1], [3, 2])
    smaller = optimize(net).netlist
    assert smaller.table.tolist() == [[1, 1, 1]]
    assert smaller.outputs.tolist() == [1, 1]


def test_lossy_optimisation_of_nodes_agrees_on_the_training_inputs():
    net = random_nodes(3, num_inputs=8, num_gates=60, num_outputs=10)
    training = all_trits(net)[::397]
    lossy = optimize(net, training_trits=training).netlist
    assert lossy.num_gates < optimize(net).netlist.num_gates
    assert np.array_equal(lossy.evaluate(training), net.evaluate(training))


def test_wrong_number_of_wires_to_cover():
    net = random_netlist(0, num_inputs=2, num_gates=2, num_outputs=1)
    with pytest.raises(ValueError, match=r"^Gates cover 7 wires, expected 2…6$"):
        optimize(net, cover=7)
