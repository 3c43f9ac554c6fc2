# amaranth: UnusedElaboratable=no
# A tool can fail before a component is used.
"""Verilog out: one file with the whole design and a header that says where it comes from."""

import re
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

from trilut.circuit.netlist import Netlist
from trilut.files import work_directory, write_atomically
from trilut.hdl.axi import AxiClassifier
from trilut.hdl.classifier import Classifier
from trilut.hdl.conversion import convert, convert_to_rtlil, convert_with_version
from trilut.hdl.design import Design, build_classifier
from trilut.hdl.fabric import layer_verilog
from trilut.hdl.header import design_header
from trilut.hdl.layer import Layer
from trilut.hdl.lint import LINT_OFF, LINT_ON
from trilut.hdl.manifest import write_manifest
from trilut.hdl.options import Fabric, HardwareOptions
from trilut.hdl.sums.cells import PRIMITIVE_MODELS
from trilut.identifier import check_identifier

__all__ = ["DesignFormat", "write_verilog"]


class DesignFormat(StrEnum):
    """Languages of a design; the value is also what its file name ends in."""

    VERILOG = "v"
    RTLIL = "il"


def write_verilog(
    netlist: Netlist,
    directory: str | Path,
    options: HardwareOptions | None = None,
    *,
    design_format: DesignFormat = DesignFormat.VERILOG,
) -> Design:
    """Write the hardware of a netlist into a directory, as ``TOP.v``, and ``TOP.json`` beside it.

    The latter is the manifest: what :func:`trilut.hdl.read_design` makes the same design of again.

    Parameters
    ----------
    netlist : Netlist
        The circuit.
    directory : path
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
    directory = Path(directory)
    options = (options or HardwareOptions()).for_netlist(netlist)
    models = PRIMITIVE_MODELS.get(options.sums, "")
    check_identifier(options.top, re.findall(r"^module (\w+)", models, flags=re.MULTILINE))
    classifier = build_classifier(netlist, options)
    component = classifier if options.axi_beat_bits is None else AxiClassifier(classifier)
    interface = component.interface
    with work_directory(directory, logs=directory / "logs") as work:
        layers = list(_layers(classifier, work))
        if design_format is DesignFormat.VERILOG:
            body, converter = convert_with_version(component, options.top, work)
            header = design_header(
                netlist, classifier.netlist, interface, options, converter=converter
            )
            text = "\n".join([header, LINT_OFF, body, LINT_ON, *layers])
        else:
            text = convert_to_rtlil(component, options.top, layers, work)
    path = directory / f"{options.top}.{design_format.value}"
    write_atomically(path, text)
    design = Design(
        path,
        options.top,
        interface,
        models,
        options=options,
        netlist=netlist,
        classifier=classifier,
    )
    write_manifest(design)
    return design


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
