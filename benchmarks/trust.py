"""How far answers can be trusted: certain answers, guaranteed risk, and what they cost in LUTs.

Usage: python benchmarks/trust.py [--only digits,moons] [--part completions,…] [--quick]

completions  Features of test samples are lost; where the answer is certain, the missing values are
             then filled in at random, and the sample is classified again. No class may change.
tolerance    Features of test samples are off at random by up to the tolerance; the certain answers
             of the tolerant circuit must be those of the circuit itself.
risk         The samples that training has not seen are split in two at random, 200 times: one half
             calibrates, and the other one shows whether the promise holds, as far as so few samples
             can. Of a synthetic set 200 halves are drawn anew, and 100,000 samples show it.
area         LUTs of the design, plain and with the ports of certain answers and prediction sets,
             after Yosys for an ECP5 and before packing.

Circuits have one layer of information-monotone gates with learned wiring, and are trained with 0 to
30 % of the features missing.
"""

import argparse
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from training_accuracy import versions

from trilut import Netlist
from trilut.circuit.optimize import optimize
from trilut.circuit.tolerance import Tolerance, with_tolerance
from trilut.data import Dataset, Split, load_dataset
from trilut.hdl import HardwareOptions, write_verilog
from trilut.measure.calibration import (
    CalibrationError,
    calibrate_risk,
    calibrate_set,
    with_certificate,
)
from trilut.sim import classify
from trilut.synth import SynthesisSettings, load_target, synthesize
from trilut.training import TrainingConfig, train

SYNTHETIC = ("moons",)
LAYERS = {"digits": (1000,), "breast_cancer": (200,), "moons": (60,)}
PARTS = ("completions", "tolerance", "risk", "area")
SHARES = (0.0, 0.05, 0.1, 0.3)
TOLERANCES = (0.01, 0.02, 0.05)
RISKS = (0.02, 0.05)
NUM_SPLITS = 200
CONFIDENCE = 0.95
COVERAGE = 0.95
NUM_COMPLETIONS = 1_000_000


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", metavar="DATASET,…", default=",".join(LAYERS))
    parser.add_argument("--part", metavar="PART,…", default=",".join(PARTS))
    parser.add_argument("--seeds", metavar="N", type=int, default=3, help="trainings")
    parser.add_argument("--quick", action="store_true", help="one seed, 50 steps: does it run?")
    args = parser.parse_args()
    used = versions()
    print(f"{used['machine']}, JAX {used['jax']}, Python {used['python']}, TriLUT {used['trilut']}")
    for name in args.only.split(","):
        for seed in range(1 if args.quick else args.seeds):
            dataset = load_dataset(name, seed=seed)
            netlist = trained(dataset, seed, quick=args.quick)
            print(f"\n{name}, seed {seed}: {netlist.num_gates} gates", flush=True)
            for part in args.part.split(","):
                for line in MEASURES[part](netlist, dataset, args.quick):
                    print(f"  {line}", flush=True)


def trained(dataset: Dataset, seed: int, *, quick: bool) -> Netlist:
    """Train a circuit that can be certain."""
    settings: dict[str, Any] = {"steps": 50, "evaluate_every": 25} if quick else {}
    config = TrainingConfig.for_dataset(
        dataset,
        seed=seed,
        vocabulary="kleene",
        missing=(0.0, 0.3),
        wiring="learned",
        layers=LAYERS.get(dataset.name, (1000,)),
        **settings,
    )
    return train(dataset, config).netlist


def completions(netlist: Netlist, dataset: Dataset, quick: bool) -> Iterator[str]:
    """Fill in missing features at random, and count the classes that change."""
    rng = np.random.default_rng(0)
    x = np.asarray(dataset.test.x, dtype=np.float64)
    lowest, highest = np.nanmin(x, axis=0), np.nanmax(x, axis=0)
    wanted = 10_000 if quick else NUM_COMPLETIONS
    for share in SHARES:
        lost = np.where(rng.random(x.shape) < share, np.nan, x)
        decisions = classify(netlist, lost, certain=True)
        assert decisions.certain is not None
        certain = np.flatnonzero(decisions.certain)
        right = np.mean(decisions.chosen[certain] == dataset.test.y[certain]) if len(certain) else 0
        line = (
            f"{share:.0%} missing: {len(certain) / len(x):.1%} certain, {right:.1%} of these right"
        )
        if share and len(certain):
            tried = changed = 0
            while tried < wanted:
                rows = rng.choice(certain, 20_000)
                # From other samples, from the whole range, and from beyond it.
                other = x[rng.integers(0, len(x), rows.size)]
                uniform = rng.uniform(2 * lowest - highest, 2 * highest - lowest, other.shape)
                value = np.where(rng.random(other.shape) < 0.5, other, uniform)
                full = np.where(np.isnan(lost[rows]), value, lost[rows])
                changed += int((classify(netlist, full).chosen != decisions.chosen[rows]).sum())
                tried += rows.size
            line += f"; {changed} of {tried:,} completions change one"
        yield line


def tolerance(netlist: Netlist, dataset: Dataset, quick: bool) -> Iterator[str]:
    """Move features at random within the tolerance, and count the classes that change."""
    assert netlist.encoder is not None
    rng = np.random.default_rng(0)
    x = np.asarray(dataset.test.x, dtype=np.float64)
    features = netlist.encoder.features
    for share in TOLERANCES:
        made = with_tolerance(netlist, Tolerance(share, is_share=True))
        decisions = classify(made, x, certain=True)
        assert decisions.certain is not None
        certain = np.flatnonzero(decisions.certain)
        certified = np.mean(decisions.certain & (decisions.chosen == dataset.test.y))
        reach = np.array([share * (f.maximum - f.minimum) / abs(f.scale) for f in features])
        tried = changed = 0
        while len(certain) and tried < (10_000 if quick else NUM_COMPLETIONS // 10):
            rows = rng.choice(certain, 20_000)
            off = rng.choice([-1.0, 1.0], x[rows].shape) * rng.random((rows.size, 1)) ** 0.2
            answers = classify(netlist, x[rows] + off * reach).chosen
            changed += int((answers != decisions.chosen[rows]).sum())
            tried += rows.size
        yield (
            f"tolerance {share:.0%} of the range: {len(certain) / len(x):.1%} certain, certified "
            f"accuracy {certified:.1%}; {changed} of {tried:,} errors change one"
        )


def risk(netlist: Netlist, dataset: Dataset, quick: bool) -> Iterator[str]:
    """Calibrate on one half of the samples and look at others, again and again."""
    count = 20 if quick else NUM_SPLITS
    for wanted in RISKS:
        broken, error, answered, best = [], [], [], []
        for half, other in splits(dataset, count):
            try:
                made = calibrate_risk(
                    netlist, half, pilot=dataset.validation, risk=wanted, confidence=CONFIDENCE
                )
            except CalibrationError:
                continue
            decisions = classify(netlist, other.x)
            chosen = decisions.margin >= made.margin
            wrong = decisions.chosen != other.y
            error.append(wrong[chosen].mean() if chosen.any() else 0.0)
            broken.append(error[-1] > wanted)
            answered.append(chosen.mean())
            best.append(best_coverage(decisions.margin, wrong, wanted))
        line = f"risk {wanted:.0%}: promised {len(broken)} times of {count}"
        if broken:
            line += (
                f", broken {sum(broken)} times; error {np.mean(error):.2%}, "
                f"{np.mean(answered):.1%} answered (at best {np.mean(best):.1%})"
            )
        yield line
    covered, sizes = [], []
    for half, other in splits(dataset, count):
        made_set = calibrate_set(netlist, half, coverage=COVERAGE)
        calibrated = with_certificate(netlist, risk=None, coverage=made_set, samples="")
        members = classify(calibrated, other.x).members
        assert members is not None
        covered.append(np.take_along_axis(members, other.y[:, None], axis=1).mean())
        sizes.append(members.sum(axis=1).mean())
    yield (
        f"sets with coverage {COVERAGE:.0%}: {np.mean(covered):.2%} covered, "
        f"{np.mean(sizes):.2f} classes on average"
    )


def splits(dataset: Dataset, count: int) -> Iterator[tuple[Split, Split]]:
    """Give samples to calibrate on, and others to look at."""
    if dataset.name not in SYNTHETIC:
        yield from (halves(dataset.test, seed) for seed in range(count))
        return
    draws = [load_dataset(dataset.name, seed=1000 + seed).test for seed in range(50)]
    everyone = Split(
        np.concatenate([each.x for each in draws]), np.concatenate([each.y for each in draws])
    )
    for seed in range(count):
        yield halves(load_dataset(dataset.name, seed=2000 + seed).test, seed)[0], everyone


def best_coverage(margin: Any, wrong: Any, wanted: float) -> float:
    """Return the largest share that could be answered with that risk, if one knew the labels."""
    shares = [
        (margin >= each).mean()
        for each in np.unique(margin[margin > 0])
        if wrong[margin >= each].mean() <= wanted
    ]
    return float(max(shares, default=0.0))


def halves(split: Split, seed: int) -> tuple[Split, Split]:
    """Split samples in two at random."""
    first, second = np.array_split(np.random.default_rng(seed).permutation(len(split)), 2)
    return Split(split.x[first], split.y[first]), Split(split.x[second], split.y[second])


def area(netlist: Netlist, dataset: Dataset, quick: bool) -> Iterator[str]:
    """Synthesise the design with and without the new ports."""
    assert netlist.head is not None
    head = dataclasses.replace(netlist.head, set_margin=3)
    circuit = optimize(dataclasses.replace(netlist, head=head)).netlist
    ecp5 = load_target("ecp5")
    # Without place and route, which takes far longer and counts the same tables.
    target = dataclasses.replace(ecp5, place_and_route=None)
    kinds = {
        "plain": {},
        "certain": {"certain": True},
        "set": {"prediction_set": True},
        "certain and set": {"certain": True, "prediction_set": True},
    }
    plain = 0
    for kind, options in kinds.items():
        with TemporaryDirectory() as directory:
            design = write_verilog(
                circuit, Path(directory), HardwareOptions(sums=ecp5.sums, **options)
            )
            made = synthesize(
                design.path,
                design.top,
                target,
                settings=SynthesisSettings(timeout=3600),
                out=Path(directory) / "synth",
                blocks=False,
            )
        lut = made.cells.lut4_equivalents
        plain = plain or lut
        yield f"{kind}: {lut} LUT4 eq. ({lut / plain - 1:+.1%}), {design.interface.latency} cycles"


MEASURES = {"completions": completions, "tolerance": tolerance, "risk": risk, "area": area}

if __name__ == "__main__":
    main()
