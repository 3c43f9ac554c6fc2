"""Cells and flip-flops of a chip that is fed byte by byte, with a register every so many layers.

The classifier of `trilut board tinytapeout` (`--axi 8 --no-missing`), mapped to sky130 for 10 MHz,
without the wrapper of the pins, and at last the whole project as that command makes it.

Run: python benchmarks/tapeout.py NET… [-o DIR] [--pipelines 1,2,4,16]
"""

import argparse
import dataclasses
import json
from pathlib import Path
from typing import Any

from trilut import Netlist, load
from trilut.app.tapeout import make_tinytapeout
from trilut.boards.shuttle import SHUTTLES
from trilut.boards.tinytapeout import core_options
from trilut.files import make_directory, write_atomically
from trilut.hdl import write_verilog
from trilut.report.tables import Table
from trilut.synth import Cache, SynthesisSettings, load_target, synthesize_design

CLOCK_MHZ = 10.0
SHUTTLE = "sky130"


def core(netlist: Netlist, pipeline: int, directory: Path) -> dict[str, Any]:
    """Return the figures of the classifier alone."""
    target = load_target(f"asic:{SHUTTLES[SHUTTLE].library}")
    work = make_directory(directory / f"{netlist.name}-{pipeline}")
    options = dataclasses.replace(core_options(), pipeline=pipeline)
    settings = SynthesisSettings(
        frequency=CLOCK_MHZ, timeout=3600, cache=Cache(directory / "cache")
    )
    found = synthesize_design(
        write_verilog(netlist, work, options),
        target,
        work=work,
        logs=work,
        settings=settings,
        blocks=False,
        progress=print,
    )
    cells = found.result.cells
    return {"part": f"classifier, pipeline {pipeline}", "area": cells.area, "ff": cells.ff}


def whole(netlist: Netlist, directory: Path) -> dict[str, Any]:
    """Return the figures of the project with its pins."""
    project = make_tinytapeout(
        netlist, directory / f"{netlist.name}-chip", shuttle=SHUTTLE, clock_mhz=CLOCK_MHZ
    )
    return {
        "part": f"project, {project.block.utilization:.1%} of {project.block.tiles}",
        "area": project.cell_area,
        "ff": project.flip_flops,
    }


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("nets", nargs="+", metavar="NET", type=Path, help="netlists")
    parser.add_argument("-o", "--output", default="build/bench-tapeout", type=Path, metavar="DIR")
    parser.add_argument("--pipelines", default="1,2,4,16", help="layers between registers")
    args = parser.parse_args()
    rows = []
    for path in args.nets:
        netlist = load(path)
        parts = [core(netlist, int(each), args.output) for each in args.pipelines.split(",")]
        for part in [*parts, whole(netlist, args.output)]:
            rows.append({"network": netlist.name, "gates": netlist.num_gates, **part})
            write_atomically(args.output / "figures.json", json.dumps(rows, indent=2) + "\n")
    lines = [
        (row["network"], str(row["gates"]), row["part"], f"{row['area']:,.0f}", f"{row['ff']:,}")
        for row in rows
    ]
    heads = ("network", "gates", "part", "cells, µm²", "flip-flops")
    print(Table("Few flip-flops", heads, tuple(lines)).markdown())


if __name__ == "__main__":
    main()
