"""The paper's experiments on CIFAR-10: which gates the networks are made of."""

import dataclasses
from typing import Any

import numpy as np

from trilut.circuit.gates import gate_id
from trilut.measure.analysis import (
    Census,
    gate_landscape,
    initial_gates,
    layer_profile,
    take_census,
)
from trilut.paper import drawings
from trilut.paper.cifar import (
    NETWORKS,
    all_runs,
    describe,
    may_be_shrunk,
    network_layers,
    network_run,
    ternary_runs,
)
from trilut.paper.experiment import (
    Claim,
    Experiment,
    PaperTable,
    Results,
    Scale,
    Section,
    number,
    share,
)
from trilut.paper.published import published
from trilut.paper.runs import Run, RunResult

__all__ = ["DIVERSITY"]


def _census(result: RunResult) -> Census:
    netlist = result.netlist
    return take_census(gate_id(netlist.table, netlist.valence), valence=netlist.valence)


def _diversity(results: Results, scale: Scale) -> Section:
    rows = []
    ratios = []
    for network in NETWORKS:
        theirs = published("diversity").get(network)
        if theirs is not None:
            rows.append(
                [
                    f"{network}, paper, PST",
                    *(f"{theirs[key]:,.0f}" for key in ("unique", "effective")),
                    f"{theirs['gini']:.3f}",
                    f"{theirs['redundancy']:.1f}",
                    *(f"{theirs[key]:,.0f}" for key in ("max_copies", "singletons")),
                ]
            )
        control = take_census(initial_gates(sum(network_layers(network, scale))))
        paper = _census(results[network_run(scale, network, "paper").key])
        ratios.append(paper.effective / control.effective)
        for name, census in {
            "PST": paper,
            "untrained": control,
            "hard": _census(results[network_run(scale, network, "hard").key]),
            "DLGN": _census(results[network_run(scale, network, "dlgn").key]),
        }.items():
            rows.append([f"{network}, {name}", *_census_cells(census)])
    return Section(
        describe(scale)
        + " The control is the paper's initialisation hardened without any training, "
        "as many gates.",
        [
            PaperTable(
                [
                    "circuit",
                    "unique",
                    "effective",
                    "Gini",
                    "redundancy %",
                    "max copies",
                    "singletons",
                ],
                rows,
            )
        ],
        claims=[
            Claim(
                "Trained PST circuits are more diverse than untrained gates",
                min(ratios) > 1,
                f"effective diversity {min(ratios):.2f} … {max(ratios):.2f} times the untrained",
            )
        ],
    )


def _census_cells(census: Census) -> list[str]:
    return [
        f"{census.unique:,}",
        f"{census.effective:,.0f}",
        f"{census.gini:.3f}",
        share(census.redundancy),
        f"{census.max_copies:,}",
        f"{census.singletons:,}",
    ]


def _fourier(results: Results, scale: Scale) -> Section:
    rows, profiles = [], {}
    ternary = []
    for network in NETWORKS:
        theirs = published("fourier").get(network)
        if theirs is not None:
            rows.append([f"{network}, paper, PST", *(number(value) for value in theirs.values())])
        gates = {
            "PST": _ids(results[network_run(scale, network, "paper").key]),
            "untrained": initial_gates(sum(network_layers(network, scale))),
            "hard": _ids(results[network_run(scale, network, "hard").key]),
        }
        for name, ids in gates.items():
            census = take_census(np.unique(ids))
            rows.append(
                [
                    f"{network}, {name}",
                    share(census.classes["can be UNKNOWN"]),
                    *(share(value) for value in census.bands.values()),
                ]
            )
            if name == "PST":
                ternary.append(census.classes["can be UNKNOWN"])
    for recipe in ("paper", "hard"):
        profiles[recipe] = layer_profile(results[network_run(scale, "large", recipe).key].netlist)
    return Section(
        describe(scale)
        + " Share of the Fourier energy of the different gates by degree, each gate "
        "counted once; ternary is the share whose table has an UNKNOWN, which is the reading that "
        "the paper's figures fit. The figure shows all gates, layer by layer, of the network "
        "*large*.",
        [
            PaperTable(
                ["circuit", "ternary %", "constant", "linear", "quadratic", "cubic", "quartic"],
                rows,
            )
        ],
        {"fourier": drawings.profile_figure(profiles)},
        [
            Claim(
                "Over 96 % of the different gates are genuinely ternary",
                min(ternary) > 0.96,
                f"{share(min(ternary))} % … {share(max(ternary))} %; of all gates 97.4 % are",
            )
        ],
    )


def _ids(result: RunResult) -> Any:
    return gate_id(result.netlist.table)


def _landscape_runs(scale: Scale) -> list[Run]:
    return [network_run(scale, network, "paper") for network in ("small", "large")] + [
        network_run(scale, "large", "hard")
    ]


def _landscape(results: Results, scale: Scale) -> Section:
    circuits = {
        "PST small": _ids(results[network_run(scale, "small", "paper").key]),
        "PST large": _ids(results[network_run(scale, "large", "paper").key]),
        "untrained": initial_gates(sum(network_layers("large", scale))),
        "hard large": _ids(results[network_run(scale, "large", "hard").key]),
    }
    maps = {
        metric: {name: gate_landscape(gates, metric) for name, gates in circuits.items()}
        for metric in ("hamming", "fourier")
    }
    named = {name: take_census(gates).named_distance or 0.0 for name, gates in circuits.items()}
    return Section(
        describe(scale)
        + " Every point is a different gate, larger and brighter the more copies it "
        "has; red diamonds are the 18 named gates. Classical scaling with landmarks; *fit* is the "
        "correlation of distances on the map with the true ones.",
        figures={"landscape": drawings.landscape_figure(maps)},
        claims=[
            Claim(
                "Training draws PST's gates towards the named ones",
                named["PST large"] < 0.9 * named["untrained"],
                ", ".join(f"{name} {value:.2f}" for name, value in named.items())
                + " entries from the nearest named gate on average",
            )
        ],
    )


_EXPERIMENTS = (
    Experiment(
        "diversity",
        "Gate diversity",
        all_runs,
        _diversity,
        "table *Gate diversity and functional redundancy*",
    ),
    Experiment(
        "fourier", "Fourier spectrum", ternary_runs, _fourier, "table *Fourier spectral profile*"
    ),
    Experiment(
        "landscape", "Gate landscape", _landscape_runs, _landscape, "figure *Gate landscape*"
    ),
)

DIVERSITY = tuple(dataclasses.replace(one, build=may_be_shrunk(one.build)) for one in _EXPERIMENTS)
"""The experiments, in the order of the page."""
