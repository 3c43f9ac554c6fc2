import numpy as np
import pytest

from trilut.data import Split
from trilut.training import TrainingError, fit_encoder
from trilut.training.samples import encode, mirrored, shifted


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


def test_no_shift_is_the_image_itself():
    images = np.arange(32.0).reshape(2, 16)
    (same,) = shifted(images, 0)
    np.testing.assert_array_equal(same, images)


def test_features_that_are_no_image():
    for change in (mirrored, lambda x: shifted(x, 1)):
        with pytest.raises(
            TrainingError,
            match=r"^Settings 'shift' and 'mirror' need square images, but there are 13 features$",
        ):
            change(np.zeros((1, 13)))


def test_training_samples_are_the_shifted_images():
    images = np.random.default_rng(0).integers(0, 256, (20, 9)).astype(np.uint8)
    split = Split(images, np.arange(20) % 2)
    encoder = fit_encoder(images, tuple(f"p{pixel}" for pixel in range(9)))
    samples = encode(encoder, split, shift=1)
    assert samples.inputs.shape == (9 * 20, encoder.num_trits)
    np.testing.assert_array_equal(samples.labels, np.tile(split.y, 9))
    for number, moved in enumerate(shifted(images, 1)):
        part = samples.inputs[20 * number : 20 * (number + 1)]
        np.testing.assert_array_equal(part, encoder.encode(moved))


def test_mirrored_images_are_trained_on_too():
    images = np.random.default_rng(0).integers(0, 256, (20, 9)).astype(np.uint8)
    split = Split(images, np.arange(20) % 2)
    encoder = fit_encoder(images, tuple(f"p{pixel}" for pixel in range(9)))
    samples = encode(encoder, split, shift=1, mirror=True)
    np.testing.assert_array_equal(samples.labels, np.tile(split.y, 18))
    np.testing.assert_array_equal(samples.inputs[:180], encode(encoder, split, shift=1).inputs)
    np.testing.assert_array_equal(samples.inputs[180:200], encoder.encode(mirrored(images)))
