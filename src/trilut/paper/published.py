"""The paper's own figures, from ``published.toml``."""

import functools
import tomllib
from collections.abc import Mapping
from importlib.resources import files

__all__ = ["published"]


@functools.cache
def published(experiment: str) -> Mapping[str, Mapping[str, float]]:
    """Return what the paper's table of an experiment says: {row: {column: value}}."""
    document = tomllib.loads((files("trilut.paper") / "published.toml").read_text())[experiment]
    columns = document["columns"]
    return {
        row: dict(zip(columns, values, strict=True))
        for row, values in document.items()
        if row not in ("from", "columns")
    }
