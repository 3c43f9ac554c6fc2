"""Netlists as BLIF and BLIF-MV, for logic tools of the academic kind, and BLIF of others.

BLIF is binary: every trit is the two bits of its dual-rail code, named ``n7_p`` ([v = +1]) and
``n7_m`` ([v = −1]). BLIF-MV has variables of three values, 0 … 2 for −1 … +1, so a gate is one
table. Both hold the gates only: encoder and head are arithmetic, which these formats do not have.
What is read is BLIF of one model, ``.inputs``, ``.outputs`` and ``.names``: combinational logic.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import NoReturn

import numpy as np

from trilut.circuit.kinds import levels_of
from trilut.circuit.netlist import Netlist
from trilut.circuit.reach import ternary_tables
from trilut.circuit.wires import NO_WIRE, lower
from trilut.errors import FormatError
from trilut.interchange.logic import Logic, wire_names
from trilut.text import cut
from trilut.verify.proof.aig import TRUE, Aig, Literal

__all__ = ["read_blif", "to_blif", "to_blif_mv"]

_RAILS = (("p", 1), ("m", -1))


def to_blif(netlist: Netlist, *, model: str = "trilut") -> str:
    """Write the gates as BLIF over dual-rail bits; illegal input codes give 0.

    In a circuit of other than two-input gates a bit is one bit, ``n7``, and what a code that is
    illegal gives is free.
    """
    if not netlist.is_two_input:
        return _wires_to_blif(netlist, model)
    nets = range(netlist.num_inputs)
    inputs = [f"n{net}_{rail}" for net in nets for rail, _ in _RAILS]
    outputs = [f"o{index}_{rail}" for index in range(len(netlist.outputs)) for rail, _ in _RAILS]
    lines = [f".model {model}", *_wrapped(".inputs", inputs), *_wrapped(".outputs", outputs)]
    for gate, table in enumerate(ternary_tables(netlist)):
        a, b = int(netlist.a[gate]), int(netlist.b[gate])
        net = netlist.num_inputs + gate
        for rail, value in _RAILS:
            rows = np.flatnonzero(table == value).tolist()
            # A constant 0 has no inputs and no rows; Yosys reads inputs without rows as undefined.
            sources = f"n{a}_p n{a}_m n{b}_p n{b}_m " if rows else ""
            lines.append(f".names {sources}n{net}_{rail}")
            lines += [f"{_code(row)} 1" for row in rows]
    for index, net in enumerate(netlist.outputs.tolist()):
        for rail, _ in _RAILS:
            lines += [f".names n{net}_{rail} o{index}_{rail}", "1 1"]
    return "\n".join([*lines, ".end", ""])


def _wires_to_blif(netlist: Netlist, model: str) -> str:
    wires = lower(netlist)
    kinds = netlist.kinds.tolist()
    names = [name for net, kind in enumerate(kinds) for name in wire_names(f"n{net}", kind)]
    outputs = [
        (names[wire], name)
        for index, net in enumerate(netlist.outputs.tolist())
        for wire, name in zip(wires.of(net), wire_names(f"o{index}", kinds[net]), strict=True)
    ]
    lines = [f".model {model}", *_wrapped(".inputs", names[: wires.num_input_wires])]
    lines += _wrapped(".outputs", [name for _, name in outputs])
    driven = names[wires.num_input_wires :]
    for own, sources, on in zip(driven, wires.inputs.tolist(), wires.on.tolist(), strict=True):
        read = [names[wire] for wire in sources if wire != NO_WIRE] if on else []
        lines.append(" ".join([".names", *read, own]))
        rows = [row for row in range(1 << len(read)) if on >> row & 1]
        lines += [
            "".join(str(row >> place & 1) for place in range(len(read))) + " 1" for row in rows
        ]
    for source, name in outputs:
        lines += [f".names {source} {name}", "1 1"]
    return "\n".join([*lines, ".end", ""])


def to_blif_mv(netlist: Netlist, *, model: str = "trilut") -> str:
    """Write the gates as BLIF-MV, one variable of two or three values a net."""
    inputs = [f"n{net}" for net in range(netlist.num_inputs)]
    outputs = [f"o{index}" for index in range(len(netlist.outputs))]
    lines = [f".model {model}", *_wrapped(".inputs", inputs), *_wrapped(".outputs", outputs)]
    kinds = netlist.kinds.tolist()
    lines += [f".mv n{net} {kind}" for net, kind in enumerate(kinds)]
    lines += [
        f".mv {name} {kinds[net]}"
        for name, net in zip(outputs, netlist.outputs.tolist(), strict=True)
    ]
    for gate, table in enumerate(netlist.table):
        own, sources = netlist.num_inputs + gate, netlist.reads(gate)
        lines.append(f".table {' '.join(f'n{net}' for net in sources)} -> n{own}")
        rows = product(*(range(kinds[net]) for net in sources))
        levels = levels_of(table, kinds[own]).tolist()
        lines += [
            f"{' '.join(map(str, row))} {level}" for row, level in zip(rows, levels, strict=False)
        ]
    for index, net in enumerate(netlist.outputs.tolist()):
        lines.append(f".table n{net} -> o{index}")
        lines += [f"{level} {level}" for level in range(kinds[net])]
    return "\n".join([*lines, ".end", ""])


def _code(row: int) -> str:
    """Return the four input bits of a row: a.plus, a.minus, b.plus, b.minus."""
    rails = {-1: "01", 0: "00", 1: "10"}
    return rails[row // 3 - 1] + rails[row % 3 - 1]


def _wrapped(keyword: str, names: list[str]) -> list[str]:
    """Write a long list over several lines, each but the last ending in a backslash."""
    parts = [names[start : start + 16] for start in range(0, len(names), 16)]
    lines = [
        f"{keyword if index == 0 else ' '} {' '.join(part)}" for index, part in enumerate(parts)
    ]
    return [f"{line} \\" for line in lines[:-1]] + lines[-1:]


@dataclass(frozen=True, slots=True)
class _Cover:
    """One ``.names``: what it reads, and the rows where it is 1, or those where it is 0."""

    line: int
    sources: tuple[str, ...]
    rows: list[str]
    values: set[str]


def read_blif(content: bytes, title: str) -> Logic:
    """Read combinational BLIF; ``title`` names the file in errors.

    Raises
    ------
    FormatError
        If it is something else.
    """
    return _Reader(title).logic(content.decode("utf-8", errors="replace"))


class _Reader:
    """What a file has said so far."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._ports: dict[str, list[str]] = {".inputs": [], ".outputs": []}
        self._covers: dict[str, _Cover] = {}

    def logic(self, text: str) -> Logic:
        cover: _Cover | None = None
        for line, words in _logical_lines(text):
            if not words[0].startswith("."):
                self._add_row(line, cover, words)
            elif words[0] in self._ports:
                self._ports[words[0]] += words[1:]
            elif words[0] == ".names":
                cover = self._add_cover(line, words[1:])
            elif words[0] == ".end":
                break
            elif words[0] != ".model":
                self._fail(line, f"has {cut(words[0], 40)}, expected combinational logic in .names")
        return self._built()

    def _add_cover(self, line: int, words: list[str]) -> _Cover:
        if not words:
            self._fail(line, "has .names without a name")
        *sources, target = words
        if target in self._covers or target in self._ports[".inputs"]:
            self._fail(line, f"drives {cut(target, 40)!r} a second time")
        cover = self._covers[target] = _Cover(line, tuple(sources), [], set())
        return cover

    def _add_row(self, line: int, cover: _Cover | None, words: list[str]) -> None:
        pattern, value = ("", words[0]) if len(words) == 1 else (words[0], words[-1])
        is_row = cover is not None and len(words) <= 2 and len(pattern) == len(cover.sources)
        if cover is None or not is_row or not _ROW.fullmatch(pattern + value):
            self._fail(line, f"has {cut(' '.join(words), 40)!r}, expected a row of .names")
        cover.rows.append(pattern)
        cover.values.add(value)
        if len(cover.values) == 2:
            self._fail(line, "has rows for 0 and for 1 in one .names")

    def _built(self) -> Logic:
        graph = Aig()
        names = self._ports[".inputs"]
        counts = [len(names), len(set(names)), len(self._ports[".outputs"])]
        if counts[0] != counts[1] or 0 in counts:
            raise FormatError(
                f"{self._title!r} has {counts[0]} inputs, {counts[1]} of them different, and "
                f"{counts[2]} outputs, expected different ones, and some of each"
            )
        inputs = {name: graph.input() for name in names}
        values: dict[str, Literal] = dict(inputs)
        for name in self._ports[".outputs"]:
            self._compute(name, values, graph)
        return Logic(graph, inputs, {name: values[name] for name in self._ports[".outputs"]})

    def _compute(self, wanted: str, values: dict[str, Literal], graph: Aig) -> None:
        """Compute a signal and all that it depends on; they stand in any order."""
        pending, is_open = [(wanted, 0)], set()
        while pending:
            name, reader = pending[-1]
            if name in values:
                pending.pop()
                continue
            if name not in self._covers:
                self._fail(reader, f"reads {cut(name, 40)!r}, which nothing drives")
            cover = self._covers[name]
            unknown = [(source, cover.line) for source in cover.sources if source not in values]
            if not unknown:
                values[name] = _literal(cover, [values[each] for each in cover.sources], graph)
                pending.pop()
            elif name in is_open:
                self._fail(cover.line, f"drives {cut(name, 40)!r}, which depends on itself")
            else:
                is_open.add(name)
                pending += unknown

    def _fail(self, line: int, reason: str) -> NoReturn:
        where = f"in line {line} " if line else "as an output "
        raise FormatError(f"{self._title!r} {where}{reason}")


_ROW = re.compile(r"[01-]*[01]")


def _literal(cover: _Cover, sources: list[Literal], graph: Aig) -> Literal:
    """Return the sum of products; no rows at all are the constant 0."""
    result = graph.any(
        graph.all(
            source ^ (bit == "0") for bit, source in zip(row, sources, strict=True) if bit != "-"
        )
        for row in cover.rows
    )
    return result ^ TRUE if cover.values == {"0"} else result


def _logical_lines(text: str) -> Iterator[tuple[int, list[str]]]:
    """Give the words of each line, without comments; a backslash joins a line to the next."""
    words: list[str] = []
    first = 0
    for number, line in enumerate(text.splitlines(), start=1):
        plain = line.partition("#")[0].rstrip()
        first = first or number
        words += plain.removesuffix("\\").split()
        if not plain.endswith("\\"):
            if words:
                yield first, words
            words, first = [], 0
    if words:
        yield first, words
