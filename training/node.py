"""What the gates of a network read and make: two trits and a trit, or as much as a LUT holds."""

import math
import re
from dataclasses import dataclass
from functools import cached_property

from trilut.circuit.kinds import MAX_WIRES, Kind
from trilut.training.errors import TrainingError

__all__ = ["PAIR", "TWO_TRITS", "Node", "node_named"]

PAIR = "2t"
"""The name of the node that all recipes and wirings know."""


@dataclass(frozen=True)
class Node:
    """The inputs and the output of a network's gates; a key to compiled code.

    A table has a row for each combination of the inputs' values, the last input changing fastest.

    Parameters
    ----------
    radices : tuple of int
        How many values each input has, slot by slot: 3 for a trit, 2 for a bit.
    levels : int
        How many values the output has.
    largest : int
        The largest of them, which lie at equal distances around 0: 1, but for scores.
    """

    radices: tuple[int, ...] = (3, 3)
    levels: int = 3
    largest: int = 1

    @property
    def num_rows(self) -> int:
        """Number of rows of a table."""
        return math.prod(self.radices)

    @property
    def strides(self) -> tuple[int, ...]:
        """How many rows further the next value of each input is."""
        return tuple(math.prod(self.radices[slot + 1 :]) for slot in range(len(self.radices)))

    @cached_property
    def parts(self) -> tuple[tuple[int, int], ...]:
        """The kinds of inputs in the order of their slots, each with how many there are."""
        kinds = dict.fromkeys(self.radices)
        return tuple((kind, self.radices.count(kind)) for kind in kinds)

    @property
    def is_scored(self) -> bool:
        """Whether it gives its class a score."""
        return self.largest > 1


TWO_TRITS = Node()
"""What gates are by default: two trits to one."""


def node_named(name: str, output: str | None = None, *, valence: int = 3) -> Node:
    """Return the node that reads what a name such as ``2t`` or ``2t2b`` says.

    Parameters
    ----------
    name : str
        The numbers of trits and bits.
    output : str, optional
        ``bit``, ``trit``, or ``score`` with the largest score; by default a trit if all inputs are,
        else a bit.
    valence : int
        How many values the nets of a network of pairs have.

    Raises
    ------
    TrainingError
        If there is no such node, or it reads more than six wires.
    """
    if name == PAIR and output is None:
        return Node((valence, valence), valence)
    match = re.fullmatch(r"(?:([1-9])t)?(?:([1-9])b)?", name)
    if match is None or not name:
        raise TrainingError(
            f"Setting 'node' is {name!r}, expected numbers of trits and bits like '2t', '6b' "
            "or '2t2b'"
        )
    trits, bits = (int(number or 0) for number in match.groups())
    if trits + bits < 2 or 2 * trits + bits > MAX_WIRES:
        raise TrainingError(
            f"Setting 'node' is {name!r}, which reads {trits + bits} values on {2 * trits + bits} "
            f"wires, expected at least 2 values on at most {MAX_WIRES} wires (a trit takes two)"
        )
    radices = (int(Kind.TRIT),) * trits + (int(Kind.BIT),) * bits
    if output is None:
        output = "bit" if bits else "trit"
    if output.startswith("score"):
        largest = int(output.removeprefix("score"))
        return Node(radices, 2 * largest + 1, largest)
    return Node(radices, Kind.BIT if output == "bit" else Kind.TRIT)
