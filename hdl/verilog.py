# amaranth: UnusedElaboratable=no
# A tool can fail before a component is used.
"""Verilog out: one file with the whole design and a header that says where it comes from."""

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from trilut.circuit.netlist import Netlist
from trilut.circuit.optimize import optimize
from trilut.errors import NetlistError
from trilut.files import make_directory, work_directory, write_atomically
from trilut.hdl.axi import MAX_BEAT_BITS, AxiClassifier
from trilut.hdl.classifier import Classifier, InputKind
from trilut.hdl.conversion import convert_to_rtlil, convert_with_version
from trilut.hdl.fabric import fabric_verilog, layer_verilog
from trilut.hdl.header import design_header, origin_lines
from trilut.hdl.layer import LayerPlan, plan_layers
from trilut.hdl.sums.cells import PRIMITIVE_MODELS
from trilut.identifier import check_identifier

__all__ = ["DesignFormat", "VerilogDesign", "write_logic", "write_verilog"]

# Amaranth numbers the bits of what an instance or a register drives with 16 bits.
_MAX_BITS = 1 << 16
# So it does with those of all input ports together; handshake, clock and the like are among them.
_MAX_INPUT_BITS = _MAX_BITS - 64
# From so many layers between registers on, the encoder counts as one more of them.
_DEEP_PIPELINE = 3


@dataclass(frozen=True, slots=True)
class VerilogDesign:
    """Verilog on disk, and what a bench must know of it.

    Parameters
    ----------
    path : Path
        The file.
    top : str
        Name of the top module.
    latency : int
        Clock cycles from a vector to its result.
    input_kind : InputKind
        What enters.
    classifier : Classifier
        What was built, of the optimised netlist.
    models : str
        Verilog models of the part's own cells that the design instantiates, for simulation only.
    num_beats : int, optional
        Beats of a packet, one a cycle, if the design has a loader; else a vector takes one cycle.
    """

    path: Path
    top: str
    latency: int
    input_kind: InputKind
    classifier: Classifier
    models: str = ""
    num_beats: int | None = None


class DesignFormat(StrEnum):
    """Languages of a design; the value is also what its file name ends in."""

    VERILOG = "v"
    RTLIL = "il"


def write_verilog(
    netlist: Netlist,
    directory: Path,
    *,
    top: str = "trilut_top",
    pipeline: int = 2,
    input_kind: InputKind | None = None,
    optimized: bool = True,
    target: str = "generic",
    scores: bool = False,
    margin_port: bool = False,
    axi_beat_bits: int | None = None,
    presence_bits: bool = True,
    design_format: DesignFormat = DesignFormat.VERILOG,
) -> VerilogDesign:
    """Write the hardware of a netlist into a directory, as ``TOP.v``.

    Parameters
    ----------
    netlist : Netlist
        The circuit.
    directory : Path
        Where to write; made if necessary.
    top : str
        Name of the top module, and of the file.
    pipeline : int
        Layers between registers.
    input_kind : InputKind, optional
        Features if the netlist has an encoder, trits otherwise.
    optimized : bool
        Whether to leave out what makes no difference to the outputs; see
        :mod:`trilut.circuit.optimize`.
    target, scores, margin_port
        As of :class:`Classifier`.
    axi_beat_bits : int, optional
        Put AXI4-Streams at both ends, with input beats of so many bits; see :class:`AxiClassifier`.
        Its loader holds the vector, so trits enter the layers from there, and from a ``pipeline``
        of 3 on so do features, through the encoder.
    presence_bits : bool
        Whether the packets of AXI4-Streams say which features are there.
    design_format : DesignFormat
        Verilog, or Yosys's own RTLIL.

    Raises
    ------
    NetlistError
        If ``top`` is not a plain Verilog identifier, or is a keyword or one of the part's cells, or
        the netlist cannot take that input.
    ToolError
        If Yosys is missing or fails; the log that the message names is kept in ``logs``.
    """
    models = PRIMITIVE_MODELS.get(target, "")
    check_identifier(top, re.findall(r"^module (\w+)", models, flags=re.MULTILINE))
    if input_kind is None:
        input_kind = InputKind.TRITS if netlist.encoder is None else InputKind.FEATURES
    circuit = netlist
    if input_kind is InputKind.TRITS:
        circuit = dataclasses.replace(netlist, encoder=None)
    _check_input(circuit, axi_beat_bits, presence_bits=presence_bits)
    if optimized:
        circuit = optimize(circuit).netlist

    def module(plan: LayerPlan) -> str:
        return f"{top}_layer_{plan.level}"

    classifier = Classifier(
        circuit,
        pipeline=pipeline,
        input_kind=input_kind,
        target=target,
        scores=scores,
        margin_port=margin_port,
        input_register=axi_beat_bits is None
        or (input_kind is InputKind.FEATURES and pipeline < _DEEP_PIPELINE),
        layer_module=module,
    )
    _check_widths(classifier)
    component: Classifier | AxiClassifier = classifier
    if axi_beat_bits is not None:
        component = AxiClassifier(classifier, beat_bits=axi_beat_bits, presence_bits=presence_bits)
    options = _options(
        {"top": top, "input": input_kind, "pipeline": pipeline, "sums": target},
        {
            f"axi {axi_beat_bits}": axi_beat_bits is not None,
            "no-missing": not presence_bits,
            "scores": scores,
            "margin-port": margin_port,
            "no-optimize": not optimized,
        },
    )
    lut_cells = pipeline == 1 and target == "ecp5"
    layers = [
        layer_verilog(circuit, plan, module(plan), lut_cells=lut_cells and plan.registered)
        for plan in classifier.plans
    ]
    with work_directory(directory, logs=directory / "logs") as work:
        if design_format is DesignFormat.VERILOG:
            body, yosys = convert_with_version(component, top, work)
            header = design_header(netlist, component, top, options=options, yosys=yosys)
            text = "\n".join([header, _LINT_OFF, body, _LINT_ON, *layers])
        else:
            text = convert_to_rtlil(component, top, layers, work)
    path = directory / f"{top}.{design_format.value}"
    write_atomically(path, text)
    return VerilogDesign(
        path,
        top,
        component.latency,
        input_kind,
        classifier,
        models=models,
        num_beats=component.num_beats if isinstance(component, AxiClassifier) else None,
    )


def _options(settings: Mapping[str, object], flags: Mapping[str, bool]) -> str:
    """Return settings, and the flags that are set, as on the command line."""
    given = [f"{name} {value}" for name, value in settings.items()]
    given += [flag for flag, is_set in flags.items() if is_set]
    return " ".join(f"--{option}" for option in given)


def _check_input(netlist: Netlist, beat_bits: int | None, *, presence_bits: bool) -> None:
    """Refuse vectors that Amaranth cannot carry before any work is done for them."""
    if beat_bits is not None and beat_bits > MAX_BEAT_BITS:
        raise NetlistError(
            f"Beats of an AXI stream have up to {MAX_BEAT_BITS} bits, not {beat_bits}"
        )
    width = 2 * netlist.num_inputs
    if netlist.encoder is not None:
        features = netlist.encoder.features
        width = sum(feature.bits for feature in features)
        width += len(features) if presence_bits or beat_bits is None else 0
    if beat_bits:
        width += -width % beat_bits
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


def write_logic(
    netlist: Netlist, directory: Path, *, top: str = "trilut_top", optimized: bool = True
) -> Path:
    """Write the gates alone as a combinational Verilog module, for nets of any size.

    Its ports are ``in_trits`` and ``out_trits``, two bits a trit; the code 11 must not come in. It
    takes microseconds a gate and needs no tool.

    Raises
    ------
    NetlistError
        If ``top`` is not a plain Verilog identifier.
    """
    check_identifier(top)
    circuit = dataclasses.replace(netlist, encoder=None, head=None)
    if optimized:
        circuit = optimize(circuit).netlist
    text = fabric_verilog(circuit, plan_layers(circuit, None), top)
    path = make_directory(directory) / f"{top}.v"
    options = _options({"top": top}, {"logic-only": True, "no-optimize": not optimized})
    header = origin_lines(netlist, circuit, options)
    write_atomically(path, "\n".join([*header, "", _LINT_OFF, text]))
    return path


# One file holds all modules, and a vector may have bits that nobody reads. What Yosys writes also
# shortens constants, and gives registers their initial value in the declaration.
_LINT_OFF = "".join(
    f"/* verilator lint_off {warning} */\n"
    for warning in ("DECLFILENAME", "UNUSEDSIGNAL", "WIDTHEXPAND", "WIDTHTRUNC", "PROCASSINIT")
)
_LINT_ON = "".join(
    f"/* verilator lint_on {warning} */\n"
    for warning in ("WIDTHEXPAND", "WIDTHTRUNC", "PROCASSINIT")
)
