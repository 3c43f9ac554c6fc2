import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

from trilut.data import Split
from trilut.training import TrainingError, fit_encoder
from trilut.training.samples import encode, mirrored, move_images, shifted, turned


def test_images_move_in_all_directions():
    image = np.arange(9, dtype=np.uint8).reshape(1, 9)
    moved = shifted(image, 1)
    assert len(moved) == 9
    np.testing.assert_array_equal(moved[0], image)
    assert len({tuple(m[0].tolist()) for m in moved}) == 9
    # One pixel to the left and one up, with the edges repeated.
    assert [4, 5, 5, 7, 8, 8, 7, 8, 8] in [m[0].tolist() for m in moved]
    assert {m.dtype for m in moved} == {np.dtype(np.uint8)}


def test_colours_do_not_mix():
    red, green, blue = np.arange(4.0), np.full(4, 7.0), np.full(4, 9.0)
    for image in shifted(np.concatenate([red, green, blue])[None], 2):
        assert set(image[0, :4]) <= set(red)
        assert image[0, 4:].tolist() == [*green, *blue]


def test_images_are_mirrored_colour_by_colour():
    image = np.arange(12, dtype=np.uint8).reshape(1, 12)
    assert mirrored(image)[0].tolist() == [1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10]


def test_images_are_turned_about_their_centre():
    image = np.arange(18, dtype=np.uint8).reshape(2, 9)
    assert turned(image, 90.0)[0].tolist() == [2, 5, 8, 1, 4, 7, 0, 3, 6]
    np.testing.assert_array_equal(turned(image, 180.0), image[:, ::-1])
    np.testing.assert_array_equal(turned(image, 0.0), image)
    # What is turned in from outside is the edge.
    assert turned(image, 45.0)[0].tolist() == [1, 2, 5, 0, 4, 8, 3, 6, 7]


def test_turned_images_are_trained_on_too():
    split, encoder = some_images(np.uint8)
    samples = move_images(encoder, split, turn=90.0)
    assert samples.num_samples == 5 * 20
    inputs, _ = samples.batch(jnp.arange(20, 40))
    np.testing.assert_array_equal(inputs, encoder.encode(turned(split.x, -90.0)))


def test_no_shift_is_the_image_itself():
    images = np.arange(32.0).reshape(2, 16)
    (same,) = shifted(images, 0)
    np.testing.assert_array_equal(same, images)


def test_features_that_are_no_image():
    for change in (mirrored, lambda x: shifted(x, 1)):
        with pytest.raises(
            TrainingError,
            match=r"^Settings 'shift', 'turn' and 'mirror' need square images, but there are 13 f",
        ):
            change(np.zeros((1, 13)))


def some_images(dtype, num_values=256):
    images = np.random.default_rng(0).integers(0, num_values, (20, 9)).astype(dtype)
    encoder = fit_encoder(images, tuple(f"p{pixel}" for pixel in range(9)), thresholds=2)
    return Split(images, np.arange(20) % 2), encoder


@pytest.mark.parametrize(("dtype", "num_values"), [(np.uint8, 256), (np.uint8, 3), (float, 999)])
def test_training_samples_are_the_shifted_images(dtype, num_values):
    split, encoder = some_images(dtype, num_values)
    samples = move_images(encoder, split, shift=1, mirror=False)
    assert (samples.num_samples, samples.num_inputs) == (9 * 20, encoder.num_trits)
    inputs, labels = samples.batch(jnp.arange(9 * 20))
    np.testing.assert_array_equal(labels, np.tile(split.y, 9))
    expected = np.concatenate([encoder.encode(moved) for moved in shifted(split.x, 1)])
    np.testing.assert_array_equal(inputs, expected)


def test_mirrored_images_are_trained_on_too():
    split, encoder = some_images(np.uint8)
    samples = move_images(encoder, split, shift=1, mirror=True)
    assert samples.num_samples == 18 * 20
    inputs, labels = samples.batch(jnp.arange(180, 200))
    np.testing.assert_array_equal(labels, split.y)
    np.testing.assert_array_equal(inputs, encoder.encode(mirrored(split.x)))


def test_a_batch_is_what_was_chosen():
    split, encoder = some_images(np.uint8)
    plain = encode(encoder, split)
    moved = move_images(encoder, split, shift=0, mirror=True)
    chosen = jnp.array([3, 3, 19, 0])
    for mine, theirs in zip(moved.batch(chosen), plain.batch(chosen), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_images_with_missing_pixels_are_not_moved():
    split, encoder = some_images(float)
    images = split.x.copy()
    images[3, 4] = np.nan
    with pytest.raises(
        TrainingError,
        match=r"^Settings 'shift', 'turn' and 'mirror' need images without missing pixels$",
    ):
        move_images(encoder, Split(images, split.y), shift=1, mirror=False)


def test_images_that_are_encoded_upside_down_are_not_moved():
    split, encoder = some_images(np.uint8)
    features = tuple(
        dataclasses.replace(feature, scale=-1.0, offset=255.0) for feature in encoder.features
    )
    with pytest.raises(
        TrainingError,
        match=r"^Settings 'shift', 'turn' and 'mirror' need features of positive scale$",
    ):
        move_images(dataclasses.replace(encoder, features=features), split, shift=1, mirror=False)
