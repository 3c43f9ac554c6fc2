import itertools

import numpy as np
import pytest

from trilut.circuit.encoder import Encoder, Feature
from trilut.circuit.kinds import Kind
from trilut.data import Dataset
from trilut.data.dataset import share_out
from trilut.hdl.estimate import estimate
from trilut.training import TrainingConfig, boosting, train
from trilut.training.boosting import comparator_costs


@pytest.fixture
def few_manners(monkeypatch):
    monkeypatch.setattr(boosting, "_MANNERS", boosting._MANNERS[:2])


def table(num_samples=600, *, num_classes=2, seed=0):
    """Whole numbers, a class for every value of a sum of comparisons, and some noise."""
    generator = np.random.default_rng(seed)
    x = generator.integers(0, 64, (num_samples, 4)).astype(np.float64)
    y = ((x[:, 0] >= 32) ^ (x[:, 1] >= 20)).astype(int) + (x[:, 2] >= 40) * (num_classes > 2)
    noisy = generator.random(num_samples) < 0.02
    y = np.where(noisy, generator.integers(0, num_classes, num_samples), y)
    names, classes = ("a", "b", "c", "d"), tuple(f"class {k}" for k in range(num_classes))
    return share_out("boosted", names, classes, x, y, seed)


def accuracy(netlist, split):
    decisions = netlist.classify(netlist.encoder.encode(split.x))
    return np.mean(decisions.chosen == split.y)


@pytest.mark.parametrize("num_classes", [2, 3])
def test_boosted_gates_learn_a_parity(few_manners, num_classes):
    dataset = table(num_classes=num_classes)
    result = train(dataset)
    netlist = result.netlist
    assert accuracy(netlist, dataset.test) == result.hardened.test > 0.9
    assert accuracy(netlist, dataset.validation) == result.hardened.validation > 0.9
    assert set(netlist.kinds[netlist.num_inputs :]) == {Kind.SCORE}
    assert netlist.head.limit == np.abs(netlist.table).max()
    # As many as are of use, not as many as there could be.
    assert netlist.num_gates < sum(result.config.network.layers)
    assert [line["step"] for line in result.history] == list(range(1, len(result.history) + 1))


def test_boosting_again_gives_the_same(few_manners):
    first, second = (train(table()).netlist for _ in range(2))
    assert np.array_equal(first.table, second.table)
    assert np.array_equal(first.sources, second.sources)


def test_small_is_no_larger_than_the_best(few_manners):
    dataset = table()
    small, best = (
        train(dataset, TrainingConfig.for_dataset(dataset, keep=keep)) for keep in ("small", "best")
    )
    assert best.hardened.validation >= small.hardened.validation
    assert estimate(small.netlist, "ecp5").lut <= estimate(best.netlist, "ecp5").lut


def test_probabilities_are_about_right(few_manners):
    dataset = table()
    netlist = train(dataset).netlist
    decisions = netlist.classify(netlist.encoder.encode(dataset.validation.x))
    logits = decisions.scores / netlist.head.tau
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    sure = shares.max(axis=1)
    right = decisions.chosen == dataset.validation.y
    assert abs(sure.mean() - right.mean()) < 0.05


def test_missing_values_are_asked_for(few_manners):
    # A sample misses a feature if it is of the second class, and for no other reason.
    generator = np.random.default_rng(0)
    x = generator.integers(0, 256, (400, 3)).astype(np.float64)
    y = generator.integers(0, 2, 400)
    x[y == 1, 1] = np.nan
    dataset = share_out("gaps", ("a", "b", "c"), ("there", "missing"), x, y, 0)
    result = train(dataset)
    assert result.hardened.test == 1.0
    assert accuracy(result.netlist, dataset.test) == 1.0


@pytest.mark.slow
def test_gates_learn_to_do_without_what_is_lost(few_manners):
    dataset = table(400)
    # The same feature twice: one can stand for the other.
    x, y = np.repeat(dataset.train.x[:, :2], 2, axis=1), dataset.train.y
    twice = Dataset.from_arrays(x, y)
    lost = twice.validation.x.copy()
    lost[:, 0] = np.nan
    plain = train(twice).netlist
    prepared = train(twice, missing=(0.0, 0.5)).netlist
    measured = [
        np.mean(net.classify(net.encoder.encode(lost)).chosen == twice.validation.y)
        for net in (plain, prepared)
    ]
    assert measured[1] > measured[0]


def test_weights_count(few_manners):
    x = np.tile(np.arange(8.0), 50)[:, None]
    y = np.tile([0, 1], 200)
    plain = Dataset.from_arrays(x, y, weights=np.where(y == 1, 9.0, 1.0))
    netlist = train(plain).netlist
    assert np.all(netlist.classify(netlist.encoder.encode(x)).chosen[y == 1] == 1)


def test_one_class_that_counts_is_always_the_answer(few_manners):
    x = np.arange(60.0)[:, None]
    y = np.tile([0, 1], 30)
    netlist = train(Dataset.from_arrays(x, y, weights=y.astype(float))).netlist
    assert np.all(netlist.classify(netlist.encoder.encode(x)).chosen == 1)


def test_nothing_to_learn_is_a_circuit_all_the_same(few_manners):
    x = np.tile([0.0, 1.0], 100)[:, None]
    y = np.repeat([0, 1, 2, 3], 50)
    result = train(Dataset.from_arrays(x, y))
    assert result.netlist.num_gates >= 4


def test_comparators_cost_what_their_ones_take():
    thresholds = [0, 128, 64, 32, 16, 8, 4, 2, 1, 255]
    features = (Feature("a", 8),)
    at = np.array(thresholds)
    encoder = Encoder(features, np.zeros(len(at), dtype=np.int64), at, at)
    assert comparator_costs(encoder).tolist() == [0, 0, 1, 1, 1, 2, 2, 2, 3, 3]


def test_questions_are_the_best_ones():
    # Against all pairs of inputs, with the first chosen as the best by itself.
    generator = np.random.default_rng(1)
    bits = generator.integers(0, 2, (200, 6)).astype(np.float32)
    slopes = np.stack([generator.normal(size=200), np.full(200, 0.25)]).astype(np.float32)

    def gain(reads):
        rows = bits[:, reads].astype(int) @ (1 << np.arange(len(reads)))
        first, second = (np.bincount(rows, each, 1 << len(reads)) for each in slopes)
        return float(np.sum(first**2 / (second + 1))) - slopes[0].sum() ** 2 / (50 + 1)

    ones = np.ones(6, dtype=np.float32)
    reads, gained = boosting._questions(bits, slopes, 2, ones)
    assert reads[0] == max(range(6), key=lambda read: gain([read]))
    pairs = [pair for pair in itertools.permutations(range(6), 2) if pair[0] == reads[0]]
    assert tuple(reads) == max(pairs, key=gain)
    assert gained == pytest.approx(gain(reads), rel=1e-3)
    # A question that does not count is not asked.
    factor = ones.copy()
    factor[reads[0]] = 0
    assert reads[0] not in boosting._questions(bits, slopes, 2, factor)[0]
