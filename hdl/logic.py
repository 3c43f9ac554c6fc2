"""The gates alone: a combinational module of Verilog text, for nets of any size, without a tool."""

import dataclasses
from pathlib import Path

from trilut.circuit.netlist import Netlist
from trilut.circuit.optimize import optimize
from trilut.files import make_directory, write_atomically
from trilut.hdl.fabric import fabric_verilog
from trilut.hdl.header import origin_lines
from trilut.hdl.lint import LINT_OFF
from trilut.hdl.plan import plan_layers
from trilut.identifier import check_identifier

__all__ = ["write_logic"]


def write_logic(
    netlist: Netlist, directory: Path, *, top: str = "trilut_top", optimized: bool = True
) -> Path:
    """Write the gates alone as a combinational Verilog module, for nets of any size.

    Its ports are ``in_trits`` and ``out_trits``, two bits a trit; the code 11 must not come in. It
    takes microseconds a gate and needs no tool.

    Raises
    ------
    NetlistError
        If ``top`` is not a plain Verilog identifier.
    """
    check_identifier(top)
    circuit = dataclasses.replace(netlist, encoder=None, head=None)
    if optimized:
        circuit = optimize(circuit).netlist
    text = fabric_verilog(circuit, plan_layers(circuit, None), top)
    path = make_directory(directory) / f"{top}.v"
    options = f"--top {top} --logic-only{'' if optimized else ' --no-optimize'}"
    header = origin_lines(netlist, circuit, options)
    write_atomically(path, "\n".join([*header, "", LINT_OFF, text]))
    return path
