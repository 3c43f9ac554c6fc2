"""Verification: what was built computes what the netlist says, by simulation and by proof."""

from trilut.verify.levels import Level, LevelResult, Outcome, Verification, prove, verify

__all__ = ["Level", "LevelResult", "Outcome", "Verification", "prove", "verify"]
