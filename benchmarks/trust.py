"""How far answers can be trusted: certain answers, guaranteed risk, and what they cost in LUTs.

Usage: python benchmarks/trust.py [--only digits] [--part certain,…] [--seeds N] [--quick] [-o DIR]

certain    Features of test samples are lost; where the answer is certain, the missing values are
           then filled in at random, and the sample is classified again. No class may change.
proof      That no output changes when a missing feature turns out to be something: by induction
           over the gates for every circuit, and by SAT, which knows nothing of monotone gates, for
           those of up to 500 gates.
tolerance  Features of test samples are off at random by up to the tolerance; the certain answers of
           the tolerant circuit must be those of the circuit itself.
risk       A promise is made of half as many samples as the test set has, 200 times. "Splits" take
           half of the test set, and the other half shows whether the promise holds, as far as so
           few samples can: those that refute it have more errors than 95 % of such halves would
           have if the risk were just as promised. "Draws" are drawn from the test set with
           replacement, as if it were all samples that there are; so whether the promise holds is
           known exactly.
hardware   LUTs and cycles of the design, plain and with the ports of certain answers and prediction
           sets, after Yosys for an ECP5 and before packing; the design with both is simulated and
           proven. The first seed only.

Circuits are those of missing_features.py with information-monotone gates, trained with 0 to 50 % of
the features missing, and others that were trained for certain answers, too. What is measured is
written into docs/trust-results.json, and a run that was interrupted goes on.
"""

import argparse
import dataclasses
import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from trust_rows import DIRECTORY, RESULTS, SEEDS, SETS, Kept, Kind, circuit, load_set

from trilut import Netlist
from trilut.circuit.head import Decisions
from trilut.circuit.monotone import check_monotone
from trilut.circuit.optimize import optimize
from trilut.circuit.tolerance import Tolerance, with_tolerance
from trilut.data import Dataset
from trilut.hdl import HardwareOptions, write_verilog
from trilut.measure.calibration import (
    CalibrationError,
    margin_for_risk,
    margin_for_sets,
    probability_of_fewer,
)
from trilut.sim import classify
from trilut.synth import SynthesisSettings, load_target, synthesize
from trilut.verify import verify_design
from trilut.verify.proof import specification
from trilut.verify.proof.aig import Aig
from trilut.verify.proof.sweep import Sweeper

KINDS = (Kind("kleene"), Kind("kleene", certainty=0.5))
PARTS = ("certain", "risk", "proof", "tolerance", "hardware")
SHARES = (0.0, 0.01, 0.05, 0.1, 0.3)
TOLERANCES = (0.01, 0.02, 0.05)
RISKS = (0.01, 0.02, 0.05, 0.1)
NUM_SPLITS = 200
CONFIDENCE = 0.95
COVERAGE = 0.95
# For each seed, so that three have more than a million.
NUM_COMPLETIONS = 400_000
NUM_ERRORS = 40_000
MOST_GATES_OF_SAT = 500


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", dest="directory", type=Path, default=DIRECTORY)
    parser.add_argument("--only", metavar="DATASET,…", default=",".join(SETS))
    parser.add_argument("--part", metavar="PART,…", default=",".join(PARTS))
    parser.add_argument("--seeds", metavar="N", type=int, default=SEEDS, help="trainings")
    parser.add_argument("--quick", action="store_true", help="one seed, 50 steps: does it run?")
    args = parser.parse_args()
    directory = args.directory / "quick" if args.quick else args.directory
    kept = Kept(directory / RESULTS.name if args.quick else RESULTS)
    seeds = range(1 if args.quick else args.seeds)
    todo = itertools.product(seeds, args.only.split(","), args.part.split(","), KINDS)
    for seed, name, part, kind in todo:
        if part == "hardware" and (seed or kind != KINDS[0]):
            continue
        if kept.find(part, name, seed, str(kind)) is None:
            dataset = load_set(name, seed)
            netlist = circuit(name, dataset, seed, kind, directory, quick=args.quick)
            result = MEASURES[part](netlist, dataset, args.quick)
            kept.add(part, name, seed, str(kind), result)
            print(f"{name}, seed {seed}, {kind}, {part}: {result}", flush=True)


def certain(netlist: Netlist, dataset: Dataset, quick: bool) -> Any:
    """Fill in missing features at random, and count the classes that change."""
    rng = np.random.default_rng(0)
    x = np.asarray(dataset.test.x, dtype=np.float32)
    points = []
    for share in SHARES:
        lost = np.where(rng.random(x.shape) < share, np.float32(np.nan), x)
        decisions = classify(netlist, lost, certain=True)
        assert decisions.certain is not None
        sure = np.flatnonzero(decisions.certain)
        wanted = (10_000 if quick else NUM_COMPLETIONS) // (len(SHARES) - 1)
        points.append(
            {
                "missing": share,
                "accuracy": percent(decisions.chosen == dataset.test.y),
                "certain": percent(decisions.certain),
                "right": percent(decisions.chosen[sure] == dataset.test.y[sure]),
                **completions(netlist, x, lost, decisions, rng, wanted if share else 0),
            }
        )
    return points


def completions(
    netlist: Netlist, x: Any, lost: Any, decisions: Decisions, rng: Any, wanted: int
) -> dict[str, int]:
    """Return how many completions were tried, and how many changed a certain answer."""
    assert decisions.certain is not None
    lowest, highest = np.nanmin(x, axis=0), np.nanmax(x, axis=0)
    sure = np.flatnonzero(decisions.certain & np.isnan(lost).any(axis=1))
    tried = changed = 0
    while len(sure) and tried < wanted:
        rows = rng.choice(sure, 10_000)
        # From other samples, from the whole range, and from beyond it.
        other = x[rng.integers(0, len(x), rows.size)]
        anywhere = rng.random(other.shape, dtype=np.float32) * 3 - 1
        uniform = lowest + anywhere * (highest - lowest)
        value = np.where(rng.random(other.shape) < 0.5, other, uniform)
        full = np.where(np.isnan(lost[rows]), value, lost[rows])
        changed += int((classify(netlist, full).chosen != decisions.chosen[rows]).sum())
        tried += rows.size
    return {"tried": tried, "changed": changed}


def percent(flags: Any) -> float | None:
    """Return the share of what is true, None of nothing."""
    return round(100 * float(np.mean(flags)), 3) if len(flags) else None


def proof(netlist: Netlist, dataset: Dataset, quick: bool) -> Any:
    """Prove that outputs stay when a missing feature turns out to be something."""
    check_monotone(netlist)
    found: dict[str, Any] = {"induction": netlist.num_gates}
    if netlist.num_gates <= MOST_GATES_OF_SAT:
        found["sat"] = outputs_that_stay(netlist)
    return found


def outputs_that_stay(netlist: Netlist) -> int:
    """Return how many outputs a SAT solver shows to stay; all must.

    Two copies of the circuit see the same features, of which the second may have more. No output
    of the first that is FALSE or TRUE may be anything else in the second.
    """
    assert netlist.encoder is not None
    aig, encoder = Aig(), netlist.encoder
    features = [aig.inputs(feature.bits) for feature in encoder.features]
    more = aig.inputs(len(features))
    fewer = [aig.both(here, also) for here, also in zip(more, aig.inputs(len(more)), strict=True)]
    copies = [
        specification.gates(aig, netlist, specification.encode(aig, encoder, features, present))
        for present in (fewer, more)
    ]
    for net in netlist.outputs.tolist():
        (minus, plus), (later_minus, later_plus) = (nets[net] for nets in copies)
        for before, after in ((minus, later_minus), (plus, later_plus)):
            if Sweeper(aig).example([before, after ^ 1]) is not None:
                raise SystemExit(f"Output {net} changes when a missing feature is known")
    return len(netlist.outputs)


def tolerance(netlist: Netlist, dataset: Dataset, quick: bool) -> Any:
    """Move features at random within the tolerance, and count the classes that change."""
    assert netlist.encoder is not None
    rng = np.random.default_rng(0)
    x = np.asarray(dataset.test.x, dtype=np.float64)
    features = netlist.encoder.features
    points = []
    for share in TOLERANCES:
        made = with_tolerance(netlist, Tolerance(share, is_share=True))
        decisions = classify(made, x, certain=True)
        assert decisions.certain is not None
        sure = np.flatnonzero(decisions.certain)
        reach = np.array([share * (f.maximum - f.minimum) / abs(f.scale) for f in features])
        tried = changed = 0
        while len(sure) and tried < (10_000 if quick else NUM_ERRORS):
            rows = rng.choice(sure, 10_000)
            off = rng.choice([-1.0, 1.0], x[rows].shape) * rng.random((rows.size, 1)) ** 0.2
            answers = classify(netlist, x[rows] + off * reach).chosen
            changed += int((answers != decisions.chosen[rows]).sum())
            tried += rows.size
        points.append(
            {
                "tolerance": share,
                "certain": percent(decisions.certain),
                "certified": percent(decisions.certain & (decisions.chosen == dataset.test.y)),
                "tried": tried,
                "changed": changed,
            }
        )
    return points


def risk(netlist: Netlist, dataset: Dataset, quick: bool) -> Any:
    """Make promises of some samples and look at others, again and again."""
    count = 20 if quick else NUM_SPLITS
    decisions, labels = classify(netlist, dataset.test.x), dataset.test.y
    pilot = classify(netlist, dataset.validation.x), dataset.validation.y
    wrong = decisions.chosen != labels
    points = []
    for wanted in RISKS:
        point: dict[str, Any] = {"risk": wanted, "samples": len(labels) // 2}
        point["best"] = round(100 * best_coverage(decisions.margin, wrong, wanted), 3)
        for how, pairs in (("splits", halves(len(labels), count)), ("draws", draws(labels, count))):
            kept = []
            for half, other in pairs:
                try:
                    made = margin_for_risk(
                        (decisions[half], labels[half]),
                        pilot=pilot,
                        risk=wanted,
                        confidence=CONFIDENCE,
                    )
                except CalibrationError:
                    continue
                answered = decisions.margin[other] >= made.margin
                mistakes = wrong[other][answered]
                error = float(mistakes.mean()) if len(mistakes) else 0.0
                refuted = is_refuted(int(mistakes.sum()), len(mistakes), wanted)
                kept.append((error > wanted, refuted, error, float(answered.mean())))
            broken, refutes, errors, coverages = zip(*kept, strict=True) if kept else [()] * 4
            point[how] = {
                "promised": len(kept),
                "broken": sum(broken),
                "refuted": sum(refutes),
                "error": percent(errors),
                "answered": percent(coverages),
            }
        points.append(point)
    covered, sizes = [], []
    for half, other in halves(len(labels), count):
        made_set = margin_for_sets((decisions[half], labels[half]), coverage=COVERAGE)
        scores = decisions.scores[other]
        members = scores.max(axis=1, keepdims=True) - scores <= made_set.margin
        covered.append(np.take_along_axis(members, labels[other, None], axis=1).mean())
        sizes.append(members.sum(axis=1).mean())
    size = round(float(np.mean(sizes)), 3)
    sets = {"coverage": COVERAGE, "covered": percent(covered), "size": size}
    return {"risks": points, "sets": sets}


def is_refuted(errors: int, samples: int, risk: float) -> bool:
    """Return whether so many errors would be unlikely if the risk were as promised."""
    return errors > 0 and probability_of_fewer(errors - 1, samples, risk) > CONFIDENCE


def halves(num_samples: int, count: int) -> Iterator[tuple[Any, Any]]:
    """Split samples in two at random."""
    for seed in range(count):
        first, second = np.array_split(np.random.default_rng(seed).permutation(num_samples), 2)
        yield first, second


def draws(labels: Any, count: int) -> Iterator[tuple[Any, Any]]:
    """Draw half as many samples with replacement, and look at all."""
    everyone = np.arange(len(labels))
    for seed in range(count):
        yield np.random.default_rng(seed).choice(everyone, math.ceil(len(labels) / 2)), everyone


def best_coverage(margin: Any, wrong: Any, wanted: float) -> float:
    """Return the largest share that could be answered with that risk, if one knew the labels."""
    shares = [
        (margin >= each).mean()
        for each in np.unique(margin[margin > 0])
        if wrong[margin >= each].mean() <= wanted
    ]
    return float(max(shares, default=0.0))


def hardware(netlist: Netlist, dataset: Dataset, quick: bool) -> Any:
    """Synthesise the design with and without the new ports; simulate and prove that with both."""
    assert netlist.head is not None
    head = dataclasses.replace(netlist.head, set_margin=3)
    made = optimize(dataclasses.replace(netlist, head=head)).netlist
    ecp5 = load_target("ecp5")
    # Without place and route, which takes far longer and counts the same tables.
    target = dataclasses.replace(ecp5, place_and_route=None)
    kinds: dict[str, dict[str, bool]] = {
        "plain": {},
        "certain": {"certain": True},
        "set": {"prediction_set": True},
        "both": {"certain": True, "prediction_set": True},
    }
    found: dict[str, Any] = {}
    for kind, options in kinds.items():
        with TemporaryDirectory() as directory:
            work = Path(directory)
            design = write_verilog(made, work, HardwareOptions(sums=ecp5.sums, **options))
            cells = synthesize(
                design.path,
                design.top,
                target,
                settings=SynthesisSettings(timeout=3600),
                out=work / "synth",
                blocks=False,
            ).cells
            found[kind] = {
                "lut4": cells.lut4_equivalents,
                "ff": cells.ff,
                "cycles": design.interface.latency,
            }
            if kind == "both":
                levels = ["rtl", "formal", *["mapped"] * (made.num_gates <= MOST_GATES_OF_SAT)]
                checked = verify_design(design, work=work, levels=levels, target="ecp5")
                found["verified"] = {str(each.level): each.verdict for each in checked.levels}
                assert checked.passed
    return found


MEASURES = {
    "certain": certain,
    "risk": risk,
    "proof": proof,
    "tolerance": tolerance,
    "hardware": hardware,
}

if __name__ == "__main__":
    main()
