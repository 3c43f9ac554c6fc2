from argparse import ArgumentTypeError

import numpy as np
import pytest

from trilut.commands import training_options
from trilut.data import Dataset, Split, load_dataset
from trilut.training import (
    Encoding,
    Hard,
    LearnedWiring,
    Network,
    Paper,
    RandomWiring,
    TrainingConfig,
    TrainingError,
)
from trilut.training.config import add_settings, built_in_settings
from trilut.training.settings.recipes import RECIPES
from trilut.training.settings.tables import table_settings
from trilut.training.settings.wirings import WIRINGS


def dataset(num_classes, name="own"):
    part = Split(np.arange(num_classes)[:, None], np.arange(num_classes))
    classes = tuple(f"class {label}" for label in range(num_classes))
    return Dataset(name, ("f",), classes, part, part, part)


@pytest.mark.parametrize("name", ["breast_cancer", "digits", "iris", "moons", "spirals", "wine"])
def test_defaults_fit_every_dataset(name):
    loaded = load_dataset(name)
    head = TrainingConfig.for_dataset(loaded).head(loaded.class_names)
    assert head.classes == loaded.class_names


@pytest.mark.parametrize("num_classes", [2, 3, 10, 26])
def test_defaults_fit_an_unknown_dataset(num_classes):
    unknown = dataset(num_classes)
    head = TrainingConfig.for_dataset(unknown).head(unknown.class_names)
    assert head.classes == unknown.class_names
    assert len(set(head.group_sizes)) == 1


@pytest.mark.parametrize(
    ("task", "wanted"),
    [
        ((11_412, 10, 2), ((200, 200), 15, 6000)),
        ((3_862, 36, 6), ((360, 360), 15, 6000)),
        ((12_001, 16, 26), ((1040, 1040), 15, 6000)),
        ((106, 13, 3), ((15, 15), 7, 6000)),
        ((341, 30, 2), ((20, 20), 11, 6000)),
        ((1_386, 19, 7), ((168, 168), 15, 6000)),
        ((50_000, 3072, 10), ((600, 600), 1, 6000)),
    ],
)
def test_defaults_of_trits_follow_the_size_of_a_table(task, wanted):
    given = {"node": "2t"}
    settings = table_settings(*task, given=given)
    assert (settings["layers"], settings["thresholds"], settings["steps"]) == wanted
    quick = table_settings(*task, effort="quick", given=given)
    assert quick["steps"] < settings["steps"]
    assert sum(quick["layers"]) <= sum(settings["layers"])
    assert table_settings(*task, effort="best", given=given) == settings


@pytest.mark.parametrize(
    ("task", "layers", "thresholds"),
    [
        ((11_412, 10, 2), (120,), 31),
        ((12_001, 16, 26), (1560,), 31),
        ((50_000, 3072, 200), (1400,), 1),
    ],
)
def test_gates_of_a_table_are_boosted(task, layers, thresholds):
    settings = table_settings(*task)
    assert (settings["start"], settings["steps"], settings["keep"]) == ("trees", 0, "small")
    assert (settings["layers"], settings["thresholds"]) == (layers, thresholds)
    assert sum(table_settings(*task, effort="quick")["layers"]) < sum(layers)
    assert table_settings(*task, effort="best") == {**settings, "keep": "best"}


@pytest.mark.parametrize(
    ("given", "is_boosted"),
    [
        ({"seed": 3, "thresholds": 7, "layers": (8,), "missing": (0.1,)}, True),
        ({"node": "6b", "node_output": "score7"}, True),
        ({"start": "trees", "steps": 100}, True),
        ({"layers": (8, 8)}, False),
        ({"node": "2t"}, False),
        ({"node": "6b", "node_output": "bit"}, False),
        ({"steps": 100}, False),
        ({"recipe": "paper"}, False),
        ({"start": "pass-through"}, False),
    ],
)
def test_settings_that_boosted_gates_do_not_have_choose_trits(given, is_boosted):
    config = TrainingConfig.for_dataset(dataset(3), **given)
    assert config.starts_from_trees == is_boosted
    assert {name: config.settings[name] for name in given} == given


@pytest.mark.parametrize(
    "settings", [{"valence": 5}, {"valence": 2}, {"recipe": "dlgn"}, {"wiring": "random"}]
)
def test_defaults_of_a_table_go_with_any_recipe_and_wiring(settings):
    unknown = dataset(3)
    config = TrainingConfig.for_dataset(unknown, **settings)
    assert config.head(unknown.class_names).classes == unknown.class_names


def test_settings_override_the_defaults():
    config = TrainingConfig.for_dataset(dataset(2, "moons"), layers=[8, 4], seed=7)
    assert (config.network.layers, config.course.seed) == ((8, 4), 7)
    assert config.course.steps == 2000


def test_numbers_behind_a_name_do_not_change_the_defaults():
    config = TrainingConfig.for_dataset(dataset(2, "gaussians:separation=1.5"))
    assert config == TrainingConfig.for_dataset(dataset(2, "gaussians"))


def test_tau_follows_the_outputs_per_class():
    classes = ("a", "b")
    assert TrainingConfig.of(layers=(8, 32)).head(classes).tau == 2
    assert TrainingConfig.of(layers=(8, 32), recipe="paper").head(classes).tau == 4
    assert TrainingConfig.of(layers=(8, 32), tau=10.0).head(classes).tau == 10


def test_several_layers_of_outputs():
    head = TrainingConfig.of(layers=(8, 6, 4), output_layers=2, tau=1.0).head(("a", "b"))
    assert head.group_sizes == (5, 5)
    with pytest.raises(
        TrainingError, match=r"^Layer 1 has 7 gates, expected a multiple of the 2 classes$"
    ):
        TrainingConfig.of(layers=(8, 7, 4), output_layers=2).head(("a", "b"))


def test_margin_that_no_sample_could_have():
    config = TrainingConfig.of(layers=(8, 6))
    assert config.head(("a", "b"), abstain_margin=6).abstain_margin == 6
    for margin in (0, 7):
        with pytest.raises(
            TrainingError,
            match=rf"^Abstention margin is {margin}, expected 1…6 with 3 outputs per class$",
        ):
            config.head(("a", "b"), abstain_margin=margin)


def test_config_is_a_key():
    assert hash(TrainingConfig.of(layers=[4, 2])) == hash(TrainingConfig.of(layers=(4, 2)))
    assert TrainingConfig.of(layers=[4, 2]).settings["layers"] == (4, 2)


@pytest.mark.parametrize("outputs", [1, 10])
def test_outputs_cannot_be_shared(outputs):
    with pytest.raises(
        TrainingError,
        match=rf"^The last layer has {outputs} gates, expected a multiple of the 3 classes$",
    ):
        TrainingConfig.of(layers=(8, outputs)).head(("a", "b", "c"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"layers": ()}, "Setting 'layers' is empty, expected at least one layer"),
        ({"layers": (4, 0, 2)}, "Layer 1 has 0 gates, expected at least 1"),
        (
            {"recipe": "soft"},
            "Setting 'recipe' is 'soft', expected 'hard' or 'paper' or 'paper-then-hard' or "
            "'noise' or 'dlgn' or 'dlgn-naive'",
        ),
        (
            {"recipe": "hrad"},
            "Setting 'recipe' is 'hrad', expected 'hard' or 'paper' or 'paper-then-hard' or "
            "'noise' or 'dlgn' or 'dlgn-naive'; did you mean 'hard'?",
        ),
        (
            {"recipe": "dlgn", "valence": 3},
            "Setting 'valence' is 3, expected 2 for mixtures of binary gates",
        ),
        ({"valence": 1}, "Setting 'valence' is 1, expected 2…8"),
        (
            {"loss": "hinge"},
            "Setting 'loss' is 'hinge', expected 'cross-entropy' or 'squared-error'",
        ),
        (
            {"recipe": "noise", "noise": -1.0},
            "Setting 'noise' is -1.0, expected 0 or a positive number",
        ),
        (
            {"spacing": "log"},
            "Setting 'spacing' is 'log', expected 'uniform' or 'quantile' or 'balanced'",
        ),
        ({"schedule": "step"}, "Setting 'schedule' is 'step', expected 'constant' or 'cosine'"),
        (
            {"keep": "first"},
            "Setting 'keep' is 'first', expected 'best' or 'small' or 'late' or 'last'",
        ),
        (
            {"wiring": "full"},
            "Setting 'wiring' is 'full', expected 'random' or 'unique' or 'local' or 'learned'",
        ),
        ({"shift": -1}, "Setting 'shift' is -1, expected at least 0"),
        ({"wiring": "local", "window": 1}, "Setting 'window' is 1, expected at least 2"),
        ({"wiring": "learned", "candidates": 1}, "Setting 'candidates' is 1, expected at least 2"),
        ({"output_layers": 3}, "Setting 'output_layers' is 3, but there are 2 layers"),
        (
            {"wiring": "learned", "wire_every": 0},
            "Setting 'wire_every' is 0, expected 1…1073741823",
        ),
        (
            {"wiring": "learned", "wire_rate": 0.0},
            "Setting 'wire_rate' is 0.0, expected a positive number",
        ),
        (
            {"wiring": "learned", "distance_cost": -1.0},
            "Setting 'distance_cost' is -1.0, expected 0 or a positive number",
        ),
        ({"thresholds": 0}, "Setting 'thresholds' is 0, expected 1…65536"),
        ({"bits": 33}, "Setting 'bits' is 33, expected 1…32"),
        ({"steps": -1}, "Setting 'steps' is -1, expected 0…1073741823"),
        (
            {"steps": 0},
            "Setting 'steps' is 0, expected at least 1 unless 'start' is 'trees'",
        ),
        ({"keep": "small"}, "Setting 'keep' is 'small', which is for the start 'trees'"),
        ({"batch": -1}, "Setting 'batch' is -1, expected 1…16777216"),
        ({"batch": 10**12}, "Setting 'batch' is 1000000000000, expected 1…16777216"),
        (
            {"layers": (10**12, 2)},
            "Setting 'layers' has 1000000000002 gates in all, expected at most 16777216",
        ),
        ({"evaluate_every": 0}, "Setting 'evaluate_every' is 0, expected at least 1"),
        ({"seed": -1}, "Setting 'seed' is -1, expected 0…4294967295"),
        ({"delta": 1.5}, "Setting 'delta' is 1.5, expected 0…1"),
        ({"delta": float("nan")}, "Setting 'delta' is nan, expected 0…1"),
        ({"minority": -0.1}, "Setting 'minority' is -0.1, expected 0…1"),
        ({"learning_rate": 0.0}, "Setting 'learning_rate' is 0.0, expected a positive number"),
        ({"tau": -2.0}, "Setting 'tau' is -2.0, expected a positive number"),
        ({"tau_start": 0.0}, "Setting 'tau_start' is 0.0, expected a positive number"),
        (
            {"recipe": "paper", "commitment_max": float("inf")},
            "Setting 'commitment_max' is inf, expected 0 or a positive number",
        ),
        (
            {"recipe": "paper", "commitment_power": -1.0},
            "Setting 'commitment_power' is -1.0, expected 0 or a positive number",
        ),
    ],
)
def test_setting_out_of_range(settings, message):
    with pytest.raises(TrainingError) as caught:
        TrainingConfig.of(**{"layers": (4, 2), **settings})
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"recipe": "dlgn", "noise": 0.5},
            "Setting 'noise' is 0.5, but it is of the recipe 'noise', not of 'dlgn'",
        ),
        (
            {"tau_start": 20.0, "recipe": "paper"},
            "Setting 'tau_start' is 20.0, but it is of the recipe 'hard' or 'paper-then-hard' or "
            "'noise', not of 'paper'",
        ),
        (
            {"commitment_max": 0.0},
            "Setting 'commitment_max' is 0.0, but it is of the recipe 'paper' or "
            "'paper-then-hard', not of 'hard'",
        ),
        (
            {"wiring": "learned", "window": 8},
            "Setting 'window' is 8, but it is of the wiring 'local', not of 'learned'",
        ),
        (
            {"distance_cost": 1.0},
            "Setting 'distance_cost' is 1.0, but it is of the wiring 'learned', not of 'random'",
        ),
    ],
)
def test_setting_without_effect(settings, message):
    with pytest.raises(TrainingError) as caught:
        TrainingConfig.of(**{"layers": (4, 2), **settings})
    assert str(caught.value) == message


def test_default_of_a_dataset_that_would_have_no_effect_is_left_out():
    cifar10 = dataset(10, "cifar10")
    assert TrainingConfig.for_dataset(cifar10).wiring == LearnedWiring(candidates=512)
    assert TrainingConfig.for_dataset(cifar10, wiring="random").wiring == RandomWiring()


def test_even_valence_has_no_unknown_band():
    for settings in ({"recipe": "dlgn"}, {"valence": 2}, {"valence": 4}):
        assert TrainingConfig.of(layers=(4, 2), delta=0.5, **settings).encoding.delta == 0
    assert TrainingConfig.of(layers=(4, 2), valence=5, delta=0.5).encoding.delta == 0.5


def test_parts_and_flat_settings_are_the_same():
    parts = TrainingConfig(
        recipe=Paper(commitment_max=0.2),
        network=Network(layers=(4, 2)),
        wiring=LearnedWiring(candidates=3),
        encoding=Encoding(delta=0.5),
    )
    settings = {"commitment_max": 0.2, "candidates": 3, "delta": 0.5, "layers": (4, 2)}
    flat = TrainingConfig.of(recipe="paper", wiring="learned", **settings)
    assert flat == parts
    assert hash(flat) == hash(parts)
    assert settings.items() <= parts.settings.items()
    assert TrainingConfig.of(**parts.settings) == parts


def test_part_beside_flat_settings():
    config = TrainingConfig.of(layers=(4, 2), recipe=Paper(commitment_max=0.2), valence=2)
    assert config.recipe == Paper(commitment_max=0.2, valence=2)
    with pytest.raises(TrainingError) as caught:
        TrainingConfig.of(layers=(4, 2), recipe=Hard(), noise=0.1)
    assert str(caught.value) == (
        "Setting 'noise' is 0.1, but it is of the recipe 'noise', not of 'hard'"
    )


@pytest.mark.parametrize("recipe", RECIPES.built_in)
@pytest.mark.parametrize("wiring", WIRINGS.built_in)
def test_every_recipe_goes_with_every_wiring(recipe, wiring):
    config = TrainingConfig.of(layers=(8, 4), recipe=recipe.name, wiring=wiring.name)
    assert (type(config.recipe), type(config.wiring)) == (recipe, wiring)
    assert TrainingConfig.of(**config.settings) == config
    assert config.phases(tau=1.0)[-1].end == 3000
    assert (
        len(config.wiring.wire(config.network, config.course, np.full(6, 3, np.int8)).wiring) == 2
    )


def test_mesh_on_the_command_line():
    assert training_options.mesh_shape("2x4") == (2, 4)
    for text in ("2", "2x", "0x1", "2x4x1", "axb"):
        with pytest.raises(ArgumentTypeError) as caught:
            training_options.mesh_shape(text)
        assert str(caught.value) == f"{text!r} is not a mesh like 2x4"


def test_settings_are_read_as_their_types():
    texts = ["tau=4", "loss=squared-error", "layers=8,4", "mirror=true", "evaluate_every = 7"]
    added = add_settings({"steps": 9}, [*texts, "candidates=none"])
    assert added == {
        "steps": 9,
        "tau": 4.0,
        "loss": "squared-error",
        "layers": (8, 4),
        "mirror": True,
        "evaluate_every": 7,
        "candidates": None,
    }
    assert TrainingConfig.of(wiring="learned", **added).course.tau == 4


def test_every_setting_can_be_written_as_text():
    for recipe, wiring in (("noise", "local"), ("paper", "learned")):
        config = TrainingConfig.of(layers=(4, 2), recipe=recipe, wiring=wiring)
        for name, value in config.settings.items():
            text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
            text = text.lower() if isinstance(value, bool | None) else text
            assert add_settings({}, [f"{name}={text}"]) == {name: value}


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (
            ["tua=4"],
            "There is no setting 'tua', expected one of "
            + ", ".join(built_in_settings())
            + "; did you mean 'tau'?",
        ),
        (["steps=2"], "Setting 'steps' is given twice, expected it once"),
        (["tau=4", "tau=4"], "Setting 'tau' is given twice, expected it once"),
        (["tau=four"], "Setting 'tau' is 'four', expected a number"),
        (["batch=1.5"], "Setting 'batch' is '1.5', expected a whole number"),
        (["mirror=yes"], "Setting 'mirror' is 'yes', expected true or false"),
        (["layers=8,"], "Setting 'layers' is '8,', expected whole numbers like 64,64,32"),
    ],
)
def test_setting_that_cannot_be_read(texts, message):
    with pytest.raises(TrainingError) as caught:
        add_settings({"steps": 9}, texts)
    assert str(caught.value) == message
