"""From settings to the recipes that a training follows, one after the other."""

from trilut.training.area import AreaTerm
from trilut.training.config import TrainingConfig
from trilut.training.mixture import MixtureRecipe
from trilut.training.recipes import HardRecipe, PaperRecipe, Phase, Recipe

__all__ = ["make_phases"]

# 'paper-then-hard' hands over here.
_PAPER_SHARE = 0.7

_PRUNE_ROUNDS = 8


def make_phases(config: TrainingConfig, *, tau: float) -> tuple[Phase, ...]:
    """Return the recipes of a configuration and the steps that they are followed up to."""
    phases = _training_phases(config, tau)
    return (*phases, *_pruning_phases(config, tau)) if config.prune else phases


def _pruning_phases(config: TrainingConfig, tau: float) -> list[Phase]:
    """Prune a little at a time: what is left learns to do without before more goes."""
    recipe = _hard(config, tau)
    num_rounds = min(_PRUNE_ROUNDS, config.prune_steps)
    ends = [
        config.steps + config.prune_steps * number // num_rounds for number in range(num_rounds + 1)
    ]
    # More at first, when there is most to choose from.
    shares = [
        config.prune * (1 - (1 - number / num_rounds) ** 2) for number in range(1, num_rounds + 1)
    ]
    return [
        Phase(recipe, end, start, share)
        for start, end, share in zip(ends, ends[1:], shares, strict=False)
    ]


def _training_phases(config: TrainingConfig, tau: float) -> tuple[Phase, ...]:
    if config.recipe == "paper-then-hard":
        # The parameters of both are tables, so that one can go on where the other ends.
        paper = _paper(config, tau, in_tables=True)
        middle = max(1, int(_PAPER_SHARE * config.steps))
        return (Phase(paper, middle), Phase(_hard(config, tau), config.steps, middle))
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
        # Of no use without noise, and trainings that differ only in the seed then share their code.
        config.seed if config.recipe == "noise" else 0,
        _area(config),
        config.tau_start / tau if config.tau_start else 1.0,
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
        _area(config),
    )


def _area(config: TrainingConfig) -> AreaTerm | None:
    return AreaTerm(config.area_weight, config.output_layers) if config.area_weight else None
