# amaranth: UnusedElaboratable=no
# A tool can fail before a component is used, and a classifier is made to ask for its plans, too.
"""The whole hardware of a netlist, with streams at both ends, as Verilog."""

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

from trilut.circuit.interface import InputKind
from trilut.circuit.optimize import optimize
from trilut.circuit.sequential import Circuit, SequentialNetlist
from trilut.errors import NetlistError
from trilut.files import work_directory, write_atomically
from trilut.hdl.axi import AxiClassifier
from trilut.hdl.classifier import Classifier
from trilut.hdl.conversion import convert, convert_to_rtlil, convert_with_version
from trilut.hdl.design import Design
from trilut.hdl.header import design_header
from trilut.hdl.layer import Layer
from trilut.hdl.lint import LINT_OFF, LINT_ON
from trilut.hdl.options import Fabric, HardwareOptions
from trilut.hdl.plan import LayerPlan
from trilut.hdl.sums.models import PRIMITIVE_MODELS
from trilut.identifier import check_identifier

__all__ = ["build_classifier", "classifier_component", "design_of", "write_streams"]

# Amaranth numbers the bits of what an instance or a register drives with 16 bits.
_MAX_BITS = 1 << 16
# So it does with those of all input ports together; handshake, clock and the like are among them.
_MAX_INPUT_BITS = _MAX_BITS - 64


def write_streams(
    netlist: Circuit, directory: Path, options: HardwareOptions, *, is_rtlil: bool
) -> Design:
    """Write what :func:`trilut.hdl.write_verilog` says, by options that leave nothing open."""
    models = PRIMITIVE_MODELS.get(options.sums or "", "")
    check_identifier(options.top, re.findall(r"^module (\w+)", models, flags=re.MULTILINE))
    classifier = build_classifier(netlist, options)
    component = classifier_component(classifier)
    with work_directory(directory, logs=directory / "logs") as work:
        layers = list(_layers(classifier, work))
        if is_rtlil:
            text = convert_to_rtlil(component, options.top, layers, work)
        else:
            body, converter = convert_with_version(component, options.top, work)
            header = design_header(
                netlist, classifier.netlist, component.interface, options, converter=converter
            )
            text = "\n".join([header, LINT_OFF, body, LINT_ON, *layers])
    path = directory / f"{options.top}.{'il' if is_rtlil else 'v'}"
    write_atomically(path, text)
    return design_of(netlist, options, path, classifier)


def classifier_component(classifier: Classifier) -> Classifier | AxiClassifier:
    """Return the top module: the classifier, or what puts AXI4-Streams around it."""
    is_plain = classifier.options.axi_beat_bits is None
    return classifier if is_plain else AxiClassifier(classifier)


def design_of(
    netlist: Circuit, options: HardwareOptions, path: Path, classifier: Classifier | None = None
) -> Design:
    """Return the design that options make of a netlist, as it stands in a file.

    Raises
    ------
    NetlistError
        If the netlist cannot take the input, or Amaranth cannot carry a vector of it.
    """
    built = classifier or build_classifier(netlist, options)
    return Design(
        path,
        options.top,
        classifier_component(built).interface,
        PRIMITIVE_MODELS.get(options.sums or "", ""),
        options=options,
        netlist=netlist,
        circuit=built.netlist,
        plans=built.plans,
        classifier=built,
    )


def build_classifier(netlist: Circuit, options: HardwareOptions) -> Classifier:
    """Return the circuit of a netlist as hardware, with layers that are modules of their own.

    Raises
    ------
    NetlistError
        If the netlist cannot take the input or give what is asked for, or Amaranth cannot carry a
        vector of it.
    """
    is_trits = options.input_kind is InputKind.TRITS
    circuit: Circuit = dataclasses.replace(netlist, encoder=None) if is_trits else netlist
    options.check_head(circuit)
    _check_input(circuit, options)
    if options.optimized:
        circuit = (
            circuit.optimized()
            if isinstance(circuit, SequentialNetlist)
            else optimize(circuit).netlist
        )

    def module(plan: LayerPlan) -> str:
        return f"{options.top}_layer_{plan.level}"

    classifier = Classifier(
        circuit, options, layer_module=module, state_module=f"{options.top}_state"
    )
    _check_widths(classifier)
    return classifier


def _check_input(netlist: Circuit, options: HardwareOptions) -> None:
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


def _layers(classifier: Classifier, work: Path) -> Iterator[str]:
    """Give the Verilog of each layer, and of the states if there are any."""
    assert classifier.layer_module is not None
    for plan in classifier.plans:
        if classifier.options.fabric is Fabric.AMARANTH:
            # On its own: inside a design, Amaranth takes the vectors at its border apart.
            layer = Layer(classifier.netlist, plan, has_components=True)
            yield convert(layer, classifier.layer_module(plan), work)
        else:
            yield classifier.layer_text(plan)
    if text := classifier.state_text():
        yield text
