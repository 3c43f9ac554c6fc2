import itertools

import numpy as np
import pytest

from trilut.circuit.gates import gate_table, num_gates, parse_gate
from trilut.measure.analysis import (
    SpectralClass,
    can_be_unknown,
    gate_properties,
    is_information_monotone,
    is_monotone,
    is_threshold,
    named_distance,
    nearest_names,
    spectral_class,
    threshold_weights,
)

TABLES = gate_table(np.arange(num_gates())).astype(int)
PAIRS = list(itertools.product((-1, 0, 1), repeat=2))


def gates_of(kind):
    return set(np.flatnonzero(spectral_class() == kind).tolist())


def test_there_are_471_threshold_gates():
    assert np.count_nonzero(is_threshold()) == len(threshold_weights()) == 471


def test_weights_and_thresholds_compute_the_gate():
    for gate, weights in threshold_weights().items():
        sums = np.array(PAIRS) @ weights
        low, unknown, high = (sums[TABLES[gate] == trit] for trit in (-1, 0, 1))
        assert low.max(initial=-99) < min(unknown.min(initial=99), high.min(initial=99))
        assert unknown.max(initial=-99) < high.min(initial=99)


def test_larger_weights_make_no_more_threshold_gates():
    # Every other gate has pairs that no weights can order as its table asks.
    generator = np.random.default_rng(0)
    for weights in generator.normal(size=(2000, 2)):
        sums = np.array(PAIRS) @ weights
        lower, upper = np.sort(generator.choice(sums, 2, replace=False))
        table = (sums >= upper).astype(int) - (sums <= lower)
        assert is_threshold()[int((table + 1) @ 3 ** np.arange(9))]


def test_seven_gates_are_linear_and_only_products_are_bilinear():
    linear = {"false", "unknown", "true", "a", "b", "not_a", "not_b"}
    assert gates_of(SpectralClass.LINEAR) == {parse_gate(name) for name in linear}
    assert gates_of(SpectralClass.BILINEAR) == {parse_gate("xor"), parse_gate("xnor")}


@pytest.mark.parametrize("name", ["and", "or", "nand", "nor", "accept_any"])
def test_neither_and_nor_or_nor_majority_is_bilinear(name):
    assert spectral_class()[parse_gate(name)] is SpectralClass.HIGHER


def test_spectral_classes_share_out_all_gates():
    sizes = {kind.value: len(gates_of(kind)) for kind in SpectralClass}
    assert sizes == {"linear": 7, "bilinear": 2, "quadratic": 92, "higher": 12910, "full": 6672}


def test_monotone_gates_by_definition():
    below = [
        (low, high)
        for (low, (a, b)), (high, (c, d)) in itertools.product(enumerate(PAIRS), repeat=2)
        if a <= c and b <= d
    ]
    expected = [all(table[low] <= table[high] for low, high in below) for table in TABLES.tolist()]
    assert np.array_equal(is_monotone(), expected)


def test_information_monotone_gates_by_definition():
    # (0, b) tells no more than (±1, b), and so on: both inputs may become decided.
    tells_more = [
        (less, more)
        for (less, p), (more, q) in itertools.product(enumerate(PAIRS), repeat=2)
        if all(x in (0, y) for x, y in zip(p, q, strict=True))
    ]
    expected = [
        all(table[less] in (0, table[more]) for less, more in tells_more)
        for table in TABLES.tolist()
    ]
    assert np.array_equal(is_information_monotone(), expected)


def test_kleene_connectives_are_information_monotone_and_lukasiewicz_is_not():
    flags = is_information_monotone()
    assert all(flags[parse_gate(name)] for name in ("and", "or", "xor", "implies", "not_a"))
    assert not flags[parse_gate("lukasiewicz_implies")]


def test_512_gates_are_never_unknown():
    assert np.count_nonzero(~can_be_unknown()) == 2**9


def test_distance_to_named_gates():
    near_and = parse_gate("----00-00")
    assert (named_distance()[near_and], nearest_names(near_and)) == (1, ["and"])
    assert np.count_nonzero(named_distance() == 0) == 18


def test_properties_of_a_gate():
    assert gate_properties(parse_gate("accept_any")) == {
        "spectral_class": "higher",
        "energy": {
            "constant": 0.0,
            "linear": 0.592593,
            "quadratic": 0.0,
            "cubic": 0.074074,
            "quartic": 0.0,
        },
        "term_energy": [[0.0, 0.296296, 0.0], [0.296296, 0.0, 0.037037], [0.0, 0.037037, 0.0]],
        "complexity": 2.333333,
        "classes": ["can be UNKNOWN", "threshold", "monotone"],
        "threshold_weights": (1, 1),
        "nearest_names": ["accept_any"],
        "entries_to_nearest_name": 0,
    }
