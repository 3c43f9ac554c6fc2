"""What runs in a process of its own, so that it can be killed whole: compiling and simulating."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

__all__ = ["compile_units", "main", "simulate"]

# Variables that would change what cocotb's runner does.
_FOREIGN = {"GPI_EXTRA", "GPI_USERS", "GUI", "PYTEST_CURRENT_TEST", "WAVES"}
# Bytes of C++ that are worth a unit of their own; each reads the same headers again.
_UNIT_BYTES = 1 << 21


def main(argv: Sequence[str]) -> int:
    """Do one task: ``compile`` or ``simulate``, and the file that describes it."""
    task, path = argv
    description = json.loads(Path(path).read_text())
    return {"compile": _compile, "simulate": simulate}[task](description)


def _compile(description: dict[str, Any]) -> int:
    """Compile and link what :class:`trilut.sim.bench.simulator.Verilator` describes."""
    units = [description["runtime"], *_balanced(description["model"])]
    objects = compile_units(description["compile"], units)
    if objects is None:
        return 1
    link = [*description["link"], *objects, *description["libraries"]]
    return subprocess.run(link, check=False).returncode


def _balanced(files: Iterable[str]) -> list[list[str]]:
    """Share files out into a few units of about the same size."""
    sizes = {file: Path(file).stat().st_size for file in files}
    num_units = min(max(sum(sizes.values()) // _UNIT_BYTES, 1), 2 * (os.cpu_count() or 1))
    units: list[list[str]] = [[] for _ in range(num_units)]
    for file in sorted(sizes, key=sizes.__getitem__, reverse=True):
        min(units, key=lambda unit: sum(sizes[each] for each in unit)).append(file)
    return [unit for unit in units if unit]


def compile_units(
    command: Sequence[str], units: Sequence[Sequence[str]], prefix: str = "unit"
) -> list[str] | None:
    """Compile each unit, some C++ files in one, and return the objects, or None on failure.

    The run-time library of Verilator is made to be compiled file by file. In one go it takes half
    the time, but if a version cannot be compiled so, its files are compiled one by one.
    """
    names = [f"{prefix}_{number}" for number in range(len(units))]
    for name, unit in zip(names, units, strict=True):
        Path(f"{name}.cpp").write_text("".join(f'#include "{file}"\n' for file in unit))
    commands = [[*command, "-c", "-o", f"{name}.o", f"{name}.cpp"] for name in names]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        statuses = list(pool.map(subprocess.call, commands))
    objects = [f"{name}.o" for name, status in zip(names, statuses, strict=True) if status == 0]
    failed = [unit for unit, status in zip(units, statuses, strict=True) if status != 0]
    if not failed:
        return objects
    if any(len(unit) == 1 for unit in failed):
        return None
    one_by_one = compile_units(command, [[file] for unit in failed for file in unit], "single")
    return None if one_by_one is None else objects + one_by_one


def simulate(description: dict[str, Any]) -> int:
    """Run the test bench on a simulation that is built."""
    from cocotb_tools.check_results import get_results
    from cocotb_tools.runner import get_runner

    for name in list(os.environ):
        if name.startswith("COCOTB_") or name in _FOREIGN:
            del os.environ[name]
    directory = Path(description["directory"])
    results = get_runner(description["simulator"]).test(
        test_module="trilut.sim.bench.inside",
        hdl_toplevel=description["top"],
        hdl_toplevel_lang="verilog",
        build_dir=directory,
        test_dir=directory,
        results_xml=str(directory / "results.xml"),
        seed=description["seed"],
        plusargs=description["arguments"],
        # The bench makes no assertions that cocotb would have to rewrite, at the cost of a start.
        extra_env={**description["environment"], "COCOTB_REWRITE_ASSERTION_FILES": ""},
    )
    num_tests, num_failed = get_results(results)
    return 0 if num_tests == 1 and num_failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
