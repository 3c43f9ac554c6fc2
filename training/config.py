"""The settings of a training, their checks, and defaults that suit each data set."""

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

from trilut.data import Dataset
from trilut.errors import TrilutError
from trilut.head import Head
from trilut.training.encoding import Spacing

__all__ = ["RecipeName", "TrainingConfig", "TrainingError"]

RecipeName = Literal["hard", "paper"]
"""How gates are relaxed and trained; see :mod:`trilut.training.recipes`."""

Schedule = Literal["constant", "cosine"]
"""What becomes of the learning rate."""

Keep = Literal["best", "last"]
"""Which of the measured parameters become the circuit."""


class TrainingError(TrilutError):
    """A training that cannot be started as configured, or that has failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingConfig:
    """Settings of a training.

    Parameters
    ----------
    layers : tuple of int
        Number of gates in each layer. The last layer is the output, shared equally by the classes.
    recipe : str
        ``hard``, whose training forward is the circuit, or ``paper``, polynomial surrogates.
    thresholds : int
        Thresholds per feature.
    delta : float
        Width of the UNKNOWN band as a share of the distance between thresholds.
    spacing : str
        ``uniform`` or ``quantile`` thresholds.
    bits : int
        Width of the integer that stands for a feature.
    steps : int
        Number of batches to train on.
    batch : int
        Number of samples in a batch, drawn with replacement.
    learning_rate : float
        Step size of Adam at the start.
    schedule : str
        ``constant``, or ``cosine`` to bring the learning rate to zero at the last step.
    tau : float, optional
        Divisor from class scores to logits. Left out, it is the square root of the number of
        outputs per class (as in the paper's settings), or half of that for the recipe ``hard``.
    commitment_max, commitment_power : float
        λ_max and γ of the commitment loss; of the recipe ``paper`` only.
    evaluate_every : int
        Number of steps between two measurements of the hardened validation accuracy.
    keep : str
        ``best`` keeps the measured parameters with the best hardened validation accuracy, the later
        ones on a tie; ``last`` keeps the last.
    seed : int
        Seed of the wiring, of the initial gates and of the batches.

    Raises
    ------
    TrainingError
        If a setting is out of its range.
    """

    layers: tuple[int, ...]
    recipe: RecipeName = "hard"
    thresholds: int = 3
    delta: float = 0.25
    spacing: Spacing = "uniform"
    bits: int = 8
    steps: int = 3000
    batch: int = 100
    learning_rate: float = 0.02
    schedule: Schedule = "cosine"
    tau: float | None = None
    commitment_max: float = 0.1
    commitment_power: float = 2.0
    evaluate_every: int = 250
    keep: Keep = "best"
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "layers", tuple(self.layers))
        self._check_choices()
        self._check_counts()
        self._check_numbers()

    def _check_choices(self) -> None:
        for name, choices in _CHOICES.items():
            value = getattr(self, name)
            if value not in choices:
                raise TrainingError(
                    f"Setting {name!r} is {value!r}, expected {' or '.join(map(repr, choices))}"
                )

    def _check_counts(self) -> None:
        if not self.layers:
            raise TrainingError("Setting 'layers' is empty, expected at least one layer")
        for layer, num_gates in enumerate(self.layers):
            if num_gates < 1:
                raise TrainingError(f"Layer {layer} has {num_gates} gates, expected at least 1")
        for name, (lowest, highest) in _COUNTS.items():
            value = getattr(self, name)
            if not lowest <= value <= highest:
                wanted = f"at least {lowest}" if highest == math.inf else f"{lowest}…{highest}"
                raise TrainingError(f"Setting {name!r} is {value}, expected {wanted}")

    def _check_numbers(self) -> None:
        if not 0 <= self.delta <= 1:
            raise TrainingError(f"Setting 'delta' is {self.delta}, expected 0…1")
        for name in ("learning_rate", "tau"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise TrainingError(f"Setting {name!r} is {value}, expected a positive number")
        for name in ("commitment_max", "commitment_power"):
            value = getattr(self, name)
            if not 0 <= value < math.inf:
                raise TrainingError(f"Setting {name!r} is {value}, expected 0 or a positive number")

    @classmethod
    def for_dataset(cls, dataset: Dataset, **settings: Any) -> "TrainingConfig":
        """Return the defaults for a data set, with some settings changed.

        A data set that is not known by its name gets two wide layers and 32 outputs per class.
        """
        outputs = 32 * dataset.num_classes
        general = {"layers": (max(256, outputs), max(256, outputs), outputs)}
        return cls(**{**_DATASET_SETTINGS.get(dataset.name, general), **settings})

    def head(self, classes: tuple[str, ...]) -> Head:
        """Return the head that shares the last layer equally between the classes.

        Raises
        ------
        TrainingError
            If that is not possible.
        """
        group_size, rest = divmod(self.layers[-1], len(classes))
        if group_size == 0 or rest:
            raise TrainingError(
                f"The last layer has {self.layers[-1]} gates, "
                f"expected a multiple of the {len(classes)} classes"
            )
        tau = _TAU_FACTORS[self.recipe] * math.sqrt(group_size) if self.tau is None else self.tau
        return Head(classes, (group_size,) * len(classes), tau=tau)


_CHOICES: dict[str, tuple[str, ...]] = {
    "recipe": get_args(RecipeName),
    "spacing": get_args(Spacing),
    "schedule": get_args(Schedule),
    "keep": get_args(Keep),
}

_COUNTS: dict[str, tuple[int, float]] = {
    "thresholds": (1, math.inf),
    "bits": (1, 32),
    "steps": (1, math.inf),
    "batch": (1, math.inf),
    "evaluate_every": (1, math.inf),
    "seed": (0, 2**32 - 1),
}

_TAU_FACTORS: dict[RecipeName, float] = {"hard": 0.5, "paper": 1.0}

# About the smallest layers that reach what larger ones do, chosen on validation accuracy.
_SMALL: dict[str, Any] = {"layers": (32, 32, 16), "steps": 2000, "evaluate_every": 100}

_DATASET_SETTINGS: dict[str, dict[str, Any]] = {
    "breast_cancer": {"layers": (64, 64, 32), "steps": 1000, "evaluate_every": 100},
    "circles": _SMALL,
    "digits": {"layers": (1000, 1000, 1000, 400), "learning_rate": 0.05},
    "gaussians": _SMALL,
    "iris": {"layers": (48, 48, 24), "steps": 1000, "evaluate_every": 100},
    "moons": _SMALL,
    "ring_sector": _SMALL,
    "spirals": {"layers": (64, 64, 32), "evaluate_every": 100},
    "wine": {"layers": (48, 48, 24), "steps": 1000, "evaluate_every": 100},
}
