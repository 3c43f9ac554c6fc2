"""Synthesis: from Verilog to area and timing on a part."""

from trilut.synth.pipeline import PipelineChoice, choose_pipeline
from trilut.synth.result import Cells, Hop, SynthesisResult, Timing, Utilization
from trilut.synth.runner import synthesize
from trilut.synth.target import Target, load_target, target_names

__all__ = [
    "Cells",
    "Hop",
    "PipelineChoice",
    "SynthesisResult",
    "Target",
    "Timing",
    "Utilization",
    "choose_pipeline",
    "load_target",
    "synthesize",
    "target_names",
]
