"""Wires with two drivers in a Verilog text, as far as they show at a glance.

Verilator makes a constant of a wire that is assigned one, whatever else drives it, and says
nothing. So wires that are assigned as a whole are looked for before.
"""

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
# Where it depends on more than the text what is there, nothing is said.
_CONDITIONAL = re.compile(
    r"`|\b(?:generate|genvar|function|task)\b"
    r"|(?:\bbegin|\belse|[):])\s*(?:assign|wire)\b",
)


def two_drivers(text: str) -> str:
    """Name the first wire that is assigned as a whole and has another driver; else nothing."""
    modules = {match[1].strip(): match[2] for match in _MODULE.finditer(_COMMENT.sub(" ", text))}
    outputs = {
        name: {output.strip() for output in _OUTPUT.findall(body)} for name, body in modules.items()
    }
    for module, body in modules.items():
        if _CONDITIONAL.search(body):
            continue
        whole: set[str] = set()
        driven: set[str] = set()
        for target in _targets(body, outputs):
            names = {name.strip() for name in re.findall(_NAME, target)}
            both = names & whole or ({target.strip()} & driven)
            if both:
                return f"Wire {min(both)!r} of module {module!r} has two drivers"
            driven |= names
            whole |= {target.strip()} & names
    return ""


def _targets(body: str, outputs: dict[str, set[str]]) -> Iterator[str]:
    """Give what assignments and the outputs of instances drive."""
    for statement in body.split(";"):
        if match := _ASSIGNMENT.match(statement):
            yield match[1]
        elif (match := _INSTANCE.match(statement)) and (made := outputs.get(match[1].strip())):
            yield from (target for port, target in _PIN.findall(statement) if port.strip() in made)
