"""Netlists in other formats, and test benches to take along."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from trilut.app.console import talk
from trilut.circuit.blif import to_blif, to_blif_mv
from trilut.circuit.format import load
from trilut.circuit.interface import InputKind
from trilut.circuit.netlist import Netlist
from trilut.circuit.optimize import optimize
from trilut.data.dataset import Samples
from trilut.errors import DataError, FormatError, ToolError
from trilut.files import make_directory, write_atomically
from trilut.identifier import check_identifier
from trilut.measure.matching import features_for, netlist_dataset

if TYPE_CHECKING:
    from trilut.hdl import Design

__all__ = ["write_bench", "write_blif"]

# Random vectors of a test bench that the user takes along.
_BENCH_VECTORS = 1000
# Samples of the test set in it.
_BENCH_SAMPLES = 1000


def write_blif(
    path: str | Path,
    output: str | Path,
    language: str,
    *,
    top: str = "trilut_top",
    optimized: bool = True,
) -> Path:
    """Write the gates of a netlist file as ``TOP.blif`` or ``TOP.mv``, for any trits at the inputs.

    Parameters
    ----------
    language : str
        ``blif`` or ``blif-mv``.
    optimized : bool
        Whether gates that make no difference are left out.
    """
    output = Path(output)
    path = Path(path)
    # Behind BLIF there is no encoder whose trits alone could come in.
    circuit = dataclasses.replace(load(path), encoder=None, head=None)
    if optimized:
        circuit = optimize(circuit).netlist
    suffix, convert = {"blif": ("blif", to_blif), "blif-mv": ("mv", to_blif_mv)}[language]
    written = make_directory(output) / f"{check_identifier(top)}.{suffix}"
    write_atomically(written, convert(circuit, model=top))
    return written


def write_bench(design: "Design", output: str | Path) -> Path:
    """Write a test bench of a design that runs without TriLUT; return its directory.

    Among its vectors are samples of the test set, if the netlist says what it was trained on and
    that is there.
    """
    output = Path(output)
    from trilut.sim import stimulus, write_testbench

    as_trits = design.interface.input_kind is InputKind.TRITS
    vectors = stimulus(
        design.netlist,
        _test_samples(design.netlist),
        np.random.default_rng(0),
        num_random=_BENCH_VECTORS,
        as_trits=as_trits,
    )
    return write_testbench(design.netlist, design, vectors, output)


def _test_samples(netlist: Netlist) -> Samples | None:
    if netlist.encoder is None or "data" not in netlist.provenance:
        return None
    try:
        return features_for(netlist, netlist_dataset(netlist))[:_BENCH_SAMPLES]
    except (DataError, FormatError, ToolError) as error:
        talk(f"No samples in the test bench: {error}")
        return None
