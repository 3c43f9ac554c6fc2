"""The settings that every training has, whatever its recipe and its wiring."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from trilut.training.errors import TrainingError
from trilut.training.names import NodeOutput, OutOfRange, Scale, Spacing
from trilut.training.node import PAIR, Node, node_named
from trilut.training.settings.setting import (
    NOT_NEGATIVE,
    POSITIVE,
    SHARE,
    Settings,
    setting,
    within,
)

__all__ = ["MAX_STEPS", "Augmentation", "Course", "Encoding", "Network", "Uncertainty"]

MAX_STEPS = (1 << 30) - 1
"""A step is counted in an int32."""

# What no machine has the memory for should not be tried.
_MAX_GATES = 1 << 24
_MAX_BATCH = 1 << 24
# Every threshold is a trit of every feature.
_MAX_THRESHOLDS = 1 << 16


@dataclass(frozen=True, kw_only=True)
class Network(Settings):
    """The shape of the network.

    Parameters
    ----------
    layers : tuple of int
        Number of gates in each layer. The last layer is the output; gate g of an output layer
        belongs to class g modulo the number of classes.
    skip : bool
        Whether gates above the first layer may read the inputs too.
    output_layers : int
        How many layers, counted from the last, are outputs.
    node : str
        What a gate reads: ``2t`` for two trits, ``3t``, ``6b`` for six bits, ``2t2b`` and so on, up
        to six wires, of which a bit takes one and a trit two.
    node_output : str, optional
        What it makes: a ``bit``, a ``trit``, or a score for its class, from −3 to 3 (``score3``) or
        from −7 to 7 (``score7``). Left out, a trit if it reads trits alone, else a bit.
    """

    layers: tuple[int, ...] = setting(option="gates of each layer", metavar="N,N,…")
    skip: bool = setting(False, option="let all layers read the inputs")
    output_layers: int = setting(
        1, within(1), option="how many of the last layers are outputs", metavar="N"
    )
    node: str = setting(
        PAIR, option="what a gate reads: 2t (two trits), 3t, 6b (six bits), 2t2b, …", metavar="NODE"
    )
    node_output: NodeOutput | None = setting(
        None, option="what a gate makes; scores go up to 3 or 7"
    )

    def __post_init__(self) -> None:
        if not isinstance(self.layers, Iterable):
            raise TrainingError(
                f"Setting 'layers' is {self.layers!r}, "
                "expected the gates of each layer, as in (64, 32)"
            )
        object.__setattr__(self, "layers", tuple(self.layers))
        super().__post_init__()

    def check(self) -> None:
        """Check that there are gates in every layer, not too many, and a layer for each output."""
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
        if self.output_layers > len(self.layers):
            raise TrainingError(
                f"Setting 'output_layers' is {self.output_layers}, "
                f"but there are {len(self.layers)} layers"
            )
        if self.shape().is_scored and len(self.layers) > 1:
            raise TrainingError(
                f"Setting 'node_output' is {self.node_output!r}, but no gate can read a score: "
                "expected one layer"
            )

    @property
    def has_pairs(self) -> bool:
        """Whether its gates read and make two values of one kind, as all recipes can train."""
        return self.node == PAIR and self.node_output is None

    def shape(self, valence: int = 3) -> Node:
        """Return what its gates read and make."""
        return node_named(self.node, self.node_output, valence=valence)


@dataclass(frozen=True, kw_only=True)
class Encoding(Settings):
    """From features to the inputs of the network.

    Parameters
    ----------
    thresholds : int
        Thresholds per feature.
    bits : int
        Width of the integer that stands for a feature.
    delta : float
        Width of the UNKNOWN band as a share of the distance between thresholds; 0 where the valence
        is even.
    spacing : str
        ``uniform``, ``quantile`` or ``balanced`` thresholds; see :func:`fit_encoder`.
    scale : str
        ``any``, or ``power-of-two`` for integers that hardware makes of numbers with a shift; see
        :func:`fit_encoder`.
    minority : float
        Share of the training samples that have to differ from the most frequent value of a trit,
        or it is left out.
    out_of_range : str
        What a value outside of the training samples becomes: ``clamp``, the nearest integer of its
        feature, or ``unknown``, a missing feature.
    """

    thresholds: int = setting(
        3, within(1, _MAX_THRESHOLDS), option="thresholds of each feature", metavar="K"
    )
    bits: int = setting(8, within(1, 32), option="bits of each feature", metavar="N")
    delta: float = setting(0.25, SHARE, option="width of the UNKNOWN band, 0…1", metavar="D")
    spacing: Spacing = setting(
        "uniform",
        option="what the thresholds cut into equal parts: the range, the samples, or these with no "
        "value counted for more than one part",
    )
    scale: Scale = setting(
        "any", option="scale of each feature; a power of two is a shift in hardware"
    )
    minority: float = setting(
        0.0, SHARE, option="leave out trits that fewer samples differ in", metavar="P"
    )
    out_of_range: OutOfRange = setting(
        "clamp",
        option="take a value outside of what training saw as the nearest one, or as missing",
    )


@dataclass(frozen=True, kw_only=True)
class Augmentation(Settings):
    """More images to train on, made from those that there are.

    Parameters
    ----------
    shift : int
        Largest shift, in pixels and in both directions.
    turn : float
        Largest angle, in degrees, that images are turned by to either side: by all of it and by
        half of it.
    mirror : bool
        Whether to train on images with left and right exchanged, too.
    """

    shift: int = setting(
        0, within(0), option="train on images moved by up to N pixels, too", metavar="N"
    )
    turn: float = setting(
        0.0, NOT_NEGATIVE, option="train on images turned by up to A degrees, too", metavar="A"
    )
    mirror: bool = setting(False, option="train on images with left and right exchanged, too")


@dataclass(frozen=True, kw_only=True)
class Uncertainty(Settings):
    """Features that are missing in training, and answers that do not wait for them.

    Parameters
    ----------
    missing : tuple of float
        The share of its features that every sample loses, drawn anew for every batch; two numbers
        are bounds between which the share of each sample is drawn. Validation samples lose theirs,
        too.
    missing_groups : tuple of tuples of str
        Names of features that are lost together, such as those of one sensor. Each of the others
        is lost on its own.
    certainty : float
        How far UNKNOWN outputs count as votes against the right class in the loss, 0…1. Answers
        become certain of which more outputs are decided.
    """

    missing: tuple[float, ...] = setting(
        (),
        option="share of the features that samples lose in training, or its bounds like 0,0.5",
        metavar="P",
    )
    missing_groups: tuple[tuple[str, ...], ...] = setting(())
    certainty: float = setting(
        0.0, SHARE, option="how far UNKNOWN outputs count against an answer, 0…1", metavar="W"
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "missing", tuple(self.missing))
        object.__setattr__(self, "missing_groups", tuple(map(tuple, self.missing_groups)))
        super().__post_init__()

    def check(self) -> None:
        """Check that there is a share, or one and a larger one, and no feature in two groups."""
        if len(self.missing) > 2 or list(self.missing) != sorted(self.missing):
            raise TrainingError(
                f"Setting 'missing' is {_text(self.missing)}, expected a share or two that rise"
            )
        if not all(0 <= share < 1 for share in self.missing):
            raise TrainingError(
                f"Setting 'missing' is {_text(self.missing)}, expected shares from 0 to below 1"
            )
        grouped = [name for group in self.missing_groups for name in group]
        for name in grouped:
            if grouped.count(name) > 1:
                raise TrainingError(f"Feature {name!r} is in groups twice, expected once")
        if grouped and not any(self.missing):
            raise TrainingError("Setting 'missing_groups' needs a share that is missing; give one")


def _text(numbers: tuple[float, ...]) -> str:
    return ",".join(f"{number:g}" for number in numbers)


@dataclass(frozen=True, kw_only=True)
class Course(Settings):
    """The course of a training: its steps, their size, and what is measured and kept.

    Parameters
    ----------
    steps : int
        Number of batches to train on; 0 for boosted trees as they are.
    batch : int
        Number of samples in a batch, drawn with replacement.
    learning_rate : float
        Step size of Adam at the start.
    schedule : str
        ``constant``, or ``cosine`` to bring the learning rate to zero at the last step.
    tau : float, optional
        Divisor from class scores to logits. Left out, it is the square root of the number of
        outputs per class, times a factor of the recipe.
    evaluate_every : int
        Number of steps between two measurements of the hardened validation accuracy.
    keep : str
        ``best`` keeps the measured parameters with the best hardened validation accuracy, the later
        ones on a tie; ``late`` keeps the last ones that are not worse than the best by more than
        the standard error of its accuracy; ``last`` keeps the last. Of boosted trees, ``small``
        keeps the smallest that are not worse than the best by more than a quarter of that.
    patience : int, optional
        The training ends after so many measurements in a row that ``late`` would not keep.
    seed : int
        Seed of the wiring, of the initial gates and of the batches.
    """

    steps: int = setting(3000, within(0, MAX_STEPS), option="number of batches", metavar="N")
    batch: int = setting(100, within(1, _MAX_BATCH), option="samples in a batch", metavar="N")
    learning_rate: float = setting(0.02, POSITIVE, option="step size of Adam", metavar="R")
    schedule: Literal["constant", "cosine"] = setting("cosine")
    tau: float | None = setting(None, POSITIVE)
    evaluate_every: int = setting(250, within(1))
    keep: Literal["best", "small", "late", "last"] = setting("best")
    patience: int | None = setting(None, within(1))
    seed: int = setting(0, within(0, 2**32 - 1))
