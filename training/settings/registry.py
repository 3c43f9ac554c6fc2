"""Kinds of settings found by name: those of TriLUT, and those that installed packages add."""

from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from trilut.plugins import Plugins
from trilut.training.errors import TrainingError
from trilut.training.settings.setting import Setting, Settings

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


class Registry(Plugins[type[_T]], Generic[_T]):
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
        expected = f"a subclass of trilut.training.{base.__name__}"
        super().__init__(kind, built_in, expected=expected, error=TrainingError)
        self._base = base
        self._option = option

    @property
    def setting(self) -> Setting:
        """The setting that chooses among them."""
        return Setting(self.kind, str, choices=self.names, option=self._option)

    @property
    def subject(self) -> str:
        """What an unknown name was given for."""
        return f"Setting {self.kind!r}"

    def accepts(self, loaded: object) -> bool:
        """Say whether what a package gives is such a class."""
        return isinstance(loaded, type) and issubclass(loaded, self._base)
