"""The paper's experiments on five tasks of two features."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from trilut.circuit.gates import gate_id
from trilut.measure.analysis import initial_gates, take_census
from trilut.measure.evaluation import Evaluation
from trilut.paper import drawings
from trilut.paper.experiment import (
    Claim,
    Experiment,
    PaperTable,
    Results,
    Scale,
    Section,
    mean,
    number,
    share,
)
from trilut.paper.published import published
from trilut.paper.runs import Run
from trilut.paper.tasks import (
    TASKS,
    average,
    describe,
    task_runs,
    untrained_unknown,
)

__all__ = ["SYNTHETIC"]

# What the five tasks are trained with. "paper" and "dlgn" are the paper's two columns.
_CONTENDERS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "dlgn": ("dlgn", {}),
    "informed": ("dlgn", {"informed_by": 0.25}),
    "paper": ("paper", {}),
    "paper5": ("paper", {"delta": 0.5}),
    "hard": ("hard", {}),
    "hard5": ("hard", {"delta": 0.5}),
}


def _contenders(scale: Scale, task: str) -> dict[str, list[Run]]:
    return {
        name: task_runs(scale, task, recipe, **changes)
        for name, (recipe, changes) in _CONTENDERS.items()
    }


def _five_tasks(scale: Scale) -> list[Run]:
    return [run for task in TASKS for runs in _contenders(scale, task).values() for run in runs]


def _paper_and_hard(scale: Scale) -> list[Run]:
    return [
        run
        for task in TASKS
        for recipe in ("dlgn", "paper", "hard")
        for run in task_runs(scale, task, recipe)
    ]


@dataclass(frozen=True, slots=True)
class _Measured:
    """What the contenders reach on a task, each by its name."""

    accuracy: Mapping[str, float]
    at_90: Mapping[str, float]
    at_50: Mapping[str, float]
    area: Mapping[str, float]
    ceiling: Mapping[str, float]
    unknown: Mapping[str, float]
    untrained: float


def _measure(results: Results, scale: Scale, task: str) -> _Measured:
    contenders = _contenders(scale, task)

    def of_all(field: str) -> dict[str, float]:
        return {
            name: average(results, runs, lambda result: getattr(result.evaluation, field))
            for name, runs in contenders.items()
        }

    return _Measured(
        accuracy=of_all("accuracy"),
        at_90=of_all("accuracy_at_90"),
        at_50=of_all("accuracy_at_50"),
        area=of_all("coverage_area"),
        ceiling=of_all("ceiling"),
        unknown=of_all("unknown"),
        untrained=average(results, contenders["paper"], untrained_unknown),
    )


def _synthetic(results: Results, scale: Scale) -> Section:
    measured = {task: _measure(results, scale, task) for task in TASKS}
    return Section(
        describe(scale) + " PST is the paper's training (`--recipe paper`), DLGN the binary one. "
        "*As informed* gives it the two bits for each trit that tell the same samples apart as the "
        "trits of `hard` δ=.25 do. All accuracies are those of the hardened circuit, in percent.",
        [
            PaperTable(
                [
                    "task",
                    "DLGN, paper",
                    "DLGN",
                    "DLGN, as informed",
                    "PST, paper",
                    "PST δ=1",
                    "PST δ=.5",
                    "hard δ=.25",
                    "hard δ=.5",
                    "ceiling DLGN / δ=1 / δ=.25",
                ],
                [_accuracy_row(task, found) for task, found in measured.items()],
            ),
            PaperTable(
                [
                    "task",
                    "UNK, paper",
                    "UNK PST / hard / untrained",
                    "Acc@90, paper",
                    "Acc@90 PST / hard / DLGN",
                    "Acc@50, paper",
                    "Acc@50 PST / hard / DLGN",
                    "area, paper",
                    "area PST / hard / DLGN",
                ],
                [_selective_row(task, found) for task, found in measured.items()],
            ),
        ],
        claims=[*_their_claims(measured), *_our_claims(measured)],
    )


def _accuracy_row(task: str, found: _Measured) -> list[str]:
    theirs, got = published("synthetic")[task], found.accuracy
    return [
        task,
        number(theirs["binary"]),
        *(share(got[name]) for name in ("dlgn", "informed")),
        number(theirs["ternary"]),
        *(share(got[name]) for name in ("paper", "paper5", "hard", "hard5")),
        " / ".join(share(found.ceiling[name]) for name in ("dlgn", "paper", "hard")),
    ]


def _selective_row(task: str, found: _Measured) -> list[str]:
    theirs = published("synthetic")[task]
    unknown = (found.unknown["paper"], found.unknown["hard"], found.untrained)
    cells = [task, number(theirs["unknown"]), " / ".join(share(value) for value in unknown)]
    for key, ours in (("acc90", found.at_90), ("acc50", found.at_50), ("area", found.area)):
        three = " / ".join(share(ours[name]) for name in ("paper", "hard", "dlgn"))
        cells += [number(theirs[key]), three]
    return cells


def _their_claims(measured: Mapping[str, _Measured]) -> list[Claim]:
    below = [t for t, m in measured.items() if m.accuracy["paper"] < m.accuracy["dlgn"]]
    above = [t for t, m in measured.items() if m.at_50["paper"] > m.accuracy["dlgn"]]
    binary = [t for t, m in measured.items() if m.at_50["dlgn"] >= m.at_50["paper"]]
    return [
        Claim(
            "Binary is ahead of ternary PST at δ=1 on four of five tasks",
            len(below) >= 4,
            f"on {_names(below)}",
        ),
        Claim(
            "PST at half coverage beats binary at full on Moons, Gaussians and Ring Sector",
            {"moons", "gaussians", "ring_sector"} <= set(above),
            f"on {_names(above)}",
        ),
        Claim(
            "Binary circuits have no such mechanism",
            not binary,
            "the margin of a DLGN ranks its answers too; at half coverage it is at least as right "
            f"as PST on {_names(binary)}",
        ),
    ]


def _our_claims(measured: Mapping[str, _Measured]) -> list[Claim]:
    def compare(one: str, other: str) -> tuple[bool, str]:
        by = {t: 100 * (m.accuracy[one] - m.accuracy[other]) for t, m in measured.items()}
        listed = ", ".join(f"{task} {value:+.1f}" for task, value in by.items())
        return min(by.values()) >= 0, f"{listed} pp"

    behind = {t: m for t, m in measured.items() if m.accuracy["paper"] < m.accuracy["dlgn"]}
    learned = {t: 100 * (m.unknown["paper"] - m.untrained) for t, m in measured.items()}
    return [
        Claim(
            "Where binary leads PST at δ=1 the encoder decides: its ceiling is higher there",
            all(m.ceiling["dlgn"] > m.ceiling["paper"] for m in behind.values()),
            "ceilings of DLGN and δ=1: "
            + ", ".join(
                f"{t} {share(m.ceiling['dlgn'])} and {share(m.ceiling['paper'])}"
                for t, m in behind.items()
            ),
            ours=True,
        ),
        Claim(
            "The UNKNOWN share of PST is about that of gates that nobody trained (within 6 pp)",
            max(abs(value) for value in learned.values()) <= 6,
            ", ".join(f"{task} {value:+.1f}" for task, value in learned.items()) + " pp",
            ours=True,
        ),
        Claim(
            "Ternary `hard` δ=.25 ≥ binary DLGN with 3 thresholds on all five",
            *compare("hard", "dlgn"),
            ours=True,
        ),
        Claim(
            "Ternary `hard` δ=.25 ≥ an equally informed DLGN on all five",
            *compare("hard", "informed"),
            ours=True,
        ),
        Claim("`hard` δ=.25 ≥ PST δ=1 on all five", *compare("hard", "paper"), ours=True),
        Claim("`hard` δ=.5 ≥ PST δ=.5 on all five", *compare("hard5", "paper5"), ours=True),
    ]


def _names(tasks: list[str]) -> str:
    return ", ".join(tasks) if tasks else "none"


def _gap(results: Results, scale: Scale) -> Section:
    rows, gaps, layers = [], {}, {}
    for task in TASKS:
        theirs = published("synthetic")[task]
        got = {
            recipe: average(results, task_runs(scale, task, recipe), lambda r: r.gap)
            for recipe in ("dlgn", "paper", "hard")
        }
        gaps[task] = got
        layers[task] = [
            100 * mean(values)
            for values in zip(
                *(results[run.key].record["layers"] for run in task_runs(scale, task, "paper")),
                strict=True,
            )
        ]
        rows.append(
            [
                task,
                f"{theirs['binary_gap']:.2f}",
                share(got["dlgn"], 2),
                f"{theirs['ternary_gap']:.2f}",
                share(got["paper"], 2),
                share(got["hard"], 2),
                " → ".join(f"{value:.1f}" for value in layers[task]),
            ]
        )
    worst = max(abs(got["hard"]) for got in gaps.values())
    large = max(abs(got["paper"]) for got in gaps.values())
    return Section(
        describe(scale)
        + " The gap is soft minus hardened test accuracy, in percentage points. The last "
        "column hardens the layers of PST one after the other, from the inputs on.",
        [
            PaperTable(
                [
                    "task",
                    "DLGN, paper",
                    "DLGN",
                    "PST, paper",
                    "PST δ=1",
                    "hard",
                    "PST accuracy, layers hardened 0 → all",
                ],
                rows,
            )
        ],
        {"gap": drawings.gap_figure(gaps)},
        [
            Claim(
                "Ternary gaps stay below 8.4 pp",
                large < 0.084,
                f"largest {share(large, 2)} pp",
            ),
            Claim(
                "`hard` loses nothing by hardening: its training forward is the circuit",
                worst == 0,
                f"largest {share(worst, 2)} pp",
                ours=True,
            ),
        ],
    )


def _boundaries(results: Results, scale: Scale) -> Section:
    circuits = {
        task: {
            recipe: results[task_runs(scale, task, recipe)[0].key]
            for recipe in ("dlgn", "paper", "hard")
        }
        for task in TASKS
    }
    return Section(
        describe(scale)
        + " Seed 0. Columns: the test samples; what the binary circuit, PST and `hard` "
        "decide (grey: a tie); the share of UNKNOWN outputs of PST and of `hard`.",
        figures={"boundaries": drawings.boundary_figure(circuits)},
    )


def _coverage(results: Results, scale: Scale) -> Section:
    curves: dict[str, dict[str, Evaluation]] = {}
    for task in ("spirals", "moons", "gaussians"):
        curves[task] = {
            recipe: results[task_runs(scale, task, recipe)[0].key].evaluation
            for recipe in ("dlgn", "paper", "hard")
        }
    falls = [
        task
        for task, by_recipe in curves.items()
        if max(np.diff(by_recipe["paper"].coverage_curve["accuracy"]), default=0) > 0.01
    ]
    return Section(
        describe(scale)
        + " Seed 0. Samples with the largest margins come first; all three circuits "
        "have a margin.",
        figures={"coverage": drawings.coverage_figure(curves)},
        claims=[
            Claim(
                "Accuracy rises steadily as low margins are left out (no step back above 1 pp)",
                not falls,
                f"steps back on {_names(falls)}",
            )
        ],
    )


def _gates(results: Results, scale: Scale) -> Section:
    rows, distances = [], []
    for task in TASKS:
        theirs = published("gates")[task]
        census = {
            recipe: take_census(gate_id(circuit.table, circuit.valence), valence=circuit.valence)
            for recipe in ("dlgn", "paper", "hard")
            for circuit in [results[task_runs(scale, task, recipe)[0].key].netlist]
        }
        control = take_census(initial_gates(census["paper"].gates))
        distances.append(abs(census["paper"].effective / control.effective - 1))
        rows.append(
            [
                task,
                f"{theirs['unique']:.0f} / {theirs['effective']:.0f} / {theirs['redundancy']:.1f}",
                *(
                    f"{c.unique} / {c.effective:.0f} / {share(c.redundancy)}"
                    for c in (census["paper"], control, census["hard"])
                ),
                f"{theirs['binary_unique']:.0f} / {theirs['binary_effective']:.1f}",
                f"{census['dlgn'].unique} / {census['dlgn'].effective:.1f}",
            ]
        )
    return Section(
        describe(scale) + " Seed 0. Different gates / effective diversity / redundancy in percent. "
        "The control is the paper's initialisation, N(0, 0.45²), hardened without any training.",
        [
            PaperTable(
                ["task", "PST, paper", "PST δ=1", "untrained", "hard", "DLGN, paper", "DLGN"], rows
            )
        ],
        claims=[
            Claim(
                "PST discovers its diversity of gates by training",
                min(distances) > 0.25,
                "the effective diversity of untrained gates is within "
                f"{100 * max(distances):.0f} % of the trained ones' on every task",
            )
        ],
    )


def _loss_landscape_runs(scale: Scale) -> list[Run]:
    one = dataclasses.replace(scale, seeds=scale.seeds[:1])
    return [
        run
        for task in ("moons", "circles")
        for recipe in ("paper", "hard")
        for run in task_runs(one, task, recipe, layers=(128, 128, 128, 100), landscape=True)
    ]


def _loss_landscape(results: Results, scale: Scale) -> Section:
    found = {
        f"{run.dataset}, {drawings.LABELS[run.settings['recipe']]}": results[run.key].record[
            "landscape"
        ]
        for run in _loss_landscape_runs(scale)
    }
    return Section(
        describe(scale, "[128]³ + 100 gates, 3 thresholds")
        + " Loss and hardened validation accuracy "
        "on a plane through the trained parameters, spanned by two random directions; at ±1 every "
        "gate has moved by its own length. The paper speaks of narrow basins on Circles and "
        "Spirals without showing them.",
        figures={"loss-landscape": drawings.loss_landscape_figure(found)},
    )


SYNTHETIC = (
    Experiment(
        "synthetic",
        "Ternary and binary on five tasks",
        _five_tasks,
        _synthetic,
        "table *Ternary vs. binary: accuracy, abstention, and selective prediction*",
    ),
    Experiment("gap", "Hardening gap", _paper_and_hard, _gap, "figure *Hardening gap*"),
    Experiment(
        "boundaries",
        "Decision boundaries",
        _paper_and_hard,
        _boundaries,
        "figure *Decision boundary gallery*",
    ),
    Experiment(
        "coverage",
        "Accuracy and coverage",
        _paper_and_hard,
        _coverage,
        "figure *Accuracy vs. coverage*",
    ),
    Experiment(
        "gates",
        "Gate diversity, five tasks",
        _paper_and_hard,
        _gates,
        "table *Gate diversity (both architectures, all datasets)*",
    ),
    Experiment("loss-landscape", "Loss landscape", _loss_landscape_runs, _loss_landscape),
)
"""The experiments, in the order of the page."""
