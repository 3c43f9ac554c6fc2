"""The comment before a design: what it was made from, how its bits lie, and how to connect it."""

from collections.abc import Iterator
from importlib.metadata import version

from trilut.circuit.encoder import Feature
from trilut.circuit.interface import InputKind, Interface
from trilut.circuit.netlist import Netlist
from trilut.circuit.origin import MOST_CHARACTERS, origin_facts
from trilut.circuit.sequential import Circuit
from trilut.hdl.options import HardwareOptions
from trilut.text import quote

__all__ = ["design_header", "origin_lines"]


def design_header(
    netlist: Circuit,
    circuit: Netlist,
    interface: Interface,
    options: HardwareOptions,
    *,
    converter: str,
) -> str:
    """Return comment lines; text from the netlist is quoted as JSON, so it cannot end a line.

    What is too long for a line is cut, with a mark.

    Parameters
    ----------
    netlist, circuit
        What the design was asked to compute, and the netlist that was built.
    converter : str
        What has written the Verilog, with its version.
    """
    tools = f", amaranth {version('amaranth')}, {converter}"
    lines = origin_lines(netlist, circuit, options.command_line, tools=tools)
    lines.append(f"// latency: {interface.latency} cycles{_rate(interface)}")
    if netlist.head is not None:
        port = interface.margin
        margin = netlist.head.abstain_margin if port is None else port.name
        lines.append(f"// abstains: on a tie, and if the margin is below {margin}")
        lines += [
            f"// class {index}: {quote(name, MOST_CHARACTERS)}"
            for index, name in enumerate(netlist.head.classes)
        ]
    if interface.axi is not None:
        lines += [*_packet_lines(netlist, interface), *_result_lines(interface)]
    elif interface.input_kind is InputKind.FEATURES:
        lines += _feature_lines(netlist, "in_features")
    lines += _example(interface, options.top)
    return "\n".join(lines) + "\n"


def origin_lines(netlist: Circuit, built: Netlist, options: str, *, tools: str = "") -> list[str]:
    """Return comment lines that say what was built from what, and by what."""
    facts = {
        **origin_facts(netlist),
        "built": f"{built.num_gates} gates in {built.depth} layers",
        "nets": "numbers in comments are those of the built circuit (optimised unless "
        "--no-optimize): inputs, then gates",
        "made by": f"trilut {version('trilut')}{tools}",
        "options": options,
    }
    return [f"// {key + ':':9}{value}" for key, value in facts.items()]


def _rate(interface: Interface) -> str:
    if interface.axi is not None:
        return f" from the last of {interface.num_beats} beats, one vector per packet"
    return ", one vector per cycle"


def _feature_lines(netlist: Circuit, vector: str) -> Iterator[str]:
    assert netlist.encoder is not None
    first = 0
    for index, feature in enumerate(netlist.encoder.features):
        kind = "signed" if feature.signed else "unsigned"
        yield (
            f"// {vector}{_places(first, feature.bits)}: feature {index}, {kind}, "
            f"floor(value * {feature.scale!r} + {feature.offset!r}) clamped to "
            f"{feature.minimum}..{feature.maximum}, {quote(feature.name, MOST_CHARACTERS)}"
            + _seen_text(feature)
        )
        first += feature.bits


def _seen_text(feature: Feature) -> str:
    if feature.seen is None:
        return ""
    return f", missing if it is not in {feature.seen[0]}..{feature.seen[1]} before it is clamped"


def _packet_lines(netlist: Circuit, interface: Interface) -> Iterator[str]:
    for name, bits in interface.packet.items():
        if name == "in_features":
            yield from _feature_lines(netlist, "packet")
        else:
            yield f"// packet{_places(bits.start, len(bits))}: {interface.port(name).meaning}"


def _result_lines(interface: Interface) -> Iterator[str]:
    for name, bits in interface.result.items():
        places = _places(bits.start, len(bits))
        yield f"// m_axis_tdata{places}: {interface.port(name).meaning}"


def _places(first: int, width: int) -> str:
    return f"[{first + width - 1}:{first}]" if width > 1 else f"[{first}]"


def _example(interface: Interface, top: str) -> list[str]:
    """Return an instantiation with the direction, width and meaning of every port."""
    ports = interface.ports
    lines = [
        f"//     .{port.name}({port.name}){',' if port is not ports[-1] else ' '}  "
        f"// {port.direction}{f' {_places(0, port.width)}' if port.width > 1 else ''}: "
        f"{port.meaning}"
        for port in ports
    ]
    return ["//", f"//   {top} {top}_instance (", *lines, "//   );"]
