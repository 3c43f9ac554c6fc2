import pytest

import trilut
from trilut.app.console import stages
from trilut.app.train import train_in_stage
from trilut.app.tune import search_settings
from trilut.cli import main
from trilut.data import load_dataset
from trilut.training import TrainingConfig
from trilut.training.settings.tables import table_variants

TINY = {"layers": (8, 4), "steps": 20, "evaluate_every": 20}


def variants(dataset, *changes):
    return [
        TrainingConfig.for_dataset(dataset, **{**TINY, **change}).settings for change in changes
    ]


def search(dataset, output, tried, jobs=1):
    with stages() as show:
        return search_settings(dataset, output, tried, show.start("train"), jobs=jobs)


def validation(trial):
    return trilut.load(trial.net).provenance["accuracy"]["hardened"]["validation"]


def test_search_keeps_the_best_on_the_validation_samples(tmp_path):
    dataset = load_dataset("moons")
    tried = variants(dataset, {"learning_rate": 1e-9}, {"steps": 60}, {"steps": 40})
    best = search(dataset, tmp_path, tried)
    nets = sorted((tmp_path / "trials").glob("*/net.trilut"))
    assert len(nets) == 3
    values = [trilut.load(net).provenance["accuracy"]["hardened"]["validation"] for net in nets]
    assert validation(best) == max(values) > min(values)


def test_search_goes_on_with_what_is_finished(tmp_path, monkeypatch):
    dataset = load_dataset("moons")
    tried = variants(dataset, {}, {"tau": 2.0})
    first = search(dataset, tmp_path, tried[:1])
    trained = []
    from trilut.app import tune

    train_trial = tune.train_trial
    monkeypatch.setattr(
        tune, "train_trial", lambda *args: trained.append(args[2]) or train_trial(*args)
    )
    search(dataset, tmp_path, tried)
    assert [trial.settings["tau"] for trial in trained] == [2.0]
    assert first.net.exists()
    assert not list(tmp_path.glob("trials/*/checkpoint*"))


def test_samples_that_changed_are_trained_on_again(tmp_path):
    tried = variants(load_dataset("moons"), {})
    for seed in (0, 1):
        search(load_dataset("moons", seed=seed), tmp_path, tried)
    assert len(list(tmp_path.glob("trials/*"))) == 2


def test_variants_leave_what_the_user_has_chosen():
    settings = TrainingConfig.for_dataset(load_dataset("moons")).settings
    every = table_variants(settings, 2, given={})
    assert every[0] == settings
    assert len({str(each) for each in every}) == len(every)
    for each in table_variants(settings, 2, given={"layers": settings["layers"], "tau": None}):
        assert (each["layers"], each["tau"]) == (settings["layers"], settings["tau"])
    for each in every:
        TrainingConfig.of(**each).head(("a", "b"))


def test_best_effort_writes_the_netlist_of_a_trial(tmp_path, monkeypatch):
    from trilut.app import train

    def few(settings, num_classes, *, given):
        return table_variants(settings, num_classes, given=given)[:2]

    monkeypatch.setattr(train, "table_variants", few)
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    with stages() as show:
        trained = train_in_stage(
            load_dataset("moons"), tmp_path, TINY, show.start("train"), effort="best"
        )
    assert trained.history[-1]["step"] == 20
    assert (tmp_path / "metrics.jsonl").exists()
    nets = [net.read_bytes() for net in tmp_path.glob("trials/*/net.trilut")]
    assert len(nets) == 2
    assert (tmp_path / "net.trilut").read_bytes() in nets


def test_best_effort_on_a_mesh(tmp_path, capsys):
    command = ["train", "moons", "--effort", "best", "--mesh", "1x1", "-o", str(tmp_path)]
    assert main(command) == 1
    assert capsys.readouterr().err.splitlines()[-1] == (
        "trilut: error: A search trains on one device at a time; leave out --mesh"
    )


@pytest.mark.slow
def test_search_on_both_cores_finds_the_same(tmp_path):
    dataset = load_dataset("moons")
    tried = variants(dataset, {}, {"tau": 2.0}, {"steps": 40})
    alone = search(dataset, tmp_path / "one", tried)
    together = search(dataset, tmp_path / "two", tried, jobs=2)
    assert alone.settings == together.settings
    assert alone.net.read_bytes() == together.net.read_bytes()
