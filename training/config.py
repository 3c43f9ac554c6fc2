"""The settings of a training, their checks, and defaults that suit each data set."""

import difflib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from trilut.circuit.head import Head
from trilut.data import Dataset
from trilut.errors import TrilutError
from trilut.training.encoding import Spacing
from trilut.training.names import NoiseKind, Objective, Parametrisation, Start

__all__ = ["RecipeName", "TrainingConfig", "TrainingError", "WiringName", "add_settings"]

RecipeName = Literal["hard", "paper", "paper-then-hard", "noise", "dlgn", "dlgn-naive"]
"""How gates are relaxed and trained; see :mod:`trilut.training.recipes` and ``mixture``."""

WiringName = Literal["random", "unique", "local", "learned"]
"""How the parents of gates are chosen; see :mod:`trilut.training.wiring` and ``search``."""

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
        Number of gates in each layer. The last layer is the output; gate g of an output layer
        belongs to class g modulo the number of classes.
    recipe : str
        ``hard``, whose training forward is the circuit; ``noise``, the same with noise on the
        tables; ``paper``, polynomial surrogates; ``paper-then-hard``, which hands over after 70 %
        of the steps; ``dlgn``, mixtures of the binary gates, or ``dlgn-naive``, the same slower.
    valence : int
        Number of truth values; 0 stands for 3, or 2 for ``dlgn``. More than 3 can be trained, but
        not hardened to a netlist.
    parametrisation : str
        ``monomial``, ``lagrange`` (table entries) or ``fourier``; of the recipe ``paper`` only.
    loss : str, optional
        ``cross-entropy``, or ``squared-error``, which is the default of the recipe ``paper`` only.
    start : str, optional
        ``pass-through``, or ``normal``, which is the default of the recipe ``paper`` only. Not of
        the recipes ``dlgn``.
    complexity_weight : float
        Weight β of the Fourier complexity R_F in the loss. Not of the recipes ``dlgn``.
    area_weight : float
        Weight of the expected area in the loss, in LUT4 a gate; see :mod:`trilut.training.area`.
        Not of the recipes ``dlgn``.
    prune : float
        Share of the gates that are to take no logic in the end: an output becomes a constant,
        another gate a constant or a function of one input; see :mod:`trilut.training.prune`. Of
        the recipes ``hard``, ``noise`` and ``paper-then-hard`` only.
    prune_steps : int
        Number of batches to train on while gates are pruned, on top of ``steps``.
    noise, noise_kind : float and str
        Strength of the noise, ``normal`` or ``gumbel``; of the recipe ``noise`` only.
    wiring : str
        ``random``; ``unique``, without two gates on one pair of parents; ``local``, with parents
        near by; or ``learned``, where each gate searches for its parents during the training.
    window : int
        Number of values around its own place that a gate may read; of the wiring ``local`` only.
    candidates : int, optional
        Number of values that a gate may choose from; of the wiring ``learned`` only. Left out, it
        may choose from all of them.
    wire_rate : float
        Step size of the search for parents at the start; of the wiring ``learned`` only.
    wire_every : int
        Number of steps from one update of the search to the next, which costs as much as several
        steps; of the wiring ``learned`` only.
    distance_cost : float
        What the search charges for a wire from one end of a layer to the other; of the wiring
        ``learned`` only. A score starts normal with a standard deviation of 2.
    skip : bool
        Whether gates above the first layer may read the inputs too.
    output_layers : int
        How many layers, counted from the last, are outputs.
    thresholds : int
        Thresholds per feature.
    delta : float
        Width of the UNKNOWN band as a share of the distance between thresholds; 0 where the valence
        is even.
    spacing : str
        ``uniform`` or ``quantile`` thresholds.
    bits : int
        Width of the integer that stands for a feature.
    minority : float
        Share of the training samples that have to differ from the most frequent value of a trit,
        or it is left out.
    shift : int
        Largest shift, in pixels and in both directions, of the images that are trained on.
    turn : float
        Largest angle, in degrees, that images are turned by to either side to be trained on: by
        all of it and by half of it.
    mirror : bool
        Whether to train on images with left and right exchanged, too.
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
        outputs per class for ``paper`` and ``dlgn``, half of that for the others.
    tau_start : float, optional
        What tau falls from, geometrically over the training: a larger one makes early gradients
        less noisy. Left out, tau does not change. Of the recipes ``hard``, ``noise`` and
        ``paper-then-hard`` only.
    commitment_max, commitment_power : float
        λ_max and γ of the commitment loss; of the recipes ``paper`` and ``paper-then-hard`` only.
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
        If a setting is out of its range, or is changed though it has no effect with the recipe or
        the wiring.
    """

    layers: tuple[int, ...]
    recipe: RecipeName = "hard"
    valence: int = 0
    parametrisation: Parametrisation = "monomial"
    loss: Objective | None = None
    start: Start | None = None
    complexity_weight: float = 0.0
    area_weight: float = 0.0
    prune: float = 0.0
    prune_steps: int = 2000
    noise: float = 0.2
    noise_kind: NoiseKind = "normal"
    wiring: WiringName = "random"
    window: int = 64
    candidates: int | None = None
    wire_rate: float = 0.03
    wire_every: int = 2
    distance_cost: float = 0.0
    skip: bool = False
    output_layers: int = 1
    thresholds: int = 3
    delta: float = 0.25
    spacing: Spacing = "uniform"
    bits: int = 8
    minority: float = 0.0
    shift: int = 0
    turn: float = 0.0
    mirror: bool = False
    steps: int = 3000
    batch: int = 100
    learning_rate: float = 0.02
    schedule: Schedule = "cosine"
    tau: float | None = None
    tau_start: float | None = None
    commitment_max: float = 0.1
    commitment_power: float = 2.0
    evaluate_every: int = 250
    keep: Keep = "best"
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "layers", tuple(self.layers))
        binary = self.recipe in ("dlgn", "dlgn-naive")
        if self.valence == 0:
            object.__setattr__(self, "valence", 2 if binary else 3)
        if binary and self.valence != 2:
            raise TrainingError(
                f"Setting 'valence' is {self.valence}, expected 2 for the recipe {self.recipe!r}"
            )
        self._check_choices()
        self._check_counts()
        self._check_numbers()
        self._check_area()
        self._check_use()
        if self.valence % 2 == 0:
            # There is no UNKNOWN to encode to, and what is recorded should be what held.
            object.__setattr__(self, "delta", 0.0)

    def _check_choices(self) -> None:
        for name, choices in _CHOICES.items():
            value = getattr(self, name)
            if value is not None and value not in choices:
                raise TrainingError(
                    f"Setting {name!r} is {value!r}, expected {' or '.join(map(repr, choices))}"
                )

    def _check_counts(self) -> None:
        if not self.layers:
            raise TrainingError("Setting 'layers' is empty, expected at least one layer")
        for layer, num_gates in enumerate(self.layers):
            if num_gates < 1:
                raise TrainingError(f"Layer {layer} has {num_gates} gates, expected at least 1")
        if sum(self.layers) > _MAX_GATES:
            raise TrainingError(
                f"Setting 'layers' has {sum(self.layers)} gates in all, "
                f"expected at most {_MAX_GATES}"
            )
        for name, (lowest, highest) in _COUNTS.items():
            value = getattr(self, name)
            if value is not None and not lowest <= value <= highest:
                wanted = f"at least {lowest}" if highest == math.inf else f"{lowest}…{highest}"
                raise TrainingError(f"Setting {name!r} is {value}, expected {wanted}")
        if self.output_layers > len(self.layers):
            raise TrainingError(
                f"Setting 'output_layers' is {self.output_layers}, "
                f"but there are {len(self.layers)} layers"
            )

    def _check_numbers(self) -> None:
        for name in ("delta", "minority"):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                raise TrainingError(f"Setting {name!r} is {value}, expected 0…1")
        for name in ("learning_rate", "tau", "tau_start", "wire_rate"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise TrainingError(f"Setting {name!r} is {value}, expected a positive number")
        for name in _WEIGHTS:
            value = getattr(self, name)
            if not 0 <= value < math.inf:
                raise TrainingError(f"Setting {name!r} is {value}, expected 0 or a positive number")

    def _check_area(self) -> None:
        if not 0 <= self.prune < 1:
            raise TrainingError(f"Setting 'prune' is {self.prune}, expected 0 or a share below 1")
        if not self.prune and self.prune_steps != _default("prune_steps"):
            raise TrainingError(
                f"Setting 'prune_steps' is {self.prune_steps}, but 'prune' is 0: nothing is pruned"
            )
        wanted = {"area_weight": _AREA_RECIPES, "prune": _PRUNE_RECIPES}
        for name, recipes in wanted.items():
            if getattr(self, name) and self.recipe not in recipes:
                raise TrainingError(
                    f"Setting {name!r} is of the recipes {', '.join(map(repr, recipes))}, "
                    f"not of {self.recipe!r}"
                )
            if getattr(self, name) and self.valence > 3:
                raise TrainingError(
                    f"Setting {name!r} is of valence 2 and 3, not of {self.valence}"
                )

    def _check_use(self) -> None:
        for name, (switch, wanted) in _USED_WITH.items():
            value, chosen = getattr(self, name), getattr(self, switch)
            if chosen not in wanted and value != _default(name):
                raise TrainingError(
                    f"Setting {name!r} is {value!r}, but it is of the {switch} "
                    f"{' or '.join(map(repr, wanted))}, not of {chosen!r}"
                )

    @property
    def total_steps(self) -> int:
        """Number of batches to train on, those between and after pruning included."""
        return self.steps + (self.prune_steps if self.prune else 0)

    @classmethod
    def for_dataset(cls, dataset: Dataset, **settings: Any) -> "TrainingConfig":
        """Return the defaults for a data set, with some settings changed.

        A data set that is not known by its name gets two wide layers and 32 outputs per class. A
        default that is of no use with the settings is left out.
        """
        outputs = 32 * dataset.num_classes
        general = {"layers": (max(256, outputs), max(256, outputs), outputs)}
        defaults = _DATASET_SETTINGS.get(dataset.name.partition(":")[0], general)
        chosen = {**defaults, **settings}
        for name, (switch, wanted) in _USED_WITH.items():
            if name not in settings and chosen.get(switch, _default(switch)) not in wanted:
                chosen.pop(name, None)
        return cls(**chosen)

    def head(self, classes: tuple[str, ...], *, abstain_margin: int = 1) -> Head:
        """Return the head that shares the output layers equally between the classes.

        Raises
        ------
        TrainingError
            If that is not possible, or if no sample could have the margin.
        """
        first = len(self.layers) - self.output_layers
        for layer, num_gates in list(enumerate(self.layers))[first:]:
            if num_gates % len(classes):
                last = layer == len(self.layers) - 1
                raise TrainingError(
                    f"{'The last layer' if last else f'Layer {layer}'} has {num_gates} gates, "
                    f"expected a multiple of the {len(classes)} classes"
                )
        group_size = sum(self.layers[first:]) // len(classes)
        if not 1 <= abstain_margin <= 2 * group_size:
            raise TrainingError(
                f"Abstention margin is {abstain_margin}, expected 1…{2 * group_size} "
                f"with {group_size} outputs per class"
            )
        tau = _TAU_FACTORS[self.recipe] * math.sqrt(group_size) if self.tau is None else self.tau
        return Head(classes, (group_size,) * len(classes), tau, abstain_margin)


def add_settings(settings: Mapping[str, Any], texts: Iterable[str]) -> dict[str, Any]:
    """Add fields of TrainingConfig that are written as ``key=value``, each read as its type is.

    Layers are numbers with commas between them, switches ``true`` or ``false``, and what may be
    left out may be ``none``.

    Raises
    ------
    TrainingError
        If a key is not known or is there already, or a value is not of the type.
    """
    kinds = get_type_hints(TrainingConfig)
    added = dict(settings)
    for text in texts:
        name, _, value = (part.strip() for part in text.partition("="))
        if name not in kinds:
            close = difflib.get_close_matches(name, kinds, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise TrainingError(
                f"There is no setting {name!r}, expected one of {', '.join(kinds)}{hint}"
            )
        if name in added:
            raise TrainingError(f"Setting {name!r} is given twice, expected it once")
        added[name] = _read_setting(name, value, kinds[name])
    return added


def _read_setting(name: str, text: str, kind: Any) -> Any:
    choices = get_args(kind)
    if NoneType in choices:
        return None if text == "none" else _read_setting(name, text, choices[0])
    # Of words there are choices, which the configuration checks.
    word = (str, "a word")
    read, wanted = word if get_origin(kind) is Literal else _TYPES[get_origin(kind) or kind]
    try:
        return read(text)
    except (ValueError, KeyError):
        raise TrainingError(f"Setting {name!r} is {text!r}, expected {wanted}") from None


_TYPES: dict[Any, tuple[Any, str]] = {
    bool: ({"true": True, "false": False}.__getitem__, "true or false"),
    float: (float, "a number"),
    int: (int, "a whole number"),
    tuple: (lambda text: tuple(map(int, text.split(","))), "whole numbers like 64,64,32"),
}


def _default(name: str) -> object:
    return TrainingConfig.__dataclass_fields__[name].default


_CHOICES: dict[str, tuple[str, ...]] = {
    "recipe": get_args(RecipeName),
    "parametrisation": get_args(Parametrisation),
    "loss": get_args(Objective),
    "start": get_args(Start),
    "noise_kind": get_args(NoiseKind),
    "wiring": get_args(WiringName),
    "spacing": get_args(Spacing),
    "schedule": get_args(Schedule),
    "keep": get_args(Keep),
}

_WEIGHTS = (
    *("commitment_max", "commitment_power", "complexity_weight", "noise", "distance_cost"),
    *("area_weight", "turn"),
)

_PRUNE_RECIPES = ("hard", "noise", "paper-then-hard")
_AREA_RECIPES = (*_PRUNE_RECIPES, "paper")

# What no machine has the memory for should not be tried.
_MAX_GATES = 1 << 24
_MAX_BATCH = 1 << 24
# A step is counted in an int32.
_MAX_STEPS = (1 << 30) - 1
# Every threshold is a trit of every feature.
_MAX_THRESHOLDS = 1 << 16

# Settings that mean something only with some recipes or some kinds of wiring.
_USED_WITH: dict[str, tuple[str, tuple[str, ...]]] = {
    "parametrisation": ("recipe", ("paper",)),
    "start": ("recipe", _AREA_RECIPES),
    "complexity_weight": ("recipe", _AREA_RECIPES),
    "commitment_max": ("recipe", ("paper", "paper-then-hard")),
    "commitment_power": ("recipe", ("paper", "paper-then-hard")),
    "tau_start": ("recipe", _PRUNE_RECIPES),
    "noise": ("recipe", ("noise",)),
    "noise_kind": ("recipe", ("noise",)),
    "window": ("wiring", ("local",)),
    "candidates": ("wiring", ("learned",)),
    "wire_rate": ("wiring", ("learned",)),
    "wire_every": ("wiring", ("learned",)),
    "distance_cost": ("wiring", ("learned",)),
}

_COUNTS: dict[str, tuple[int, float]] = {
    "valence": (2, 8),
    "window": (2, math.inf),
    "candidates": (2, math.inf),
    "wire_every": (1, _MAX_STEPS),
    "output_layers": (1, math.inf),
    "thresholds": (1, _MAX_THRESHOLDS),
    "bits": (1, 32),
    "shift": (0, math.inf),
    "steps": (1, _MAX_STEPS),
    "prune_steps": (1, _MAX_STEPS),
    "batch": (1, _MAX_BATCH),
    "evaluate_every": (1, math.inf),
    "seed": (0, 2**32 - 1),
}

# As in the paper's settings, or for steeper logits where a score is a sum of truth values.
_TAU_FACTORS: dict[RecipeName, float] = {
    "hard": 0.5,
    "paper": 1.0,
    "paper-then-hard": 0.5,
    "noise": 0.5,
    "dlgn": 1.0,
    "dlgn-naive": 1.0,
}

# About the smallest layers that reach what larger ones do, chosen on validation accuracy.
_SMALL: dict[str, Any] = {"layers": (32, 32, 16), "steps": 2000, "evaluate_every": 100}

# One layer that chooses among all pixels beats several of the same size.
_IMAGES: dict[str, Any] = {
    "layers": (1000,),
    "wiring": "learned",
    "learning_rate": 0.05,
    "batch": 128,
    "steps": 6000,
    "evaluate_every": 500,
}

_DATASET_SETTINGS: dict[str, dict[str, Any]] = {
    "breast_cancer": {"layers": (64, 64, 32), "steps": 1000, "evaluate_every": 100},
    "cifar10": {**_IMAGES, "layers": (8000,), "candidates": 512, "mirror": True},
    "circles": _SMALL,
    "digits": {"layers": (1000, 1000, 1000, 400), "learning_rate": 0.05},
    "fashion_mnist": {**_IMAGES, "shift": 1},
    "gaussians": _SMALL,
    "iris": {"layers": (48, 48, 24), "steps": 1000, "evaluate_every": 100},
    "mnist": {**_IMAGES, "thresholds": 1, "delta": 1.0, "minority": 0.005, "shift": 1},
    "moons": _SMALL,
    "ring_sector": _SMALL,
    "spirals": {"layers": (128, 128, 64), "tau": 6.0, "evaluate_every": 100},
    "wine": {"layers": (48, 48, 24), "steps": 1000, "evaluate_every": 100},
}
