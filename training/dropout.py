"""Features that fall silent in training, so that the circuit learns to do without them."""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Int8

from trilut.circuit.encoder import Encoder
from trilut.text import did_you_mean
from trilut.training.errors import TrainingError
from trilut.training.network import Samples
from trilut.training.settings.groups import Uncertainty

__all__ = ["Dropout", "make_dropout"]

# Samples that lose features at a time, where all of a split do.
_SLICE = 1024

# Tells these random numbers apart from the others of a seed.
_STREAM = 5


class Dropout(NamedTuple):
    """Which features a sample loses; drawn anew whenever it is, so that no copies are kept.

    Parameters
    ----------
    leader : int32 array [input]
        The first of the inputs that are lost together with an input.
    lowest, highest : float32
        Bounds of the share that a sample loses, which is drawn between them.
    missing : int8 array [input]
        What an input is when its feature is missing.
    seed : uint32
        Seed of all that is drawn.
    """

    leader: Int[Array, " input"]
    lowest: Float[Array, ""]
    highest: Float[Array, ""]
    missing: Int8[Array, " input"]
    seed: Int[Array, ""]

    def apply(
        self, inputs: Int8[Array, "sample input"], draw: Int[Array, ""]
    ) -> Int8[Array, "sample input"]:
        """Return samples without what they lose in a draw, which is known by its number."""
        key = jax.random.fold_in(jax.random.key(self.seed), draw)
        for_share, for_sensor = jax.random.split(key)
        share = jax.random.uniform(for_share, (len(inputs), 1))
        share = self.lowest + share * (self.highest - self.lowest)
        chance = jax.random.uniform(for_sensor, inputs.shape)
        return jnp.where(chance[:, self.leader] < share, self.missing, inputs)

    def on_split(self, samples: Samples) -> Samples:
        """Return all samples of a split after one draw, the same in every training."""
        starts = range(0, samples.num_samples, _SLICE)
        # Steps are counted upwards from 0, so these numbers are no step's.
        parts = [
            self.apply(samples.inputs[start : start + _SLICE], jnp.int32(-1 - start))
            for start in starts
        ]
        return samples._replace(inputs=jnp.concatenate(parts))


def make_dropout(encoder: Encoder, uncertainty: Uncertainty, *, seed: int) -> Dropout | None:
    """Return what the samples of a training lose, or None if they lose nothing.

    Raises
    ------
    TrainingError
        If a group has a feature that is not there.
    """
    if not any(uncertainty.missing):
        return None
    sensor = _sensors(encoder, uncertainty.missing_groups)[encoder.feature]
    _, first, of_input = np.unique(sensor, return_index=True, return_inverse=True)
    return Dropout(
        jnp.asarray(first[of_input], dtype=jnp.int32),
        jnp.float32(uncertainty.missing[0]),
        jnp.float32(uncertainty.missing[-1]),
        jnp.asarray(encoder.missing),
        jnp.uint32(np.random.SeedSequence((seed, _STREAM)).generate_state(1)[0]),
    )


def _sensors(
    encoder: Encoder, groups: Sequence[Sequence[str]]
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the number of the sensor that each feature comes from."""
    columns = _columns(encoder)
    number = {column: place for place, column in enumerate(dict.fromkeys(columns))}
    sensor = np.arange(len(number))
    for group in groups:
        for column in group:
            if column not in number:
                raise TrainingError(
                    f"A group of features has {column!r}, which is no feature"
                    f"{did_you_mean(column, number)}"
                )
            sensor[number[column]] = number[group[0]]
    return sensor[[number[column] for column in columns]]


def _columns(encoder: Encoder) -> list[str]:
    """Return the column of the data that each feature was made from; several are of one text."""
    of_text = {
        f"{column}={category}": column
        for column, known in encoder.categories.items()
        for category in known
    }
    return [of_text.get(feature.name, feature.name) for feature in encoder.features]
