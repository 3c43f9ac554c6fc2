"""Pages: HTML that shows results without a network."""

import os
import platform
from importlib.metadata import version

import jinja2

__all__ = ["machine_facts", "render_page"]

_ENVIRONMENT = jinja2.Environment(
    loader=jinja2.PackageLoader("trilut.report"),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def render_page(template: str, **values: object) -> str:
    """Fill in a template of the package; every value is escaped."""
    return _ENVIRONMENT.get_template(template).render(**values)


def machine_facts(*packages: str) -> dict[str, str]:
    """Say what a result was made on, and with which versions of some packages."""
    return {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}",
        "python": platform.python_version(),
        **{package: version(package) for package in packages},
    }
