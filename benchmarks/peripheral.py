"""What the registers and the bus of a peripheral cost: cells and frequency on an ECP5.

The design alone, and with AXI4-Lite and Wishbone around it, are placed and routed alike. Inputs and
outputs of each are registered by the flow, as of every design.

Run: python benchmarks/peripheral.py [--json FILE]
"""

import argparse
import json
import tempfile
from pathlib import Path

from trilut import load
from trilut.hdl import HardwareOptions, write_verilog
from trilut.hdl.peripheral.writing import peripheral_top, write_peripheral
from trilut.synth import SynthesisSettings, load_target, synthesize

REGRESSION = Path(__file__).resolve().parent.parent / "tests" / "regression"
NETWORKS = {
    "moons, 48 gates, 2 features": "ternary_two_classes",
    "digits, 220 gates, 64 features": "ternary_ten_classes",
}


def measured(path: Path, top: str, out: Path) -> dict[str, object]:
    settings = SynthesisSettings(timeout=1800)
    result = synthesize(path, top, load_target("ecp5"), settings=settings, out=out, blocks=False)
    timing = result.timing
    return {
        "lut4_equivalents": result.cells.lut4_equivalents,
        "ff": result.cells.ff,
        "mhz": None if timing is None else round(timing.fmax_mhz, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    found = []
    print("| network | module | LUT4 equivalents | flip-flops | MHz |\n|---|---|---|---|---|")
    for title, name in NETWORKS.items():
        with tempfile.TemporaryDirectory() as place:
            directory = Path(place)
            options = HardwareOptions().for_part("ecp5")
            design = write_verilog(load(REGRESSION / f"{name}.trilut"), directory, options)
            modules = {"alone": (design.path, design.top)}
            for bus in ("axi-lite", "wishbone"):
                verilog, *_ = write_peripheral(design, bus)
                whole = directory / f"whole_{bus}.v"
                whole.write_text(verilog.read_text() + design.path.read_text())
                modules[bus] = (whole, peripheral_top(design, bus))
            for module, (path, top) in modules.items():
                row = {"network": title, "module": module, **measured(path, top, directory)}
                found.append(row)
                cells = [title, module, row["lut4_equivalents"], row["ff"], row["mhz"]]
                print(f"| {' | '.join(map(str, cells))} |", flush=True)
    if args.json:
        args.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
