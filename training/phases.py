"""Phases of a training after its own steps: pruning, round by round."""

from trilut.training.recipes import Phase, Recipe

__all__ = ["pruning_phases"]

_ROUNDS = 8


def pruning_phases(
    recipe: Recipe, start: int, num_steps: int, *, share: float
) -> tuple[Phase, ...]:
    """Prune a little at a time: what is left learns to do without before more goes.

    Parameters
    ----------
    recipe : Recipe
        What to train by; its parameters are tables.
    start, num_steps : int
        The first step, and how many there are.
    share : float
        Share of the gates that take no logic in the end.
    """
    num_rounds = min(_ROUNDS, num_steps)
    ends = [start + num_steps * number // num_rounds for number in range(num_rounds + 1)]
    # More at first, when there is most to choose from.
    shares = [share * (1 - (1 - number / num_rounds) ** 2) for number in range(1, num_rounds + 1)]
    return tuple(
        Phase(recipe, end, begin, pruned)
        for begin, end, pruned in zip(ends, ends[1:], shares, strict=False)
    )
