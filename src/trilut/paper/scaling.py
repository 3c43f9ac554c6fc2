"""The paper's experiments on CIFAR-10: six networks, binary and ternary."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from trilut.analysis import Census, gate_landscape, initial_gates, layer_profile, take_census
from trilut.gates import gate_id
from trilut.paper import drawings
from trilut.paper.experiment import (
    Claim,
    Experiment,
    Results,
    Scale,
    Section,
    Table,
    number,
    share,
)
from trilut.paper.published import published
from trilut.paper.runs import Run, RunResult

__all__ = ["SCALING"]

_NETWORKS = ("small", "deeper", "medium", "large", "vlarge", "huge")
# Those that the paper shows class by class and margin by margin.
_COMPARED = ("small", "large", "vlarge", "huge")
_WIRING_SEED = 42

_RECIPES: Mapping[str, Mapping[str, Any]] = {
    "paper": {"delta": 1.0, "schedule": "constant"},
    "dlgn": {"delta": 0.0, "schedule": "constant", "learning_rate": 0.01},
    "dlgn-naive": {"delta": 0.0, "schedule": "constant", "learning_rate": 0.01},
    "hard": {"delta": 0.25, "schedule": "cosine", "learning_rate": 0.02},
}


def _layers(network: str, scale: Scale) -> tuple[int, ...]:
    config = published("configs")[network]
    # Divisible by the ten classes.
    width = int(config["width"]) // scale.shrink // 10 * 10
    return (width,) * int(config["layers"])


def _run(scale: Scale, network: str, recipe: str, *, steps: int | None = None) -> Run:
    config = published("configs")[network]
    steps = steps or scale.image_steps or int(config["steps"])
    settings: dict[str, Any] = {
        "recipe": recipe,
        "layers": _layers(network, scale),
        "learning_rate": config["learning_rate"],
        "thresholds": 3,
        "steps": steps,
        "evaluate_every": max(1, steps // 20),
        "keep": "last",
        "seed": _WIRING_SEED,
        **_RECIPES[recipe],
    }
    if scale.shrink == 1 and recipe != "hard":
        settings["tau"] = 33.3
    return Run("cifar10", settings, images=scale.images)


def _all_runs(scale: Scale) -> list[Run]:
    return [
        _run(scale, network, recipe)
        for network in _NETWORKS
        for recipe in ("dlgn", "paper", "hard")
    ]


def _compared_runs(scale: Scale) -> list[Run]:
    return [
        _run(scale, network, recipe)
        for network in _COMPARED
        for recipe in ("dlgn", "paper", "hard")
    ]


def _naive_runs(scale: Scale) -> list[Run]:
    # For its time only: it computes the same as the other form.
    return [_run(scale, network, "dlgn-naive", steps=60) for network in _NETWORKS]


def _speed_runs(scale: Scale) -> list[Run]:
    return [*_all_runs(scale), *_naive_runs(scale)]


def _ternary_runs(scale: Scale) -> list[Run]:
    return [_run(scale, network, recipe) for network in _NETWORKS for recipe in ("paper", "hard")]


def _how(scale: Scale) -> str:
    images = (
        "all images"
        if scale.images is None
        else "{:,} training and {:,} test images".format(*scale.images)
    )
    shrunk = (
        ""
        if scale.shrink == 1
        else f" **Layers are {scale.shrink} times narrower than the paper's.**"
    )
    steps = (
        "the paper's steps"
        if scale.image_steps is None
        else f"{scale.image_steps:,} steps of 100 images (the paper: 100,000 to 200,000)"
    )
    return f"CIFAR-10, {images}, {steps}, 3 thresholds a channel, seed {_WIRING_SEED}.{shrunk}"


def _gates(scale: Scale, network: str) -> str:
    return f"{sum(_layers(network, scale)):,}"


def _configs(results: Results, scale: Scale) -> Section:
    rows = [
        [
            network,
            f"{config['layers']:.0f} × {config['width']:,.0f}",
            f"{len(_layers(network, scale))} × {_layers(network, scale)[0]:,}",
            f"{config['learning_rate']:g}",
            f"{config['steps']:,.0f}",
            f"{scale.image_steps or int(config['steps']):,}",
        ]
        for network, config in published("configs").items()
    ]
    return Section(
        "Random wiring of two inputs a gate, the same for all recipes. `hard` has a learning rate "
        "of .02 that falls to zero, DLGN .01.",
        [Table(["network", "paper", "here", "PST rate", "paper's steps", "steps here"], rows)],
    )


def _main(results: Results, scale: Scale) -> Section:
    rows = []
    gaps, hard, binary = {}, {}, {}
    for network in _NETWORKS:
        theirs = published("main")[network]
        got = {r: results[_run(scale, network, r).key] for r in ("dlgn", "paper", "hard")}
        gaps[network] = got["paper"].gap
        hard[network], binary[network] = (got[r].evaluation.accuracy for r in ("hard", "dlgn"))
        rows.append(
            [
                network,
                _gates(scale, network),
                f"{theirs['dlgn_soft']} → {theirs['dlgn_circuit']}",
                _soft_to_hard(got["dlgn"]),
                f"{theirs['soft']} → {theirs['circuit']}",
                _soft_to_hard(got["paper"]),
                _soft_to_hard(got["hard"]),
                f"{theirs['gap']:+.1f}",
                f"{100 * got['paper'].gap:+.1f}",
                f"{100 * got['hard'].gap:+.1f}",
            ]
        )
    ahead = [network for network in _NETWORKS if hard[network] >= binary[network]]
    return Section(
        _how(scale) + " Soft → hardened test accuracy in percent.",
        [
            Table(
                [
                    "network",
                    "gates here",
                    "DLGN, paper",
                    "DLGN",
                    "PST, paper",
                    "PST",
                    "hard",
                    "gap PST, paper",
                    "gap PST",
                    "gap hard",
                ],
                rows,
            )
        ],
        {"main": drawings.scaling_figure(_scaling_curves(results, scale))},
        [
            Claim(
                "The gap of PST is smaller at the largest network than at the middle ones",
                gaps["huge"] < min(gaps["medium"], gaps["large"], gaps["vlarge"]),
                ", ".join(f"{name} {100 * gap:+.1f}" for name, gap in gaps.items()) + " pp",
            ),
            Claim(
                "`hard` closes the gap at every size",
                all(results[_run(scale, n, "hard").key].gap == 0 for n in _NETWORKS),
                "soft and hardened accuracy are equal",
                ours=True,
            ),
            Claim(
                "Ternary `hard` ≥ binary DLGN at equal gates and steps",
                len(ahead) == len(_NETWORKS),
                ", ".join(f"{n} {100 * (hard[n] - binary[n]):+.1f}" for n in _NETWORKS) + " pp",
                ours=True,
            ),
        ],
    )


def _soft_to_hard(result: RunResult) -> str:
    return f"{share(result.soft)} → {share(result.evaluation.accuracy)}"


def _scaling_curves(results: Results, scale: Scale) -> dict[str, tuple[list[int], list[float]]]:
    ordered = sorted(_NETWORKS, key=lambda network: sum(_layers(network, scale)))
    sizes = [sum(_layers(network, scale)) for network in ordered]
    return {
        recipe: (
            sizes,
            [results[_run(scale, n, recipe).key].evaluation.accuracy for n in ordered],
        )
        for recipe in ("dlgn", "paper", "hard")
    }


def _hardening(results: Results, scale: Scale) -> Section:
    rows, errors = [], []
    for network in _NETWORKS:
        theirs = published("hardening")[network]
        paper = results[_run(scale, network, "paper").key]
        hard = results[_run(scale, network, "hard").key]
        errors.append(paper.record["tables"]["error"])
        rows.append(
            [
                network,
                f"{theirs['error']:.3f}",
                f"{errors[-1]:.3f}",
                f"{paper.record['tables']['commitment']:.4f}",
                f"{theirs['unknown']:.1f}",
                share(paper.evaluation.unknown),
                share(hard.evaluation.unknown),
                f"{100 * paper.gap:+.1f}",
            ]
        )
    return Section(
        _how(scale) + " The error is the mean distance of an entry of a soft table from its truth "
        "value; R_A is the mean of its square. Neither bounds the gap of the network.",
        [
            Table(
                [
                    "network",
                    "error, paper",
                    "error PST",
                    "R_A PST",
                    "UNK, paper",
                    "UNK PST",
                    "UNK hard",
                    "gap PST",
                ],
                rows,
            )
        ],
        claims=[
            Claim(
                "The hardening error of PST falls with the size of the network",
                errors[-1] < errors[0],
                f"{errors[0]:.3f} (small) → {errors[-1]:.3f} (huge)",
            )
        ],
    )


def _speed(results: Results, scale: Scale) -> Section:
    rows, folded, naive = [], [], []
    for network in _NETWORKS:
        steps = {
            "naive": _seconds(results, _run(scale, network, "dlgn-naive", steps=60)),
            **{r: _seconds(results, _run(scale, network, r)) for r in ("paper", "hard", "dlgn")},
        }
        naive.append(steps["naive"] / steps["paper"])
        folded.append(steps["dlgn"] / steps["paper"])
        rows.append(
            [
                network,
                _gates(scale, network),
                f"{published('speed')[network]['speedup']:.1f}×",
                f"{naive[-1]:.1f}×",
                f"{folded[-1]:.1f}×",
                *(f"{1e3 * seconds:.1f}" for seconds in steps.values()),
            ]
        )
    return Section(
        _how(scale) + " Processor time a step on this machine's cores, all threads together, "
        "compilation left out; the paper's is wall time on an RTX 4090. A mixture of 16 gates can "
        "be folded into four coefficients before it is evaluated; that is the DLGN of all other "
        "tables. Reading 9,216 inputs takes the same time in every column.",
        [
            Table(
                [
                    "network",
                    "gates here",
                    "DLGN/PST, paper",
                    "naive DLGN/PST",
                    "folded DLGN/PST",
                    "naive DLGN ms",
                    "PST ms",
                    "hard ms",
                    "folded DLGN ms",
                ],
                rows,
            )
        ],
        claims=[
            Claim(
                "PST trains at least 1.5 times as fast as DLGN, evaluated gate by gate",
                bool(np.nanmin(naive) >= 1.5),
                f"{np.nanmin(naive):.1f}× … {np.nanmax(naive):.1f}×",
            ),
            Claim(
                "PST trains faster than DLGN, folded",
                bool(np.nanmin(folded) > 1),
                f"{np.nanmin(folded):.1f}× … {np.nanmax(folded):.1f}×",
            ),
        ],
    )


def _seconds(results: Results, run: Run) -> float:
    """Return the processor time of a step; NaN if the run was resumed too late to tell."""
    seconds = results[run.key].record["cpu_per_step"]
    return math.nan if seconds is None else float(seconds)


def _census(result: RunResult) -> Census:
    netlist = result.netlist
    return take_census(gate_id(netlist.table, netlist.valence), valence=netlist.valence)


def _diversity(results: Results, scale: Scale) -> Section:
    rows = []
    ratios = []
    for network in _NETWORKS:
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
        control = take_census(initial_gates(sum(_layers(network, scale))))
        paper = _census(results[_run(scale, network, "paper").key])
        ratios.append(paper.effective / control.effective)
        for name, census in {
            "PST": paper,
            "untrained": control,
            "hard": _census(results[_run(scale, network, "hard").key]),
            "DLGN": _census(results[_run(scale, network, "dlgn").key]),
        }.items():
            rows.append([f"{network}, {name}", *_census_cells(census)])
    return Section(
        _how(scale) + " The control is the paper's initialisation hardened without any training, "
        "as many gates.",
        [
            Table(
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
    for network in _NETWORKS:
        theirs = published("fourier").get(network)
        if theirs is not None:
            rows.append([f"{network}, paper, PST", *(number(value) for value in theirs.values())])
        gates = {
            "PST": _ids(results[_run(scale, network, "paper").key]),
            "untrained": initial_gates(sum(_layers(network, scale))),
            "hard": _ids(results[_run(scale, network, "hard").key]),
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
        profiles[recipe] = layer_profile(results[_run(scale, "large", recipe).key].netlist)
    return Section(
        _how(scale) + " Share of the Fourier energy of the different gates by degree, each gate "
        "counted once; ternary is the share whose table has an UNKNOWN, which is the reading that "
        "the paper's figures fit. The figure shows all gates, layer by layer, of the network "
        "*large*.",
        [
            Table(
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
    return [_run(scale, network, "paper") for network in ("small", "large")] + [
        _run(scale, "large", "hard")
    ]


def _landscape(results: Results, scale: Scale) -> Section:
    circuits = {
        "PST small": _ids(results[_run(scale, "small", "paper").key]),
        "PST large": _ids(results[_run(scale, "large", "paper").key]),
        "untrained": initial_gates(sum(_layers("large", scale))),
        "hard large": _ids(results[_run(scale, "large", "hard").key]),
    }
    maps = {
        metric: {name: gate_landscape(gates, metric) for name, gates in circuits.items()}
        for metric in ("hamming", "fourier")
    }
    named = {name: take_census(gates).named_distance or 0.0 for name, gates in circuits.items()}
    return Section(
        _how(scale) + " Every point is a different gate, larger and brighter the more copies it "
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


def _classes(results: Results, scale: Scale) -> Section:
    got = {
        network: {
            recipe: results[_run(scale, network, recipe).key].evaluation.class_accuracy
            for recipe in ("dlgn", "paper", "hard")
        }
        for network in _COMPARED
    }
    spread = {
        recipe: float(np.std(values) / np.mean(values))
        for recipe, values in ((r, [v or 0.0 for v in a.values()]) for r, a in got["huge"].items())
    }
    return Section(
        _how(scale) + " Hardened accuracy of each class: of the paper's DLGN, where it is given, "
        "and PST; and here of DLGN, PST and `hard`.",
        [
            Table(
                ["class", *(f"{name}: paper; DLGN / PST / hard" for name in _COMPARED)],
                [
                    [name, *(_class_cell(theirs, network, name, got) for network in _COMPARED)]
                    for name, theirs in published("classes").items()
                ],
            )
        ],
        {"classes": drawings.class_figure(got)},
        [
            Claim(
                "Binary circuits are more even over the classes than PST (huge)",
                spread["dlgn"] < spread["paper"],
                "deviation over mean: "
                + ", ".join(f"{recipe} {value:.2f}" for recipe, value in spread.items()),
            )
        ],
    )


def _class_cell(
    theirs: Mapping[str, float],
    network: str,
    name: str,
    got: Mapping[str, Mapping[str, Mapping[str, float | None]]],
) -> str:
    printed = [theirs[key] for key in (f"dlgn_{network}", network) if key in theirs]
    measured = [got[network][recipe][name] for recipe in ("dlgn", "paper", "hard")]
    return f"{' / '.join(map(number, printed))}; {' / '.join(map(share, measured))}"


def _margins(results: Results, scale: Scale) -> Section:
    rows = []
    ranking: dict[str, float] = {}
    for network in _COMPARED:
        theirs = published("margins")[network]
        for recipe, prefix in (("dlgn", "dlgn_"), ("paper", "")):
            rows.append(
                [
                    f"{network}, paper, {drawings.LABELS[recipe]}",
                    number(theirs[f"{prefix}right"]),
                    number(theirs[f"{prefix}wrong"]),
                    f"{theirs[f'{prefix}separation']:.2f}×",
                    number(theirs[f"{prefix}acc90"]),
                    number(theirs[f"{prefix}acc50"]),
                    "–",
                ]
            )
        for recipe in ("dlgn", "paper", "hard"):
            evaluation = results[_run(scale, network, recipe).key].evaluation
            right, wrong = evaluation.margin["right"] or 0.0, evaluation.margin["wrong"] or 0.0
            ranking[recipe] = evaluation.margin["ranking"] or 0.0
            rows.append(
                [
                    f"{network}, {drawings.LABELS[recipe]}",
                    number(right),
                    number(wrong),
                    f"{right / max(wrong, 1e-9):.2f}×",
                    share(evaluation.accuracy_at_90),
                    share(evaluation.accuracy_at_50),
                    share(evaluation.margin["ranking"]),
                ]
            )
    return Section(
        _how(scale) + " Mean margin of right and wrong answers, their ratio, accuracy at 90 % and "
        "50 % coverage, and how often a right answer has the larger margin.",
        [
            Table(
                ["circuit", "right", "wrong", "ratio", "Acc@90", "Acc@50", "right above wrong %"],
                rows,
            )
        ],
        claims=[
            Claim(
                "Binary margins tell right from wrong better than those of PST (huge)",
                ranking["dlgn"] > ranking["paper"],
                ", ".join(f"{r} {share(v)} %" for r, v in ranking.items()),
            )
        ],
    )


def _loss(results: Results, scale: Scale) -> Section:
    curves = {
        network: {
            recipe: results[_run(scale, network, recipe).key].record["history"]
            for recipe in ("dlgn", "paper", "hard")
        }
        for network in _NETWORKS
    }
    return Section(
        _how(scale) + " Mean training loss. PST has squared error plus commitment, the others "
        "cross-entropy: the heights of different recipes do not compare, their courses do.",
        figures={
            "loss": drawings.loss_figure(curves),
            "loss-pst": drawings.overlay_figure(
                {network: by_recipe["paper"] for network, by_recipe in curves.items()}
            ),
        },
    )


SCALING = (
    Experiment(
        "main",
        "Performance across sizes",
        _all_runs,
        _main,
        "table *Performance across all scales*",
    ),
    Experiment(
        "configs",
        "Configurations",
        lambda scale: [],
        _configs,
        "table *Architecture configurations*",
    ),
    Experiment("speed", "Speed of training", _speed_runs, _speed, "table *Training wall time*"),
    Experiment(
        "hardening",
        "Hardening error and UNKNOWN",
        _ternary_runs,
        _hardening,
        "table *Hardening error and UNKNOWN% across scales*",
    ),
    Experiment(
        "diversity",
        "Gate diversity",
        _all_runs,
        _diversity,
        "table *Gate diversity and functional redundancy*",
    ),
    Experiment(
        "fourier", "Fourier spectrum", _ternary_runs, _fourier, "table *Fourier spectral profile*"
    ),
    Experiment(
        "landscape", "Gate landscape", _landscape_runs, _landscape, "figure *Gate landscape*"
    ),
    Experiment(
        "classes",
        "Accuracy by class",
        _compared_runs,
        _classes,
        "table *Per-class circuit accuracy at selected scales* and the two figures of it",
    ),
    Experiment(
        "margins",
        "Margins",
        _compared_runs,
        _margins,
        "table *Margin-based selective classification*",
    ),
    Experiment(
        "loss",
        "Loss curves",
        _all_runs,
        _loss,
        "figures *Training loss curves* and *Ternary task loss convergence*",
    ),
)
"""The experiments, in the order of the page."""
