"""What to go on with after mapping to standard cells: netlist, constraints, cells, and how."""

from pathlib import Path

from trilut.files import make_directory, read_bytes, write_atomically
from trilut.synth.asic.library import Library
from trilut.synth.asic.sources import load_library
from trilut.synth.design import Synthesis
from trilut.synth.models import write_mapped_verilog
from trilut.synth.result import Asic
from trilut.synth.runner import SynthesisSettings
from trilut.synth.target import Target
from trilut.text import one_line

__all__ = ["write_handoff"]

# What LibreLane takes for ports if it is told nothing.
_PORT_SHARE = 0.2


def write_handoff(
    synthesis: Synthesis, target: Target, settings: SynthesisSettings, *, work: Path, output: Path
) -> None:
    """Write ``mapped.v``, ``cells.v``, ``cells.csv``, ``mapped.sdc`` and ``README-mapped.md``.

    Parameters
    ----------
    synthesis : Synthesis
        A design on an ASIC.
    settings : SynthesisSettings
        What was asked of the tools.
    work : Path
        The directory in which it was synthesised.
    output : Path
        Where the files go; made if necessary.

    Raises
    ------
    ToolError
        If Yosys fails.
    FormatError
        If Verilog has no words for a cell of the library.
    """
    asic = synthesis.result.asic
    assert asic is not None
    library = load_library(target.library, settings.liberty)
    top = synthesis.design.top
    mapped = write_mapped_verilog(work, top, target, library=library, timeout=settings.timeout)
    make_directory(output)
    write_atomically(output / "mapped.v", read_bytes(mapped.path))
    write_atomically(output / "cells.v", mapped.models)
    write_atomically(output / "cells.csv", _cell_table(asic, library))
    write_atomically(output / "mapped.sdc", _constraints(library, settings.frequency))
    write_atomically(output / "README-mapped.md", _readme(synthesis, asic, settings.frequency))


def _cell_table(asic: Asic, library: Library) -> str:
    rows = [f"cell,number,area of one,area of all,unit {asic.area_unit}"]
    for name, count in asic.cell_counts.items():
        rows.append(f"{name},{count},{library.cells[name].area:g},{asic.cell_areas[name]:g},")
    return "\n".join(rows) + "\n"


def _constraints(library: Library, frequency: float) -> str:
    """Return the clock and the time that is left to the world around, in the library's unit."""
    period = 1000 / frequency / library.ns
    share = period * _PORT_SHARE
    return (
        f"# {frequency:g} MHz, in the time unit of the library\n"
        f"create_clock -name clk -period {period:g} [get_ports clk]\n"
        f"set_input_delay {share:g} -clock clk [all_inputs -no_clocks]\n"
        f"set_output_delay {share:g} -clock clk [all_outputs]\n"
    )


def _readme(synthesis: Synthesis, asic: Asic, frequency: float) -> str:
    result, top = synthesis.result, synthesis.design.top
    timing = "none: the library has no delays, so this is area only"
    if result.timing is not None:
        timing = f"{result.timing.fmax_mhz:.1f} MHz, {result.timing.method}"
    elif asic.has_delays:
        timing = "none: the design has no path from register to register"
    return f"""\
# {top} in cells of {one_line(asic.library)}

| what | value |
|---|---|
| area of the cells | {result.cells.area:,.1f} {asic.area_unit} |
| flip-flops | {result.cells.ff} |
| other cells | {result.cells.gate} |
| Fmax | {timing} |
| asked for | {frequency:g} MHz |
| SHA-256 of the Verilog that was mapped | {synthesis.sha256} |

| file | what it is |
|---|---|
| `mapped.v` | the netlist of cells, flattened, with trees of buffers: what was counted and timed |
| `cells.v` | what those cells do, without delays and supplies, to simulate `mapped.v` with |
| `cells.csv` | how many there are of each, and their area |
| `mapped.sdc` | the clock, and a fifth of its period for what is before and behind the ports |

The flip-flops have no initial values: hold `rst` at 1 for one clock cycle. There is no clock tree.
Constants at pins of cells are written as such.

## OpenROAD

With the LEF and liberty files of the process; names in capitals are yours.

```
read_lef TECHNOLOGY.lef
read_lef CELLS.lef
read_liberty CELLS.lib
read_verilog mapped.v
link_design {top}
read_sdc mapped.sdc
initialize_floorplan -utilization 50 -aspect_ratio 1 -core_space 2 -site SITE
make_tracks
place_pins -hor_layers LAYER -ver_layers LAYER
insert_tiecells LIBRARY_CELL/PIN
global_placement
repair_design
detailed_placement
clock_tree_synthesis
detailed_placement
global_route
detailed_route
```

## LibreLane

LibreLane maps Verilog itself. Write it with `trilut verilog NET -o DIR` and the options of this
run, and give it this `config.json`:

```
{{
  "DESIGN_NAME": "{top}",
  "VERILOG_FILES": "dir::{top}.v",
  "CLOCK_PORT": "clk",
  "CLOCK_PERIOD": {1000 / frequency:g}
}}
```
"""
