"""A test bench to take along: Verilog, vectors and a cocotb test that need nothing of TriLUT."""

import csv
import re
from collections.abc import Mapping
from importlib import resources
from io import StringIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.encoder import FeatureVectors
from trilut.circuit.head import Decisions
from trilut.circuit.netlist import Netlist
from trilut.errors import DataError
from trilut.files import make_directory, read_bytes, write_atomically
from trilut.identifier import check_identifier
from trilut.sim.bench.packing import Bits, pack_features, pack_integers, pack_trits
from trilut.sim.bench.regression import reference_model
from trilut.sim.bench.stimulus import Vectors

__all__ = ["write_testbench"]

_SCORES = re.compile(r"\boutput\s+(?:wire\s+)?\[(\d+):0\]\s*out_scores\b")


def write_testbench(
    net: Netlist,
    verilog: Path,
    top: str,
    vectors: Mapping[str, Vectors],
    out: Path,
    *,
    models: str = "",
    seed: int = 0,
) -> Path:
    """Write a directory in which ``make`` simulates a design and compares it with its netlist.

    It holds the Verilog, ``vectors.csv`` with the ports' values in hexadecimal, a cocotb test, and
    a Makefile; cocotb 2 and Icarus Verilog or Verilator are all it needs.

    Parameters
    ----------
    net : Netlist
        What the design must compute.
    verilog, top
        The design and its top module, with streams at both ends. Scores are compared if it has a
        port for them.
    vectors : mapping
        Vectors by origin, as :func:`trilut.sim.bench.stimulus` makes them.
    out : Path
        The directory; made if necessary.
    models : str
        Verilog models of a part's own cells that the design instantiates.
    seed : int
        Of the values of missing features.

    Raises
    ------
    NetlistError
        If ``top`` is not a plain Verilog identifier.
    DataError
        If the vectors do not fit the netlist, or the scores their port.
    FormatError
        If the Verilog cannot be read, or the directory written.
    """
    check_identifier(top)
    make_directory(out)
    model = reference_model(net, list(vectors.values()), seed)
    text = read_bytes(verilog)
    columns = _input_columns(net, model.vectors) | _output_columns(model.results)
    if isinstance(model.results, Decisions) and (port := _SCORES.search(text.decode())):
        columns["out_scores"] = _score_column(model.results, int(port[1]) + 1)
    origins = [origin for origin, group in vectors.items() for _ in range(len(group))]
    write_atomically(out / "vectors.csv", _table(origins, columns))
    write_atomically(out / f"{top}.v", text + models.encode())
    folder = resources.files("trilut.sim.bench").joinpath("portable_files")
    write_atomically(out / "test_design.py", folder.joinpath("test_design.py").read_bytes())
    makefile = folder.joinpath("Makefile").read_text().replace("@TOP@", top)
    write_atomically(out / "Makefile", makefile)
    return out


def _input_columns(net: Netlist, vectors: Vectors) -> dict[str, Bits]:
    if not isinstance(vectors, FeatureVectors):
        return {"in_trits": pack_trits(vectors)}
    assert net.encoder is not None
    features, present = pack_features(net.encoder, vectors)
    return {"in_features": features, "in_present": present}


def _output_columns(results: Decisions | NDArray[np.int8]) -> dict[str, Bits]:
    if not isinstance(results, Decisions):
        return {"out_trits": pack_trits(results)}
    columns = {
        "out_class": results.chosen,
        "out_margin": results.margin,
        "out_unknown": results.unknown,
    }
    # The design chooses the widths: 32 bits hold what any of them can.
    return {
        name: pack_integers(values[:, None], [32], signed=False) for name, values in columns.items()
    }


def _score_column(results: Decisions, width: int) -> Bits:
    num_classes = results.scores.shape[1]
    if width % num_classes:
        raise DataError(
            f"Port 'out_scores' has {width} bits, "
            f"expected a multiple of {num_classes}, one score a class"
        )
    return pack_integers(results.scores, [width // num_classes] * num_classes, signed=True)


def _table(origins: list[str], columns: Mapping[str, Bits]) -> str:
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["origin", *columns])
    writer.writerows(zip(origins, *map(_hexadecimal, columns.values()), strict=True))
    return text.getvalue()


def _hexadecimal(bits: Bits) -> list[str]:
    octets = np.packbits(bits, axis=1, bitorder="little")[:, ::-1]
    return [row.tobytes().hex().lstrip("0") or "0" for row in octets]
