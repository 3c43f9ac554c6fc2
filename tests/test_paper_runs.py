import json

import numpy as np
import pytest
import scipy.stats

import trilut
from trilut.cli import main
from trilut.data import load_dataset
from trilut.errors import TrilutError
from trilut.measure.evaluation import evaluate_split
from trilut.paper import EXPERIMENTS, SCALES
from trilut.paper.experiment import Claim, Experiment, PaperTable, Scale, Section
from trilut.paper.page import write_page
from trilut.paper.published import published
from trilut.paper.runner import needed_runs, run_paper, select_experiments
from trilut.paper.runs import Run, RunStore
from trilut.paper.sweeps import bayes_entropy, rank_correlation
from trilut.paper.theory import THEORY
from trilut.training import fit_encoder

SETTINGS = {
    "recipe": "paper",
    "layers": (8, 8, 4),
    "steps": 20,
    "evaluate_every": 10,
    "keep": "last",
    "seed": 0,
}
TINY = Run("moons:train=100,validation=50,test=60", SETTINGS, landscape=True)


def no_progress(share, info):
    pass


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    store = RunStore(tmp_path_factory.mktemp("paper") / "runs")
    return store, store.train(TINY, no_progress)


def test_key_is_of_all_that_decides_the_result():
    same = Run(TINY.dataset, dict(SETTINGS), landscape=True)
    assert same.key == TINY.key
    others = [
        Run("moons", SETTINGS, landscape=True),
        Run(TINY.dataset, {**SETTINGS, "seed": 1}, landscape=True),
        Run(TINY.dataset, SETTINGS, images=(80, 41), landscape=True),
        Run(TINY.dataset, SETTINGS),
        Run(TINY.dataset, SETTINGS, landscape=True, informed_by=0.5),
    ]
    assert len({TINY.key, *(run.key for run in others)}) == 6


def test_informed_binary_circuit_tells_apart_what_a_ternary_one_does(tmp_path):
    settings = {**SETTINGS, "recipe": "dlgn", "thresholds": 3}
    run = Run(TINY.dataset, settings, images=(90, 40), informed_by=0.5)
    binary = RunStore(tmp_path).train(run, no_progress)
    assert (len(binary.test), binary.record["layers"]) == (40, None)
    train = load_dataset(TINY.dataset).train.x[:90]
    ternary = fit_encoder(train, ("x", "y"), thresholds=3, delta=0.5)
    assert binary.netlist.valence == 2
    cells = [np.unique(e.encode(train), axis=0) for e in (binary.netlist.encoder, ternary)]
    assert len(cells[0]) == len(cells[1])


def test_finished_run_is_found_again(trained):
    store, result = trained
    again = store.load(TINY)
    assert again is not None
    assert again.record == json.loads(json.dumps(result.record))
    assert np.array_equal(again.netlist.table, result.netlist.table)
    assert not list(result.directory.glob("checkpoint*"))


def test_unfinished_run_is_not_found(trained):
    store, _ = trained
    other = Run(TINY.dataset, {**SETTINGS, "seed": 7})
    assert store.load(other) is None


def test_record_is_what_the_netlist_does(trained):
    _, result = trained
    assert len(result.test) == 60
    assert evaluate_split(result.netlist, result.test) == result.evaluation
    assert result.record["layers"][0] == result.soft
    assert result.record["layers"][-1] == result.evaluation.accuracy
    assert result.gap == result.soft - result.evaluation.accuracy


def test_netlist_of_a_run_names_its_data(trained):
    _, result = trained
    netlist = trilut.load(result.directory / "net.trilut")
    assert netlist.provenance["data"] == {"name": TINY.dataset, "seed": 0}


def test_error_of_tables_is_between_its_bounds(trained):
    # Entries are at most half a step from a truth value inside the cube, and the square is smaller.
    errors = trained[1].record["tables"]
    assert 0 < errors["commitment"] <= errors["error"]


def test_landscape_has_the_trained_network_in_its_middle(trained):
    _, result = trained
    plane = result.record["landscape"]
    middle = len(plane["grid"]) // 2
    assert plane["grid"][middle] == 0
    assert plane["accuracy"][middle][middle] == pytest.approx(result.record["validation"])


def test_every_experiment_has_a_name_and_runs_that_are_shared():
    small = SCALES["small"]
    every = list(EXPERIMENTS.values())
    separate = sum(len(needed_runs([experiment], small)) for experiment in every)
    assert len(needed_runs(every, small)) < separate / 2
    work = {name: sum(r.work for r in needed_runs(every, s)) for name, s in SCALES.items()}
    assert work["full"] > 100 * work["small"]


def test_full_scale_is_the_papers():
    runs = needed_runs(select_experiments(["main"]), SCALES["full"])
    huge = next(run for run in runs if sum(run.settings["layers"]) == 512_000)
    assert huge.settings["steps"] == 200_000
    assert huge.images is None
    tasks = needed_runs(select_experiments(["synthetic"]), SCALES["full"])
    assert {run.settings["steps"] for run in tasks} == {5000}
    assert {run.settings["layers"] for run in tasks} == {(512, 512, 512, 200)}


def test_unknown_experiment():
    names = ", ".join(EXPERIMENTS)
    with pytest.raises(
        TrilutError,
        match=rf"^There is no experiment 'tables', expected all or some of {names}$",
    ):
        select_experiments(["gap", "tables"])


def test_command_without_an_experiment(capsys):
    assert main(["paper"]) == 1
    assert capsys.readouterr().err == (
        "trilut: error: No experiment is named; expected all, or names from trilut paper --list\n"
    )


def test_list_names_every_experiment(capsys):
    assert main(["paper", "--list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert set(listed) == set(EXPERIMENTS)
    assert listed["configs"].endswith("0 trainings")
    assert listed["delta"].endswith(": 8 trainings")
    assert main(["paper", "--list", "--json", "--seeds", "2"]) == 0
    assert json.loads(capsys.readouterr().out)["delta"].endswith(": 16 trainings")


@pytest.mark.parametrize("name", ["main", "hardening", "synthetic", "separation", "gates"])
def test_published_tables_are_complete(name):
    table = published(name)
    assert len(table) >= 5
    assert len({tuple(row) for row in table.values()}) == 1


def test_published_gaps_are_soft_minus_circuit():
    # The paper prints rounded figures.
    for row in published("main").values():
        assert row["gap"] == pytest.approx(row["soft"] - row["circuit"], abs=0.11)


def test_theory_says_what_holds_and_what_does_not():
    section = THEORY[0].build({}, SCALES["small"])
    assert [claim.holds for claim in section.claims] == [
        *(True, True, True),
        *(False, False, False, False),
    ]


def test_command_writes_the_page(tmp_path, capsys):
    assert main(["paper", "theory", "configs", "-o", str(tmp_path), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["trained"], result["kept"]) == (0, 0)
    page = (tmp_path / "results.md").read_text()
    assert "471 found" in page
    assert "| huge | 4 × 128,000 |" in page


def test_runs_are_trained_once_and_kept_on_resume(tmp_path, monkeypatch):
    experiment = Experiment(
        "one", "One run", lambda scale: [TINY], lambda r, scale: Section("note")
    )
    monkeypatch.setitem(EXPERIMENTS, "one", experiment)
    first = run_paper(["one"], tmp_path, scale=SCALES["small"])
    again = run_paper(["one"], tmp_path, scale=SCALES["small"], resume=True)
    assert (first.trained, first.kept, again.trained, again.kept) == (1, 0, 0, 1)
    assert again.cpu_seconds == first.cpu_seconds > 0


def test_trainings_in_processes_of_their_own_are_the_same(trained, tmp_path, monkeypatch):
    runs = [TINY, Run(TINY.dataset, {**SETTINGS, "seed": 1})]
    experiment = Experiment("two", "Two", lambda scale: runs, lambda r, scale: Section("note"))
    monkeypatch.setitem(EXPERIMENTS, "two", experiment)
    result = run_paper(["two"], tmp_path, scale=SCALES["small"], jobs=2)
    assert result.trained == 2
    apart = RunStore(tmp_path / "runs").load(TINY)
    assert np.array_equal(apart.netlist.table, trained[1].netlist.table)
    assert apart.evaluation == trained[1].evaluation


def test_failure_in_another_process_is_told(tmp_path, monkeypatch):
    bad = [Run(TINY.dataset, {**SETTINGS, "layers": (8, 3), "seed": s}) for s in (0, 1)]
    experiment = Experiment("bad", "Bad", lambda scale: bad, lambda r, scale: Section("note"))
    monkeypatch.setitem(EXPERIMENTS, "bad", experiment)
    message = "^The last layer has 3 gates, expected a multiple of the 2 classes$"
    with pytest.raises(TrilutError, match=message):
        run_paper(["bad"], tmp_path, scale=SCALES["small"], jobs=2)


def test_page_shows_tables_figures_and_verdicts(tmp_path):
    experiment = Experiment(
        "x", "A title, with (marks)", lambda scale: [], lambda r, scale: section
    )
    section = Section(
        "How it was done.",
        [PaperTable(["a", "b"], [["1", "2"]])],
        {"figure": "<svg/>"},
        [Claim("It rises", True, "1 → 2"), Claim("Ours falls", False, "2 → 3", ours=True)],
    )
    page = write_page({experiment: section}, Scale("full", (0,), 10), 90.0, tmp_path)
    text = page.read_text()
    assert "| a | b |\n|---|---:|\n| 1 | 2 |" in text
    assert "| holds | It rises | 1 → 2 | [x](#a-title-with-marks) |" in text
    assert "| **does not** | Ours falls | 2 → 3 | [x](#a-title-with-marks) |" in text
    assert "![A title, with (marks)](results/figure.svg)" in text
    assert (tmp_path / "results" / "figure.svg").read_text() == "<svg/>\n"


def test_shrunk_networks_do_not_refute_the_paper(tmp_path):
    claims = [Claim("Theirs", False, "1"), Claim("Ours", False, "2", ours=True)]
    section = Section("note", claims=claims, is_shrunk=True)
    experiment = Experiment("x", "X", lambda scale: [], lambda r, scale: section)
    text = write_page({experiment: section}, SCALES["small"], 90.0, tmp_path).read_text()
    assert "| not at this scale | Theirs |" in text
    assert "| **does not** | Ours |" in text


@pytest.mark.parametrize("seed", range(3))
def test_rank_correlation_is_spearmans(seed):
    generator = np.random.default_rng(seed)
    x = generator.integers(0, 9, 200)
    y = x + generator.normal(0, 3, 200).round()
    assert rank_correlation(x, y) == pytest.approx(scipy.stats.spearmanr(x, y).statistic)


def test_rank_correlation_with_a_constant_is_none_at_all():
    assert rank_correlation(np.ones(5), np.arange(5)) == 0


def test_entropy_is_one_bit_half_way_and_falls_to_both_sides():
    points = np.array([[0.0, 0.0], [1.0, -1.0], [0.5, 0.5], [2.0, 2.0], [-2.0, -2.0], [99.0, 99.0]])
    entropy = bayes_entropy(points, 3.0)
    assert entropy[:2].tolist() == [1, 1]
    assert entropy[0] > entropy[2] > entropy[3] == pytest.approx(entropy[4])
    assert entropy[5] == pytest.approx(0, abs=1e-12)
    p = 1 / (1 + np.exp(-3.0 * 4 / np.sqrt(2)))
    assert entropy[3] == pytest.approx(scipy.stats.entropy([p, 1 - p], base=2))
