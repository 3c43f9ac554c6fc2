"""Synthesis: from Verilog to area and timing on a part."""

from typing import TYPE_CHECKING

from trilut.lazy import lazy_names
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
from trilut.synth.runner import SynthesisError, SynthesisSettings, synthesize
from trilut.synth.target import Target, load_target, target_names

if TYPE_CHECKING:
    from trilut.synth.design import Synthesis, synthesize_design
    from trilut.synth.pipeline import PipelineChoice, choose_pipeline

__all__ = [
    "Asic",
    "Cache",
    "Cells",
    "Energy",
    "Hop",
    "PipelineChoice",
    "Synthesis",
    "SynthesisError",
    "SynthesisResult",
    "SynthesisSettings",
    "Target",
    "Timing",
    "Utilization",
    "choose_pipeline",
    "in_parallel",
    "load_target",
    "synthesize",
    "synthesize_design",
    "target_names",
]

# What makes designs needs Amaranth; to list targets or to synthesise a file does not.
if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "PipelineChoice": "trilut.synth.pipeline",
            "Synthesis": "trilut.synth.design",
            "choose_pipeline": "trilut.synth.pipeline",
            "synthesize_design": "trilut.synth.design",
        },
    )
