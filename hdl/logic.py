"""The gates alone: a combinational module of Verilog text, for nets of any size, without a tool."""

import dataclasses
from pathlib import Path

from trilut.circuit.interface import Interface, input_ports, output_ports
from trilut.circuit.optimize import optimize
from trilut.circuit.sequential import Circuit, SequentialNetlist
from trilut.errors import NetlistError
from trilut.files import make_directory, write_atomically
from trilut.hdl.design import Design
from trilut.hdl.fabric import fabric_verilog
from trilut.hdl.header import origin_lines
from trilut.hdl.lint import LINT_OFF
from trilut.hdl.manifest import write_manifest
from trilut.hdl.options import HardwareOptions
from trilut.hdl.plan import plan_layers
from trilut.identifier import check_identifier

__all__ = ["logic_design", "write_logic"]


def write_logic(
    netlist: Circuit, directory: str | Path, *, top: str = "trilut_top", optimized: bool = True
) -> Design:
    """Write the gates alone as a combinational Verilog module, for nets of any size.

    Its ports are ``in_trits`` and ``out_trits``, two bits a trit; the code 11 must not come in. It
    takes microseconds a gate and needs no tool. ``TOP.json`` beside ``TOP.v`` is its manifest.

    Raises
    ------
    NetlistError
        If ``top`` is not a plain Verilog identifier, or the circuit has state.
    """
    directory = Path(directory)
    check_identifier(top)
    options = HardwareOptions(top=top, optimized=optimized, logic_only=True).for_netlist(netlist)
    design = logic_design(netlist, options, make_directory(directory) / f"{top}.v")
    text = fabric_verilog(design.circuit, design.plans, top)
    header = origin_lines(netlist, design.circuit, options.command_line)
    write_atomically(design.path, "\n".join([*header, "", LINT_OFF, text]))
    write_manifest(design)
    return design


def logic_design(netlist: Circuit, options: HardwareOptions, path: Path) -> Design:
    """Return the design of the gates of a netlist alone, as it stands in a file.

    Raises
    ------
    NetlistError
        If the circuit has state.
    """
    if isinstance(netlist, SequentialNetlist):
        raise NetlistError(f"Netlist {netlist.name!r} has state, which gates alone cannot keep")
    gates = dataclasses.replace(netlist, encoder=None, head=None)
    circuit = optimize(gates).netlist if options.optimized else gates
    interface = Interface(
        input_ports(None, netlist.num_inputs),
        output_ports(None, len(netlist.outputs)),
        latency=0,
        is_combinational=True,
    )
    return Design(
        path,
        options.top,
        interface,
        options=options,
        netlist=netlist,
        circuit=circuit,
        plans=plan_layers(circuit, None),
    )
