"""Claims: what a proof sets out to show of a design, and what came of it."""

from dataclasses import dataclass
from enum import StrEnum

from trilut.verify.proof.witness import Witness

__all__ = ["Claim", "Finding"]


class Finding(StrEnum):
    """What came of a claim."""

    PROVEN = "proven"
    """It holds, for every input and every order of events."""
    REFUTED = "refuted"
    """It does not hold."""
    OPEN = "open"
    """Nothing is known to be wrong, but it could not be shown."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One part of a proof.

    Parameters
    ----------
    name : str
        What it is about.
    outcome : Finding
        What came of it.
    text : str
        What was proven, with how much of it; or what is wrong, or could not be shown.
    counterexample : Witness, optional
        An input for which the design is wrong, if one was found.
    """

    name: str
    outcome: Finding
    text: str
    counterexample: Witness | None = None
