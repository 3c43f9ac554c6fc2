"""The training loop: compiled chunks of steps with a measurement after each."""

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Int

from trilut.training.checkpoint import Journal, Measurement, Snapshot
from trilut.training.config import TrainingConfig
from trilut.training.dropout import Dropout
from trilut.training.errors import TrainingError
from trilut.training.network import (
    Samples,
    Topology,
    accuracy,
    accuracy_by_layer,
    standard_error,
)
from trilut.training.placement import Placement
from trilut.training.prune import prune
from trilut.training.recipes import Phase, harden_tables
from trilut.training.relax import lookup_layer
from trilut.training.samples import TrainingSamples, draw
from trilut.training.search import Wired, prefer
from trilut.training.settings.groups import Course
from trilut.training.step import Learned, State, Task, make_optimizer, run_steps
from trilut.training.wiring import Kinds

__all__ = ["Progress", "fit"]

# Random numbers come from numpy on the host: streams that no release changes, nothing to compile.
# These tell the streams of one seed apart; 3 is that of a search, and a fixed wiring has the seed
# alone.
_START, _BATCHES, _PRUNING = 1, 2, 4

# A mean loss that is so many times the first one will not come back.
_DIVERGED = 10.0

Progress: TypeAlias = Callable[[Measurement, int], None]
"""Called with each measurement and the number of all steps."""


def fit(
    phases: tuple[Phase, ...],
    train: TrainingSamples,
    validation: Samples,
    topology: Topology,
    config: TrainingConfig,
    *,
    kinds: Kinds,
    start: Learned | None = None,
    dropout: Dropout | None = None,
    progress: Progress | None = None,
    journal: Journal | None = None,
    resume: bool = False,
    mesh: Mesh | None = None,
) -> tuple[Learned, list[Measurement]]:
    """Train; return what the configuration keeps, and the history.

    Parameters
    ----------
    phases : tuple of Phase
        The recipes to follow, one after the other.
    kinds : int8 array [input]
        How many values each input has.
    start : Learned, optional
        Where the training starts, and what is kept if it finds nothing better; by default where the
        recipe and the wiring do.
    dropout : Dropout, optional
        What samples lose in training.
    journal : Journal, optional
        Where measurements and checkpoints go.
    resume : bool
        Whether to go on from the journal's checkpoint, if there is one.
    mesh : Mesh, optional
        The devices to train on; see :mod:`trilut.training.placement`.

    Raises
    ------
    TrainingError
        If the loss diverges, if the layers cannot be wired, or if the checkpoint does not fit.
    """
    total_steps = phases[-1].end
    wired = config.wiring.wire(config.network, config.course, kinds)
    task = Task(
        topology,
        make_optimizer(config.course, total_steps),
        total_steps,
        wired.rules,
        config.uncertainty.certainty,
    )
    state = _initial_state(phases, task, wired, config, start)
    place = Placement(mesh)
    snapshot = Snapshot(state, place.collect(Learned(state.parameters, state.wiring)))
    if start is not None:
        measured = _measure_layers(phases[0], start, validation, task, config.course, 0)
        snapshot = snapshot._replace(kept_accuracy=measured[-1])
    if journal is not None:
        snapshot = journal.begin(snapshot, resume=resume)
    snapshot = snapshot._replace(state=place.state(snapshot.state))
    whole, train, dropout = train, place.samples(train), place.samples(dropout)
    while snapshot.done < total_steps and not _is_overtrained(snapshot, phases, config, validation):
        phase = next(phase for phase in phases if snapshot.done < phase.end)
        if phase.pruned and snapshot.done == phase.start:
            snapshot = _pruned(snapshot, phase, whole, task, config, place)
        snapshot = _advance(
            snapshot, phase, train, dropout, validation, task, config, place, journal
        )
        if journal is not None:
            journal.record(snapshot)
        if progress is not None:
            _tell(progress, snapshot, total_steps, journal)
    if journal is not None:
        journal.save(snapshot, finished=True)
    return snapshot.kept, list(snapshot.history)


def _pruned(
    snapshot: Snapshot,
    phase: Phase,
    train: TrainingSamples,
    task: Task,
    config: TrainingConfig,
    place: Placement,
) -> Snapshot:
    """Prune what has been kept so far, which is then no longer to be had unpruned."""
    kept, state = snapshot.kept, snapshot.state
    learned, frozen = prune(
        kept,
        harden_tables(phase.recipe, kept.parameters),
        place.collect(state.frozen),
        phase.pruned,
        train,
        task.topology,
        tau=phase.recipe.tau,
        generator=np.random.default_rng((config.course.seed, _PRUNING, snapshot.done)),
    )
    state = state._replace(
        parameters=place.divide(learned.parameters),
        wiring=place.divide(learned.wiring),
        frozen=place.divide(frozen),
    )
    # A copy, because the next steps take the buffers of the state.
    return Snapshot(state, place.collect(learned), history=snapshot.history)


def _advance(
    snapshot: Snapshot,
    phase: Phase,
    train: TrainingSamples,
    dropout: Dropout | None,
    validation: Samples,
    task: Task,
    config: TrainingConfig,
    place: Placement,
    journal: Journal | None,
) -> Snapshot:
    """Train until the next measurement is due, and take it."""
    course = config.course
    next_due = (snapshot.done // course.evaluate_every + 1) * course.evaluate_every
    num_steps = min(next_due, phase.end) - snapshot.done
    batches = place.batches(_draw(course, train, snapshot.done, num_steps))
    state, losses = run_steps(
        snapshot.state, batches, train, dropout, recipe=phase.recipe, task=task
    )
    done, loss = snapshot.done + num_steps, float(np.mean(np.asarray(losses)))
    # A copy, because the next steps take the buffers of the state.
    learned = place.collect(Learned(state.parameters, state.wiring))
    _check_loss(loss, done, learned, snapshot, course.learning_rate, journal)
    layers = _measure_layers(phase, learned, validation, task, course, done)
    measured = layers[-1]
    line = Measurement(step=done, loss=loss, accuracy=measured, learning_rate=course.learning_rate)
    if len(layers) > 1:
        line["layers"] = layers
    history = (*snapshot.history, line)
    is_best = measured >= snapshot.kept_accuracy
    kept = {
        "best": is_best,
        # The smallest is what a training starts from.
        "small": is_best,
        "late": measured >= _least_accuracy(history, phase, validation.num_samples),
        "last": True,
    }
    if kept[course.keep]:
        return Snapshot(state, learned, measured, history)
    return Snapshot(state, snapshot.kept, snapshot.kept_accuracy, history)


def _least_accuracy(history: Sequence[Measurement], phase: Phase, num_samples: int) -> float:
    """Return the best accuracy of a phase so far, minus its standard error."""
    best = max(line["accuracy"] for line in history if line["step"] > phase.start)
    return best - standard_error(best, num_samples)


def _is_overtrained(
    snapshot: Snapshot, phases: tuple[Phase, ...], config: TrainingConfig, validation: Samples
) -> bool:
    """Tell whether the last measurements are all clearly below the best one."""
    patience, phase = config.course.patience, phases[-1]
    if patience is None or snapshot.done <= phase.start:
        return False
    recent = [line for line in snapshot.history if line["step"] > phase.start][-patience:]
    least = _least_accuracy(snapshot.history, phase, validation.num_samples)
    return len(recent) == patience and all(line["accuracy"] < least for line in recent)


def _measure_layers(
    phase: Phase,
    learned: Learned,
    validation: Samples,
    task: Task,
    course: Course,
    done: int,
) -> list[float]:
    """Return the accuracy with each number of layers hardened, or with all of them only.

    All are measured as often as needs no more samples than have been trained on.
    """
    recipe = phase.recipe
    tables, hard = harden_tables(recipe, learned.parameters), lookup_layer(task.topology.node)
    due = math.ceil((len(tables) + 1) * validation.num_samples / course.batch)
    is_due = done == phase.end or done // due > (done - course.evaluate_every) // due
    if recipe.is_circuit or not is_due:
        return [accuracy(hard, tables, learned.wiring, validation, task.topology)]
    functions, wiring = (recipe.layer, hard), learned.wiring
    return accuracy_by_layer(
        functions, learned.parameters, tables, wiring, validation, task.topology
    )


def _check_loss(
    loss: float,
    done: int,
    learned: Learned,
    before: Snapshot,
    learning_rate: float,
    journal: Journal | None,
) -> None:
    # With the same settings, the same would follow from the checkpoint again.
    how = "start anew with" if journal is None else "start anew with --restart and"
    if journal is not None and journal.saved_step is not None:
        how = f"go on from step {journal.saved_step}, the last one saved, with --resume and"
    advice = f"after {done} steps; {how} a learning rate below {learning_rate}"
    if not math.isfinite(loss):
        raise TrainingError(f"Loss is {loss} {advice}")
    if not all(bool(jnp.all(jnp.isfinite(layer))) for layer in learned.parameters):
        raise TrainingError(f"Parameters are infinite or NaN {advice}")
    if before.history and loss > _DIVERGED * before.history[0]["loss"]:
        first = before.history[0]["loss"]
        raise TrainingError(f"Loss has grown from {first:.4g} to {loss:.4g} {advice}")


def _tell(
    progress: Progress, snapshot: Snapshot, total_steps: int, journal: Journal | None
) -> None:
    try:
        progress(snapshot.history[-1], total_steps)
    except BaseException:
        # Most often the user who interrupts, and may want to go on later.
        if journal is not None:
            journal.save(snapshot)
        raise


def _initial_state(
    phases: tuple[Phase, ...],
    task: Task,
    wired: Wired,
    config: TrainingConfig,
    start: Learned | None,
) -> State:
    layers, recipe = config.network.layers, phases[0].recipe
    generator = np.random.default_rng((config.course.seed, _START))
    if start is None:
        parameters = tuple(recipe.init(num_gates, generator) for num_gates in layers)
    else:
        # Copies, because the steps take the buffers of the state.
        parameters, wiring = jax.tree.map(jnp.copy, start)
        wired = Wired(wiring, prefer(wired.search, wiring), wired.rules)
    is_pruned = any(phase.pruned for phase in phases)
    frozen = tuple(jnp.zeros(width, dtype=bool) for width in layers) if is_pruned else ()
    optimizer = task.optimizer.init(parameters)
    return State(parameters, wired.wiring, wired.search, optimizer, jnp.int32(0), frozen)


def _draw(
    course: Course, train: TrainingSamples, first_step: int, num_steps: int
) -> Int[Array, "step batch"]:
    """Draw the samples of each step.

    The step alone decides its batch, so a training that is resumed goes on as it would have.
    """
    generators = (
        np.random.default_rng((course.seed, _BATCHES, first_step + step))
        for step in range(num_steps)
    )
    drawn = [draw(train, course.batch, generator) for generator in generators]
    return jnp.asarray(np.stack(drawn), dtype=jnp.int32)
