"""Training: from a data set to a netlist, in JAX."""

from typing import TYPE_CHECKING

from trilut.lazy import lazy_names
from trilut.training.config import TrainingConfig
from trilut.training.errors import TrainingError
from trilut.training.settings.groups import Augmentation, Course, Encoding, Network
from trilut.training.settings.recipes import (
    Hard,
    Mixture,
    NaiveMixture,
    Noise,
    Paper,
    PaperThenHard,
    RecipeSettings,
)
from trilut.training.settings.setting import Expected, setting, within
from trilut.training.settings.wirings import (
    LearnedWiring,
    LocalWiring,
    RandomWiring,
    UniqueWiring,
    WiringSettings,
)

if TYPE_CHECKING:
    from trilut.training.checkpoint import Measurement
    from trilut.training.encoding import (
        EncodingMeasure,
        equal_information,
        fit_encoder,
        measure_encoding,
    )
    from trilut.training.gap import layer_accuracies
    from trilut.training.hardening import harden
    from trilut.training.loop import Progress
    from trilut.training.placement import make_mesh
    from trilut.training.recipes import Phase, Recipe
    from trilut.training.search import Wired
    from trilut.training.trainer import Accuracies, Fitted, TrainingResult, fit_dataset, train
    from trilut.training.wiring import LayerWiring

__all__ = [
    "Accuracies",
    "Augmentation",
    "Course",
    "Encoding",
    "EncodingMeasure",
    "Expected",
    "Fitted",
    "Hard",
    "LayerWiring",
    "LearnedWiring",
    "LocalWiring",
    "Measurement",
    "Mixture",
    "NaiveMixture",
    "Network",
    "Noise",
    "Paper",
    "PaperThenHard",
    "Phase",
    "Progress",
    "RandomWiring",
    "Recipe",
    "RecipeSettings",
    "TrainingConfig",
    "TrainingError",
    "TrainingResult",
    "UniqueWiring",
    "Wired",
    "WiringSettings",
    "equal_information",
    "fit_dataset",
    "fit_encoder",
    "harden",
    "layer_accuracies",
    "make_mesh",
    "measure_encoding",
    "setting",
    "train",
    "within",
]

# Settings are there at once, for the command line; what needs JAX waits until somebody asks for it.
if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "Accuracies": "trilut.training.trainer",
            "EncodingMeasure": "trilut.training.encoding",
            "Fitted": "trilut.training.trainer",
            "LayerWiring": "trilut.training.wiring",
            "Measurement": "trilut.training.checkpoint",
            "Phase": "trilut.training.recipes",
            "Progress": "trilut.training.loop",
            "Recipe": "trilut.training.recipes",
            "TrainingResult": "trilut.training.trainer",
            "Wired": "trilut.training.search",
            "equal_information": "trilut.training.encoding",
            "fit_dataset": "trilut.training.trainer",
            "fit_encoder": "trilut.training.encoding",
            "harden": "trilut.training.hardening",
            "layer_accuracies": "trilut.training.gap",
            "make_mesh": "trilut.training.placement",
            "measure_encoding": "trilut.training.encoding",
            "train": "trilut.training.trainer",
        },
    )
