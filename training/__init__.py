"""Training: from a data set to a netlist, in JAX."""

from trilut.training.checkpoint import Measurement
from trilut.training.config import TrainingConfig, TrainingError
from trilut.training.encoding import fit_encoder
from trilut.training.gap import layer_accuracies
from trilut.training.harden import harden
from trilut.training.loop import Progress
from trilut.training.placement import make_mesh
from trilut.training.trainer import Accuracies, Fitted, TrainingResult, fit_dataset, train

__all__ = [
    "Accuracies",
    "Fitted",
    "Measurement",
    "Progress",
    "TrainingConfig",
    "TrainingError",
    "TrainingResult",
    "fit_dataset",
    "fit_encoder",
    "harden",
    "layer_accuracies",
    "make_mesh",
    "train",
]
