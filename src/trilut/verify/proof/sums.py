"""Proof that adders add: a sum is taken apart, adder by adder, back to the trits.

A SAT solver cannot compare two trees of adders that add in different orders. But every adder keeps
the weighted sum of its bits. So the sum of the outputs is written as a weighted sum of the bits
that enter the last adders, and so on, until only trits are left and each has the weight one.

That an adder keeps the sum is shown for all values of the bits that it reads, by a decision diagram
of its outputs: where the bits are asked for from the lowest weight up, all that an adder of any
width must remember on the way is a carry or two.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from trilut.verify.proof.aig import Aig, Literal
from trilut.verify.proof.codes import Code
from trilut.verify.proof.diagrams import Diagrams, Function

__all__ = ["SumError", "SumInput", "Worth", "prove_sum"]

Worth = Mapping[int, int]
"""What a trit counts in a sum if it is −1, 0 or +1."""

# The diagrams of an adder of two numbers of 16 bits have about a thousand nodes.
_MAX_NODES = 1 << 18


class SumError(Exception):
    """A sum is not the sum of its trits, or could not be shown to be."""


@dataclass(frozen=True, slots=True)
class SumInput:
    """A trit that a sum may read, or a bit or a score.

    Parameters
    ----------
    wires : tuple of Literal
        Its inputs of the graph.
    code : Code
        What they stand for.
    """

    wires: tuple[Literal, ...]
    code: Code


def prove_sum(
    aig: Aig,
    number: Sequence[Literal],
    inputs: Sequence[SumInput],
    worths: Sequence[Worth],
    drivers: Mapping[Literal, Literal],
) -> int:
    """Prove that a signed number is what trits are worth plus a constant, and return the constant.

    Parameters
    ----------
    number : sequence of Literal
        Bits of the number, the lowest first.
    inputs : sequence of SumInput
        All trits.
    worths : sequence of Worth
        What each of them counts.
    drivers : mapping
        The bits between adders, which are inputs of the graph, and what drives them. They only say
        where to cut: wrong ones can make the proof fail, but not succeed.

    Raises
    ------
    SumError
        If that is not so, or does not follow by this method.
    """
    bits = list(number)
    # Copies of the sign say nothing, and adders do not make them.
    while len(bits) > 1 and bits[-1] == bits[-2]:
        bits.pop()
    half = 1 << len(bits) - 1
    rest = _Rewriter(aig, inputs, drivers, 2 * half).run(bits, worths)
    terms = [
        [worth[v] for v in each.code.values()] for each, worth in zip(inputs, worths, strict=True)
    ]
    lowest, highest = sum(map(min, terms)), sum(map(max, terms))
    # The sum is right modulo 2·half; it is right if it also fits.
    constant = (lowest + rest + half) % (2 * half) - half - lowest
    if highest + constant >= half:
        raise SumError(f"a sum from {lowest} to {highest} does not fit {len(bits)} bits")
    return constant


class _Rewriter:
    """A weighted sum of bits on its way from a number to trits.

    A bit is a node of the graph that has a driver; those of the number itself are numbered on from
    the graph's nodes. A variable is what an adder reads: a bit, or a trit, written as a negative
    number.
    """

    def __init__(
        self,
        aig: Aig,
        inputs: Sequence[SumInput],
        drivers: Mapping[Literal, Literal],
        modulus: int,
    ):
        self._aig = aig
        self._inputs = inputs
        self._drivers = {bit >> 1: driver for bit, driver in drivers.items()}
        self._modulus = modulus
        self._input_of = {
            wire >> 1: -1 - index for index, each in enumerate(inputs) for wire in each.wires
        }
        self._sources: dict[int, frozenset[int]] = {}
        self._weights: dict[int, int] = defaultdict(int)
        self._totals = [dict.fromkeys(each.code, 0) for each in inputs]
        self._constant = 0

    def run(self, number: Sequence[Literal], worths: Sequence[Worth]) -> int:
        """Return the constant by which a number exceeds the sum of what the trits are worth."""
        last = dict(enumerate(number, start=len(self._aig)))
        self._drivers |= last
        self._weights |= {bit: 1 << place for place, bit in enumerate(last)}
        self._find_sources(last)
        for adder in _adders(self._sources):
            self._take_apart(adder)
        return (self._constant + self._excess(worths)) % self._modulus

    def _find_sources(self, bits: Iterable[int]) -> None:
        """Note which nodes, bits and planes of trits, each bit is a function of, from some on."""
        pending = list(bits)
        while pending:
            bit = pending.pop()
            if bit in self._sources:
                continue
            cone = self._aig.cone([self._drivers[bit]])
            found = frozenset(node for node in cone if self._aig.fanins[node] is None)
            if not found <= self._input_of.keys() | self._drivers.keys():
                raise SumError("a sum depends on more than its trits")
            self._sources[bit] = found
            pending += found - self._input_of.keys()

    def _take_apart(self, adder: Sequence[int]) -> None:
        """Replace the bits that an adder makes by those that it reads."""
        made = {bit: self._weights.pop(bit, 0) % self._modulus for bit in sorted(adder)}
        variables = self._variables(made)
        diagrams = Diagrams(_MAX_NODES)
        try:
            functions = self._functions(diagrams, made, variables)
        except MemoryError as error:
            raise SumError(f"an adder of {len(variables)} bits is too large to try") from error
        weighted = ((functions[bit], weight) for bit, weight in made.items())
        base, lines = _LinearForms(diagrams, self._modulus).of(weighted)
        self._constant += base
        for rank, amounts in lines.items():
            variable = variables[rank]
            if variable >= 0:
                self._weights[variable] += amounts[1]
            else:
                total = self._totals[-1 - variable]
                for word, amount in zip(total, amounts, strict=True):
                    total[word] += amount

    def _variables(self, made: Mapping[int, int]) -> list[int]:
        """Return what an adder reads, in the order of the lowest weights that depend on it."""
        lowest: dict[int, int] = {}
        for bit, weight in made.items():
            for source in self._sources[bit] - made.keys():
                variable = self._input_of.get(source, source)
                own = weight & -weight or self._modulus
                lowest[variable] = min(own, lowest.get(variable, own))
        return sorted(lowest, key=lambda variable: (lowest[variable], variable))

    def _functions(
        self, diagrams: Diagrams, made: Mapping[int, int], variables: Sequence[int]
    ) -> dict[int, Function]:
        """Return the bits that an adder makes, and all before them, as functions of variables."""
        known: dict[int, Function] = {0: 0}
        for rank, variable in enumerate(variables):
            if variable >= 0:
                known[variable] = diagrams.choose(rank, (0, 1))
                continue
            each = self._inputs[-1 - variable]
            for place, wire in enumerate(each.wires):
                known[wire >> 1] = diagrams.choose(rank, [word[place] for word in each.code])
        # A bit comes after all that it depends on, other bits of the adder too.
        for bit in made:
            driver = self._drivers[bit]
            for node in self._aig.cone([driver], known):
                fanins = self._aig.fanins[node]
                assert fanins is not None, "an input has no value"
                known[node] = diagrams.both(*(known[each >> 1] ^ each & 1 for each in fanins))
            known[bit] = known[driver >> 1] ^ driver & 1
        return known

    def _excess(self, worths: Sequence[Worth]) -> int:
        """Return what the trits come to beyond what they are worth."""
        excess = 0
        for index, (total, worth) in enumerate(zip(self._totals, worths, strict=True)):
            code = self._inputs[index].code
            rests = {(amount - worth[code[word]]) % self._modulus for word, amount in total.items()}
            if len(rests) > 1:
                wanted = ", ".join(f"{worth[v]:+d} for {v:+d}" for v in code.values())
                raise SumError(f"output {index} does not count as {wanted}")
            excess += rests.pop()
        return excess


def _adders(sources: Mapping[int, frozenset[int]]) -> Iterator[list[int]]:
    """Group bits to adders, and yield each of these before those whose bits it reads.

    Whatever reads a bit is one adder, so bits that have a source in common are made together.
    """
    groups = _Groups(sources)
    first_reader: dict[int, int] = {}
    for bit, found in sources.items():
        for source in found:
            groups.join((bit, first_reader.setdefault(source, bit)))
    while True:
        pairs = {
            (groups.of(source), groups.of(bit))
            for bit, found in sources.items()
            for source in found & sources.keys()
        }
        readers: dict[int, set[int]] = {groups.of(bit): set() for bit in sources}
        for made, reader in pairs:
            if made != reader:
                readers[made].add(reader)
        try:
            order = list(TopologicalSorter(readers).static_order())
        except CycleError as error:
            # A bit that is another one's copy at another level joins the adders of both levels.
            groups.join(error.args[1])
            continue
        members: dict[int, list[int]] = {group: [] for group in order}
        for bit in sources:
            members[groups.of(bit)].append(bit)
        yield from members.values()
        return


class _Groups:
    """A partition of bits that becomes coarser; a group is called by one of its bits."""

    def __init__(self, bits: Iterable[int]):
        self._parent = {bit: bit for bit in bits}

    def of(self, bit: int) -> int:
        """Return the group of a bit."""
        while (parent := self._parent[bit]) != bit:
            self._parent[bit] = bit = self._parent[parent]
        return bit

    def join(self, bits: Sequence[int]) -> None:
        """Put bits into one group."""
        for bit in bits[1:]:
            self._parent[self.of(bit)] = self.of(bits[0])


_Lines = dict[int, tuple[int, ...]]


class _LinearForms:
    """Weighted sums of functions, written as sums of one term for each variable."""

    def __init__(self, diagrams: Diagrams, modulus: int):
        self._diagrams = diagrams
        self._modulus = modulus
        self._found: dict[tuple[tuple[Function, int], ...], tuple[int, _Lines]] = {}

    def of(self, weighted: Iterable[tuple[Function, int]]) -> tuple[int, _Lines]:
        """Return the sum where all variables have their first values, and what each value adds.

        Variables that add nothing are left out.

        Raises
        ------
        SumError
            If it is no such sum.
        """
        base = 0
        weights: dict[Function, int] = defaultdict(int)
        for function, weight in weighted:
            base += weight * (function & 1)
            weights[function & ~1] += -weight if function & 1 else weight
        weights.pop(0, None)
        items = ((function, weight % self._modulus) for function, weight in weights.items())
        rest, lines = self._of_regular(tuple(sorted(item for item in items if item[1])))
        return (base + rest) % self._modulus, lines

    def _of_regular(self, weighted: tuple[tuple[Function, int], ...]) -> tuple[int, _Lines]:
        if not weighted:
            return 0, {}
        found = self._found.get(weighted)
        if found is None:
            if len(self._found) >= _MAX_NODES:
                raise SumError("an adder is too large to try")
            found = self._found[weighted] = self._split(weighted)
        return found

    def _split(self, weighted: tuple[tuple[Function, int], ...]) -> tuple[int, _Lines]:
        """Treat the first variable: whatever its value, the other ones must add the same."""
        functions, weights = zip(*weighted, strict=True)
        variable = self._diagrams.first_variable(functions)
        # What the variable does not matter for is repeated for ever.
        parts = zip(*(self._diagrams.parts(f, variable) for f in functions), strict=False)
        bases, lines = zip(
            *(self.of(zip(part, weights, strict=True)) for part in parts), strict=True
        )
        if any(others != lines[0] for others in lines):
            raise SumError("an adder does not add")
        amounts = tuple((base - bases[0]) % self._modulus for base in bases)
        return bases[0], ({variable: amounts} if any(amounts) else {}) | lines[0]
