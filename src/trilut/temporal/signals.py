"""Features of a formula, and the encoder of its atoms."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trilut.circuit.encoder import Encoder, Feature
from trilut.circuit.limits import MAX_BITS
from trilut.errors import FormulaError
from trilut.temporal.formula import Atom, Comparison, Formula, atoms

__all__ = ["Atoms", "SampledFeature", "encode_atoms", "parse_features"]


@dataclass(frozen=True, slots=True)
class SampledFeature:
    """A signal as it is sampled.

    Parameters
    ----------
    name : str
        Its name in formulas.
    bits : int
        Width of its integers.
    lowest, highest : float
        The values of the smallest and of the largest integer.
    """

    name: str
    bits: int = 1
    lowest: float = 0.0
    highest: float = 1.0

    def feature(self) -> Feature:
        """Return the feature of a circuit."""
        scale = ((1 << self.bits) - 1) / (self.highest - self.lowest)
        # Values between two integers belong to the nearer one.
        return Feature(self.name, self.bits, scale=scale, offset=0.5 - self.lowest * scale)


def parse_features(text: str) -> tuple[SampledFeature, ...]:
    """Read features written as ``x:8,p,speed:10:0..250``: name, bits, lowest and highest value.

    Raises
    ------
    FormulaError
        If one is written otherwise, or two have one name.
    """
    features = tuple(_parse_feature(part.strip()) for part in text.split(","))
    names = [feature.name for feature in features]
    for name in names:
        if names.count(name) > 1:
            raise FormulaError(f"There are two features {name!r}, expected different names")
    return features


def _parse_feature(text: str) -> SampledFeature:
    found = re.fullmatch(r"([^:]+?)(?::(\d{1,3}))?(?::(.+?)\.\.(.+))?", text)
    expected = "expected NAME, NAME:BITS or NAME:BITS:LOWEST..HIGHEST"
    if not found:
        raise FormulaError(f"{text!r} is no feature, {expected}")
    bits = int(found[2] or 1)
    if not 1 <= bits <= MAX_BITS:
        raise FormulaError(f"Feature {found[1]!r} has {bits} bits, expected 1…{MAX_BITS}")
    try:
        lowest, highest = float(found[3] or 0), float(found[4] or 1)
    except ValueError:
        raise FormulaError(f"{text!r} is no feature, {expected}") from None
    if not (math.isfinite(lowest) and math.isfinite(highest) and lowest < highest):
        raise FormulaError(
            f"Feature {found[1]!r} has the values {lowest:g}…{highest:g}, "
            "expected finite numbers, the first below the second"
        )
    return SampledFeature(found[1], bits, lowest, highest)


@dataclass(frozen=True, slots=True, eq=False)
class Atoms:
    """The atoms of a formula as inputs of a circuit.

    Parameters
    ----------
    encoder : Encoder
        Makes the inputs from features; each says whether a feature is at least some integer.
    inputs : mapping
        Of each atom, its input, and whether it is its negation.
    """

    encoder: Encoder
    inputs: Mapping[Atom, tuple[int, bool]]

    def trace(self, samples: ArrayLike) -> dict[Atom, NDArray[np.int8]]:
        """Return the truth value of each atom at each step of samples [step, feature]."""
        trits = self.encoder.encode(samples)
        return {
            atom: -trits[:, place] if is_negated else trits[:, place]
            for atom, (place, is_negated) in self.inputs.items()
        }


def encode_atoms(formula: Formula, features: Sequence[SampledFeature]) -> Atoms:
    """Return the atoms of a formula over features.

    An atom compares the value that the integer of a sample stands for.

    Raises
    ------
    FormulaError
        If an atom names no feature, or the formula has no atom.
    """
    known = {feature.name: index for index, feature in enumerate(features)}
    asked: dict[Atom, tuple[int, int]] = {}
    for atom in atoms(formula):
        if atom.feature not in known:
            raise FormulaError(
                f"The formula asks for {atom.feature!r}, expected one of the features "
                f"{', '.join(map(repr, known))}"
            )
        place = known[atom.feature]
        asked[atom] = place, _threshold(atom, features[place])
    if not asked:
        raise FormulaError("The formula has no feature, so there is nothing to watch")
    questions = list(dict.fromkeys(asked.values()))
    place, threshold = np.array(questions).T
    encoder = Encoder(tuple(each.feature() for each in features), place, threshold, threshold)
    return Atoms(
        encoder, {atom: (questions.index(each), _is_negated(atom)) for atom, each in asked.items()}
    )


def _is_negated(atom: Atom) -> bool:
    return atom.comparison in (Comparison.BELOW, Comparison.AT_MOST)


def _threshold(atom: Atom, feature: SampledFeature) -> int:
    """Return the smallest integer for which the atom, or its negation, holds."""
    # The decimal numbers as they are written: 0.1 is a tenth.
    limit, lowest, highest = (
        Fraction(repr(value)) for value in (atom.limit, feature.lowest, feature.highest)
    )
    exact = (limit - lowest) * ((1 << feature.bits) - 1) / (highest - lowest)
    is_strict = atom.comparison in (Comparison.ABOVE, Comparison.AT_MOST)
    integer = math.floor(exact) + 1 if is_strict else math.ceil(exact)
    return max(0, min(integer, 1 << feature.bits))
