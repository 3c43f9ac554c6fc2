"""The structure of a design: its ports, its blocks, and what drives their clocks."""

from trilut.circuit.interface import input_ports, output_ports
from trilut.circuit.sequential import SequentialNetlist
from trilut.verify.proof.design import PipelineError, UnclearError
from trilut.verify.proof.subject import Subject

__all__ = ["check_structure"]

_RESULTS = ("out_", "m_axis_")


def check_structure(subject: Subject) -> int:
    """Check the ports, the blocks and all clocks of a design, and return the number of registers.

    That every bit has one driver, and every register the clock of its own module, is known since
    the design was read.

    Raises
    ------
    UnclearError
        If there is a port that is not known.
    PipelineError
        If a port or a block is not as it should be, or a block has another clock.
    """
    _check_ports(subject)
    if subject.interface.is_combinational:
        for bit in subject.main.registers:
            raise PipelineError(
                f"{subject.main.describe(bit)} is a register, but there is no clock"
            )
    for block in subject.blocks:
        if subject.blocks[block] not in subject.main.blocks:
            raise PipelineError(f"The top module has no block {block!r}")
        if subject.block(block).blocks:
            raise PipelineError(f"There is another block in block {block!r}")
        has_clock = bool(subject.block(block).registers)
        if has_clock and subject.pins(block, "clk") != subject.main.ports["clk"]:
            raise PipelineError(f"Block {block!r} has another clock than port 'clk'")
    margin = subject.interface.margin if "argmax" in subject.blocks else None
    if margin and subject.pins("argmax", margin.name) != subject.main.ports[margin.name]:
        raise PipelineError(f"Port {margin.name!r} is not wired to that of block 'argmax'")
    return sum(len(module.registers) for module in subject.modules.values())


def _check_ports(subject: Subject) -> None:
    """Check that the interface is that of the netlist, and the ports are those of the interface."""
    circuit, interface, main = subject.circuit, subject.interface, subject.main
    presence, margin = interface.has_port("in_present"), interface.has_port("out_margin")
    has_state = isinstance(circuit, SequentialNetlist)
    inputs = input_ports(circuit.encoder, circuit.num_inputs, presence=presence, last=has_state)
    outputs = output_ports(circuit.head, circuit.num_outputs, interface.head_outputs, margin=margin)
    if (interface.inputs, interface.outputs) != (inputs, outputs):
        raise PipelineError("The interface is not that of the netlist")
    for port in interface.ports:
        if main.directions.get(port.name) != port.direction:
            raise PipelineError(f"The design has no {port.direction} port {port.name!r}")
        if len(main.ports[port.name]) != port.width:
            raise PipelineError(
                f"Port {port.name!r} has {len(main.ports[port.name])} bits, expected {port.width}"
            )
    if subject.has_loader:
        _check_constants(subject)
    expected = {port.name for port in interface.ports}
    for name, direction in main.directions.items():
        # Other outputs do no harm, unless they have the name of a result.
        is_free = direction == "output" and not name.startswith(_RESULTS)
        if not is_free and name not in expected:
            raise UnclearError(f"Port {name!r} is none that the proof knows")


def _check_constants(subject: Subject) -> None:
    """Check that a result is one beat, with zeros where it has no bits."""
    ports = subject.main.ports
    used = {at for places in subject.interface.result.values() for at in places}
    for at, bit in enumerate(ports["m_axis_tdata"]):
        if at not in used and bit != "0":
            raise PipelineError(f"Bit {at} of port 'm_axis_tdata' is no part of a result and not 0")
    if list(ports["m_axis_tlast"]) != ["1"]:
        raise PipelineError("Port 'm_axis_tlast' is not always 1")
