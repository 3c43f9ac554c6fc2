"""Decision trees as a circuit: each comparison a bit, each tree one scored gate or a few.

A gate that reads all comparisons of a tree is the tree: its table has the leaf of every row. A tree
with more comparisons than a gate has wires is a sum of smaller trees: the left and the right half,
each 0 where the other one holds. So a model of boosted trees is one layer of scored gates, and the
head adds and compares as it always does.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.encoder import Encoder, Feature
from trilut.circuit.head import Head
from trilut.circuit.kinds import MAX_SCORE, MAX_WIRES, NO_NET, Kind
from trilut.circuit.netlist import Netlist
from trilut.errors import NetlistError

__all__ = ["Comparison", "Tree", "TreePart", "netlist_of_trees", "quantize_trees", "split_tree"]

_ROOT = 0
_LEAF = -1


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree of comparisons. Node 0 is the root.

    Parameters
    ----------
    feature : int64 array [node]
        The feature that a node compares; −1 for a leaf.
    threshold : float64 array [node]
        A sample goes right if its feature is at least this. Where a model goes right only above a
        threshold, it is the next larger number.
    left, right : int64 array [node]
        The children of a node, whatever stands there for a leaf.
    value : float64 or int64 array [node]
        What a leaf adds to the score of its class.
    missing_left : bool array [node], optional
        Whether a sample without the feature goes left; by default it always does.

    Raises
    ------
    NetlistError
        If the arrays differ in length, or a child is not a later node.
    """

    feature: NDArray[np.int64]
    threshold: NDArray[np.float64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    value: NDArray[np.float64] | NDArray[np.int64]
    missing_left: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        arrays = (self.feature, self.threshold, self.left, self.right, self.value)
        lengths = {len(array) for array in (*arrays, self.missing_left) if array is not None}
        if len(lengths) != 1 or not len(self.feature):
            raise NetlistError(
                f"Tree has arrays of {', '.join(map(str, sorted(lengths)))} nodes, expected as "
                "many in each, and a root"
            )
        # A later node each time: every way down ends, and in a leaf.
        for node in np.flatnonzero(self.feature != _LEAF).tolist():
            for child in (int(self.left[node]), int(self.right[node])):
                if not node < child < len(self.feature):
                    raise NetlistError(
                        f"Tree node {node} has the child {child}, "
                        f"expected {node + 1}…{len(self.feature) - 1}"
                    )

    def is_leaf(self, node: int) -> bool:
        """Tell whether a node is a leaf."""
        return int(self.feature[node]) == _LEAF

    def sends_missing_left(self, node: int) -> bool:
        """Tell where a sample goes that misses the feature of a node."""
        return self.missing_left is None or bool(self.missing_left[node])


class Comparison(NamedTuple):
    """What a gate reads: whether a feature is at least a threshold.

    Parameters
    ----------
    is_trit : bool
        Whether it is UNKNOWN, and not −1, if the feature is missing: needed where samples without
        it go right.
    """

    feature: int
    threshold: float
    is_trit: bool = False

    @property
    def num_wires(self) -> int:
        """Wires of a bit or of a trit."""
        return 2 if self.is_trit else 1

    @property
    def levels(self) -> tuple[int, ...]:
        """The values that it has."""
        return (Kind.TRIT if self.is_trit else Kind.BIT).values


class TreePart(NamedTuple):
    """A gate: the comparisons that it reads, and its table, the last one changing fastest."""

    comparisons: tuple[Comparison, ...]
    table: NDArray[np.float64] | NDArray[np.int64]


def split_tree(tree: Tree, *, max_wires: int = MAX_WIRES) -> list[TreePart]:
    """Return gates whose sum is a tree, as few as there are halves that fit.

    Raises
    ------
    NetlistError
        If a leaf lies below more comparisons than a gate has wires.
    """
    parts: list[TreePart] = []
    _split(tree, _ROOT, (), max_wires, parts)
    return parts


# The way to a node: each step is a node and whether it went right.
_Way = tuple[tuple[int, bool], ...]


def _split(tree: Tree, node: int, way: _Way, max_wires: int, parts: list[TreePart]) -> None:
    comparisons = sorted(
        {_comparison(tree, above) for above, _ in way} | _comparisons_below(tree, node)
    )
    if sum(comparison.num_wires for comparison in comparisons) <= max_wires:
        table = _table(tree, node, way, comparisons)
        # What is 0 everywhere adds nothing.
        if table.any():
            parts.append(TreePart(tuple(comparisons), table))
        return
    if tree.is_leaf(node):
        raise NetlistError(
            f"Tree has a leaf below {len(way)} comparisons, which are more than the "
            f"{max_wires} wires of a gate"
        )
    _split(tree, int(tree.left[node]), (*way, (node, False)), max_wires, parts)
    _split(tree, int(tree.right[node]), (*way, (node, True)), max_wires, parts)


def _comparison(tree: Tree, node: int) -> Comparison:
    is_trit = not tree.sends_missing_left(node)
    return Comparison(int(tree.feature[node]), float(tree.threshold[node]), is_trit)


def _comparisons_below(tree: Tree, node: int) -> set[Comparison]:
    if tree.is_leaf(node):
        return set()
    children = (int(tree.left[node]), int(tree.right[node]))
    below = (_comparisons_below(tree, child) for child in children)
    return {_comparison(tree, node)}.union(*below)


def _table(
    tree: Tree, node: int, way: _Way, comparisons: Sequence[Comparison]
) -> NDArray[np.float64] | NDArray[np.int64]:
    """Return the value of every row: of a leaf below the node, or 0 off the way to it."""
    levels = [comparison.levels for comparison in comparisons]
    # A gate that reads nothing has one row.
    rows = np.stack(np.meshgrid(*levels, indexing="ij")).reshape(len(levels), -1) if levels else ()
    columns = dict(zip(comparisons, rows, strict=True))
    num_rows = math.prod(map(len, levels))

    def goes_right(at: int) -> NDArray[np.bool_]:
        comparison = _comparison(tree, at)
        # UNKNOWN goes right: else the comparison would be a bit.
        return np.asarray(columns[comparison] >= 0)

    def values(at: int) -> NDArray[np.float64] | NDArray[np.int64]:
        if tree.is_leaf(at):
            return np.full(num_rows, tree.value[at])
        return np.where(goes_right(at), values(int(tree.right[at])), values(int(tree.left[at])))

    on_way = np.ones(num_rows, dtype=np.bool_)
    for at, right in way:
        on_way &= goes_right(at) == right
    return np.where(on_way, values(node), 0)


def quantize_trees(trees: Sequence[Tree], *, limit: int = 7) -> tuple[list[Tree], float]:
    """Return trees with whole numbers at their leaves, and how much one of them stands for.

    The largest leaf becomes ``limit``, and the others are rounded in proportion.
    """
    if not 1 <= limit < MAX_SCORE:
        raise ValueError(f"Limit must be 1…{MAX_SCORE - 1}, not {limit}")
    leaves = [tree.value[tree.feature == _LEAF] for tree in trees]
    largest = max((float(np.abs(values).max()) for values in leaves), default=0.0)
    unit = largest / limit or 1.0
    return [_rounded(tree, unit) for tree in trees], unit


def _rounded(tree: Tree, unit: float) -> Tree:
    value = np.where(tree.feature == _LEAF, np.rint(tree.value / unit), 0).astype(np.int64)
    return Tree(tree.feature, tree.threshold, tree.left, tree.right, value, tree.missing_left)


def netlist_of_trees(
    trees: Sequence[Tree],
    classes: Sequence[int],
    features: tuple[Feature, ...],
    class_names: tuple[str, ...],
    *,
    base: Sequence[float] | None = None,
    limit: int = 7,
    name: str = "trees",
    provenance: Mapping[str, object] | None = None,
) -> Netlist:
    """Return the circuit of a model of boosted trees, with its leaves rounded to small integers.

    A threshold is compared as the integer of its feature, so the circuit and the model agree where
    the feature tells values on both sides of a threshold apart: whole numbers stay exact.

    Parameters
    ----------
    trees : sequence of Tree
        All trees.
    classes : sequence of int
        The class whose score each tree adds to. A model of two classes with one score has all of
        them at class 1: the score of class 0 is 0.
    features : tuple of Feature
        What integers stand for the features; scales are positive.
    base : sequence of float, optional
        What the score of each class starts from.
    limit : int
        Largest magnitude of a leaf.

    Raises
    ------
    NetlistError
        If a tree is too deep, reads a feature that is not there, or no leaf is other than 0.
    """
    rounded, unit = quantize_trees(trees, limit=limit)
    groups: list[list[TreePart]] = [[] for _ in class_names]
    starts = np.rint(np.zeros(len(groups)) if base is None else np.asarray(base) / unit)
    for number, (tree, of_class) in enumerate(zip(rounded, classes, strict=True)):
        if tree.is_leaf(_ROOT):
            starts[of_class] += tree.value[_ROOT]
        else:
            groups[of_class] += split_tree(_with_integers(tree, features, number))
    if not any(groups):
        raise NetlistError(f"All leaves of the {len(trees)} trees are 0 after rounding")
    read = next(group for group in groups if group)[0].comparisons[:1]
    groups = [
        _from(int(start), group, limit, read) for start, group in zip(starts, groups, strict=True)
    ]
    parts = [part for group in groups for part in group]
    comparisons = sorted({comparison for part in parts for comparison in part.comparisons})
    place = {comparison: net for net, comparison in enumerate(comparisons)}
    num_slots = max(len(part.comparisons) for part in parts)
    num_rows = max(len(part.table) for part in parts)
    sources = np.full((len(parts), num_slots), NO_NET, dtype=np.int64)
    table = np.zeros((len(parts), num_rows), dtype=np.int8)
    for gate, part in enumerate(parts):
        sources[gate, : len(part.comparisons)] = [place[each] for each in part.comparisons]
        table[gate, : len(part.table)] = part.table
    kinds = [Kind.TRIT if each.is_trit else Kind.BIT for each in comparisons]
    return Netlist(
        num_inputs=len(comparisons),
        table=table,
        sources=sources,
        outputs=len(comparisons) + np.arange(len(parts)),
        kinds=np.array([*kinds, *[Kind.SCORE] * len(parts)], dtype=np.int8),
        encoder=_encoder(comparisons, features),
        head=Head(
            class_names,
            tuple(map(len, groups)),
            tau=1 / unit,
            limit=max(1, int(np.abs(table).max())),
        ),
        name=name,
        provenance=provenance or {},
    )


def _with_integers(tree: Tree, features: tuple[Feature, ...], number: int) -> Tree:
    """Return the tree that compares integers of features, as the circuit does."""
    threshold = tree.threshold.astype(np.float64)
    for node in np.flatnonzero(tree.feature != _LEAF).tolist():
        index = int(tree.feature[node])
        if not 0 <= index < len(features):
            raise NetlistError(
                f"Tree {number} reads feature {index}, but there are {len(features)} features"
            )
        feature = features[index]
        if feature.scale <= 0:
            raise NetlistError(
                f"Feature {feature.name!r} has the scale {feature.scale}, expected a positive one"
            )
        threshold[node] = math.ceil(threshold[node] * feature.scale + feature.offset)
    return Tree(tree.feature, threshold, tree.left, tree.right, tree.value, tree.missing_left)


def _from(
    start: int, parts: list[TreePart], limit: int, read: tuple[Comparison, ...]
) -> list[TreePart]:
    """Return gates that add up to a constant more; one at least, because a class needs an output.

    What the tables have no room for is in constant gates.
    """
    result = []
    for part in parts:
        step = max(-limit - int(part.table.min()), min(limit - int(part.table.max()), start))
        result.append(TreePart(part.comparisons, part.table + step))
        start -= step
    while start or not result:
        step = max(-limit, min(limit, start))
        result.append(TreePart(read, np.full(len(read[0].levels), step)))
        start -= step
    return result


def _encoder(comparisons: Sequence[Comparison], features: tuple[Feature, ...]) -> Encoder:
    at = np.array([each.threshold for each in comparisons], dtype=np.int64)
    missing = np.array([0 if each.is_trit else -1 for each in comparisons], dtype=np.int8)
    source = np.array([each.feature for each in comparisons], dtype=np.int64)
    return Encoder(features, source, at, at, missing)
