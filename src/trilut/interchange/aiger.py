"""AIGER 1.9, ascii and binary: graphs of ands, combinational ones only.

The format is that of http://fmv.jku.at/aiger/FORMAT.aiger. Reader and writer stand side by side.
"""

from collections.abc import Iterator
from typing import NoReturn

from trilut.errors import FormatError
from trilut.interchange.logic import Logic, different
from trilut.text import cut
from trilut.verify.proof.aig import FALSE, Aig, Literal

__all__ = ["read_aiger", "write_aiger"]

_MOST = 1 << 24


def write_aiger(logic: Logic, *, binary: bool) -> bytes:
    """Write logic as AIGER; names of inputs and outputs are in the table of symbols."""
    outputs = list(logic.outputs.values())
    order = logic.graph.cone(outputs, known={0, *(each >> 1 for each in logic.inputs.values())})
    nodes = [each >> 1 for each in logic.inputs.values()] + order
    variable = {0: 0, **{node: number for number, node in enumerate(nodes, start=1)}}

    def literal(each: Literal) -> int:
        return 2 * variable[each >> 1] + (each & 1)

    num_inputs = len(logic.inputs)
    sizes = (len(nodes), num_inputs, 0, len(outputs), len(order))
    lines = [f"{'aig' if binary else 'aag'} {' '.join(map(str, sizes))}"]
    if not binary:
        lines += [str(2 * number) for number in range(1, num_inputs + 1)]
    lines += [str(literal(each)) for each in outputs]
    ands = []
    for node in order:
        fanins = logic.graph.fanins[node]
        assert fanins is not None
        low, high = sorted(map(literal, fanins))
        ands.append((2 * variable[node], high, low))
    if not binary:
        lines += [f"{own} {high} {low}" for own, high, low in ands]
    text = "\n".join(lines) + "\n"
    deltas = b"".join(_delta(own - high) + _delta(high - low) for own, high, low in ands if binary)
    symbols = [f"i{number} {name}" for number, name in enumerate(logic.inputs)]
    symbols += [f"o{number} {name}" for number, name in enumerate(logic.outputs)]
    return text.encode() + deltas + "".join(f"{line}\n" for line in symbols).encode()


def _delta(number: int) -> bytes:
    """Write a number seven bits a byte, the lowest first; the eighth bit says that more follow."""
    octets = bytearray()
    while number >= 128:
        octets.append(number & 127 | 128)
        number >>= 7
    return bytes([*octets, number])


def read_aiger(content: bytes, title: str) -> Logic:
    """Read an AIGER file; ``title`` names it in errors.

    Raises
    ------
    FormatError
        If it is no such file, or has latches.
    """
    return _Reader(content, title).logic()


class _Reader:
    """Where the reader of a file is."""

    def __init__(self, content: bytes, title: str) -> None:
        self._content = content
        self._title = title
        self._place = 0

    def logic(self) -> Logic:
        is_binary, (most, num_inputs, num_outputs, num_ands) = self._header()
        graph = Aig()
        values: dict[int, Literal] = {0: FALSE}
        inputs = []
        for number in range(1, num_inputs + 1):
            own = 2 * number if is_binary else self._numbers(1)[0]
            if own & 1 or own >> 1 in values or own >> 1 > most:
                self._fail(f"input {number - 1} is literal {own}")
            values[own >> 1] = graph.input()
            inputs.append(values[own >> 1])
        wanted = [self._numbers(1)[0] for _ in range(num_outputs)]
        if is_binary:
            ands = dict(self._pairs(num_inputs, num_ands))
        else:
            rows = [self._numbers(3) for _ in range(num_ands)]
            ands = {own: (left, right) for own, left, right in rows}
            if len(ands) < num_ands:
                self._fail("two ands have one literal")
        for own in ands:
            if own & 1 or own >> 1 in values or own >> 1 > most:
                self._fail(f"an and is literal {own}")
        outputs = [self._literal(each, ands, values, graph) for each in wanted]
        names = self._symbols(num_inputs, num_outputs)
        return Logic(
            graph,
            dict(zip(names["i"], inputs, strict=True)),
            dict(zip(names["o"], outputs, strict=True)),
        )

    def _header(self) -> tuple[bool, tuple[int, int, int, int]]:
        words = self._line().split()
        numbers = words[1:]
        is_right = words[:1] in (["aag"], ["aig"]) and 5 <= len(numbers) <= 9
        if not is_right or not all(word.isdecimal() and len(word) < 12 for word in numbers):
            raise FormatError(
                f"{self._title!r} is not an AIGER file: it begins with {cut(' '.join(words), 40)!r}"
            )
        most, inputs, latches, outputs, ands, *properties = map(int, numbers)
        if latches or any(properties):
            raise FormatError(
                f"{self._title!r} has latches or properties, expected combinational AIGER"
            )
        is_binary = words[0] == "aig"
        # What the file says that it holds must fit into it.
        listed = outputs + ands + (0 if is_binary else inputs)
        if max(most, inputs, listed) > _MOST or 2 * listed > len(self._content):
            self._fail("the header promises more than there is")
        if is_binary and most != inputs + ands:
            self._fail("the header of a binary file has another number of variables")
        return is_binary, (most, inputs, outputs, ands)

    def _line(self) -> str:
        end = self._content.find(b"\n", self._place)
        end = len(self._content) if end < 0 else end
        line = self._content[self._place : min(end, self._place + 10_000)]
        self._place = end + 1
        return line.decode("utf-8", errors="replace")

    def _numbers(self, count: int) -> list[int]:
        words = self._line().split()
        if len(words) != count or not all(word.isdecimal() and len(word) < 12 for word in words):
            self._fail(f"expected {count} numbers, not {cut(' '.join(words), 40)!r}")
        return [int(word) for word in words]

    def _pairs(self, num_inputs: int, num_ands: int) -> Iterator[tuple[int, tuple[int, int]]]:
        """Give the literals of ands, and those that they read."""
        for number in range(1, num_ands + 1):
            own = 2 * (num_inputs + number)
            left = own - self._read_delta()
            right = left - self._read_delta()
            if not 0 <= right <= left < own:
                self._fail(f"and {own} reads {left} and {right}")
            yield own, (left, right)

    def _read_delta(self) -> int:
        result = 0
        for shift in range(0, 42, 7):
            if self._place >= len(self._content):
                self._fail("the file ends among the ands")
            octet = self._content[self._place]
            self._place += 1
            result |= (octet & 127) << shift
            if octet < 128:
                return result
        return self._fail("a number is too large")

    def _literal(
        self,
        wanted: int,
        ands: dict[int, tuple[int, int]],
        values: dict[int, Literal],
        graph: Aig,
    ) -> Literal:
        """Return a literal of the file as one of the graph; ands stand in any order."""
        pending = [wanted >> 1]
        is_open = set()
        while pending:
            node = pending[-1]
            if node in values:
                pending.pop()
                continue
            if 2 * node not in ands:
                self._fail(f"literal {2 * node} is never driven")
            unknown = [each >> 1 for each in ands[2 * node] if each >> 1 not in values]
            if not unknown:
                left, right = (values[each >> 1] ^ each & 1 for each in ands[2 * node])
                values[node] = graph.both(left, right)
                pending.pop()
            elif node in is_open:
                self._fail(f"literal {2 * node} depends on itself")
            else:
                is_open.add(node)
                pending += unknown
        return values[wanted >> 1] ^ wanted & 1

    def _symbols(self, num_inputs: int, num_outputs: int) -> dict[str, list[str]]:
        names = {
            "i": [f"i{number}" for number in range(num_inputs)],
            "o": [f"o{number}" for number in range(num_outputs)],
        }
        while self._place < len(self._content):
            place, _, name = self._line().partition(" ")
            kind, number = place[:1], place[1:]
            if kind not in names or not number.isdecimal() or len(number) > 11:
                # The comment, or nothing.
                break
            if int(number) < len(names[kind]):
                names[kind][int(number)] = name
        return {kind: different(texts) for kind, texts in names.items()}

    def _fail(self, reason: str) -> NoReturn:
        raise FormatError(f"{self._title!r} is not a complete AIGER file: {reason}")
