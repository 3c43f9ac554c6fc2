import json
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import trilut

ROOT = Path(__file__).parent.parent
CORE = ROOT / "src" / "trilut"
STAGES = ("training", "hdl", "sim", "synth", "boards")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_stage_links_show_the_root_folders():
    for stage in STAGES:
        link = ROOT / "src" / "trilut" / stage
        assert link.is_symlink()
        assert link.resolve() == ROOT / stage


def test_package_list_names_every_folder_with_code():
    folders = (CORE, *(ROOT / stage for stage in STAGES))
    names = {folder: "trilut" if folder == CORE else f"trilut.{folder.name}" for folder in folders}
    found = {
        ".".join((names[folder], *init.parent.relative_to(folder).parts))
        for folder in folders
        for init in folder.rglob("__init__.py")
    }
    assert set(PROJECT["tool"]["setuptools"]["packages"]) == found


@pytest.fixture(scope="module")
def distributions(tmp_path_factory):
    """Build the source distribution, and the wheel from it, as a release does."""
    # In a copy, because setuptools would put what an earlier build left behind into the wheel.
    copy = tmp_path_factory.mktemp("source")
    for name in ("src", *STAGES):
        shutil.copytree(
            ROOT / name,
            copy / name,
            symlinks=True,
            ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"),
        )
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    out = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", out, copy],
        check=True,
        capture_output=True,
    )
    return out


@pytest.fixture(scope="module")
def wheel(distributions):
    (path,) = distributions.glob("*.whl")
    return path


def test_an_index_would_take_the_distributions(distributions):
    pytest.importorskip("twine", reason="no Python package twine")
    files = sorted(map(str, distributions.iterdir()))
    assert len(files) == 2
    command = [sys.executable, "-m", "twine", "check", "--strict", *files]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout


def test_wheel_holds_every_source_file(wheel):
    folders = (CORE, *(ROOT / stage for stage in STAGES))
    expected = {
        str(Path("trilut", "" if folder == CORE else folder.name, path.relative_to(folder)))
        for folder in folders
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    names = zipfile.ZipFile(wheel).namelist()
    assert {name for name in names if not name.startswith("trilut-")} == expected


def test_wheel_works_outside_of_the_tree(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    code = (
        "import sys\n"
        f"sys.path.insert(0, {str(tmp_path / 'site')!r})\n"
        "import trilut\n"
        "from trilut.cli import main\n"
        "print(trilut.__file__)\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    net = str(ROOT / "tests" / "regression" / "one_gate.trilut")
    # The page is made of files beside the modules.
    command = [sys.executable, "-c", code, "explorer", net, "-o", "page.html"]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith(str(tmp_path / "site"))


@pytest.mark.slow
def test_demo_runs_from_the_wheel_in_an_empty_environment(wheel, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "env"], check=True)
    python = tmp_path / "env" / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet", f"{wheel}[all]"]
    subprocess.run(install, check=True, capture_output=True)
    command = [tmp_path / "env" / "bin" / "trilut", "flow", "moons", "-o", "moons", "--json"]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["verification"]["passed"]
    assert (tmp_path / "moons" / "explorer.html").exists()


def test_version_stands_in_one_place():
    places = [
        path
        for path in (*ROOT.glob("*"), *ROOT.glob("src/trilut/*.py"), ROOT / "docs" / "install.md")
        if path.is_file() and f'"{trilut.__version__}"' in path.read_text()
    ]
    assert places == [ROOT / "pyproject.toml"]
    assert PROJECT["project"]["version"] == trilut.__version__


def test_workflows_run_what_developers_run():
    workflows = {path.stem: path.read_text() for path in (ROOT / ".github").glob("workflows/*")}
    assert "- run: .ci/run\n" in workflows["ci"]
    assert "- run: make test-all\n" in workflows["nightly"]


def test_help_imports_no_stage():
    code = (
        "import sys\n"
        "from trilut.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'jax', 'amaranth', 'cocotb', 'matplotlib', 'sklearn', 'rich'}\n"
        "sys.exit(len(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.returncode == 0


def test_every_public_name_exists():
    assert all(hasattr(trilut, name) for name in trilut.__all__)
    with pytest.raises(AttributeError, match=r"^module 'trilut' has no attribute 'nothing'$"):
        trilut.nothing  # noqa: B018
