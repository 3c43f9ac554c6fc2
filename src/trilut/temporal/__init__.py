"""Temporal logic: formulas, what they mean, and the circuits that watch them."""

from trilut.temporal.compiler import Mode, Monitor, compile_formula
from trilut.temporal.formula import Formula, horizon
from trilut.temporal.meaning import verdicts
from trilut.temporal.parser import parse
from trilut.temporal.signals import SampledFeature, parse_features

__all__ = [
    "Formula",
    "Mode",
    "Monitor",
    "SampledFeature",
    "compile_formula",
    "horizon",
    "parse",
    "parse_features",
    "verdicts",
]
