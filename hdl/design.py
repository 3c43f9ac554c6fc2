"""A design: Verilog on disk, what it was made from, and what the stages after it must know."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from trilut.circuit.interface import VerilogModule
from trilut.circuit.netlist import Netlist
from trilut.files import read_bytes
from trilut.hdl.classifier import Classifier
from trilut.hdl.options import HardwareOptions
from trilut.hdl.plan import LayerPlan

__all__ = ["Design"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Design(VerilogModule):
    """What :func:`trilut.hdl.write_verilog` returns, and verification, synthesis and boards take.

    Parameters
    ----------
    options : HardwareOptions
        What shaped it.
    netlist : Netlist
        The circuit that it must compute.
    classifier : Classifier
        What was built.
    """

    options: HardwareOptions
    netlist: Netlist
    classifier: Classifier

    @property
    def circuit(self) -> Netlist:
        """The netlist as it was built, optimised unless the options say otherwise."""
        return self.classifier.netlist

    @property
    def plans(self) -> Sequence[LayerPlan]:
        """The layers of the circuit."""
        return self.classifier.plans

    @property
    def sha256(self) -> str:
        """What tells the file apart from all others."""
        return hashlib.sha256(read_bytes(self.path)).hexdigest()
