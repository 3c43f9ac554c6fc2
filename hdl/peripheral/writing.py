# amaranth: UnusedElaboratable=no
# A tool can fail before a component is used.
"""A design as a peripheral: Verilog around the file of the design, and what describes it."""

from collections.abc import Iterator
from pathlib import Path

from trilut.errors import NetlistError
from trilut.files import work_directory, write_atomically
from trilut.hdl.conversion import convert
from trilut.hdl.design import Design
from trilut.hdl.lint import LINT_OFF
from trilut.hdl.peripheral.bank import BUSES
from trilut.hdl.peripheral.documents import to_header, to_markdown, to_svd
from trilut.hdl.peripheral.registers import RegisterMap

__all__ = ["peripheral_top", "write_peripheral"]


def peripheral_top(design: Design, bus: str) -> str:
    """Return the name of the module that puts a design on a bus."""
    return f"{design.top}_{bus.replace('-', '_')}"


def write_peripheral(design: Design, bus: str) -> tuple[Path, ...]:
    """Write a module that puts a design on a bus, beside the design, and its registers.

    The module instantiates the design, whose file stays as it is: what was proven of it holds.

    Parameters
    ----------
    bus : str
        One of :data:`~trilut.hdl.peripheral.bank.BUSES`.

    Returns
    -------
    tuple of Path
        ``TOP_BUS.v``, ``TOP_registers.md``, ``TOP_registers.h`` and ``TOP.svd``.

    Raises
    ------
    NetlistError
        If the design has no plain streams, or there is no such bus.
    ToolError
        If Verilog cannot be written.
    """
    if bus not in BUSES:
        raise NetlistError(f"Bus is {bus!r}, expected {' or '.join(map(repr, BUSES))}")
    if design.interface.axi is not None or design.interface.is_combinational:
        raise NetlistError(
            "A peripheral has plain streams inside; leave out --axi and --logic-only"
        )
    registers = RegisterMap.of(design)
    directory, top = design.path.parent, peripheral_top(design, bus)
    with work_directory(directory, logs=directory / "logs") as work:
        body = convert(BUSES[bus](registers), top, work)
    texts = {
        f"{top}.v": "\n".join([*_header(design, bus), LINT_OFF, body]),
        f"{design.top}_registers.md": to_markdown(registers),
        f"{design.top}_registers.h": to_header(registers),
        f"{design.top}.svd": to_svd(registers),
    }
    for name, text in texts.items():
        write_atomically(directory / name, text)
    return tuple(directory / name for name in texts)


def _header(design: Design, bus: str) -> Iterator[str]:
    yield f"// {design.top} as a peripheral on {bus}; {design.top}_registers.md has its registers"
    yield f"// needs:   {design.path.name}"
    yield f"// sha256:  {design.sha256}"
    yield ""
