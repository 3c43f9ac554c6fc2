"""A greedy cover of gates with lookup tables, which stands for what a mapper does."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from trilut.circuit.formula import Formula
from trilut.hdl.sums.compressor import FALSE, TRUE, Bit

__all__ = ["Cover", "Covered", "num_tables"]

# A function of more wires is made of cells of its own and joined with no other.
_MOST_JOINED = 4


class Cover:
    """Tables that make the planes of gates, and registers behind some of them.

    As in :mod:`trilut.hdl.sums.compressor`, a bit is a number from 1, ``~bit`` is its complement,
    and FALSE and TRUE are constants.

    Parameters
    ----------
    lut_inputs : int
        Inputs of a table.
    wide : tuple of int
        How many tables a function of five inputs takes, and one of six.
    """

    def __init__(self, lut_inputs: int, wide: tuple[int, int]):
        self._lut_inputs = lut_inputs
        self._wide_tables = wide
        self._reads: dict[Bit, tuple[Bit, ...]] = {}
        self._num_bits = 0
        self._num_inverters = 0
        self._roots: set[Bit] = set()
        self._tables: dict[tuple[Formula | int, tuple[Bit, ...]], Bit] = {}
        # Tables that nothing is joined with, and those that share no place, by what they take.
        self._wide: dict[Bit, int] = {}
        self._alone: set[Bit] = set()
        self._inverted: dict[Bit, Bit] = {}

    def source(self) -> Bit:
        """Return a bit that comes from elsewhere."""
        self._num_bits += 1
        return self._num_bits

    def plane(self, formula: Formula, sources: Mapping[str, Bit]) -> Bit:
        """Return the bit that a formula makes of others."""
        if formula.operator is None:
            bit = TRUE if formula.leaf == "one" else sources[formula.leaf]
            return ~bit if formula.inverted else bit
        bits = tuple(sources[leaf] for leaf in sorted(formula.leaves))
        key: tuple[Formula, tuple[Bit, ...]] = formula, bits
        if key not in self._tables:
            self._tables[key] = self.table(bits)
        return self._tables[key]

    def function(self, table: int, bits: tuple[Bit, ...], *, alone: bool) -> Bit:
        """Return the bit that a truth table makes of others.

        Unless it is alone, there is another one of the same bits, with which it can share a place.
        """
        if len(bits) < 2:
            bit = bits[0] if bits else TRUE
            return ~bit if table & 1 == len(bits) else bit
        key = table, bits
        if key not in self._tables:
            bit = self._tables[key] = self.table(bits)
            if len(bits) > _MOST_JOINED:
                self._wide[bit] = self._wide_tables[len(bits) - _MOST_JOINED - 1]
            elif alone:
                self._alone.add(bit)
        return self._tables[key]

    def table(self, bits: Iterable[Bit]) -> Bit:
        """Return a bit that is some function of others."""
        bit = self.source()
        self._reads[bit] = tuple(_varying(bits))
        return bit

    def neither(self, a: Bit, b: Bit) -> Bit:
        """Return a bit that is high if two bits are low, which can read what they read."""
        varying = [bit for bit in (a, b) if bit not in (FALSE, TRUE)]
        if len(varying) < 2:
            return ~varying[0] if varying else TRUE
        return self.table(
            read for bit in _varying(varying) for read in self._reads.get(bit, (bit,))
        )

    def inverted(self, bit: Bit) -> Bit:
        """Return the complement of a bit, by a table of its own if a table makes the bit."""
        if bit not in self._reads:
            return ~bit
        return self._inverted.setdefault(bit, self.table(self._reads[bit]))

    def register(self, bits: Iterable[Bit]) -> dict[Bit, Bit]:
        """Put registers behind bits, one for all that are equal, and return what they hold."""
        held = {bit: self.source() for bit in set(bits) if bit not in (FALSE, TRUE)}
        # A register cannot invert, and a bit that is not made by a table has none that could.
        self._num_inverters += sum(bit < 0 for bit in held)
        self._roots.update(_varying(held))
        return {FALSE: FALSE, TRUE: TRUE, **held}

    def registers(self, bits: Iterable[Bit]) -> int:
        """Put registers behind bits and return how many."""
        return len(self.register(bits)) - 2

    def finish(self) -> "Covered":
        """Cover what the registers hold, and return what that takes.

        A table becomes part of those that read it if they have inputs left, the ones with few
        readers first. It is spared if it becomes part of all of them.
        """
        used = set(self._roots)
        readers: Counter[Bit] = Counter()
        for bit in sorted(self._reads, reverse=True):
            if bit in used:
                used.update(self._reads[bit])
                readers.update(set(self._reads[bit]))
        support: dict[Bit, set[Bit]] = {}
        depth: dict[Bit, int] = {}
        spared: Counter[Bit] = Counter()
        for bit in sorted(used & self._reads.keys()):
            own = set(self._reads[bit])
            tables = sorted(own & support.keys() - self._roots, key=lambda read: readers[read])
            for read in tables if bit not in self._wide else []:
                if read in self._wide:
                    continue
                joined = (own - {read}) | support[read]
                if len(joined) <= self._lut_inputs:
                    own = joined
                    spared[read] += 1
            support[bit] = own
            depth[bit] = 1 + max((depth.get(read, 0) for read in own), default=0)
        kept = [bit for bit in support if bit in self._roots or spared[bit] < readers[bit]]
        alone = self._alone | self._wide.keys()
        num_whole = sum(self._wide.get(bit, 1) for bit in kept if bit in alone)
        kept = [bit for bit in kept if bit not in alone]
        num_inner = sum(bit not in self._roots for bit in kept)
        count = sum(num_tables(len(support[bit]), self._lut_inputs) for bit in kept)
        return Covered(
            count - num_inner + self._num_inverters,
            num_inner,
            num_whole,
            max(depth.values(), default=0),
            used,
        )


@dataclass(frozen=True, slots=True)
class Covered:
    """What a cover takes.

    Parameters
    ----------
    num_held, num_inner : int
        Tables with a register behind them, and others.
    num_whole : int
        Tables of gates of other inputs than two trits that share no place, and have none to share.
    depth : int
        Tables on the longest path.
    used : set of int
        The bits that are read by anything.
    """

    num_held: int
    num_inner: int
    num_whole: int
    depth: int
    used: set[Bit]


def _varying(bits: Iterable[Bit]) -> list[Bit]:
    """Return bits without complements and constants."""
    return [max(bit, ~bit) for bit in bits if bit not in (FALSE, TRUE)]


def num_tables(num_inputs: int, lut_inputs: int) -> int:
    """Return how many tables a tree of so many inputs takes."""
    return max(1, math.ceil((num_inputs - 1) / (lut_inputs - 1)))
