"""The comment before a design: what it was made from, how its bits lie, and how to connect it."""

from collections.abc import Iterator
from importlib.metadata import version

from amaranth.hdl import Shape
from amaranth.lib.wiring import In

from trilut.circuit.format import digest
from trilut.circuit.netlist import Netlist
from trilut.hdl.axi import AxiClassifier
from trilut.hdl.classifier import Classifier
from trilut.text import quote

__all__ = ["design_header", "origin_lines"]

# Of what comes from the netlist, for each line: Icarus cannot read a comment of 16 KB.
_MOST_CHARACTERS = 4000
_TRIT = "two bits a trit: 10 is +1, 01 is -1, 00 is 0, 11 is forbidden"
_PORTS = {
    "clk": "clock, rising edge",
    "rst": "synchronous reset, empties the pipeline",
    "in_valid": "a vector is there",
    "in_ready": "it is taken at this edge",
    "in_features": "values, as listed above",
    "in_present": "bit f is 0 if feature f is missing",
    "in_trits": _TRIT,
    "abstain_margin": "abstain below this margin",
    "out_valid": "a result is there, and holds until it is taken",
    "out_ready": "it is taken at this edge",
    "out_class": "class with the highest score, the lowest on a tie",
    "out_margin": "margin, the highest score minus the second highest",
    "out_unknown": "the circuit abstains",
    "out_scores": "scores in two's complement, class 0 in the lowest bits",
    "out_trits": _TRIT,
    "s_axis_tdata": "a packet as listed above, lowest bits first; the rest is ignored",
    "s_axis_tvalid": "a beat is there",
    "s_axis_tready": "it is taken at this edge",
    "s_axis_tlast": "last beat of a packet",
    "m_axis_tdata": "a result as listed above; the rest is 0",
    "m_axis_tvalid": "a result is there, and holds until it is taken",
    "m_axis_tready": "it is taken at this edge",
    "m_axis_tlast": "always 1: a result is one beat",
    "framing_error": "a packet of a wrong length was dropped",
}


def design_header(
    netlist: Netlist,
    component: Classifier | AxiClassifier,
    top: str,
    *,
    options: str,
    yosys: str,
) -> str:
    """Return comment lines; text from the netlist is quoted as JSON, so it cannot end a line.

    What is too long for a line is cut, with a mark.

    Parameters
    ----------
    netlist : Netlist
        What the design was asked to compute, before it was optimised.
    component : Classifier or AxiClassifier
        The design.
    options : str
        As on the command line.
    yosys : str
        The version that wrote the Verilog.
    """
    classifier = component.classifier if isinstance(component, AxiClassifier) else component
    lines = origin_lines(netlist, classifier.netlist, options, tools=f", yosys {yosys}")
    lines.append(f"// latency: {component.latency} cycles{_rate(component)}")
    if netlist.head is not None:
        margin = "abstain_margin" if classifier.margin_members else netlist.head.abstain_margin
        lines.append(f"// abstains: on a tie, and if the margin is below {margin}")
        lines += [
            f"// class {index}: {quote(name, _MOST_CHARACTERS)}"
            for index, name in enumerate(netlist.head.classes)
        ]
    if isinstance(component, AxiClassifier):
        lines += [*_packet_lines(component), *_result_lines(component)]
    elif classifier.netlist.encoder is not None:
        lines += _feature_lines(classifier.netlist, "in_features")
    lines += _example(component, top)
    return "\n".join(lines) + "\n"


def origin_lines(netlist: Netlist, built: Netlist, options: str, *, tools: str = "") -> list[str]:
    """Return comment lines that say what was built from what, and by what."""
    provenance = quote(dict(netlist.provenance), _MOST_CHARACTERS)
    facts = {
        "netlist": quote(netlist.name, _MOST_CHARACTERS),
        "sha256": digest(netlist),
        **({"origin": provenance} if netlist.provenance else {}),
        "circuit": f"{netlist.num_gates} gates in {netlist.depth} layers, "
        f"{netlist.num_inputs} inputs, {len(netlist.outputs)} outputs, valence {netlist.valence}",
        "built": f"{built.num_gates} gates in {built.depth} layers",
        "nets": "numbers in comments are those of the built circuit (optimised unless "
        "--no-optimize): inputs, then gates",
        "made by": f"trilut {version('trilut')}, amaranth {version('amaranth')}{tools}",
        "options": options,
    }
    return [f"// {key + ':':9}{value}" for key, value in facts.items()]


def _rate(component: Classifier | AxiClassifier) -> str:
    if isinstance(component, AxiClassifier):
        return f" from the last of {component.num_beats} beats, one vector per packet"
    return ", one vector per cycle"


def _feature_lines(netlist: Netlist, vector: str) -> Iterator[str]:
    assert netlist.encoder is not None
    first = 0
    for index, feature in enumerate(netlist.encoder.features):
        kind = "signed" if feature.signed else "unsigned"
        yield (
            f"// {vector}{_places(first, feature.bits)}: feature {index}, {kind}, "
            f"floor(value * {feature.scale!r} + {feature.offset!r}) clamped to "
            f"{feature.minimum}..{feature.maximum}, {quote(feature.name, _MOST_CHARACTERS)}"
        )
        first += feature.bits


def _packet_lines(component: AxiClassifier) -> Iterator[str]:
    for name, bits in component.packet.items():
        if name == "in_features":
            yield from _feature_lines(component.classifier.netlist, "packet")
        else:
            yield f"// packet{_places(bits.start, len(bits))}: {_PORTS[name]}"


def _result_lines(component: AxiClassifier) -> Iterator[str]:
    for name, bits in component.result.items():
        yield f"// m_axis_tdata{_places(bits.start, len(bits))}: {_PORTS[name]}"


def _places(first: int, width: int) -> str:
    return f"[{first + width - 1}:{first}]" if width > 1 else f"[{first}]"


def _example(component: Classifier | AxiClassifier, top: str) -> list[str]:
    """Return an instantiation with the direction, width and meaning of every port."""
    members = [("clk", 1, "input"), ("rst", 1, "input")]
    for name, member in component.signature.members.items():
        direction = "input" if member.flow == In else "output"
        members.append((name, Shape.cast(member.shape).width, direction))
    lines = [
        f"//     .{name}({name}){',' if index + 1 < len(members) else ' '}"
        f"  // {direction}{f' {_places(0, width)}' if width > 1 else ''}: {_PORTS[name]}"
        for index, (name, width, direction) in enumerate(members)
    ]
    return ["//", f"//   {top} {top}_instance (", *lines, "//   );"]
