"""Area, frequency and energy of whole designs in standard cells, before and after buffering.

Three networks as `trilut train NAME` makes them, with encoder, sums and decision, a register after
every layer, on three libraries. *Before* is what Yosys maps, with the enable of the pipeline one
net; *after* has trees of buffers, and is what `trilut synth --target asic:LIBRARY` reports and
writes. OpenSTA times the same netlist, with the same registers at the ports, with and without the
library's wire load.

Networks and what Yosys made are kept in build/bench-asic, so an interrupted run goes on where it
was. Figures go to build/bench-asic.json. Without OpenSTA its columns stay empty.

Run: python benchmarks/asic.py [--only NAME,…] [--library NAME,…]
"""

import argparse
import json
from pathlib import Path
from typing import Any

from trilut import Netlist, load, save
from trilut.data import load_dataset
from trilut.errors import ToolError
from trilut.files import make_directory, write_atomically
from trilut.hdl import HardwareOptions, write_verilog
from trilut.report.synthesis import make_section
from trilut.report.tables import Table
from trilut.synth import Cache, Synthesis, SynthesisSettings, load_target, synthesize_design
from trilut.synth.asic.opensta import find_opensta, opensta_period
from trilut.synth.asic.sources import load_library
from trilut.synth.mapped import MappedDesign
from trilut.training import TrainingConfig, train

BUILD = Path(__file__).resolve().parent.parent / "build"
KEPT = BUILD / "bench-asic"
FIGURES = BUILD / "bench-asic.json"
NETWORKS = ("moons", "breast_cancer", "digits")
LIBRARIES = ("freepdk45", "osu018", "osu035")


def network(name: str) -> Netlist:
    """Return a network, trained if it is not kept."""
    path = KEPT / f"{name}.trilut"
    if not path.exists():
        dataset = load_dataset(name)
        make_directory(KEPT)
        save(train(dataset, TrainingConfig.for_dataset(dataset)).netlist, path)
    return load(path)


def synthesis(name: str, library: str, *, buffers: bool) -> tuple[Synthesis, Path]:
    """Synthesise a network, and return the result and the directory of the tools."""
    target = load_target(f"asic:{library}")
    work = make_directory(KEPT / f"{name}-{library}-{'after' if buffers else 'before'}")
    design = write_verilog(network(name), work, HardwareOptions(sums=target.sums))
    settings = SynthesisSettings(buffers=buffers, timeout=3600, cache=Cache(KEPT / "cache"))
    found = synthesize_design(
        design, target, work=work, logs=work, settings=settings, blocks=False, progress=print
    )
    return found, work


def other_periods(work: Path, top: str, library_name: str, area: float) -> dict[str, float | None]:
    """Return the periods that OpenSTA finds, without wires and with the library's."""
    try:
        find_opensta()
    except ToolError as error:
        print(error)
        return {"opensta_ns": None, "opensta_wires_ns": None}
    library = load_library(library_name)
    design = MappedDesign(work / "yosys.json", top)
    design.register_ports(library.register)
    wires = library.wire_load(area)
    return {
        "opensta_ns": opensta_period(design, top, library, work / "opensta"),
        "opensta_wires_ns": wires
        and opensta_period(design, top, library, work / "opensta-wires", wires),
    }


def measure(name: str, library: str) -> dict[str, Any]:
    """Return the figures of a network on a library."""
    before, _ = synthesis(name, library, buffers=False)
    after, work = synthesis(name, library, buffers=True)
    sections = [make_section(each) for each in (before, after)]
    first, last = sections
    return {
        "network": name,
        "library": library,
        "gates": after.design.netlist.num_gates,
        "ff": last["ff"],
        "area_before": first["area"],
        "area": last["area"],
        "fmax_before": first["asic"]["fmax_without_wires_mhz"],
        "fmax": last["asic"]["fmax_without_wires_mhz"],
        "wire_load": last["asic"]["wire_load"],
        "fmax_wires": last["fmax_mhz"] if last["asic"]["wire_load"] else None,
        "energy_pj": last["figures"]["energy_pj"],
        "energy_wires_pj": last["figures"]["energy_with_wires_pj"],
        "leakage_nw": last["asic"]["leakage_nw"],
        "tools": last["tools"],
        **other_periods(work, after.design.top, library, last["area"]),
    }


def _number(value: float | None, digits: int = 0) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


def _against(fmax: float | None, period: float | None) -> str:
    """Show OpenSTA's period, and how much longer ours is."""
    if fmax is None or period is None:
        return "–"
    return f"{period:.3f} ({1000 / fmax / period - 1:+.1%})"


def tables(rows: list[dict[str, Any]]) -> list[Table]:
    """Return the figures as tables."""
    speed = [
        (
            row["network"],
            row["library"],
            f"{_number(row['area_before'])} → {_number(row['area'])}",
            f"{_number(row['fmax_before'])} → {_number(row['fmax'])}",
            _against(row["fmax"], row["opensta_ns"]),
            row["wire_load"] or "none",
            _number(row["fmax_wires"]),
            _against(row["fmax_wires"], row["opensta_wires_ns"]),
        )
        for row in rows
    ]
    energy = [
        (
            row["network"],
            row["library"],
            _number(row["energy_pj"], 2),
            _number(row["energy_wires_pj"], 2),
            "–" if row["leakage_nw"] is None else _number(row["leakage_nw"] / 1000, 2),
        )
        for row in rows
    ]
    return [
        Table(
            "Area and frequency",
            (
                *("network", "library", "area, µm²", "Fmax, MHz, no wires", "OpenSTA, ns (ours)"),
                *("wire load", "Fmax, MHz", "OpenSTA, ns (ours)"),
            ),
            tuple(speed),
        ),
        Table(
            "Energy of a classification",
            ("network", "library", "pJ, no wires", "pJ, with wires", "leakage, µW"),
            tuple(energy),
        ),
    ]


def main() -> None:
    """Measure, and print tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(NETWORKS), help="networks")
    parser.add_argument("--library", default=",".join(LIBRARIES), help="libraries")
    args = parser.parse_args()
    rows = json.loads(FIGURES.read_text()) if FIGURES.exists() else []
    for name in args.only.split(","):
        for library in args.library.split(","):
            new = measure(name, library)
            key = (name, library)
            rows = [row for row in rows if (row["network"], row["library"]) != key] + [new]
            write_atomically(FIGURES, json.dumps(rows, indent=2) + "\n")
    rows.sort(key=lambda row: (NETWORKS.index(row["network"]), LIBRARIES.index(row["library"])))
    for table in tables(rows):
        print(table.markdown())


if __name__ == "__main__":
    main()
