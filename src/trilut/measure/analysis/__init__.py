"""Analysis: what the gates of a circuit are, beside gates that nobody trained."""

from trilut.measure.analysis.census import Census, initial_gates, random_gates, take_census
from trilut.measure.analysis.circuit import CircuitAnalysis, analyze, gate_properties
from trilut.measure.analysis.classes import (
    GATE_CLASSES,
    SpectralClass,
    can_be_unknown,
    is_information_monotone,
    is_monotone,
    is_threshold,
    named_distance,
    nearest_names,
    spectral_class,
    threshold_weights,
)
from trilut.measure.analysis.fourier import (
    BANDS,
    band_energy,
    complexity,
    layer_profile,
    term_energy,
)
from trilut.measure.analysis.landscape import Landscape, Metric, gate_landscape

__all__ = [
    "BANDS",
    "GATE_CLASSES",
    "Census",
    "CircuitAnalysis",
    "Landscape",
    "Metric",
    "SpectralClass",
    "analyze",
    "band_energy",
    "can_be_unknown",
    "complexity",
    "gate_landscape",
    "gate_properties",
    "initial_gates",
    "is_information_monotone",
    "is_monotone",
    "is_threshold",
    "layer_profile",
    "named_distance",
    "nearest_names",
    "random_gates",
    "spectral_class",
    "take_census",
    "term_energy",
    "threshold_weights",
]
