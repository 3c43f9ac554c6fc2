"""The paper's experiments: every table and figure from fresh trainings."""

from trilut.paper.runner import EXPERIMENTS, SCALES, PaperResult, run_paper

__all__ = ["EXPERIMENTS", "SCALES", "PaperResult", "run_paper"]
