"""A project for Tiny Tapeout: the files that their template asks for, around a classifier."""

import csv
import json
import re
from importlib import resources
from io import StringIO
from pathlib import Path

import numpy as np

from trilut.boards.shuttle import Block, Shuttle
from trilut.circuit.encoder import FeatureVectors
from trilut.circuit.netlist import Netlist
from trilut.circuit.trit import Bits
from trilut.errors import NetlistError
from trilut.files import make_directory, write_atomically
from trilut.hdl import HardwareOptions, write_verilog
from trilut.hdl.design import Design
from trilut.hdl.options import PORTABLE
from trilut.identifier import check_identifier
from trilut.sim.bench.regression import reference_model
from trilut.sim.bench.stimulus import stimulus
from trilut.text import cut, escape_markdown, visible

__all__ = ["CORE", "core_options", "project_top", "write_project", "write_sources"]

CORE = "trilut_top"
"""Name of the classifier's module."""
# The selection of a byte of the result has two bits.
_RESULT_BYTES = 4
_VECTORS = 100
_PREFIX = "tt_um_"
_PINS = {
    **{f"ui[{bit}]": f"byte of a packet, bit {bit}" for bit in range(8)},
    **{f"uo[{bit}]": f"byte of the result, bit {bit}" for bit in range(8)},
    "uio[0]": "in: the byte is there",
    "uio[1]": "in: it is the last of its packet",
    "uio[2]": "in: take the result",
    "uio[3]": "in: which byte of the result, low bit",
    "uio[4]": "in: which byte of the result, high bit",
    "uio[5]": "out: the byte is taken at this edge",
    "uio[6]": "out: a result is there",
    "uio[7]": "out: a packet of a wrong length was dropped",
}


def project_top(netlist: Netlist, name: str | None = None) -> str:
    """Return the name of the top module: the one that is given, or one made of the netlist's.

    Raises
    ------
    NetlistError
        If it is not a plain identifier that begins with ``tt_um_``.
    """
    if name is None:
        words = re.sub(r"[^a-z0-9]+", "_", netlist.name.lower()).strip("_")
        return f"{_PREFIX}trilut_{words}"[:60].rstrip("_")
    if not name.startswith(_PREFIX):
        raise NetlistError(f"Top module name {name!r} does not begin with {_PREFIX!r}")
    return check_identifier(name)


def core_options() -> HardwareOptions:
    """Return what shapes the classifier: bytes come in, and registers are few.

    A flip-flop with its enable is as large as eight small gates, so that the features stay in the
    loader until they are sums.
    """
    return HardwareOptions(
        top=CORE, axi_beat_bits=8, presence_bits=False, pipeline=16, sums=PORTABLE
    )


def write_sources(netlist: Netlist, directory: Path, top: str) -> Design:
    """Write ``project.v``, which has the pins, and the classifier, and return the latter.

    Raises
    ------
    NetlistError
        If the netlist has no encoder or no head, or a result has too many bytes.
    """
    if netlist.encoder is None or netlist.head is None:
        raise NetlistError(f"Netlist {netlist.name!r} has no encoder or no head")
    design = write_verilog(netlist, make_directory(directory), core_options())
    bits = design.interface.result_bits
    if bits > 8 * _RESULT_BYTES:
        raise NetlistError(
            f"A result of netlist {netlist.name!r} has {bits // 8} bytes, "
            f"but the pins select one of {_RESULT_BYTES}"
        )
    padding = 8 * _RESULT_BYTES - bits
    project = _fill(
        "project.v",
        TOP=top,
        CORE=CORE,
        LAST_BIT=str(bits - 1),
        RESULT=f"{{{padding}'d0, bits}}" if padding else "bits",
    )
    write_atomically(directory / "project.v", project)
    return design


def write_project(
    design: Design,
    directory: Path,
    shuttle: Shuttle,
    block: Block,
    *,
    top: str,
    author: str = "",
    clock_mhz: float = 10.0,
    gates: str = "",
    cells: str = "",
) -> None:
    """Write everything but the sources.

    Parameters
    ----------
    design : Design
        The classifier in ``src``.
    directory : Path
        The project.
    block : Block
        Its tiles.
    top : str
        Name of its top module.
    author : str
        Whose it is; Tiny Tapeout wants to know.
    clock_mhz : float
        Frequency of the clock.
    gates, cells : str
        Verilog of the mapped project, and of the cells that it instantiates.
    """
    files = {
        "info.yaml": _info(design, block, top, author, clock_mhz),
        "README.md": _fill(
            "README.md",
            TITLE=escape_markdown(_title(design.stateless)),
            PROCESS=shuttle.process,
            TOP=top,
            CORE=CORE,
            TILES=block.tiles,
            UTILIZATION=f"{block.utilization:.0%}",
        ),
        "src/config.json": _config(clock_mhz),
        "docs/info.md": _data_sheet(design, clock_mhz),
        "host/classifier.py": _host(design, top),
        "test/Makefile": _fill(
            "Makefile",
            CORE=CORE,
            PDK_MODELS=" ".join(f"$(PDK_ROOT)/{path}" for path in shuttle.models),
        ),
        "test/tb.v": _fill("tb.v", TOP=top),
        "test/test.py": _fill("test.py.in"),
        "test/requirements.txt": _fill("requirements.txt"),
        "test/vectors.csv": _vectors(design),
        "test/gate_level_netlist.v": gates,
        "test/cells.v": cells,
        ".gitignore": _fill("gitignore"),
    }
    hardening = "\n".join(f"          {key}: {value}" for key, value in shuttle.hardening.items())
    for name in ("gds", "test", "docs", "fpga"):
        files[f".github/workflows/{name}.yaml"] = _fill(
            f"{name}.yaml", TAG=shuttle.tag, HARDENING=hardening
        )
    for path, text in files.items():
        make_directory((directory / path).parent)
        write_atomically(directory / path, text)


def _fill(name: str, **values: str) -> str:
    """Return a file that comes with TriLUT, with values in the places that it marks."""
    folder = resources.files("trilut.boards").joinpath("tinytapeout_files")
    text = folder.joinpath(name).read_text(encoding="utf-8")
    # In one go: a value may look like a place.
    return re.sub("@([A-Z_]+)@", lambda place: values[place[1]], text)


def _title(netlist: Netlist) -> str:
    return cut(visible(" ".join(f"TriLUT classifier {netlist.name}".split())), 60)


def _summary(design: Design) -> str:
    encoder, head = design.stateless.encoder, design.stateless.head
    assert encoder is not None
    assert head is not None
    return (
        f"A ternary logic gate network with {design.circuit.num_gates} gates: "
        f"{len(encoder.features)} features, {len(head.classes)} classes, or no answer"
    )


def _info(design: Design, block: Block, top: str, author: str, clock_mhz: float) -> str:
    project: dict[str, str | int] = {
        "title": _title(design.stateless),
        "author": " ".join(author.split()),
        "description": _summary(design),
        "language": "Verilog",
        "clock_hz": round(clock_mhz * 1e6),
        "tiles": block.tiles,
        "top_module": top,
    }
    lines = ["# What Tiny Tapeout wants to know of the project.", "project:"]
    lines += [f"  {key}: {_yaml(value)}" for key, value in project.items()]
    lines += ["  source_files:", '    - "project.v"', f'    - "{CORE}.v"', "", "pinout:"]
    lines += [f"  {pin}: {_yaml(meaning)}" for pin, meaning in _PINS.items()]
    return "\n".join([*lines, "", "yaml_version: 6", ""])


def _yaml(value: str | int) -> str:
    """Return a number, or text in quotes in which nothing means anything to YAML."""
    if isinstance(value, int):
        return str(value)
    plain = [
        letter if " " <= letter <= "~" and letter not in '"\\' else f"\\U{ord(letter):08x}"
        for letter in value
    ]
    return f'"{"".join(plain)}"'


def _config(clock_mhz: float) -> str:
    """Return what LibreLane is told: as in Tiny Tapeout's template, but for the clock."""
    settings = {
        "PL_TARGET_DENSITY_PCT": 60,
        "CLOCK_PERIOD": round(1000 / clock_mhz, 3),
        "PL_RESIZER_HOLD_SLACK_MARGIN": 0.1,
        "GRT_RESIZER_HOLD_SLACK_MARGIN": 0.05,
        "RUN_LINTER": 1,
        "LINTER_INCLUDE_PDK_MODELS": 1,
        "CLOCK_PORT": "clk",
        "RUN_KLAYOUT_XOR": 0,
        "RUN_KLAYOUT_DRC": 0,
        "DESIGN_REPAIR_BUFFER_OUTPUT_PORTS": 0,
        "TOP_MARGIN_MULT": 1,
        "BOTTOM_MARGIN_MULT": 1,
        "LEFT_MARGIN_MULT": 6,
        "RIGHT_MARGIN_MULT": 6,
        "FP_SIZING": "absolute",
        "GRT_ALLOW_CONGESTION": 1,
        "FP_IO_HLENGTH": 2,
        "FP_IO_VLENGTH": 2,
        "FP_PDN_VPITCH": 38.87,
        "RUN_CTS": 1,
        "FP_PDN_MULTILAYER": 0,
        "MAGIC_DEF_LABELS": 0,
        "MAGIC_WRITE_LEF_PINONLY": 1,
    }
    return json.dumps(settings, indent=2) + "\n"


def _vectors(design: Design) -> str:
    """Return the packets and the results of vectors of all kinds, as hexadecimal bytes."""
    groups = stimulus(design.stateless, None, np.random.default_rng(0), num_random=_VECTORS)
    # Every feature is there: packets cannot say that one is not.
    kept = {origin: _some(group) for origin, group in groups.items() if origin != "missing"}
    model = reference_model(design.stateless, list(kept.values()), 0, design.interface)
    interface = design.interface
    packets = interface.pack_vectors(model.vectors)
    results = interface.pack_results(model.results)
    packet = np.concatenate([packets[name] for name in interface.packet], axis=1)
    result = np.concatenate([_padded(results[name]) for name in interface.result], axis=1)
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["origin", "packet", "result"])
    origins = [origin for origin, group in kept.items() for _ in range(len(group))]
    writer.writerows(zip(origins, _hexadecimal(packet), _hexadecimal(result), strict=True))
    return text.getvalue()


def _some(group: object) -> FeatureVectors:
    """Return at most so many vectors of a group, from all over it."""
    assert isinstance(group, FeatureVectors)
    chosen = np.linspace(0, len(group) - 1, min(len(group), _VECTORS)).astype(np.int64)
    return group[chosen]


def _padded(bits: Bits) -> Bits:
    return np.pad(bits, ((0, 0), (0, -bits.shape[1] % 8)))


def _hexadecimal(bits: Bits) -> list[str]:
    """Return the bytes of each row, the lowest bits first."""
    return [row.tobytes().hex() for row in np.packbits(bits, axis=1, bitorder="little")]


def _host(design: Design, top: str) -> str:
    encoder, head = design.stateless.encoder, design.stateless.head
    assert encoder is not None
    assert head is not None
    features = [(f.name, f.bits, f.signed, f.scale, f.offset) for f in encoder.features]
    example = ", ".join(["0.0"] * min(2, len(features)) + ["…"] * (len(features) > 2))
    return _fill(
        "classifier.py.in",
        TOP=top,
        EXAMPLE=f"[{example}]",
        # Python's own way to write a text, in which no name can end it.
        FEATURES=_listed(features),
        CLASSES=_listed(head.classes),
        RESULT=repr([port.width for port in design.interface.outputs]),
    )


def _listed(values: object) -> str:
    assert isinstance(values, list | tuple)
    return "[\n" + "".join(f"    {value!a},\n" for value in values) + "]"


def _data_sheet(design: Design, clock_mhz: float) -> str:
    interface, encoder, head = design.interface, design.stateless.encoder, design.stateless.head
    assert encoder is not None
    assert head is not None
    features = [
        f"| {index} | {escape_markdown(feature.name)} | {feature.bits} | "
        f"{'signed' if feature.signed else 'unsigned'} | {feature.scale!r} | {feature.offset!r} |"
        for index, feature in enumerate(encoder.features)
    ]
    classes = [f"| {index} | {escape_markdown(name)} |" for index, name in enumerate(head.classes)]
    results = [
        f"| {bits.start // 8}{_end(bits)} | {interface.port(name).meaning} |"
        for name, bits in interface.result.items()
    ]
    return _fill(
        "info.md",
        SUMMARY=_summary(design),
        ABSTAIN=str(head.abstain_margin),
        NET=escape_markdown(design.stateless.name),
        BYTES=str(interface.num_beats),
        FEATURES="\n".join(features),
        CLASSES="\n".join(classes),
        RESULT="\n".join(results),
        LATENCY=str(interface.latency),
        CLOCK=f"{clock_mhz:g}",
    )


def _end(bits: range) -> str:
    last = (bits.stop - 1) // 8
    return f" to {last}" if last > bits.start // 8 else ""
