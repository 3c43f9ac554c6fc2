"""Things found by name: those of TriLUT, and those that installed packages add."""

import functools
from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, Protocol, TypeVar

from trilut.errors import TrilutError
from trilut.text import did_you_mean

__all__ = ["Named", "Plugins", "installed"]


class Named(Protocol):
    """What has a name."""

    @property
    def name(self) -> str:
        """The name."""


_T = TypeVar("_T", bound=Named)


# Once, because it reads a file of every package that is installed.
@functools.cache
def installed(group: str) -> tuple[EntryPoint, ...]:
    """Return the entry points of a group."""
    return tuple(entry_points(group=group))


class Plugins(Generic[_T]):
    """Things of one kind by name.

    A package adds its own by an entry point of the group ``trilut.KINDs``, which has the name and
    leads to the thing. It is loaded when it is asked for.

    Parameters
    ----------
    kind : str
        What they are, as in ``exporter``.
    built_in : tuple
        Those of TriLUT.
    expected : str
        What a package has to give, in words.
    error : type
        What is raised.
    """

    def __init__(
        self,
        kind: str,
        built_in: tuple[_T, ...],
        *,
        expected: str,
        error: type[TrilutError] = TrilutError,
    ) -> None:
        self.kind = kind
        self.group = f"trilut.{kind}s"
        self.built_in = built_in
        self._expected = expected
        self._error = error

    @property
    def names(self) -> tuple[str, ...]:
        """All names, for which no package is loaded."""
        own = [one.name for one in self.built_in]
        return (*own, *sorted({entry.name for entry in installed(self.group)} - set(own)))

    def __iter__(self) -> Iterator[_T]:
        """Give all, those of TriLUT first; packages are loaded as they are come to."""
        yield from self.built_in
        for name in self.names[len(self.built_in) :]:
            yield self.find(name)

    def find(self, name: str) -> _T:
        """Return what has a name.

        Raises
        ------
        TrilutError
            Of the type that was asked for, if there is none, more than one, or none that can be
            loaded.
        """
        entries = [entry for entry in installed(self.group) if entry.name == name]
        own = [one for one in self.built_in if one.name == name]
        if len(own) + len(entries) > 1:
            places = [*map(_place, own), *(entry.value for entry in entries)]
            raise self._error(
                f"There is more than one {self.kind} {name!r}: {' and '.join(places)}"
            )
        if own:
            return own[0]
        if entries:
            return self._load(entries[0])
        raise self._error(
            f"{self.subject} is {name!r}, expected "
            f"{' or '.join(map(repr, self.names))}{did_you_mean(name, self.names)}"
        )

    @property
    def subject(self) -> str:
        """What an unknown name was given for."""
        return self.kind.capitalize()

    def accepts(self, loaded: object) -> bool:
        """Say whether what a package gives is one of this kind."""
        return isinstance(loaded, type(self.built_in[0]))

    def _load(self, entry: EntryPoint) -> _T:
        where = f"the {self.kind} {entry.name!r} from {entry.value!r}"
        try:
            loaded: _T = entry.load()
        except (ImportError, AttributeError) as error:
            raise self._error(f"Cannot load {where}: {error}") from error
        if not self.accepts(loaded):
            raise self._error(f"Cannot take {where}: expected {self._expected}")
        name = getattr(loaded, "name", None)
        if name != entry.name:
            raise self._error(f"Cannot take {where}: its own name is {name!r}")
        return loaded


def _place(thing: object) -> str:
    """Say where a thing of TriLUT is: a class, or what is not one."""
    if isinstance(thing, type):
        return f"{thing.__module__}:{thing.__name__}"
    return "TriLUT's own"
