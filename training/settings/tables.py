"""Settings that suit a table, from its size alone."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

__all__ = ["Effort", "learnable_gates", "table_settings", "table_variants"]

Effort: TypeAlias = Literal["quick", "normal", "best"]
"""How long to train, and whether to search for settings."""

# Boosted gates: of four bits, because that is what a LUT4 reads, with scores of three bits. All
# that follows was chosen on validation samples.
_BOOSTED: dict[str, Any] = {
    "start": "trees",
    "node": "4b",
    "node_output": "score3",
    "wiring": "learned",
    "spacing": "balanced",
    "thresholds": 31,
    "delta": 0.0,
    "steps": 0,
    "keep": "small",
}
# Gates at most for each class, and of all classes.
_BOOSTED_GATES = {"quick": (20, 520), "normal": (60, 1560), "best": (60, 1560)}
# What can be set without saying that gates are to be trained in another way.
_OF_BOOSTED = frozenset(
    {
        *("layers", "node", "node_output", "thresholds", "spacing", "bits", "scale", "minority"),
        *("out_of_range", "missing", "missing_groups", "keep", "seed"),
    }
)

# Samples of the training split that a part between two thresholds should have.
_SAMPLES_A_PART = 30
_THRESHOLDS = (7, 15)

# More trits than these make the search for wires slow, and more bits the growing of gates.
_MAX_TRITS = 1500
_MAX_BITS = 4000

# Gates of each of two layers for every class: as many as few classes need, and for many classes
# what all of them together can be given in a minute.
_GATES = {"quick": (40, 400), "normal": (100, 1040), "best": (100, 1040)}
_FEW_CLASSES = 3
# Fewer samples than these for each gate of a layer are learned by heart, and fewer than twice as
# many if there are few classes.
_SAMPLES_A_GATE = 8
_LEAST_GATES = 5
# With more gates the wires are searched for less often, which takes most of the time.
_WIDE = 800
# As many as there are samples, within bounds. Small tables, too, gained by all that fit into a
# minute.
_STEPS = {"quick": (500, 2000), "normal": (6000, 6000), "best": (6000, 6000)}
_MEASUREMENTS = 20
_PATIENCE = 10


def table_settings(
    num_samples: int,
    num_features: int,
    num_classes: int,
    *,
    effort: Effort = "normal",
    given: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the settings that suit a table, by their flat names: those of boosted gates.

    If settings are given that boosted gates do not have, they are those of two layers of gates that
    read two trits, and are trained by gradients.

    Parameters
    ----------
    num_samples : int
        Samples of the training split.
    effort : str
        What ``best`` starts its search from is what ``normal`` trains with, but for what is kept.
    given : mapping, optional
        Settings that are given.
    """
    if not _is_boosted(given or {}):
        return _ternary_settings(num_samples, num_features, num_classes, effort)
    most, total = _BOOSTED_GATES[effort]
    gates = max(1, min(most, total // num_classes))
    keep = {"keep": "best"} if effort == "best" else {}
    return {
        **_BOOSTED,
        **keep,
        "layers": (num_classes * gates,),
        "thresholds": min(_BOOSTED["thresholds"], max(1, _MAX_BITS // num_features)),
    }


def _is_boosted(given: Mapping[str, Any]) -> bool:
    """Tell whether settings ask for boosted gates, or for nothing else."""
    if "start" in given:
        return bool(given["start"] == "trees")
    layers = given.get("layers")
    output = given.get("node_output") or _BOOSTED["node_output"]
    return (
        given.keys() <= _OF_BOOSTED
        and (not isinstance(layers, Sequence) or len(layers) == 1)
        and re.fullmatch("[2-6]b", given.get("node") or _BOOSTED["node"]) is not None
        and output.startswith("score")
    )


def _ternary_settings(
    num_samples: int, num_features: int, num_classes: int, effort: Effort
) -> dict[str, Any]:
    """Return the settings of two layers of gates that read two trits.

    They were chosen on validation samples. Thresholds are bits, because bands of UNKNOWN gained
    nothing there. Two layers that both can read the inputs are as good as one of more outputs, and
    take less area. The area in the loss cost hardly any accuracy, and a quarter to half of the area
    was saved. It is the less the later the parameters are that are kept.
    """
    width = num_classes * _gates(num_samples, num_classes, effort)
    least, most = _STEPS[effort]
    # Chunks of equal length are compiled once.
    every = max(least, min(most, num_samples)) // _MEASUREMENTS
    return {
        "layers": (width, width),
        "skip": True,
        "wiring": "learned",
        "wire_every": 2 if width < _WIDE else 4,
        "spacing": "balanced",
        "thresholds": _thresholds(num_samples, num_features),
        "delta": 0.0,
        "area_weight": 0.03,
        "learning_rate": 0.05,
        "batch": 128,
        "steps": _MEASUREMENTS * every,
        "evaluate_every": every,
        "keep": "late",
        "patience": _PATIENCE,
    }


def _gates(num_samples: int, num_classes: int, effort: Effort) -> int:
    """Return how many gates of a layer each class has."""
    most, total = _GATES[effort]
    wanted = most if num_classes <= _FEW_CLASSES else 6 * most // 10
    learnable = learnable_gates(num_samples, num_classes)
    return max(1, min(wanted, learnable, total // num_classes))


def learnable_gates(num_samples: int, num_classes: int) -> int:
    """Return how many gates of a layer for each class so many samples can teach."""
    samples = _SAMPLES_A_GATE * (2 if num_classes <= _FEW_CLASSES else 1)
    return max(_LEAST_GATES, num_samples // (samples * num_classes))


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
    if settings.get("start") == "trees":
        return _varied(settings, _boosted_changes(layers), given)
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
    return _varied(settings, changes, given)


def _boosted_changes(layers: tuple[int, ...]) -> list[dict[str, Any]]:
    wide = tuple(2 * num_gates for num_gates in layers)
    return [
        {},
        {"node": "3b"},
        {"node": "5b"},
        {"node": "6b"},
        {"thresholds": 15},
        {"node_output": "score7"},
        {"node": "5b", "node_output": "score7"},
        {"layers": wide, "node": "6b"},
        {"layers": wide, "node": "5b", "node_output": "score7"},
    ]


def _varied(
    settings: Mapping[str, Any], changes: list[dict[str, Any]], given: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return settings with each of some changes that do not touch what is given."""
    return [{**settings, **change} for change in changes if not change.keys() & given.keys()]
