"""What verification finds, level by level."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trilut.sim import RegressionResult
    from trilut.verify.bitstream import BitstreamResult
    from trilut.verify.coverage import Coverage
    from trilut.verify.proof.formal import Proof

__all__ = ["ALL", "Level", "LevelResult", "MappedResult", "Outcome", "Verification"]

ALL = "all"
"""Stands for every level."""


class Level(StrEnum):
    """What is compared with the netlist, and how."""

    RTL = "rtl"
    """The Verilog, simulated."""
    FORMAL = "formal"
    """The Verilog, proven for every input."""
    MAPPED = "mapped"
    """The netlist of the part's cells after synthesis, simulated, and proven equal to the RTL."""
    BITSTREAM = "bitstream"
    """The bitstream of an iCE40, read back and simulated through its pins."""


class Outcome(StrEnum):
    """How a level ended."""

    PASSED = "passed"
    """Nothing was wrong and everything was checked."""
    FAILED = "FAILED"
    """Something is wrong."""
    UNPROVEN = "not proven"
    """Nothing is known to be wrong, but the proof did not come to its end."""
    NOT_RUN = "not run"
    """A tool is missing or failed, and the level was not asked for by its name."""


@dataclass(frozen=True, slots=True)
class MappedResult:
    """What the simulation of a part's cells found, and what is proven of them.

    Parameters
    ----------
    target : str
        The part.
    regression : RegressionResult
        The simulation.
    cells : str
        What is proven of the cells; empty if nothing was tried.
    """

    target: str
    regression: "RegressionResult"
    cells: str = ""


@dataclass(frozen=True, slots=True)
class LevelResult:
    """What one level found.

    Parameters
    ----------
    level : Level
        The level.
    outcome : Outcome
        How it ended.
    verdict : str
        What was found, in a line.
    seconds : float
        Time it took.
    finding : optional
        Everything; None if the level was not run.
    """

    level: Level
    outcome: Outcome
    verdict: str
    seconds: float
    finding: "RegressionResult | Proof | MappedResult | BitstreamResult | None" = None

    @property
    def claims(self) -> Mapping[str, str]:
        """What was proven, claim by claim."""
        if self.level is Level.FORMAL:
            proven: Mapping[str, str] = getattr(self.finding, "proven", {})
            return proven
        cells: str = getattr(self.finding, "cells", "")
        return {"cells": cells} if cells else {}


@dataclass(frozen=True, slots=True)
class Verification:
    """What a verification found.

    Parameters
    ----------
    levels : tuple of LevelResult
        In the order they were run.
    coverage : Coverage, optional
        Functional coverage of the simulated vectors; None if it was not measured.
    sha256 : str
        Of the Verilog file that was verified.
    netlist_sha256 : str
        Of the netlist that it was compared with.
    """

    levels: tuple[LevelResult, ...]
    coverage: "Coverage | None" = None
    sha256: str = ""
    netlist_sha256: str = ""

    @property
    def passed(self) -> bool:
        """Whether every level that was run passed, and one was."""
        outcomes = {result.outcome for result in self.levels}
        return Outcome.PASSED in outcomes and outcomes <= {Outcome.PASSED, Outcome.NOT_RUN}
