"""The manifest beside a design: what it was made from and with, and what tells its file apart."""

import dataclasses
import json
from importlib.metadata import version
from pathlib import Path

from trilut.circuit.format import digest
from trilut.files import write_atomically
from trilut.hdl.design import Design

__all__ = ["FORMAT", "VERSION", "write_manifest"]

FORMAT = "trilut-design"
VERSION = 1


def write_manifest(design: Design) -> Path:
    """Write the manifest of a design beside it, as ``TOP.json``."""
    document = {
        "format": FORMAT,
        "version": VERSION,
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
