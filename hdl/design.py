"""A design: Verilog on disk, what it was made from, and what the stages after it must know."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trilut.circuit.interface import VerilogModule
from trilut.circuit.netlist import Netlist
from trilut.circuit.sequential import Circuit
from trilut.errors import NetlistError
from trilut.files import read_bytes
from trilut.hdl.options import HardwareOptions
from trilut.hdl.plan import LayerPlan

if TYPE_CHECKING:
    from trilut.hdl.classifier import Classifier

__all__ = ["Design"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Design(VerilogModule):
    """What :func:`trilut.hdl.write_verilog` returns, and verification, synthesis and boards take.

    Parameters
    ----------
    options : HardwareOptions
        What shaped it.
    netlist : Netlist or SequentialNetlist
        The circuit that it was made from.
    circuit : Netlist
        The netlist as it was built, optimised unless the options say otherwise; of a circuit with
        state the core.
    plans : sequence of LayerPlan
        The layers of the circuit.
    classifier : Classifier, optional
        What was built; None if it is gates alone.
    """

    options: HardwareOptions
    netlist: Circuit
    circuit: Netlist
    plans: Sequence[LayerPlan]
    classifier: "Classifier | None" = None

    def __repr__(self) -> str:
        return f"<Design {self.top!r} in {str(self.path)!r}, {self.interface.latency} cycles>"

    @property
    def specification(self) -> Circuit:
        """What it must compute: the netlist without the encoder or the head that it leaves out."""
        return self.interface.specification(self.netlist)

    @property
    def stateless(self) -> Netlist:
        """The circuit that it was made from, for what takes circuits without state alone.

        Raises
        ------
        NetlistError
            If it has state.
        """
        if not isinstance(self.netlist, Netlist):
            raise NetlistError(f"Netlist {self.netlist.name!r} has state, expected one without")
        return self.netlist

    @property
    def part_cells(self) -> tuple[str, ...]:
        """The cells of a part that the file instantiates; without any, every tool can read it."""
        text = read_bytes(self.path).decode(errors="replace")
        cells = re.findall(r"^module (\w+)", self.models, flags=re.MULTILINE)
        return tuple(cell for cell in cells if re.search(rf"^\s*{cell}\b", text, re.MULTILINE))

    @property
    def sha256(self) -> str:
        """What tells the file apart from all others."""
        return hashlib.sha256(read_bytes(self.path)).hexdigest()
