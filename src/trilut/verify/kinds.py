"""The kinds of mistakes that a campaign of mutants tries."""

from enum import StrEnum

__all__ = ["DESIGN_KINDS", "MutationKind"]


class MutationKind(StrEnum):
    """What is wrong in a mutant."""

    TABLE = "table"
    """One entry of the table of one gate."""
    WIRES = "wires"
    """Two wires of a vector are swapped."""
    PLANE = "plane"
    """One of the two wires of a trit is inverted."""
    ADDER = "adder"
    """The highest bit of a sum is lost."""
    THRESHOLD = "threshold"
    """A threshold of the encoder is one too high or too low."""
    TIE = "tie"
    """On a tie the other class wins."""
    ABSTAIN = "abstain"
    """The margin is compared with another one, or the result of that is another."""
    REGISTER = "register"
    """A register is missing, or there twice."""
    RESET = "reset"
    """A register is not reset, is reset when it should not, or to another value."""
    CLOCK = "clock"
    """A clock is inverted, gated or constant."""
    ENABLE = "enable"
    """An enable is constant, inverted, or another signal."""
    HANDSHAKE = "handshake"
    """A vector or a result is lost, doubled, or does not hold."""
    DRIVER = "driver"
    """A wire has a second driver."""


DESIGN_KINDS = tuple(kind for kind in MutationKind if kind is not MutationKind.TABLE)
"""The kinds that concern the whole design, not its tables."""
