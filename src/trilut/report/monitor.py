"""What a monitor is, as facts and as rows."""

from typing import Any

from trilut.circuit.reach import level_gates
from trilut.temporal import Monitor

__all__ = ["monitor_facts", "monitor_rows"]


def monitor_facts(monitor: Monitor) -> dict[str, Any]:
    """Return what there is to know about a monitor, for JSON."""
    netlist = monitor.netlist
    return {
        "formula": str(monitor.formula),
        "mode": monitor.mode.value,
        "horizon": monitor.horizon,
        "inputs": netlist.num_inputs,
        "gates": netlist.core.num_gates,
        "levels": len(level_gates(netlist.core)),
        "states": netlist.num_states,
        "flip_flops": netlist.num_flip_flops,
    }


def monitor_rows(facts: dict[str, Any]) -> dict[str, str]:
    """Return the same for people."""
    is_early = facts["mode"] == "early"
    verdict = (
        "at each step, what is known about step 0"
        if is_early
        else f"at each step, about the step {facts['horizon']} before"
    )
    return {
        "formula": facts["formula"],
        "verdict": verdict,
        "horizon": f"{facts['horizon']} steps",
        "inputs": f"{facts['inputs']} comparisons",
        "gates": f"{facts['gates']} in {facts['levels']} levels",
        "states": f"{facts['states']} trits, {facts['flip_flops']} flip-flops",
    }
