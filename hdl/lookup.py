"""Boolean functions of up to six wires as Verilog: tables in plain text, or cells of a part."""

from collections.abc import Callable, Iterator, Sequence

from trilut.circuit.vectors import Function

__all__ = ["CELLS", "Lookup", "built_table", "lookup_text"]

Lookup = Callable[[str, Function, Sequence[str]], Iterator[str]]
"""Gives the lines that drive a wire, by its name, with a function of other wires."""

# A function of fewer wires is left to the mapper, which can join it with others.
_FEWEST = 5


def lookup_text(target: str, function: Function, wires: Sequence[str]) -> Iterator[str]:
    """Drive a wire by an expression, or by a table that is indexed."""
    match len(wires):
        case 0:
            yield f"  assign {target} = 1'b{function.table & 1};"
        case 1:
            yield f"  assign {target} = {'~' if function.table & 1 else ''}{wires[0]};"
        case 2:
            yield f"  assign {target} = {_OF_TWO[built_table(function)].format(*wires)};"
        case _:
            rows = 1 << len(wires)
            name = f"{_plain(target)}_table"
            yield f"  wire [{rows - 1}:0] {name} = {rows}'h{function.table:0{rows // 4}x};"
            yield f"  assign {target} = {name}[{{{', '.join(reversed(wires))}}}];"


_OF_TWO = {
    0b1000: "{0} & {1}",
    0b0100: "~{0} & {1}",
    0b0010: "{0} & ~{1}",
    0b0001: "~({0} | {1})",
    0b1110: "{0} | {1}",
    0b1101: "~{0} | {1}",
    0b1011: "{0} | ~{1}",
    0b0111: "~({0} & {1})",
    0b0110: "{0} ^ {1}",
    0b1001: "~({0} ^ {1})",
}


def built_table(function: Function) -> int:
    """Return what is built of a function, rows that cannot occur included."""
    if len(function.wires) != 2:
        return function.table
    # With a row that cannot occur there are two, and one of them is an exclusive-or.
    tables = [function.table | (~function.care & 0b1111), function.table]
    return min((table for table in tables if table in _OF_TWO), key=lambda t: "^" in _OF_TWO[t])


def _lookup_xilinx(target: str, function: Function, wires: Sequence[str]) -> Iterator[str]:
    """Drive a wire by a LUT5 or a LUT6.

    Of a table of three trits Yosys makes several, because rows that cannot occur leave it a choice
    of structures and it finds the one table no more.
    """
    count = len(wires)
    if count < _FEWEST:
        yield from lookup_text(target, function, wires)
        return
    pins = ", ".join(f".I{pin}({wire})" for pin, wire in enumerate(wires))
    table = f"{1 << count}'h{function.table:0{(1 << count) // 4}x}"
    yield f"  LUT{count} #(.INIT({table})) {_plain(target)}_lut ({pins}, .O({target}));"


def _lookup_ecp5(target: str, function: Function, wires: Sequence[str]) -> Iterator[str]:
    """Drive a wire by two or four LUT4 and the multiplexers behind them, which take no LUT."""
    count = len(wires)
    if count < _FEWEST:
        yield from lookup_text(target, function, wires)
        return
    name = _plain(target)
    pins = ", ".join(f".{pin}({wire})" for pin, wire in zip("ABCD", wires, strict=False))
    num_tables = 1 << count - 4
    yield f"  wire [{num_tables - 1}:0] {name}_luts;"
    for index in range(num_tables):
        table = function.table >> 16 * index & 0xFFFF
        yield (
            f"  LUT4 #(.INIT(16'h{table:04x})) {name}_lut_{index} "
            f"({pins}, .Z({name}_luts[{index}]));"
        )
    if count == 5:
        yield _pfumx(f"{name}_mux", f"{name}_luts", 0, wires[4], target)
        return
    yield f"  wire [1:0] {name}_halves;"
    for half in (0, 1):
        made = f"{name}_halves[{half}]"
        yield _pfumx(f"{name}_mux_{half}", f"{name}_luts", 2 * half, wires[4], made)
    yield (
        f"  L6MUX21 {name}_mux (.D0({name}_halves[0]), .D1({name}_halves[1]), "
        f".SD({wires[5]}), .Z({target}));"
    )


def _pfumx(name: str, luts: str, first: int, select: str, target: str) -> str:
    return (
        f"  PFUMX {name} (.BLUT({luts}[{first}]), .ALUT({luts}[{first + 1}]), "
        f".C0({select}), .Z({target}));"
    )


def _plain(target: str) -> str:
    """Return a name for what drives a bit: neuron_3[1] becomes neuron_3_1."""
    return target.translate(str.maketrans("[", "_", "]"))


CELLS: dict[str, Lookup] = {"ecp5": _lookup_ecp5, "xilinx": _lookup_xilinx}
"""How to make functions of a part's own cells."""
