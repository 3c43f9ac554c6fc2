"""Designs that are there: by their manifest, or by what is said of them."""

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trilut.circuit.format import digest
from trilut.circuit.interface import InputKind, Interface
from trilut.circuit.sequential import Circuit
from trilut.errors import FormatError
from trilut.extras import explained
from trilut.files import parse_json, read_bytes
from trilut.hdl.design import Design
from trilut.hdl.logic import logic_design
from trilut.hdl.manifest import FORMAT, VERSION
from trilut.hdl.options import DEFAULT_TARGET, Fabric, HardwareOptions
from trilut.identifier import check_identifier

__all__ = ["read_design"]

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
# Of the modules that a file has instead of the one that is looked for.
_MOST_NAMES = 5


def read_design(
    path: str | Path,
    netlist: Circuit,
    options: HardwareOptions | None = None,
    *,
    latency: int | None = None,
    clocked: bool = True,
    sums: str = DEFAULT_TARGET,
) -> Design:
    """Return a design that is there, as it is on disk now: ours, changed, or from elsewhere.

    What its ports are is said by its manifest. Where there is none, they are what
    :func:`trilut.hdl.write_verilog` would make by the same options, but for the latency.

    Parameters
    ----------
    path : path
        The Verilog file, or a directory with one design and its manifest. The file may have been
        changed since it was made; :attr:`Design.sha256` tells.
    netlist : Netlist
        The circuit that it must compute.
    options : HardwareOptions, optional
        What shaped it, if there is no manifest. With one, only another name of the top module.
    latency : int, optional
        Clock cycles from a vector to its result, if there is no manifest; by default those of the
        design that the options make.
    clocked : bool
        Whether it has a clock and a handshake, and not the ports of a vector and a result alone, if
        there is no manifest.
    sums : str
        What sums are made of, if neither a manifest nor the options say it.

    Raises
    ------
    FormatError
        If the file or the manifest cannot be read, it is of another netlist, or the file has no
        such module; also if options say what the manifest says.
    NetlistError
        If the netlist cannot be behind such ports.
    """
    path = Path(path)
    manifest = _manifest(path)
    wanted = options or HardwareOptions()
    if manifest is None:
        design = _described(path, netlist, wanted.for_part(sums), latency, clocked)
    else:
        _check_not_given(manifest, wanted, latency, clocked)
        design = _manifested(path, manifest, netlist)
        if wanted.top != HardwareOptions().top:
            design = dataclasses.replace(design, top=wanted.top)
    _check_top(design)
    return design


def _described(
    path: Path, netlist: Circuit, options: HardwareOptions, latency: int | None, clocked: bool
) -> Design:
    """Return a design without a manifest."""
    design = _design(path, options.for_netlist(netlist), netlist)
    interface = design.interface
    if latency is not None and (interface.is_combinational or not clocked):
        raise FormatError(f"A module without a clock has no latency of {latency} cycles")
    if not clocked and interface.axi is not None:
        raise FormatError("AXI4-Streams have a clock")
    if not clocked:
        interface = dataclasses.replace(interface, latency=0, is_combinational=True)
    elif latency is not None:
        interface = dataclasses.replace(interface, latency=latency)
    return dataclasses.replace(design, interface=interface)


def _check_not_given(
    manifest: Path, options: HardwareOptions, latency: int | None, clocked: bool
) -> None:
    flags = {
        "--logic-only": options.logic_only,
        "--no-optimize": not options.optimized,
        "--latency": latency is not None,
        "--interface": not clocked,
    }
    given = [*options.flags, *(flag for flag, is_given in flags.items() if is_given)]
    if given:
        raise FormatError(
            f"Manifest {str(manifest)!r} says what the design is; leave out {', '.join(given)}"
        )


def _manifested(path: Path, manifest: Path, netlist: Circuit) -> Design:
    """Return a design as its manifest describes it."""
    document = parse_json(read_bytes(manifest), f"Manifest {str(manifest)!r}")
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise FormatError(f"{str(manifest)!r} is not the manifest of a design")
    if document.get("version") != VERSION:
        raise FormatError(
            f"Manifest {str(manifest)!r} has version {document.get('version')!r}, "
            f"expected {VERSION}"
        )
    try:
        options = _options(document["options"])
        interface = Interface.from_dict(document["interface"])
        made_from = str(document["netlist"]["sha256"])
        name = str(document["file"])
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"Manifest {str(manifest)!r} is damaged: {error!r}") from error
    if made_from != digest(netlist):
        raise FormatError(
            f"The design in {str(manifest.parent)!r} was made from another netlist: its manifest "
            f"has sha256 {made_from[:16]}…, netlist {netlist.name!r} has {digest(netlist)[:16]}…"
        )
    file = manifest.with_name(Path(name).name) if path.is_dir() else path
    design = _design(file, options, netlist)
    # Without a port in it, nothing would be said of that port.
    if dataclasses.replace(design.interface, latency=interface.latency) != interface:
        raise FormatError(
            f"Manifest {str(manifest)!r} is damaged: its interface is not that of its options"
        )
    return dataclasses.replace(design, interface=interface)


def _design(path: Path, options: HardwareOptions, netlist: Circuit) -> Design:
    """Return what options make of a netlist, as it stands in a file."""
    if options.logic_only:
        return logic_design(netlist, options, path)
    # Gates alone are read without Amaranth.
    with explained():
        from trilut.hdl.streams import design_of

    return design_of(netlist, options, path)


def _manifest(path: Path) -> Path | None:
    """Return the manifest of a Verilog file, if it has one, or of the one design in a directory."""
    if not path.is_dir():
        manifest = path.with_suffix(".json")
        return manifest if manifest.is_file() else None
    found = [manifest for manifest in sorted(path.glob("*.json")) if _is_beside_verilog(manifest)]
    if len(found) != 1:
        raise FormatError(
            f"Directory {str(path)!r} has {len(found)} designs with a manifest, expected 1; name "
            "the Verilog file"
        )
    return found[0]


def _is_beside_verilog(manifest: Path) -> bool:
    return manifest.with_suffix(".v").is_file()


def _check_top(design: Design) -> None:
    """Check that a file has a module of the name that is looked for."""
    check_identifier(design.top)
    text = read_bytes(design.path).decode(errors="replace")
    names = re.findall(r"^\s*module\s+(\w+)", _COMMENT.sub(" ", text), flags=re.MULTILINE)
    if design.top not in names:
        there = ", ".join(map(repr, names[:_MOST_NAMES])) or "none"
        more = ", …" if len(names) > _MOST_NAMES else ""
        raise FormatError(
            f"File {str(design.path)!r} has no module {design.top!r}; it has {there}{more}"
        )


def _options(values: Mapping[str, Any]) -> HardwareOptions:
    kind = values["input_kind"]
    changes = {
        "input_kind": None if kind is None else InputKind(kind),
        "fabric": Fabric(values["fabric"]),
    }
    return HardwareOptions(**{**values, **changes})
