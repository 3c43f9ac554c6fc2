"""Encoded samples on the device; more training images made from those that there are."""

import itertools
import math

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from trilut.data import Split
from trilut.encoder import Encoder
from trilut.training.config import TrainingError
from trilut.training.network import Samples

__all__ = ["encode", "mirrored", "shifted"]

# What numpy calls this; the alias keeps signatures on one line.
Images = NDArray[np.float64 | np.uint8]


def encode(encoder: Encoder, split: Split, *, shift: int = 0, mirror: bool = False) -> Samples:
    """Encode a split, with its images shifted and mirrored if that is asked for."""
    images = shifted(split.x, shift) if shift else [split.x]
    if mirror:
        images = [*images, *map(mirrored, images)]
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
    images = _as_images(x)
    side = images.shape[3]
    padded = np.pad(images, ((0, 0), (0, 0), (shift, shift), (shift, shift)), mode="edge")
    moves = sorted(itertools.product(range(-shift, shift + 1), repeat=2), key=_distance)
    return [
        padded[:, :, shift + down :, shift + right :][:, :, :side, :side].reshape(x.shape)
        for down, right in moves
    ]


def mirrored(x: Images) -> Images:
    """Return images with left and right exchanged; they and errors are as for :func:`shifted`."""
    return _as_images(x)[:, :, :, ::-1].reshape(x.shape)


def _distance(move: tuple[int, ...]) -> int:
    return sum(step**2 for step in move)


def _as_images(x: Images) -> Images:
    """Return features as [sample, colour, row, column]."""
    num_features = x.shape[1]
    for channels in (1, 3):
        side = math.isqrt(num_features // channels)
        if channels * side**2 == num_features:
            return x.reshape(-1, channels, side, side)
    raise TrainingError(
        f"Settings 'shift' and 'mirror' need square images, but there are {num_features} features"
    )
