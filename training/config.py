"""The settings of a training as a whole: made of parts, or written flat, each by its name."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from trilut.circuit.head import Head
from trilut.text import did_you_mean
from trilut.training.errors import TrainingError
from trilut.training.node import Node
from trilut.training.settings.datasets import dataset_settings
from trilut.training.settings.groups import (
    Augmentation,
    Course,
    Encoding,
    Network,
    Uncertainty,
)
from trilut.training.settings.recipes import RECIPES, Hard, RecipeSettings
from trilut.training.settings.registry import NamedSettings, Registry
from trilut.training.settings.setting import Setting, Settings, settings_of
from trilut.training.settings.tables import Effort
from trilut.training.settings.wirings import WIRINGS, RandomWiring, WiringSettings

if TYPE_CHECKING:
    from trilut.data import Dataset
    from trilut.training.recipes import Phase

__all__ = ["TrainingConfig", "add_settings", "built_in_settings"]

_T = TypeVar("_T", bound=NamedSettings)

# Of a sample that loses more by default, too little would be left to learn from.
_MOST_MISSING = 0.5


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """Settings of a training.

    They are made of parts here. :meth:`of` and :meth:`for_dataset` take them flat, and
    :attr:`settings` gives them so.

    Parameters
    ----------
    recipe : RecipeSettings
        How gates are relaxed and trained.
    network : Network
        The shape of the network.
    wiring : WiringSettings
        How the parents of gates are chosen.
    encoding : Encoding
        From features to the inputs. There is no UNKNOWN where the valence is even or gates read
        bits alone, so ``delta`` becomes 0 there.
    augmentation : Augmentation
        More images to train on.
    uncertainty : Uncertainty
        Features that are missing in training.
    course : Course
        Steps, their size, and what is kept: the best or the smallest if gates start as trees.
    """

    recipe: RecipeSettings = Hard()
    network: Network
    wiring: WiringSettings = RandomWiring()
    encoding: Encoding = Encoding()
    augmentation: Augmentation = Augmentation()
    uncertainty: Uncertainty = Uncertainty()
    course: Course = Course()

    def __post_init__(self) -> None:
        if not self.network.has_pairs:
            self._check_node()
        if self.starts_from_trees:
            self._check_trees()
            if self.course.keep != "small":
                # Nothing else is sure not to be worse than the trees.
                object.__setattr__(self, "course", replace(self.course, keep="best"))
        else:
            self._check_course()
        if self.is_binary:
            # What is recorded should be what held.
            encoding = replace(self.encoding, delta=0.0)
            object.__setattr__(self, "encoding", encoding)
        if self.uncertainty.certainty and getattr(self.recipe, "vocabulary", "free") != "kleene":
            raise TrainingError(
                f"Setting 'certainty' is {self.uncertainty.certainty:g}, which only the vocabulary "
                "'kleene' has a use for"
            )

    def _check_node(self) -> None:
        """Check that recipe and wiring are not for pairs of trits alone."""
        name = self.network.node
        self.recipe.check_node(name)
        if self.wiring.wires_pairs_only:
            raise TrainingError(
                f"Setting 'node' is {name!r}, but the wiring {self.wiring.name!r} is for gates "
                "that read two trits and make one; use 'learned' or 'random'"
            )

    def _check_course(self) -> None:
        """Check that nothing is asked for that only boosted trees have."""
        if self.course.steps == 0:
            raise TrainingError(
                "Setting 'steps' is 0, expected at least 1 unless 'start' is 'trees'"
            )
        if self.course.keep == "small":
            raise TrainingError("Setting 'keep' is 'small', which is for the start 'trees'")

    def _check_trees(self) -> None:
        """Check that gates can be trees, and that the search can have their wires."""
        can_be_trees = self.network.shape().is_scored and self.is_binary
        if not (can_be_trees and _values(self.wiring).get("candidates", 0) is None):
            raise TrainingError(
                "Setting 'start' is 'trees', which need gates that read bits and make scores, such "
                "as node '6b' with the output 'score7', and learned wiring among all inputs"
            )

    @property
    def starts_from_trees(self) -> bool:
        """Whether gates are boosted trees at first."""
        return getattr(self.recipe, "start", None) == "trees"

    @property
    def is_binary(self) -> bool:
        """Whether all inputs of the network are bits."""
        return all(radix % 2 == 0 for radix in self.network.shape(self.recipe.valence).radices)

    @classmethod
    def of(cls, **settings: Any) -> "TrainingConfig":
        """Return the defaults with some settings changed, each by its own name.

        Parameters
        ----------
        **settings
            Fields of the parts, such as ``layers``, ``steps`` or ``delta``. ``recipe`` and
            ``wiring`` are names, whose own fields can then be given too, or parts.

        Raises
        ------
        TrainingError
            If there is no such setting, if it is of another recipe or wiring than the chosen one,
            or if it is out of its range.
        """
        return _make({}, settings)

    @classmethod
    def for_dataset(
        cls, dataset: "Dataset", *, effort: Effort = "normal", **settings: Any
    ) -> "TrainingConfig":
        """Return the defaults for a data set, with some settings changed as by :meth:`of`.

        A default for the data set that the chosen recipe or wiring does not have is left out. Where
        training samples miss features and gates are trained by gradients, they lose up to as many
        again.

        Parameters
        ----------
        effort : str
            How long to train on a table; see :mod:`trilut.training.settings.tables`.

        Raises
        ------
        TrainingError
            If the effort or a setting is none.
        """
        if effort not in get_args(Effort):
            efforts = ", ".join(get_args(Effort))
            raise TrainingError(f"Effort is {effort!r}, expected one of {efforts}")
        defaults = dataset_settings(
            dataset.name,
            len(dataset.train),
            dataset.num_features,
            dataset.num_classes,
            effort=effort,
            given=settings,
        )
        if settings.get("valence", 3) > 3 or settings.keys() & {"node", "node_output"}:
            # There are no hardware costs for so many truth values, nor for such nodes.
            defaults.pop("area_weight", None)
        share = round(dataset.train.missing_share, 3)
        # Boosted trees ask whether a feature is there: they need not learn it from more gaps.
        if share and defaults.get("start") != "trees":
            defaults["missing"] = (0.0, min(share, _MOST_MISSING))
        return _make(defaults, settings)

    @property
    def parts(self) -> tuple[Settings, ...]:
        """All parts."""
        return (
            self.recipe,
            self.network,
            self.wiring,
            self.encoding,
            self.augmentation,
            self.uncertainty,
            self.course,
        )

    @property
    def settings(self) -> dict[str, Any]:
        """All settings by their names, as :meth:`of` takes them."""
        return {
            "recipe": self.recipe.name,
            **_values(self.recipe),
            **_values(self.network),
            "wiring": self.wiring.name,
            **_values(self.wiring),
            **_values(self.encoding),
            **_values(self.augmentation),
            **_values(self.uncertainty),
            **_values(self.course),
        }

    def with_layers(self, layers: tuple[int, ...]) -> "TrainingConfig":
        """Return the same settings for other numbers of gates."""
        return replace(self, network=replace(self.network, layers=layers))

    def phases(self, *, tau: float) -> "tuple[Phase, ...]":
        """Return what to train by, one after the other.

        Raises
        ------
        ValueError
            If the recipe does not take all the steps.
        """
        phases = self.recipe.phases(self.network, self.course, tau=tau)
        if not phases or phases[-1].end < self.course.steps:
            raise ValueError(
                f"The recipe {self.recipe.name!r} ends before step {self.course.steps}"
            )
        return phases

    def head(self, classes: tuple[str, ...], *, abstain_margin: int = 1) -> Head:
        """Return the head that shares the output layers equally between the classes.

        Raises
        ------
        TrainingError
            If that is not possible, or if no sample could have the margin.
        """
        layers = self.network.layers
        first = len(layers) - self.network.output_layers
        for layer, num_gates in list(enumerate(layers))[first:]:
            if num_gates % len(classes):
                last = layer == len(layers) - 1
                raise TrainingError(
                    f"{'The last layer' if last else f'Layer {layer}'} has {num_gates} gates, "
                    f"expected a multiple of the {len(classes)} classes"
                )
        group_size = sum(layers[first:]) // len(classes)
        node = self.network.shape(self.recipe.valence)
        highest = 2 * group_size * node.largest
        if not 1 <= abstain_margin <= highest:
            raise TrainingError(
                f"Abstention margin is {abstain_margin}, expected 1…{highest} "
                f"with {group_size} outputs per class"
            )
        tau = self.course.tau
        if tau is None:
            tau = self.recipe.tau_factor * _gain(node) * math.sqrt(group_size)
        return Head(classes, (group_size,) * len(classes), tau, abstain_margin, limit=node.largest)


def _gain(node: Node) -> float:
    """Return how much larger tau is than for gates of two inputs.

    Scores are larger by themselves. For gates of more inputs, twice the tau was better on
    validation samples.
    """
    return node.largest if node.is_scored or len(node.radices) == 2 else 2


def _values(part: Settings) -> dict[str, Any]:
    return {name: getattr(part, name) for name in settings_of(type(part))}


def _make(defaults: Mapping[str, Any], settings: Mapping[str, Any]) -> TrainingConfig:
    chosen: dict[str, Any] = {"recipe": Hard.name, "wiring": RandomWiring.name}
    chosen |= {**defaults, **settings}
    recipe = _kind(RECIPES, chosen["recipe"])
    wiring = _kind(WIRINGS, chosen["wiring"])
    owners = _owners(recipe, wiring)
    for name, value in settings.items():
        if name not in owners:
            raise _refusal(name, value, recipe.name, wiring.name)

    def own(part: type[Settings]) -> dict[str, Any]:
        return {name: value for name, value in chosen.items() if owners.get(name) is part}

    def tagged(tag: str, part: type[_T]) -> _T:
        """Change some settings of what is there, or make it, if there is only its name."""
        given = chosen[tag]
        return part(**own(part)) if isinstance(given, str) else replace(given, **own(part))

    return TrainingConfig(
        recipe=tagged("recipe", recipe),
        network=Network(**own(Network)),
        wiring=tagged("wiring", wiring),
        encoding=Encoding(**own(Encoding)),
        augmentation=Augmentation(**own(Augmentation)),
        uncertainty=Uncertainty(**own(Uncertainty)),
        course=Course(**own(Course)),
    )


def _kind(registry: Registry[_T], given: str | _T) -> type[_T]:
    return registry.find(given) if isinstance(given, str) else type(given)


def _owners(
    recipe: type[RecipeSettings], wiring: type[WiringSettings]
) -> dict[str, type[Settings] | None]:
    """Return the part that each setting belongs to; the names of parts belong to none."""
    owners: dict[str, type[Settings] | None] = {"recipe": None, "wiring": None}
    for part in (Network, Encoding, Augmentation, Uncertainty, Course, recipe, wiring):
        if taken := owners.keys() & settings_of(part).keys():
            raise TrainingError(
                f"Setting {min(taken)!r} of {part.__name__} has the name of another one"
            )
        owners |= dict.fromkeys(settings_of(part), part)
    return owners


def _refusal(name: str, value: object, recipe: str, wiring: str) -> TrainingError:
    for registry, chosen in ((RECIPES, recipe), (WIRINGS, wiring)):
        if having := [kind.name for kind in registry if name in settings_of(kind)]:
            return TrainingError(
                f"Setting {name!r} is {value!r}, but it is of the {registry.kind} "
                f"{' or '.join(map(repr, having))}, not of {chosen!r}"
            )
    return _unknown(name, _settings(RECIPES, WIRINGS))


def built_in_settings() -> dict[str, Setting]:
    """Return the settings of TriLUT's own parts by name, for which no other package is loaded."""
    return _settings(RECIPES.built_in, WIRINGS.built_in)


def _settings(
    recipes: Iterable[type[RecipeSettings]], wirings: Iterable[type[WiringSettings]]
) -> dict[str, Setting]:
    listed = (
        RECIPES.setting,
        *_listed(*recipes, Network),
        WIRINGS.setting,
        *_listed(*wirings, Encoding, Augmentation, Uncertainty, Course),
    )
    settings: dict[str, Setting] = {}
    for each in listed:
        # Of recipes that share a setting, the first tells of it.
        settings.setdefault(each.name, each)
    return settings


def _listed(*parts: type[Settings]) -> list[Setting]:
    return [each for part in parts for each in settings_of(part).values()]


def add_settings(settings: Mapping[str, Any], texts: Iterable[str]) -> dict[str, Any]:
    """Add settings that are written as ``key=value``, each read as its type is.

    See :meth:`trilut.training.settings.setting.Setting.read`.

    Raises
    ------
    TrainingError
        If a key is not known or is there already, or a value is not of the type.
    """
    added = dict(settings)
    for text in texts:
        name, _, value = (part.strip() for part in text.partition("="))
        setting = _find(name)
        if name in added:
            raise TrainingError(f"Setting {name!r} is given twice, expected it once")
        added[name] = setting.read(value)
    return added


def _find(name: str) -> Setting:
    """Return a setting of TriLUT's own or, if there is none of that name, of any package."""
    settings = built_in_settings()
    if name not in settings:
        settings = _settings(RECIPES, WIRINGS)
    if name not in settings:
        raise _unknown(name, settings)
    return settings[name]


def _unknown(name: str, settings: Mapping[str, Setting]) -> TrainingError:
    return TrainingError(
        f"There is no setting {name!r}, expected one of {', '.join(settings)}"
        f"{did_you_mean(name, settings)}"
    )
