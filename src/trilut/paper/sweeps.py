"""The paper's sweeps: how far Gaussians part, how wide UNKNOWN is, how fine the encoder."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trilut.data.synthetic import gaussians_bayes_rate
from trilut.paper import drawings
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
from trilut.paper.tasks import (
    accuracy,
    average,
    ceiling_of,
    describe,
    task_runs,
    unknown_share,
    untrained_unknown,
)

__all__ = ["SWEEPS", "bayes_entropy", "rank_correlation"]

_SEPARATIONS = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
_DELTAS = (1.0, 0.5, 0.25, 0.0)
_RESOLUTIONS = {2: 128, 4: 256, 8: 512, 16: 1024}
# What is compared at each separation. "fine" has an encoder that can tell more margins apart.
_SEPARATED: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "dlgn": ("dlgn", {}),
    "paper": ("paper", {}),
    "hard": ("hard", {}),
    "fine": ("hard", {"thresholds": 7}),
}


def _separated(scale: Scale, separation: float) -> dict[str, list[Run]]:
    return {
        name: task_runs(scale, _gaussians(separation), recipe, **changes)
        for name, (recipe, changes) in _SEPARATED.items()
    }


def _separation_runs(scale: Scale) -> list[Run]:
    return [
        run
        for separation in _SEPARATIONS
        for runs in _separated(scale, separation).values()
        for run in runs
    ]


def _gaussians(separation: float) -> str:
    # The paper's separation is half the distance: its Bayes rates are Φ(s), not Φ(s/2).
    distance = 2 * separation
    return "gaussians" if distance == 3 else f"gaussians:separation={distance:g}"


def _separation(results: Results, scale: Scale) -> Section:
    measured = {
        separation: _measure_separation(results, scale, separation) for separation in _SEPARATIONS
    }

    def over_all(field: str, recipe: str) -> list[float]:
        return [getattr(found, field)[recipe] for found in measured.values()]

    return Section(
        describe(scale)
        + " The paper's separation is half the distance of the centres in deviations: "
        "its Bayes rates are Φ(s). *UNK and entropy* and *margin and entropy* are Spearman's "
        "correlation with the Bayes entropy H(y|x) over the test samples: of a sample's share of "
        "UNKNOWN outputs, and of its margin with the sign turned. At 1 the samples are ranked as "
        "the truth ranks them. K=8 is `hard` with 7 thresholds a feature instead of 3. *Possible* "
        "is what a circuit reaches that ranks the cells of its encoder by the mean entropy in "
        "them. *Median doubt* is the entropy of the median sample: where it is next to nothing, "
        "no sample tells the circuit what to rank by.",
        [
            PaperTable(
                [
                    "separation",
                    "Bayes, paper",
                    "Bayes Φ(s)",
                    "DLGN, paper",
                    "DLGN",
                    "PST, paper",
                    "PST δ=1",
                    "hard δ=.25",
                    "hard K=8",
                    "UNK, paper",
                    "UNK PST / hard",
                ],
                [_separation_row(separation, found) for separation, found in measured.items()],
            ),
            PaperTable(
                [
                    "separation",
                    "median doubt, bits",
                    "UNK and entropy, PST / hard",
                    "margin and entropy, PST",
                    "DLGN",
                    "hard",
                    "hard K=8",
                    "possible, hard / K=8",
                ],
                [_ranking_row(separation, found) for separation, found in measured.items()],
            ),
        ],
        {
            "separation": drawings.separation_figure(
                _SEPARATIONS,
                {recipe: over_all("unknown", recipe) for recipe in ("paper", "hard")},
                [gaussians_bayes_rate(2 * separation) for separation in _SEPARATIONS],
                {recipe: over_all("margin", recipe) for recipe in _SEPARATED},
            ),
            "entropy": drawings.entropy_figure(
                {
                    recipe: results[task_runs(scale, "gaussians", recipe)[0].key]
                    for recipe in ("paper", "hard")
                },
                lambda points: bayes_entropy(points, 3.0),
            ),
        },
        [
            Claim(
                "UNKNOWN outputs fall as the classes part (PST)",
                all(np.diff(over_all("unknown", "paper")) < 0),
                " → ".join(share(value) for value in over_all("unknown", "paper")) + " %",
            ),
            Claim(
                "The share of UNKNOWN outputs follows the Bayes entropy (PST; correlation ≥ .5)",
                min(over_all("tracking", "paper")) >= 0.5,
                "correlation "
                + ", ".join(f"{value:.2f}" for value in over_all("tracking", "paper")),
            ),
            Claim(
                "The margin of `hard` ranks samples as the Bayes entropy does: ≥ .8 at 1.5σ",
                measured[1.5].margin["hard"] >= 0.8,
                f"{measured[1.5].margin['hard']:.2f} of {measured[1.5].possible['hard']:.2f} "
                f"possible with 3 thresholds, {measured[1.5].margin['fine']:.2f} of "
                f"{measured[1.5].possible['fine']:.2f} with 7",
                ours=True,
            ),
            Claim(
                "It does so wherever the median sample leaves some doubt (K=8; over .001 bit)",
                all(m.margin["fine"] >= 0.8 for m in measured.values() if m.doubt > 0.001),
                ", ".join(
                    f"{separation:g}σ {found.margin['fine']:.2f} ({found.doubt:.1g} bit)"
                    for separation, found in measured.items()
                ),
                ours=True,
            ),
        ],
    )


@dataclass(frozen=True, slots=True)
class _Separated:
    """What was measured at a separation, each by the name of the circuit."""

    accuracy: Mapping[str, float]
    unknown: Mapping[str, float]
    tracking: Mapping[str, float]
    margin: Mapping[str, float]
    possible: Mapping[str, float]
    doubt: float


def _measure_separation(results: Results, scale: Scale, separation: float) -> _Separated:
    runs = _separated(scale, separation)

    def of_all(pick: Callable[[RunResult], float]) -> dict[str, float]:
        return {name: average(results, runs[name], pick) for name in runs}

    def doubt(result: RunResult) -> float:
        points = np.asarray(result.test.x, dtype=np.float64)
        return float(np.median(bayes_entropy(points, 2 * separation)))

    return _Separated(
        of_all(accuracy),
        of_all(unknown_share),
        of_all(_unknown_correlation),
        of_all(_margin_correlation),
        of_all(_possible_correlation),
        average(results, runs["hard"], doubt),
    )


def _separation_row(separation: float, found: _Separated) -> list[str]:
    theirs = published("separation")[f"{separation:.1f}"]
    return [
        f"{separation:.1f}σ",
        number(theirs["bayes"]),
        share(gaussians_bayes_rate(2 * separation)),
        number(theirs["binary"]),
        share(found.accuracy["dlgn"]),
        number(theirs["ternary"]),
        *(share(found.accuracy[name]) for name in ("paper", "hard", "fine")),
        number(theirs["unknown"]),
        f"{share(found.unknown['paper'])} / {share(found.unknown['hard'])}",
    ]


def _ranking_row(separation: float, found: _Separated) -> list[str]:
    return [
        f"{separation:.1f}σ",
        f"{found.doubt:.1g}",
        " / ".join(f"{found.tracking[name]:.2f}" for name in ("paper", "hard")),
        *(f"{found.margin[name]:.2f}" for name in ("paper", "dlgn", "hard", "fine")),
        " / ".join(f"{found.possible[name]:.2f}" for name in ("hard", "fine")),
    ]


def bayes_entropy(points: NDArray[np.float64], separation: float) -> NDArray[np.float64]:
    """Return H(y|x) in bits at points [point, 2] of the data set ``gaussians``."""
    odds = separation * points.sum(axis=1) / math.sqrt(2)
    p = 1 / (1 + np.exp(-np.abs(odds)))
    q = np.maximum(1 - p, 1e-300)
    return -(p * np.log2(p) + q * np.log2(q))


def rank_correlation(x: NDArray[Any], y: NDArray[Any]) -> float:
    """Return Spearman's correlation; equal values share their mean rank. 0 if one is constant."""
    ranks = np.stack([_ranks(values) for values in (x, y)])
    if np.ptp(ranks, axis=1).min() == 0:
        return 0.0
    centred = ranks - ranks.mean(axis=1, keepdims=True)
    return float(centred[0] @ centred[1] / np.prod(np.linalg.norm(centred, axis=1)))


def _ranks(values: NDArray[Any]) -> NDArray[np.float64]:
    _, group, count = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(count) - (count - 1) / 2)[group]


def _margin_correlation(result: RunResult) -> float:
    from trilut.sim import classify

    margin = classify(result.netlist, result.test.x).margin
    return -rank_correlation(margin, _entropy_ranks(result))


def _unknown_correlation(result: RunResult) -> float:
    from trilut.sim import evaluate

    assert result.netlist.encoder is not None
    outputs = evaluate(result.netlist, result.netlist.encoder.encode(result.test.x))
    return rank_correlation((outputs == 0).sum(axis=1), _entropy_ranks(result))


def _possible_correlation(result: RunResult) -> float:
    """Return what the encoder allows: each of its cells ranked by the mean of its samples."""
    assert result.netlist.encoder is not None
    entropy = _entropy_ranks(result)
    _, cell = np.unique(result.netlist.encoder.encode(result.test.x), axis=0, return_inverse=True)
    mean_rank = np.bincount(cell.ravel(), _ranks(entropy)) / np.bincount(cell.ravel())
    return rank_correlation(mean_rank[cell.ravel()], entropy)


def _entropy_ranks(result: RunResult) -> NDArray[np.float64]:
    # The entropy falls with the distance of a point from the line that halves the plane, whatever
    # the separation: any one gives the same ranks.
    return bayes_entropy(np.asarray(result.test.x, dtype=np.float64), 1.0)


def _delta_runs(scale: Scale) -> list[Run]:
    return [
        run
        for delta in _DELTAS
        for recipe in ("paper", "hard")
        for run in task_runs(scale, "moons", recipe, delta=delta)
    ]


def _delta(results: Results, scale: Scale) -> Section:
    rows = []
    curves: dict[str, list[float]] = {"paper": [], "hard": [], "ceiling": []}
    unknown: dict[str, list[float]] = {"paper": [], "hard": [], "untrained": []}
    for delta in _DELTAS:
        runs = {r: task_runs(scale, "moons", r, delta=delta) for r in ("paper", "hard")}
        got = {r: average(results, runs[r], accuracy) for r in runs}
        ceiling = average(results, runs["hard"], ceiling_of)
        for name, value in {**got, "ceiling": ceiling}.items():
            curves[name].append(value)
        for name in runs:
            unknown[name].append(average(results, runs[name], unknown_share))
        unknown["untrained"].append(average(results, runs["paper"], untrained_unknown))
        theirs = published("delta")[f"{delta:.2f}"]
        rows.append(
            [
                f"{delta:.2f}",
                number(theirs["ternary"]),
                share(got["paper"]),
                share(got["hard"]),
                share(ceiling),
                number(theirs["unknown"]),
                " / ".join(share(unknown[r][-1]) for r in runs),
                share(unknown["untrained"][-1]),
                f"{theirs['gap']:.2f}",
                " / ".join(share(average(results, runs[r], lambda x: x.gap), 2) for r in runs),
            ]
        )
    order = {name: np.argsort(values).tolist() for name, values in curves.items()}
    best = _DELTAS[int(np.argmax(curves["paper"]))]
    return Section(
        describe(scale)
        + " Moons; δ is the width of the UNKNOWN band as a share of the distance of "
        "thresholds. The ceiling is the best that any circuit behind the encoder could do.",
        [
            PaperTable(
                [
                    "δ",
                    "PST, paper",
                    "PST",
                    "hard",
                    "ceiling",
                    "UNK, paper",
                    "UNK PST / hard",
                    "UNK untrained",
                    "gap, paper",
                    "gap PST / hard",
                ],
                rows,
            )
        ],
        {"delta": drawings.sweep_figure("δ", _DELTAS, curves, unknown)},
        [
            Claim("PST is best at δ=.5", best == 0.5, f"best at δ={best:g}"),
            Claim(
                "The sweep shows the encoder: PST ranks the values of δ as the ceiling does",
                order["paper"] == order["ceiling"],
                ", ".join(
                    f"δ={delta:g} {share(got)} of {share(ceiling)}"
                    for delta, got, ceiling in zip(
                        _DELTAS, curves["paper"], curves["ceiling"], strict=True
                    )
                ),
                ours=True,
            ),
        ],
    )


def _resolution_settings(resolution: int) -> dict[str, Any]:
    width = _RESOLUTIONS[resolution]
    return {"thresholds": resolution - 1, "layers": (width, width, width, 200)}


def _resolution_runs(scale: Scale) -> list[Run]:
    return [
        run
        for resolution in _RESOLUTIONS
        for recipe in ("paper", "hard")
        for run in task_runs(scale, "moons", recipe, **_resolution_settings(resolution))
    ]


def _resolution(results: Results, scale: Scale) -> Section:
    rows = []
    curves: dict[str, list[float]] = {"paper": [], "hard": [], "ceiling": []}
    unknown: dict[str, list[float]] = {"paper": [], "hard": []}
    for resolution, width in _RESOLUTIONS.items():
        runs = {
            r: task_runs(scale, "moons", r, **_resolution_settings(resolution))
            for r in ("paper", "hard")
        }
        got = {r: average(results, runs[r], accuracy) for r in runs}
        ceiling = average(results, runs["hard"], ceiling_of)
        for name, value in {**got, "ceiling": ceiling}.items():
            curves[name].append(value)
        for name in runs:
            unknown[name].append(average(results, runs[name], unknown_share))
        theirs = published("resolution")[str(resolution)]
        rows.append(
            [
                str(resolution),
                f"[{width}]³",
                number(theirs["ternary"]),
                share(got["paper"]),
                share(got["hard"]),
                share(ceiling),
                number(theirs["unknown"]),
                " / ".join(share(unknown[r][-1]) for r in runs),
            ]
        )
    return Section(
        describe(scale, "Widths as in the table and 200 outputs") + " Moons; resolution K is K−1 "
        "thresholds a feature. The ceiling is that of `hard`, δ=.25; with as many cells as "
        "samples it is no longer within reach.",
        [
            PaperTable(
                [
                    "K",
                    "body",
                    "PST, paper",
                    "PST δ=1",
                    "hard δ=.25",
                    "ceiling",
                    "UNK, paper",
                    "UNK PST / hard",
                ],
                rows,
            )
        ],
        {"resolution": drawings.sweep_figure("K", tuple(_RESOLUTIONS), curves, unknown)},
        [
            Claim(
                "Accuracy of PST rises with the resolution",
                all(np.diff(curves["paper"]) > 0),
                " → ".join(share(value) for value in curves["paper"]) + " %",
            ),
            Claim(
                "UNKNOWN outputs of PST fall with the resolution",
                all(np.diff(unknown["paper"]) < 0),
                " → ".join(share(value) for value in unknown["paper"]) + " %",
            ),
        ],
    )


SWEEPS = (
    Experiment(
        "separation",
        "Separation of Gaussians",
        _separation_runs,
        _separation,
        "table *Gaussian separation sweep* and figure *Ternary U tracks Bayes-optimal uncertainty*",
    ),
    Experiment(
        "delta",
        "Width of the UNKNOWN band",
        _delta_runs,
        _delta,
        "table and figure *Asymmetric thresholding*",
    ),
    Experiment(
        "resolution",
        "Encoding resolution",
        _resolution_runs,
        _resolution,
        "table *Resolution sweep* and figure *Resolution vs. accuracy and UNKNOWN rate*",
    ),
)
"""The experiments, in the order of the page."""
