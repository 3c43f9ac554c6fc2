"""Simulation: of netlists in software, and of their Verilog against them."""

from trilut.circuit.interface import Steps, Vectors
from trilut.sim.bench.job import ViolationKind
from trilut.sim.bench.portable import write_testbench
from trilut.sim.bench.regression import Mismatch, RegressionResult, Violation, verify_rtl
from trilut.sim.bench.rtl import RtlModel, build_rtl
from trilut.sim.bench.simulator import SIMULATORS, Icarus, Simulator, Verilator, find_simulator
from trilut.sim.bench.stimulus import step_stimulus, stimulus
from trilut.sim.engines.dispatch import DEFAULT_ENGINE, ENGINES, classify, evaluate, predict, scores
from trilut.sim.engines.fast import kernel_name
from trilut.sim.equivalence import Comparison, Counterexample, all_inputs, compare, counterexample
from trilut.sim.faults import (
    FaultEffect,
    FaultModel,
    FaultSurvey,
    NetFault,
    all_faults,
    fault_effects,
    fault_survey,
    inject,
)
from trilut.sim.machines import MachineComparison, compare_circuits, compare_machines
from trilut.sim.probe import Activity, activity, net_values
from trilut.sim.tracing import Role, Step, Trace, trace, trace_output
from trilut.sim.vcd import write_vcd

__all__ = [
    "DEFAULT_ENGINE",
    "ENGINES",
    "SIMULATORS",
    "Activity",
    "Comparison",
    "Counterexample",
    "FaultEffect",
    "FaultModel",
    "FaultSurvey",
    "Icarus",
    "MachineComparison",
    "Mismatch",
    "NetFault",
    "RegressionResult",
    "Role",
    "RtlModel",
    "Simulator",
    "Step",
    "Steps",
    "Trace",
    "Vectors",
    "Verilator",
    "Violation",
    "ViolationKind",
    "activity",
    "all_faults",
    "all_inputs",
    "build_rtl",
    "classify",
    "compare",
    "compare_circuits",
    "compare_machines",
    "counterexample",
    "evaluate",
    "fault_effects",
    "fault_survey",
    "find_simulator",
    "inject",
    "kernel_name",
    "net_values",
    "predict",
    "scores",
    "step_stimulus",
    "stimulus",
    "trace",
    "trace_output",
    "verify_rtl",
    "write_testbench",
    "write_vcd",
]
