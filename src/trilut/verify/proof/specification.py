"""What a netlist says, as logic: from its tables, thresholds and groups by the shortest path.

Nothing here is shared with what makes the hardware: no formulas, no reachable rows, no plan of the
layers or the sums. Each gate is the sum of the rows of its table, each threshold a comparison from
the lowest bit up, each sum a ripple-carry adder after the other.
"""

from collections.abc import Sequence

import numpy as np

from trilut.circuit.encoder import Encoder
from trilut.circuit.netlist import Netlist
from trilut.circuit.reach import ternary_tables
from trilut.verify.proof.aig import FALSE, TRUE, Aig, Literal

__all__ = [
    "Trit",
    "abstains",
    "at_least",
    "below",
    "bounds",
    "cases",
    "certain_answer",
    "difference",
    "encode",
    "equal",
    "first_highest",
    "gates",
    "is_certain",
    "legal_trits",
    "margin_over",
    "members",
    "num_unknown",
    "score",
    "signed_sum",
]

Trit = tuple[Literal, Literal]
"""A dual-rail trit: [v = −1], [v = +1]."""

Number = Sequence[Literal]
"""A signed number, its lowest bit first."""


def legal_trits(aig: Aig, count: int, valence: int = 3) -> list[Trit]:
    """Return trits of new inputs that take every legal code and no other."""
    trits = []
    for _ in range(count):
        a = aig.input()
        b = aig.input() if valence == 3 else a ^ 1
        trits.append((aig.both(a, b ^ 1), aig.both(b, a ^ 1)))
    return trits


def encode(
    aig: Aig, encoder: Encoder, features: Sequence[Sequence[Literal]], present: Sequence[Literal]
) -> list[Trit]:
    """Return the trits of feature values, given by their bits."""
    trits = []
    columns = (encoder.feature, encoder.low, encoder.high, encoder.missing)
    for index, low, high, missing in np.stack(columns, axis=1).tolist():
        feature, here = encoder.features[index], present[index]
        bits = list(features[index])
        if feature.seen is not None:
            least, most = feature.seen
            here = aig.both(here, at_least(aig, bits, least, signed=feature.signed))
            here = aig.both(here, at_least(aig, bits, most + 1, signed=feature.signed) ^ 1)
        minus = aig.both(here, at_least(aig, bits, low, signed=feature.signed) ^ 1)
        plus = aig.both(here, at_least(aig, bits, high, signed=feature.signed))
        trits.append((aig.either(minus, here ^ 1) if missing else minus, plus))
    return trits


def at_least(aig: Aig, bits: Number, limit: int, *, signed: bool) -> Literal:
    """Return whether a number is not below a constant."""
    lowest = -(1 << len(bits) - 1) if signed else 0
    # Above the lowest number, signed or not, numbers count up from 0.
    offset = limit - lowest
    if offset <= 0:
        return TRUE
    if offset >> len(bits):
        return FALSE
    digits = [*bits[:-1], bits[-1] ^ signed]
    result = TRUE
    for place, digit in enumerate(digits):
        join = aig.both if offset >> place & 1 else aig.either
        result = join(digit, result)
    return result


def gates(aig: Aig, netlist: Netlist, inputs: Sequence[Trit]) -> list[Trit]:
    """Return every net of a netlist, given its inputs."""
    nets = list(inputs)
    sources = zip(netlist.a.tolist(), netlist.b.tolist(), strict=True)
    for table, (a, b) in zip(ternary_tables(netlist).tolist(), sources, strict=True):
        left, right = cases(aig, nets[a]), cases(aig, nets[b])
        rows = [aig.both(left[row // 3], right[row % 3]) for row in range(9)]
        nets.append(
            (
                aig.any(rows[row] for row in range(9) if table[row] == -1),
                aig.any(rows[row] for row in range(9) if table[row] == 1),
            )
        )
    return nets


def cases(aig: Aig, trit: Trit) -> list[Literal]:
    """Return whether a trit is −1, 0, +1; exactly one of them holds, for the code 11 none."""
    minus, plus = trit
    return [aig.both(minus, plus ^ 1), aig.both(minus ^ 1, plus ^ 1), aig.both(plus, minus ^ 1)]


def signed_sum(aig: Aig, a: Number, b: Number, width: int, carry: Literal = FALSE) -> list[Literal]:
    """Return a + b + carry in ``width`` bits of two's complement."""
    total = []
    for x, y in zip(_extended(a, width), _extended(b, width), strict=True):
        either = aig.differ(x, y)
        total.append(aig.differ(either, carry))
        carry = aig.either(aig.both(x, y), aig.both(either, carry))
    return total


def difference(aig: Aig, a: Number, b: Number, width: int) -> list[Literal]:
    """Return a − b in ``width`` bits of two's complement."""
    return signed_sum(aig, a, [bit ^ 1 for bit in b], width, TRUE)


def _extended(number: Number, width: int) -> list[Literal]:
    return [*number, *[number[-1]] * (width - len(number))][:width]


def score(aig: Aig, trits: Sequence[Trit], width: int) -> list[Literal]:
    """Return the sum of some trits, one after the other."""
    total: list[Literal] = [FALSE] * width
    for minus, plus in trits:
        total = signed_sum(aig, total, [aig.either(minus, plus), minus], width)
    return total


def num_unknown(aig: Aig, trits: Sequence[Trit], width: int) -> list[Literal]:
    """Return how many of some trits are UNKNOWN."""
    total: list[Literal] = [FALSE] * width
    for minus, plus in trits:
        is_unknown = aig.both(minus ^ 1, plus ^ 1)
        total = signed_sum(aig, total, [is_unknown, FALSE], width)
    return total


def below(aig: Aig, a: Number, b: Number) -> Literal:
    """Return whether a < b."""
    width = max(len(a), len(b)) + 1
    return difference(aig, a, b, width)[-1]


def equal(aig: Aig, a: Number, b: Number) -> Literal:
    """Return whether two signed numbers are equal."""
    width = max(len(a), len(b))
    pairs = zip(_extended(a, width), _extended(b, width), strict=True)
    return aig.all(aig.differ(x, y) ^ 1 for x, y in pairs)


def first_highest(aig: Aig, scores: Sequence[Number]) -> list[Literal]:
    """Return whether each score is the highest, and the first of those that are equal."""
    return [
        aig.all(
            below(aig, other, score) if index < own else below(aig, score, other) ^ 1
            for index, other in enumerate(scores)
            if index != own
        )
        for own, score in enumerate(scores)
    ]


def margin_over(aig: Aig, score: Number, others: Sequence[Number]) -> list[Literal]:
    """Return how far a score lies above the highest of others."""
    width = max(map(len, [score, *others]))
    highest = _extended(others[0], width)
    for other in others[1:]:
        wins = below(aig, highest, other)
        pairs = zip(highest, _extended(other, width), strict=True)
        highest = [aig.choose(wins, new, old) for old, new in pairs]
    return difference(aig, score, highest, width + 1)


def bounds(aig: Aig, score: Number, unknown: Number) -> tuple[Number, Number]:
    """Return the least and the most that a score can be, given how many outputs are UNKNOWN."""
    width = max(len(score), len(unknown)) + 1
    return difference(aig, score, unknown, width), signed_sum(aig, score, unknown, width)


def is_certain(
    aig: Aig, chosen: int, scores: Sequence[Number], unknowns: Sequence[Number]
) -> Literal:
    """Return whether the least of the chosen score is above the most of all others."""
    ranges = [bounds(aig, *each) for each in zip(scores, unknowns, strict=True)]
    least = ranges[chosen][0]
    return aig.all(
        below(aig, most, least) for index, (_, most) in enumerate(ranges) if index != chosen
    )


def certain_answer(
    aig: Aig,
    chosen: Sequence[Literal],
    scores: Sequence[Number],
    unknowns: Sequence[Number],
) -> Literal:
    """Return whether the class is certain of which it is said that it is chosen."""
    return aig.any(
        aig.both(is_class, is_certain(aig, index, scores, unknowns))
        for index, is_class in enumerate(chosen)
    )


def members(
    aig: Aig, best: Number, scores: Sequence[Number], set_margin: int | None
) -> list[Literal]:
    """Return whether each score is no more than the margin of the prediction set below the best."""
    assert set_margin is not None
    width = max(map(len, scores)) + 1
    differences = (difference(aig, best, score, width) for score in scores)
    return [at_least(aig, each, set_margin + 1, signed=True) ^ 1 for each in differences]


def abstains(aig: Aig, margin: Number, limit: Sequence[Literal], abstain_margin: int) -> Literal:
    """Return whether a margin is below the limit that a port sets, or there is a tie.

    Without such a port it must be below the abstention margin of the head.
    """
    if not limit:
        return at_least(aig, margin, abstain_margin, signed=True) ^ 1
    is_tie = at_least(aig, margin, 1, signed=True) ^ 1
    return aig.either(is_tie, below(aig, margin, [*limit, FALSE]))
