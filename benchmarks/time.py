"""Circuits with state, measured: what windows cost, and whether verdicts are right.

Usage: python benchmarks/time.py [--only area|verdicts|rtl] [--count N]

- area: operators and windows, placed and routed on an ECP5, and proven;
- verdicts: random formulas in both modes over random traces with missing samples, beside the
  definition, a thousand formulas or more;
- rtl: twenty monitors, a hundred thousand steps each through their Verilog in Verilator, with
  pauses, resets and missing samples.

Results are kept in docs/time-results.json, one row after the other, so that it can be interrupted
and goes on; docs/time-results.md is made of them.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from trilut.circuit.sequential import SequentialNetlist
from trilut.files import write_atomically
from trilut.hdl import write_verilog
from trilut.report.page import machine_facts
from trilut.sim import step_stimulus, verify_rtl
from trilut.sim.sequences import run_sequences
from trilut.synth import SynthesisSettings, load_target, synthesize
from trilut.temporal import Mode, Monitor, compile_formula, parse, parse_features, verdicts
from trilut.verify.proof.formal import prove_design

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from formulas import random_formula  # noqa: E402, the tests' own

RESULTS = ROOT / "docs" / "time-results.json"
PAGE = ROOT / "docs" / "time-results.md"
BITS = parse_features("p,q")
FEATURES = parse_features("p:2,q:2")

RESPONSE = "(p -> eventually[0,5] q)"
FORMULAS: list[tuple[str, Mode]] = [
    ("once[0,15] p", Mode.DELAY),
    ("once[0,100] p", Mode.DELAY),
    ("once[0,1000] p", Mode.DELAY),
    ("once[0,10000] p", Mode.DELAY),
    ("once[0,100000] p", Mode.DELAY),
    ("once[0,1000000] p", Mode.DELAY),
    ("historically (p -> once[0,50] q)", Mode.DELAY),
    ("p since q", Mode.DELAY),
    ("p since[0,1000] q", Mode.DELAY),
    ("eventually[0,1000] p", Mode.DELAY),
    ("p until[0,15] q", Mode.DELAY),
    ("p until[0,63] q", Mode.DELAY),
    ("p until[0,63] q", Mode.EARLY),
    (f"always[0,1000] {RESPONSE}", Mode.DELAY),
    (f"always[0,1000] {RESPONSE}", Mode.EARLY),
    (f"always[0,1000000] {RESPONSE}", Mode.DELAY),
    ("always[0,1000] (p -> eventually[0,50] q)", Mode.DELAY),
]


def read() -> dict[str, Any]:
    """Return what was measured so far."""
    if RESULTS.exists():
        document: dict[str, Any] = json.loads(RESULTS.read_text())
        return document
    return {"machine": machine_facts("amaranth"), "area": {}, "verdicts": {}, "rtl": {}}


def keep(results: dict[str, Any], part: str, key: str, row: dict[str, Any]) -> None:
    """Keep a row, and write the page again."""
    results[part][key] = row
    write_atomically(RESULTS, json.dumps(results, indent=1) + "\n")
    write_atomically(PAGE, page(results))
    print(part, key, row, flush=True)


def is_proven(netlist: SequentialNetlist, work: Path) -> bool:
    """Return whether the Verilog of a circuit is proven to compute it."""
    design = write_verilog(netlist, work)
    return prove_design(design.specification, design, work).passed


def measure_area(results: dict[str, Any]) -> None:
    """Place and route all formulas that were not yet."""
    target = load_target("ecp5")
    for text, mode in FORMULAS:
        key = f"{text}, {mode.value}"
        if key in results["area"]:
            continue
        monitor = compile_formula(parse(text), BITS, mode)
        with tempfile.TemporaryDirectory() as work:
            design = write_verilog(monitor.netlist, Path(work))
            settings = SynthesisSettings(timeout=3600.0)
            result = synthesize(design.path, design.top, target, out=Path(work), settings=settings)
            proven = is_proven(monitor.netlist, Path(work))
        row = {
            "gates": monitor.netlist.num_gates,
            "states": monitor.netlist.num_states,
            "flip_flops": monitor.netlist.num_flip_flops,
            "lut4": result.cells.lut4_equivalents,
            "ff": result.cells.ff,
            "mhz": None if result.timing is None else round(result.timing.fmax_mhz, 1),
            "proven": proven,
            "tools": dict(result.tools),
        }
        keep(results, "area", key, row)


def expected(monitor: Monitor, samples: np.ndarray[Any, Any]) -> list[int]:
    """Return what the definition says of one trace, at each of its steps."""
    trace = monitor.atoms.trace(samples)
    if monitor.mode is Mode.DELAY:
        before = min(monitor.horizon, len(samples))
        return [0] * before + verdicts(monitor.formula, trace)[: len(samples) - before]
    return [
        verdicts(monitor.formula, {atom: values[: step + 1] for atom, values in trace.items()})[0]
        for step in range(len(samples))
    ]


def measure_verdicts(results: dict[str, Any], count: int) -> None:
    """Compare random formulas with the definition, a hundred of them a row."""
    for first in range(0, count, 100):
        if (key := str(first)) in results["verdicts"]:
            continue
        row = {"formulas": 0, "verdicts": 0, "determined": 0, "wrong": 0}
        for seed in range(first, first + 100):
            mode = Mode.EARLY if seed % 10 == 0 else Mode.DELAY
            steps, traces = (24, 8) if mode is Mode.EARLY else (80, 20)
            formula = random_formula(seed, longest=30 if seed % 10 == 1 else 4)
            rng = np.random.default_rng(seed)
            samples = rng.random((traces, steps, 2))
            samples[rng.random(samples.shape) < 0.2] = np.nan
            samples[1::2] = np.repeat(samples[1::2, ::4], 4, axis=1)[:, :steps]
            monitor = compile_formula(formula, FEATURES, mode)
            trits = np.stack([monitor.atoms.encoder.encode(each) for each in samples])
            made = run_sequences(monitor.netlist, trits)[0][:, :, 0]
            right = np.array([expected(monitor, each) for each in samples])
            row["formulas"] += 1
            row["verdicts"] += made.size
            row["determined"] += int((right != 0).sum())
            row["wrong"] += int((made != right).sum())
        keep(results, "verdicts", key, row)


def simulated() -> Iterator[Monitor]:
    """Give the monitors to simulate: ten of the formulas above, and ten random ones."""
    for text, mode in FORMULAS[:10]:
        yield compile_formula(parse(text), BITS, mode)
    for seed in range(10):
        yield compile_formula(random_formula(seed), FEATURES, list(Mode)[seed % 2])


def measure_rtl(results: dict[str, Any]) -> None:
    """Simulate the Verilog of twenty monitors."""
    for number, monitor in enumerate(simulated()):
        key = f"{monitor.formula}, {monitor.mode.value}"
        if key in results["rtl"]:
            continue
        netlist = monitor.netlist
        with tempfile.TemporaryDirectory() as work:
            design = write_verilog(netlist, Path(work))
            rng = np.random.default_rng(number)
            steps = step_stimulus(netlist, None, rng, num_random=50_000)
            found = verify_rtl(netlist, design, steps, out=Path(work), timeout=7200.0)
            proven = prove_design(design.specification, design, Path(work)).passed
        row = {
            "steps": sum(found.num_checked.values()),
            "sequences": int(sum(each.last.sum() for each in steps.values())),
            "mismatches": found.num_mismatches,
            "violations": sum(found.num_violations.values()),
            "resets": found.resets,
            "proven": proven,
            "simulator": found.simulator,
        }
        keep(results, "rtl", key, row)


def page(results: dict[str, Any]) -> str:
    """Return the results as Markdown."""
    machine = ", ".join(f"{key} {value}" for key, value in results["machine"].items())
    lines = [
        "# Time: results",
        "",
        "`make bench-time` measures it. All figures are of "
        f"TriLUT {version('trilut')} on this machine: {machine}.",
        "",
    ]
    if results["area"]:
        tools = next(iter(results["area"].values()))["tools"]
        lines += [
            "## What windows cost",
            "",
            "Features of one bit, so the encoder is nearly nothing; LUT4 and FF are of the whole "
            "design with its handshake, mapped, and MHz is after place and route on an LFE5U-25F, "
            f"speed grade 6 ({', '.join(f'{name} {text}' for name, text in tools.items())}).",
            "",
            "| formula | mode | gates | states | flip-flops of states | LUT4 | FF | MHz | proven |",
            "|---|---|---|---|---|---|---|---|---|",
        ]
        for key, row in results["area"].items():
            formula, mode = key.rsplit(", ", 1)
            cells = [row[name] for name in ("gates", "states", "flip_flops", "lut4", "ff", "mhz")]
            shown = " | ".join(map(str, [*cells, "yes" if row["proven"] else "no"]))
            lines.append(f"| `{formula}` | {mode} | {shown} |")
        lines.append("")
    rows = list(results["verdicts"].values())
    if rows:
        total = {name: sum(row[name] for row in rows) for name in rows[0]}
        lines += [
            "## Verdicts beside the definition",
            "",
            f"{total['formulas']:,} random formulas, a tenth of them early, over traces with a "
            f"fifth of the samples missing: {total['verdicts']:,} verdicts, "
            f"{total['determined']:,} of them TRUE or FALSE, **{total['wrong']} wrong**.",
            "",
        ]
    rows = list(results["rtl"].values())
    if rows:
        steps, wrong = sum(row["steps"] for row in rows), sum(row["mismatches"] for row in rows)
        violations = sum(row["violations"] for row in rows)
        lines += [
            "## Verilog beside the netlist",
            "",
            f"{len(rows)} monitors, {min(row['steps'] for row in rows):,} steps or more each, "
            f"{steps:,} in all, with pauses, {sum(row['resets'] for row in rows):,} resets and "
            f"missing samples ({rows[0]['simulator']}): **{wrong} mismatches**, {violations} "
            f"violations of the handshake. {sum(row['proven'] for row in rows)} of them proven.",
            "",
        ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", choices=["area", "verdicts", "rtl"])
    parser.add_argument("--count", type=int, default=700, help="formulas beside the definition")
    args = parser.parse_args()
    results = read()
    if args.only in (None, "area"):
        measure_area(results)
    if args.only in (None, "verdicts"):
        measure_verdicts(results, args.count)
    if args.only in (None, "rtl"):
        measure_rtl(results)


if __name__ == "__main__":
    main()
