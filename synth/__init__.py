"""Synthesis: from Verilog to area and timing on a part."""

from trilut.synth.cache import Cache
from trilut.synth.parallel import in_parallel
from trilut.synth.result import (
    Asic,
    Cells,
    Energy,
    Hop,
    SynthesisResult,
    Timing,
    Utilization,
)
from trilut.synth.runner import SynthesisError, synthesize
from trilut.synth.target import Target, load_target, target_names

__all__ = [
    "Asic",
    "Cache",
    "Cells",
    "Energy",
    "Hop",
    "SynthesisError",
    "SynthesisResult",
    "Target",
    "Timing",
    "Utilization",
    "in_parallel",
    "load_target",
    "synthesize",
    "target_names",
]
