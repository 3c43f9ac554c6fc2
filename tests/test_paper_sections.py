"""Every section from circuits that nobody trained: what a page needs is there and fits."""

import zlib

import numpy as np
import pytest
from circuits import random_netlist

import trilut
from trilut.data import load_dataset
from trilut.measure.evaluation import evaluate_split
from trilut.paper import EXPERIMENTS, SCALES
from trilut.paper.page import write_page
from trilut.paper.published import published
from trilut.paper.runs import RunResult
from trilut.report.summary import plain
from trilut.training import fit_encoder

SMALL = SCALES["small"]
GRID = [-1.0, 0.0, 1.0]


def random_circuit(run, seed):
    valence = 2 if "dlgn" in run.settings["recipe"] else 3
    if run.dataset == "cifar10":
        return random_netlist(
            seed, num_inputs=20, num_gates=60, num_outputs=20, valence=valence, num_classes=10
        )
    train = load_dataset(run.dataset).train
    encoder = fit_encoder(
        train.x, ("x", "y"), thresholds=2, delta=0.5 if valence == 3 else 0.0, valence=valence
    )
    netlist = random_netlist(
        seed,
        num_inputs=encoder.num_trits,
        num_gates=40,
        num_outputs=20,
        valence=valence,
        num_classes=2,
    )
    return trilut.Netlist.of_gates(
        netlist.num_inputs,
        netlist.table,
        netlist.a,
        netlist.b,
        netlist.outputs,
        valence=valence,
        encoder=encoder,
        head=netlist.head,
    )


def image_evaluation(generator):
    classes = {name: float(generator.uniform()) for name in published("classes")}
    return {
        "samples": 100,
        **{key: float(generator.uniform()) for key in ("accuracy", "unknown", "abstained")},
        **{key: float(generator.uniform()) for key in ("accuracy_at_90", "accuracy_at_50")},
        **{key: float(generator.uniform()) for key in ("ceiling", "coverage_area")},
        "margin": {"right": 2.0, "wrong": 1.0, "ranking": 0.6},
        "class_accuracy": classes,
        "confusion": [],
        "coverage_curve": {"margin": [], "coverage": [], "accuracy": []},
    }


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    directory = tmp_path_factory.mktemp("runs")
    found = {}
    for experiment in EXPERIMENTS.values():
        for run in experiment.runs(SMALL):
            seed = zlib.crc32(run.key.encode())
            generator = np.random.default_rng(seed)
            netlist = random_circuit(run, seed)
            path = directory / run.key
            path.mkdir(exist_ok=True)
            trilut.save(netlist, path / "net.trilut")
            if run.dataset == "cifar10":
                evaluation = image_evaluation(generator)
            else:
                evaluation = plain(evaluate_split(netlist, load_dataset(run.dataset).test))
            record = {
                "evaluation": evaluation,
                "soft": 0.75,
                "layers": [0.75, 0.7, 0.6],
                "tables": {"error": 0.1, "commitment": 0.02},
                "history": [{"step": n, "loss": 1 / n, "accuracy": 0.5} for n in (10, 20)],
                "cpu_per_step": float(generator.uniform(0.01, 0.02)),
                "cpu_seconds": 1.0,
                "landscape": {
                    "grid": GRID,
                    "loss": generator.uniform(size=(3, 3)).tolist(),
                    "accuracy": generator.uniform(size=(3, 3)).tolist(),
                },
            }
            found[run.key] = RunResult(run, record, path)
    return found


@pytest.fixture(scope="module")
def sections(results):
    return {experiment: experiment.build(results, SMALL) for experiment in EXPERIMENTS.values()}


def test_every_section_can_be_built(sections, tmp_path):
    for section in sections.values():
        for table in section.tables:
            assert table.rows
            assert {len(row) for row in table.rows} == {len(table.columns)}
        assert all(figure.startswith("<svg") for figure in section.figures.values())
    names = [name for section in sections.values() for name in section.figures]
    assert len(names) == len(set(names)) == 14
    page = write_page(sections, SMALL, 60.0, tmp_path).read_text()
    for experiment in EXPERIMENTS.values():
        assert f"\n## {experiment.title}\n" in page
        assert f"\nThe paper's {experiment.repeats}.\n" in page or not experiment.repeats
    assert "shrunk" in page


def test_claims_are_decided_by_the_runs(sections):
    # Random circuits reproduce nothing, and the page has to say so.
    claims = {claim.text: claim for section in sections.values() for claim in section.claims}
    lost = claims["`hard` loses nothing by hardening: its training forward is the circuit"]
    assert not lost.holds
    closed = claims["`hard` closes the gap at every size"]
    assert not closed.holds
    assert claims["471 of the 19,683 gates are threshold gates"].holds


def test_accuracies_stand_in_their_columns(results, sections):
    (table,) = sections[EXPERIMENTS["delta"]].tables
    runs = [run for run in EXPERIMENTS["delta"].runs(SMALL) if run.settings["recipe"] == "hard"]
    measured = [f"{100 * results[run.key].evaluation.accuracy:.1f}" for run in runs]
    assert [row[list(table.columns).index("hard")] for row in table.rows] == measured


def test_comparison_is_the_difference_of_the_runs(results, sections):
    section = sections[EXPERIMENTS["synthetic"]]
    text = "Ternary `hard` δ=.25 ≥ binary DLGN with 3 thresholds on all five"
    (claim,) = (claim for claim in section.claims if claim.text == text)
    runs = EXPERIMENTS["synthetic"].runs(SMALL)

    def accuracy(task, recipe, delta):
        (run,) = (
            run
            for run in runs
            if (run.dataset, run.settings["recipe"], run.settings["delta"]) == (task, recipe, delta)
            and run.informed_by is None
        )
        return results[run.key].evaluation.accuracy

    tasks = ("moons", "circles", "spirals", "gaussians", "ring_sector")
    differences = [accuracy(t, "hard", 0.25) - accuracy(t, "dlgn", 0.0) for t in tasks]
    assert claim.holds == (min(differences) >= 0)
    listed = zip(tasks, differences, strict=True)
    assert claim.evidence == ", ".join(f"{t} {100 * d:+.1f}" for t, d in listed) + " pp"
