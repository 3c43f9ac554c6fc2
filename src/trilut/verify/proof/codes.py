"""How the outputs of the gates stand on the wires that enter the sums.

A trit has its two planes there, and a bit one wire or both. What the wires of a score stand for is
the design's own affair: the code is read off examples, and then it is proven that the wires carry
it for every input.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trilut.verify.proof.aig import Aig, Literal, Words
from trilut.verify.proof.inputs import read_integer
from trilut.verify.proof.sweep import Sweeper

__all__ = ["Code", "CodeError", "Word", "find_code", "trit_code"]

Word = tuple[int, ...]
"""What some wires carry, the first one first."""

Code = Mapping[Word, int]
"""The value that each word stands for. Other words do not occur."""

Example = Mapping[Literal, bool]


@dataclass
class CodeError(Exception):
    """One word stands for two values, and here is an input for each."""

    examples: tuple[Example, Example]


def trit_code(values: Iterable[int]) -> Code:
    """Return the code of a dual-rail trit that takes some values."""
    return {(int(value == -1), int(value == 1)): value for value in values}


def find_code(
    aig: Aig,
    sweeper: Sweeper,
    number: Sequence[Literal],
    wires: Sequence[Literal],
    simulated: tuple[Mapping[Literal, Words], Words],
) -> Code:
    """Find the code by which wires carry a number, and prove that they do for every input.

    Parameters
    ----------
    number : sequence of Literal
        The number, its lowest bit first.
    wires : sequence of Literal
        The wires.
    simulated : patterns of the inputs, and values of all nodes
        Where to look for words first.

    Raises
    ------
    CodeError
        If there is no such code.
    """
    patterns, values = simulated
    seen: dict[Word, tuple[int, Example]] = {}

    def learn(bits: Sequence[int], example: Example) -> None:
        value = read_integer(bits[len(wires) :], signed=True)
        known, other = seen.setdefault(tuple(bits[: len(wires)]), (value, example))
        if known != value:
            raise CodeError((other, example))

    together, first = np.unique(_simulated(values, [*wires, *number]), axis=1, return_index=True)
    for bits, pattern in zip(together.T.tolist(), first.tolist(), strict=True):
        learn(bits, _pattern_example(patterns, pattern))
    while True:
        is_seen = aig.any(
            aig.all([*_equal(wires, word), *_equal(number, _digits(value, len(number)))])
            for word, (value, _) in seen.items()
        )
        example = sweeper.example([is_seen ^ 1])
        if example is None:
            return {word: value for word, (value, _) in seen.items()}
        learn(_evaluated(aig, [*wires, *number], example), example)


def _simulated(values: Words, literals: Sequence[Literal]) -> NDArray[np.uint8]:
    """Return literals [literal, pattern] of a simulation."""
    inverted = np.array([literal & 1 for literal in literals], dtype=np.uint8)
    rows = values[[literal >> 1 for literal in literals]]
    bits = np.unpackbits(rows.astype("<u8").view(np.uint8), axis=1, bitorder="little")
    return bits ^ inverted[:, None]


def _pattern_example(patterns: Mapping[Literal, Words], pattern: int) -> Example:
    word, place = divmod(pattern, 64)
    return {literal: bool(int(words[word]) >> place & 1) for literal, words in patterns.items()}


def _equal(literals: Sequence[Literal], bits: Iterable[int]) -> list[Literal]:
    return [literal ^ 1 ^ bit for literal, bit in zip(literals, bits, strict=True)]


def _digits(value: int, width: int) -> list[int]:
    return [value >> place & 1 for place in range(width)]


def _evaluated(aig: Aig, literals: Sequence[Literal], example: Example) -> list[int]:
    """Return what literals are for some inputs; those that are not given are FALSE."""
    known = {0: 0}
    for node in aig.cone(literals):
        fanins = aig.fanins[node]
        known[node] = (
            int(example.get(2 * node, False))
            if fanins is None
            else int(all(known[each >> 1] ^ each & 1 for each in fanins))
        )
    return [known[literal >> 1] ^ literal & 1 for literal in literals]
