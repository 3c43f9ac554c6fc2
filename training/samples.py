"""Encoded samples on the device; more training images made from those that there are."""

import itertools
import math
from typing import NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from numpy.typing import NDArray

from trilut.circuit.encoder import Encoder
from trilut.data import Split
from trilut.training.errors import TrainingError
from trilut.training.network import Batch, Samples

__all__ = [
    "MovedImages",
    "TrainingSamples",
    "draw",
    "encode",
    "mirrored",
    "move_images",
    "shifted",
    "turned",
]

_MOVES = "Settings 'shift', 'turn' and 'mirror'"

# The parts of the largest angle that images are turned by; not at all first.
_TURNS = (0.0, -1.0, -0.5, 0.5, 1.0)

# What numpy calls these; the aliases keep signatures on one line.
Images = NDArray[np.number]
Integers = NDArray[np.int64]


class MovedImages(NamedTuple):
    """Images that are moved and encoded when they are asked for, so that moves take no memory.

    With n images, sample k is image k modulo n, moved in the way k // n.

    Parameters
    ----------
    pixels : integer array [image, pixel]
        The rank of each pixel's value among all values that it can have.
    labels : int32 array [image]
        The class of each image.
    origin : int32 array [move, pixel]
        The pixel that comes to be at each place.
    feature : int32 array [input]
        The place that an input looks at.
    low, high : integer array [input]
        Thresholds of the inputs, as ranks.
    weights : float32 array [image], optional
        How much each image counts; without, all count the same.
    """

    pixels: Int[Array, "image pixel"]
    labels: Int[Array, " image"]
    origin: Int[Array, "move pixel"]
    feature: Int[Array, " input"]
    low: Int[Array, " input"]
    high: Int[Array, " input"]
    weights: Float[Array, " image"] | None = None

    @property
    def num_samples(self) -> int:
        """Number of images times number of moves."""
        return len(self.labels) * len(self.origin)

    @property
    def num_inputs(self) -> int:
        """Number of values in a sample."""
        return len(self.feature)

    def batch(self, chosen: Int[Array, " batch"]) -> Batch:
        """Return some of the samples."""
        move, image = jnp.divmod(chosen, len(self.labels))
        # A loop, because XLA would else fuse this with the comparisons and look every pixel up
        # again for each of its thresholds.
        moved = jax.lax.map(
            lambda place: self.pixels[place[0]][self.origin[place[1]]], (image, move)
        )
        # Training wants [input, batch]. Pixels are transposed because they are fewer than inputs.
        seen = moved.T[self.feature]
        is_high, is_low = seen >= self.high[:, None], seen < self.low[:, None]
        trits = is_high.astype(jnp.int8) - is_low.astype(jnp.int8)
        return trits.T, self.labels[image]


TrainingSamples: TypeAlias = Samples | MovedImages
"""What a training learns from."""


def encode(encoder: Encoder, split: Split) -> Samples:
    """Encode a split."""
    labels = jnp.asarray(split.y.astype(np.int32))
    return Samples(jnp.asarray(encoder.encode(split.x)), labels, _weights(split))


def _weights(split: Split) -> Float[Array, " sample"] | None:
    if split.weights is None or len(split) == 0:
        return None
    # Only ratios matter; so scaled, none is too large or too small for a float32 with all others.
    return jnp.asarray((split.weights / split.weights.max()).astype(np.float32))


def draw(samples: TrainingSamples, size: int, generator: np.random.Generator) -> Integers:
    """Draw samples with replacement, each as often as its weight says.

    A sample of weight 2 is drawn as often as two of weight 1. The mean loss over batches is then
    the weighted one, and a recipe need not know of weights: the gradients of its steps are as
    large, and as exact, as without.
    """
    if samples.weights is None:
        return generator.integers(samples.num_samples, size=size)
    # Moved images have a weight for all their moves.
    moves, own = samples.num_samples // len(samples.weights), np.asarray(samples.weights)
    ends = np.cumsum(own, dtype=np.float64)
    drawn = np.searchsorted(ends, generator.random(size) * ends[-1], side="right")
    # A product may be rounded up to the end of all.
    drawn = np.minimum(drawn, np.flatnonzero(own)[-1])
    return generator.integers(moves, size=size) * len(own) + drawn


def move_images(
    encoder: Encoder, split: Split, *, shift: int = 0, turn: float = 0.0, mirror: bool = False
) -> MovedImages:
    """Return the images of a split, with all shifted, turned and mirrored ones.

    Raises
    ------
    TrainingError
        If the features are no image, or some are missing.
    """
    if np.isnan(split.x).any():
        raise TrainingError(f"{_MOVES} need images without missing pixels")
    moves = shifted(np.arange(split.x.shape[1])[None], shift)
    if turn:
        moves = [turned(move, turn * part) for part in _TURNS for move in moves]
    if mirror:
        moves = [*moves, *map(mirrored, moves)]
    values, ranks = _rank(split.x)
    # Signed, and wide enough for the threshold above all ranks.
    dtype = np.min_scalar_type(-len(values) - 1)
    low, high = _rank_thresholds(encoder, values)
    return MovedImages(
        jnp.asarray(ranks.astype(dtype)),
        jnp.asarray(split.y.astype(np.int32)),
        jnp.asarray(np.concatenate(moves).astype(np.int32)),
        jnp.asarray(encoder.feature.astype(np.int32)),
        jnp.asarray(low.astype(dtype)),
        jnp.asarray(high.astype(dtype)),
        _weights(split),
    )


def _rank(x: Images) -> tuple[Images, Images]:
    """Return the values that pixels can have, and the rank of each pixel among them."""
    if x.dtype == np.uint8:
        # Sorting all pixels of CIFAR-10 would take most of a minute.
        return np.arange(256, dtype=np.uint8), x
    values, ranks = np.unique(x, return_inverse=True)
    return values, ranks.reshape(x.shape)


def _rank_thresholds(encoder: Encoder, values: Images) -> tuple[Integers, Integers]:
    """Return for each trit how many of some values, which rise, are below its two thresholds.

    Where a scale is negative, integers fall while values rise, and there are no such numbers.
    """
    columns = np.broadcast_to(values[:, None], (len(values), len(encoder.features)))
    levels = encoder.quantize(columns).values[:, encoder.feature]
    if np.any(np.diff(levels, axis=0) < 0):
        raise TrainingError(f"{_MOVES} need features of positive scale")
    return (levels < encoder.low).sum(axis=0), (levels < encoder.high).sum(axis=0)


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


def turned(x: Images, degrees: float) -> Images:
    """Return images turned to the left about their centres, without new values.

    A pixel becomes the one next to where it comes from, or the nearest at the edge. Images and
    errors are as for :func:`shifted`.
    """
    images = _as_images(x)
    side = images.shape[3]
    middle, angle = (side - 1) / 2, math.radians(degrees)
    row, column = np.mgrid[:side, :side] - middle
    from_row = math.cos(angle) * row + math.sin(angle) * column
    from_column = math.cos(angle) * column - math.sin(angle) * row
    nearest = [
        np.clip(np.rint(place + middle), 0, side - 1).astype(int)
        for place in (from_row, from_column)
    ]
    return images[:, :, nearest[0], nearest[1]].reshape(x.shape)


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
    raise TrainingError(f"{_MOVES} need square images, but there are {num_features} features")
