"""Wires with two drivers in a Verilog text, as far as they show at a glance.

Verilator makes a constant of a wire that is assigned one, whatever else drives it, and says
nothing. So bits that are driven twice are looked for before.
"""

import math
import re
from collections.abc import Iterator

__all__ = ["two_drivers"]

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\"[^\"\n]*\"", re.DOTALL)
_MODULE = re.compile(r"\bmodule\s+(\\\S+|\w+)(.*?)\bendmodule\b", re.DOTALL)
_NAME = r"(?:\\\S+\s|[A-Za-z_]\w*)"
_OUTPUT = re.compile(rf"\boutput\s+(?:wire\s+|reg\s+)?(?:signed\s+)?(?:\[[^\]]*\]\s*)?({_NAME})")
_ASSIGNMENT = re.compile(r"\s*(?:assign\s+|wire\s+(?:signed\s+)?(?:\[[^\]]*\]\s*)?)([^=;]*)=")
_INSTANCE = re.compile(rf"\s*({_NAME})\s*(?:#\s*\(.*\)\s*)?{_NAME}\s*\(\s*\..*\)\s*$", re.DOTALL)
_PIN = re.compile(rf"\.\s*({_NAME})\s*\(([^()]*)\)")
_PART = re.compile(rf"({_NAME})\s*(?:\[\s*(\d+)\s*(?::\s*(\d+)\s*)?\]|(\[[^\]]*\]))?")
_Bits = tuple[int, float]
_WHOLE: _Bits = (0, math.inf)
# Where it depends on more than the text what is there, nothing is said.
_CONDITIONAL = re.compile(
    r"`|\b(?:generate|genvar|function|task)\b"
    r"|(?:\bbegin|\belse|[):])\s*(?:assign|wire)\b",
)


def two_drivers(text: str) -> str:
    """Name the first wire of which two drivers have a bit in common; nothing if there is none."""
    modules = {match[1].strip(): match[2] for match in _MODULE.finditer(_COMMENT.sub(" ", text))}
    outputs = {
        name: {output.strip() for output in _OUTPUT.findall(body)} for name, body in modules.items()
    }
    for module, body in modules.items():
        if _CONDITIONAL.search(body):
            continue
        driven: dict[str, list[_Bits]] = {}
        for target in _targets(body, outputs):
            for name, bits in _parts(target):
                before = driven.setdefault(name, [])
                if any(bits[0] <= last and first <= bits[1] for first, last in before):
                    return f"Wire {name!r} of module {module!r} has two drivers"
                before.append(bits)
    return ""


def _parts(target: str) -> Iterator[tuple[str, _Bits]]:
    """Give the wires of a target and which of their bits it has; those of unclear bits are left."""
    for match in _PART.finditer(target):
        name, index, other, unclear = match[1].strip(), match[2], match[3], match[4]
        if unclear is not None:
            continue
        if index is None:
            yield name, _WHOLE
        else:
            first, last = sorted((int(index), int(other or index)))
            yield name, (first, last)


def _targets(body: str, outputs: dict[str, set[str]]) -> Iterator[str]:
    """Give what assignments and the outputs of instances drive."""
    for statement in body.split(";"):
        if match := _ASSIGNMENT.match(statement):
            yield match[1]
        elif (match := _INSTANCE.match(statement)) and (made := outputs.get(match[1].strip())):
            yield from (target for port, target in _PIN.findall(statement) if port.strip() in made)
