"""The manifest beside a design: what it was made from and with, and what tells its file apart."""

import dataclasses
import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from trilut.circuit.format import digest
from trilut.circuit.interface import InputKind, Interface
from trilut.circuit.netlist import Netlist
from trilut.errors import FormatError
from trilut.files import parse_json, read_bytes, write_atomically
from trilut.hdl.design import Design, build_classifier
from trilut.hdl.options import Fabric, HardwareOptions
from trilut.hdl.sums.cells import PRIMITIVE_MODELS

__all__ = ["read_design", "write_manifest"]

FORMAT = "trilut-design"
_VERSION = 1


def write_manifest(design: Design) -> Path:
    """Write the manifest of a design beside it, as ``TOP.json``."""
    document = {
        "format": FORMAT,
        "version": _VERSION,
        "trilut": version("trilut"),
        "file": design.path.name,
        "sha256": design.sha256,
        "top": design.top,
        "netlist": {"name": design.netlist.name, "sha256": digest(design.netlist)},
        "options": dataclasses.asdict(design.options),
        "command_line": design.options.command_line,
        "interface": design.interface.to_dict(),
    }
    path = design.path.with_suffix(".json")
    write_atomically(path, json.dumps(document, indent=1) + "\n")
    return path


def read_design(path: Path, netlist: Netlist) -> Design:
    """Return a design that was written before, as it is on disk now.

    Parameters
    ----------
    path : Path
        The Verilog file, whose manifest stands beside it, or a directory with one design. The file
        may have been changed since; :attr:`Design.sha256` tells.
    netlist : Netlist
        The circuit that it was made from.

    Raises
    ------
    FormatError
        If there is no manifest, it cannot be read, or it is of another netlist.
    """
    manifest = _manifest(path)
    document = parse_json(read_bytes(manifest), f"Manifest {str(manifest)!r}")
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise FormatError(f"{str(manifest)!r} is not the manifest of a design")
    if document.get("version") != _VERSION:
        raise FormatError(
            f"Manifest {str(manifest)!r} has version {document.get('version')!r}, "
            f"expected {_VERSION}"
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
    return Design(
        path if path.is_file() else manifest.with_name(Path(name).name),
        options.top,
        interface,
        PRIMITIVE_MODELS.get(options.sums, ""),
        options=options,
        netlist=netlist,
        classifier=build_classifier(netlist, options),
    )


def _manifest(path: Path) -> Path:
    """Return the manifest of a Verilog file or of the one design in a directory."""
    if not path.is_dir():
        manifest = path.with_suffix(".json")
        if not manifest.is_file():
            raise FormatError(
                f"Design {str(path)!r} has no manifest {manifest.name!r} beside it, as "
                "'trilut verilog' writes it"
            )
        return manifest
    found = [manifest for manifest in sorted(path.glob("*.json")) if _is_beside_verilog(manifest)]
    if len(found) != 1:
        raise FormatError(
            f"Directory {str(path)!r} has {len(found)} designs with a manifest, expected 1; name "
            "the Verilog file"
        )
    return found[0]


def _is_beside_verilog(manifest: Path) -> bool:
    return manifest.with_suffix(".v").is_file()


def _options(values: Mapping[str, Any]) -> HardwareOptions:
    kind = values["input_kind"]
    changes = {
        "input_kind": None if kind is None else InputKind(kind),
        "fabric": Fabric(values["fabric"]),
    }
    return HardwareOptions(**{**values, **changes})
