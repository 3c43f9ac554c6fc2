"""What standard cells do, as modules of Verilog without delays."""

from collections.abc import Iterable, Iterator

from trilut.errors import FormatError
from trilut.identifier import is_plain
from trilut.synth.asic.boolean import function_verilog
from trilut.synth.asic.library import Library, LibraryCell

__all__ = ["cell_models"]

_RESETS = {"clear": 0, "preset": 1}


def cell_models(library: Library, cell_types: Iterable[str]) -> str:
    """Return a module for each of these cells of a library, others left out.

    Raises
    ------
    FormatError
        If a cell is no gate and no flip-flop, or has a name that Verilog would read otherwise.
    """
    used = sorted(set(cell_types) & library.cells.keys())
    return "\n".join(_module(library.cells[name]) for name in used)


def _module(cell: LibraryCell) -> str:
    functions = {name: pin.function for name, pin in cell.pins.items() if pin.is_output}
    is_known = cell.state is not None or not cell.is_sequential
    names = (cell.name, *cell.pins, *cell.state_names)
    if not is_known or not all(functions.values()) or not all(map(is_plain, names)):
        raise FormatError(f"Cell {cell.name!r} of the library has no model that Verilog can take")
    lines = [
        f"module {cell.name} ({', '.join(cell.pins)});",
        *(f"  {'output' if pin.is_output else 'input'} {name};" for name, pin in cell.pins.items()),
        *(_flip_flop(cell) if cell.state is not None else ()),
        *(f"  assign {name} = {function_verilog(text)};" for name, text in functions.items()),
        "endmodule",
    ]
    return "\n".join(lines) + "\n"


def _flip_flop(cell: LibraryCell) -> Iterator[str]:
    """Give the lines of a flip-flop; cleared and preset at once, it is cleared."""
    assert cell.state is not None
    values = cell.state.values
    state, *inverse = cell.state_names
    resets = [name for name in _RESETS if name in values]
    yield f"  reg {state};"
    yield from (f"  wire {name} = ~{state};" for name in inverse)
    yield f"  wire clocked = {function_verilog(values.get('clocked_on', ''))};"
    yield from (f"  wire {name}ed = {function_verilog(values[name])};" for name in resets)
    yield f"  always @({' or '.join(f'posedge {name}ed' for name in ('clock', *resets))})"
    yield from (f"    if ({name}ed) {state} <= 1'b{_RESETS[name]}; else" for name in resets)
    yield f"    {state} <= {function_verilog(values.get('next_state', ''))};"
