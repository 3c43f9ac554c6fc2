import itertools

import numpy as np
import pytest

from trilut.circuit.head import Decisions, Head
from trilut.measure.metrics import (
    abstained_fraction,
    accuracy,
    accuracy_at_coverage,
    cell_vote_accuracy,
    class_accuracies,
    confusion_matrix,
    coverage_area,
    coverage_curve,
    encoding_ceiling,
    hardening_error,
    margin_separation,
    unknown_fraction,
)

HEAD = Head(("a", "b"), (4, 4), abstain_margin=2)


def decisions(margins, chosen=None):
    """Return decisions with these margins; class 0 unless said otherwise."""
    chosen = np.zeros(len(margins), dtype=np.int64) if chosen is None else np.array(chosen)
    scores = np.zeros((len(margins), 2), dtype=np.int64)
    scores[np.arange(len(margins)), chosen] = margins
    return HEAD.decide(scores)


def trits(*rows):
    return np.array(rows, dtype=np.int8)


def labels(*classes):
    return np.array(classes, dtype=np.int64)


def average_over_tie_breaks(margins, right, retained):
    orders = [
        order
        for order in itertools.permutations(range(len(margins)))
        if all(margins[a] >= margins[b] for a, b in itertools.pairwise(order))
    ]
    return np.mean([np.mean([right[sample] for sample in order[:retained]]) for order in orders])


def test_accuracy_counts_abstained_samples():
    made = decisions([4, 4, 1, 1])
    assert accuracy(made, labels(0, 1, 0, 0)) == 0.75
    assert abstained_fraction(made) == 0.5


def test_unknown_fraction_counts_output_trits():
    assert unknown_fraction(trits([0, 1, -1, 0], [0, 0, 1, 1])) == 0.5


@pytest.mark.parametrize("seed", range(10))
def test_accuracy_at_coverage_is_the_mean_over_all_ways_to_break_ties(seed):
    generator = np.random.default_rng(seed)
    margins = generator.integers(0, 3, 6)
    right = generator.integers(0, 2, 6)
    for retained in range(1, 7):
        measured = accuracy_at_coverage(decisions(margins), 1 - right, retained / 6)
        assert measured == pytest.approx(average_over_tie_breaks(margins, right, retained))


def test_accuracy_at_full_coverage_is_the_accuracy():
    made, wanted = decisions([3, 1, 1, 2, 0]), labels(0, 1, 0, 0, 1)
    assert accuracy_at_coverage(made, wanted, 1.0) == pytest.approx(accuracy(made, wanted))


def test_accuracy_at_coverage_cuts_between_samples():
    # Half of one sample of two: 1.5 samples are retained, of which 1 + 0 are right.
    made, wanted = decisions([3, 2]), labels(0, 1)
    assert accuracy_at_coverage(made, wanted, 0.75) == pytest.approx(1 / 1.5)


def test_coverage_curve_has_a_point_for_every_margin():
    curve = coverage_curve(decisions([5, 2, 2, 0]), labels(0, 0, 1, 1))
    np.testing.assert_array_equal(curve.margin, [5, 2, 0])
    np.testing.assert_array_equal(curve.coverage, [0.25, 0.75, 1])
    np.testing.assert_allclose(curve.accuracy, [1, 2 / 3, 0.5])


@pytest.mark.parametrize("seed", range(5))
def test_coverage_area_is_the_mean_accuracy_over_all_coverages(seed):
    generator = np.random.default_rng(seed)
    made, wanted = decisions(generator.integers(0, 4, 12)), generator.integers(0, 2, 12)
    coverages = (np.arange(4000) + 0.5) / 4000
    mean = np.mean([accuracy_at_coverage(made, wanted, coverage) for coverage in coverages])
    assert coverage_area(made, wanted) == pytest.approx(mean, abs=1e-4)


def test_coverage_area_of_a_circuit_that_is_always_right():
    assert coverage_area(decisions([3, 1, 0]), labels(0, 0, 0)) == pytest.approx(1)


@pytest.mark.parametrize("seed", range(5))
def test_margin_separation_compares_every_right_sample_with_every_wrong_one(seed):
    generator = np.random.default_rng(seed)
    margins, wanted = generator.integers(0, 4, 20), generator.integers(0, 2, 20)
    measured = margin_separation(decisions(margins), wanted)
    right, wrong = margins[wanted == 0], margins[wanted == 1]
    assert measured.right == pytest.approx(right.mean())
    assert measured.wrong == pytest.approx(wrong.mean())
    wins = [(a > b) + (a == b) / 2 for a, b in itertools.product(right, wrong)]
    assert measured.ranking == pytest.approx(np.mean(wins))


def test_margin_separation_without_wrong_or_right_samples():
    always = margin_separation(decisions([3, 1]), labels(0, 0))
    assert (always.right, always.wrong, always.ranking) == (2, None, None)
    never = margin_separation(decisions([3, 1]), labels(1, 1))
    assert (never.right, never.wrong, never.ranking) == (None, 2, None)


def test_confusion_has_a_row_for_each_true_class():
    made = decisions([1, 1, 1, 1], chosen=[0, 1, 1, 0])
    np.testing.assert_array_equal(confusion_matrix(made, labels(0, 0, 0, 1)), [[1, 2], [1, 0]])
    assert class_accuracies(made, labels(0, 0, 0, 1)) == [pytest.approx(1 / 3), 0]
    assert class_accuracies(made, labels(1, 1, 1, 1)) == [None, 0.5]


def test_hardening_error_is_the_mean_distance():
    assert hardening_error(np.array([[0.5, -1.0]]), trits([1, -1])) == 0.25
    with pytest.raises(
        ValueError, match=r"^Soft outputs have shape \(1, 1\), hardened ones \(1, 2\)$"
    ):
        hardening_error(np.zeros((1, 1)), trits([0, 0]))
    with pytest.raises(ValueError, match=r"^There are no outputs to measure$"):
        hardening_error(np.zeros((0, 1)), np.zeros((0, 1), np.int8))


def test_encoding_ceiling_is_the_majority_of_each_cell():
    encoded = trits([0, 1], [0, 1], [0, 1], [1, 0], [1, 0])
    assert encoding_ceiling(encoded, labels(0, 0, 1, 1, 2)) == pytest.approx(3 / 5)


@pytest.mark.parametrize("seed", range(5))
def test_no_function_of_the_trits_beats_the_encoding_ceiling(seed):
    generator = np.random.default_rng(seed)
    encoded = generator.integers(-1, 2, (40, 1)).astype(np.int8)
    wanted = generator.integers(0, 2, 40)
    best = max(
        np.mean(np.array(function)[encoded[:, 0] + 1] == wanted)
        for function in itertools.product((0, 1), repeat=3)
    )
    assert encoding_ceiling(encoded, wanted) == best


def test_cell_vote_is_fitted_on_the_training_samples():
    train, test = trits([0], [0], [0], [1]), trits([0], [0], [1])
    assert cell_vote_accuracy(train, labels(0, 0, 1, 1), test, labels(0, 1, 1)) == 2 / 3


def test_cell_vote_in_an_unseen_cell_is_the_most_frequent_class():
    train, test = trits([0], [0], [1]), trits([-1], [-1])
    assert cell_vote_accuracy(train, labels(1, 1, 0), test, labels(1, 0)) == 0.5


def test_cell_vote_with_a_class_that_was_not_trained():
    assert cell_vote_accuracy(trits([0]), labels(0), trits([0], [0]), labels(0, 2)) == 0.5


def test_cell_vote_never_beats_the_ceiling():
    generator = np.random.default_rng(0)
    encoded = generator.integers(-1, 2, (200, 3)).astype(np.int8)
    wanted = generator.integers(0, 3, 200)
    vote = cell_vote_accuracy(encoded[:100], wanted[:100], encoded[100:], wanted[100:])
    assert vote <= encoding_ceiling(encoded[100:], wanted[100:])
    same = cell_vote_accuracy(encoded, wanted, encoded, wanted)
    assert same == encoding_ceiling(encoded, wanted)


def test_other_number_of_labels():
    with pytest.raises(ValueError, match=r"^There are 2 decisions but 1 labels$"):
        accuracy(decisions([1, 2]), labels(0))
    with pytest.raises(ValueError, match=r"^There are 1 encoded samples but 2 labels$"):
        encoding_ceiling(trits([0]), labels(0, 1))


def test_no_samples():
    nothing = Decisions(np.zeros((0, 2), np.int64), labels(), labels(), np.zeros(0, np.bool_))
    for measure in (lambda: accuracy(nothing, labels()), lambda: abstained_fraction(nothing)):
        with pytest.raises(ValueError, match=r"^There are no samples to measure$"):
            measure()
    with pytest.raises(ValueError, match=r"^There are no samples to measure$"):
        encoding_ceiling(np.zeros((0, 3), np.int8), labels())
    with pytest.raises(ValueError, match=r"^There are no outputs to measure$"):
        unknown_fraction(np.zeros((0, 3), np.int8))


@pytest.mark.parametrize("coverage", [0.0, 1.5, float("nan")])
def test_coverage_out_of_range(coverage):
    with pytest.raises(
        ValueError, match=rf"^Coverage must be above 0 and at most 1, not {coverage}$"
    ):
        accuracy_at_coverage(decisions([1]), labels(0), coverage)
