"""From settings to the recipes that a training follows, one after the other."""

from trilut.training.config import TrainingConfig
from trilut.training.mixture import MixtureRecipe
from trilut.training.recipes import HardRecipe, PaperRecipe, Phase, Recipe

__all__ = ["make_phases"]

# 'paper-then-hard' hands over here.
_PAPER_SHARE = 0.7


def make_phases(config: TrainingConfig, *, tau: float) -> tuple[Phase, ...]:
    """Return the recipes of a configuration and the steps that they are followed up to."""
    if config.recipe == "paper-then-hard":
        # The parameters of both are tables, so that one can go on where the other ends.
        paper = _paper(config, tau, in_tables=True)
        return (
            Phase(paper, max(1, int(_PAPER_SHARE * config.steps))),
            Phase(_hard(config, tau), config.steps),
        )
    return (Phase(_recipe(config, tau), config.steps),)


def _recipe(config: TrainingConfig, tau: float) -> Recipe:
    match config.recipe:
        case "paper":
            return _paper(config, tau)
        case "dlgn" | "dlgn-naive":
            naive = config.recipe == "dlgn-naive"
            return MixtureRecipe(tau, naive, config.loss or "cross-entropy")
        case _:
            return _hard(config, tau)


def _hard(config: TrainingConfig, tau: float) -> HardRecipe:
    return HardRecipe(
        tau,
        config.valence,
        config.loss or "cross-entropy",
        config.start or "pass-through",
        config.complexity_weight,
        config.noise if config.recipe == "noise" else 0.0,
        config.noise_kind,
        config.seed,
    )


def _paper(config: TrainingConfig, tau: float, *, in_tables: bool = False) -> PaperRecipe:
    return PaperRecipe(
        tau,
        config.commitment_max,
        config.commitment_power,
        config.valence,
        "lagrange" if in_tables else config.parametrisation,
        config.loss or ("cross-entropy" if in_tables else "squared-error"),
        config.start or ("pass-through" if in_tables else "normal"),
        config.complexity_weight,
    )
