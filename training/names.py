"""The words that settings and recipes share."""

from typing import Literal, TypeAlias

__all__ = [
    "NodeOutput",
    "NoiseKind",
    "Objective",
    "OutOfRange",
    "Parametrisation",
    "Scale",
    "Spacing",
    "Start",
    "Vocabulary",
]

Objective: TypeAlias = Literal["cross-entropy", "squared-error"]
"""How the error of the class scores is measured."""

Parametrisation: TypeAlias = Literal["monomial", "lagrange", "fourier"]
"""What the numbers of a gate are: coefficients of monomials or of Fourier terms, or its table."""

Start: TypeAlias = Literal["normal", "pass-through", "trees"]
"""Whether gates start as normal polynomials, near to passing on their first input (or a mix of
them, if there are more than two), or as boosted trees."""

NodeOutput: TypeAlias = Literal["bit", "trit", "score3", "score7"]
"""What a gate makes: a truth value, or an integer of up to 3 or 7."""

NoiseKind: TypeAlias = Literal["normal", "gumbel"]
"""Whether noise is added to the entries of a table, or they are drawn among the truth values."""

OutOfRange: TypeAlias = Literal["clamp", "unknown"]
"""What a value outside of all training samples becomes: the nearest integer of its feature, or a
missing feature."""

Scale: TypeAlias = Literal["any", "power-of-two"]

Spacing: TypeAlias = Literal["uniform", "quantile", "balanced"]
"""What thresholds cut into equal parts: the range of a feature, its samples, or these with no value
counted for more than one part."""

Vocabulary: TypeAlias = Literal["free", "kleene"]
"""All gates, or those that keep a decision whatever an UNKNOWN input turns out to be."""
