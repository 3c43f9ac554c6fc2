"""The Verilog of an engine."""

from importlib.metadata import version
from pathlib import Path

from trilut.files import make_directory, work_directory, write_atomically
from trilut.hdl.conversion import convert_with_version
from trilut.hdl.engine.program import memory_verilog
from trilut.hdl.engine.size import EngineSize
from trilut.hdl.engine.top import Engine

__all__ = ["MEMORY", "TOP", "write_engine"]

TOP = "trilut_engine"
"""The name of the module."""
MEMORY = f"{TOP}_memory"
"""The name of the module that is its program memory."""


def write_engine(size: EngineSize, directory: str | Path) -> Path:
    """Write the Verilog of an engine; return the file.

    Raises
    ------
    FormatError, ToolError
        If the file cannot be written, or what writes Verilog is missing or fails.
    """
    directory = make_directory(Path(directory))
    with work_directory(directory) as work:
        text, converter = convert_with_version(Engine(size, memory_module=MEMORY), TOP, work)
    header = [
        f"// TriLUT {version('trilut')}: an engine that runs netlists from memory",
        f"// made by: trilut engine verilog {size.command_line}",
        f"// tools: amaranth {version('amaranth')}, {converter}",
        "// One feature of all samples a beat on in_*, decisions on out_*, models on model_*;",
        "// docs/engine.md has the timing.",
    ]
    path = directory / f"{TOP}.v"
    write_atomically(path, "\n".join([*header, "", text, memory_verilog(size, MEMORY)]))
    return path
