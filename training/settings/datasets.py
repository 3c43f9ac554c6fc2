"""Settings that suit each data set."""

from collections.abc import Mapping
from typing import Any

from trilut.training.settings.tables import Effort, table_settings

__all__ = ["dataset_settings", "has_own_settings"]

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

_SETTINGS: dict[str, dict[str, Any]] = {
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


def dataset_settings(
    name: str,
    num_samples: int,
    num_features: int,
    num_classes: int,
    *,
    effort: Effort = "normal",
    given: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the settings that suit a data set, by their flat names.

    Parameters
    ----------
    name : str
        One that is known has settings of its own; all else is a table.
    num_samples : int
        Samples of the training split.
    effort : str
        How long to train on a table.
    given : mapping, optional
        Settings that are given; see :func:`table_settings`.
    """
    if has_own_settings(name):
        return dict(_SETTINGS[_plain(name)])
    return table_settings(num_samples, num_features, num_classes, effort=effort, given=given)


def has_own_settings(name: str) -> bool:
    """Tell whether a data set has settings by its name, whatever its size."""
    return _plain(name) in _SETTINGS


def _plain(name: str) -> str:
    return name.partition(":")[0]
