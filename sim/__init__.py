"""Simulation: of netlists in software, and of their Verilog against them."""

from trilut.sim.engine import DEFAULT_ENGINE, ENGINES, classify, evaluate
from trilut.sim.job import FaultKind
from trilut.sim.regression import Fault, Mismatch, RegressionResult, verify_rtl
from trilut.sim.simulator import SIMULATORS, Icarus, Simulator, Verilator, find_simulator
from trilut.sim.stimulus import Vectors, stimulus

__all__ = [
    "DEFAULT_ENGINE",
    "ENGINES",
    "SIMULATORS",
    "Fault",
    "FaultKind",
    "Icarus",
    "Mismatch",
    "RegressionResult",
    "Simulator",
    "Vectors",
    "Verilator",
    "classify",
    "evaluate",
    "find_simulator",
    "stimulus",
    "verify_rtl",
]
