"""Training: from a data set to a netlist, in JAX."""

from trilut.training.checkpoint import Measurement
from trilut.training.config import TrainingConfig, TrainingError
from trilut.training.encoding import (
    EncodingMeasure,
    equal_information,
    fit_encoder,
    measure_encoding,
)
from trilut.training.gap import layer_accuracies
from trilut.training.harden import harden
from trilut.training.loop import Progress
from trilut.training.placement import make_mesh
from trilut.training.trainer import Accuracies, Fitted, TrainingResult, fit_dataset, train

__all__ = [
    "Accuracies",
    "EncodingMeasure",
    "Fitted",
    "Measurement",
    "Progress",
    "TrainingConfig",
    "TrainingError",
    "TrainingResult",
    "equal_information",
    "fit_dataset",
    "fit_encoder",
    "harden",
    "layer_accuracies",
    "make_mesh",
    "measure_encoding",
    "train",
]
