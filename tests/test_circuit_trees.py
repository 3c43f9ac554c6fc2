import itertools

import numpy as np
import pytest

from trilut.circuit.encoder import Feature
from trilut.circuit.format import load, save
from trilut.circuit.kinds import Kind
from trilut.circuit.trees import Tree, netlist_of_trees, quantize_trees, split_tree
from trilut.errors import NetlistError


def make_tree(depth, num_features, seed, *, missing=False, thresholds=6):
    """Return a random tree whose leaves lie at a depth or above."""
    generator = np.random.default_rng(seed)
    nodes = []

    def grow(left_to_go):
        node = len(nodes)
        nodes.append([-1, 0.0, 0, 0, generator.normal(), True])
        if left_to_go and (left_to_go == depth or generator.random() < 0.9):
            nodes[node][0] = generator.integers(num_features)
            nodes[node][1] = float(generator.integers(1, thresholds))
            nodes[node][5] = not missing or generator.random() < 0.5
            nodes[node][2] = grow(left_to_go - 1)
            nodes[node][3] = grow(left_to_go - 1)
        return node

    grow(depth)
    feature, threshold, left, right, value, missing_left = zip(*nodes, strict=True)
    return Tree(
        np.array(feature, dtype=np.int64),
        np.array(threshold),
        np.array(left, dtype=np.int64),
        np.array(right, dtype=np.int64),
        np.array(value),
        np.array(missing_left),
    )


def leaf_value(tree, sample):
    """Walk down a tree."""
    node = 0
    while tree.feature[node] >= 0:
        x = sample[tree.feature[node]]
        left = tree.missing_left[node] if np.isnan(x) else x < tree.threshold[node]
        node = tree.left[node] if left else tree.right[node]
    return tree.value[node]


def all_samples(num_features, highest=6, *, missing=False):
    values = [*range(highest), *([np.nan] if missing else [])]
    return np.array(list(itertools.product(values, repeat=num_features)), dtype=np.float64)


def whole_numbers(num_features, bits=3):
    return tuple(Feature(f"x{number}", bits) for number in range(num_features))


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_circuit_of_trees_adds_their_leaves(depth, missing):
    # With missing features that go right, every comparison may take two of the six wires.
    trees = [
        make_tree(min(depth, 3 if missing else 4), 3, seed, missing=missing) for seed in range(9)
    ]
    classes = [0, 1, 2] * 3
    base = [0.5, -4.0, 0.0]
    netlist = netlist_of_trees(trees, classes, whole_numbers(3), ("a", "b", "c"), base=base)
    rounded, unit = quantize_trees(trees)
    samples = all_samples(3, missing=missing)
    expected = np.tile(np.rint(np.array(base) / unit), (len(samples), 1))
    for tree, of_class in zip(rounded, classes, strict=True):
        expected[:, of_class] += [leaf_value(tree, sample) for sample in samples]
    decisions = netlist.classify(netlist.encoder.encode(samples))
    np.testing.assert_array_equal(decisions.scores, expected)
    assert netlist.head.tau == pytest.approx(1 / unit)
    assert set(netlist.kinds[netlist.outputs]) == {Kind.SCORE}


@pytest.mark.parametrize("seed", range(5))
def test_parts_of_a_tree_are_few_and_add_up_to_it(seed):
    tree = make_tree(3, 9, seed)
    parts = split_tree(tree)
    num_comparisons = len(
        {(f, t) for f, t in zip(tree.feature, tree.threshold, strict=True) if f >= 0}
    )
    assert len(parts) == 1 if num_comparisons <= 6 else len(parts) == 2
    generator = np.random.default_rng(seed)
    for sample in generator.integers(0, 6, (50, 9)).astype(np.float64):
        total = 0.0
        for part in parts:
            bits = [sample[each.feature] >= each.threshold for each in part.comparisons]
            total += part.table[int("".join(str(int(bit)) for bit in bits), 2)]
        assert total == leaf_value(tree, sample)


def test_two_classes_with_one_score():
    tree = Tree(
        *(np.array(a) for a in ([0, -1, -1], [3.0, 0, 0], [1, 0, 0], [2, 0, 0], [0, -1.0, 2]))
    )
    netlist = netlist_of_trees([tree], [1], whole_numbers(1), ("no", "yes"))
    decisions = netlist.classify(netlist.encoder.encode(np.array([[2.0], [3.0]])))
    np.testing.assert_array_equal(decisions.scores, [[0, -4], [0, 7]])
    assert decisions.chosen.tolist() == [0, 1]


def test_a_tree_of_one_leaf_and_a_large_base_are_constants():
    leaf = Tree(*(np.array(a) for a in ([-1], [0.0], [0], [0], [3.0])))
    tree = make_tree(2, 2, 0)
    netlist = netlist_of_trees([leaf, tree], [0, 1], whole_numbers(2), ("a", "b"), base=[30.0, 0.0])
    (rounded, other), unit = quantize_trees([leaf, tree])
    decisions = netlist.classify(netlist.encoder.encode(all_samples(2)))
    assert set(decisions.scores[:, 0]) == {rounded.value[0] + round(30 / unit)}
    expected = [leaf_value(other, sample) for sample in all_samples(2)]
    np.testing.assert_array_equal(decisions.scores[:, 1], expected)


def test_file_of_trees(tmp_path):
    trees = [make_tree(3, 4, seed) for seed in range(4)]
    netlist = netlist_of_trees(trees, [1] * 4, whole_numbers(4), ("no", "yes"))
    save(netlist, tmp_path / "trees.trilut")
    again = load(tmp_path / "trees.trilut")
    samples = np.random.default_rng(0).integers(0, 8, (100, 4)).astype(float)
    trits = netlist.encoder.encode(samples)
    np.testing.assert_array_equal(again.evaluate(trits), netlist.evaluate(trits))


def test_thresholds_become_integers_of_the_scale():
    tree = Tree(
        *(np.array(a) for a in ([0, -1, -1], [0.55, 0, 0], [1, 0, 0], [2, 0, 0], [0, -1.0, 1]))
    )
    feature = Feature("volts", 8, scale=100.0, offset=10.0)
    netlist = netlist_of_trees([tree], [1], (feature,), ("no", "yes"))
    assert netlist.encoder.low.tolist() == [65]
    decisions = netlist.classify(netlist.encoder.encode(np.array([[0.549], [0.5501]])))
    assert decisions.chosen.tolist() == [0, 1]


def chain(depth):
    """Return a tree that asks another feature at each step to the right."""
    nodes = 2 * depth + 1
    feature = np.full(nodes, -1)
    left, right = np.zeros(nodes, dtype=np.int64), np.zeros(nodes, dtype=np.int64)
    for step in range(depth):
        feature[2 * step], left[2 * step], right[2 * step] = step, 2 * step + 1, 2 * step + 2
    return Tree(feature, np.ones(nodes), left, right, np.ones(nodes))


def test_refusals():
    def refused(call):
        with pytest.raises(NetlistError) as caught:
            call()
        return str(caught.value)

    assert refused(lambda: split_tree(chain(7))) == (
        "Tree has a leaf below 7 comparisons, which are more than the 6 wires of a gate"
    )
    names = ("a", "b")
    assert refused(lambda: netlist_of_trees([chain(2)], [0], whole_numbers(1), names)) == (
        "Tree 0 reads feature 1, but there are 1 features"
    )
    backwards = (Feature("x0", 3, scale=-1.0), Feature("x1", 3))
    assert refused(lambda: netlist_of_trees([chain(2)], [0], backwards, names)) == (
        "Feature 'x0' has the scale -1.0, expected a positive one"
    )
    zero = Tree(*(np.array(a) for a in ([0, -1, -1], [1.0, 0, 0], [1, 0, 0], [2, 0, 0], [0.0] * 3)))
    assert refused(lambda: netlist_of_trees([zero], [0], whole_numbers(1), names)) == (
        "All leaves of the 1 trees are 0 after rounding"
    )
    assert refused(lambda: Tree(*(np.array(a) for a in ([0], [1.0], [0], [1], [0.0])))) == (
        "Tree node 0 has the child 0, expected 1…0"
    )
    assert refused(lambda: Tree(*(np.array(a) for a in ([-1], [1.0], [0], [1, 2], [0.0])))) == (
        "Tree has arrays of 1, 2 nodes, expected as many in each, and a root"
    )
    with pytest.raises(ValueError, match=r"^Limit must be 1…7, not 8$"):
        quantize_trees([zero], limit=8)
