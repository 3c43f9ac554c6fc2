"""Packages whose names are imported when somebody asks for them, and not before."""

from collections.abc import Callable, Mapping
from importlib import import_module

from trilut.extras import explained

__all__ = ["lazy_names"]


def lazy_names(package: str, places: Mapping[str, str]) -> Callable[[str], object]:
    """Return the ``__getattr__`` of a package, which looks names up in the modules that have them.

    What needs JAX or Amaranth takes a second to import, or is not installed: a command that does
    not use it should not ask for it.

    Parameters
    ----------
    package : str
        Its ``__name__``.
    places : mapping
        The module of each name.
    """

    def get(name: str) -> object:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        with explained():
            return getattr(import_module(places[name]), name)

    return get
