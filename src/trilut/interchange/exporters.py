"""Formats that a netlist is written in, by name."""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from trilut.circuit.format import dumps
from trilut.circuit.netlist import Netlist
from trilut.circuit.optimize import optimize
from trilut.errors import FormatError
from trilut.files import make_directory, write_atomically
from trilut.hdl.logic import write_logic
from trilut.identifier import check_identifier
from trilut.interchange.aiger import write_aiger
from trilut.interchange.blif import to_blif, to_blif_mv
from trilut.interchange.c_source import c_files
from trilut.interchange.logic import logic_of
from trilut.plugins import Plugins

__all__ = ["EXPORTERS", "Exporter", "Files", "export_netlist", "gates_alone"]

Files = Mapping[str, str | bytes]
"""Contents of files by their names."""


@dataclass(frozen=True, slots=True)
class Exporter:
    """A format that a netlist is written in.

    Parameters
    ----------
    name : str
        Its name.
    summary : str
        What it is, in a few words.
    files : callable
        Takes a netlist, a plain name, and whether gates that make no difference are left out;
        returns files of that name.
    """

    name: str
    summary: str
    files: Callable[[Netlist, str, bool], Files]


def gates_alone(netlist: Netlist, optimized: bool) -> Netlist:
    """Return a netlist without encoder and head, so that any trits may come in."""
    gates = dataclasses.replace(netlist, encoder=None, head=None)
    return optimize(gates).netlist if optimized else gates


def _c(netlist: Netlist, name: str, optimized: bool) -> Files:
    return c_files(netlist, name, optimized=optimized)


def _c_compact(netlist: Netlist, name: str, optimized: bool) -> Files:
    return c_files(netlist, name, optimized=optimized, compact=True)


def _blif(netlist: Netlist, name: str, optimized: bool) -> Files:
    return {f"{name}.blif": to_blif(gates_alone(netlist, optimized), model=name)}


def _blif_mv(netlist: Netlist, name: str, optimized: bool) -> Files:
    return {f"{name}.mv": to_blif_mv(gates_alone(netlist, optimized), model=name)}


def _aiger(netlist: Netlist, name: str, optimized: bool) -> Files:
    logic = logic_of(gates_alone(netlist, optimized))
    return {f"{name}.aig": write_aiger(logic, binary=True)}


def _aiger_ascii(netlist: Netlist, name: str, optimized: bool) -> Files:
    logic = logic_of(gates_alone(netlist, optimized))
    return {f"{name}.aag": write_aiger(logic, binary=False)}


def _verilog(netlist: Netlist, name: str, optimized: bool) -> Files:
    with TemporaryDirectory() as directory:
        write_logic(netlist, directory, top=name, optimized=optimized)
        return {path.name: path.read_bytes() for path in sorted(Path(directory).iterdir())}


def _json(netlist: Netlist, name: str, optimized: bool) -> Files:
    return {f"{name}.json": dumps(optimize(netlist).netlist if optimized else netlist)}


EXPORTERS = Plugins(
    "exporter",
    (
        Exporter("c", "C99, freestanding: features to decision, a statement a plane", _c),
        Exporter("c-compact", "the same as tables and loops: less code, more time", _c_compact),
        Exporter("aiger", "the gates as ands, a bit or two bits a net, binary", _aiger),
        Exporter("aiger-ascii", "the same as text", _aiger_ascii),
        Exporter("blif", "the gates, two bits a trit, for logic tools", _blif),
        Exporter("blif-mv", "the gates, one variable of three values a net", _blif_mv),
        Exporter("verilog-logic", "the gates as a combinational module", _verilog),
        Exporter("json", "the netlist file as plain JSON, docs/netlist-format.md", _json),
    ),
    expected="a trilut.interchange.Exporter",
    error=FormatError,
)
"""The formats; packages add theirs by entry points of the group ``trilut.exporters``."""


def export_netlist(
    netlist: Netlist,
    directory: str | Path,
    language: str,
    *,
    name: str = "trilut_net",
    optimized: bool = True,
) -> tuple[Path, ...]:
    """Write a netlist in another format; return the files.

    Parameters
    ----------
    language : str
        The name of one of :data:`EXPORTERS`.
    name : str
        Of the files, and of what is in them.
    optimized : bool
        Whether gates that make no difference are left out.

    Raises
    ------
    FormatError
        If there is no such format.
    NetlistError
        If the name is no plain identifier, or the format has no place for such a circuit.
    """
    files = EXPORTERS.find(language).files(netlist, check_identifier(name), optimized)
    folder = make_directory(Path(directory))
    for file, content in files.items():
        write_atomically(folder / file, content)
    return tuple(folder / file for file in files)
