"""Kinds of settings found by name: those of TriLUT, and those that installed packages add."""

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import ClassVar, Generic, TypeVar

from trilut.training.errors import TrainingError
from trilut.training.settings.setting import Setting, Settings, did_you_mean

__all__ = ["NamedSettings", "Registry"]


@dataclass(frozen=True, kw_only=True)
class NamedSettings(Settings):
    """Settings of something that is found by its name.

    Attributes
    ----------
    name : str
        The name.
    """

    name: ClassVar[str]


_T = TypeVar("_T", bound=NamedSettings)


# Once, because it reads a file of every package that is installed.
@functools.cache
def _installed(group: str) -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=group))


class Registry(Generic[_T]):
    """Classes of settings by name.

    A package adds its own by an entry point of the group ``trilut.recipes`` or ``trilut.wirings``,
    which has the name and leads to the class. It is loaded when it is asked for.

    Parameters
    ----------
    kind : str
        What they are: ``recipe`` or ``wiring``.
    base : type
        What all of them are subclasses of.
    built_in : tuple of type
        Those of TriLUT.
    option : str
        Help of the command-line option that takes a name.
    """

    def __init__(self, kind: str, base: type[_T], built_in: tuple[type[_T], ...], option: str):
        self.kind = kind
        self.group = f"trilut.{kind}s"
        self.built_in = built_in
        self._base = base
        self._option = option

    @property
    def names(self) -> tuple[str, ...]:
        """All names, for which no package is loaded."""
        own = [one.name for one in self.built_in]
        return (*own, *sorted({entry.name for entry in _installed(self.group)} - set(own)))

    @property
    def setting(self) -> Setting:
        """The setting that chooses among them."""
        return Setting(self.kind, str, choices=self.names, option=self._option)

    def __iter__(self) -> Iterator[type[_T]]:
        """Give all classes, those of TriLUT first; packages are loaded as they are come to."""
        yield from self.built_in
        for name in self.names[len(self.built_in) :]:
            yield self.find(name)

    def find(self, name: str) -> type[_T]:
        """Return the class of a name.

        Raises
        ------
        TrainingError
            If there is none, more than one, or none that can be loaded.
        """
        entries = [entry for entry in _installed(self.group) if entry.name == name]
        own = [one for one in self.built_in if one.name == name]
        if len(own) + len(entries) > 1:
            places = [f"{one.__module__}:{one.__name__}" for one in own]
            places += [entry.value for entry in entries]
            raise TrainingError(
                f"There is more than one {self.kind} {name!r}: {' and '.join(places)}"
            )
        if own:
            return own[0]
        if entries:
            return self._load(entries[0])
        raise TrainingError(
            f"Setting {self.kind!r} is {name!r}, expected "
            f"{' or '.join(map(repr, self.names))}{did_you_mean(name, self.names)}"
        )

    def _load(self, entry: EntryPoint) -> type[_T]:
        where = f"the {self.kind} {entry.name!r} from {entry.value!r}"
        try:
            loaded = entry.load()
        except (ImportError, AttributeError) as error:
            raise TrainingError(f"Cannot load {where}: {error}") from error
        if not (isinstance(loaded, type) and issubclass(loaded, self._base)):
            raise TrainingError(
                f"Cannot take {where}: expected a subclass of trilut.training.{self._base.__name__}"
            )
        name = getattr(loaded, "name", None)
        if name != entry.name:
            raise TrainingError(f"Cannot take {where}: its own name is {name!r}")
        return loaded
