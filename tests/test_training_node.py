import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from trilut import digest
from trilut.circuit.gates import truth_values
from trilut.circuit.head import Head
from trilut.circuit.kinds import Kind
from trilut.data import load_dataset
from trilut.training import TrainingConfig, TrainingError, fit_encoder, relax, train
from trilut.training.encoding import input_kinds, with_bits
from trilut.training.hardening import harden
from trilut.training.network import Topology, class_scores, forward
from trilut.training.node import Node, node_named
from trilut.training.recipes import HardRecipe, harden_tables
from trilut.training.search import WireSearch, start_search
from trilut.training.wiring import LayerWiring, random_wiring


def all_rows(node):
    """Return all combinations of values [row, slot], in the order of a table."""
    return np.array(list(itertools.product(*map(truth_values, node.radices))), dtype=np.float32)


def random_tables(node, num_gates, seed):
    levels = truth_values(node.levels) * node.largest
    drawn = np.random.default_rng(seed).choice(np.rint(levels), (num_gates, node.num_rows))
    return jnp.asarray(drawn, dtype=jnp.float32)


def inputs_of(node, num_gates):
    """Return every row as inputs of every gate, slot by slot."""
    rows = all_rows(node)
    return [jnp.asarray(np.tile(column, (num_gates, 1))) for column in rows.T]


@pytest.mark.parametrize(
    ("name", "output"),
    [
        ("2t", "bit"),
        ("2b", "score3"),
        ("3t", "trit"),
        ("4b", "trit"),
        ("6b", "bit"),
        ("2t2b", "score7"),
        ("1t4b", None),
    ],
)
def test_every_row_gives_its_entry(name, output):
    node = node_named(name, output)
    tables = random_tables(node, 20, 0)
    values = jax.jit(relax.lookup_layer(node))(tables, *inputs_of(node, 20))
    np.testing.assert_array_equal(values, tables)


@pytest.mark.parametrize("name", ["3t", "6b", "2t2b"])
def test_slopes_are_differences_between_the_ends_of_an_input(name):
    node = node_named(name, "score3")
    tables, inputs = random_tables(node, 6, 1), inputs_of(node, 6)

    def total(*inputs):
        return jnp.sum(relax.look_up_rows(tables, *inputs, node=node))

    slopes = jax.jit(jax.grad(total, argnums=tuple(range(len(inputs)))))(*inputs)
    by_input = np.asarray(tables).reshape(-1, *node.radices)
    for slot, slope in enumerate(slopes):
        ends = np.take(by_input, [0, -1], axis=slot + 1)
        chord = np.diff(ends, axis=slot + 1) / 2
        np.testing.assert_array_equal(slope.reshape(by_input.shape), chord + 0 * by_input)


@pytest.mark.parametrize("name", ["2t", "2b"])
def test_two_inputs_are_a_case_of_more(name):
    node = node_named(name)
    tables, inputs = random_tables(node, 30, 2), inputs_of(node, 30)
    weights = jnp.asarray(np.random.default_rng(0).integers(-4, 5, (30, node.num_rows)), float)

    def total(layer, tables, inputs):
        return jnp.sum(weights.astype(jnp.float32) * layer(tables, *inputs))

    layers = [
        relax.lookup_layer(node),
        lambda tables, *inputs: relax.look_up_rows(tables, *inputs, node=node),
    ]
    two, many = (
        jax.jit(jax.grad(total, argnums=(1, 2)), static_argnums=0)(layer, tables, inputs)
        for layer in layers
    )
    for ours, theirs in zip(jax.tree.leaves(two), jax.tree.leaves(many), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_the_gradient_goes_to_the_entry_that_was_read():
    node = node_named("2t2b")
    tables, inputs = random_tables(node, 1, 3), inputs_of(node, 1)
    jacobian = jax.jacrev(lambda t: relax.look_up_rows(t, *inputs, node=node)[0])(tables)
    np.testing.assert_array_equal(jacobian[:, 0], np.eye(36))


@pytest.mark.parametrize("name", ["3t", "6b", "2t2b"])
def test_the_polynomial_of_a_table_goes_through_it(name):
    node = node_named(name)
    tables = random_tables(node, 5, 4)
    weights = relax.coefficients(tables, radices=node.radices)
    assert weights.shape == (5, *node.radices)
    values = relax.evaluate_coefficients(weights, *inputs_of(node, 5))
    np.testing.assert_array_equal(values, tables)


@pytest.mark.parametrize("name", ["3t", "6b"])
def test_commitment_is_a_quadratic_form_of_the_coefficients(name):
    node = node_named(name)
    generator = np.random.default_rng(5)
    weights = generator.normal(0, 0.3, (4, node.num_rows)).astype(np.float32)
    powers = [np.vander(truth_values(radix), increasing=True) for radix in node.radices]
    matrix = functools.reduce(np.kron, powers)
    soft = jnp.asarray(weights @ matrix.T, dtype=jnp.float32)
    # V·w is the polynomial on all rows, and R_A = |V·(w − w*)|² / rows for the nearest gate w*.
    grid = jnp.asarray(weights.reshape(-1, *node.radices))
    by_rows = relax.evaluate_coefficients(grid, *inputs_of(node, 4))
    np.testing.assert_allclose(by_rows, soft, atol=1e-5)
    nearest = relax.round_to_values(soft, valence=node.levels)
    star = np.asarray(relax.coefficients(nearest, radices=node.radices)).reshape(4, -1)
    distance = (weights - star) @ (matrix.T @ matrix) * (weights - star)
    expected = distance.sum() / soft.size
    assert float(relax.commitment(soft, valence=node.levels)) == pytest.approx(expected, rel=1e-4)


def signed(wiring, seed):
    generator = np.random.default_rng(seed)
    return tuple(
        LayerWiring(
            layer.parents,
            tuple(
                jnp.asarray(generator.choice([-1.0, 1.0], len(slot)), dtype=jnp.float32)
                for slot in layer.parents
            ),
        )
        for layer in wiring
    )


@pytest.mark.parametrize(
    ("name", "output", "layers"),
    [
        ("6b", "bit", (20, 12)),
        ("4b", "trit", (24,)),
        ("3t", "trit", (20, 12)),
        ("3t", "bit", (24,)),
        ("2t2b", "bit", (20, 12)),
        ("6b", "score7", (24,)),
        ("2t2b", "score3", (24,)),
        ("2t", "bit", (24,)),
    ],
)
def test_hardened_network_computes_what_was_trained(name, output, layers):
    moons = load_dataset("moons")
    node = node_named(name, output)
    is_binary = set(node.radices) == {2}
    encoder = fit_encoder(
        moons.train.x,
        moons.feature_names,
        thresholds=5,
        delta=0.0 if is_binary else 0.5,
        valence=2 if is_binary else 3,
    )
    if len(node.parts) == 2:
        encoder = with_bits(encoder, moons.train.x)
    topology = Topology(2, skip=True, node=node)
    wiring = random_wiring(
        encoder.num_trits,
        layers,
        seed=1,
        skip=True,
        node=node,
        kinds=input_kinds(encoder, node),
    )
    recipe = HardRecipe(tau=1.0, node=node)
    generator = np.random.default_rng(0)
    parameters = tuple(recipe.init(num_gates, generator) for num_gates in layers)
    wiring = signed(wiring, 2)
    head = Head(("a", "b"), (layers[-1] // 2,) * 2, limit=node.largest)
    netlist = harden(
        harden_tables(recipe, parameters), wiring, topology, encoder=encoder, head=head
    )
    made = Kind.SCORE if output.startswith("score") else Kind[output.upper()]
    assert set(netlist.kinds[netlist.num_inputs :]) == {made}
    trits = encoder.encode(moons.validation.x)
    inputs = jnp.asarray(trits.T, dtype=jnp.float32)
    run = jax.jit(forward, static_argnums=(0, 4))
    values = run(recipe.layer, parameters, wiring, inputs, topology)
    np.testing.assert_array_equal(
        np.concatenate(values).T, netlist.values(trits)[:, netlist.num_inputs :]
    )
    np.testing.assert_array_equal(class_scores(values, topology).T, netlist.classify(trits).scores)


@pytest.mark.parametrize(
    "settings",
    [
        {"node": "6b", "layers": (12,), "wiring": "random"},
        {"node": "2t2b", "layers": (12,), "delta": 0.5},
        {"node": "3t", "layers": (12, 6), "skip": True, "recipe": "noise"},
        {"node": "5b", "node_output": "score3", "layers": (12,)},
    ],
)
def test_training_measures_its_own_circuit(settings):
    iris = load_dataset("iris")
    config = TrainingConfig.of(
        **{"wiring": "learned", "steps": 60, "evaluate_every": 30, "keep": "last", **settings}
    )
    result = train(iris, config)
    decisions = result.netlist.classify(result.netlist.encoder.encode(iris.validation.x))
    assert result.hardened.validation == np.mean(decisions.chosen == iris.validation.y) > 0.5


def test_a_training_of_nodes_goes_on_where_it_was_stopped(tmp_path):
    iris = load_dataset("iris")
    config = TrainingConfig.of(
        node="2t2b", layers=(12,), wiring="learned", steps=60, evaluate_every=20, delta=0.5
    )

    def interrupt(line, total):
        if line["step"] == 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(iris, config, directory=tmp_path, progress=interrupt)
    resumed = train(iris, config, directory=tmp_path, resume=True)
    assert digest(resumed.netlist) == digest(train(iris, config).netlist)


def test_slots_choose_among_their_own_kind():
    node = node_named("2t2b")
    kinds = np.array([3, 2, 3, 2, 2, 3], dtype=np.int8)
    (search,) = start_search(6, (9,), node=node, kinds=kinds)
    assert [part.candidates.tolist() for part in search] == [[[0, 2, 5]], [[1, 3, 4]]]
    wires = WireSearch(rate=0.1, steps=10, slots=(2, 2)).choose(search)
    for slot, kind in enumerate(node.radices):
        assert set(kinds[wires.parents[slot]]) == {kind}


def test_random_wiring_deals_every_input_as_often():
    node = node_named("6b")
    (wires,) = random_wiring(40, (100,), node=node)
    hands = np.stack(wires.parents, axis=1)
    assert all(len(set(hand)) == 6 for hand in hands.tolist())
    counts = np.bincount(hands.ravel(), minlength=40)
    # Fifteen each, but for the hands with two equal cards, which are drawn anew.
    assert np.abs(counts - 15).max() <= 4


def test_bits_lie_amid_their_trits():
    x = np.arange(256, dtype=np.float64)[:, None]
    trits = fit_encoder(x, ("pixel",), thresholds=1, delta=1.0)
    encoder = with_bits(trits, x)
    assert (encoder.low.tolist(), encoder.high.tolist()) == ([64, 128], [192, 128])
    assert encoder.is_bit.tolist() == [False, True]
    assert encoder.encode(np.array([[np.nan], [0], [130], [200]])).tolist() == [
        [0, -1],
        [-1, -1],
        [0, 1],
        [1, 1],
    ]


def test_bits_that_tell_nothing_are_left_out():
    x = np.arange(100, dtype=np.float64)[:, None]
    trits = fit_encoder(np.arange(256.0)[:, None], ("pixel",), thresholds=1, delta=1.0)
    assert with_bits(trits, x).num_trits == 1


def test_names_say_what_gates_read_and_make():
    assert node_named("2t") == Node((3, 3), 3)
    assert node_named("2t", valence=2) == Node((2, 2), 2)
    assert node_named("6b") == Node((2,) * 6, 2)
    assert node_named("3t") == Node((3,) * 3, 3)
    assert node_named("2t2b") == Node((3, 3, 2, 2), 2)
    assert node_named("6b", "score7") == Node((2,) * 6, 15, 7)


def refusal(**settings):
    with pytest.raises(TrainingError) as caught:
        TrainingConfig.of(**{"layers": (4,), **settings})
    return str(caught.value)


@pytest.mark.parametrize("name", ["", "b6", "2t2", "0b", "6B", "2b2t"])
def test_a_name_that_is_none(name):
    assert refusal(node=name) == (
        f"Setting 'node' is {name!r}, expected numbers of trits and bits like '2t', '6b' or '2t2b'"
    )


def test_a_node_of_too_many_wires():
    assert refusal(node="3t1b") == (
        "Setting 'node' is '3t1b', which reads 4 values on 7 wires, expected at least 2 values "
        "on at most 6 wires (a trit takes two)"
    )


@pytest.mark.parametrize("recipe", ["paper", "paper-then-hard", "dlgn", "dlgn-naive"])
def test_recipes_that_train_pairs_only(recipe):
    assert refusal(node="6b", recipe=recipe) == (
        f"Setting 'node' is '6b', but the recipe {recipe!r} trains gates that read two trits and "
        "make one; use 'hard' or 'noise'"
    )


@pytest.mark.parametrize("wiring", ["unique", "local"])
def test_wirings_of_pairs_only(wiring):
    assert refusal(node="3t", wiring=wiring) == (
        f"Setting 'node' is '3t', but the wiring {wiring!r} is for gates that read two trits and "
        "make one; use 'learned' or 'random'"
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [("area_weight", 0.1), ("prune", 0.2), ("vocabulary", "kleene"), ("complexity_weight", 0.5)],
)
def test_settings_of_pairs_only(name, value):
    assert refusal(node="6b", **{name: value}) == (
        f"Setting {name!r} is {value!r}, but it is for gates that read two trits and make one, "
        "not for the node '6b'"
    )


def test_other_refusals():
    assert refusal(node="6b", valence=2) == (
        "Setting 'node' is '6b', which says what nets carry; expected valence 3, not 2"
    )
    assert refusal(node="6b", start="normal") == (
        "Setting 'start' is 'normal', but the node '6b' has no normal polynomials"
    )
    assert refusal(node="6b", node_output="score3", layers=(4, 4)) == (
        "Setting 'node_output' is 'score3', but no gate can read a score: expected one layer"
    )
    assert refusal(node_output="nothing") == (
        "Setting 'node_output' is 'nothing', expected 'bit' or 'trit' or 'score3' or 'score7'"
    )


def test_a_layer_without_the_kind_that_gates_read():
    iris = load_dataset("iris")
    config = TrainingConfig.of(node="2t2b", layers=(6, 6), steps=1)
    with pytest.raises(
        TrainingError,
        match=r"^Layer 1 has 0 trits below it, expected at least 2 to wire a gate to$",
    ):
        train(iris, config)


def test_an_encoder_of_trits_for_gates_of_bits():
    iris = load_dataset("iris")
    encoder = fit_encoder(iris.train.x, iris.feature_names)
    config = TrainingConfig.of(node="6b", layers=(6,), steps=1)
    with pytest.raises(
        TrainingError, match=r"^The encoder has UNKNOWN bands, which gates '6b' cannot read$"
    ):
        train(iris, config, encoder=encoder)


def test_tau_grows_with_inputs_and_scores():
    def tau(**settings):
        return TrainingConfig.of(layers=(200,), **settings).head(("a", "b")).tau

    assert tau() == 5
    assert tau(node="6b") == 10
    assert tau(node="6b", node_output="score7") == 35


def test_a_start_from_trees_is_never_below_them():
    wine = load_dataset("wine")
    trees = {
        "node": "4b",
        "node_output": "score7",
        "start": "trees",
        "layers": (12,),
        "wiring": "learned",
        "keep": "last",
    }
    # Steps that only do harm.
    harm = {"learning_rate": 1.0, "steps": 20, "evaluate_every": 10}
    reached = train(wine, TrainingConfig.of(**trees, steps=0)).hardened.validation
    result = train(wine, TrainingConfig.of(**trees, **harm))
    assert result.config.course.keep == "best"
    assert result.hardened.validation >= reached > 0.8
    decisions = result.netlist.classify(result.netlist.encoder.encode(wine.validation.x))
    assert np.mean(decisions.chosen == wine.validation.y) == result.hardened.validation


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"node": "6b", "wiring": "learned"},
        {"node": "3t", "node_output": "score3", "wiring": "learned"},
        {"node": "6b", "node_output": "score7"},
        {"node": "6b", "node_output": "score7", "wiring": "learned", "candidates": 5},
    ],
)
def test_gates_that_cannot_be_trees(settings):
    assert refusal(start="trees", **settings) == (
        "Setting 'start' is 'trees', which need gates that read bits and make scores, such as node "
        "'6b' with the output 'score7', and learned wiring among all inputs"
    )
