"""The plane instructions of a program as C: a statement for each, or their operands as tables."""

import re
from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from trilut.interchange import c_parts
from trilut.interchange.c_text import array
from trilut.sim.engines.lut_program import LUT_ROWS
from trilut.sim.engines.planes import FIRST_LUT, kernels, lut_inputs
from trilut.sim.engines.program import Program

__all__ = ["STATEMENTS", "loops", "statements"]

STATEMENTS = 250
"""Of a function: the time of gcc grows with the square of its length."""

_LEAF = re.compile(r"\b(?:(?P<leaf>[ab][pm])|(?P<zero>zero)|(?P<one>one))\b")

# The operands of a LUT: its planes, then the plane of the result and the halves of its table.
_RESULT = 6


def statements(program: Program) -> str:
    """Return functions of one statement for each instruction, and ``compute``, which calls them."""
    lines = [line for kernel, rows in _runs(program) for line in _lines(kernel, rows)]
    starts = range(0, len(lines), STATEMENTS)
    parts = [
        _function(f"compute_{number}", lines[start : start + STATEMENTS])
        for number, start in enumerate(starts)
    ]
    calls = [f"    compute_{number}(v);" for number in range(len(parts))]
    return "\n\n".join([*parts, _function("compute", calls or ["    (void)v;"])])


def _function(name: str, lines: list[str]) -> str:
    text = "\n".join(lines)
    return f"static void {name}(@net@_word *v)\n{{\n{text}\n}}"


def loops(program: Program, index: str) -> str:
    """Return the operands of all instructions as tables, and ``compute``: a loop for each kernel.

    Parameters
    ----------
    index : str
        The type of the number of a plane.
    """
    if program.num_instructions == 0:
        return statements(program)
    operands: list[int] = []
    tables: list[list[int]] = []
    runs: list[tuple[int, int]] = []
    used = np.unique(program.runs[:, 0]).tolist()
    for kernel, rows in _runs(program):
        runs.append((used.index(kernel), len(rows)))
        if kernel >= FIRST_LUT:
            tables += rows[:, _RESULT + 1 :].tolist()
            rows = rows[:, [*range(lut_inputs(kernel)), _RESULT]]
        operands += rows.ravel().tolist()
    parts = [array(index, "operands", operands), array(index, "runs", np.array(runs))]
    table_start = ""
    if tables:
        parts += [array("uint32_t", "tables", np.array(tables)), c_parts.LOOK_UP]
        table_start = "\n    const uint32_t(*table)[2] = tables;"
    cases = "\n".join(_case(number, kernel) for number, kernel in enumerate(used))
    compute = c_parts.COMPUTE_RUNS.replace("@cases@", cases)
    return "\n\n".join([*parts, compute.replace("@table@", table_start)])


def _runs(program: Program) -> Iterator[tuple[int, NDArray[np.uint32]]]:
    """Give the kernel of each run and the operands [instruction, operand]."""
    ends = np.cumsum(program.runs[:, 1]).tolist()
    for (kernel, length), end in zip(program.runs.tolist(), ends, strict=True):
        rows = program.operands[end - length : end]
        yield kernel, rows.reshape(-1, 3 * LUT_ROWS) if kernel >= FIRST_LUT else rows


def _lines(kernel: int, rows: NDArray[np.uint32]) -> Iterator[str]:
    if kernel < FIRST_LUT:
        for a, b, result in rows.tolist():
            value = _expression(kernel, a, b, a ^ 1, b ^ 1)
            yield f"    v[{result}] = {value};"
        return
    for *planes, result, low, high in rows.tolist():
        inputs = [f"v[{plane}]" for plane in planes[: lut_inputs(kernel)]]
        yield f"    v[{result}] = (@net@_word){_choice(low | high << 32, inputs)};"


def _case(number: int, kernel: int) -> str:
    if kernel < FIRST_LUT:
        step, value = 3, _expression(kernel, "p[0]", "p[1]", "p[0] ^ 1", "p[1] ^ 1")
        result = "p[2]"
    else:
        count = lut_inputs(kernel)
        step, result, value = count + 1, f"p[{count}]", f"look_up(v, p, {count}, *table++)"
    return (
        f"        case {number}:\n            for (; left > 0; left--, p += {step})\n"
        f"                v[{result}] = {value};\n            break;"
    )


def _expression(
    kernel: int, a: int | str, b: int | str, other_a: int | str, other_b: int | str
) -> str:
    """Return a kernel of two operands, given the planes of each and the other planes beside."""
    return _template(kernel).format_map({"ap": a, "am": other_a, "bp": b, "bm": other_b})


@cache
def _template(kernel: int) -> str:
    """Return a kernel as C in which the numbers of planes are to be filled in."""

    def leaf(match: re.Match[str]) -> str:
        if match["leaf"]:
            return f"v[{{{match['leaf']}}}]"
        return "0" if match["zero"] else "~(@net@_word)0"

    expression = _LEAF.sub(leaf, kernels()[kernel].expression)
    return f"(@net@_word){expression}" if expression[0] == "(" else f"(@net@_word)({expression})"


def _choice(table: int, inputs: Sequence[str]) -> str:
    """Return a table that is not constant as an expression; input k is bit k of a row."""
    *rest, last = inputs
    every = (1 << (1 << len(rest))) - 1
    low, high = table & every, table >> (1 << len(rest))
    if low == high:
        return _choice(low, rest)
    if low in (0, every):
        own = last if low == 0 else f"~{last}"
        if high in (0, every):
            return f"({own})"
        return f"({own} {'&' if low == 0 else '|'} {_choice(high, rest)})"
    if high in (0, every):
        own = f"~{last}" if high == 0 else last
        return f"({own} {'&' if high == 0 else '|'} {_choice(low, rest)})"
    if low == high ^ every:
        return f"({last} ^ {_choice(low, rest)})"
    return f"(({last} & {_choice(high, rest)}) | (~{last} & {_choice(low, rest)}))"
