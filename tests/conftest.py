"""JAX at its strictest, shapes checked where arrays are computed with, golden files, no skips."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

# Read when JAX is imported, which only some tests do.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["JAX_NUMPY_DTYPE_PROMOTION"] = "strict"
os.environ["JAX_NUMPY_RANK_PROMOTION"] = "raise"

from jaxtyping import install_import_hook

# Parts of training whose types are not checked, each with its reason.
UNCHECKED = {
    "config": "its own messages about wrong settings are what the tests are after",
    "settings": "the same",
}

_TRAINING = Path(__file__).parent.parent / "training"
CHECKED = tuple(
    ".".join(("trilut.training", *path.relative_to(_TRAINING).with_suffix("").parts))
    for path in sorted(_TRAINING.rglob("*.py"))
    if path.name != "__init__.py"
    and path.relative_to(_TRAINING).with_suffix("").parts[0] not in UNCHECKED
)
"""Modules in which jaxtyping and beartype check every call: all of training, but for those."""

install_import_hook(CHECKED, "beartype.beartype")

# In CI the same examples every time: new ones are looked for by those who can mend what they find.
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")

# Under nohup it is ignored, here and in what the tests start, and some tests are about it.
signal.signal(signal.SIGHUP, signal.SIG_DFL)

_GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files")


@pytest.fixture
def golden(request):
    def check(name: str, text: str) -> None:
        path = _GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        assert text == path.read_text()

    return check


def pytest_sessionfinish(session, exitstatus):
    # A test whose tool is missing skips and says so; where everything must run, that is a failure.
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if exitstatus == 0 and os.environ.get("CI") and reporter.stats.get("skipped"):
        reporter.write_line("Some tests were skipped, and CI fails on a skip", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
