"""The data sets inside scikit-learn."""

import importlib
from typing import Any

import numpy as np

from trilut.data.dataset import Dataset, share_out
from trilut.errors import ToolError

__all__ = ["BUNDLED", "load_bundled", "sklearn_datasets"]

BUNDLED = ("breast_cancer", "digits", "iris", "wine")
"""Names of the data sets."""


def load_bundled(name: str, seed: int) -> Dataset:
    """Read one of the data sets and split it, class by class, by seed."""
    source = getattr(sklearn_datasets(name), f"load_{name}")()
    x, y = np.asarray(source.data, dtype=np.float64), np.asarray(source.target, dtype=np.int64)
    features = tuple(str(feature) for feature in source.feature_names)
    return share_out(name, features, tuple(str(label) for label in source.target_names), x, y, seed)


def sklearn_datasets(name: str) -> Any:
    """Return the module ``sklearn.datasets``.

    Raises
    ------
    ToolError
        If scikit-learn is not installed; the message says that data set ``name`` needs it.
    """
    # An Any on purpose: scikit-learn has no types.
    try:
        return importlib.import_module("sklearn.datasets")
    except ImportError as error:
        raise ToolError(
            f"Data set {name!r} needs scikit-learn; install it with pip install 'trilut[data]'"
        ) from error
