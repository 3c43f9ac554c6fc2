"""The bitstream of an iCE40, read back as Verilog that can be simulated through its pins.

The design enters by its AXI wrapper, a byte at a time: a classifier has more ports than a package
has pins. What the simulation sees comes from the bits of the bitstream alone; only which pin is
which port is taken from the placer.
"""

import dataclasses
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.interface import LIST_PORTS, Interface, Vectors, VerilogModule
from trilut.circuit.netlist import Netlist
from trilut.files import make_directory, read_bytes, write_atomically
from trilut.hdl import HardwareOptions, write_verilog
from trilut.sim.bench.rtl import build_rtl
from trilut.synth import SynthesisSettings, Target, load_target, synthesize
from trilut.synth.runner import find_tools, run_step
from trilut.tools import Tool, find_tool, run
from trilut.verify.proof.aig import Aig
from trilut.verify.proof.inputs import Inputs
from trilut.verify.proof.witness import Witness, reference

__all__ = ["BitstreamResult", "Chip", "bench_verilog", "compare", "read_back", "suitable_target"]

_TOP = "trilut_bench"
_PROGRAM = "nextpnr-ice40"
_DEFAULT_TARGET = "ice40"
_BEAT_BITS = 8
_TIMEOUT = 1800.0
_PIN = re.compile(r"(\w+(?:\[\d+\])?)\$sb_io")
_PLACE = re.compile(r"X(\d+)/Y(\d+)/io([01])")


@dataclass(frozen=True, slots=True)
class Chip:
    """What a bitstream makes of a part.

    Parameters
    ----------
    bench : VerilogModule
        Verilog with the ports of a classifier around the pins of the chip. It takes as many cycles
        for a vector as that has bytes.
    num_pins : int
        Number of pins that are used.
    """

    bench: VerilogModule
    num_pins: int


@dataclass(frozen=True, slots=True)
class BitstreamResult:
    """What the simulation of a chip found.

    Parameters
    ----------
    num_pins : int
        Number of pins that it was simulated through.
    num_checked : mapping
        Number of vectors of each origin, all of them compared with the netlist.
    num_mismatches : int
        Number of vectors with a wrong result.
    first_mismatch : Witness, optional
        The first of them.
    """

    num_pins: int
    num_checked: Mapping[str, int]
    num_mismatches: int
    first_mismatch: Witness | None

    @property
    def passed(self) -> bool:
        """Whether nothing was wrong."""
        return self.num_mismatches == 0


def _find_reader() -> Tool:
    """Find the program that turns a bitstream into Verilog; no Python package has it."""
    # What Debian recommends with it is an old Yosys, which would come before ours.
    hint = "install it with 'apt install --no-install-recommends fpga-icestorm'"
    return find_tool("icebox_vlog", hint=hint)


def suitable_target(target: Target | None) -> Target:
    """Return a target if it is an iCE40, and one that is if not."""
    settings = None if target is None else target.place_and_route
    is_ice40 = settings is not None and settings.program == _PROGRAM
    return target if target and is_ice40 else load_target(_DEFAULT_TARGET)


def read_back(
    netlist: Netlist,
    target: Target,
    work: Path,
    *,
    options: HardwareOptions | None = None,
    progress: Callable[[str], None] | None = None,
) -> Chip:
    """Build the bitstream of a netlist and read it back.

    Parameters
    ----------
    netlist : Netlist
        The circuit.
    target : Target
        An iCE40.
    work : Path
        Directory for all files; made if necessary.
    options : HardwareOptions, optional
        What shapes the hardware, but for the streams at its ends.
    progress : callable, optional
        Called with a line of text when a step begins.

    Raises
    ------
    ToolError
        If a tool is missing or fails; also if the part is too small, or has too few pins.
    """
    say = progress or (lambda line: None)
    reader = _find_reader()
    make_directory(work)
    shaped = dataclasses.replace(
        options or HardwareOptions(), sums=target.sums, axi_beat_bits=_BEAT_BITS
    )
    design = write_verilog(netlist, work, shaped)
    say(f"mapping to {target.name}")
    unplaced = dataclasses.replace(target, place_and_route=None)
    synthesize(
        design.path,
        design.top,
        unplaced,
        out=work,
        blocks=False,
        settings=SynthesisSettings(timeout=_TIMEOUT),
    )
    say("place and route")
    _place_and_route(target, design.top, work)
    say("bitstream and back")
    _convert("icepack", ["chip.asc", "chip.bin"], work)
    _convert("iceunpack", ["chip.bin", "unpacked.asc"], work)
    chip = work / "chip.v"
    arguments = ["-s", "-n", "chip", "unpacked.asc"]
    # It writes to standard output, which a tool's log is made of.
    run(reader, arguments, step="Verilog", log=chip, cwd=work, timeout=_TIMEOUT)
    pins = _pins(json.loads(read_bytes(work / "placed.json")))
    path = work / "bench.v"
    ports, text = _without_port_types(chip.read_text())
    # A pin that no logic reads is none of the chip's.
    used = {pin: bit for pin, bit in pins.items() if pin in ports}
    write_atomically(path, f"{bench_verilog(design.interface, used)}\n{text}")
    plain = dataclasses.replace(design.interface, axi=None)
    return Chip(VerilogModule(path, _TOP, plain), len(used))


def compare(
    netlist: Netlist, chip: Chip, vectors: Mapping[str, Vectors], out: Path
) -> BitstreamResult:
    """Simulate a chip and compare all results with the netlist.

    Parameters
    ----------
    vectors : mapping
        What to drive, by origin.
    out : Path
        Directory for the build.

    Raises
    ------
    ToolError
        If Verilator is missing or fails, or the chip gives no results.
    """
    model = build_rtl(netlist, chip.bench, out=out)
    inputs = Inputs(Aig(), netlist)
    mismatches = []
    for group in vectors.values():
        got = _rows(model.results(group))
        expected = reference(netlist, inputs.encoded(group), chip.bench.interface.result)
        for index, (have, want) in enumerate(zip(got, expected, strict=True)):
            if have != want:
                named = inputs.named(group[index : index + 1])
                mismatches.append(Witness(named, want, have))
    counts = {origin: len(group) for origin, group in vectors.items()}
    return BitstreamResult(
        chip.num_pins, counts, len(mismatches), mismatches[0] if mismatches else None
    )


def _rows(results: Mapping[str, NDArray[np.int64]]) -> list[dict[str, object]]:
    """Return the results of each vector as the reference gives them."""
    columns = [
        values.tolist() if f"out_{name}" in LIST_PORTS else values[:, 0].tolist()
        for name, values in results.items()
    ]
    return [dict(zip(results, row, strict=True)) for row in zip(*columns, strict=True)]


def _place_and_route(target: Target, top: str, work: Path) -> None:
    settings = target.place_and_route
    assert settings is not None
    files = ["--json", "yosys.json", "--top", top, "--asc", "chip.asc", "--write", "placed.json"]
    # No pin is given a place, and none needs a certain one.
    run_step(
        find_tools(target)[settings.program],
        [*settings.options, *files, "--seed", "1", "--timing-allow-fail"],
        step="place and route",
        log=work / "nextpnr.log",
        cwd=work,
        timeout=_TIMEOUT,
    )


def _convert(program: str, arguments: list[str], work: Path) -> None:
    log = work / f"{program}.log"
    run(find_tool(program), arguments, step=program, log=log, cwd=work, timeout=_TIMEOUT)


def _pins(placed: Mapping[str, Any]) -> dict[str, str]:
    """Return the bit of a port at each pin, which is called by its place as in the Verilog."""
    pins = {}
    (module,) = placed["modules"].values()
    for name, cell in module["cells"].items():
        if found := _PIN.fullmatch(name):
            place = _PLACE.fullmatch(cell["attributes"]["NEXTPNR_BEL"])
            assert place is not None, cell["attributes"]
            pins["io_" + "_".join(place.groups())] = found[1]
    return pins


def _without_port_types(text: str) -> tuple[set[str], str]:
    """Return the ports of the chip, and its Verilog with their directions after the header.

    ``icebox_vlog`` declares a port a second time as a wire or register, which only this form of a
    header allows.
    """
    header, body = text.split(";", 1)
    ports = re.findall(r"\b(input|output) (\w+)", header)
    names = [name for _, name in ports]
    directions = "".join(f"{direction} {name};\n" for direction, name in ports)
    return set(names), f"module chip ({', '.join(names)});\n{directions}{body}"


def bench_verilog(interface: Interface, pins: Mapping[str, str]) -> str:
    """Return a module with the ports of a classifier that talks AXI4-Stream to a module ``chip``.

    Parameters
    ----------
    interface : Interface
        The ports of the design with its AXI4-Streams.
    pins : mapping
        The bit of a port that is at each pin of the chip.
    """
    inputs = {port.name: port.width for port in interface.inputs}
    outputs = {port.name: port.width for port in interface.outputs}
    places = {name: f"{bits.stop - 1}:{bits.start}" for name, bits in interface.result.items()}
    wires = [f"  assign {name} = m_axis_tdata[{bits}];" for name, bits in places.items()]
    return _BENCH.format(
        name=_TOP,
        inputs="".join(f"  input [{width - 1}:0] {name},\n" for name, width in inputs.items()),
        outputs=",\n".join(f"  output [{width - 1}:0] {name}" for name, width in outputs.items()),
        vector=", ".join(reversed(inputs)),
        vector_high=interface.num_beats * _BEAT_BITS - 1,
        result_high=interface.result_bits - 1,
        num_beats=interface.num_beats,
        results="\n".join(wires),
        pins=",\n".join(f"    .{pin}({bit})" for pin, bit in pins.items()),
    )


_BENCH = """\
module {name} (
  input clk,
  input rst,
  input in_valid,
  output in_ready,
  output out_valid,
  input out_ready,
{inputs}{outputs}
);
  reg [{vector_high}:0] vector;
  integer num_left = 0;
  wire [7:0] s_axis_tdata = vector[7:0];
  wire s_axis_tvalid = num_left != 0;
  wire s_axis_tlast = num_left == 1;
  wire s_axis_tready, m_axis_tvalid, m_axis_tlast, framing_error;
  wire m_axis_tready = out_ready;
  wire [{result_high}:0] m_axis_tdata;
  assign in_ready = num_left == 0;
  assign out_valid = m_axis_tvalid;
{results}
  always @(posedge clk)
    if (rst) num_left <= 0;
    else if (in_valid & in_ready) begin
      vector <= {{{vector}}};
      num_left <= {num_beats};
    end else if (s_axis_tvalid & s_axis_tready) begin
      vector <= vector >> 8;
      num_left <= num_left - 1;
    end
  chip chip (
{pins}
  );
endmodule
"""
