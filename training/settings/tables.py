"""Settings that suit a table, from its size alone."""

import math
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

__all__ = ["Effort", "table_settings", "table_variants"]

Effort: TypeAlias = Literal["quick", "normal", "best"]
"""How long to train, and whether to search for settings."""

# Samples of the training split that a part between two thresholds should have.
_SAMPLES_A_PART = 30
_THRESHOLDS = (3, 15)

# More trits than these make the search for wires slow.
_MAX_TRITS = 1500

_OUTPUTS = {"quick": 40, "normal": 100, "best": 100}
_STEPS = {"quick": 2000, "normal": 8000, "best": 8000}
# Of all classes together.
_MAX_OUTPUTS = 1300


def table_settings(
    num_samples: int, num_features: int, num_classes: int, *, effort: Effort = "normal"
) -> dict[str, Any]:
    """Return the settings that suit a table, by their flat names.

    Parameters
    ----------
    num_samples : int
        Samples of the training split.
    effort : str
        What ``best`` starts its search from is what ``normal`` trains with.
    """
    outputs = max(8, min(_OUTPUTS[effort], _MAX_OUTPUTS // num_classes))
    steps = _STEPS[effort]
    return {
        "layers": (outputs * num_classes,),
        "wiring": "learned",
        "skip": True,
        "spacing": "balanced",
        "thresholds": _thresholds(num_samples, num_features),
        "delta": 0.0,
        "learning_rate": 0.05,
        "batch": 128,
        "steps": steps,
        "evaluate_every": steps // 20,
    }


def _thresholds(num_samples: int, num_features: int) -> int:
    """Return as many thresholds of each feature as the samples can tell apart."""
    supported = max(_THRESHOLDS[0], min(_THRESHOLDS[1], num_samples // _SAMPLES_A_PART))
    return min(supported, max(1, _MAX_TRITS // num_features))


def table_variants(
    settings: Mapping[str, Any], num_classes: int, *, given: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return the settings that a search for the best ones tries, those it starts from first.

    Parameters
    ----------
    settings : mapping
        All settings that the search starts from.
    given : mapping
        Those that the user has chosen: they do not change.
    """
    layers = settings["layers"]
    wide = tuple(2 * num_gates for num_gates in layers)
    tau = settings["tau"] or 0.5 * math.sqrt(layers[-1] / num_classes)
    changes: list[dict[str, Any]] = [
        {},
        {"tau": 2 * tau},
        {"layers": wide},
        {"layers": wide, "tau": 2 * tau},
        {"layers": wide, "tau": 4 * tau},
        {"layers": (layers[-1], layers[-1]), "output_layers": 2},
        {"steps": 2 * settings["steps"], "batch": 2 * settings["batch"]},
        {"layers": wide, "steps": 2 * settings["steps"], "batch": 2 * settings["batch"]},
    ]
    return [{**settings, **change} for change in changes if not change.keys() & given.keys()]
