"""One step of the training: gradient, optimiser and, if the wiring is learned, the search."""

import functools
from typing import NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import optax  # type: ignore[import-untyped]  # it has no types
from jaxtyping import Array, Bool, Float, Int

from trilut.training.dropout import Dropout
from trilut.training.network import (
    LayerValues,
    Parameters,
    Probes,
    Topology,
    class_scores,
    forward,
    open_scores,
    sources,
    zero_probes,
)
from trilut.training.recipes import Recipe
from trilut.training.samples import TrainingSamples
from trilut.training.search import Search, SearchRules, choose_wires
from trilut.training.settings.groups import Course
from trilut.training.wiring import Wiring

__all__ = ["Frozen", "Learned", "State", "Task", "make_optimizer", "run_steps"]


# Where the learning rate starts again after pruning, as a part of where it was at first.
_PRUNE_RATE = 0.4

Frozen: TypeAlias = tuple[Bool[Array, " _"], ...]
"""Which gates of each layer have been pruned and stay so; empty where none ever will be."""


class State(NamedTuple):
    """What a step changes. With the seed and the data it determines all later steps."""

    parameters: Parameters
    wiring: Wiring
    search: Search
    optimizer: optax.OptState
    step: Int[Array, ""]
    frozen: Frozen = ()


class Learned(NamedTuple):
    """What becomes the circuit."""

    parameters: Parameters
    wiring: Wiring


class Task(NamedTuple):
    """What all steps have in common; a key to compiled code.

    Parameters
    ----------
    certainty : float
        How far UNKNOWN outputs count as votes against the right class: 0 not at all, 1 as such.
    """

    topology: Topology
    optimizer: optax.GradientTransformation
    total_steps: int
    search: SearchRules | None = None
    certainty: float = 0.0


def make_optimizer(course: Course, total_steps: int) -> optax.GradientTransformation:
    """Return the optimiser of a training, with those steps that come after its course."""
    prune_steps = total_steps - course.steps
    return _adam(course.learning_rate, course.schedule, course.steps, prune_steps)


# Cached because a compiled step is found again by the identity of its optimizer.
@functools.cache
def _adam(
    learning_rate: float, schedule: str, steps: int, prune_steps: int
) -> optax.GradientTransformation:
    if schedule == "constant":
        return optax.adam(learning_rate)
    decay = optax.cosine_decay_schedule(learning_rate, steps)
    if prune_steps:
        again = optax.cosine_decay_schedule(_PRUNE_RATE * learning_rate, prune_steps)
        decay = optax.join_schedules([decay, again], [steps])
    return optax.adam(decay)


@functools.partial(jax.jit, static_argnames=("recipe", "task"), donate_argnames="state")
def run_steps(
    state: State,
    chosen: Int[Array, "step batch"],
    samples: TrainingSamples,
    dropout: Dropout | None = None,
    *,
    recipe: Recipe,
    task: Task,
) -> tuple[State, Float[Array, " step"]]:
    """Take one step for each batch of chosen samples, and return the loss of each.

    The data are arguments because XLA folds constants, which takes minutes for large ones. What a
    batch loses depends on the number of the step, so a training that is resumed goes on as it
    would have.
    """

    def take_step(state: State, batch: Int[Array, " batch"]) -> tuple[State, Float[Array, ""]]:
        inputs, labels = samples.batch(batch)
        if dropout is not None:
            inputs = dropout.apply(inputs, state.step)
        return _step(state, inputs.T.astype(state.parameters[0].dtype), labels, recipe, task)

    return jax.lax.scan(take_step, state, chosen)


def _step(
    state: State,
    inputs: Float[Array, "input batch"],
    labels: Int[Array, " batch"],
    recipe: Recipe,
    task: Task,
) -> tuple[State, Float[Array, ""]]:
    def loss_of(
        parameters: Parameters, probes: Probes | None
    ) -> tuple[Float[Array, ""], LayerValues]:
        disturbed = recipe.disturb(parameters, state.step)
        values = forward(recipe.layer, disturbed, state.wiring, inputs, task.topology, probes)
        scores = class_scores(values, task.topology)
        if task.certainty:
            against = open_scores(values, labels, task.topology)
            scores = scores + task.certainty * jax.lax.stop_gradient(against)
        progress = (state.step + 1).astype(scores.dtype) / task.total_steps
        return recipe.loss(parameters, scores, labels, progress), values

    def learn() -> tuple[Float[Array, ""], Parameters, Wiring, Search]:
        (loss, _), gradient = jax.value_and_grad(loss_of, has_aux=True)(state.parameters, None)
        return loss, gradient, state.wiring, state.search

    def learn_and_rewire(
        rules: SearchRules,
    ) -> tuple[Float[Array, ""], Parameters, Wiring, Search]:
        num_slots = len(task.topology.node.radices)
        probes = zero_probes(state.parameters, num_slots, len(labels))
        gradient_of = jax.value_and_grad(loss_of, argnums=(0, 1), has_aux=True)
        (loss, values), (gradient, slots) = gradient_of(state.parameters, probes)
        return loss, gradient, *_rewire(rules, state, slots, values, inputs, task.topology)

    if task.search is None:
        loss, gradient, wiring, search = learn()
    else:
        # The gradient to the slots adds half as much again to a step, and not every one needs it.
        loss, gradient, wiring, search = jax.lax.cond(
            task.search.due(state.step), functools.partial(learn_and_rewire, task.search), learn
        )
    # Optax counts steps in integers and mixes them with floats.
    with jax.numpy_dtype_promotion("standard"):
        update, optimizer = task.optimizer.update(gradient, state.optimizer)
    parameters = recipe.constrain(optax.apply_updates(state.parameters, update))
    if state.frozen:
        parameters = tuple(map(_unless_frozen, state.frozen, state.parameters, parameters))
    return State(parameters, wiring, search, optimizer, state.step + 1, state.frozen), loss


def _unless_frozen(
    frozen: Bool[Array, " gate"], old: Float[Array, "gate row"], new: Float[Array, "gate row"]
) -> Float[Array, "gate row"]:
    return jnp.where(frozen[:, None], old, new)


def _rewire(
    rules: SearchRules,
    state: State,
    slots: Probes,
    values: LayerValues,
    inputs: Float[Array, "input batch"],
    topology: Topology,
) -> tuple[Wiring, Search]:
    """Return the wiring and the search after an update."""
    search = tuple(
        rules.update(
            layer_search,
            jnp.concatenate(slots[layer]),
            sources(values[:layer], inputs, topology),
            state.step,
        )
        for layer, layer_search in enumerate(state.search)
    )
    return choose_wires(rules, search), search
