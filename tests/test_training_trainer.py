import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

import trilut
from trilut import digest, load, save
from trilut.circuit.gates import fourier_spectrum
from trilut.data import Dataset, Split, load_dataset
from trilut.measure.evaluation import dataset_accuracy
from trilut.measure.metrics import accuracy, cell_vote_accuracy, encoding_ceiling
from trilut.report.summary import accuracy_document, accuracy_rows
from trilut.sim import evaluate
from trilut.training import (
    TrainingConfig,
    TrainingError,
    equal_information,
    fit_dataset,
    fit_encoder,
    layer_accuracies,
    train,
)
from trilut.training.checkpoint import check_finished
from trilut.training.network import forward

SHORT = {"layers": (12, 8), "steps": 100, "evaluate_every": 50}


@pytest.fixture(scope="module")
def moons():
    return load_dataset("moons")


def with_missing(dataset, share):
    """Return the data set with a share of its feature values missing."""
    generator = np.random.default_rng(0)
    parts = [
        Split(np.where(generator.random(part.x.shape) < share, np.nan, part.x), part.y)
        for part in (dataset.train, dataset.validation, dataset.test)
    ]
    return Dataset(dataset.name, dataset.feature_names, dataset.class_names, *parts)


def test_moons_come_within_a_point_of_what_the_encoding_allows(moons):
    result = train(moons)
    encoder = result.netlist.encoder
    train_trits, test_trits = encoder.encode(moons.train.x), encoder.encode(moons.test.x)
    hardened = accuracy(result.netlist.classify(test_trits), moons.test.y)
    assert hardened == result.hardened.test == result.soft.test
    assert result.hardened.validation == result.soft.validation
    assert hardened >= encoding_ceiling(test_trits, moons.test.y) - 0.01
    vote = cell_vote_accuracy(train_trits, moons.train.y, test_trits, moons.test.y)
    assert hardened >= vote - 0.01


def test_arrays_and_settings_by_name(moons):
    x, y = moons.train.x, np.array(["lower", "upper"])[moons.train.y]
    result = train(x, y, seed=3, **SHORT)
    dataset = Dataset.from_arrays(x, y, seed=3)
    same = train(dataset, TrainingConfig.of(**result.config.settings))
    assert digest(result.netlist) == digest(same.netlist)
    assert result.config.network.layers == SHORT["layers"]
    assert result.netlist.head.classes == ("lower", "upper")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda data: train(data.train.x),
            r"train\(\) has got samples of type ndarray without labels, "
            r"expected train\(X, y\) or train\(dataset\)",
        ),
        (
            lambda data: train(data, data.train.y),
            r"train\(\) has got a data set and a ndarray, expected a TrainingConfig",
        ),
        (
            lambda data: train(data, TrainingConfig.of(**SHORT), steps=7),
            r"train\(\) has got a TrainingConfig and the setting 'steps', expected either",
        ),
    ],
)
def test_wrong_calls(moons, call, message):
    with pytest.raises(TypeError, match=f"^{message}$"):
        call(moons)


@pytest.mark.parametrize("recipe", ["hard", "paper"])
def test_same_seed_same_netlist(moons, recipe):
    first, second, other = (
        train(moons, TrainingConfig.of(recipe=recipe, seed=seed, **SHORT)) for seed in (5, 5, 6)
    )
    assert digest(first.netlist) == digest(second.netlist)
    assert first.history == second.history
    assert not np.array_equal(first.netlist.table, other.netlist.table)


def test_paper_recipe_learns_moons(moons):
    result = train(moons, TrainingConfig.of(recipe="paper", layers=(24, 16), steps=500))
    assert result.soft.test > 0.9
    test_trits = result.netlist.encoder.encode(moons.test.x)
    assert accuracy(result.netlist.classify(test_trits), moons.test.y) == result.hardened.test


@pytest.mark.parametrize(
    "settings",
    [
        {"recipe": "hard", "valence": 2},
        {"recipe": "paper", "valence": 2, "parametrisation": "fourier", "loss": "cross-entropy"},
        {"recipe": "dlgn", "learning_rate": 0.1},
        {"recipe": "paper-then-hard"},
        {"recipe": "paper", "parametrisation": "lagrange"},
        {"recipe": "noise"},
        {"recipe": "noise", "noise_kind": "gumbel"},
    ],
    ids=lambda settings: "-".join(map(str, settings.values())),
)
def test_every_recipe_learns_moons_and_hardens(moons, settings):
    config = TrainingConfig.of(layers=(24, 16), steps=300, **settings)
    result = train(moons, config)
    assert result.soft.test > 0.85
    netlist = result.netlist
    assert netlist.valence == config.recipe.valence
    chosen = netlist.classify(netlist.encoder.encode(moons.test.x))
    assert accuracy(chosen, moons.test.y) == result.hardened.test


@pytest.mark.parametrize("recipe", ["hard", "paper"])
def test_complexity_weight_makes_gates_simpler(moons, recipe):
    def mean_complexity(weight):
        config = TrainingConfig.of(recipe=recipe, complexity_weight=weight, **SHORT)
        tables = train(moons, config).netlist.table
        return np.abs(fourier_spectrum(tables)).sum(axis=(1, 2)).mean()

    assert mean_complexity(1.0) < mean_complexity(0.0)


@pytest.mark.parametrize("recipe", ["paper", "dlgn"])
def test_hardening_error_reaches_the_netlist_and_its_summary(moons, recipe):
    config = TrainingConfig.of(recipe=recipe, skip=True, output_layers=2, **SHORT)
    result = train(moons, config)
    fitted = result.fitted
    inputs = jnp.asarray(fitted.encoder.encode(moons.test.x).T, jnp.float32)
    layers = forward(
        fitted.recipe.layer,
        fitted.learned.parameters,
        fitted.learned.wiring,
        inputs,
        fitted.topology,
    )
    # The circuit has the outputs of a class side by side, those of the lower layer first.
    soft = np.concatenate([layer[number::2] for number in (0, 1) for layer in layers]).T
    hard = evaluate(result.netlist, fitted.encoder.encode(moons.test.x))
    expected = np.mean(np.abs(soft - hard))
    assert 0 < expected < 2
    assert result.netlist.provenance["accuracy"]["hardening_error"] == fitted.hardening_error
    assert fitted.hardening_error == pytest.approx(expected, rel=1e-4)
    rows = accuracy_rows(accuracy_document(dataset_accuracy(result.netlist, moons)))
    assert rows["hardening error"] == (
        f"{expected:.3f} (distance of a soft output from the circuit's, 0…2)"
    )


@pytest.mark.parametrize("recipe", ["hard", "noise", "paper-then-hard"])
def test_circuit_that_was_its_own_training_forward_has_no_hardening_error(moons, recipe):
    result = train(moons, TrainingConfig.of(recipe=recipe, **SHORT))
    assert result.fitted.hardening_error is None
    assert set(result.netlist.provenance["accuracy"]) == {"soft", "hardened"}
    measured = dataset_accuracy(result.netlist, moons)
    assert measured.hardening_error is None
    assert "hardening error" not in accuracy_rows(accuracy_document(measured))


def test_gap_is_told_layer_by_layer(moons):
    config = TrainingConfig.of(recipe="paper", layers=(24, 16), steps=100, evaluate_every=100)
    fitted = fit_dataset(moons, config)
    accuracies = layer_accuracies(fitted, moons.test)
    assert len(accuracies) == 3
    assert (accuracies[0], accuracies[-1]) == (fitted.soft.test, fitted.hardened.test)


@pytest.mark.parametrize("recipe", ["paper", pytest.param("hard", marks=pytest.mark.slow)])
def test_four_values_can_be_trained(moons, recipe):
    config = TrainingConfig.of(recipe=recipe, valence=4, layers=(24, 16), steps=300)
    fitted = fit_dataset(moons, config)
    assert fitted.soft.test > 0.8
    assert fitted.tables[0].shape == (24, 16)
    if recipe == "hard":
        assert fitted.soft == fitted.hardened
    with pytest.raises(
        TrainingError,
        match=r"^Setting 'valence' is 4, but a netlist has valence 2 or 3; "
        r"use trilut\.training\.fit_dataset$",
    ):
        train(moons, config)


@pytest.mark.slow
def test_both_forms_of_mixture_give_the_same_netlist(moons):
    folded, naive = (
        train(moons, TrainingConfig.of(recipe=recipe, **SHORT)).netlist
        for recipe in ("dlgn", "dlgn-naive")
    )
    np.testing.assert_array_equal(folded.table, naive.table)


def test_gap_by_layer_is_in_the_history_of_soft_networks(moons):
    settings = {"layers": (24, 16), "steps": 120, "evaluate_every": 40, "keep": "last"}
    fitted = fit_dataset(moons, TrainingConfig.of(recipe="paper", **settings))
    assert all(line["layers"][-1] == line["accuracy"] for line in fitted.history)
    assert fitted.history[-1]["layers"] == layer_accuracies(fitted, moons.validation)
    hard = fit_dataset(moons, TrainingConfig.of(**settings))
    assert not any("layers" in line for line in hard.history)


def test_gap_by_layer_takes_no_more_samples_than_the_training(moons):
    settings = {"layers": (24, 16), "steps": 130, "evaluate_every": 10, "batch": 32}
    fitted = fit_dataset(moons, TrainingConfig.of(recipe="paper", **settings))
    steps = [line["step"] for line in fitted.history if "layers" in line]
    num_measured = 3 * len(moons.validation.y)
    assert len(steps[:-1]) * num_measured <= 120 * 32 < (len(steps) + 1) * num_measured
    assert steps[-1] == 130


def test_a_data_set_may_be_named(moons, tmp_path):
    x, y = moons.train.x[:60], moons.train.y[:60]
    lines = [f"{a},{b},{label}" for (a, b), label in zip(x, y, strict=True)]
    table = tmp_path / "table.csv"
    table.write_text("\n".join(["a,b,label", *lines]) + "\n")
    tiny = {"layers": (4, 4), "steps": 4}
    named = [train(name, **tiny).netlist for name in (str(table), table)]
    loaded = train(load_dataset(str(table)), **tiny).netlist
    assert {digest(netlist) for netlist in named} == {digest(loaded)}


def test_history_and_progress_tell_the_same(moons):
    told = []
    config = TrainingConfig.of(layers=(12, 8), steps=100, evaluate_every=75)
    result = train(moons, config, progress=lambda *line: told.append(line))
    assert [line["step"] for line in result.history] == [75, 100]
    assert [(line, 100) for line in result.history] == told


def test_steps_do_not_depend_on_where_they_are_measured(moons):
    results = [
        train(
            moons, TrainingConfig.of(layers=(12, 8), steps=100, evaluate_every=every, keep="last")
        )
        for every in (50, 75)
    ]
    np.testing.assert_array_equal(results[0].netlist.table, results[1].netlist.table)


def test_best_parameters_are_kept(moons):
    config = {**SHORT, "learning_rate": 0.3, "schedule": "constant", "evaluate_every": 10}
    best, last = (train(moons, TrainingConfig.of(keep=keep, **config)) for keep in ("best", "last"))
    assert best.history == last.history
    accuracies = [line["accuracy"] for line in best.history]
    assert best.hardened.validation == max(accuracies)
    assert last.hardened.validation == accuracies[-1]


def late_enough(accuracies, num_samples):
    """Return which measurements are within the standard error of the best one before them."""
    late = []
    for number, measured in enumerate(accuracies):
        best = max(accuracies[: number + 1])
        share = (best * num_samples + 1) / (num_samples + 2)
        late.append(measured >= best - np.sqrt(share * (1 - share) / num_samples))
    return late


# So large a rate that many measurements are far below the best one.
UNSTEADY = {
    **{"layers": (24, 16), "steps": 100, "evaluate_every": 5},
    **{"learning_rate": 0.3, "schedule": "constant"},
}


def test_late_parameters_are_kept_unless_they_are_clearly_worse(moons):
    result = train(moons, TrainingConfig.of(keep="late", **UNSTEADY))
    accuracies = [line["accuracy"] for line in result.history]
    late = late_enough(accuracies, len(moons.validation))
    kept = max(number for number, enough in enumerate(late) if enough)
    assert result.hardened.validation == accuracies[kept] < max(accuracies)
    assert False in late[kept:]


def test_training_ends_when_patience_does(moons, tmp_path):
    whole = train(moons, TrainingConfig.of(keep="late", **UNSTEADY))
    late = late_enough([line["accuracy"] for line in whole.history], len(moons.validation))
    end = next(number for number in range(1, len(late)) if late[number - 1 : number + 1] == [0, 0])
    config = TrainingConfig.of(keep="late", patience=2, **UNSTEADY)
    result = train(moons, config, directory=tmp_path)
    assert result.history == whole.history[: end + 1] != whole.history
    # It is finished, and so it stays when it is resumed.
    again = train(moons, config, directory=tmp_path, resume=True)
    assert again.history == result.history
    assert (again.netlist.table == result.netlist.table).all()
    check_finished(tmp_path)


def test_of_equally_good_parameters_the_later_are_kept(moons):
    # One sample to validate on: the measurements are all the same once it is right.
    one = Split(moons.validation.x[:1], moons.validation.y[:1])
    few = dataclasses.replace(moons, validation=one)
    config = {"layers": (24, 16), "schedule": "constant", "evaluate_every": 30}
    first = train(few, TrainingConfig.of(steps=30, **config))
    best, last = (
        train(few, TrainingConfig.of(steps=90, keep=k, **config)) for k in ("best", "last")
    )
    assert [line["accuracy"] for line in best.history] == [1, 1, 1]
    assert (best.netlist.table == last.netlist.table).all()
    assert (best.netlist.table != first.netlist.table).any()


def test_netlist_tells_where_it_comes_from(moons, tmp_path):
    config = TrainingConfig.of(seed=3, **SHORT)
    result = train(moons, config)
    save(result.netlist, tmp_path / "net.trilut")
    netlist = load(tmp_path / "net.trilut")
    assert netlist.name == "moons"
    assert netlist.head.classes == ("upper", "lower")
    assert netlist.provenance["trilut"] == trilut.__version__
    assert netlist.provenance["data"] == {"name": "moons", "seed": 0}
    settings = netlist.provenance["training"]
    assert TrainingConfig.of(**settings) == config
    assert netlist.provenance["accuracy"]["hardened"]["test"] == result.hardened.test


def test_missing_values_are_learned_with(moons):
    result = train(with_missing(moons, 0.2))
    assert result.hardened.test > 0.8


def test_more_than_two_classes():
    iris = load_dataset("iris")
    result = train(iris, TrainingConfig.for_dataset(iris, steps=300))
    assert result.hardened.test > 0.8


def test_encoder_of_the_users_own(moons):
    ternary = fit_encoder(moons.train.x, moons.feature_names, thresholds=2)
    binary = equal_information(ternary)
    config = TrainingConfig.of(recipe="dlgn", **SHORT)
    assert train(moons, config, encoder=binary).netlist.encoder == binary
    with pytest.raises(
        TrainingError,
        match=r"^The encoder has UNKNOWN bands, which a network of valence 2 cannot read$",
    ):
        train(moons, config, encoder=ternary)


def test_interrupt_passes_through(moons):
    def interrupt(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(moons, TrainingConfig.of(**SHORT), progress=interrupt)


def test_loss_that_is_not_a_number(moons):
    config = TrainingConfig.of(recipe="paper", learning_rate=1e38, **SHORT)
    with pytest.raises(
        TrainingError,
        match=r"^Loss is nan after 50 steps; start anew with a learning rate below 1e\+38$",
    ):
        train(moons, config)


def test_outputs_that_the_classes_cannot_share(moons):
    with pytest.raises(
        TrainingError,
        match=r"^The last layer has 7 gates, expected a multiple of the 2 classes$",
    ):
        train(moons, TrainingConfig.of(layers=(8, 7)))
