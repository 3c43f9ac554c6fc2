import re

import jax.numpy as jnp
import numpy as np
import pytest

from trilut.circuit.encoder import Encoder, Feature
from trilut.circuit.format import digest
from trilut.circuit.monotone import check_monotone
from trilut.data import Dataset, Split, load_dataset
from trilut.data.groups import read_groups
from trilut.errors import DataError
from trilut.training import TrainingConfig, TrainingError, train
from trilut.training.dropout import make_dropout
from trilut.training.network import Samples, Topology, class_scores, open_scores
from trilut.training.settings.groups import Uncertainty

SETTINGS = {"layers": (16, 16), "steps": 60, "evaluate_every": 20, "batch": 32}


def encoder(missing=0):
    """Return three features of one, two and three trits."""
    features = tuple(Feature(name, 8) for name in "abc")
    source = np.array([0, 1, 1, 2, 2, 2])
    return Encoder(features, source, np.full(6, 10), np.full(6, 20), missing=missing)


def lost(dropout, draw=0, num_inputs=6):
    """Return which inputs samples lose, all of which are 1 before."""
    inputs = jnp.ones((2000, num_inputs), dtype=jnp.int8)
    return np.asarray(dropout.apply(inputs, jnp.int32(draw))) != 1


def test_the_inputs_of_a_feature_are_lost_together_and_features_apart():
    gone = lost(make_dropout(encoder(), Uncertainty(missing=(0.3,)), seed=0))
    assert (gone[:, 1] == gone[:, 2]).all()
    assert (gone[:, 3:] == gone[:, 3:4]).all()
    features = gone[:, [0, 1, 3]]
    assert np.all(np.abs(features.mean(axis=0) - 0.3) < 0.04)
    assert np.all(np.abs(np.corrcoef(features.T) - np.eye(3)) < 0.1)


def test_a_group_of_features_is_lost_together():
    uncertainty = Uncertainty(missing=(0.3,), missing_groups=(("c", "a"),))
    gone = lost(make_dropout(encoder(), uncertainty, seed=0))
    assert (gone[:, 0] == gone[:, 3]).all()
    assert not (gone[:, 0] == gone[:, 1]).all()


def test_the_categories_of_a_text_are_lost_together():
    features = tuple(Feature(name, 1) for name in ("colour=red", "colour=blue", "size"))
    one = np.ones(3, dtype=np.int64)
    categories = {"colour": ("blue", "red")}
    made = Encoder(features, np.arange(3), one, one, categories=categories)
    gone = lost(make_dropout(made, Uncertainty(missing=(0.3,)), seed=0), num_inputs=3)
    assert (gone[:, 0] == gone[:, 1]).all()
    assert not (gone[:, 0] == gone[:, 2]).all()
    uncertainty = Uncertainty(missing=(0.3,), missing_groups=(("size", "colour"),))
    gone = lost(make_dropout(made, uncertainty, seed=0), num_inputs=3)
    assert (gone == gone[:, :1]).all()


def test_a_range_gives_every_sample_a_share_of_its_own():
    gone = lost(make_dropout(encoder(), Uncertainty(missing=(0.0, 1 - 1e-9)), seed=0))
    # With the share of a sample drawn from 0…1, two features are lost together 1/3 of the time.
    assert abs((gone[:, 0] & gone[:, 1]).mean() - 1 / 3) < 0.04


def test_what_is_lost_changes_with_the_draw_and_the_seed_alone():
    one, other = (make_dropout(encoder(), Uncertainty(missing=(0.5,)), seed=s) for s in (0, 1))
    assert (lost(one) == lost(one)).all()
    assert not (lost(one) == lost(one, draw=1)).all()
    assert not (lost(one) == lost(other)).all()


def test_a_lost_input_is_what_the_encoder_makes_of_a_missing_feature():
    for missing in (0, -1):
        dropout = make_dropout(encoder(missing), Uncertainty(missing=(0.5,)), seed=0)
        inputs = jnp.ones((50, 6), dtype=jnp.int8)
        assert set(np.unique(dropout.apply(inputs, jnp.int32(0)))) == {missing, 1}


def test_a_split_loses_the_same_every_time():
    dropout = make_dropout(encoder(), Uncertainty(missing=(0.5,)), seed=0)
    samples = Samples(jnp.ones((1500, 6), jnp.int8), jnp.zeros(1500, jnp.int32))
    one, other = (np.asarray(dropout.on_split(samples).inputs) for _ in range(2))
    assert one.shape == (1500, 6)
    assert (one == other).all()
    assert not (one[:400] == one[1024:1424]).all()


def test_nothing_is_lost_by_default():
    assert make_dropout(encoder(), Uncertainty(), seed=0) is None
    assert make_dropout(encoder(), Uncertainty(missing=(0.0,)), seed=0) is None


def test_samples_that_miss_features_lose_up_to_as_many_again():
    x = np.array([[0.0, 1.0], [1.0, np.nan]])
    part = Split(x, np.array([0, 1]))
    dataset = Dataset("own", ("f", "g"), ("a", "b"), part, part, part)
    assert TrainingConfig.for_dataset(dataset, node="2t").uncertainty.missing == (0.0, 0.25)
    assert TrainingConfig.for_dataset(dataset, missing=()).uncertainty.missing == ()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"missing": (0.5, 0.1)},
            "Setting 'missing' is 0.5,0.1, expected a share or two that rise",
        ),
        (
            {"missing": (0, 0.1, 0.2)},
            "Setting 'missing' is 0,0.1,0.2, expected a share or two that rise",
        ),
        ({"missing": (1.0,)}, "Setting 'missing' is 1, expected shares from 0 to below 1"),
        (
            {"missing": (float("nan"),)},
            "Setting 'missing' is nan, expected shares from 0 to below 1",
        ),
        (
            {"missing": (0.1,), "missing_groups": (("x", "y"), ("y",))},
            "Feature 'y' is in groups twice, expected once",
        ),
        (
            {"missing_groups": (("x", "y"),)},
            "Setting 'missing_groups' needs a share that is missing; give one",
        ),
        (
            {"certainty": 0.5},
            "Setting 'certainty' is 0.5, which only the vocabulary 'kleene' has a use for",
        ),
        (
            {"vocabulary": "kleene", "valence": 2},
            "Setting 'vocabulary' is 'kleene', which is of valence 3, not of 2",
        ),
    ],
)
def test_settings_that_do_not_go_together(settings, message):
    with pytest.raises(TrainingError, match=f"^{re.escape(message)}$"):
        TrainingConfig.of(layers=(8,), **settings)


def test_a_group_with_a_feature_that_is_not_there():
    uncertainty = Uncertainty(missing=(0.1,), missing_groups=(("a", "bb"),))
    with pytest.raises(
        TrainingError,
        match=r"^A group of features has 'bb', which is no feature; did you mean 'b'\?$",
    ):
        make_dropout(encoder(), uncertainty, seed=0)


def test_groups_are_read_from_lines(tmp_path):
    path = tmp_path / "groups"
    path.write_text('# the wheel\nleft, right\n\n"a, b",c\n')
    assert read_groups(path) == (("left", "right"), ("a, b", "c"))


def test_groups_that_are_no_text(tmp_path):
    path = tmp_path / "groups"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match=rf"^'{path}' is not a file of groups: .*$"):
        read_groups(path)


def test_unknown_outputs_count_against_the_label():
    # Four outputs, of classes 0, 1, 0, 1, for two samples.
    outputs = jnp.asarray([[0.0, 1.0], [0.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])
    topology = Topology(num_classes=2)
    moves = open_scores((outputs,), jnp.asarray([0, 1]), topology)
    np.testing.assert_array_equal(moves, [[-1, 1], [1, -2]])
    np.testing.assert_array_equal(class_scores((outputs,), topology), [[1, 1], [-1, 0]])


@pytest.mark.parametrize("wiring", ["random", "learned"])
def test_a_circuit_of_the_vocabulary_kleene_is_information_monotone(wiring):
    moons = load_dataset("moons")
    settings = {**SETTINGS, "wiring": wiring, "vocabulary": "kleene", "certainty": 0.5}
    result = train(moons, TrainingConfig.for_dataset(moons, **settings, missing=(0, 0.5)))
    check_monotone(result.netlist)
    # Validation samples lost features, so all of them tell another accuracy.
    whole = np.mean(result.netlist.predict(moons.validation.x) == moons.validation.y)
    assert whole != result.hardened.validation


def test_a_training_with_losses_resumes_where_it_stopped(tmp_path):
    moons = load_dataset("moons")
    config = TrainingConfig.for_dataset(moons, **SETTINGS, missing=(0.2,))

    def stop(measured, total):
        if measured["step"] == 40:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(moons, config, directory=tmp_path, progress=stop)
    resumed = train(moons, config, directory=tmp_path, resume=True)
    assert digest(resumed.netlist) == digest(train(moons, config).netlist)


def test_other_groups_than_before_are_not_resumed(tmp_path):
    moons = load_dataset("moons")
    config = TrainingConfig.for_dataset(moons, **SETTINGS, missing=(0.2,))
    train(moons, config, directory=tmp_path)
    other = TrainingConfig.for_dataset(
        moons, **SETTINGS, missing=(0.2,), missing_groups=[moons.feature_names]
    )
    with pytest.raises(TrainingError, match="setting 'missing_groups' is"):
        train(moons, other, directory=tmp_path, resume=True)
