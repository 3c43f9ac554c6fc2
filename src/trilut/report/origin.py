"""Where a netlist comes from: what it was trained on, with which settings, by which command."""

import shlex
from collections.abc import Mapping
from typing import Any

__all__ = ["origin_rows", "training_command"]

# Those that say most; the command has all of them.
_SHOWN = (
    *("recipe", "layers", "wiring", "thresholds", "spacing", "delta"),
    *("steps", "batch", "learning_rate", "tau", "seed"),
)


def origin_rows(provenance: Mapping[str, Any]) -> dict[str, str]:
    """Describe the training that a netlist remembers; no rows if it remembers none."""
    settings = provenance.get("training")
    if not isinstance(settings, Mapping):
        return {}
    shown = [f"{name} {_text(settings[name])}" for name in _SHOWN if name in settings]
    rows = {"settings": ", ".join(shown)}
    command = training_command(provenance)
    return rows if command is None else {**rows, "command": command}


def training_command(provenance: Mapping[str, Any]) -> str | None:
    """Return the command that trains the same netlist again, if the netlist says enough.

    Every setting is in it, so that defaults which change do not change what it means.
    """
    settings, data = provenance.get("training"), provenance.get("data")
    if not (isinstance(settings, Mapping) and isinstance(data, Mapping)):
        return None
    if not isinstance(data.get("name"), str):
        return None
    words = ["trilut", "train", data["name"], "-o", "RUN"]
    if "seed" in settings:
        words += ["--seed", _text(settings["seed"])]
    for name, value in settings.items():
        # What is empty cannot be written, and is empty by default.
        if name != "seed" and value not in ([], ()):
            words += ["--set", f"{name}={_text(value)}"]
    return shlex.join(words)


def _text(value: object) -> str:
    """Return a setting as ``--set`` takes it."""
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if isinstance(value, list | tuple):
        groups = any(isinstance(each, list | tuple) for each in value)
        return (";" if groups else ",").join(map(_text, value))
    return str(value)
