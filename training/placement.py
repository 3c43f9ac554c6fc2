"""Where arrays live when more than one device trains: JAX's own sharding, along two axes.

The mesh has an axis ``batch``, along which the samples of a batch are divided, and an axis
``gate``, along which the gates of every layer are. XLA adds the communication. The recipe ``hard``
learns the same bit for bit on any mesh; the others do up to the order of sums. Processes on several
machines join by ``jax.distributed.initialize()`` before anything else; each calls the same
functions with the same arguments, and the first of them writes the files.
"""

from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Int

from trilut.training.errors import TrainingError
from trilut.training.search import SlotSearch
from trilut.training.step import State

__all__ = ["Placement", "make_mesh"]

_T = TypeVar("_T")


def make_mesh(*, batch: int = 1, gate: int = 1) -> Mesh:
    """Return a mesh of ``batch`` × ``gate`` devices, of all processes together.

    Raises
    ------
    TrainingError
        If there are fewer devices.
    """
    if batch * gate > jax.device_count():
        raise TrainingError(
            f"A mesh of {batch} × {gate} needs {batch * gate} devices, "
            f"but there are {jax.device_count()}"
        )
    devices = np.array(jax.devices()[: batch * gate]).reshape(batch, gate)
    return Mesh(devices, ("batch", "gate"), axis_types=(AxisType.Auto, AxisType.Auto))


class Placement:
    """Puts arrays where a mesh wants them and collects them again; without a mesh, does nothing.

    An axis that cannot be divided equally is not divided.
    """

    def __init__(self, mesh: Mesh | None = None):
        self._mesh = mesh

    def state(self, state: State) -> State:
        """Divide a state by gates."""
        # Scores are [block, slot, candidate]; all else that has as many rows as gates is [gate, …].
        return State(
            self.divide(state.parameters),
            self.divide(state.wiring),
            tuple(tuple(map(self._divide_slots, layer)) for layer in state.search),
            self.divide(state.optimizer),
            self._put(state.step),
            self.divide(state.frozen),
        )

    def _divide_slots(self, search: SlotSearch) -> SlotSearch:
        return SlotSearch(
            candidates=self._put(search.candidates),
            scores=self._put(search.scores, None, "gate"),
            momentum=self._put(search.momentum, None, "gate"),
            places=self._put(search.places),
        )

    def batches(self, chosen: Int[Array, "step batch"]) -> Int[Array, "step batch"]:
        """Divide the samples of each batch."""
        return self._put(chosen, None, "batch")

    def samples(self, samples: _T) -> _T:
        """Give every device all samples."""
        return jax.tree.map(self._put, samples)

    def collect(self, tree: _T) -> _T:
        """Return a copy with whole arrays that every process can read."""
        if self._mesh is None:
            return jax.tree.map(jnp.copy, tree)
        whole = jax.jit(lambda tree: tree, out_shardings=_sharding(self._mesh))
        return jax.tree.map(lambda array: jnp.asarray(np.asarray(array)), whole(tree))

    def divide(self, tree: _T) -> _T:
        """Divide arrays by gates, their first axis."""
        return jax.tree.map(
            lambda array: self._put(array, "gate") if array.ndim else self._put(array), tree
        )

    def _put(self, array: Array, *axes: str | None) -> Array:
        if self._mesh is None:
            return array
        divisible = [
            axis if axis and array.shape[dimension] % self._mesh.shape[axis] == 0 else None
            for dimension, axis in enumerate(axes)
        ]
        return jax.device_put(np.asarray(array), _sharding(self._mesh, *divisible))


def _sharding(mesh: Mesh, *axes: str | None) -> NamedSharding:
    return NamedSharding(mesh, PartitionSpec(*axes))  # type: ignore[no-untyped-call]  # it has none
