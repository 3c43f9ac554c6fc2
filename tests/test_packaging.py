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
def wheel(tmp_path_factory):
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
    out = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, copy],
        check=True,
        capture_output=True,
    )
    (path,) = out.glob("*.whl")
    return zipfile.ZipFile(path)


def test_wheel_holds_every_source_file(wheel):
    folders = (CORE, *(ROOT / stage for stage in STAGES))
    expected = {
        str(Path("trilut", "" if folder == CORE else folder.name, path.relative_to(folder)))
        for folder in folders
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    packed = {name for name in wheel.namelist() if not name.startswith("trilut-")}
    assert packed == expected


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
