"""Boosted trees as a circuit: what a network of gates has to be smaller than.

Used by tables.py. Gradient boosting on the same integers and thresholds as the network: one
comparator for each feature and threshold that any tree reads, trees as logic, leaves of a few bits,
trees of adders, and the argmax of TriLUT itself, with margin and abstention. The Verilog is plain,
and its registers stand after comparators, trees and each level of adders.
"""

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier  # type: ignore[import-untyped]

from trilut.circuit.encoder import Encoder
from trilut.circuit.head import Head
from trilut.data import Dataset
from trilut.hdl.argmax import Argmax, DifferenceArgmax
from trilut.hdl.conversion import convert
from trilut.hdl.sums.groupsum import difference_width
from trilut.training import fit_encoder

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# All are tried with each other, and the cheapest circuit that is good enough is taken.
THRESHOLDS = (15, 31, 63)
DEPTHS = (2, 3)
RATES = (0.2, 0.35, 0.5, 0.7, 1.0)
LEAF_BITS = (2, 3, 4)
# Where leaves are cut off, as a part of the largest one.
CLIPS = (1.0, 0.7, 0.5, 0.35)
ROUNDS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 18, 20, 23, 26, 29, 32, 36, 40, 45, 50, 56, 64)
# Of one model; with many classes there are fewer rounds.
MOST_TREES = 1600

# The bin that no feature comes to.
NEVER = 1 << 30

# What the search takes for the LUT4 of a circuit; the chosen one is synthesised.
COMPARATOR_COST = 2.0
TREE_COST = {2: 1.0, 3: 3.0}
ADDER_COST = 1.2


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree: its node 0 is the root, and a leaf has no feature.

    Parameters
    ----------
    feature, bin : int64 array [node]
        A sample goes right if the feature is in this bin or a higher one; −1 for a leaf.
    left, right : int64 array [node]
        Children.
    missing_left : bool array [node]
        Where a sample goes whose feature is missing.
    value : float64 or int64 array [node]
        What a leaf adds.
    """

    feature: Integers
    bin: Integers
    left: Integers
    right: Integers
    missing_left: NDArray[np.bool_]
    value: NDArray[Any]

    def leaves(self, bins: Floats) -> Integers:
        """Return the leaf of every sample, given the bins of its features, NaN where missing."""
        node = np.zeros(len(bins), dtype=np.int64)
        for _ in range(max(DEPTHS)):
            feature = self.feature[node]
            value = bins[np.arange(len(bins)), np.maximum(feature, 0)]
            right = np.where(np.isnan(value), ~self.missing_left[node], value >= self.bin[node])
            step = np.where(right, self.right[node], self.left[node])
            node = np.where(feature < 0, node, step)
        return node


@dataclass(frozen=True, eq=False)
class Trees:
    """Boosted trees with whole numbers at their leaves.

    Parameters
    ----------
    encoder : Encoder
        The integers and the thresholds.
    trees : list of lists of Tree
        For each score the trees that it is the sum of. Two classes have one score, of the first.
    base : int64 array [score]
        What each sum starts from.
    """

    encoder: Encoder
    trees: list[list[Tree]]
    base: Integers
    num_classes: int

    def classes(self, bins: Floats) -> Integers:
        """Return the class of each sample, the lowest on a tie."""
        added = [sum(tree.value[tree.leaves(bins)] for tree in own) for own in self.trees]
        return _classes(self.base[:, None] + np.stack(added))

    @property
    def comparators(self) -> list[tuple[int, int]]:
        """The features and bins that are compared, each once."""
        return sorted(_comparators(self.trees))


def thresholds(encoder: Encoder) -> list[Integers]:
    """Return the different thresholds of each feature, in order."""
    return [
        np.unique(np.concatenate([encoder.low[own], encoder.high[own]]))
        for own in (encoder.feature == feature for feature in range(len(encoder.features)))
    ]


def to_bins(encoder: Encoder, x: NDArray[Any]) -> Floats:
    """Return how many thresholds each feature has reached; NaN where it is missing."""
    vectors = encoder.quantize(x)
    columns = [
        np.searchsorted(cuts, vectors.values[:, feature], side="right").astype(np.float64)
        for feature, cuts in enumerate(thresholds(encoder))
    ]
    return np.where(vectors.valid, np.stack(columns, axis=1), np.nan)


def smallest_trees(dataset: Dataset, accuracy: float) -> tuple[Trees, float]:
    """Return the trees of the least cost with a validation accuracy, and the accuracy they have.

    If none is as good, those of the best accuracy are returned.
    """
    best: tuple[tuple[float, float], Callable[[], Trees], float] | None = None
    for thresholds in THRESHOLDS:
        encoder = fit_encoder(
            dataset.train.x,
            dataset.feature_names,
            thresholds=thresholds,
            delta=0.0,
            spacing="balanced",
        )
        train, validation = (
            to_bins(encoder, split.x) for split in (dataset.train, dataset.validation)
        )
        for depth, rate in itertools.product(DEPTHS, RATES):
            model = _boost(encoder, dataset, train, depth, rate)
            for cost, classes, make in _variants(model, validation):
                right = float(np.mean(classes == dataset.validation.y))
                key = (max(0.0, accuracy - right), cost)
                if best is None or key < best[0]:
                    best = key, make, right
    assert best is not None
    return best[1](), best[2]


@dataclass(frozen=True, eq=False)
class _Model:
    """Boosted trees with real numbers at their leaves, those of each round together."""

    encoder: Encoder
    rounds: list[list[Tree]]
    base: Floats
    depth: int
    num_classes: int


def _boost(encoder: Encoder, dataset: Dataset, bins: Floats, depth: int, rate: float) -> _Model:
    num_scores = dataset.num_classes if dataset.num_classes > 2 else 1
    model = HistGradientBoostingClassifier(
        max_iter=min(ROUNDS[-1], MOST_TREES // num_scores),
        learning_rate=rate,
        max_depth=depth,
        max_leaf_nodes=None,
        early_stopping=False,
        random_state=0,
    )
    model.fit(bins, dataset.train.y)
    # Scikit-learn has no public way to the trees of this model.
    rounds = [[_tree(predictor.nodes) for predictor in each] for each in model._predictors]
    base = np.asarray(model._baseline_prediction, dtype=np.float64).ravel()
    # Its one score of two classes is that of the second; that of the circuit is of the first.
    sign = -1.0 if dataset.num_classes == 2 else 1.0
    signed = [[replace(tree, value=sign * tree.value) for tree in each] for each in rounds]
    return _Model(encoder, signed, sign * base, depth, dataset.num_classes)


def _variants(model: _Model, bins: Floats) -> Iterator[tuple[float, Integers, Callable[[], Trees]]]:
    """Yield the cost and the answers of the first rounds of a model with leaves of few bits."""
    # Once, because rounding the leaves does not change which one a sample comes to.
    leaves = [[tree.leaves(bins) for tree in each] for each in model.rounds]
    counts = [number for number in ROUNDS if number <= len(model.rounds)]
    comparators = [len(_comparators(model.rounds[:count])) for count in counts]
    largest = max(float(np.abs(tree.value).max()) for each in model.rounds for tree in each)
    for num_bits, clip in itertools.product(LEAF_BITS, CLIPS):
        half = 1 << num_bits - 1
        step = clip * largest / (half - 0.5)
        rounds = [[_rounded(tree, step, half) for tree in each] for each in model.rounds]
        start = np.rint(model.base / step).astype(np.int64)
        added = [
            np.stack([tree.value[leaf] for tree, leaf in zip(*each, strict=True)])
            for each in zip(rounds, leaves, strict=True)
        ]
        scores = start[:, None] + np.cumsum(added, axis=0)
        costs = np.cumsum([sum(_cost(tree, model.depth) for tree in each) for each in rounds])
        for count, compared in zip(counts, comparators, strict=True):
            make = functools.partial(_circuit, model, rounds[:count], start)
            cost = COMPARATOR_COST * compared + costs[count - 1]
            yield float(cost), _classes(scores[count - 1]), make


def _circuit(model: _Model, rounds: Sequence[Sequence[Tree]], base: Integers) -> Trees:
    trees = [list(own) for own in zip(*rounds, strict=True)]
    return Trees(model.encoder, trees, base, model.num_classes)


def _classes(scores: Integers) -> Integers:
    """Return the class of each sample, the lowest on a tie."""
    return (scores[0] < 0).astype(np.int64) if len(scores) == 1 else scores.argmax(axis=0)


def _comparators(trees: Iterable[Iterable[Tree]]) -> set[tuple[int, int]]:
    return {
        (int(tree.feature[node]), int(tree.bin[node]))
        for each in trees
        for tree in each
        for node in np.flatnonzero((tree.feature >= 0) & (tree.bin < NEVER))
    }


def _tree(nodes: Any) -> Tree:
    is_leaf = nodes["is_leaf"].astype(bool)
    # Infinite where the only question is whether the feature is missing.
    above = np.minimum(np.floor(np.where(is_leaf, 0, nodes["num_threshold"])) + 1, NEVER)
    return Tree(
        np.where(is_leaf, -1, nodes["feature_idx"].astype(np.int64)),
        np.where(is_leaf, -1, above).astype(np.int64),
        nodes["left"].astype(np.int64),
        nodes["right"].astype(np.int64),
        nodes["missing_go_to_left"].astype(bool),
        np.where(is_leaf, nodes["value"], 0.0),
    )


def _rounded(tree: Tree, step: float, half: int) -> Tree:
    value = np.clip(np.rint(tree.value / step), -half, half - 1)
    return replace(tree, value=value.astype(np.int64))


def _cost(tree: Tree, depth: int) -> float:
    num_bits = int(np.ptp(tree.value[tree.feature < 0])).bit_length()
    return TREE_COST[depth] * num_bits + (ADDER_COST * (num_bits + 1) if num_bits else 0.0)


def write_trees(trees: Trees, path: Path, *, missing: bool) -> None:
    """Write the circuit as Verilog, its top module ``trees_top``.

    Parameters
    ----------
    missing : bool
        Whether a feature can be missing: then there is a bit for each that says that it is there.
    """
    encoder = trees.encoder
    registers: list[tuple[str, int, str]] = []
    fields = np.concatenate([[0], np.cumsum([feature.bits for feature in encoder.features])])
    cuts = thresholds(encoder)
    names = {}
    for feature, number in trees.comparators:
        name = names[feature, number] = f"reaches_{feature}_{number}"
        threshold = int(cuts[feature][number - 1])
        value = f"features[{fields[feature + 1] - 1}:{fields[feature]}]"
        assert not encoder.features[feature].signed
        registers.append((name, 1, f"{value} >= {encoder.features[feature].bits}'d{threshold}"))
    if missing:
        registers.append(("there", len(encoder.features), "present"))
    sums, largest = [], 1
    for score, (base, own) in enumerate(zip(trees.base.tolist(), trees.trees, strict=True)):
        terms, low, high = [], int(base), int(base)
        for number, tree in enumerate(own):
            leaves = tree.value[tree.feature < 0]
            least, most = int(leaves.min()), int(leaves.max())
            low, high = low + least, high + most
            if least == most:
                continue
            bits = (most - least).bit_length()
            name = f"tree_{score}_{number}"
            registers.append((name, bits, _expression(tree, 0, names, least, bits, missing)))
            terms.append((name, bits, most - least))
        largest = max(largest, abs(low), abs(high))
        sums.append((terms, low))
    head = Head(
        tuple(f"class {label}" for label in range(trees.num_classes)),
        (largest,) * trees.num_classes,
        1.0,
        1,
    )
    width = difference_width(head) if len(sums) == 1 else head.score_bits
    for score, (terms, low) in enumerate(sums):
        total = _add_up(terms, f"sum_{score}", registers)
        offset = f"$signed({width}'d{low % (1 << width)})"
        registers.append((f"score_{score}", width, f"$signed({{1'b0, {total}}}) + {offset}"))
    argmax: Any = DifferenceArgmax(head) if len(sums) == 1 else Argmax(head, ())
    work = path.parent
    text = convert(argmax, "trees_argmax", work)
    lines = [
        "module trees_top (",
        "  input clk,",
        f"  input [{fields[-1] - 1}:0] features,",
        *([f"  input [{len(encoder.features) - 1}:0] present,"] if missing else []),
        f"  output [{_width(argmax.o) - 1}:0] decision",
        ");",
        f"  wire signed [{len(sums) * width - 1}:0] scores;",
    ]
    lines += [f"  reg [{bits - 1}:0] {name};" for name, bits, _ in registers]
    lines += ["  always @(posedge clk) begin"]
    lines += [f"    {name} <= {expression};" for name, _, expression in registers]
    joined = ", ".join(f"score_{score}" for score in reversed(range(len(sums))))
    lines += [
        "  end",
        f"  assign scores = {{{joined}}};",
        "  trees_argmax argmax (.clk(clk), .en(1'b1), .i(scores), .o(decision));",
        "endmodule",
    ]
    path.write_text(text + "\n" + "\n".join(lines) + "\n")


def _width(port: Any) -> int:
    return len(port.as_value())


def _expression(
    tree: Tree, node: int, names: dict[tuple[int, int], str], least: int, bits: int, missing: bool
) -> str:
    if tree.feature[node] < 0:
        return f"{bits}'d{int(tree.value[node]) - least}"
    feature = int(tree.feature[node])
    condition = names.get((feature, int(tree.bin[node])), "1'b0")
    if missing:
        there = f"there[{feature}]"
        missed = tree.missing_left[node]
        condition = f"({there} & {condition})" if missed else f"(~{there} | {condition})"
    left, right = (
        _expression(tree, int(child[node]), names, least, bits, missing)
        for child in (tree.left, tree.right)
    )
    return f"({condition} ? {right} : {left})"


def _add_up(
    terms: Sequence[tuple[str, int, int]], prefix: str, registers: list[tuple[str, int, str]]
) -> str:
    """Add registers for a balanced tree of adders, and return the name of its sum."""
    level = 0
    while len(terms) > 1:
        added = []
        for pair in range(0, len(terms) - 1, 2):
            (left, _, left_most), (right, _, right_most) = terms[pair : pair + 2]
            most = left_most + right_most
            name, bits = f"{prefix}_{level}_{pair // 2}", most.bit_length()
            registers.append((name, bits, f"{left} + {right}"))
            added.append((name, bits, most))
        if len(terms) % 2:
            name, bits, most = terms[-1]
            delayed = f"{prefix}_{level}_last"
            registers.append((delayed, bits, name))
            added.append((delayed, bits, most))
        terms, level = added, level + 1
    return terms[0][0] if terms else "1'b0"
