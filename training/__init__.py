"""Training: from a data set to a netlist, in JAX."""

from trilut.training.config import TrainingConfig, TrainingError
from trilut.training.encoding import fit_encoder
from trilut.training.harden import harden
from trilut.training.loop import Measurement, Progress
from trilut.training.trainer import Accuracies, TrainingResult, train

__all__ = [
    "Accuracies",
    "Measurement",
    "Progress",
    "TrainingConfig",
    "TrainingError",
    "TrainingResult",
    "fit_encoder",
    "harden",
    "train",
]
