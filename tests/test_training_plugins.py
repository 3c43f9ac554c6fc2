import importlib
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import trilut.training
from trilut import plugins
from trilut.data import load_dataset
from trilut.training import TrainingConfig, TrainingError, train
from trilut.training.config import add_settings
from trilut.training.settings.recipes import RECIPES
from trilut.training.settings.wirings import WIRINGS

# The package that docs/training.md shows.
_, DOCS = (
    (Path(__file__).parent.parent / "docs/training.md").read_text().split("## Your own recipe")
)
CODE, POINTS = (re.search(rf"```{kind}\n(.*?)```", DOCS, re.S)[1] for kind in ("python", "toml"))

SHORT = {"layers": (24, 16), "steps": 60, "evaluate_every": 30}


def write_package(path, *, code=CODE, points=None):
    """Write a package as installed ones are, with its entry points."""
    points = points or tomllib.loads(POINTS)["project"]["entry-points"]
    (path / "steep.py").write_text(code)
    metadata = path / "steep-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: steep\nVersion: 1.0\n")
    groups = (
        "\n".join([f"[{group}]", *(f"{name} = {where}" for name, where in entries.items())])
        for group, entries in points.items()
    )
    (metadata / "entry_points.txt").write_text("\n".join(groups) + "\n")


@pytest.fixture
def install(tmp_path, monkeypatch):
    def install(**package):
        write_package(tmp_path, **package)
        monkeypatch.syspath_prepend(tmp_path)
        importlib.invalidate_caches()
        plugins.installed.cache_clear()

    yield install
    plugins.installed.cache_clear()
    sys.modules.pop("steep", None)


@pytest.fixture(scope="module")
def moons():
    return load_dataset("moons")


def test_every_public_name_is_there():
    assert all(hasattr(trilut.training, name) for name in trilut.training.__all__)


def refusal(**settings):
    with pytest.raises(TrainingError) as caught:
        TrainingConfig.of(layers=(4, 2), **settings)
    return str(caught.value)


def test_recipe_and_wiring_of_a_package_train(install, moons):
    install()
    config = TrainingConfig.of(recipe="steep", wiring="stride", stride=3, **SHORT)
    result = train(moons, config)
    assert result.hardened.test > 0.8
    first = np.arange(24)
    num_inputs = result.netlist.num_inputs
    np.testing.assert_array_equal(result.netlist.a[:24], first % num_inputs)
    np.testing.assert_array_equal(result.netlist.b[:24], (first + 3) % num_inputs)
    settings = result.netlist.provenance["training"]
    assert (settings["recipe"], settings["steepness"]) == ("steep", 2)
    assert (settings["wiring"], settings["stride"]) == ("stride", 3)
    assert TrainingConfig.of(**settings) == config
    # Twice as steep as 'hard' by default: the factor of tau is 1 and not 1/2.
    hard = train(moons, TrainingConfig.of(wiring="stride", stride=3, **SHORT))
    assert (result.netlist.table == hard.netlist.table).all()


def test_training_by_a_package_is_resumed(install, moons, tmp_path):
    install()
    config = TrainingConfig.of(recipe="steep", wiring="stride", **SHORT)
    run = tmp_path / "run"
    whole = train(moons, config, directory=run).netlist
    assert trilut.digest(train(moons, config, directory=run, resume=True).netlist) == trilut.digest(
        whole
    )
    other = TrainingConfig.of(recipe="steep", wiring="stride", steepness=3, **SHORT)
    with pytest.raises(TrainingError, match=r"setting 'steepness' is 3 now, but was 2$"):
        train(moons, other, directory=run, resume=True)


def test_names_are_known_before_the_package_is_loaded(install):
    install()
    assert RECIPES.names[-2:] == ("dlgn-naive", "steep")
    assert WIRINGS.names == ("random", "unique", "local", "learned", "stride")
    assert "steep" not in sys.modules


def test_settings_of_a_package(install):
    install()
    assert add_settings({}, ["steepness=5"]) == {"steepness": 5}
    assert refusal(steepness=5) == (
        "Setting 'steepness' is 5, but it is of the recipe 'steep', not of 'hard'"
    )
    assert refusal(recipe="steep", steepness=0) == "Setting 'steepness' is 0, expected 1…100"
    assert refusal(recipe="steep", noise=0.1) == (
        "Setting 'noise' is 0.1, but it is of the recipe 'noise', not of 'steep'"
    )
    assert refusal(wiring="strid") == (
        "Setting 'wiring' is 'strid', expected 'random' or 'unique' or 'local' or 'learned' or "
        "'stride'; did you mean 'stride'?"
    )
    message = refusal(stepness=5)
    assert message.startswith("There is no setting 'stepness', expected one of recipe, valence, ")
    assert message.endswith(", seed; did you mean 'steepness'?")


def test_package_that_cannot_be_loaded(install):
    install(code="import nothing_such", points={"trilut.recipes": {"steep": "steep:Steep"}})
    assert refusal(recipe="steep") == (
        "Cannot load the recipe 'steep' from 'steep:Steep': No module named 'nothing_such'"
    )
    assert TrainingConfig.of(layers=(4, 2)).recipe.name == "hard"


@pytest.mark.parametrize(
    ("points", "settings", "message"),
    [
        (
            {"trilut.recipes": {"steep": "steep:Gone"}},
            {"recipe": "steep"},
            "Cannot load the recipe 'steep' from 'steep:Gone': "
            "module 'steep' has no attribute 'Gone'",
        ),
        (
            {"trilut.recipes": {"steep": "steep:Stride"}},
            {"recipe": "steep"},
            "Cannot take the recipe 'steep' from 'steep:Stride': "
            "expected a subclass of trilut.training.RecipeSettings",
        ),
        (
            {"trilut.wirings": {"step": "steep:Stride"}},
            {"wiring": "step"},
            "Cannot take the wiring 'step' from 'steep:Stride': its own name is 'stride'",
        ),
        (
            {"trilut.recipes": {"hard": "steep:Steep"}},
            {"recipe": "hard"},
            "There is more than one recipe 'hard': trilut.training.settings.recipes:Hard and "
            "steep:Steep",
        ),
    ],
)
def test_entry_point_that_leads_nowhere(install, points, settings, message):
    install(points=points)
    assert refusal(**settings) == message


def test_setting_with_the_name_of_another(install):
    install(code=CODE.replace("steepness", "steps"))
    assert refusal(recipe="steep") == "Setting 'steps' of Steep has the name of another one"


def test_recipe_that_ends_early(install):
    install(code=CODE.replace("course.steps", "course.steps - 1"))
    config = TrainingConfig.of(layers=(4, 2), recipe="steep")
    with pytest.raises(ValueError, match=r"^The recipe 'steep' ends before step 3000$"):
        config.phases(tau=1.0)


def run_trilut(path, *arguments):
    code = (
        "import sys\n"
        "from trilut.cli import main\n"
        "try:\n    status = main()\nexcept SystemExit as end:\n    status = end.code\n"
        "print(*({'jax', 'steep'} & set(sys.modules)), file=sys.stderr)\n"
        "sys.exit(status)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(path), "JAX_PLATFORMS": "cpu"},
    )
    return done.returncode, done.stdout, done.stderr


def test_command_line_knows_the_package(tmp_path):
    write_package(tmp_path)
    status, shown, loaded = run_trilut(tmp_path, "train", "--help")
    assert "--recipe {hard,paper,paper-then-hard,noise,dlgn,dlgn-naive,steep}" in shown
    assert "--wiring {random,unique,local,learned,stride}" in shown
    # Neither the package nor JAX has been loaded for that.
    assert (status, loaded) == (0, "\n")
    run = tmp_path / "run"
    train = ("train", "moons", "-o", str(run), "--layers", "24,16", "--steps", "20")
    status, _, _ = run_trilut(
        tmp_path, *train, "--recipe", "steep", "--wiring", "stride", "--set", "steepness=4"
    )
    assert status == 0
    settings = trilut.load(run / "net.trilut").provenance["training"]
    assert (settings["recipe"], settings["wiring"]) == ("steep", "stride")
    assert settings["steepness"] == 4
