import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from circuits import voting_netlist

import trilut
from trilut.app.calibrate import calibrate_file
from trilut.circuit.format import load
from trilut.cli import main
from trilut.data import Split
from trilut.measure.calibration import (
    CalibrationError,
    calibrate_risk,
    calibrate_set,
    fewest_samples,
    probability_of_fewer,
    with_certificate,
)
from trilut.sim import classify


def test_the_probability_of_few_errors_is_that_of_a_binomial_distribution():
    for samples, risk in itertools.product((1, 5, 12), (0.01, 0.3, 0.9)):
        for errors in range(samples + 1):
            exact = sum(
                math.comb(samples, k) * risk**k * (1 - risk) ** (samples - k)
                for k in range(errors + 1)
            )
            assert probability_of_fewer(errors, samples, risk) == pytest.approx(exact, rel=1e-9)
    assert probability_of_fewer(0, 0, 0.1) == 1
    assert probability_of_fewer(0, 9, 0.0) == 1
    # Far in the tail, where plain products would be nothing.
    assert probability_of_fewer(0, 100_000, 0.5) == 0
    assert probability_of_fewer(50_000, 100_000, 0.5) == pytest.approx(0.5, abs=0.01)


def test_the_fewest_samples_without_an_error_are_enough_and_one_less_is_not():
    for risk, confidence in itertools.product((0.001, 0.01, 0.2), (0.5, 0.95, 0.999)):
        needed = fewest_samples(risk, confidence)
        assert probability_of_fewer(0, needed, risk) <= 1 - confidence
        assert probability_of_fewer(0, needed - 1, risk) > 1 - confidence
    assert fewest_samples(0.01, 0.95) == 299


@pytest.fixture(scope="module")
def net():
    features = tuple(trilut.Feature(f"f{index}", bits=8, signed=True) for index in range(6))
    return voting_netlist(features, np.tile([-30, 0, 30], (6, 1)), 3)


def population(net, count, seed):
    """Return samples whose label is the circuit's class, the more often the larger the margin."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-60, 60, (count, len(net.encoder.features)))
    decisions = classify(net, x)
    right = rng.random(count) < 1 - 0.5 * 0.9**decisions.margin
    return Split(x, np.where(right, decisions.chosen, 1 - decisions.chosen))


def true_risk(decisions, samples, margin):
    answered = decisions.margin >= margin
    return np.mean(decisions.chosen[answered] != samples.y[answered])


def test_the_promised_risk_is_broken_as_seldom_as_the_confidence_says(net):
    everyone = population(net, 100_000, 0)
    decisions = classify(net, everyone.x)
    pilot = population(net, 300, 1)
    broken = kept = 0
    for seed in range(60):
        samples = population(net, 600, 10 + seed)
        try:
            made = calibrate_risk(net, samples, pilot=pilot, risk=0.15, confidence=0.8)
        except CalibrationError:
            continue
        kept += 1
        broken += true_risk(decisions, everyone, made.margin) > 0.15
    assert kept > 50
    # 12 of 60 would be 20 %; more than 20 have a chance of one in a hundred.
    assert broken <= 20


def test_a_margin_that_is_promised_passes_its_own_test_and_the_next_does_not(net):
    samples, pilot = population(net, 2000, 5), population(net, 500, 6)
    made = calibrate_risk(net, samples, pilot=pilot, risk=0.1)
    assert made.samples == 2000
    assert probability_of_fewer(made.errors, made.answered, 0.1) <= 0.05
    decisions = classify(net, samples.x)
    answered = decisions.margin >= made.margin - 1
    errors = (decisions.chosen != samples.y)[answered].sum()
    assert probability_of_fewer(int(errors), int(answered.sum()), 0.1) > 0.05


def test_a_promise_for_each_class_is_harder_to_keep(net):
    samples, pilot = population(net, 4000, 5), population(net, 1000, 6)
    for_all = calibrate_risk(net, samples, pilot=pilot, risk=0.15)
    for_each = calibrate_risk(net, samples, pilot=pilot, risk=0.15, per_class=True)
    assert for_each.margin >= for_all.margin
    decisions = classify(net, samples.x)
    for chosen in range(2):
        own = (decisions.margin >= for_each.margin) & (decisions.chosen == chosen)
        errors = int((samples.y[own] != chosen).sum())
        assert probability_of_fewer(errors, int(own.sum()), 0.15) <= 0.05


def test_too_few_samples_promise_nothing(net):
    samples = population(net, 200, 1)
    message = (
        "^200 samples do not support a risk of 0.01 with confidence 0.95: it takes 299 answered "
        "ones without an error, more with errors; give more samples, or promise less$"
    )
    with pytest.raises(CalibrationError, match=message):
        calibrate_risk(net, samples, pilot=samples, risk=0.01)
    message = (
        "^200 samples do not support a coverage of 0.999: it takes 999; "
        "give more samples, or promise less$"
    )
    with pytest.raises(CalibrationError, match=message):
        calibrate_set(net, samples, coverage=0.999)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_a_promise_is_a_share(net, value):
    samples = population(net, 50, 1)
    message = f"^The risk is {value:g}, expected a number between 0 and 1$"
    with pytest.raises(CalibrationError, match=message):
        calibrate_risk(net, samples, pilot=samples, risk=value)
    message = f"^The coverage is {value:g}, expected a number between 0 and 1$"
    with pytest.raises(CalibrationError, match=message):
        calibrate_set(net, samples, coverage=value)


def test_sets_have_the_right_class_as_often_as_promised(net):
    everyone = population(net, 20_000, 0)
    shares = []
    for seed in range(30):
        made = calibrate_set(net, population(net, 99, 100 + seed), coverage=0.9)
        calibrated = with_certificate(net, risk=None, coverage=made, samples="drawn")
        members = classify(calibrated, everyone.x).members
        shares.append(members[np.arange(20_000), everyone.y].mean())
    # On average; a single calibration may be a little below.
    assert np.mean(shares) > 0.9 - 3 * np.std(shares) / 30**0.5
    # With 99 samples, the 90th smallest distance.
    assert calibrate_set(net, population(net, 99, 1), coverage=0.9).samples == 99


def test_a_file_is_calibrated_on_half_of_the_test_set(tmp_path):
    moons = trilut.load_dataset("moons")
    path, output = tmp_path / "net.trilut", tmp_path / "calibrated.trilut"
    trilut.save(moons_netlist(moons), path)
    made = calibrate_file(path, output, risk=0.4, set_coverage=0.9, seed=3)
    assert made.samples == "1000 of 2000 samples of the test set of moons, seed 3"
    written = load(output)
    assert written.head.abstain_margin == made.risk.margin
    assert written.head.set_margin == made.coverage.margin
    certificate = written.provenance["calibration"]
    assert certificate["risk"]["risk"] == 0.4
    assert certificate["coverage"]["samples"] == 1000
    assert made.check["samples"] == 1000
    assert made.check["covered"] > 0.85


def moons_netlist(moons):
    """Return a circuit that says upper where the second feature is high."""
    low, high = moons.train.x.min(axis=0), moons.train.x.max(axis=0)
    scale = 255 / (high - low)
    features = tuple(
        trilut.Feature(name, bits=8, scale=s, offset=o)
        for name, s, o in zip(moons.feature_names, scale, -low * scale, strict=True)
    )
    thresholds = np.array([[300] * 6, [60, 90, 110, 130, 150, 190]])
    net = voting_netlist(
        features, thresholds, 5, provenance={"data": {"name": "moons", "seed": moons.seed}}
    )
    return replace(net, head=replace(net.head, classes=("upper", "lower")))


def test_calibrate_by_command(tmp_path, capsys):
    path, output = tmp_path / "net.trilut", tmp_path / "calibrated.trilut"
    trilut.save(moons_netlist(trilut.load_dataset("moons")), path)
    command = ["calibrate", str(path), "-o", str(output)]
    assert main([*command, "--risk", "0.4", "--set-coverage", "0.9"]) == 0
    shown = capsys.readouterr().out
    words = " ".join(shown.replace("│", " ").split())
    assert "at most 40.00 % of the answers are wrong, with confidence 95.00" in words
    assert "not promised" in words
    output.unlink()
    assert main([*command, "--risk", "0.0001"]) == 1
    error = capsys.readouterr().err
    assert error == (
        "trilut: error: 1000 samples do not support a risk of 0.0001 with confidence 0.95: it "
        "takes 29956 answered ones without an error, more with errors; give more samples, or "
        "promise less\n"
    )
    assert main(command) == 1
    error = capsys.readouterr().err
    assert error == ("trilut: error: Nothing is promised; give --risk, --set-coverage, or both\n")
    assert not output.exists()
