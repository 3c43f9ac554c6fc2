"""What a design computes without its registers.

A pipeline whose registers move together computes a function of one vector. That function, and how
many registers a vector passes on the way, is found here; that the registers do move together is
another matter (:mod:`trilut.verify.proof.stream`).
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass

from trilut.verify.proof.aig import FALSE, TRUE, Aig, Literal
from trilut.verify.proof.design import Bit, BitNetlist, PipelineError

__all__ = ["Pipeline"]


def _gate(aig: Aig, kind: str, inputs: Sequence[Literal]) -> Literal:
    match kind, inputs:
        case "$_BUF_", [a]:
            return a
        case "$_NOT_", [a]:
            return a ^ 1
        case "$_AND_", [a, b]:
            return aig.both(a, b)
        case "$_NAND_", [a, b]:
            return aig.both(a, b) ^ 1
        case "$_OR_", [a, b]:
            return aig.either(a, b)
        case "$_NOR_", [a, b]:
            return aig.either(a, b) ^ 1
        case "$_XOR_", [a, b]:
            return aig.differ(a, b)
        case "$_XNOR_", [a, b]:
            return aig.differ(a, b) ^ 1
        case "$_ANDNOT_", [a, b]:
            return aig.both(a, b ^ 1)
        case "$_ORNOT_", [a, b]:
            return aig.either(a, b ^ 1)
        case "$_MUX_", [select, a, b]:
            return aig.choose(select, b, a)
    raise AssertionError(kind)


@dataclass(frozen=True, slots=True)
class _Value:
    """A literal, how many registers lie before it, and whether it is the same for all vectors.

    Of what is the same, that many registers must have moved before it is there: at first they may
    hold anything.
    """

    literal: Literal
    depth: int
    is_constant: bool


_CONSTANTS: dict[Bit, _Value] = {"0": _Value(FALSE, 0, True), "1": _Value(TRUE, 0, True)}
_UNDEFINED = ("x", "z")


class Pipeline:
    """The function of a design whose registers all move at once.

    Parameters
    ----------
    aig : Aig
        The graph to build in.
    netlist : BitNetlist
        The design.
    known : mapping
        Literals of some bits, such as the inputs. They count as having no register before them.
    cuts : container of Bit
        Bits whose logic is kept apart from the logic that reads them: they become inputs of the
        graph.
    later : mapping
        Literals of bits that are read later than the inputs, each with how many registers count as
        being before it.

    Attributes
    ----------
    drivers : dict
        What drives each such input.
    """

    def __init__(
        self,
        aig: Aig,
        netlist: BitNetlist,
        known: Mapping[Bit, Literal],
        cuts: Container[Bit] = (),
        later: Mapping[Bit, tuple[Literal, int]] | None = None,
    ):
        self._aig = aig
        self._netlist = netlist
        self._cuts = cuts
        self.drivers: dict[Literal, Literal] = {}
        self._values: dict[Bit, _Value] = {**_CONSTANTS}
        inputs = {bit: (literal, 0) for bit, literal in known.items()}
        for bit, (literal, depth) in {**inputs, **(later or {})}.items():
            self._values[bit] = _Value(literal, depth, literal in (FALSE, TRUE))

    def literal(self, bit: Bit) -> Literal:
        """Return what a bit computes."""
        return self._value(bit).literal

    def literals(self, bits: Sequence[Bit]) -> list[Literal]:
        """Return what some bits compute."""
        return [self.literal(bit) for bit in bits]

    def depth(self, bit: Bit) -> int:
        """Return how many registers lie on every path to a bit; to a constant, on the longest."""
        return self._value(bit).depth

    def is_constant(self, bit: Bit) -> bool:
        """Say whether a bit does not depend on the vector."""
        return self._value(bit).is_constant

    def is_known(self, bit: Bit) -> bool:
        """Say whether a bit has been reached so far."""
        return bit in self._values

    def has_value(self, bit: Bit) -> bool:
        """Say whether a bit is known or driven."""
        return bit in self._values or self._netlist.is_driven(bit)

    def _value(self, root: Bit) -> _Value:
        if root in _UNDEFINED:
            return self._read(root)
        values = self._values
        stack: list[tuple[Bit, bool]] = [(root, False)]
        open_bits: set[Bit] = set()
        while stack:
            bit, is_ready = stack.pop()
            if bit in values:
                continue
            if is_ready:
                values[bit] = self._cut(bit, self._compute(bit))
                open_bits.discard(bit)
                continue
            if bit in open_bits:
                raise PipelineError(f"{self._netlist.describe(bit)} depends on itself")
            open_bits.add(bit)
            stack.append((bit, True))
            stack += [
                (source, False)
                for source in self._sources(bit)
                if source not in values and source not in _UNDEFINED
            ]
        return values[root]

    def _read(self, bit: Bit) -> _Value:
        """Return a value that has been reached; an undefined one is free, another each time."""
        return _Value(self._aig.input(), 0, False) if bit in _UNDEFINED else self._values[bit]

    def _sources(self, bit: Bit) -> Iterator[Bit]:
        if register := self._netlist.registers.get(bit):
            yield register.enable
            yield register.d
        elif bit in self._netlist.gates:
            yield from self._netlist.gates[bit][1]
        else:
            raise PipelineError(
                f"{self._netlist.describe(bit)} is neither part of a vector nor made of one, but a "
                "result depends on it"
            )

    def _compute(self, bit: Bit) -> _Value:
        if register := self._netlist.registers.get(bit):
            if self._read(register.enable).literal != int(register.enable_level):
                raise PipelineError(f"{self._netlist.describe(bit)} does not move with the others")
            source = self._read(register.d)
            return _Value(source.literal, source.depth + 1, source.is_constant)
        kind, sources = self._netlist.gates[bit]
        inputs = [self._read(source) for source in sources]
        literal = _gate(self._aig, kind, [value.literal for value in inputs])
        is_constant = literal in (FALSE, TRUE) or all(value.is_constant for value in inputs)
        return _Value(literal, self._join(bit, kind, inputs), is_constant)

    def _cut(self, bit: Bit, value: _Value) -> _Value:
        """Replace the value of a bit by an input if it is to be cut and there is logic before."""
        if bit not in self._cuts or self._aig.fanins[value.literal >> 1] is None:
            return value
        literal = self._aig.input()
        self.drivers[literal] = value.literal
        return _Value(literal, value.depth, value.is_constant)

    def _join(self, bit: Bit, kind: str, inputs: Sequence[_Value]) -> int:
        """Return the registers before a gate's output.

        That logic falls away because two literals are related does not excuse different depths:
        then they belong to different vectors. A constant may join if it is there in time.
        """
        if kind == "$_MUX_" and inputs[0].literal in (FALSE, TRUE):
            inputs = [inputs[0], inputs[1 + inputs[0].literal]]
        data = {value.depth for value in inputs if not value.is_constant}
        latest = max(value.depth for value in inputs)
        if len(data) > 1:
            raise PipelineError(
                f"{self._netlist.describe(bit)} joins vectors of different cycles: "
                f"{' and '.join(map(str, sorted(data)))} registers lie before it"
            )
        if data and latest not in data:
            raise PipelineError(
                f"{self._netlist.describe(bit)} joins a vector after {data.pop()} registers and a "
                f"constant that is there only after {latest}"
            )
        return latest
