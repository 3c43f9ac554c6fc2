"""Synthesis: from Verilog to area and timing on a part."""

from trilut.synth.result import Cells, Hop, SynthesisResult, Timing, Utilization
from trilut.synth.runner import synthesize
from trilut.synth.target import Target, load_target, target_names

__all__ = [
    "Cells",
    "Hop",
    "SynthesisResult",
    "Target",
    "Timing",
    "Utilization",
    "load_target",
    "synthesize",
    "target_names",
]
