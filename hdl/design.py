# amaranth: UnusedElaboratable=no
# A classifier is made to ask for its plans, too.
"""A design: Verilog on disk, what it was made from, and what the stages after it must know."""

import dataclasses
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from trilut.circuit.interface import InputKind, VerilogModule
from trilut.circuit.netlist import Netlist
from trilut.circuit.optimize import optimize
from trilut.errors import NetlistError
from trilut.files import read_bytes
from trilut.hdl.classifier import Classifier
from trilut.hdl.options import HardwareOptions
from trilut.hdl.plan import LayerPlan

__all__ = ["Design", "build_classifier"]

# Amaranth numbers the bits of what an instance or a register drives with 16 bits.
_MAX_BITS = 1 << 16
# So it does with those of all input ports together; handshake, clock and the like are among them.
_MAX_INPUT_BITS = _MAX_BITS - 64


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


def build_classifier(netlist: Netlist, options: HardwareOptions) -> Classifier:
    """Return the circuit of a netlist as hardware, with layers that are modules of their own.

    Raises
    ------
    NetlistError
        If the netlist cannot take the input or give what is asked for, or Amaranth cannot carry a
        vector of it.
    """
    is_trits = options.input_kind is InputKind.TRITS
    circuit = dataclasses.replace(netlist, encoder=None) if is_trits else netlist
    options.check_head(circuit)
    _check_input(circuit, options)
    if options.optimized:
        circuit = optimize(circuit).netlist

    def module(plan: LayerPlan) -> str:
        return f"{options.top}_layer_{plan.level}"

    classifier = Classifier(circuit, options, layer_module=module)
    _check_widths(classifier)
    return classifier


def _check_input(netlist: Netlist, options: HardwareOptions) -> None:
    """Refuse vectors that Amaranth cannot carry before any work is done for them."""
    width = 2 * netlist.num_inputs
    if netlist.encoder is not None:
        features = netlist.encoder.features
        width = sum(feature.bits for feature in features)
        width += len(features) if options.presence_bits else 0
    if options.axi_beat_bits is not None:
        width += -width % options.axi_beat_bits
    if width > _MAX_INPUT_BITS:
        raise NetlistError(
            f"A vector of netlist {netlist.name!r} has {width} bits, but Amaranth can carry only "
            f"{_MAX_INPUT_BITS}; narrow its features (trilut optimize --feature-bits), or write "
            "its gates alone (--logic-only)"
        )


def _check_widths(classifier: Classifier) -> None:
    netlist = classifier.netlist
    widths = [len(plan.nets_out) for plan in classifier.plans]
    nets = max(netlist.num_inputs, len(netlist.outputs), *widths)
    if 2 * nets > _MAX_BITS:
        raise NetlistError(
            f"Netlist {netlist.name!r} has a layer of {nets} trits, but Amaranth can "
            f"carry only {_MAX_BITS // 2}; write its gates alone (--logic-only)"
        )
