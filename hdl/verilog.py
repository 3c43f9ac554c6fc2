"""Verilog out: one file with the whole design and a header that says where it comes from."""

from enum import StrEnum
from pathlib import Path

from trilut.circuit.format import load_circuit
from trilut.circuit.sequential import Circuit
from trilut.errors import NetlistError
from trilut.extras import explained
from trilut.hdl.design import Design
from trilut.hdl.logic import write_logic
from trilut.hdl.manifest import write_manifest
from trilut.hdl.options import DEFAULT_TARGET, HardwareOptions

__all__ = ["DesignFormat", "write_verilog"]


class DesignFormat(StrEnum):
    """Languages of a design; the value is also what its file name ends in."""

    VERILOG = "v"
    RTLIL = "il"


def write_verilog(
    netlist: Circuit | str | Path,
    directory: str | Path,
    options: HardwareOptions | None = None,
    *,
    design_format: DesignFormat = DesignFormat.VERILOG,
) -> Design:
    """Write the hardware of a netlist into a directory, as ``TOP.v``, and ``TOP.json`` beside it.

    The latter is the manifest: what :func:`trilut.hdl.read_design` makes the same design of again.

    Parameters
    ----------
    netlist : Netlist, SequentialNetlist, or path
        The circuit, or its file.
    directory : path
        Where to write; made if necessary.
    options : HardwareOptions, optional
        What shapes the hardware; by default its sums are made of the cells of the default part,
        :data:`~trilut.hdl.options.DEFAULT_TARGET`.
    design_format : DesignFormat
        Verilog, or Yosys's own RTLIL, in which gates alone are not written.

    Raises
    ------
    NetlistError
        If the name of the top module is not a plain Verilog identifier, or is a keyword or one of
        the part's cells, or the netlist cannot take that input.
    ToolError
        If Yosys is missing or fails; the log that the message names is kept in ``logs``.
    """
    directory = Path(directory)
    if isinstance(netlist, str | Path):
        netlist = load_circuit(netlist)
    options = (options or HardwareOptions()).for_part(DEFAULT_TARGET).for_netlist(netlist)
    is_rtlil = design_format is DesignFormat.RTLIL
    if options.logic_only:
        if is_rtlil:
            raise NetlistError("Gates alone are written as Verilog, not as RTLIL")
        return write_logic(netlist, directory, top=options.top, optimized=options.optimized)
    # Gates alone are written without Amaranth.
    with explained():
        from trilut.hdl.streams import write_streams

    design = write_streams(netlist, directory, options, is_rtlil=is_rtlil)
    write_manifest(design)
    return design
