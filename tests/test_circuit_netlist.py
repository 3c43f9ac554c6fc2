import itertools

import numpy as np
import pytest
from circuits import random_nodes

from trilut import Encoder, Feature, FeatureVectors, Head, Netlist
from trilut.circuit.gates import NAMED_GATES
from trilut.circuit.kinds import Kind
from trilut.circuit.limits import MAX_INTEGER
from trilut.errors import DataError, NetlistError

AND, OR, NOT_A = (NAMED_GATES[name] for name in ("and", "or", "not_a"))


def one_gate(**changes):
    arguments = {"num_inputs": 2, "table": [AND], "a": [0], "b": [1], "outputs": [2]}
    return Netlist.of_gates(**(arguments | changes))


def two_features(**changes):
    arguments = {
        "features": (Feature("u", 8), Feature("s", 4, signed=True, scale=2.0, offset=1.0)),
        "feature": [0, 0, 1],
        "low": [10, 100, -2],
        "high": [20, 100, 2],
    }
    return Encoder(**(arguments | changes))


def test_one_gate_is_its_table():
    inputs = list(itertools.product((-1, 0, 1), repeat=2))
    assert one_gate().evaluate(inputs)[:, 0].tolist() == AND.tolist()


def test_gates_read_gates():
    net = Netlist.of_gates(2, [AND, NOT_A, OR], [0, 2, 2], [1, 2, 3], [3, 4, 0])
    assert net.values([[1, 1]]).tolist() == [[1, 1, 1, -1, 1]]
    assert net.evaluate([[1, 1]]).tolist() == [[-1, 1, 1]]
    assert net.levels.tolist() == [0, 0, 1, 2, 3]
    assert net.depth == 3


def test_binary_gate_has_four_rows():
    xor = [-1, 1, 1, -1]
    net = Netlist.of_gates(2, [xor], [0], [1], [2], valence=2)
    inputs = list(itertools.product((-1, 1), repeat=2))
    assert net.evaluate(inputs)[:, 0].tolist() == xor


def test_without_gates_the_outputs_are_inputs():
    net = Netlist.of_gates(2, np.empty((0, 9)), [], [], [1, 0, 1])
    assert net.evaluate([[1, 0]]).tolist() == [[0, 1, 0]]


def test_arrays_cannot_be_written():
    with pytest.raises(ValueError, match="read-only"):
        one_gate().table[0, 0] = 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"valence": 4}, "Netlist has valence 4, expected 2 or 3"),
        ({"num_inputs": 0}, "Netlist has 0 inputs, expected at least 1"),
        ({"num_inputs": 2**31}, "Netlist has 2147483648 inputs, expected at most 16777216"),
        ({"a": [0, 1]}, "Netlist has 1 tables but 2 inputs 'a' and 1 inputs 'b'"),
        (
            {"table": [[2, 0, 0, 0, 0, 0, 0, 0, 0]]},
            "Gate 0 has the table [2, 0, 0, 0, 0, 0, 0, 0, 0], expected values -1, +0, +1",
        ),
        (
            {"b": [2]},
            "Gate 0 input 'b' reads net 2, but only nets below 2 are driven before it",
        ),
        (
            {"a": [-1]},
            "Gate 0 input 'a' reads net -1, but only nets below 2 are driven before it",
        ),
        ({"a": [1 << 63]}, "Netlist 'a' has other values than integers of 64 bits"),
        ({"b": [0.5]}, "Netlist 'b' has other values than integers of 64 bits"),
        (
            {"table": np.array([[257, 0, 0, 0, 0, 0, 0, 0, 0]])},
            "Netlist 'table' has other values than integers of 8 bits",
        ),
        ({"outputs": []}, "Netlist has no outputs, expected at least 1"),
        ({"outputs": [2, 3]}, "Output 1 is net 3, but there are 3 nets"),
        ({"head": Head(("a", "b"), (1, 1))}, "Head reads 2 outputs, but the netlist has 1"),
        ({"encoder": two_features()}, "Encoder makes 3 trits, but the netlist has 2 inputs"),
    ],
)
def test_wrong_netlist(changes, message):
    with pytest.raises(NetlistError) as caught:
        one_gate(**changes)
    assert str(caught.value) == message


def test_binary_netlist_needs_a_binary_encoder():
    with pytest.raises(
        NetlistError,
        match=r"^Input 0 is a bit, so its encoder needs equal low and high thresholds and missing "
        r"features as -1$",
    ):
        Netlist.of_gates(3, np.empty((0, 4)), [], [], [0], valence=2, encoder=two_features())


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([1, 0], r"Inputs have shape \(2,\), expected \(samples, 2\)"),
        ([[1, 0, 0]], r"Inputs have shape \(1, 3\), expected \(samples, 2\)"),
        ([[1, 2]], r"Inputs hold other values than -1, \+0, \+1"),
        ([[0.5, 0]], r"Inputs hold other values than -1, \+0, \+1"),
    ],
)
def test_wrong_inputs(inputs, message):
    with pytest.raises(DataError, match=f"^{message}$"):
        one_gate().evaluate(inputs)


def test_classify_without_head():
    with pytest.raises(NetlistError, match=r"^Netlist 'net' has no head, so it cannot classify$"):
        one_gate().classify([[0, 0]])


def test_encoder_thresholds():
    vectors = FeatureVectors(
        np.array([[9, -3], [10, -2], [19, 1], [20, 2], [99, 7], [100, -8]]),
        np.ones((6, 2), dtype=bool),
    )
    assert two_features().trits(vectors).tolist() == [
        [-1, -1, -1],
        [0, -1, 0],
        [0, -1, 0],
        [1, -1, 1],
        [1, -1, 1],
        [1, 1, -1],
    ]


def test_quantize_floors_scales_and_clamps():
    vectors = two_features().quantize([[3.9, 0.4], [-5, 99], [np.inf, -np.inf], [300, -0.1]])
    assert vectors.values.tolist() == [[3, 1], [0, 7], [255, -8], [255, 0]]
    assert vectors.valid.all()


def test_missing_feature_is_unknown_in_all_its_trits():
    assert two_features().encode([[np.nan, 5]]).tolist() == [[0, 0, 1]]
    assert two_features(missing=-1).encode([[np.nan, 5]]).tolist() == [[-1, -1, 1]]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"low": [1]},
            "Encoder has 3 features of trits, 1 low and 3 high thresholds, "
            "expected as many of each",
        ),
        ({"feature": [0, 2, 1]}, "Encoder trit 1 reads feature 2, but there are 2 features"),
        (
            {"low": [21, 0, 0]},
            "Encoder trit 0 has low threshold 21 above its high threshold 20",
        ),
        ({"missing": 1}, "Encoder gives missing features 1, expected 0 or -1"),
    ],
)
def test_wrong_encoder(changes, message):
    with pytest.raises(NetlistError) as caught:
        two_features(**changes)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"bits": 0}, "Feature 'f' has 0 bits, expected 1…32"),
        (
            {"bits": 8, "scale": 0.0},
            "Feature 'f' has scale 0.0 and offset 0.0, "
            "expected finite numbers and a scale other than 0",
        ),
        (
            {"bits": 8, "offset": float("nan")},
            "Feature 'f' has scale 1.0 and offset nan, "
            "expected finite numbers and a scale other than 0",
        ),
    ],
)
def test_wrong_feature(arguments, message):
    with pytest.raises(NetlistError) as caught:
        Feature("f", **arguments)
    assert str(caught.value) == message


def test_samples_with_wrong_columns():
    with pytest.raises(
        DataError,
        match=r"^Samples have shape \(1, 3\), expected \(samples, 2\) for the features 'u', 's'$",
    ):
        two_features().quantize([[1, 2, 3]])


def test_scores_margin_and_abstention():
    head = Head(("a", "b", "c"), (2, 1, 2), abstain_margin=2)
    outputs = np.array(
        [[1, 1, 0, -1, -1], [1, 0, 1, 0, 0], [0, 0, 0, 0, 0], [-1, -1, -1, 1, 1]], dtype=np.int8
    )
    decisions = head.decide(head.scores(outputs))
    assert decisions.scores.tolist() == [[2, 0, -2], [1, 1, 0], [0, 0, 0], [-2, -1, 2]]
    assert decisions.chosen.tolist() == [0, 0, 0, 2]
    assert decisions.margin.tolist() == [2, 0, 0, 3]
    assert decisions.unknown.tolist() == [False, True, True, False]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((("a",), (1,)), "Head has 1 classes, expected at least 2"),
        ((("a", "b"), (1,)), "Head has 2 classes but 1 group sizes"),
        ((("a", "b", "a"), (1, 1, 1)), "Head has two classes 'a', expected different names"),
        ((("a", "b"), (1, 0)), f"Class 'b' has 0 outputs, expected 1…{MAX_INTEGER}"),
        ((("a", "b"), (1, 1 << 62)), f"Class 'b' has {1 << 62} outputs, expected 1…{MAX_INTEGER}"),
        ((("a", "b"), (1, 1), 0.0), "Head has tau 0.0, expected a positive number"),
        (
            (("a", "b"), (1, 1), 1.0, 0),
            f"Head has abstention margin 0, expected 1…{MAX_INTEGER}",
        ),
        (
            (("a", "b"), (1, 1), 1.0, 1 << 62),
            f"Head has abstention margin {1 << 62}, expected 1…{MAX_INTEGER}",
        ),
    ],
)
def test_wrong_head(arguments, message):
    with pytest.raises(NetlistError) as caught:
        Head(*arguments)
    assert str(caught.value) == message


def by_hand(net, inputs):
    """Evaluate one sample by the definition, with dictionaries and tuples."""
    values = dict(enumerate(inputs))
    for gate in range(net.num_gates):
        read = [int(source) for source in net.sources[gate] if source >= 0]
        choices = [Kind(net.kinds[source]).values for source in read]
        row = list(itertools.product(*choices)).index(tuple(values[source] for source in read))
        values[net.num_inputs + gate] = int(net.table[gate, row])
    return [values[int(output)] for output in net.outputs]


@pytest.mark.parametrize("seed", range(6))
def test_nodes_of_all_shapes_mean_what_their_tables_say(seed):
    net = random_nodes(seed, num_inputs=8, num_gates=40, num_outputs=9, with_encoder=True)
    rng = np.random.default_rng(seed)
    samples = rng.integers(-40, 80, (12, len(net.encoder.features))).astype(float)
    samples[rng.random(samples.shape) < 0.2] = np.nan
    trits = net.encoder.encode(samples)
    assert net.evaluate(trits).tolist() == [by_hand(net, row.tolist()) for row in trits]


def test_scores_are_added_to_their_classes():
    table = [[3, -2], [7, 0], [-8, 1]]
    net = Netlist(
        1,
        table,
        [[0], [0], [0]],
        [1, 2, 3],
        [Kind.BIT, *[Kind.SCORE] * 3],
        head=Head(("a", "b"), (2, 1), limit=8),
    )
    assert net.classify([[-1], [1]]).scores.tolist() == [[10, -8], [-2, 1]]
    assert (net.head.score_bits, net.head.margin_bits) == (6, 6)


def nodes(**changes):
    parts = {
        "num_inputs": 3,
        "table": [[1, -1, 1, 1, 0, 0, 0, 0], [-1, 0, 1, 1, 0, 0, 1, 1]],
        "sources": [[0, 1, -1], [0, 1, 3]],
        "outputs": [3, 4],
        "kinds": [2, 2, 3, 2, 3],
    }
    return Netlist(**{**parts, **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kinds": [2, 2, 3, 2, 4]}, "Net 4 is of kind 4, expected 2 (bit), 3 (trit), 16 (score)"),
        ({"kinds": [2, 2, 3, 2]}, "Netlist has kinds of shape (4,), expected (5,)"),
        ({"kinds": [16, 2, 3, 2, 3]}, "Input 0 is a score, expected a bit or a trit"),
        (
            {"table": [1, 2], "sources": [[0, 1]]},
            "Netlist has tables of shape (2,), sources of (1, 2) and outputs of (2,), "
            "expected 2, 2 and 1 dimensions",
        ),
        ({"sources": [[0, 1, -1]]}, "Netlist has 2 tables but sources of 1 gates"),
        (
            {"sources": [[0, 1, -1], [0, 1, 4]]},
            "Gate 1 input 'c' reads net 4, but only nets below 4 are driven before it",
        ),
        ({"sources": [[0, -1, 1], [0, 1, 3]]}, "Gate 0 has an empty slot before its last input"),
        (
            {"sources": [[-1, -1, -1], [0, 1, 3]]},
            "Gate 0 reads 0 wires, expected 1…6 (a bit is one, a trit two)",
        ),
        (
            {"sources": [[2, 2, 2, 0], [0, 1, 3, -1]]},
            "Gate 0 reads 7 wires, expected 1…6 (a bit is one, a trit two)",
        ),
        ({"sources": [[0] * 7, [0] * 7]}, "Netlist has gates of 7 inputs, expected at most 6"),
        ({"sources": [[0, 2, -1], [0, 2, 2]]}, "Netlist has tables of 8 rows, expected 18"),
        (
            {"table": [[0, -1, 1, 1, 0, 0, 0, 0], [-1, 0, 1, 1, 0, 0, 1, 1]]},
            "Gate 0 has the table [0, -1, 1, 1], expected values -1, +1",
        ),
        (
            {"table": [[1, -1, 1, 1, 1, 0, 0, 0], [-1, 0, 1, 1, 0, 0, 1, 1]]},
            "Gate 0 has values beyond the 4 rows of its table",
        ),
        ({"kinds": [2, 2, 3, 16, 3]}, "Gate 1 input 'c' reads net 3, which is a score"),
        ({"kinds": [2, 2, 3, 2, 16]}, "Output 1 is a score, but there is no head to add it to"),
        (
            {
                "kinds": [2, 2, 3, 2, 16],
                "table": [[1, -1, 1, 1, 0, 0, 0, 0], [-1, 0, 3, 1, 0, 0, 1, 1]],
                "head": Head(("a", "b"), (1, 1), limit=2),
            },
            "Outputs have scores beyond -2…2, the limit of the head",
        ),
    ],
)
def test_wrong_nodes(changes, message):
    with pytest.raises(NetlistError) as caught:
        nodes(**changes)
    assert str(caught.value) == message


@pytest.mark.parametrize("name", ["a", "b", "valence"])
def test_what_two_input_gates_have_is_not_there_for_others(name):
    with pytest.raises(
        NetlistError,
        match=r"^Netlist 'net' has other gates than two-input gates of one valence, "
        r"and this is for these alone$",
    ):
        getattr(nodes(), name)


def test_encoder_says_for_each_input_what_a_missing_feature_is():
    encoder = two_features(missing=[0, -1, 0])
    assert encoder.encode([[np.nan, 5]]).tolist() == [[0, -1, 1]]
    assert encoder.is_bit.tolist() == [False, True, False]
    with pytest.raises(
        NetlistError, match=r"^Encoder has 2 values of missing features, expected one or 3$"
    ):
        two_features(missing=[-1, 0])
