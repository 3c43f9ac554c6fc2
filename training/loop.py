"""The training loop: compiled chunks of steps with a measurement after each."""

import functools
import math
from collections.abc import Callable
from typing import NamedTuple, TypeAlias, TypedDict

import jax
import jax.numpy as jnp
import numpy as np
import optax  # type: ignore[import-untyped]  # it has no types
from jaxtyping import Array, Float, Int

from trilut.training.config import TrainingConfig, TrainingError
from trilut.training.network import Parameters, Samples, accuracy, class_scores
from trilut.training.recipes import Recipe, harden_tables
from trilut.training.relax import look_up
from trilut.training.wiring import Wiring

__all__ = ["Measurement", "Progress", "fit"]

# Random numbers come from numpy on the host: streams that no release changes, nothing to compile.
# These tell the streams of one seed apart; the wiring has the seed alone.
_START, _BATCHES = 1, 2

Progress: TypeAlias = Callable[[int, int, float, float], None]
"""Called with step, number of steps, mean loss since the last call, hardened accuracy."""


class Measurement(TypedDict):
    """A line of the history: mean loss since the last one, and hardened validation accuracy."""

    step: int
    loss: float
    accuracy: float


class _State(NamedTuple):
    """What a step changes. With the seed, the data and the wiring it determines all later steps."""

    parameters: Parameters
    optimizer: optax.OptState
    step: Int[Array, ""]


def fit(
    recipe: Recipe,
    wiring: Wiring,
    train: Samples,
    validation: Samples,
    num_classes: int,
    config: TrainingConfig,
    *,
    progress: Progress | None = None,
) -> tuple[Parameters, list[Measurement]]:
    """Train from scratch; return the parameters that the configuration keeps, and the history.

    Raises
    ------
    TrainingError
        If the loss becomes infinite or NaN.
    """
    state = _initial_state(recipe, config)
    kept, kept_accuracy = state.parameters, -1.0
    history: list[Measurement] = []
    done = 0
    while done < config.steps:
        num_steps = min(config.evaluate_every, config.steps - done)
        state, losses = _run(
            state,
            _draw(config, len(train.labels), done, num_steps),
            wiring,
            train,
            recipe=recipe,
            num_classes=num_classes,
            total_steps=config.steps,
            optimizer=_optimizer(config),
        )
        done += num_steps
        loss = float(np.mean(np.asarray(losses)))
        if not math.isfinite(loss):
            raise TrainingError(
                f"Loss is {loss} after {done} steps; try a learning rate "
                f"below {config.learning_rate}"
            )
        tables = harden_tables(recipe, state.parameters)
        measured = accuracy(look_up, tables, wiring, validation, num_classes)
        history.append({"step": done, "loss": loss, "accuracy": measured})
        if config.keep == "last" or measured >= kept_accuracy:
            # A copy, because the next chunk takes the buffers of the state.
            kept, kept_accuracy = jax.tree.map(jnp.copy, state.parameters), measured
        if progress is not None:
            progress(done, config.steps, loss, measured)
    return kept, history


def _initial_state(recipe: Recipe, config: TrainingConfig) -> _State:
    generator = np.random.default_rng((config.seed, _START))
    parameters = tuple(recipe.init(num_gates, generator) for num_gates in config.layers)
    return _State(parameters, _optimizer(config).init(parameters), jnp.int32(0))


def _draw(
    config: TrainingConfig, num_samples: int, first_step: int, num_steps: int
) -> Int[Array, "step batch"]:
    """Draw the samples of each step, with replacement.

    The step alone decides its batch, so a training that is resumed goes on as it would have.
    """
    generators = (
        np.random.default_rng((config.seed, _BATCHES, first_step + step))
        for step in range(num_steps)
    )
    drawn = [generator.integers(num_samples, size=config.batch) for generator in generators]
    return jnp.asarray(np.stack(drawn), dtype=jnp.int32)


def _optimizer(config: TrainingConfig) -> optax.GradientTransformation:
    return _adam(config.learning_rate, config.schedule, config.steps)


# Cached because a compiled step is found again by the identity of its optimizer.
@functools.cache
def _adam(learning_rate: float, schedule: str, steps: int) -> optax.GradientTransformation:
    if schedule == "cosine":
        return optax.adam(optax.cosine_decay_schedule(learning_rate, steps))
    return optax.adam(learning_rate)


@functools.partial(
    jax.jit,
    static_argnames=("recipe", "num_classes", "total_steps", "optimizer"),
    donate_argnames="state",
)
def _run(
    state: _State,
    chosen: Int[Array, "step batch"],
    wiring: Wiring,
    samples: Samples,
    *,
    recipe: Recipe,
    num_classes: int,
    total_steps: int,
    optimizer: optax.GradientTransformation,
) -> tuple[_State, Float[Array, " step"]]:
    """Take one step for each batch of chosen samples, and return the loss of each.

    The data are arguments because XLA folds constants, which takes minutes for large ones.
    """

    def loss_of(
        parameters: Parameters, step: Int[Array, ""], batch: Int[Array, " batch"]
    ) -> Float[Array, ""]:
        scores = class_scores(recipe.layer, parameters, wiring, samples.inputs[batch], num_classes)
        progress = (step + 1).astype(scores.dtype) / total_steps
        return recipe.loss(parameters, scores, samples.labels[batch], progress)

    def take_step(state: _State, batch: Int[Array, " batch"]) -> tuple[_State, Float[Array, ""]]:
        loss, gradient = jax.value_and_grad(loss_of)(state.parameters, state.step, batch)
        # Optax counts steps in integers and mixes them with floats.
        with jax.numpy_dtype_promotion("standard"):
            update, optimizer_state = optimizer.update(gradient, state.optimizer)
        parameters = recipe.constrain(optax.apply_updates(state.parameters, update))
        return _State(parameters, optimizer_state, state.step + 1), loss

    return jax.lax.scan(take_step, state, chosen)
