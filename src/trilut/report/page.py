"""Pages: HTML that shows results without a network."""

import os
import platform
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from trilut.extras import missing
from trilut.files import write_atomically
from trilut.text import visible

__all__ = ["PAGE_MODULES", "machine_facts", "render_page", "write_page"]

PAGE_MODULES = ("jinja2", "matplotlib")
"""What pages and their figures are made with; results can do without."""


def write_page(path: Path, render: Callable[[], str]) -> None:
    """Write a page; without the packages that it is made with there is none, nor an older one."""
    if missing(*PAGE_MODULES):
        path.unlink(missing_ok=True)
    else:
        write_atomically(path, render())


def render_page(template: str, **values: object) -> str:
    """Fill in a template of the package; every value is escaped, and no control character left."""
    text: str = _environment().get_template(template).render(**values)
    return visible(text)


@cache
def _environment() -> Any:
    import jinja2

    return jinja2.Environment(
        loader=jinja2.PackageLoader("trilut.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def machine_facts(*packages: str) -> dict[str, str]:
    """Say what a result was made on, and with which versions of some packages, if installed."""
    facts = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}",
        "python": platform.python_version(),
    }
    for package in packages:
        with suppress(PackageNotFoundError):
            facts[package] = version(package)
    return facts
