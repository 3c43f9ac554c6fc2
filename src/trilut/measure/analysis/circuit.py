"""What can be said of the gates of a circuit, and of one gate."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from trilut.circuit.gates import gate_id, gate_table
from trilut.circuit.netlist import Netlist
from trilut.measure.analysis.census import Census, initial_gates, random_gates, take_census
from trilut.measure.analysis.classes import (
    GATE_CLASSES,
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

__all__ = ["CircuitAnalysis", "analyze", "gate_properties"]


@dataclass(frozen=True, slots=True)
class CircuitAnalysis:
    """The gates of a circuit, and as many that nobody trained.

    What the controls show too says nothing of the training.

    Parameters
    ----------
    census : Census
        The circuit's gates.
    control : Census
        As many gates drawn at random, all equally likely.
    untrained : Census
        As many gates as the paper's training starts from, hardened at once.
    layers : list of mapping
        Share of the Fourier energy by degree on each level.
    """

    census: Census
    control: Census
    untrained: Census
    layers: list[dict[str, float]]


def analyze(netlist: Netlist, *, seed: int = 0) -> CircuitAnalysis | None:
    """Analyse two-input gates; None if there are none, or others. The seed draws the controls."""
    if netlist.num_gates == 0 or not netlist.is_two_input:
        return None
    count, valence = netlist.num_gates, netlist.valence
    return CircuitAnalysis(
        take_census(gate_id(netlist.table, valence), valence=valence),
        take_census(random_gates(count, valence=valence, seed=seed), valence=valence),
        take_census(initial_gates(count, valence=valence, seed=seed), valence=valence),
        layer_profile(netlist),
    )


def gate_properties(gate: int) -> dict[str, Any]:
    """Return what the analysis says of one ternary gate."""
    table = gate_table(gate)
    return {
        "spectral_class": spectral_class()[gate].value,
        "energy": dict(zip(BANDS, np.round(band_energy(table), 6).tolist(), strict=True)),
        "term_energy": np.round(term_energy(table), 6).tolist(),
        "complexity": round(float(complexity(table)), 6),
        "classes": [name for name, has in GATE_CLASSES.items() if has()[gate]],
        "threshold_weights": threshold_weights().get(gate),
        "nearest_names": nearest_names(gate),
        "entries_to_nearest_name": int(named_distance()[gate]),
    }
