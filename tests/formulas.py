"""Random formulas of temporal logic for the tests."""

import random

from trilut.temporal.formula import (
    Atom,
    Comparison,
    Formula,
    Future,
    Join,
    Joint,
    Not,
    Past,
    Window,
)


def random_formula(seed: int, *, depth: int = 3, longest: int = 4) -> Formula:
    """Return a formula over the features p and q with windows of up to ``longest`` steps."""
    return _formula(random.Random(seed), depth, longest)


def _formula(rng: random.Random, depth: int, longest: int) -> Formula:
    if depth == 0 or rng.random() < 0.15:
        return Atom(rng.choice("pq"), rng.choice(list(Comparison)), rng.choice([0.2, 0.5]))
    choice = rng.randrange(8)
    if choice == 0:
        return Not(_formula(rng, depth - 1, longest))
    if choice <= 2:
        sides = [_formula(rng, depth - 1, longest) for _ in range(2)]
        return Join(rng.choice(list(Joint)), *sides)
    operator = rng.choice([*Past, *Future])
    lower = rng.choice([0, 0, 1, 2])
    is_open = isinstance(operator, Past) and rng.random() < 0.3
    upper = None if is_open else lower + rng.randrange(longest)
    has_left = operator in (Past.SINCE, Future.UNTIL)
    left = _formula(rng, depth - 1, longest) if has_left else None
    return Window(operator, lower, upper, _formula(rng, depth - 1, longest), left)
