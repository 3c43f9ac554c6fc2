# amaranth: UnusedElaboratable=no
# A tool can fail before a component is used.
"""Designs that are wrong on purpose: many faults in one file, and an input that chooses one."""

from collections.abc import Mapping
from pathlib import Path

from trilut.circuit.interface import Port, VerilogModule
from trilut.files import work_directory, write_atomically
from trilut.hdl.conversion import convert
from trilut.hdl.design import Design
from trilut.hdl.fabric import LayerFaults
from trilut.hdl.lint import LINT_OFF, LINT_ON
from trilut.hdl.streams import classifier_component

__all__ = ["SELECT_BITS", "select_signal", "select_wrapper", "write_faulty"]

SELECT_BITS = 32
"""Width of the input ``select``."""


def select_signal(design: Design) -> str:
    """Return the name by which expressions of faults read the input ``select``."""
    return f"{_wrapper_name(design)}.select"


def write_faulty(
    design: Design, faults: Mapping[int, LayerFaults], directory: Path
) -> VerilogModule:
    """Write a design again, with faults in its layers, as ``faulty.v``.

    The top module of the file stands around that of the design. It has the same ports and one more,
    an input ``select``, which the faults see by its hierarchical name; so one build serves them
    all. It is the caller's part to let no fault act while ``select`` is 0. Layers are Verilog text,
    whatever the options say.

    Parameters
    ----------
    design : Design
        The design.
    faults : mapping
        What is wrong in a layer, by its level.
    directory : Path
        Where to write; made if necessary.

    Raises
    ------
    ToolError
        If Yosys is missing or fails; the log that the message names is kept in ``logs``.
    """
    classifier = design.classifier
    assert classifier is not None
    layers = [classifier.layer_text(plan, faults.get(plan.level)) for plan in design.plans]
    with work_directory(directory, logs=directory / "logs") as work:
        body = convert(classifier_component(classifier), design.top, work)
    path = directory / "faulty.v"
    write_atomically(path, "\n".join([LINT_OFF, body, LINT_ON, *layers, _wrapper(design)]))
    return VerilogModule(path, _wrapper_name(design), design.interface, design.models)


def _wrapper_name(design: Design) -> str:
    return f"{design.top}_faulty"


def _wrapper(design: Design) -> str:
    select = f"  input wire [{SELECT_BITS - 1}:0] select"
    return _around(design, _wrapper_name(design), [select], [], [])


def select_wrapper(design: VerilogModule, name: str) -> str:
    """Return a module around a design that has an input ``select`` itself.

    Its ports are those of the design. ``select`` is a register that a bench can set; it starts
    with 0.
    """
    lines = [f"  reg [{SELECT_BITS - 1}:0] select /* verilator public_flat_rw */ = 0;"]
    return _around(design, name, [], lines, ["    .select(select)"])


def _around(
    design: VerilogModule,
    name: str,
    declarations: list[str],
    lines: list[str],
    connections: list[str],
) -> str:
    ports = design.interface.ports
    return "\n".join(
        [
            f"module {name} (",
            ",\n".join([*map(_declaration, ports), *declarations]),
            ");",
            *lines,
            f"  {design.top} {design.top}_instance (",
            ",\n".join([*(f"    .{port.name}({port.name})" for port in ports), *connections]),
            "  );",
            "endmodule",
            "",
        ]
    )


def _declaration(port: Port) -> str:
    return f"  {port.direction} wire [{port.width - 1}:0] {port.name}"
