"""The analysis of a whole circuit, and of one gate, as facts and as rows of text."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from trilut.analysis.census import Census, random_gates, take_census
from trilut.analysis.classes import (
    GATE_CLASSES,
    named_distance,
    nearest_names,
    spectral_class,
    threshold_weights,
)
from trilut.analysis.fourier import BANDS, band_energy, complexity, layer_profile
from trilut.gates import gate_id, gate_table
from trilut.netlist import Netlist
from trilut.summary import percent

__all__ = ["CircuitAnalysis", "analyze", "census_rows", "gate_properties"]


@dataclass(frozen=True, slots=True)
class CircuitAnalysis:
    """The gates of a circuit, and as many random ones.

    Parameters
    ----------
    census : Census
        The circuit's gates.
    control : Census
        As many gates drawn at random, all equally likely: what it shows too says nothing of the
        training.
    layers : list of mapping
        Share of the Fourier energy by degree on each level.
    """

    census: Census
    control: Census
    layers: list[dict[str, float]]


def analyze(netlist: Netlist, *, seed: int = 0) -> CircuitAnalysis | None:
    """Analyse the gates of a circuit; None if it has none. The seed draws the control."""
    if netlist.num_gates == 0:
        return None
    gates = gate_id(netlist.table, netlist.valence)
    control = random_gates(netlist.num_gates, valence=netlist.valence, seed=seed)
    return CircuitAnalysis(
        take_census(gates, valence=netlist.valence),
        take_census(control, valence=netlist.valence),
        layer_profile(netlist),
    )


def census_rows(analysis: CircuitAnalysis) -> dict[str, str]:
    """Describe the gates of a circuit, each figure beside that of random gates."""
    ours, control = analysis.census, analysis.control

    def beside(here: str, there: str) -> str:
        return f"{here} (random gates: {there})"

    rows = {
        "different gates": beside(str(ours.unique), str(control.unique)),
        "effective diversity": beside(f"{ours.effective:.1f}", f"{control.effective:.1f}"),
        "Gini": beside(f"{ours.gini:.3f}", f"{control.gini:.3f}"),
        "redundancy": beside(percent(ours.redundancy), percent(control.redundancy)),
        "most copies": beside(str(ours.max_copies), str(control.max_copies)),
        "singletons": beside(str(ours.singletons), str(control.singletons)),
    }
    for band, share in ours.bands.items():
        rows[f"energy, {band}"] = beside(percent(share), percent(control.bands[band]))
    random = {**control.spectral, **control.classes}
    for name, share in {**ours.spectral, **ours.classes}.items():
        rows[f"gates, {name}"] = beside(percent(share), percent(random[name]))
    if ours.named is not None and control.named is not None:
        rows["named gates"] = beside(percent(ours.named), percent(control.named))
        rows["entries to a named gate"] = beside(
            f"{ours.named_distance:.2f}", f"{control.named_distance:.2f}"
        )
    return rows


def gate_properties(gate: int) -> dict[str, Any]:
    """Return what the analysis says of one ternary gate."""
    table = gate_table(gate)
    energy = band_energy(table)
    return {
        "spectral_class": spectral_class()[gate].value,
        "energy": dict(zip(BANDS, np.round(energy, 6).tolist(), strict=True)),
        "complexity": round(float(complexity(table)), 6),
        "classes": [name for name, has in GATE_CLASSES.items() if has()[gate]],
        "threshold_weights": threshold_weights().get(gate),
        "nearest_names": nearest_names(gate),
        "entries_to_nearest_name": int(named_distance()[gate]),
    }
