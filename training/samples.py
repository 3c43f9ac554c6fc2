"""Encoded samples on the device; more training images by shifting those that there are."""

import itertools
import math

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from trilut.data import Split
from trilut.encoder import Encoder
from trilut.training.config import TrainingError
from trilut.training.network import Samples

__all__ = ["encode", "shifted"]

# What numpy calls this; the alias keeps signatures on one line.
Images = NDArray[np.float64 | np.uint8]


def encode(encoder: Encoder, split: Split, *, shift: int = 0) -> Samples:
    """Encode a split, with all shifts of its images if there is one; see :func:`shifted`."""
    images = shifted(split.x, shift) if shift else [split.x]
    inputs = [encoder.encode(x) for x in images]
    labels = np.tile(split.y.astype(np.int32), len(inputs))
    return Samples(jnp.asarray(np.concatenate(inputs)), jnp.asarray(labels))


def shifted(x: Images, shift: int) -> list[Images]:
    """Return images [sample, feature] moved by 0 … ``shift`` pixels in both directions.

    Images are square, row by row, of one colour or of three, one colour after the other. What comes
    in at an edge is the edge repeated. The images as they are come first.

    Raises
    ------
    TrainingError
        If the features are no such image.
    """
    channels, side = _image_shape(x.shape[1])
    images = x.reshape(-1, channels, side, side)
    padded = np.pad(images, ((0, 0), (0, 0), (shift, shift), (shift, shift)), mode="edge")
    moves = sorted(itertools.product(range(-shift, shift + 1), repeat=2), key=_distance)
    return [
        padded[:, :, shift + down :, shift + right :][:, :, :side, :side].reshape(x.shape)
        for down, right in moves
    ]


def _distance(move: tuple[int, ...]) -> int:
    return sum(step**2 for step in move)


def _image_shape(num_features: int) -> tuple[int, int]:
    for channels in (1, 3):
        side = math.isqrt(num_features // channels)
        if channels * side**2 == num_features:
            return channels, side
    raise TrainingError(
        f"Setting 'shift' needs square images, but there are {num_features} features"
    )
