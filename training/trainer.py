"""Training as a whole: from a data set to a hardened netlist and its accuracy."""

import dataclasses
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from trilut import __version__
from trilut.data import Dataset, Split
from trilut.encoder import Encoder
from trilut.netlist import Netlist
from trilut.training.config import TrainingConfig
from trilut.training.encoding import fit_encoder
from trilut.training.harden import harden
from trilut.training.loop import Measurement, Progress, fit
from trilut.training.network import LayerFunction, Parameters, Samples, accuracy
from trilut.training.recipes import harden_tables, make_recipe
from trilut.training.relax import look_up
from trilut.training.wiring import random_wiring

__all__ = ["Accuracies", "TrainingResult", "train"]


@dataclass(frozen=True, slots=True)
class Accuracies:
    """Fractions of right answers on the samples that were not trained on."""

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
    """

    netlist: Netlist
    config: TrainingConfig
    soft: Accuracies
    hardened: Accuracies
    history: list[Measurement]


def train(
    dataset: Dataset, config: TrainingConfig | None = None, *, progress: Progress | None = None
) -> TrainingResult:
    """Train a circuit and harden it. The same data and settings give the same netlist.

    Parameters
    ----------
    dataset : Dataset
        The training split is learned from, the validation split chooses the parameters that are
        kept, and the test split is looked at once, at the end.
    config : TrainingConfig, optional
        The settings; by default those that suit the data set.
    progress : callable, optional
        See :data:`trilut.training.loop.Progress`. What it raises ends the training.

    Raises
    ------
    TrainingError
        If the settings do not fit the data, or if the loss becomes infinite or NaN.
    DataError
        If the features tell nothing.
    """
    config = config or TrainingConfig.for_dataset(dataset)
    head = config.head(dataset.class_names)
    encoder = fit_encoder(
        dataset.train.x,
        dataset.feature_names,
        thresholds=config.thresholds,
        delta=config.delta,
        spacing=config.spacing,
        bits=config.bits,
    )
    recipe = make_recipe(config, tau=head.tau)
    wiring = jax.tree.map(
        jnp.asarray, random_wiring(encoder.num_trits, config.layers, seed=config.seed)
    )
    validation = _encode(encoder, dataset.validation)
    parameters, history = fit(
        recipe,
        wiring,
        _encode(encoder, dataset.train),
        validation,
        dataset.num_classes,
        config,
        progress=progress,
    )
    test = _encode(encoder, dataset.test)

    def accuracies(layer_function: LayerFunction, learned: Parameters) -> Accuracies:
        measure = (
            accuracy(layer_function, learned, wiring, samples, dataset.num_classes)
            for samples in (validation, test)
        )
        return Accuracies(*measure)

    tables = harden_tables(recipe, parameters)
    soft, hardened = accuracies(recipe.layer, parameters), accuracies(look_up, tables)
    provenance = {
        "trilut": __version__,
        "data": {"name": dataset.name, "seed": dataset.seed},
        "training": dataclasses.asdict(config),
        "accuracy": {"soft": dataclasses.asdict(soft), "hardened": dataclasses.asdict(hardened)},
    }
    netlist = harden(
        tables, wiring, encoder=encoder, head=head, name=dataset.name, provenance=provenance
    )
    return TrainingResult(netlist, config, soft, hardened, history)


def _encode(encoder: Encoder, split: Split) -> Samples:
    return Samples(jnp.asarray(encoder.encode(split.x)), jnp.asarray(split.y.astype(np.int32)))
