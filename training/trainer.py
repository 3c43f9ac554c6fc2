"""Training as a whole: from a data set to a hardened netlist and its accuracy."""

import dataclasses
import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Float, Int8

from trilut.circuit.encoder import Encoder
from trilut.circuit.netlist import Netlist
from trilut.data import Dataset, load_dataset
from trilut.data.names import absolute_name
from trilut.measure.metrics import hardening_error
from trilut.training.boosting import Boosted, boost, comparator_costs
from trilut.training.checkpoint import Journal, Measurement, write_history
from trilut.training.config import TrainingConfig
from trilut.training.dropout import Dropout, make_dropout
from trilut.training.encoding import fit_encoder, input_kinds, with_bits, with_presence
from trilut.training.errors import TrainingError
from trilut.training.hardening import harden
from trilut.training.loop import Progress, fit
from trilut.training.network import (
    LayerFunction,
    Parameters,
    Samples,
    Topology,
    accuracy,
    forward,
)
from trilut.training.recipes import Recipe, harden_tables
from trilut.training.relax import lookup_layer
from trilut.training.samples import TrainingSamples, encode, move_images
from trilut.training.settings.groups import Augmentation
from trilut.training.step import Learned
from trilut.training.wiring import Wiring

__all__ = ["Accuracies", "Fitted", "TrainingResult", "fit_dataset", "train"]

# Samples whose outputs are compared at a time, which bounds the memory.
_SLICE = 1024


@dataclass(frozen=True, slots=True)
class Accuracies:
    """Fractions of right answers on the samples that were not trained on.

    Validation samples miss features if training samples do; test samples are as they come.

    Parameters
    ----------
    validation, test : float
        The test accuracy is NaN for a data set without test samples.
    """

    validation: float
    test: float


@dataclass(frozen=True, slots=True, eq=False)
class TrainingResult:
    """A trained circuit and how it came to be.

    Parameters
    ----------
    netlist : Netlist
        The hardened circuit.
    config : TrainingConfig
        The settings that it was trained with.
    soft : Accuracies
        Accuracy of the training forward. Under the recipe ``hard`` that is the circuit.
    hardened : Accuracies
        Accuracy of the circuit.
    history : list of Measurement
        The course of the training.
    fitted : Fitted
        The network that was hardened.
    """

    netlist: Netlist
    config: TrainingConfig
    soft: Accuracies
    hardened: Accuracies
    history: list[Measurement]
    fitted: "Fitted"


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A trained network of any valence, not yet a netlist.

    Parameters
    ----------
    recipe : Recipe
        The recipe of the last phase.
    learned : Learned
        Parameters and wiring.
    tables : tuple of float32 arrays [gate, row]
        The truth tables that the layers harden to.
    topology, encoder
        What the network reads and sums.
    soft, hardened, history
        As in TrainingResult.
    hardening_error : float, optional
        Mean distance of the soft outputs from those of the circuit on the test set; None without
        one, and for a recipe whose training forward is the circuit.
    """

    recipe: Recipe
    learned: Learned
    tables: Parameters
    topology: Topology
    encoder: Encoder
    soft: Accuracies
    hardened: Accuracies
    history: list[Measurement]
    hardening_error: float | None = None


def train(
    dataset: Any,
    config: Any = None,
    *,
    encoder: Encoder | None = None,
    abstain_margin: int = 1,
    progress: Progress | None = None,
    directory: str | Path | None = None,
    resume: bool = False,
    mesh: Mesh | None = None,
    **settings: Any,
) -> TrainingResult:
    """Train a circuit and harden it. The same data and settings give the same netlist.

    Call it as ``train(dataset)``, ``train(dataset, config)``, ``train(X, y, steps=500)`` or
    ``train("table.csv")``.

    Parameters
    ----------
    dataset : Dataset, or array or frame [sample, feature], or name or file of a data set
        The training split is learned from, the validation split chooses the parameters that are
        kept, and the test split is looked at once, at the end. Samples are split as by
        :meth:`trilut.data.Dataset.from_arrays`.
    config : TrainingConfig, or array [sample]
        The settings, by default those that suit the data set; or the labels of samples.
    encoder : Encoder, optional
        What to encode features with; by default one that is fitted to the training split.
    abstain_margin : int
        The margin below which the circuit abstains. It has no part in the learning.
    progress : callable, optional
        See :data:`trilut.training.loop.Progress`. What it raises ends the training.
    directory : path, optional
        Where ``metrics.jsonl`` and checkpoints are written as the training goes on.
    resume : bool
        Whether to go on from the checkpoint in the directory, if there is one. The netlist is the
        same as if the training had never been interrupted.
    mesh : Mesh, optional
        The devices to train on, from :func:`trilut.training.make_mesh`; by default the first one.
    **settings
        Settings that differ from those that suit the data set, as
        :meth:`TrainingConfig.for_dataset` takes them.

    Raises
    ------
    TrainingError
        If the settings do not fit the data or the checkpoint, or if the loss diverges.
    DataError
        If the samples cannot be used, or the features tell nothing.
    """
    dataset, config = _task(dataset, config, settings)
    if config.recipe.valence > 3:
        raise TrainingError(
            f"Setting 'valence' is {config.recipe.valence}, but a netlist has valence 2 or 3; "
            "use trilut.training.fit_dataset"
        )
    head = config.head(dataset.class_names, abstain_margin=abstain_margin)
    fitted = fit_dataset(
        dataset,
        config,
        encoder=encoder,
        progress=progress,
        directory=directory,
        resume=resume,
        mesh=mesh,
    )
    provenance: dict[str, object] = {
        "trilut": version("trilut"),
        "data": _data_provenance(dataset),
        "training": config.settings,
        "accuracy": _accuracy_provenance(fitted),
    }
    rates = _learning_rates(fitted.history)
    if len(rates) > 1:
        # The settings alone would not give this netlist again.
        provenance["learning_rates"] = rates
    if config.starts_from_trees:
        # There may be fewer gates than there could have been.
        sizes = (len(fitted.tables[0]) // dataset.num_classes,) * dataset.num_classes
        limit = max(1, int(np.abs(np.asarray(fitted.tables[0])).max()))
        head = dataclasses.replace(head, group_sizes=sizes, limit=limit, tau=fitted.recipe.tau)
    netlist = harden(
        fitted.tables,
        fitted.learned.wiring,
        fitted.topology,
        encoder=fitted.encoder,
        head=head,
        name=dataset.name,
        provenance=provenance,
    )
    return TrainingResult(netlist, config, fitted.soft, fitted.hardened, fitted.history, fitted)


def _task(data: Any, config: Any, settings: Mapping[str, Any]) -> tuple[Dataset, TrainingConfig]:
    """Return the data set and the settings that a call of :func:`train` means."""
    if isinstance(data, str | Path):
        data = load_dataset(str(data), seed=settings.get("seed", 0))
    if not isinstance(data, Dataset):
        if config is None or isinstance(config, TrainingConfig):
            raise TypeError(
                f"train() has got samples of type {type(data).__name__} without labels, "
                "expected train(X, y) or train(dataset)"
            )
        data = Dataset.from_arrays(data, config, seed=settings.get("seed", 0))
        config = None
    if config is None:
        config = TrainingConfig.for_dataset(data, **settings)
    elif not isinstance(config, TrainingConfig):
        raise TypeError(
            f"train() has got a data set and a {type(config).__name__}, expected a TrainingConfig"
        )
    elif settings:
        raise TypeError(
            f"train() has got a TrainingConfig and the setting {min(settings)!r}, expected either"
        )
    return data, config


def fit_dataset(
    dataset: Dataset,
    config: TrainingConfig,
    *,
    encoder: Encoder | None = None,
    progress: Progress | None = None,
    directory: str | Path | None = None,
    resume: bool = False,
    mesh: Mesh | None = None,
) -> Fitted:
    """Train a network of any valence; parameters and errors are those of :func:`train`."""
    tau = config.head(dataset.class_names).tau
    encoder = encoder or _fit_encoder(dataset, config)
    valence, network = config.recipe.valence, config.network
    if config.is_binary and not encoder.is_binary:
        reader = f"gates {network.node!r}" if valence == 3 else f"a network of valence {valence}"
        raise TrainingError(f"The encoder has UNKNOWN bands, which {reader} cannot read")
    topology = Topology(
        dataset.num_classes, network.skip, network.output_layers, network.shape(valence)
    )
    samples = _training_samples(encoder, dataset, config)
    validation = encode(encoder, dataset.validation)
    dropout = make_dropout(encoder, config.uncertainty, seed=config.course.seed)
    if dropout is not None:
        validation = dropout.on_split(validation)
    place = None if directory is None else Path(directory)
    layers, start, history = network.layers, None, []
    if config.starts_from_trees:
        boosted = _boost(encoder, dataset, validation, dropout, config, topology, progress)
        start, history, tau = boosted.learned, boosted.history, config.course.tau or boosted.tau
        layers = (len(start.parameters[0]),)
    phases = config.phases(tau=tau)
    if config.course.steps:
        data = (samples, dropout)
        journal = None if place is None else Journal(place, config, data, phases[-1].end)
        learned, history = fit(
            phases,
            samples,
            validation,
            topology,
            config.with_layers(layers),
            kinds=input_kinds(encoder, topology.node),
            start=start,
            dropout=dropout,
            progress=progress,
            journal=journal,
            resume=resume,
            mesh=mesh,
        )
    else:
        assert start is not None
        learned = start
        if place is not None:
            write_history(place, history)
    test = encode(encoder, dataset.test)

    def accuracies(layer_function: LayerFunction, parameters: Parameters) -> Accuracies:
        measure = (
            accuracy(layer_function, parameters, learned.wiring, part, topology)
            if part.num_samples
            else math.nan
            for part in (validation, test)
        )
        return Accuracies(*measure)

    recipe = phases[-1].recipe
    tables = harden_tables(recipe, learned.parameters)
    soft = accuracies(recipe.layer, learned.parameters)
    hardened = accuracies(lookup_layer(topology.node), tables)
    is_exact = recipe.is_circuit or test.num_samples == 0
    error = None if is_exact else _hardening_error(recipe, learned, tables, test, topology)
    return Fitted(recipe, learned, tables, topology, encoder, soft, hardened, history, error)


def _hardening_error(
    recipe: Recipe, learned: Learned, tables: Parameters, samples: Samples, topology: Topology
) -> float:
    """Return the mean distance of the soft outputs from those of the circuit."""
    inputs = np.asarray(samples.inputs)
    layers = ((recipe.layer, learned.parameters), (lookup_layer(topology.node), tables))
    total = 0.0
    for start in range(0, len(inputs), _SLICE):
        part = jnp.asarray(inputs[start : start + _SLICE])
        soft, hard = (
            np.asarray(_outputs(*each, learned.wiring, part, topology)) for each in layers
        )
        total += hardening_error(soft, hard) * len(part)
    return total / len(inputs)


@functools.partial(jax.jit, static_argnames=("layer_function", "topology"))
def _outputs(
    layer_function: LayerFunction,
    parameters: Parameters,
    wiring: Wiring,
    inputs: Int8[Array, "batch input"],
    topology: Topology,
) -> Float[Array, "batch output"]:
    values = inputs.T.astype(parameters[0].dtype)
    layers = forward(layer_function, parameters, wiring, values, topology)
    return jnp.concatenate(layers[-topology.output_layers :]).T


def _accuracy_provenance(fitted: Fitted) -> dict[str, object]:
    error = fitted.hardening_error
    return {
        "soft": _known(fitted.soft),
        "hardened": _known(fitted.hardened),
        **({} if error is None else {"hardening_error": error}),
    }


def _known(accuracies: Accuracies) -> dict[str, float]:
    shares = dataclasses.asdict(accuracies)
    return {name: share for name, share in shares.items() if not math.isnan(share)}


def _learning_rates(history: list[Measurement]) -> list[dict[str, float]]:
    """Return each learning rate of a training with the last step that had it."""
    last = {line["learning_rate"]: line["step"] for line in history}
    return [{"learning_rate": rate, "until": step} for rate, step in last.items()]


def _data_provenance(dataset: Dataset) -> dict[str, object]:
    origin: dict[str, object] = {"name": dataset.name, "seed": dataset.seed}
    absolute = absolute_name(dataset.name)
    # Only a file has another one, so that named data sets give the same netlist everywhere.
    return origin if absolute == dataset.name else {**origin, "absolute_name": absolute}


def _training_samples(
    encoder: Encoder, dataset: Dataset, config: TrainingConfig
) -> TrainingSamples:
    if config.augmentation == Augmentation():
        return encode(encoder, dataset.train)
    return move_images(encoder, dataset.train, **dataclasses.asdict(config.augmentation))


def _boost(
    encoder: Encoder,
    dataset: Dataset,
    validation: Samples,
    dropout: Dropout | None,
    config: TrainingConfig,
    topology: Topology,
    progress: Progress | None,
) -> Boosted:
    """Return boosted gates, grown from samples that lose features once, if they do at all."""
    samples = encode(encoder, dataset.train)
    return boost(
        samples if dropout is None else dropout.on_split(samples),
        validation,
        config.network.layers[0],
        dataset.num_classes,
        topology.node,
        costs=comparator_costs(encoder),
        course=config.course,
        progress=None if config.course.steps else progress,
    )


def _fit_encoder(dataset: Dataset, config: TrainingConfig) -> Encoder:
    encoder = fit_encoder(
        dataset.train.x,
        dataset.feature_names,
        valence=2 if config.is_binary else 3,
        categories=dataset.categories,
        **dataclasses.asdict(config.encoding),
    )
    if config.starts_from_trees:
        # Trees ask whether a feature is there, if it may not be.
        loses = any(config.uncertainty.missing)
        return with_presence(encoder, dataset.train.x, always=loses)
    if len(config.network.shape(config.recipe.valence).parts) == 1:
        return encoder
    return with_bits(encoder, dataset.train.x, minority=config.encoding.minority)
