"""What counting trits costs: LUTs per trit of GroupSum for each kind of part, and of plain ``+``.

The sums stand alone, with registers at their inputs that take of each trit what the adders ask for,
and registers after every level. The frequency is that from register to register after place and
route on an ECP5 of speed grade 6.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from amaranth.hdl import Cat, Module, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.data import ArrayLayout
from amaranth.lib.wiring import In, Out

from trilut.files import make_directory
from trilut.hdl.conversion import convert
from trilut.hdl.sums.compressor import Plane
from trilut.hdl.sums.groupsum import TritSum
from trilut.synth import SynthesisSettings, load_target, synthesize
from trilut.synth.carries import open_carries
from trilut.synth.mapped import MappedDesign
from trilut.tools import find_tool, run

_SIZES = (20, 50, 100, 200, 400, 1200)
_QUICK_SIZES = (20, 100)
_ROUTED_SIZES = (100, 400)
_KINDS = {"trit": (-1, 0, 1), "bit": (-1, 1)}
_TIMEOUT = 900.0


class DeliveredSum(TritSum):
    """A sum to whose inputs the logic before delivers what the adders ask for.

    The low wire of a trit is [v=−1], or [v=0] if that is what they read; never do they read both.
    """

    def _plane(self, start: int, trit: int, plane: Plane) -> Any:
        return self.i.as_value()[2 * (start + trit) + (plane is Plane.PLUS)]


class PlainSum(wiring.Component):
    """The same by ``+``: a tree of exact adders with a register after every second level."""

    def __init__(self, kind: str, size: int, width: int):
        self._is_binary = kind == "bit"
        self._size = size
        super().__init__(
            {
                "i": In(ArrayLayout(2, size)),
                "o": Out(ArrayLayout(signed(width), 1)),
                "en": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the tree."""
        m = Module()
        terms = [self._input(m, trit) for trit in range(self._size)]
        level = 0
        while len(terms) > 1:
            level += 1
            pairs = [terms[index : index + 2] for index in range(0, len(terms), 2)]
            registered = level % 2 == 0 or len(pairs) == 1
            terms = [self._node(m, pair, registered, level) for pair in pairs]
        total = terms[0][0]
        m.d.comb += self.o[0].eq(2 * total - self._size if self._is_binary else total)
        return m

    def _input(self, m: Module, trit: int) -> tuple[Any, int]:
        minus, plus = self.i[trit][0], self.i[trit][1]
        # In two's complement −1 is 11, 0 is 00 and +1 is 01. Of two values the upper ones count.
        term = plus if self._is_binary else Cat(plus | minus, minus).as_signed()
        register = Signal(term.shape(), reset_less=True, name=f"input_{trit}")
        with m.If(self.en):
            m.d.sync += register.eq(term)
        return register, 1

    def _node(
        self, m: Module, pair: Sequence[tuple[Any, int]], registered: bool, level: int
    ) -> tuple[Any, int]:
        most = sum(term[1] for term in pair)
        least = 0 if self._is_binary else -most
        node = Signal(range(least, most + 1), reset_less=True, name=f"level_{level}")
        total = sum((term[0] for term in pair[1:]), start=pair[0][0])
        if registered:
            with m.If(self.en):
                m.d.sync += node.eq(total)
        else:
            m.d.comb += node.eq(total)
        return node, most


def component(kind: str, size: int, target: str) -> Any:
    """Return a sum; the target ``plain`` is :class:`PlainSum`."""
    values = [_KINDS[kind]] * size
    width = size.bit_length() + 1
    if target == "plain":
        return PlainSum(kind, size, width)
    return DeliveredSum([values], width, target=target, input_register=True)


@dataclass(frozen=True, slots=True)
class Routed:
    """What place and route says."""

    lut4: int
    fmax_mhz: float


def map_lut4(kind: str, size: int, target: str, part_name: str, work: Path) -> int:
    """Return LUT4, and two for each CCU2C, by Yosys' count."""
    (work / "top.v").write_text(convert(component(kind, size, target), "top", work))
    part = replace(load_target(part_name), place_and_route=None)
    result = synthesize(
        work / "top.v",
        "top",
        part,
        settings=SynthesisSettings(timeout=_TIMEOUT),
        out=work,
        blocks=False,
    )
    return result.cells.lut4_equivalents


def route_ecp5(work: Path, frequency: float, seed: int) -> Routed:
    """Place and route what :func:`map_lut4` left in the directory."""
    settings = load_target("ecp5").place_and_route
    assert settings is not None
    design = MappedDesign(work / "yosys.json", "top")
    design.register_ports(settings.register)
    design.save(work / "registered.json")
    document = json.loads((work / "registered.json").read_text())
    open_carries(document["modules"]["top"])
    (work / "registered.json").write_text(json.dumps(document))
    files = ["--json", "registered.json", "--top", "top", "--report", "nextpnr.json"]
    goal = ["--freq", f"{frequency:g}", "--timing-allow-fail", "--seed", str(seed)]
    run(
        find_tool("nextpnr-ecp5"),
        [*settings.options, *files, *goal],
        step="place and route",
        log=work / "nextpnr.log",
        cwd=work,
        timeout=_TIMEOUT,
    )
    report = json.loads((work / "nextpnr.json").read_text())
    fmax = min(clock["achieved"] for clock in report["fmax"].values())
    return Routed(report["utilization"]["TRELLIS_COMB"]["used"], fmax)


def map_xilinx(kind: str, size: int, target: str, work: Path) -> int:
    """Return the LUTs of a 7-series part by Yosys' count, those used as shift registers too."""
    (work / "top.v").write_text(convert(component(kind, size, target), "top", work))
    (work / "xilinx.ys").write_text(
        "read_verilog top.v\n"
        "rename -hide w:*[[]*\n"
        "synth_xilinx -family xc7 -noiopad -noclkbuf -top top -flatten\n"
        "tee -q -o stat.json stat -json\n"
    )
    run(
        find_tool("yosys"),
        ["-q", "-s", "xilinx.ys"],
        step="synthesis",
        log=work / "xilinx.log",
        cwd=work,
        timeout=_TIMEOUT,
    )
    text = (work / "stat.json").read_text()
    cells: Mapping[str, int] = json.loads(text[text.index("{") :])["design"]["num_cells_by_type"]
    return sum(count for cell, count in cells.items() if cell.startswith(("LUT", "INV", "SRL")))


def measure(kind: str, size: int, *, routed: bool, work: Path) -> dict[str, Any]:
    """Measure one size on all parts; figures are per trit."""
    row: dict[str, Any] = {"kind": kind, "size": size}
    for target in ("generic", "ecp5", "plain"):
        folder = make_directory(work / f"{kind}-{size}-{target}")
        row[f"{target}_lut4"] = map_lut4(kind, size, target, "ecp5", folder) / size
        if routed and target != "generic":
            result = route_ecp5(folder, frequency=250, seed=1)
            row[f"{target}_routed_lut4"] = result.lut4 / size
            row[f"{target}_fmax_mhz"] = result.fmax_mhz
    for target in ("carry", "plain"):
        folder = make_directory(work / f"{kind}-{size}-{target}-ice40")
        row[f"{target}_ice40"] = map_lut4(kind, size, target, "ice40", folder) / size
    for target in ("xilinx", "plain"):
        folder = make_directory(work / f"{kind}-{size}-{target}-xc7")
        row[f"{target}_lut6"] = map_xilinx(kind, size, target, folder) / size
    row["ecp5_ratio"] = row["ecp5_lut4"] / row["plain_lut4"]
    row["xilinx_ratio"] = row["xilinx_lut6"] / row["plain_lut6"]
    return row


_COLUMNS = {
    "kind": "{}",
    "size": "{}",
    "generic_lut4": "{:.2f}",
    "ecp5_lut4": "{:.2f}",
    "plain_lut4": "{:.2f}",
    "ecp5_ratio": "{:.2f}",
    "ecp5_routed_lut4": "{:.2f}",
    "ecp5_fmax_mhz": "{:.0f}",
    "plain_routed_lut4": "{:.2f}",
    "plain_fmax_mhz": "{:.0f}",
    "carry_ice40": "{:.2f}",
    "plain_ice40": "{:.2f}",
    "xilinx_lut6": "{:.2f}",
    "plain_lut6": "{:.2f}",
    "xilinx_ratio": "{:.2f}",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="two sizes only, of trits")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args(argv)
    rows = []
    with TemporaryDirectory(prefix="trilut-") as work:
        for kind in ("trit",) if args.quick else _KINDS:
            for size in _QUICK_SIZES if args.quick else _SIZES:
                print(f"{kind} {size}", file=sys.stderr)
                routed = kind == "trit" and size in _ROUTED_SIZES
                rows.append(measure(kind, size, routed=routed, work=Path(work)))
    if args.json:
        print(json.dumps(rows, indent=1))
        return 0
    lines = [[*_COLUMNS]]
    lines += [
        [form.format(row[name]) if name in row else "" for name, form in _COLUMNS.items()]
        for row in rows
    ]
    widths = [max(len(line[column]) for line in lines) for column in range(len(_COLUMNS))]
    for line in lines:
        print("  ".join(text.rjust(width) for text, width in zip(line, widths, strict=True)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
