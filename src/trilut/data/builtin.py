"""The data sets inside scikit-learn."""

from typing import Any

import numpy as np

from trilut.data.dataset import Dataset, share_out
from trilut.extras import require

__all__ = ["BUILTIN", "load_builtin", "sklearn_datasets"]

BUILTIN = ("breast_cancer", "digits", "iris", "wine")
"""Names of the data sets."""


def load_builtin(name: str, seed: int) -> Dataset:
    """Read one of the data sets and split it, class by class, by seed."""
    source = getattr(sklearn_datasets(), f"load_{name}")()
    x, y = np.asarray(source.data, dtype=np.float64), np.asarray(source.target, dtype=np.int64)
    features = tuple(str(feature) for feature in source.feature_names)
    return share_out(name, features, tuple(str(label) for label in source.target_names), x, y, seed)


def sklearn_datasets() -> Any:
    """Return the module ``sklearn.datasets``.

    Raises
    ------
    ToolError
        If scikit-learn is not installed.
    """
    require("sklearn")
    from sklearn import datasets

    return datasets
