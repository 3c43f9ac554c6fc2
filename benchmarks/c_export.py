"""Instructions, code size and memory of exported C, beside C as difflogic writes it.

The rival is the one of `benchmarks/simulator.py`: a statement for each gate, booleans packed one by
one, a ripple counter for each class. It starts from booleans, ours from octets that are compared
with three thresholds a feature. Both are compiled alike. Instructions are those that valgrind
counts on this machine; sizes are those of compilers for small cores, where they are installed
(Debian: gcc-arm-none-eabi, gcc-riscv64-unknown-elf).

Run: python benchmarks/c_export.py [--width N] [--json FILE]
"""

import argparse
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from simulator import _END_TO_END, image_netlist, straight_line

from trilut import Netlist, load
from trilut.circuit.optimize import optimize
from trilut.interchange import export_netlist

REGRESSION = Path(__file__).resolve().parent.parent / "tests" / "regression"
SAMPLES = 64
CORES = {
    "Cortex-M4": ("arm-none-eabi-gcc", ["-mcpu=cortex-m4", "-mthumb"], "arm-none-eabi-size"),
    "RV32IMAC": (
        "riscv64-unknown-elf-gcc",
        ["-march=rv32imac", "-mabi=ilp32"],
        "riscv64-unknown-elf-size",
    ),
}

MAIN = """
#include "net.h"
static net_workspace work;
static net_value features[{samples}][NET_NUM_FEATURES];
static net_decision decisions[{samples}];
int main(void)
{{
    for (unsigned s = 0; s < {samples}; s++)
        for (unsigned f = 0; f < NET_NUM_FEATURES; f++)
            features[s][f] = (net_value)((s * 2654435761u + f * 40503u) >> 9 & 15);
    for (unsigned r = 0; r < {repeats}; r++)
        {call}
    return decisions[0].chosen & 0;
}}
"""
MANY = "net_decide_many(&work, features[0], NULL, {samples}, decisions);"
ALONE = "net_decide(&work, features[r % {samples}], NULL, decisions);"

RIVAL_MAIN = """
static uint8_t booleans[64 * NUM_INPUTS];
static int32_t sums[64 * NUM_CLASSES];
int main(void)
{{
    for (int i = 0; i < 64 * NUM_INPUTS; i++)
        booleans[i] = (uint8_t)(i * 40503u >> 9 & 1);
    for (int r = 0; r < {repeats}; r++)
        classify(booleans, sums, 64);
    return 0;
}}
"""


def run(*command: object, directory: Path) -> str:
    """Run a program in a directory and return all that it prints."""
    ended = subprocess.run(
        [str(word) for word in command], cwd=directory, capture_output=True, text=True, check=True
    )
    return ended.stdout + ended.stderr


def instructions(directory: Path, sources: list[str], text: str, repeats: int) -> float:
    """Return how many instructions a call of ``main`` takes, without those around the calls."""
    counts = []
    for number in (0, repeats):
        (directory / "main.c").write_text(text.replace("{repeats}", str(number)))
        run("cc", "-std=c99", "-O2", "-w", *sources, "-o", "measured", directory=directory)
        said = run(
            *("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "./measured"),
            directory=directory,
        )
        counts.append(int(re.search(r"Collected : (\d+)", said)[1]))
    return (counts[1] - counts[0]) / repeats


def sizes(directory: Path, source: str, *macros: str) -> dict[str, int]:
    """Return the bytes of code and constants for each core whose compiler is there."""
    found = {}
    for core, (compiler, options, size) in CORES.items():
        if shutil.which(compiler) and shutil.which(size):
            run(
                *(compiler, "-std=c99", "-Os", "-ffreestanding", "-w", *options, *macros),
                *("-c", source, "-o", "core.o"),
                directory=directory,
            )
            found[core] = int(run(size, "core.o", directory=directory).split("\n")[1].split()[0])
    return found


def ours(netlist: Netlist, language: str, directory: Path) -> dict[str, object]:
    export_netlist(netlist, directory, language, name="net")

    def counted(call: str, repeats: int) -> float:
        text = MAIN.replace("{call}", call).replace("{samples}", str(SAMPLES))
        text = text.replace("{{", "{").replace("}}", "}")
        return instructions(directory, ["main.c", "net.c"], text, repeats)

    (directory / "ram.c").write_text('#include "net.h"\nchar ram[sizeof(net_workspace)];\n')
    run("cc", "-DNET_LANES=32", "-c", "ram.c", "-o", "ram.o", directory=directory)
    ram = run("nm", "-S", "ram.o", directory=directory).split()[1]
    return {
        "instructions a sample, 64 at a time": counted(MANY, 4) / SAMPLES,
        "instructions, one sample": counted(ALONE, 16),
        "bytes": sizes(directory, "net.c", "-DNET_LANES=32", "-DNET_NO_FLOAT"),
        "bytes of RAM, 32 lanes": int(ram, 16),
    }


def rival(netlist: Netlist, directory: Path) -> dict[str, object]:
    """Measure the gates and sums of a binary netlist as difflogic writes them."""
    bare = Netlist.of_gates(
        netlist.num_inputs, netlist.table, netlist.a, netlist.b, netlist.outputs, valence=2
    )
    size = netlist.head.group_sizes[0]
    classes = len(netlist.head.classes)
    assert set(netlist.head.group_sizes) == {size}
    text = "\n".join(
        [
            "#include <stdint.h>",
            straight_line(optimize(bare).netlist),
            f"enum {{ NUM_INPUTS = {netlist.num_inputs}, NUM_OUTPUTS = {len(netlist.outputs)},",
            f"NUM_CLASSES = {classes}, COUNTER_BITS = {size.bit_length()} }};",
            _END_TO_END,
        ]
    )
    (directory / "rival.c").write_text(text)
    main = text + RIVAL_MAIN.replace("{{", "{").replace("}}", "}")
    count = instructions(directory, ["main.c"], main, 4)
    return {
        "instructions a sample, 64 at a time": count / SAMPLES,
        "instructions, one sample": count,
        "bytes": sizes(directory, "rival.c"),
        "bytes of RAM, 32 lanes": None,
    }


def rows(width: int) -> Iterator[tuple[str, str, dict[str, object]]]:
    """Give networks, what they are written as, and what that takes."""
    networks = {
        f"binary, 784 features, 4×{width} gates": image_netlist(width, valence=2),
        f"ternary, 784 features, 4×{width} gates": image_netlist(width),
        "digits, ternary, 220 gates": load(REGRESSION / "ternary_ten_classes.trilut"),
    }
    for title, netlist in networks.items():
        for language in ("c", "c-compact"):
            with tempfile.TemporaryDirectory() as directory:
                yield title, language, ours(netlist, language, Path(directory))
        if netlist.valence == 2:
            with tempfile.TemporaryDirectory() as directory:
                yield title, "as difflogic, from booleans", rival(netlist, Path(directory))


def shown(number: object) -> str:
    return "—" if number is None else f"{number:,.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--width", type=int, default=2000)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    found = []
    for title, language, figures in rows(args.width):
        found.append({"network": title, "C": language, **figures})
        cells = {key: value for key, value in figures.items() if key != "bytes"}
        cells |= {f"bytes, {core}": size for core, size in figures["bytes"].items()}
        if len(found) == 1:
            print(f"| network | C | {' | '.join(cells)} |\n|{'---|' * (2 + len(cells))}")
        print(f"| {title} | {language} | {' | '.join(map(shown, cells.values()))} |", flush=True)
    if args.json:
        args.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
