"""Formats that circuits of others are read from, by name."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from trilut.circuit.head import Head
from trilut.circuit.limits import MAX_BYTES
from trilut.circuit.netlist import Netlist
from trilut.errors import FormatError
from trilut.files import read_bytes
from trilut.interchange.aiger import read_aiger
from trilut.interchange.blif import read_blif
from trilut.interchange.logic import Logic, netlist_of
from trilut.interchange.models import read_difflogic, read_torchlogix
from trilut.plugins import Plugins

__all__ = ["IMPORTERS", "Importer", "import_netlist"]


@dataclass(frozen=True, slots=True)
class Importer:
    """A format that circuits are read from.

    Parameters
    ----------
    name : str
        Its name.
    summary : str
        What it is, in a few words.
    suffixes : tuple of str
        How the names of such files end, and of no others.
    read : callable
        Takes the path of a file and returns its netlist.
    """

    name: str
    summary: str
    suffixes: tuple[str, ...]
    read: Callable[[Path], Netlist]


def _of_logic(read: Callable[[bytes, str], Logic]) -> Callable[[Path], Netlist]:
    def read_netlist(path: Path) -> Netlist:
        return netlist_of(read(read_bytes(path, MAX_BYTES), str(path)), name=path.stem)

    return read_netlist


_FILES = ".pt or .safetensors"

IMPORTERS = Plugins(
    "importer",
    (
        Importer("aiger", "AIGER, ascii or binary", (".aag", ".aig"), _of_logic(read_aiger)),
        Importer("blif", "BLIF of .names", (".blif",), _of_logic(read_blif)),
        Importer(
            "difflogic", "a module, or its tensors and wires: .pt, .safetensors", (), read_difflogic
        ),
        Importer("torchlogix", "a module, or its tensors: .pt, .safetensors", (), read_torchlogix),
    ),
    expected="a trilut.interchange.Importer",
    error=FormatError,
)
"""The formats; packages add theirs by entry points of the group ``trilut.importers``."""


def import_netlist(
    path: str | Path, language: str | None = None, *, num_classes: int | None = None
) -> Netlist:
    """Read a circuit of another format.

    Parameters
    ----------
    language : str, optional
        The name of one of :data:`IMPORTERS`; without it the end of the file's name says it.
    num_classes : int, optional
        Sum the outputs by class, as many for each, for a file that does not say so itself.

    Raises
    ------
    FormatError
        If there is no such format, or the file is not what it says.
    NetlistError
        If what it says is no netlist.
    """
    path = Path(path)
    netlist = _importer(path, language).read(path)
    if num_classes is not None:
        netlist = dataclasses.replace(netlist, head=_head(netlist, num_classes, path))
    return netlist


def _importer(path: Path, language: str | None) -> Importer:
    if language is not None:
        return IMPORTERS.find(language)
    for importer in IMPORTERS:
        if path.name.endswith(importer.suffixes):
            return importer
    raise FormatError(
        f"Cannot tell the format of {str(path)!r} by its name; say which: "
        f"{', '.join(IMPORTERS.names)}"
    )


def _head(netlist: Netlist, num_classes: int, path: Path) -> Head:
    if netlist.head is not None:
        raise FormatError(
            f"{str(path)!r} says itself that it has {len(netlist.head.classes)} classes"
        )
    size, rest = divmod(len(netlist.outputs), num_classes)
    if rest:
        raise FormatError(
            f"{str(path)!r} has {len(netlist.outputs)} outputs for {num_classes} classes, "
            "expected as many of each"
        )
    return Head(tuple(map(str, range(num_classes))), (size,) * num_classes)
