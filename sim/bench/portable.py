"""A test bench to take along: Verilog, vectors and a cocotb test that need nothing of TriLUT."""

import csv
from collections.abc import Mapping
from importlib import resources
from io import StringIO
from pathlib import Path

import numpy as np

from trilut.circuit.interface import Vectors, VerilogModule
from trilut.circuit.netlist import Netlist
from trilut.circuit.trit import Bits
from trilut.files import make_directory, read_bytes, write_atomically
from trilut.identifier import check_identifier
from trilut.sim.bench.regression import reference_model

__all__ = ["write_testbench"]


def write_testbench(
    netlist: Netlist,
    design: VerilogModule,
    vectors: Mapping[str, Vectors],
    out: str | Path,
    *,
    seed: int = 0,
) -> Path:
    """Write a directory in which ``make`` simulates a design and compares it with its netlist.

    It holds the Verilog, ``vectors.csv`` with the ports' values in hexadecimal, a cocotb test, and
    a Makefile; cocotb 2 and Icarus Verilog or Verilator are all it needs.

    Parameters
    ----------
    netlist : Netlist
        What the design must compute.
    design : VerilogModule
        The design, with streams at both ends.
    vectors : mapping
        Vectors by origin, as :func:`trilut.sim.bench.stimulus` makes them.
    out : path
        The directory; made if necessary.
    seed : int
        Of the values of missing features.

    Raises
    ------
    NetlistError
        If the top module is not a plain Verilog identifier.
    DataError
        If the vectors do not fit the netlist.
    FormatError
        If the Verilog cannot be read, or the directory written.
    """
    out = Path(out)
    top = check_identifier(design.top)
    make_directory(out)
    interface = design.interface
    model = reference_model(netlist, list(vectors.values()), seed, interface)
    columns = interface.pack_vectors(model.vectors) | interface.pack_results(model.results)
    origins = [origin for origin, group in vectors.items() for _ in range(len(group))]
    write_atomically(out / "vectors.csv", _table(origins, columns))
    write_atomically(out / f"{top}.v", read_bytes(design.path) + design.models.encode())
    folder = resources.files("trilut.sim.bench").joinpath("portable_files")
    write_atomically(out / "test_design.py", folder.joinpath("test_design.py").read_bytes())
    makefile = folder.joinpath("Makefile").read_text().replace("@TOP@", top)
    write_atomically(out / "Makefile", makefile)
    return out


def _table(origins: list[str], columns: Mapping[str, Bits]) -> str:
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["origin", *columns])
    writer.writerows(zip(origins, *map(_hexadecimal, columns.values()), strict=True))
    return text.getvalue()


def _hexadecimal(bits: Bits) -> list[str]:
    octets = np.packbits(bits, axis=1, bitorder="little")[:, ::-1]
    return [row.tobytes().hex().lstrip("0") or "0" for row in octets]
