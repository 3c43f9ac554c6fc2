"""The paper's experiments on CIFAR-10: how good and how fast binary and ternary networks are."""

import dataclasses
import math
from collections.abc import Mapping

import numpy as np

from trilut.paper import drawings
from trilut.paper.cifar import (
    COMPARED,
    NETWORKS,
    all_runs,
    compared_runs,
    describe,
    gate_count,
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

__all__ = ["SCALING"]


def _naive_runs(scale: Scale) -> list[Run]:
    # For its time only: it computes the same as the other form.
    return [network_run(scale, network, "dlgn-naive", steps=60) for network in NETWORKS]


def _speed_runs(scale: Scale) -> list[Run]:
    return [*all_runs(scale), *_naive_runs(scale)]


def _configs(results: Results, scale: Scale) -> Section:
    rows = [
        [
            network,
            f"{config['layers']:.0f} × {config['width']:,.0f}",
            f"{len(network_layers(network, scale))} × {network_layers(network, scale)[0]:,}",
            f"{config['learning_rate']:g}",
            f"{config['steps']:,.0f}",
            f"{scale.image_steps or int(config['steps']):,}",
        ]
        for network, config in published("configs").items()
    ]
    return Section(
        "Random wiring of two inputs a gate, the same for all recipes. `hard` has a learning rate "
        "of .02 that falls to zero, DLGN .01.",
        [PaperTable(["network", "paper", "here", "PST rate", "paper's steps", "steps here"], rows)],
    )


def _main(results: Results, scale: Scale) -> Section:
    rows = []
    gaps, hard, binary = {}, {}, {}
    for network in NETWORKS:
        theirs = published("main")[network]
        got = {r: results[network_run(scale, network, r).key] for r in ("dlgn", "paper", "hard")}
        gaps[network] = got["paper"].gap
        hard[network], binary[network] = (got[r].evaluation.accuracy for r in ("hard", "dlgn"))
        rows.append(
            [
                network,
                gate_count(scale, network),
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
    ahead = [network for network in NETWORKS if hard[network] >= binary[network]]
    return Section(
        describe(scale) + " Soft → hardened test accuracy in percent.",
        [
            PaperTable(
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
                all(results[network_run(scale, n, "hard").key].gap == 0 for n in NETWORKS),
                "soft and hardened accuracy are equal",
                ours=True,
            ),
            Claim(
                "Ternary `hard` ≥ binary DLGN at equal gates and steps",
                len(ahead) == len(NETWORKS),
                ", ".join(f"{n} {100 * (hard[n] - binary[n]):+.1f}" for n in NETWORKS) + " pp",
                ours=True,
            ),
        ],
    )


def _soft_to_hard(result: RunResult) -> str:
    return f"{share(result.soft)} → {share(result.evaluation.accuracy)}"


def _scaling_curves(results: Results, scale: Scale) -> dict[str, tuple[list[int], list[float]]]:
    ordered = sorted(NETWORKS, key=lambda network: sum(network_layers(network, scale)))
    sizes = [sum(network_layers(network, scale)) for network in ordered]
    return {
        recipe: (
            sizes,
            [results[network_run(scale, n, recipe).key].evaluation.accuracy for n in ordered],
        )
        for recipe in ("dlgn", "paper", "hard")
    }


def _hardening(results: Results, scale: Scale) -> Section:
    rows, errors = [], []
    for network in NETWORKS:
        theirs = published("hardening")[network]
        paper = results[network_run(scale, network, "paper").key]
        hard = results[network_run(scale, network, "hard").key]
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
        describe(scale)
        + " The error is the mean distance of an entry of a soft table from its truth "
        "value; R_A is the mean of its square. Neither bounds the gap of the network.",
        [
            PaperTable(
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
    for network in NETWORKS:
        steps = {
            "naive": _seconds(results, network_run(scale, network, "dlgn-naive", steps=60)),
            **{
                r: _seconds(results, network_run(scale, network, r))
                for r in ("paper", "hard", "dlgn")
            },
        }
        naive.append(steps["naive"] / steps["paper"])
        folded.append(steps["dlgn"] / steps["paper"])
        rows.append(
            [
                network,
                gate_count(scale, network),
                f"{published('speed')[network]['speedup']:.1f}×",
                f"{naive[-1]:.1f}×",
                f"{folded[-1]:.1f}×",
                *(f"{1e3 * seconds:.1f}" for seconds in steps.values()),
            ]
        )
    return Section(
        describe(scale) + " Processor time a step on this machine's cores, all threads together, "
        "compilation left out; the paper's is wall time on an RTX 4090. A mixture of 16 gates can "
        "be folded into four coefficients before it is evaluated; that is the DLGN of all other "
        "tables. Reading 9,216 inputs takes the same time in every column.",
        [
            PaperTable(
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


def _classes(results: Results, scale: Scale) -> Section:
    got = {
        network: {
            recipe: results[network_run(scale, network, recipe).key].evaluation.class_accuracy
            for recipe in ("dlgn", "paper", "hard")
        }
        for network in COMPARED
    }
    spread = {
        recipe: float(np.std(values) / np.mean(values))
        for recipe, values in ((r, [v or 0.0 for v in a.values()]) for r, a in got["huge"].items())
    }
    return Section(
        describe(scale)
        + " Hardened accuracy of each class: of the paper's DLGN, where it is given, "
        "and PST; and here of DLGN, PST and `hard`.",
        [
            PaperTable(
                ["class", *(f"{name}: paper; DLGN / PST / hard" for name in COMPARED)],
                [
                    [name, *(_class_cell(theirs, network, name, got) for network in COMPARED)]
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
                + ", ".join(f"{drawings.LABELS[r]} {value:.2f}" for r, value in spread.items()),
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
    for network in COMPARED:
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
            evaluation = results[network_run(scale, network, recipe).key].evaluation
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
        describe(scale)
        + " Mean margin of right and wrong answers, their ratio, accuracy at 90 % and "
        "50 % coverage, and how often a right answer has the larger margin.",
        [
            PaperTable(
                ["circuit", "right", "wrong", "ratio", "Acc@90", "Acc@50", "right above wrong %"],
                rows,
            )
        ],
        claims=[
            Claim(
                "Binary margins tell right from wrong better than those of PST (huge)",
                ranking["dlgn"] > ranking["paper"],
                ", ".join(f"{drawings.LABELS[r]} {share(v)} %" for r, v in ranking.items()),
            )
        ],
    )


def _loss(results: Results, scale: Scale) -> Section:
    curves = {
        network: {
            recipe: results[network_run(scale, network, recipe).key].record["history"]
            for recipe in ("dlgn", "paper", "hard")
        }
        for network in NETWORKS
    }
    return Section(
        describe(scale) + " Mean training loss. PST has squared error plus commitment, the others "
        "cross-entropy: the heights of different recipes do not compare, their courses do.",
        figures={
            "loss": drawings.loss_figure(curves),
            "loss-pst": drawings.overlay_figure(
                {network: by_recipe["paper"] for network, by_recipe in curves.items()}
            ),
        },
    )


_EXPERIMENTS = (
    Experiment(
        "main",
        "Performance across sizes",
        all_runs,
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
        ternary_runs,
        _hardening,
        "table *Hardening error and UNKNOWN% across scales*",
    ),
    Experiment(
        "classes",
        "Accuracy by class",
        compared_runs,
        _classes,
        "table *Per-class circuit accuracy at selected scales* and the two figures of it",
    ),
    Experiment(
        "margins",
        "Margins",
        compared_runs,
        _margins,
        "table *Margin-based selective classification*",
    ),
    Experiment(
        "loss",
        "Loss curves",
        all_runs,
        _loss,
        "figures *Training loss curves* and *Ternary task loss convergence*",
    ),
)

SCALING = tuple(dataclasses.replace(one, build=may_be_shrunk(one.build)) for one in _EXPERIMENTS)
"""The experiments, in the order of the page."""
