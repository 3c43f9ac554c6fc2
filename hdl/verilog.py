# amaranth: UnusedElaboratable=no
# A tool can fail before a component is used.
"""Verilog out: one file with the whole design and a header that says where it comes from."""

import dataclasses
import re
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

from trilut.circuit.interface import InputKind
from trilut.circuit.netlist import Netlist
from trilut.circuit.optimize import optimize
from trilut.errors import NetlistError
from trilut.files import work_directory, write_atomically
from trilut.hdl.axi import AxiClassifier
from trilut.hdl.classifier import Classifier
from trilut.hdl.conversion import convert, convert_to_rtlil, convert_with_version
from trilut.hdl.design import Design
from trilut.hdl.fabric import layer_verilog
from trilut.hdl.header import design_header
from trilut.hdl.layer import Layer
from trilut.hdl.lint import LINT_OFF, LINT_ON
from trilut.hdl.options import Fabric, HardwareOptions
from trilut.hdl.plan import LayerPlan
from trilut.hdl.sums.cells import PRIMITIVE_MODELS
from trilut.identifier import check_identifier

__all__ = ["DesignFormat", "write_verilog"]

# Amaranth numbers the bits of what an instance or a register drives with 16 bits.
_MAX_BITS = 1 << 16
# So it does with those of all input ports together; handshake, clock and the like are among them.
_MAX_INPUT_BITS = _MAX_BITS - 64


class DesignFormat(StrEnum):
    """Languages of a design; the value is also what its file name ends in."""

    VERILOG = "v"
    RTLIL = "il"


def write_verilog(
    netlist: Netlist,
    directory: Path,
    options: HardwareOptions | None = None,
    *,
    design_format: DesignFormat = DesignFormat.VERILOG,
) -> Design:
    """Write the hardware of a netlist into a directory, as ``TOP.v``.

    Parameters
    ----------
    netlist : Netlist
        The circuit.
    directory : Path
        Where to write; made if necessary.
    options : HardwareOptions, optional
        What shapes the hardware.
    design_format : DesignFormat
        Verilog, or Yosys's own RTLIL.

    Raises
    ------
    NetlistError
        If the name of the top module is not a plain Verilog identifier, or is a keyword or one of
        the part's cells, or the netlist cannot take that input.
    ToolError
        If Yosys is missing or fails; the log that the message names is kept in ``logs``.
    """
    options = (options or HardwareOptions()).for_netlist(netlist)
    models = PRIMITIVE_MODELS.get(options.sums, "")
    check_identifier(options.top, re.findall(r"^module (\w+)", models, flags=re.MULTILINE))
    classifier = _build(netlist, options)
    component = classifier if options.axi_beat_bits is None else AxiClassifier(classifier)
    interface = component.interface
    with work_directory(directory, logs=directory / "logs") as work:
        layers = list(_layers(classifier, work))
        if design_format is DesignFormat.VERILOG:
            body, yosys = convert_with_version(component, options.top, work)
            header = design_header(netlist, classifier.netlist, interface, options, yosys=yosys)
            text = "\n".join([header, LINT_OFF, body, LINT_ON, *layers])
        else:
            text = convert_to_rtlil(component, options.top, layers, work)
    path = directory / f"{options.top}.{design_format.value}"
    write_atomically(path, text)
    return Design(
        path,
        options.top,
        interface,
        models,
        options=options,
        netlist=netlist,
        classifier=classifier,
    )


def _build(netlist: Netlist, options: HardwareOptions) -> Classifier:
    """Return the design without streams of AXI4, and with layers that are modules of their own."""
    is_trits = options.input_kind is InputKind.TRITS
    circuit = dataclasses.replace(netlist, encoder=None) if is_trits else netlist
    _check_input(circuit, options)
    if options.optimized:
        circuit = optimize(circuit).netlist

    def module(plan: LayerPlan) -> str:
        return f"{options.top}_layer_{plan.level}"

    classifier = Classifier(circuit, options, layer_module=module)
    _check_widths(classifier)
    return classifier


def _layers(classifier: Classifier, work: Path) -> Iterator[str]:
    """Give the Verilog of each layer."""
    netlist, options, module = classifier.netlist, classifier.options, classifier.layer_module
    assert module is not None
    for plan in classifier.plans:
        if options.fabric is Fabric.AMARANTH:
            # On its own: inside a design, Amaranth takes the vectors at its border apart.
            layer = Layer(netlist, plan, has_components=True)
            yield convert(layer, module(plan), work)
        else:
            is_cells = options.has_lut_cells and plan.registered
            yield layer_verilog(netlist, plan, module(plan), lut_cells=is_cells)


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
