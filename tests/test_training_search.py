import jax
import jax.numpy as jnp
import numpy as np
import pytest

from trilut.data import load_dataset
from trilut.measure.metrics import accuracy
from trilut.training import TrainingConfig, fit_dataset, train
from trilut.training.search import SlotSearch, WireSearch, start_search


def make_search(scores, candidates=None):
    """Return a search of one block from its scores [slot, candidate]."""
    scores = jnp.asarray(scores, dtype=jnp.float32)[None]
    num_sources = scores.shape[2]
    candidates = jnp.asarray([candidates or range(num_sources)], dtype=jnp.int32)
    places = (jnp.arange(num_sources, dtype=jnp.float32) + 0.5) / num_sources
    return (SlotSearch(candidates, scores, jnp.zeros_like(scores), places),)


def start(num_inputs, layers, seed=0, **settings):
    return start_search(num_inputs, layers, seed=seed, **settings)


def test_the_strongest_score_wires_and_its_sign_negates():
    search = make_search([[1, -3, 2], [0.5, 0.1, 0.2], [0, 0, -1], [2, -2, 1]])
    wires = WireSearch(rate=0.1, steps=10).choose(search)
    assert [parents.tolist() for parents in wires.parents] == [[1, 0], [2, 0]]
    assert [signs.tolist() for signs in wires.signs] == [[-1, 1], [-1, 1]]


def test_a_far_wire_has_to_be_stronger():
    scores = [[1, 0, 0, 1.5], [1, 0, 0, 1.5]]
    search = make_search(scores)
    rules = WireSearch(rate=0.1, steps=10, distance_cost=4.0)
    # The one gate lies in the middle; the second and third source are nearest to it.
    assert WireSearch(rate=0.1, steps=10).choose(search).parents[0].tolist() == [3]
    assert rules.choose(make_search([[1, 0.3, 0, 1.2], [0] * 4])).parents[0].tolist() == [1]


def test_distance_cost_shortens_the_wires():
    wine = load_dataset("wine")

    def mean_length(cost):
        settings = {"layers": (60, 30), "wiring": "learned", "steps": 200, "batch": 32}
        fitted = fit_dataset(wine, TrainingConfig.of(distance_cost=cost, **settings))
        parents = fitted.learned.wiring[1]
        own = (np.arange(30) + 0.5) / 30
        return np.mean([np.abs((np.asarray(p) + 0.5) / 60 - own) for p in parents.parents])

    # Without a cost, wires are as long as between two places drawn at random.
    assert mean_length(0.0) == pytest.approx(1 / 3, abs=0.1)
    assert mean_length(4.0) < 0.2


def test_scores_move_towards_what_lowers_the_loss():
    search = make_search(np.zeros((2, 3)))
    # The loss falls when slot a rises in the first sample, and is indifferent to slot b.
    gradient = jnp.array([[-1.0, 0.0], [0.0, 0.0]])
    sources = jnp.array([[1.0, 1.0], [-1.0, 1.0], [0.0, 1.0]])
    rules = WireSearch(rate=0.1, steps=100)
    (moved,) = rules.update(search, gradient, sources, jnp.int32(0))
    rms = np.sqrt(2 / 3)
    np.testing.assert_allclose(moved.scores[0, 0], np.array([1, -1, 0]) * 0.1 / rms, atol=1e-6)
    np.testing.assert_array_equal(moved.scores[0, 1], [0, 0, 0])
    np.testing.assert_allclose(moved.momentum[0, 0], [-0.1, 0.1, 0], atol=1e-6)


def test_rate_falls_to_zero_where_the_wires_freeze():
    rules = WireSearch(rate=0.1, steps=100)
    due = [bool(rules.due(jnp.int32(step))) for step in range(100)]
    assert due == [step % 2 == 0 and step < 90 for step in range(100)]
    search = make_search(np.zeros((2, 2)))
    gradient, sources = jnp.array([[1.0], [1.0]]), jnp.array([[1.0], [1.0]])
    moves = [
        float(jnp.abs(rules.update(search, gradient, sources, jnp.int32(step))[0].scores).max())
        for step in (0, 45, 90)
    ]
    assert moves == pytest.approx([0.1, 0.05, 0.0], abs=1e-6)


def test_updates_come_as_often_as_asked():
    rules = WireSearch(rate=0.1, steps=20, every=5)
    assert [step for step in range(20) if rules.due(jnp.int32(step))] == [0, 5, 10, 15]


def test_all_sources_are_candidates():
    (first,), (second,) = start(7, (6, 4), skip=True)
    assert first.candidates.tolist() == [list(range(7))]
    assert second.candidates.tolist() == [list(range(13))]
    assert first.scores.shape == (1, 12, 7)
    assert second.places.shape == (13,)


@pytest.mark.parametrize("num_gates", [1, 7, 128, 1000])
def test_sampled_candidates_are_shared_by_blocks(num_gates):
    ((search,),) = start(50, (num_gates,), candidates=8)
    num_blocks, num_slots, num_candidates = search.scores.shape
    assert (num_blocks * num_slots, num_candidates) == (2 * num_gates, 8)
    assert num_slots <= 256
    assert all(len(set(block)) == 8 for block in search.candidates.tolist())
    wires = WireSearch(rate=0.1, steps=10).choose((search,))
    chosen = np.concatenate(wires.parents).reshape(num_blocks, num_slots)
    for block, candidates in zip(chosen, np.asarray(search.candidates), strict=True):
        assert np.isin(block, candidates).all()


def test_blocks_move_as_one_would():
    ((search,),) = start(40, (512,), candidates=6)
    generator = np.random.default_rng(1)
    gradient = jnp.asarray(generator.normal(size=(1024, 5)), dtype=jnp.float32)
    sources = jnp.asarray(generator.choice([-1.0, 0.0, 1.0], (40, 5)), dtype=jnp.float32)
    (moved,) = WireSearch(rate=0.1, steps=100).update((search,), gradient, sources, jnp.int32(0))
    full = np.asarray(gradient) @ np.asarray(sources).T
    candidates = np.repeat(np.asarray(search.candidates), search.scores.shape[1], axis=0)
    expected = 0.1 * np.take_along_axis(full, candidates, axis=1)
    np.testing.assert_allclose(moved.momentum.reshape(1024, 6), expected, atol=1e-5)


@pytest.mark.parametrize(
    "settings",
    [
        {"layers": (24,)},
        {"layers": (24, 12), "skip": True, "output_layers": 2, "distance_cost": 1.0},
        {"layers": (24, 20, 12), "candidates": 4, "skip": True},
    ],
)
def test_trained_wires_are_those_of_the_netlist(settings):
    wine = load_dataset("wine")
    config = TrainingConfig.of(wiring="learned", steps=120, evaluate_every=60, batch=32, **settings)
    result = train(wine, config)
    trits = result.netlist.encoder.encode(wine.test.x)
    measured = accuracy(result.netlist.classify(trits), wine.test.y)
    assert measured == result.hardened.test == result.soft.test
    assert measured > 0.5


def test_learned_wires_leave_their_start():
    wine = load_dataset("wine")
    config = TrainingConfig.of(
        layers=(30,), wiring="learned", steps=200, evaluate_every=200, wire_rate=0.1
    )
    netlist = train(wine, config).netlist
    (search,) = start_search(netlist.num_inputs, (30,))
    before = jax.jit(WireSearch(0.1, 200).choose)(search)
    changed = np.mean(
        np.concatenate([before.parents[0] != netlist.a, before.parents[1] != netlist.b])
    )
    assert changed > 0.2


def test_learned_wiring_beats_random_wiring():
    digits = load_dataset("digits")
    settings = {"layers": (300,), "learning_rate": 0.05, "steps": 600, "evaluate_every": 600}
    learned, random = (
        train(digits, TrainingConfig.of(wiring=wiring, **settings)).hardened.validation
        for wiring in ("learned", "random")
    )
    assert learned > random + 0.02


def chosen_with_cost(scores, cost, num_inputs):
    """Return what the slots of one block read, given a score for each source."""
    rules = WireSearch(0.03, 100, comparator_cost=cost, num_inputs=num_inputs)
    wires = rules.choose(make_search(scores))
    return np.concatenate(wires.parents).tolist()


def test_comparator_that_others_read_is_cheaper():
    # Three slots agree on input 0, and the last likes input 1 a little better.
    scores = [[3.0, 0.0, 0.0], [3.0, 0.0, 0.0], [-3.0, 0.0, 0.0], [2.0, 2.2, 0.0]]
    assert chosen_with_cost(scores, 0.0, 3) == [0, 0, 0, 1]
    assert chosen_with_cost(scores, 1.0, 3) == [0, 0, 0, 0]
    assert chosen_with_cost(scores, 0.2, 3) == [0, 0, 0, 1]


def test_gates_cost_no_comparator():
    # Source 1 is a gate if only the last one is an input.
    scores = [[3.0, 0.0, 0.0], [3.0, 0.0, 0.0], [3.0, 0.0, 0.0], [2.0, 2.2, 0.0]]
    assert chosen_with_cost(scores, 1.0, 1) == [0, 0, 0, 1]
