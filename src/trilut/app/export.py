"""Netlists in other formats, circuits of others, and test benches to take along."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from trilut.app.console import talk
from trilut.circuit.format import load, save
from trilut.circuit.interface import InputKind, Vectors
from trilut.circuit.netlist import Netlist
from trilut.data.dataset import Samples
from trilut.errors import DataError, FormatError, ToolError
from trilut.files import write_atomically
from trilut.interchange import export_netlist, import_netlist
from trilut.measure.matching import features_for, netlist_dataset

if TYPE_CHECKING:
    from trilut.hdl import Design

__all__ = ["export_file", "import_file", "write_bench", "write_bus", "write_projects"]

# Random vectors of a test bench that the user takes along.
_BENCH_VECTORS = 1000
# Samples of the test set in it.
_BENCH_SAMPLES = 1000


def export_file(
    path: str | Path,
    output: str | Path,
    language: str,
    *,
    name: str = "trilut_net",
    optimized: bool = True,
) -> tuple[Path, ...]:
    """Write a netlist file in another format; see :func:`trilut.interchange.export_netlist`."""
    return export_netlist(load(path), output, language, name=name, optimized=optimized)


def import_file(
    path: str | Path,
    output: str | Path,
    language: str | None = None,
    *,
    num_classes: int | None = None,
) -> Netlist:
    """Write a circuit of another format as a netlist file and return it.

    See :func:`trilut.interchange.import_netlist`.
    """
    netlist = import_netlist(path, language, num_classes=num_classes)
    save(netlist, output)
    return netlist


def write_bus(design: "Design", bus: str) -> tuple[Path, ...]:
    """Write what puts a design on a bus, its registers and drivers, beside the design."""
    from trilut.hdl.peripheral.writing import write_peripheral
    from trilut.interchange.driver import write_drivers

    return (*write_peripheral(design, bus), *write_drivers(design))


def write_bench(design: "Design", output: str | Path) -> Path:
    """Write a test bench of a design that runs without TriLUT; return its directory.

    Among its vectors are samples of the test set, if the netlist says what it was trained on and
    that is there.
    """
    from trilut.sim import write_testbench

    return write_testbench(design.stateless, design, _bench_vectors(design), Path(output))


def write_projects(design: "Design", tools: Sequence[str]) -> tuple[Path, ...]:
    """Write project files beside a design, with a bench in Verilog where they can simulate it."""
    from trilut.interchange.projects import has_bench, write_project
    from trilut.sim.bench.plain import plain_testbench

    paths = [path for tool in tools for path in write_project(design, tool)]
    if "fusesoc" in tools and has_bench(design):
        for name, text in plain_testbench(design.stateless, design, _bench_vectors(design)).items():
            paths.append(design.path.parent / name)
            write_atomically(paths[-1], text)
    return tuple(paths)


def _bench_vectors(design: "Design") -> dict[str, Vectors]:
    from trilut.sim import stimulus

    return stimulus(
        design.stateless,
        _test_samples(design.stateless),
        np.random.default_rng(0),
        num_random=_BENCH_VECTORS,
        as_trits=design.interface.input_kind is InputKind.TRITS,
    )


def _test_samples(netlist: Netlist) -> Samples | None:
    if netlist.encoder is None or "data" not in netlist.provenance:
        return None
    try:
        return features_for(netlist, netlist_dataset(netlist))[:_BENCH_SAMPLES]
    except (DataError, FormatError, ToolError) as error:
        talk(f"No samples in the test bench: {error}")
        return None
