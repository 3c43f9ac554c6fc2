import numpy as np
import pytest
from circuits import all_trits, padded, random_nodes

from trilut import Encoder, Feature, Head, Netlist
from trilut.circuit import reach
from trilut.circuit.kinds import Kind
from trilut.circuit.reach import observed_rows, output_values, possible_values, reachable_rows
from trilut.circuit.shapes import row_values, shapes_of


def occurring_rows(netlist, trits):
    """Look every row up, one gate, sample and input at a time."""
    rows = np.zeros(netlist.table.shape, dtype=np.bool_)
    for values in netlist.values(trits).tolist():
        for gate, sources in enumerate(netlist.sources.tolist()):
            nets = [net for net in sources if net >= 0]
            inputs = [values[net] for net in nets]
            rows[gate, row_values(netlist.kinds[nets]).tolist().index(inputs)] = True
    return rows


@pytest.mark.parametrize("seed", range(4))
def test_rows_that_occur_are_those_that_are_looked_up(seed):
    net = random_nodes(
        seed, num_inputs=5, num_gates=25, num_outputs=5, num_classes=2, scores=seed % 2 == 1
    )
    trits = all_trits(net)[:: 1 + seed]
    assert np.array_equal(observed_rows(net, trits), occurring_rows(net, trits))


@pytest.mark.parametrize("seed", range(8))
def test_reachable_rows_of_general_gates_hold_every_row_that_occurs(seed):
    net = random_nodes(seed, num_inputs=5, num_gates=30, num_outputs=4)
    rows, occurring = reachable_rows(net), observed_rows(net, all_trits(net))
    assert not np.any(occurring & ~rows)
    assert not np.any(rows[np.arange(rows.shape[1]) >= net.num_rows[:, None]])
    values = net.values(all_trits(net))
    possible = possible_values(net, occurring)
    for value in (-1, 0, 1):
        assert np.array_equal(possible[:, value + 1], (values == value).any(axis=0))


@pytest.mark.parametrize("seed", range(8))
def test_rows_behind_an_encoder_are_exact_where_gates_read_inputs_alone(seed, monkeypatch):
    # Of one gate's inputs all that there is to know is equal nets and the regions of each feature.
    net = random_nodes(seed, num_inputs=6, num_gates=20, num_outputs=4, with_encoder=True)
    exact = reachable_rows(net)
    monkeypatch.setattr(reach, "_MAX_VALUES", 0)
    superset = reachable_rows(net)
    assert not np.any(exact & ~superset)
    reads_inputs = (net.sources < net.num_inputs).all(axis=1)
    assert reads_inputs.any()
    assert np.array_equal(exact[reads_inputs], superset[reads_inputs])


def test_three_trits_of_one_feature_and_a_bit_of_another(monkeypatch):
    encoder = Encoder(
        (Feature("x", bits=4), Feature("y", bits=1)),
        [0, 0, 0, 1],
        [2, 4, 6, 1],
        [2, 4, 6, 1],
        missing=[-1, -1, -1, -1],
    )
    sources = [[0, 1, 2, 3]]
    net = Netlist(4, np.ones((1, 16)), sources, [4], [2] * 5, encoder=encoder)
    monkeypatch.setattr(reach, "_MAX_VALUES", 0)
    rows = reachable_rows(net)[0].reshape(2, 2, 2, 2)
    # A thermometer of three has four readings.
    assert rows.any(axis=3).sum() == 4
    assert (rows == rows.any(axis=3)[..., None]).all()


def test_values_of_outputs_are_those_of_bits_trits_and_scores():
    kinds = [Kind.TRIT, Kind.BIT, Kind.BIT, Kind.TRIT, Kind.SCORE]
    tables = padded([[1, 1, 1], [-1, 0], [5, -3, 0, 0]], 0)
    # Gate 0 is always +1, so the score has two of its rows.
    sources = padded([[0], [1], [2, 1]], -1)
    head = Head(("a", "b"), (3, 2), limit=7)
    net = Netlist(2, tables, sources, [0, 1, 2, 3, 4], kinds, head=head)
    rows = reachable_rows(net)
    assert output_values(net, rows) == [(-1, 0, 1), (-1, 1), (1,), (-1, 0), (0,)]
    assert not possible_values(net, rows)[4].any()


def test_shapes_hold_every_gate_once():
    net = random_nodes(0, num_inputs=6, num_gates=60, num_outputs=4)
    shapes = shapes_of(net)
    assert sorted(np.concatenate([shape.gates for shape in shapes]).tolist()) == list(range(60))
    assert len({shape.kinds for shape in shapes}) == len(shapes)
    for shape in shapes:
        assert np.array_equal(net.num_rows[shape.gates], [shape.num_rows] * len(shape.gates))
        assert (net.kinds[shape.sources(net)] == shape.kinds).all()


def test_rows_have_the_last_input_changing_fastest():
    assert row_values((Kind.TRIT, Kind.BIT)).tolist() == [
        [-1, -1],
        [-1, 1],
        [0, -1],
        [0, 1],
        [1, -1],
        [1, 1],
    ]
