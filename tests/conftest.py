"""JAX at its strictest, and shapes checked in the modules that compute with arrays."""

import os

# Read when JAX is imported, which only some tests do.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["JAX_NUMPY_DTYPE_PROMOTION"] = "strict"
os.environ["JAX_NUMPY_RANK_PROMOTION"] = "raise"

from jaxtyping import install_import_hook

# Not the configuration: its own checks, with their own messages, are what the tests are after.
_MODULES = ("harden", "loop", "network", "recipes", "relax", "wiring")

install_import_hook([f"trilut.training.{module}" for module in _MODULES], "beartype.beartype")
