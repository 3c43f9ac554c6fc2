"""A simulation that is built already, of a design that can be told to do one thing wrong."""

import dataclasses
import shutil
from pathlib import Path

from trilut import sim


@dataclasses.dataclass(frozen=True)
class Prebuilt:
    """A simulator that has built its design before, with a number that chooses a fault."""

    simulator: sim.Simulator
    source: Path
    fault: int = 0

    @property
    def name(self):
        return self.simulator.name

    @property
    def version(self):
        return self.simulator.version

    @property
    def environment(self):
        return self.simulator.environment

    def arguments(self, seed, level=None):
        return [*self.simulator.arguments(seed, level), f"+fault={self.fault}"]

    def build(self, design, directory, *, timeout):
        for name in (design.top, "sim.vvp"):
            if (self.source / name).exists():
                shutil.copy(self.source / name, directory)
