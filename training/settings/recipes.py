"""Recipes: how gates are relaxed and trained, each with its own settings."""

import dataclasses
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from trilut.training.errors import TrainingError
from trilut.training.names import NoiseKind, Objective, Parametrisation, Start, Vocabulary
from trilut.training.settings.groups import MAX_STEPS, Course, Network
from trilut.training.settings.registry import NamedSettings, Registry
from trilut.training.settings.setting import (
    NOT_NEGATIVE,
    POSITIVE,
    Expected,
    setting,
    within,
)

if TYPE_CHECKING:
    from trilut.training.area import AreaTerm
    from trilut.training.recipes import HardRecipe, PaperRecipe, Phase

__all__ = [
    "RECIPES",
    "Hard",
    "Mixture",
    "NaiveMixture",
    "Noise",
    "Paper",
    "PaperThenHard",
    "RecipeSettings",
]

# Settings of 'hard' that only gates of two trits have, and what they are without.
_OF_PAIRS: dict[str, Any] = {
    "complexity_weight": 0.0,
    "area_weight": 0.0,
    "prune": 0.0,
    "vocabulary": "free",
}

# 'paper-then-hard' hands over here.
_PAPER_SHARE = 0.7


@dataclass(frozen=True, kw_only=True)
class RecipeSettings(NamedSettings, ABC):
    """What every recipe has.

    Parameters
    ----------
    valence : int
        Number of truth values. More than 3 can be trained, but not hardened to a netlist.
    loss : str
        ``cross-entropy`` or ``squared-error``.

    Attributes
    ----------
    tau_factor : float
        What to multiply the square root of the number of outputs per class by, where no tau is
        given: less for steeper logits.
    """

    tau_factor: ClassVar[float] = 1.0

    valence: int = setting(3, within(2, 8), option="truth values: 3, or 2", metavar="Q")
    loss: Objective = setting("cross-entropy")

    def check_node(self, name: str) -> None:
        """Raise a TrainingError if gates are not what the recipe trains.

        Called if they do not read two trits and make one.
        """
        raise TrainingError(
            f"Setting 'node' is {name!r}, but the recipe {self.name!r} trains gates that read two "
            "trits and make one; use 'hard' or 'noise'"
        )

    @abstractmethod
    def phases(self, network: Network, course: Course, *, tau: float) -> tuple["Phase", ...]:
        """Return what to train by, one after the other, up to step ``course.steps`` or further.

        Called when a training starts: this is where JAX may be imported.
        """


@dataclass(frozen=True, kw_only=True)
class _OfTables(RecipeSettings):
    """A recipe whose gates are tables of numbers, in one form or another."""

    start: Start = setting("pass-through", option="what gates are before the training")
    complexity_weight: float = setting(0.0, NOT_NEGATIVE)
    area_weight: float = setting(
        0.0, NOT_NEGATIVE, option="weight of the area in the loss, such as 0.1", metavar="W"
    )

    def check(self) -> None:
        """Check that there are hardware costs for the valence."""
        self._check_has_area("area_weight")

    def _check_has_area(self, name: str) -> None:
        if getattr(self, name) and self.valence > 3:
            raise TrainingError(f"Setting {name!r} is of valence 2 and 3, not of {self.valence}")

    def _area(self, network: Network) -> "AreaTerm | None":
        from trilut.training.area import AreaTerm

        return AreaTerm(self.area_weight, network.output_layers) if self.area_weight else None


@dataclass(frozen=True, kw_only=True)
class Hard(_OfTables):
    """The training forward is the circuit, tables and values rounded.

    Parameters
    ----------
    start : str
        Whether gates start near to passing their first input on, or a mix of more than two; as
        ``normal`` polynomials; or as boosted ``trees`` of scores, which the circuit is never below
        on the validation samples.
    complexity_weight : float
        Weight β of the Fourier complexity R_F in the loss.
    area_weight : float
        Weight of the expected area in the loss, in LUT4 a gate; see :mod:`trilut.training.area`.
    tau_start : float, optional
        What tau falls from, geometrically over the training: a larger one makes early gradients
        less noisy. Left out, tau does not change.
    prune : float
        Share of the gates that are to take no logic in the end: an output becomes a constant,
        another gate a constant or a function of one input; see :mod:`trilut.training.prune`.
    prune_steps : int
        Number of batches to train on while gates are pruned, on top of ``steps``.
    vocabulary : str
        ``free`` for all gates, or ``kleene`` for those that never take back a decision when an
        UNKNOWN input is decided: 197 of the 19,683.
    """

    name: ClassVar[str] = "hard"
    tau_factor: ClassVar[float] = 0.5

    tau_start: float | None = setting(None, POSITIVE)
    prune: float = setting(
        0.0,
        Expected("0 or a share below 1", lambda share: 0 <= share < 1),
        option="share of the gates to free of logic, 0…1",
        metavar="SHARE",
    )
    prune_steps: int = setting(
        2000,
        within(1, MAX_STEPS),
        option="number of batches while and after pruning",
        metavar="N",
    )
    vocabulary: Vocabulary = setting(
        "free", option="all gates, or those that keep a decision when more becomes known"
    )

    def check(self) -> None:
        """Check that what is to be pruned can be, and that there is UNKNOWN for a vocabulary."""
        super().check()
        if self.vocabulary != "free" and self.valence != 3:
            raise TrainingError(
                f"Setting 'vocabulary' is {self.vocabulary!r}, which is of valence 3, "
                f"not of {self.valence}"
            )
        self._check_has_area("prune")
        if not self.prune and self.prune_steps != Hard.prune_steps:
            raise TrainingError(
                f"Setting 'prune_steps' is {self.prune_steps}, but 'prune' is 0: nothing is pruned"
            )

    def check_node(self, name: str) -> None:
        """Check that no setting is for pairs of trits alone."""
        if self.valence != 3:
            raise TrainingError(
                f"Setting 'node' is {name!r}, which says what nets carry; expected valence 3, "
                f"not {self.valence}"
            )
        if self.start == "normal":
            raise TrainingError(
                f"Setting 'start' is 'normal', but the node {name!r} has no normal polynomials"
            )
        for name_of, wanted in _OF_PAIRS.items():
            value = getattr(self, name_of)
            if value != wanted:
                raise TrainingError(
                    f"Setting {name_of!r} is {value!r}, but it is for gates that read two trits "
                    f"and make one, not for the node {name!r}"
                )

    def phases(self, network: Network, course: Course, *, tau: float) -> tuple["Phase", ...]:
        """Train, and then prune."""
        from trilut.training.recipes import Phase

        recipe = self._recipe(network, course, tau)
        return (Phase(recipe, course.steps), *self._pruning(recipe, course))

    def _recipe(self, network: Network, course: Course, tau: float) -> "HardRecipe":
        from trilut.training.recipes import HardRecipe

        return HardRecipe(
            tau,
            self.valence,
            self.loss,
            self.start,
            self.complexity_weight,
            area=self._area(network),
            softer=self.tau_start / tau if self.tau_start else 1.0,
            vocabulary=self.vocabulary,
            node=None if network.has_pairs else network.shape(),
        )

    def _pruning(self, recipe: "HardRecipe", course: Course) -> tuple["Phase", ...]:
        from trilut.training.phases import pruning_phases

        if not self.prune:
            return ()
        return pruning_phases(recipe, course.steps, self.prune_steps, share=self.prune)


@dataclass(frozen=True, kw_only=True)
class Noise(Hard):
    """As ``hard``, with noise on the tables.

    Parameters
    ----------
    noise : float
        Strength of the noise.
    noise_kind : str
        ``normal``, or ``gumbel`` to draw each entry among the truth values.
    """

    name: ClassVar[str] = "noise"

    noise: float = setting(0.2, NOT_NEGATIVE)
    noise_kind: NoiseKind = setting("normal")

    def _recipe(self, network: Network, course: Course, tau: float) -> "HardRecipe":
        return dataclasses.replace(
            super()._recipe(network, course, tau),
            noise=self.noise,
            noise_kind=self.noise_kind,
            seed=course.seed,
        )


@dataclass(frozen=True, kw_only=True)
class _OfPolynomials(_OfTables):
    """A recipe with a phase of polynomials that are drawn towards gates."""

    commitment_max: float = setting(0.1, NOT_NEGATIVE)
    commitment_power: float = setting(2.0, NOT_NEGATIVE)

    def _paper(
        self, network: Network, tau: float, parametrisation: Parametrisation
    ) -> "PaperRecipe":
        from trilut.training.recipes import PaperRecipe

        return PaperRecipe(
            tau,
            self.commitment_max,
            self.commitment_power,
            self.valence,
            parametrisation,
            self.loss,
            self.start,
            self.complexity_weight,
            self._area(network),
        )


@dataclass(frozen=True, kw_only=True)
class Paper(_OfPolynomials):
    """Polynomial surrogates, drawn towards gates, as published.

    Parameters
    ----------
    start, complexity_weight, area_weight
        As of :class:`Hard`.
    commitment_max, commitment_power : float
        λ_max and γ of the commitment loss.
    parametrisation : str
        ``monomial``, ``lagrange`` (table entries) or ``fourier``.
    """

    name: ClassVar[str] = "paper"

    loss: Objective = setting("squared-error")
    start: Start = setting("normal")
    parametrisation: Parametrisation = setting("monomial")

    def phases(self, network: Network, course: Course, *, tau: float) -> tuple["Phase", ...]:
        """Train by one recipe all the time."""
        from trilut.training.recipes import Phase

        return (Phase(self._paper(network, tau, self.parametrisation), course.steps),)


@dataclass(frozen=True, kw_only=True)
class PaperThenHard(Hard, _OfPolynomials):
    """``paper`` for 70 % of the steps, and then ``hard``, with the settings of both.

    Polynomials are given by their tables, so that one can go on where the other ends.
    """

    name: ClassVar[str] = "paper-then-hard"

    def check_node(self, name: str) -> None:
        """Refuse all but gates of two trits, as the polynomials do."""
        _OfPolynomials.check_node(self, name)

    def phases(self, network: Network, course: Course, *, tau: float) -> tuple["Phase", ...]:
        """Train by one recipe, go on by the other, and then prune."""
        from trilut.training.recipes import Phase

        hard = self._recipe(network, course, tau)
        middle = max(1, int(_PAPER_SHARE * course.steps))
        return (
            Phase(self._paper(network, tau, "lagrange"), middle),
            Phase(hard, course.steps, middle),
            *self._pruning(hard, course),
        )


@dataclass(frozen=True, kw_only=True)
class Mixture(RecipeSettings):
    """Mixtures of the sixteen binary gates (DLGN), each evaluated by its four coefficients."""

    name: ClassVar[str] = "dlgn"
    is_naive: ClassVar[bool] = False

    valence: int = setting(2, Expected("2 for mixtures of binary gates", lambda value: value == 2))

    def phases(self, network: Network, course: Course, *, tau: float) -> tuple["Phase", ...]:
        """Train by one recipe all the time."""
        from trilut.training.mixture import MixtureRecipe
        from trilut.training.recipes import Phase

        return (Phase(MixtureRecipe(tau, self.is_naive, self.loss), course.steps),)


@dataclass(frozen=True, kw_only=True)
class NaiveMixture(Mixture):
    """As ``dlgn``, but evaluated gate by gate: the same, slower."""

    name: ClassVar[str] = "dlgn-naive"
    is_naive: ClassVar[bool] = True


RECIPES: Registry[RecipeSettings] = Registry(
    "recipe",
    RecipeSettings,  # type: ignore[type-abstract]  # it is compared with, and never made
    (Hard, Paper, PaperThenHard, Noise, Mixture, NaiveMixture),
    option="how the gates are trained",
)
"""All recipes."""
