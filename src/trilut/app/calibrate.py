"""Netlist files with margins that keep a promise about new samples."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trilut.circuit.format import load, save
from trilut.circuit.netlist import Netlist
from trilut.data import Split
from trilut.data.files import is_table_name
from trilut.measure.calibration import (
    CalibrationError,
    Coverage,
    Risk,
    calibrate_risk,
    calibrate_set,
    with_certificate,
)
from trilut.measure.matching import (
    default_part,
    is_own_file,
    netlist_dataset,
    samples_for,
    table_samples,
)
from trilut.sim import classify

__all__ = ["Calibration", "calibrate_file"]

_PILOT_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class Calibration:
    """A netlist with promises, and what came of them on samples that had no part in it.

    Parameters
    ----------
    netlist : Netlist
        The netlist as it was written.
    samples : str
        What the calibration samples are.
    risk, coverage : optional
        The promises.
    check : mapping
        Of samples that were kept aside: how many they are, the share ``answered``, the ``error``
        among these, the share ``covered`` by the sets and their mean ``set_size``. Empty if none
        were.
    """

    netlist: Netlist
    samples: str
    risk: Risk | None
    coverage: Coverage | None
    check: dict[str, float]


@dataclass(frozen=True, slots=True)
class _Samples:
    text: str
    calibration: Split
    pilot: Split
    check: Split | None


def calibrate_file(
    path: str | Path,
    output: str | Path,
    *,
    risk: float | None = None,
    confidence: float = 0.95,
    per_class: bool = False,
    set_coverage: float | None = None,
    data: str | None = None,
    seed: int = 0,
) -> Calibration:
    """Write a netlist with an abstention margin, a margin of prediction sets, or both.

    The samples are half of the test set of what the netlist was trained on: training has not seen
    it, and settings were chosen by another one. The other half checks the result. Of a file that
    the netlist was not trained on, all samples are taken.

    Parameters
    ----------
    risk, confidence, per_class
        The promise about errors; see :func:`~trilut.measure.calibration.calibrate_risk`.
    set_coverage : float, optional
        The promise about prediction sets.
    data : str, optional
        Name or file of a data set.
    seed : int
        Of the choice of samples.

    Raises
    ------
    CalibrationError
        If nothing is promised, or the samples do not support it; nothing is written then.
    NetlistError, DataError, FormatError
        If a file cannot be used.
    """
    output = Path(output)
    path = Path(path)
    if risk is None and set_coverage is None:
        raise CalibrationError("Nothing is promised; give --risk, --set-coverage, or both")
    netlist = load(path)
    samples = _samples(netlist, data, seed)
    kept = None
    if risk is not None:
        kept = calibrate_risk(
            netlist,
            samples.calibration,
            pilot=samples.pilot,
            risk=risk,
            confidence=confidence,
            per_class=per_class,
        )
    coverage = None
    if set_coverage is not None:
        coverage = calibrate_set(netlist, samples.calibration, coverage=set_coverage)
    made = with_certificate(netlist, risk=kept, coverage=coverage, samples=samples.text)
    check = {} if samples.check is None else _check(made, samples.check)
    save(made, output)
    return Calibration(made, samples.text, kept, coverage, check)


def _samples(netlist: Netlist, name: str | None, seed: int) -> _Samples:
    part = default_part(netlist, name)
    if is_own_file(netlist, name):
        name = None
    if part == "all":
        assert name is not None
        split = (
            table_samples(netlist, name)
            if is_table_name(name)
            else samples_for(netlist, netlist_dataset(netlist, name=name), part="all")
        )
        pilot, rest = _halves(split, _PILOT_SHARE, seed)
        return _Samples(f"{len(rest)} of {len(split)} samples of {name}", rest, pilot, None)
    dataset = netlist_dataset(netlist, name=name)
    test = samples_for(netlist, dataset)
    half, other = _halves(test, 0.5, seed)
    text = f"{len(half)} of {len(test)} samples of the test set of {dataset.name}, seed {seed}"
    return _Samples(text, half, samples_for(netlist, dataset, part="validation"), other)


def _halves(split: Split, share: float, seed: int) -> tuple[Split, Split]:
    order = np.random.default_rng(seed).permutation(len(split))
    first, second = np.split(order, [round(share * len(split))])
    return Split(split.x[first], split.y[first]), Split(split.x[second], split.y[second])


def _check(netlist: Netlist, samples: Split) -> dict[str, Any]:
    decisions = classify(netlist, samples.x)
    answered = ~decisions.unknown
    wrong = decisions.chosen != samples.y
    facts: dict[str, Any] = {
        "samples": len(samples),
        "answered": float(answered.mean()),
        "error": float(wrong[answered].mean()) if answered.any() else None,
    }
    if decisions.members is not None:
        covered = np.take_along_axis(decisions.members, samples.y[:, None], axis=1)
        facts["covered"] = float(covered.mean())
        facts["set_size"] = float(decisions.members.sum(axis=1).mean())
    return facts
