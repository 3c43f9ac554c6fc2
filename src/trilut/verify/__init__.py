"""Verification: what was built computes what the netlist says, by simulation and by proof."""

from typing import TYPE_CHECKING

from trilut.lazy import lazy_names
from trilut.verify.result import ALL, Level, LevelResult, Outcome, Verification

if TYPE_CHECKING:
    from trilut.verify.levels import default_levels, verify, verify_design

__all__ = [
    "ALL",
    "Level",
    "LevelResult",
    "Outcome",
    "Verification",
    "default_levels",
    "verify",
    "verify_design",
]

# What needs Amaranth waits until somebody asks for it.
if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "default_levels": "trilut.verify.levels",
            "verify": "trilut.verify.levels",
            "verify_design": "trilut.verify.levels",
        },
    )
