"""The Verilog that a proof reads: a part of the language in which all tools read the same.

What a tool could skip, obey or resolve in its own way is refused, and the line is named. So is what
the generator has no need of: a smaller language is easier to trust.
"""

import re
from collections import deque
from collections.abc import Sequence

from trilut.identifier import KEYWORDS
from trilut.verify.proof.design import UnclearError

__all__ = ["check_text"]

_TOKEN = re.compile(
    r"""
    (?P<space>(?:[ \t\n\f\v]|\r\n)+)
  | (?P<comment>//[^\r\n]* | /\*.*?\*/)
  | (?P<attribute>\(\*)
  | (?P<string>"[^"\\\n]*")
  | (?P<directive>`\w*)
  | (?P<system>\$[\w$]+)
  | (?P<escaped>\\[!-~]+)
  | (?P<number>(?:\d[\d_]*[ ]*)?'[sS]?[bBoOdDhH][ ]*[0-9a-fA-FxXzZ?_]+ | \d[\d_]*)
  | (?P<name>[A-Za-z_][\w$]*)
  | (?P<operator><<<|>>>|===|!==|==|!=|<=|>=|<<|>>|&&|\|\||\*\*|~&|~\||~\^|\^~|[-+*&|^~!<>=?:])
  | (?P<mark>[;,.(){}\[\]@\#])
  | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_OPENING, _CLOSING = frozenset({"begin", "case"}), frozenset({"end", "endcase"})
_IN_PROCESSES = frozenset({"if", "else", "default", *_OPENING, *_CLOSING})
_OUTSIDE = frozenset({"module", "endmodule", "input", "output", "wire", "reg", "signed"})
_OUTSIDE |= {"parameter", "localparam", "assign", "always", "initial"}
# Where the values of parameters end that are not in parentheses.
_SEMICOLON = -1
_BRACKETS = {"(": ")", "[": "]", "{": "}"}
_OPERANDS = frozenset({"name", "escaped", "number"})
_UNDEFINED = frozenset("xz?")
# Some tools keep the carry of sized numbers if a parameter is computed from them.
_CARRYING = frozenset({"+", "-", "*"})
# Comments that are known to be obeyed by some tool.
_PRAGMA = re.compile(
    r"(?://|/\*)\s*(?:(?:\w+\s+)?(?:translate|synthesis|coverage)_o(?:n|ff)\b"
    r"|(?:\w+\s+)*(?:full|parallel)_case\b"
    r"|(?:synopsys|(?:rtl_)?synthesis|pragma|cadence|ambit|exemplar|leda|quartus|vcs|yosys)\s"
    r"|verilator\s+(?!lint_o(?:n|ff)\b))",
    re.IGNORECASE,
)


def check_text(text: str) -> None:
    """Check that a text is Verilog of the kind that all tools read the same.

    Raises
    ------
    UnclearError
        If it is not; the message names the line.
    """
    reader = _Reader()
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup
        assert kind is not None
        if kind != "space":
            objection = reader.take(kind, token[0])
            if objection:
                line = text.count("\n", 0, token.start()) + 1
                raise UnclearError(f"Line {line} of the Verilog has {objection}")


class _Reader:
    """Reads tokens, and knows whether they are part of a process or set an initial value."""

    def __init__(self) -> None:
        self._kind = self._text = ""
        # What must come next, as kinds or texts, and what to say if something else does.
        self._expected: deque[str] = deque()
        self._otherwise = ""
        self._in_register = False
        self._in_process = False
        self._depth = 0
        self._parentheses = 0
        # After how many parentheses the values of parameters end; some are sized or computed.
        self._parameters_end: int | None = None
        self._parameters: set[str] = set()
        self._parameter_names: set[str] = set()
        self._brackets: list[str] = []
        # Of a port that is declared behind the header of its module.
        self._in_port = False
        self._names = _Names()

    def take(self, kind: str, text: str) -> str:
        """Take the next token, and return what speaks against it."""
        if kind == "comment":
            return _pragma(text)
        if self._expected:
            is_expected = self._expected.popleft() in (kind, text)
            objection = _value(kind, text) if is_expected else self._otherwise
        else:
            if self._in_process and not self._depth and self._text in (";", *_CLOSING):
                self._in_process = text == "else"
            if kind == "name" and text in KEYWORDS:
                objection = self._keyword(text)
            elif kind in ("mark", "operator"):
                objection = self._mark(text)
            else:
                objection = _value(kind, text)
        objection = (
            objection
            or self._concatenation(kind, text)
            or self._parameter(kind, text)
            or self._names.take(kind, text)
        )
        self._kind, self._text = kind, text
        return objection

    def _keyword(self, text: str) -> str:
        if text not in (_IN_PROCESSES if self._in_process else _OUTSIDE):
            return f"{text!r}, which the proof does not read"
        if text == "always":
            self._in_process = True
            self._expect(
                ["@", "(", "posedge", "name", ")"],
                "a process that does not start with 'always @(posedge …)'",
            )
        elif text == "initial":
            self._expect(
                ["name", "=", "number", ";"], "an 'initial' that does more than set one register"
            )
        elif text == "reg":
            self._in_register = True
        elif text in ("input", "output"):
            self._in_port = not self._parentheses
        elif text == "signed" and self._in_port:
            return "a signed port behind the header, of which tools forget the sign"
        elif text in ("parameter", "localparam") and self._parameters_end is None:
            self._parameters_end = _SEMICOLON
        elif text in _OPENING:
            self._depth += 1
        elif text in _CLOSING:
            self._depth -= 1
        return ""

    def _concatenation(self, kind: str, text: str) -> str:
        """Look for what has no width of its own between braces, indices and repetitions apart."""
        if text in _BRACKETS:
            self._brackets.append(text)
        elif text in _BRACKETS.values() and self._brackets:
            self._brackets.pop()
        if not self._is_unsized(kind, text):
            return ""
        if next((bracket for bracket in reversed(self._brackets) if bracket != "("), "") != "{":
            return ""
        objection = f"{text!r} in a concatenation, where tools give it different widths"
        if self._text == "{":
            self._expect(["{"], objection)
            return ""
        return objection

    def _is_unsized(self, kind: str, text: str) -> bool:
        if kind == "number":
            return "'" not in text or text.startswith("'")
        return kind in ("name", "escaped") and text.removeprefix("\\") in self._parameter_names

    def _parameter(self, kind: str, text: str) -> str:
        """Look at the value of a parameter."""
        self._parentheses += (text == "(") - (text == ")")
        if text == "#":
            self._parameters_end = self._parentheses
        if self._parameters_end is None:
            return ""
        if text == ";" or (text == ")" and self._parentheses == self._parameters_end):
            self._parameters_end = None
        elif text == "=":
            self._parameter_names.add(self._text.removeprefix("\\"))
        elif kind == "number" and "'" in text:
            self._parameters.add("sized")
        elif text in _CARRYING and (self._kind in _OPERANDS or self._text in (")", "}")):
            self._parameters.add("computed")
        if len(self._parameters) > 1:
            return "parameters both sized and computed, whose widths tools find in different ways"
        return ""

    def _expect(self, tokens: Sequence[str], otherwise: str) -> None:
        self._expected.extend(tokens)
        self._otherwise = otherwise

    def _mark(self, text: str) -> str:
        if text in (";", ")"):
            self._in_register = self._in_port = False
        elif text == "=":
            if self._in_process:
                return "a blocking assignment in a clocked process"
            if self._in_register:
                self._expect(["number"], "a register whose initial value is no number")
        elif text == "#":
            if self._in_process or self._kind not in ("name", "escaped") or self._text in KEYWORDS:
                return "a delay"
        elif text == ".":
            if self._text not in ("(", ","):
                return "a hierarchical name"
        elif text == "@":
            return "an event outside of the start of a process"
        elif text in ("===", "!==", "**"):
            return f"the operator {text!r}, which the proof does not read"
        return ""


_DECLARED = {"input": "port", "output": "port", "wire": "net", "reg": "net"}


class _Names:
    """Reads what names stand for: declared once as a port, once as a net; each pin of a cell once.

    Yosys takes more of both, and other tools may take another one.
    """

    def __init__(self) -> None:
        self._before = ""
        self._depth = 0
        self._declared: set[tuple[str, str]] = set()
        # What the names of a declaration are, how deep they stand, and whether one must come now.
        self._roles: list[str] = []
        self._level = 0
        self._is_due = False
        self._pins: set[str] = set()
        self._pin_level = 0

    def take(self, kind: str, text: str) -> str:
        """Take the next token, and return what speaks against it."""
        self._depth += (text in ("(", "[", "{")) - (text in (")", "]", "}"))
        objection = ""
        if kind == "name" and text in KEYWORDS:
            self._keyword(text)
        elif kind in ("name", "escaped"):
            objection = self._name(text.removeprefix("\\"))
        elif text == ";" or self._depth < self._level:
            self._roles, self._level, self._is_due = [], 0, False
        elif text == "," and self._depth == self._level:
            self._is_due = bool(self._roles)
        if self._depth < self._pin_level:
            self._pins.clear()
            self._pin_level = 0
        self._before = text
        return objection

    def _keyword(self, text: str) -> None:
        if text == "module":
            self._declared.clear()
        elif text in _DECLARED:
            before = self._roles if self._before in _DECLARED else []
            self._roles, self._level, self._is_due = [*before, _DECLARED[text]], self._depth, True

    def _name(self, name: str) -> str:
        if self._before == ".":
            self._pin_level = self._depth
            if name in self._pins:
                return f"the pin {name!r} twice in one cell, of which tools take another one"
            self._pins.add(name)
        elif self._is_due and self._depth == self._level:
            self._is_due = False
            new = {(role, name) for role in self._roles}
            if new & self._declared:
                return f"the name {name!r} declared twice, of which tools take another one"
            self._declared |= new
        return ""


def _pragma(comment: str) -> str:
    if not _PRAGMA.match(comment):
        return ""
    shown = comment.splitlines()[0].strip("/* ")
    return f"the comment {shown[:40]!r}, which some tools obey"


def _value(kind: str, text: str) -> str:
    """Return what speaks against a token whose place does not matter."""
    match kind:
        case "number" if not _UNDEFINED.isdisjoint(text.partition("'")[2][1:].lower()):
            return f"the undefined value {text!r}"
        case "directive":
            return f"the directive {text!r}, by which tools read different texts"
        case "attribute":
            return "an attribute, which some tools obey"
        case "system" if text not in ("$signed", "$unsigned"):
            return f"{text!r}, which the proof does not read"
        case "escaped" if "`" in text:
            return f"the name {text!r}, in which some tools see a directive"
        case "escaped" if text.startswith("\\$"):
            return f"the name {text!r}, which Yosys may take for one of its own cells"
        case "other":
            return f"the character {text!r}, which the proof does not read"
    return ""
