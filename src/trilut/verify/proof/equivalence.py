"""Proof that two forms of a design do the same in every cycle, register by register.

A tool that maps a design keeps its registers and their names, or merges those that are always
equal. So each register of the one form is paired with one of the other by its name, or by that of
a twin. Given that all pairs are equal in one cycle, their next values and the outputs are proven
equal; as they are equal at first, they are for ever.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from trilut.verify.proof.aig import FALSE, Aig, Literal
from trilut.verify.proof.design import Bit, BitNetlist
from trilut.verify.proof.pipeline import Pipeline
from trilut.verify.proof.sweep import Sweeper

__all__ = ["Equivalence", "prove_equivalence"]

_NUM_WORDS = 8


@dataclass(frozen=True, slots=True)
class Equivalence:
    """What a proof of equivalence found.

    Parameters
    ----------
    num_registers : int
        Number of registers of the first form that have one in the other.
    num_kept : int
        Number of registers of the other form that they are; fewer where some were merged, or are
        constant.
    num_unpaired : int
        Number of registers of the first form that have none; if all was proven, nothing needs them.
    objection : str
        What could not be proven; empty if all was. It is not known to be wrong: a counter-example
        may start from values of registers that never occur together.
    """

    num_registers: int
    num_kept: int
    num_unpaired: int
    objection: str = ""

    @property
    def text(self) -> str:
        """One line about it."""
        if self.objection:
            lost = f"; {self.num_unpaired} registers lost their names" if self.num_unpaired else ""
            return f"not proven: {self.objection}{lost}"
        return (
            f"proven equal to the RTL in every cycle: {self.num_registers} registers, "
            f"{self.num_kept} in the mapped netlist"
        )


def prove_equivalence(first: BitNetlist, other: BitNetlist) -> Equivalence:
    """Prove that two forms of a design have the same outputs in every cycle for the same inputs."""
    aig = Aig()
    ports = _shared_inputs(aig, first, other)
    states = {bit: aig.input() for bit in other.registers}
    pipeline = Pipeline(aig, other, {**states, **_bits(other, ports)})
    pairs = _pairs(first, other, pipeline, {FALSE: "0", **{s: bit for bit, s in states.items()}})
    known = {bit: pipeline.literal(pair.bit) ^ pair.inverted for bit, pair in pairs.items()}
    unpaired = {bit: aig.input() for bit in first.registers if bit not in pairs}
    forms = (
        (first, Pipeline(aig, first, {**known, **unpaired, **_bits(first, ports)})),
        (other, pipeline),
    )
    claims = [*_outputs(*forms), *_next_states(aig, *forms, pairs)]
    objection = _first_start(first, other, pairs) or _first_difference(aig, claims)
    kept = {pair.bit for pair in pairs.values() if pair.bit in other.registers}
    return Equivalence(len(pairs), len(kept), len(unpaired), objection)


@dataclass(frozen=True, slots=True)
class _Pair:
    """A register of the other form, or the constant 0, and whether it holds the inverse."""

    bit: Bit
    inverted: int


_Form = tuple[BitNetlist, Pipeline]
_Claim = tuple[str, Literal, Literal]


def _pairs(
    first: BitNetlist, other: BitNetlist, pipeline: Pipeline, states: Mapping[Literal, Bit]
) -> dict[Bit, _Pair]:
    """Return what is behind the name of each register in the other form.

    A part whose registers all start with 0 holds the inverse of one that starts with 1.
    """
    pairs: dict[Bit, _Pair] = {}
    for name, bits in first.nets.items():
        for bit, found in zip(bits, other.nets.get(name, ()), strict=False):
            if bit in first.registers and bit not in pairs and pipeline.has_value(found):
                literal = pipeline.literal(found)
                if (state := states.get(literal & ~1)) is not None:
                    pairs[bit] = _Pair(state, literal & 1)
    return pairs | _pairs_of_twins(first, pairs)


def _pairs_of_twins(first: BitNetlist, pairs: Mapping[Bit, _Pair]) -> dict[Bit, _Pair]:
    """Return the pairs of registers that lost their names to others that take the same bit."""

    def taken(bit: Bit) -> tuple[object, ...]:
        register = first.registers[bit]
        return register.d, register.enable, register.enable_level, first.initial.get(bit)

    found = {taken(bit): pair for bit, pair in pairs.items()}
    return {
        bit: found[taken(bit)]
        for bit in first.registers
        if bit not in pairs and taken(bit) in found
    }


def _shared_inputs(aig: Aig, first: BitNetlist, other: BitNetlist) -> dict[str, list[Literal]]:
    """Make inputs of the graph for the inputs that both forms have."""
    return {
        port: aig.inputs(len(bits))
        for port, bits in first.ports.items()
        if first.directions[port] == "input" and port in other.ports
    }


def _bits(netlist: BitNetlist, ports: Mapping[str, list[Literal]]) -> dict[Bit, Literal]:
    return {
        bit: literal
        for port, literals in ports.items()
        for bit, literal in zip(netlist.ports[port], literals, strict=True)
    }


def _outputs(first: _Form, other: _Form) -> Iterator[_Claim]:
    for port, bits in first[0].ports.items():
        if first[0].directions[port] == "output":
            for place, (one, two) in enumerate(zip(bits, other[0].ports[port], strict=True)):
                yield f"Output {port}[{place}]", first[1].literal(one), other[1].literal(two)


def _next_states(
    aig: Aig, first: _Form, other: _Form, pairs: Mapping[Bit, _Pair]
) -> Iterator[_Claim]:
    for bit, pair in pairs.items():
        other_next = _next(aig, other, pair.bit) ^ pair.inverted
        yield first[0].describe(bit), _next(aig, first, bit), other_next


def _next(aig: Aig, form: _Form, bit: Bit) -> Literal:
    """Return what a register will hold after the next clock edge; a constant is what it is."""
    netlist, pipeline = form
    register = netlist.registers.get(bit)
    if register is None:
        return pipeline.literal(bit)
    enable = pipeline.literal(register.enable) ^ int(not register.enable_level)
    return aig.choose(enable, pipeline.literal(register.d), pipeline.literal(bit))


def _first_start(first: BitNetlist, other: BitNetlist, pairs: Mapping[Bit, _Pair]) -> str:
    """Name the first register that may start with another value than it should."""
    for bit, pair in pairs.items():
        want = first.initial.get(bit)
        have = "0" if pair.bit == "0" else other.initial.get(pair.bit)
        if want is not None and (have is None or int(want) != int(have) ^ pair.inverted):
            return f"{first.describe(bit)} may start with another value"
    return ""


def _first_difference(aig: Aig, claims: list[_Claim]) -> str:
    sweeper = Sweeper(aig)
    rng = np.random.default_rng(0)
    inputs = [2 * node for node, fanin in enumerate(aig.fanins) if node and fanin is None]
    words = rng.integers(0, 1 << 64, (len(inputs), _NUM_WORDS), dtype=np.uint64)
    nodes = range(1, len(aig))
    sweeper.sweep(nodes, (), dict(zip(inputs, words, strict=True)))
    for what, one, two in claims:
        if sweeper.difference(one, two) is not None:
            return f"{what} may differ"
    return ""
