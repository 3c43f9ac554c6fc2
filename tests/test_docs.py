"""The documentation: the site builds, commands exist, and tutorials end where they say."""

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from trilut.cli import command_parser

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
GUIDES = [
    ROOT / "README.md",
    *sorted(DOCS.glob("howto/*.md")),
    *sorted(DOCS.glob("tutorials/*.md")),
]
PARSER = command_parser()
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


def blocks(page, language=r"\w*"):
    """Return the blocks of a page as pairs of language and text."""
    text = page.read_text()
    return re.findall(rf"^```({language})\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def commands(page):
    """Return the command lines of a page, without what the shell does with them."""
    for _, text in blocks(page):
        for line in text.splitlines():
            if line.startswith("trilut "):
                yield re.split(r" (?:#|>|&&|;) ", f"{line} ")[0]


def test_site_builds_without_a_warning(tmp_path):
    pytest.importorskip("mkdocstrings", reason="no Python package mkdocstrings")
    pytest.importorskip("material", reason="no Python package mkdocs-material")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    ended = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    page = (tmp_path / "reference" / "commands.html").read_text()
    assert '<h2 id="explorer">' in page
    for html in tmp_path.rglob("*.html"):
        # The site loads nothing from a network.
        assert not re.search(r'<(?:script|link|img)[^>]*(?:src|href)="?https?:', html.read_text())
    names = (tmp_path / "reference" / "api" / "trilut.html").read_text()
    assert 'id="trilut.Netlist.evaluate"' in names


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_commands_of_a_page_exist(page):
    for line in commands(page):
        words = [word for word in shlex.split(line)[1:] if word != "&"]
        try:
            PARSER.parse_args(words)
        except SystemExit:
            pytest.fail(f"{page.name}: {line}")


def test_guides_have_commands():
    assert sum(len(list(commands(page))) for page in GUIDES) >= 60


@pytest.mark.slow
@pytest.mark.parametrize("name", ["first-circuit", "new-recipe"])
def test_tutorial_in_python_prints_what_it_says(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names, printed = {"__name__": "tutorial"}, ""
    for language, text in blocks(DOCS / "tutorials" / f"{name}.md"):
        if language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(text, name, "exec"), names)
            printed = out.getvalue()
        elif language == "text":
            assert printed == text


@pytest.mark.slow
def test_tutorial_from_a_table_to_a_board_ends_where_it_says(tmp_path):
    page = DOCS / "tutorials" / "csv-to-board.md"
    shutil.copy(ROOT / "examples" / "flowers.csv", tmp_path)
    script = "set -e\n" + "".join(text for _, text in blocks(page, "bash"))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ended = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"PATH": path, "COLUMNS": "80"},
        check=False,
    )
    printed = ended.stdout + ended.stderr
    assert ended.returncode == 0, printed
    for _, text in blocks(page, "text"):
        assert text in printed
    assert "never reached" not in printed
    assert len((tmp_path / "answers.csv").read_text().splitlines()) == 151


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path, tmp_path):
    nbformat = pytest.importorskip("nbformat", reason="no Python package nbformat")
    nbclient = pytest.importorskip("nbclient", reason="no Python package nbclient")
    notebook = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells)
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=900, resources=resources).execute()
