"""Trainings on CIFAR-10: the paper's six networks, as narrow as the scale has them."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from trilut.paper.experiment import Results, Scale, Section
from trilut.paper.published import published
from trilut.paper.runs import Run

__all__ = [
    "COMPARED",
    "NETWORKS",
    "all_runs",
    "compared_runs",
    "describe",
    "gate_count",
    "may_be_shrunk",
    "network_layers",
    "network_run",
    "ternary_runs",
]

NETWORKS = ("small", "deeper", "medium", "large", "vlarge", "huge")
"""The paper's names for them."""

COMPARED = ("small", "large", "vlarge", "huge")
"""Those that the paper shows class by class and margin by margin."""

_WIRING_SEED = 42

_RECIPES: Mapping[str, Mapping[str, Any]] = {
    "paper": {"delta": 1.0, "schedule": "constant"},
    "dlgn": {"delta": 0.0, "schedule": "constant", "learning_rate": 0.01},
    "dlgn-naive": {"delta": 0.0, "schedule": "constant", "learning_rate": 0.01},
    "hard": {"delta": 0.25, "schedule": "cosine", "learning_rate": 0.02},
}


def network_layers(network: str, scale: Scale) -> tuple[int, ...]:
    """Return the widths of the layers of a network."""
    config = published("configs")[network]
    # Divisible by the ten classes.
    width = int(config["width"]) // scale.shrink // 10 * 10
    return (width,) * int(config["layers"])


def network_run(scale: Scale, network: str, recipe: str, *, steps: int | None = None) -> Run:
    """Return the training of a network; the steps are those of the scale unless given."""
    config = published("configs")[network]
    steps = steps or scale.image_steps or int(config["steps"])
    settings: dict[str, Any] = {
        "recipe": recipe,
        "layers": network_layers(network, scale),
        "learning_rate": config["learning_rate"],
        "thresholds": 3,
        "steps": steps,
        "evaluate_every": max(1, steps // 20),
        "keep": "last",
        "seed": _WIRING_SEED,
        **_RECIPES[recipe],
    }
    if scale.shrink == 1 and recipe != "hard":
        settings["tau"] = 33.3
    return Run("cifar10", settings, images=scale.images)


def all_runs(scale: Scale) -> list[Run]:
    """Return the trainings of all networks."""
    return [
        network_run(scale, network, recipe)
        for network in NETWORKS
        for recipe in ("dlgn", "paper", "hard")
    ]


def compared_runs(scale: Scale) -> list[Run]:
    """Return the trainings of the networks that are shown in detail."""
    return [
        network_run(scale, network, recipe)
        for network in COMPARED
        for recipe in ("dlgn", "paper", "hard")
    ]


def ternary_runs(scale: Scale) -> list[Run]:
    """Return the ternary trainings of all networks."""
    return [
        network_run(scale, network, recipe) for network in NETWORKS for recipe in ("paper", "hard")
    ]


def describe(scale: Scale) -> str:
    """Say how the circuits were trained."""
    images = (
        "all images"
        if scale.images is None
        else "{:,} training and {:,} test images".format(*scale.images)
    )
    shrunk = (
        ""
        if scale.shrink == 1
        else f" **Layers are {scale.shrink} times narrower than the paper's.**"
    )
    steps = (
        "the paper's steps"
        if scale.image_steps is None
        else f"{scale.image_steps:,} steps of 100 images (the paper: 100,000 to 200,000)"
    )
    return f"CIFAR-10, {images}, {steps}, 3 thresholds a channel, seed {_WIRING_SEED}.{shrunk}"


def gate_count(scale: Scale, network: str) -> str:
    """Write the number of gates of a network."""
    return f"{sum(network_layers(network, scale)):,}"


def may_be_shrunk(
    build: Callable[[Results, Scale], Section],
) -> Callable[[Results, Scale], Section]:
    """Return a builder whose sections say if the networks were not the paper's."""
    return lambda results, scale: dataclasses.replace(
        build(results, scale), is_shrunk=scale.shrink > 1
    )
