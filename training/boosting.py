"""Boosted trees as the start of a training: every tree is a gate that gives its class a score."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from trilut.circuit.trees import Tree, TreePart, quantize_trees, split_tree
from trilut.extras import require
from trilut.training.network import Samples
from trilut.training.node import Node
from trilut.training.step import Learned
from trilut.training.wiring import LayerWiring

__all__ = ["boosted_start"]

# How far a tree goes, in the order in which they are tried; the first of the best is taken.
_RATES = (0.3, 0.1)

# More samples than these do not make better trees of a few leaves.
_MAX_SAMPLES = 50_000

Integers = NDArray[np.int64]


class _Model(NamedTuple):
    """The inputs [gate, slot] that gates read, and their tables [gate, row]."""

    sources: Integers
    table: Integers


def boosted_start(
    train: Samples, validation: Samples, num_gates: int, num_classes: int, node: Node, *, seed: int
) -> Learned:
    """Return a layer of gates that are boosted trees, the best by validation of a few models.

    Parameters
    ----------
    train, validation : Samples
        Samples of bits.
    num_gates : int
        Number of gates, a multiple of the number of classes; gate g is of class g modulo that.
    node : Node
        Bits to a score. A tree has as many comparisons as it reads bits, so it is one gate.
    """
    require("sklearn")
    chosen = np.random.default_rng(seed).permutation(train.num_samples)[:_MAX_SAMPLES]
    weights = None if train.weights is None else train.weights[chosen]
    part = Samples(train.inputs[chosen], train.labels[chosen], weights)
    best, reached = None, -1.0
    for rate in _RATES:
        trees = list(_boost(part, num_gates, num_classes, node, rate, seed))
        model = _as_gates(trees, num_gates, num_classes, node)
        accuracy = _accuracy(model, validation, num_classes)
        if accuracy > reached:
            best, reached = model, accuracy
    assert best is not None
    parents = tuple(jnp.asarray(slot, dtype=jnp.int32) for slot in best.sources.T)
    signs = tuple(jnp.ones(num_gates, dtype=jnp.float32) for _ in parents)
    tables = jnp.asarray(best.table / node.largest, dtype=jnp.float32)
    return Learned((tables,), (LayerWiring(parents, signs),))


def _boost(
    samples: Samples, num_gates: int, num_classes: int, node: Node, rate: float, seed: int
) -> Iterator[tuple[int, Tree]]:
    """Yield trees and the gates that they become."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    is_binary = num_classes == 2
    model = HistGradientBoostingClassifier(
        max_iter=num_gates if is_binary else num_gates // num_classes,
        learning_rate=rate,
        max_leaf_nodes=len(node.radices) + 1,
        early_stopping=False,
        random_state=seed,
    )
    weights = None if samples.weights is None else np.asarray(samples.weights)
    # Trees compare these without any rounding.
    bits = (np.asarray(samples.inputs) > 0).astype(np.float32)
    model.fit(bits, np.asarray(samples.labels), sample_weight=weights)
    # Scikit-learn has no public way to the trees of this model, nor to what they start from.
    rounds, base = model._predictors, np.ravel(model._baseline_prediction) / len(model._predictors)
    for number, trees in enumerate(rounds):
        for of_class, predictor in enumerate(trees):
            if is_binary:
                # One score, that of the second class: half of the trees vote against the first.
                yield number, _tree(predictor.nodes, base[0], 1.0 if number % 2 else -1.0)
            else:
                yield number * num_classes + of_class, _tree(predictor.nodes, base[of_class], 1.0)


def _tree(nodes: Any, base: float, sign: float) -> Tree:
    is_leaf = nodes["is_leaf"].astype(bool)
    return Tree(
        np.where(is_leaf, -1, nodes["feature_idx"].astype(np.int64)),
        # Of what is 0 or 1, all thresholds between are one.
        np.full(len(nodes), 0.5),
        nodes["left"].astype(np.int64),
        nodes["right"].astype(np.int64),
        sign * (nodes["value"] + base),
    )


def _as_gates(
    trees: list[tuple[int, Tree]], num_gates: int, num_classes: int, node: Node
) -> _Model:
    """Return the gates of trees with their leaves rounded to scores."""
    num_slots = len(node.radices)
    sources = np.zeros((num_gates, num_slots), dtype=np.int64)
    table = np.zeros((num_gates, node.num_rows), dtype=np.int64)
    rounded, _ = quantize_trees([tree for _, tree in trees], limit=node.largest)
    for (gate, _), tree in zip(trees, rounded, strict=True):
        for part in split_tree(tree, max_wires=num_slots):
            sources[gate], table[gate] = _widened(part, num_slots)
    return _Model(sources, table)


def _widened(part: TreePart, num_slots: int) -> tuple[Integers, Integers]:
    """Return what a gate reads and its table, with further slots that it does not depend on."""
    read = [comparison.feature for comparison in part.comparisons]
    more = num_slots - len(read)
    table = np.repeat(part.table.astype(np.int64), 1 << more)
    return np.array(read + [read[0] if read else 0] * more), table


def _accuracy(model: _Model, samples: Samples, num_classes: int) -> float:
    bits = np.asarray(samples.inputs) > 0
    scores = np.zeros((num_classes, len(bits)), dtype=np.int64)
    weights = 1 << np.arange(model.sources.shape[1])[::-1]
    for gate, (sources, table) in enumerate(zip(model.sources, model.table, strict=True)):
        scores[gate % num_classes] += table[bits[:, sources] @ weights]
    return float(np.mean(scores.argmax(axis=0) == np.asarray(samples.labels)))
