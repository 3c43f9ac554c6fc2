"""Names of signals after mapping: what the tools call a net, and what the design called it."""

import re
from collections.abc import Mapping

from trilut.synth.yosys import Bit, Cell, Module

__all__ = ["Signals"]

# What :meth:`trilut.hdl.Classifier.net_of` understands.
_KNOWN = re.compile(r"(?:.*\.)?(?:layer_[0-9]+\.[io]|groupsum\.(?:i|class_[0-9]+_input))(?:\[|$)")
# nextpnr-ice40 packs a LUT and a register into one cell, and names it after one of them.
_PACKED = re.compile(r"_(?:DFF)?LC$")
_OUTPUTS = ("Q", "Z", "O", "F")


class Signals:
    """The nets of a flattened design.

    Parameters
    ----------
    module : mapping
        The module, as Yosys writes it in JSON.
    """

    def __init__(self, module: Module):
        self._cells: Mapping[str, Cell] = module["cells"]
        self._bits: dict[str, Bit] = {}
        self._known: dict[Bit, str] = {}
        for name, net in module["netnames"].items():
            offset, is_vector = net.get("offset", 0), len(net["bits"]) > 1
            for index, bit in enumerate(net["bits"], start=offset):
                text = f"{name}[{index}]" if is_vector else name
                self._bits[text] = bit
                if _KNOWN.match(text):
                    self._known[bit] = text

    def name(self, net: str) -> str:
        """Return what the design called a net, or the name itself if it had no name of ours."""
        bit = self._bits.get(net)
        return net if bit is None else self._known.get(bit, net)

    def register_name(self, cell: str) -> str:
        """Return the net that a register drives, empty if the design has no name for it.

        Parameters
        ----------
        cell : str
            The register, or the LUT before it if both were packed into one cell.
        """
        bit = self._output(_PACKED.sub("", cell))
        if bit is None:
            return ""
        after = (self._output(name) for name in self._readers(bit))
        return next((self._known[b] for b in (bit, *after) if b in self._known), "")

    def _output(self, cell: str) -> Bit | None:
        wires = self._cells[cell]["connections"] if cell in self._cells else {}
        return next((wires[pin][0] for pin in _OUTPUTS if wires.get(pin)), None)

    def _readers(self, bit: Bit) -> list[str]:
        """Return the registers that take a bit."""
        return [
            name
            for name, cell in self._cells.items()
            if [bit] in (cell["connections"].get(pin) for pin in ("D", "DI"))
            and "Q" in cell["connections"]
        ]
