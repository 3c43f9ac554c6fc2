"""From a netlist to a layout of standard cells, with its picture."""

import dataclasses
import json
from pathlib import Path

from trilut.app.console import stages, tell_missing
from trilut.app.synth import synthesize_netlist
from trilut.circuit.netlist import Netlist
from trilut.extras import missing, require
from trilut.files import make_directory, write_atomically
from trilut.hdl.options import HardwareOptions
from trilut.report.layout import PICTURE_MODULES, draw_layout
from trilut.synth import SynthesisSettings, load_target
from trilut.synth.asic.layout import CELLS, LIBRARY, Layout, check_layout_tools, lay_out

__all__ = ["make_layout"]


def make_layout(
    netlist: Netlist,
    output: str | Path,
    options: HardwareOptions | None = None,
    *,
    settings: SynthesisSettings | None = None,
) -> Layout:
    """Map a netlist to standard cells, place and route them, and draw the layout.

    Writes what :func:`~trilut.app.synth.synthesize_netlist` does, ``layout.def``, ``layout.mag``,
    ``layout.json``, ``lvs.txt`` and, with klayout, ``layout.png``.

    Raises
    ------
    ToolError
        If a tool is missing or fails.
    """
    require("amaranth")
    check_layout_tools()
    tell_missing("The picture", *PICTURE_MODULES)
    target = load_target(f"asic:{LIBRARY}")
    shaped = (options or HardwareOptions()).for_part(target.sums)
    wanted = settings or SynthesisSettings(timeout=3600)
    output = make_directory(Path(output))
    with stages() as show:
        synthesize_netlist(netlist, target, shaped, output, wanted, show)
        stage = show.start("layout")
        layout = lay_out(
            output / "mapped.v", shaped.top, output, timeout=wanted.timeout, progress=stage.step
        )
        stage.finish(f"{layout.width_um:.0f} × {layout.height_um:.0f} µm")
    document = {
        **dataclasses.asdict(layout),
        "area_um2": layout.area_um2,
        "wire_mm": layout.wire_mm,
        "cells_are_abstract": True,
    }
    write_atomically(output / "layout.json", json.dumps(document, indent=2) + "\n")
    if not missing(*PICTURE_MODULES):
        draw_layout(output / "layout.def", CELLS, output / "layout.png")
    return layout
