"""Project files: a design as others' build tools take it.

The names in them are the top module's, which is a plain identifier; no other text of a netlist
gets there.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from trilut.circuit.interface import Direction, Port
from trilut.errors import NetlistError
from trilut.files import write_atomically
from trilut.hdl.design import Design
from trilut.hdl.options import PORTABLE
from trilut.identifier import check_identifier

__all__ = ["PROJECTS", "has_bench", "write_project"]

VIVADO_PART = "xcvu9p-flgb2104-2-i"
"""The part on which the field compares itself."""
QUARTUS_FAMILY, QUARTUS_PART = "Cyclone V", "5CGXFC7C7F23C8"


def write_project(design: Design, tool: str) -> tuple[Path, ...]:
    """Write the files of a project beside a design.

    Parameters
    ----------
    tool : str
        One of :data:`PROJECTS`.

    Raises
    ------
    NetlistError
        If there is no such project, or the design is not for it.
    """
    if tool not in PROJECTS:
        raise NetlistError(f"Project is {tool!r}, expected {' or '.join(map(repr, PROJECTS))}")
    project, top = PROJECTS[tool], check_identifier(design.top)
    if project.needs_clock and design.interface.is_combinational:
        raise NetlistError(f"A project of {tool} needs a clock; leave out --logic-only")
    if design.part_cells and design.options.sums not in project.sums:
        cells = ", ".join(design.part_cells)
        raise NetlistError(
            f"A project of {tool} cannot have {cells} of {design.options.sums}; "
            f"give --target {' or '.join([*project.targets, PORTABLE])}"
        )
    directory = design.path.parent
    texts = project.files(design)
    for name, text in texts.items():
        write_atomically(directory / name, text.replace("@top@", top))
    return tuple(directory / name for name in texts)


def _vivado(design: Design) -> dict[str, str]:
    return {f"{design.top}_vivado.tcl": _VIVADO}


def _quartus(design: Design) -> dict[str, str]:
    return {f"{design.top}_quartus.tcl": _QUARTUS}


def _fusesoc(design: Design) -> dict[str, str]:
    # Tools that build for the part have its cells; those that simulate need models.
    files = {f"{design.top}_cells.v": design.models} if design.part_cells else {}
    names = "".join(f"\n      - {name}" for name in files) or " []"
    core = _FUSESOC.replace("@models@", names)
    if has_bench(design):
        core = core.replace("targets:\n", _FUSESOC_BENCH + "targets:\n") + _FUSESOC_SIMULATIONS
    return {f"{design.top}.core": core, **files}


def has_bench(design: Design) -> bool:
    """Return whether a project of a design can simulate it: with plain streams at both ends."""
    interface = design.interface
    return not interface.is_combinational and interface.axi is None and interface.margin is None


def _vhdl(design: Design) -> dict[str, str]:
    """Return a package with the component, and an entity that has one."""
    ports = design.interface.ports
    return {
        f"{design.top}_component.vhd": _VHDL.replace(
            "@ports@", ";\n".join(_vhdl_port(port) for port in ports)
        ).replace("@wires@", ",\n".join(f"  --   {port.name} => {port.name}" for port in ports))
    }


def _vhdl_port(port: Port) -> str:
    way = "in" if port.direction is Direction.INPUT else "out"
    # As the Verilog has them: a vector only where there is more than one bit.
    kind = "std_logic" if port.width == 1 else f"std_logic_vector({port.width - 1} downto 0)"
    return f"      {port.name} : {way} {kind}"


class _Project(NamedTuple):
    """What a project is made of, and what designs it takes.

    Parameters
    ----------
    files : callable
        Contents by name; ``@top@`` stands for the top module.
    sums, targets : tuple of str
        Whose cells its tool knows, and the targets that have them.
    """

    files: Callable[[Design], Mapping[str, str]]
    sums: tuple[str, ...]
    targets: tuple[str, ...]
    needs_clock: bool = True


_ALL_SUMS = ("ecp5", "carry", "xilinx")

PROJECTS: dict[str, _Project] = {
    "fusesoc": _Project(_fusesoc, _ALL_SUMS, (), needs_clock=False),
    "quartus": _Project(_quartus, (), ("cyclonev",)),
    "vhdl": _Project(_vhdl, _ALL_SUMS, (), needs_clock=False),
    "vivado": _Project(_vivado, ("xilinx",), ("xc7", "xcup")),
}
"""What projects there are, by name."""

_VIVADO = f"""\
# Synthesis, placement and routing of @top@ by itself ("out of context") with Vivado:
#
#   vivado -mode batch -source @top@_vivado.tcl -tclargs [PART [PERIOD_NS]]
#
# PART is {VIVADO_PART} and PERIOD_NS 1.0 if they are not given. The reports go into the directory
# vivado.
set part [expr {{$argc > 0 ? [lindex $argv 0] : "{VIVADO_PART}"}}]
set period [expr {{$argc > 1 ? [lindex $argv 1] : 1.0}}]
set here [file dirname [file normalize [info script]]]
file mkdir vivado
create_project -in_memory -part $part
read_verilog [file join $here @top@.v]
synth_design -top @top@ -part $part -mode out_of_context -flatten_hierarchy full
create_clock -name clk -period $period [get_ports clk]
opt_design
place_design -directive Explore
phys_opt_design
route_design -directive Explore
report_utilization -file vivado/utilization.rpt
report_timing_summary -max_paths 1 -file vivado/timing.rpt
write_checkpoint -force vivado/@top@.dcp
"""

_QUARTUS = f"""\
# Synthesis, placement, routing and timing of @top@ by itself with Quartus Prime:
#
#   quartus_sh -t @top@_quartus.tcl [PART [PERIOD_NS]]
#
# PART is {QUARTUS_PART} ({QUARTUS_FAMILY}) and PERIOD_NS 5.0 if they are not given. All ports
# but the clock are virtual pins: the design has more of them than a package has balls.
package require ::quartus::project
package require ::quartus::flow
set part [expr {{[llength $quartus(args)] > 0 ? [lindex $quartus(args) 0] : "{QUARTUS_PART}"}}]
set period [expr {{[llength $quartus(args)] > 1 ? [lindex $quartus(args) 1] : 5.0}}]
set here [file dirname [file normalize [info script]]]
project_new @top@ -overwrite
set_global_assignment -name FAMILY "{QUARTUS_FAMILY}"
set_global_assignment -name DEVICE $part
set_global_assignment -name TOP_LEVEL_ENTITY @top@
set_global_assignment -name VERILOG_FILE [file join $here @top@.v]
set constraints [open @top@.sdc w]
puts $constraints "create_clock -name clk -period $period \\[get_ports clk\\]"
close $constraints
set_global_assignment -name SDC_FILE @top@.sdc
set_instance_assignment -name VIRTUAL_PIN ON -to *
set_instance_assignment -name VIRTUAL_PIN OFF -to clk
export_assignments
execute_flow -compile
project_close
"""

_FUSESOC = """\
CAPI=2:
# A core of FuseSoC: fusesoc --cores-root . run --target lint ::@top@
name: ::@top@:0
description: A ternary logic gate network
filesets:
  rtl:
    files:
      - @top@.v
    file_type: verilogSource
  models:
    files:@models@
    file_type: verilogSource
targets:
  default:
    filesets: [rtl]
    toplevel: @top@
  lint:
    flow: lint
    flow_options:
      tool: verilator
    filesets: [rtl, models]
    toplevel: @top@
"""

_FUSESOC_BENCH = """\
  bench:
    files:
      - @top@_bench.sv : {file_type : systemVerilogSource}
      - @top@_vectors.hex : {file_type : user, copyto : @top@_vectors.hex}
"""

_FUSESOC_SIMULATIONS = """\
  sim:
    flow: sim
    flow_options:
      tool: verilator
      mode: binary
      verilator_options: [--timing, -Wno-fatal]
    filesets: [rtl, models, bench]
    toplevel: @top@_bench
  icarus:
    flow: sim
    flow_options:
      tool: icarus
      iverilog_options: [-g2012]
    filesets: [rtl, models, bench]
    toplevel: @top@_bench
"""

_VHDL = """\
-- @top@ as a component: compile this package and @top@.v into one library, then write
--
--   use work.@top@_component.all;
--   …
--   circuit : @top@ port map (
@wires@
  --   );
library ieee;
use ieee.std_logic_1164.all;

package @top@_component is
  component @top@ is
    port (
@ports@
    );
  end component;
end package;
"""
