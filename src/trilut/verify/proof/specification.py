"""What a netlist says, as logic: from its tables, thresholds and groups by the shortest path.

Nothing here is shared with what makes the hardware: no formulas, no reachable rows, no plan of the
layers or the sums, no code of scores. Each gate is the sum of the rows of its table, each threshold
a comparison from the lowest bit up, each sum a ripple-carry adder after the other.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from trilut.circuit.encoder import Encoder
from trilut.circuit.kinds import NO_NET, Kind
from trilut.circuit.netlist import Netlist
from trilut.verify.proof.aig import FALSE, TRUE, Aig, Literal

__all__ = [
    "Net",
    "Number",
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
    "legal_inputs",
    "margin_over",
    "members",
    "num_unknown",
    "row_cases",
    "score",
    "signed_sum",
    "value",
]

Trit = tuple[Literal, Literal]
"""A dual-rail trit: [v = −1], [v = +1]. Of a bit one is the inverse of the other."""

Number = Sequence[Literal]
"""A signed number, its lowest bit first."""

Net = Trit | Number
"""A bit or a trit, or a score as a number of :data:`SCORE_BITS` bits."""

SCORE_BITS = 4
"""Bits of a score in two's complement."""


def legal_inputs(aig: Aig, kinds: Iterable[int]) -> list[Trit]:
    """Return bits and trits as new inputs that take every legal code and no other."""
    trits = []
    for kind in kinds:
        a = aig.input()
        b = aig.input() if kind == Kind.TRIT else a ^ 1
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


def gates(aig: Aig, netlist: Netlist, inputs: Sequence[Trit]) -> list[Net]:
    """Return every net of a netlist, given its inputs."""
    kinds = netlist.kinds.tolist()
    nets: list[Net] = [
        (plus ^ 1, plus) if kind == Kind.BIT else (minus, plus)
        for (minus, plus), kind in zip(inputs, kinds, strict=False)
    ]
    for gate, table in enumerate(netlist.table.tolist()):
        rows = [TRUE]
        for literals in row_cases(aig, netlist, nets, gate):
            # The last input changes fastest.
            rows = [aig.both(row, literal) for row in rows for literal in literals]
        nets.append(_made(aig, Kind(kinds[len(nets)]), rows, table))
    return nets


def _made(aig: Aig, kind: Kind, rows: Sequence[Literal], table: Sequence[int]) -> Net:
    """Return what a gate makes, given which row of its table holds."""
    entries = list(zip(rows, table, strict=False))
    plus = aig.any(row for row, made in entries if made == 1)
    if kind is Kind.BIT:
        return (plus ^ 1, plus)
    if kind is Kind.TRIT:
        return (aig.any(row for row, made in entries if made == -1), plus)
    return [
        aig.any(row for row, made in entries if made >> place & 1) for place in range(SCORE_BITS)
    ]


def row_cases(aig: Aig, netlist: Netlist, nets: Sequence[Net], gate: int) -> list[list[Literal]]:
    """Return, for each input of a gate, whether it has each of its values, lowest first."""
    sources = netlist.sources[gate].tolist()
    read = [(nets[net], netlist.kinds[net]) for net in sources if net != NO_NET]
    return [list(net) if kind == Kind.BIT else cases(aig, net) for net, kind in read]


def cases(aig: Aig, trit: Net) -> list[Literal]:
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


def value(aig: Aig, net: Net) -> Number:
    """Return a net as a number."""
    if len(net) == SCORE_BITS:
        return net
    minus, plus = net
    return [aig.either(minus, plus), minus]


def score(aig: Aig, nets: Sequence[Net], width: int) -> list[Literal]:
    """Return the sum of some nets, one after the other."""
    total: list[Literal] = [FALSE] * width
    for net in nets:
        total = signed_sum(aig, total, value(aig, net), width)
    return total


def num_unknown(aig: Aig, nets: Sequence[Net], width: int) -> list[Literal]:
    """Return how many of some nets are UNKNOWN."""
    total: list[Literal] = [FALSE] * width
    for net in nets:
        is_zero = aig.any(value(aig, net)) ^ 1
        total = signed_sum(aig, total, [is_zero, FALSE], width)
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
