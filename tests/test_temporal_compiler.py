import json
from importlib.resources import files

import jsonschema
import numpy as np
import pytest
from formulas import random_formula

from trilut.circuit.format import dumps, load, load_circuit, loads, loads_circuit
from trilut.circuit.netlist import Netlist
from trilut.circuit.sequential import SequentialNetlist
from trilut.cli import main
from trilut.errors import DataError, FormatError, FormulaError, NetlistError
from trilut.sim.sequences import run_sequences
from trilut.temporal import Mode, compile_formula, parse, parse_features, verdicts

FEATURES = parse_features("p:2,q:2")
STEPS = 16
SCHEMA = json.loads(files("trilut.circuit").joinpath("netlist.schema.json").read_text())


def traces(seed, count, steps=STEPS):
    """Return samples [trace, step, feature], a fifth of them missing, in half of them slow."""
    rng = np.random.default_rng(seed)
    samples = rng.random((count, steps, 2))
    samples[rng.random(samples.shape) < 0.2] = np.nan
    samples[1::2] = np.repeat(samples[1::2, ::4], 4, axis=1)[:, :steps]
    return samples


def expected(monitor, samples):
    trace = monitor.atoms.trace(samples)
    if monitor.mode is Mode.DELAY:
        before = min(monitor.horizon, len(samples))
        return [0] * before + verdicts(monitor.formula, trace)[: len(samples) - before]
    return [
        verdicts(monitor.formula, {atom: values[: step + 1] for atom, values in trace.items()})[0]
        for step in range(len(samples))
    ]


def check(monitor, seed, count=4, steps=STEPS):
    samples = traces(seed, count, steps)
    trits = np.stack([monitor.atoms.encoder.encode(each) for each in samples])
    made = monitor.netlist.run(trits)[:, :, 0]
    fast, _ = run_sequences(monitor.netlist, trits)
    assert np.array_equal(fast[:, :, 0], made)
    for own, each in zip(made.tolist(), samples, strict=True):
        assert own == expected(monitor, each), (str(monitor.formula), monitor.mode)


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("seed", range(20))
def test_a_monitor_gives_the_verdicts_of_the_definition(seed, mode):
    check(compile_formula(random_formula(seed), FEATURES, mode), seed)


@pytest.mark.slow
@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("seed", range(1000, 1400))
def test_many_monitors_give_the_verdicts_of_the_definition(seed, mode):
    longest = 30 if mode is Mode.DELAY and seed % 3 == 0 else 4
    formula = random_formula(seed, longest=longest)
    check(compile_formula(formula, FEATURES, mode), seed, count=8, steps=60)


@pytest.mark.parametrize(
    "text",
    [
        "once[0,40] p >= 0.5",
        "historically[3,37] p >= 0.5",
        "(p >= 0.2) since[0,33] q >= 0.5",
        "(p >= 0.2) since[4,30] q >= 0.5",
        "always[0,25](p >= 0.5 -> eventually[0,3] q >= 0.5)",
        "eventually[20,22] once[0,18] p >= 0.5",
        "once[0,20] eventually[0,20] p >= 0.5",
    ],
)
def test_long_windows_are_counters(text):
    monitor = compile_formula(parse(text), FEATURES)
    check(monitor, 0, count=2, steps=80)


def test_size_of_a_counter_grows_with_the_digits_of_its_window():
    sizes = [
        compile_formula(parse(f"once[0,{steps}] p"), FEATURES).netlist.num_flip_flops
        for steps in (1000, 1_000_000)
    ]
    assert sizes == [22, 42]


def test_an_early_verdict_stays():
    rng = np.random.default_rng(0)
    for seed in range(6):
        monitor = compile_formula(random_formula(seed), FEATURES, Mode.EARLY)
        trits = rng.integers(-1, 2, (20, 12, monitor.netlist.num_inputs)).astype(np.int8)
        made = monitor.netlist.run(trits)[:, :, 0]
        assert np.all((made[:, :-1] == 0) | (made[:, 1:] == made[:, :-1]))


def test_no_completion_of_a_trace_changes_a_verdict():
    rng = np.random.default_rng(0)
    for seed in range(6):
        monitor = compile_formula(random_formula(seed), FEATURES)
        samples = traces(seed, 1)[0]
        known = verdicts(monitor.formula, monitor.atoms.trace(samples))
        for _ in range(5):
            whole = np.where(np.isnan(samples), rng.random(samples.shape), samples)
            later = verdicts(monitor.formula, monitor.atoms.trace(whole))
            assert all(a in (0, b) for a, b in zip(known, later, strict=True))


def test_atoms_compare_what_integers_stand_for():
    monitor = compile_formula(parse("x < 0.1 or x <= 0.3 or x > 0.9"), parse_features("x:4:0..1.5"))
    values = np.arange(16) / 10
    made = monitor.netlist.run(monitor.atoms.encoder.encode(values[:, None])[:, None])[:, 0, 0]
    assert made.tolist() == [1 if value <= 0.3 or value > 0.9 else -1 for value in values]


def test_early_monitors_that_would_be_too_large_are_refused():
    text = "eventually[0,200] (p until[0,200] eventually[0,200] q)"
    with pytest.raises(
        FormulaError,
        match=r"^An early monitor of this formula would be too large, expected shorter windows "
        r"inside of others, or --mode delay$",
    ):
        compile_formula(parse(text), FEATURES, Mode.EARLY)


def test_too_many_states_are_refused():
    with pytest.raises(
        FormulaError,
        match=r"^The formula needs more than 65536 states, expected a shorter window$",
    ):
        compile_formula(parse("p until[0,100000] q"), FEATURES)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("r", "The formula asks for 'r', expected one of the features 'p', 'q'"),
        ("true", "The formula has no feature, so there is nothing to watch"),
    ],
)
def test_formulas_without_features(text, message):
    with pytest.raises(FormulaError) as caught:
        compile_formula(parse(text), FEATURES)
    assert str(caught.value) == message


def test_states_round_trip():
    monitor = compile_formula(random_formula(5), FEATURES)
    text = dumps(monitor.netlist)
    jsonschema.validate(json.loads(text), SCHEMA)
    again = loads_circuit(text)
    assert dumps(again) == text
    trits = np.random.default_rng(0).integers(-1, 2, (3, 20, again.num_inputs))
    assert np.array_equal(again.run(trits), monitor.netlist.run(trits))
    with pytest.raises(FormatError, match=r"^The circuit has state, expected one without$"):
        loads(text)


def latch(**changes):
    """Return a state that becomes the input where that is not UNKNOWN."""
    table = [-1, -1, -1, -1, 0, 1, 1, 1, 1]
    core = Netlist.of_gates(2, [table], [0], [1], [2, 2])
    return SequentialNetlist(**{"core": core, "resets": [-1], **changes})


def test_states_take_the_values_that_a_step_can_give():
    net = latch()
    assert net.run([[[0], [1], [0], [-1]]])[0, :, 0].tolist() == [-1, 1, 1, -1]
    assert net.state_values().tolist() == [[True, False, True]]
    assert net.num_flip_flops == 1
    assert latch(resets=[0]).num_flip_flops == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"resets": [0, 0]},
            "Netlist has 2 states, but its core has 2 inputs and 2 outputs, expected more of both",
        ),
        ({"resets": [2]}, "State 0 has the reset 2, expected -1, +0, +1"),
        (
            {
                "core": Netlist(
                    2, [[-1, 1, 1, 1, 1, 1]], [[0, 1]], [2, 2], np.array([2, 3, 2], dtype=np.int8)
                )
            },
            "State 0 is of another kind than its value of the next step",
        ),
    ],
)
def test_wrong_states(changes, message):
    with pytest.raises(NetlistError) as caught:
        latch(**changes)
    assert str(caught.value) == message


def test_sequences_of_another_shape():
    with pytest.raises(
        DataError, match=r"^Sequences have shape \(2, 2\), expected \(sequences, steps, 1\)$"
    ):
        latch().run([[0, 0], [0, 0]])


def test_monitor_and_watch(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = ["monitor", "p -> F[0,20ms] q", "--features", "p,q", "--period", "10ms"]
    assert main([*command, "-o", "net.trilut", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["horizon"], facts["mode"]) == (2, "delay")
    (tmp_path / "trace.csv").write_text("p,q\n1,0\n0,\n0,1\n1,0\n0,0\n0,0\n")
    assert main(["watch", "net.trilut", "trace.csv"]) == 0
    captured = capsys.readouterr()
    words = [line.split(",")[1] for line in captured.out.splitlines()[1:]]
    assert words == ["unknown", "unknown", "true", "true", "true", "false"]
    assert captured.err == "6 steps: 3 true, 1 false, 2 unknown\n"
    assert isinstance(load_circuit("net.trilut"), SequentialNetlist)
    assert main(["monitor", "p and", "--features", "p"]) == 1
    assert capsys.readouterr().err == (
        "trilut: error: Column 6: expected a feature, a number or '(', not the end\n"
    )
    assert main(["info", "net.trilut"]) == 1
    assert capsys.readouterr().err == (
        "trilut: error: 'net.trilut': The circuit has state, expected one without\n"
    )
    with pytest.raises(FormatError):
        load("net.trilut")
