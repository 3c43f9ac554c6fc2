import re

import numpy as np
import pytest
from circuits import random_netlist
from hypothesis import given, settings
from hypothesis import strategies as st

from trilut import DataError, Encoder, Feature, FeatureVectors, Head, Netlist, NetlistError, sim
from trilut.circuit.gates import NAMED_GATES
from trilut.report.summary import plain
from trilut.sim import FaultModel, NetFault, Role, probe

AND, OR, CONSENSUS = (NAMED_GATES[name] for name in ("and", "or", "consensus"))


@st.composite
def netlists(draw, **settings):
    return random_netlist(
        draw(st.integers(0, 2**32 - 1)),
        num_inputs=draw(st.integers(1, 6)),
        num_gates=draw(st.integers(0, 30)),
        num_outputs=draw(st.integers(2, 8)),
        valence=draw(st.sampled_from([2, 3])),
        **settings,
    )


def random_trits(net, num_samples, seed=0):
    values = [-1, 1] if net.valence == 2 else [-1, 0, 1]
    return np.random.default_rng(seed).choice(values, (num_samples, net.num_inputs))


def small_netlist(**settings):
    # Net 3 = and(0, 1), net 4 = or(3, 2), net 5 = consensus(0, 2).
    return Netlist.of_gates(3, [AND, OR, CONSENSUS], [0, 3, 0], [1, 2, 2], [4, 5], **settings)


def small_encoder():
    features = (Feature("x", 4), Feature("y", 4))
    return Encoder(features, [0, 0, 1], [3, 9, 4], [5, 12, 4])


@given(netlists(), st.integers(0, 20))
@settings(deadline=None)
def test_net_values_are_those_of_the_reference(net, num_samples):
    trits = random_trits(net, num_samples)
    assert np.array_equal(sim.net_values(net, trits), net.values(trits))


def test_net_values_in_batches(monkeypatch):
    monkeypatch.setattr(probe, "_BATCH_BYTES", 100)
    net = random_netlist(0, num_inputs=5, num_gates=20, num_outputs=3)
    trits = random_trits(net, 50)
    assert np.array_equal(sim.net_values(net, trits), net.values(trits))


def test_net_values_of_features():
    net = small_netlist(encoder=small_encoder())
    samples = np.array([[4.0, 9.0], [np.nan, 2.0]])
    assert np.array_equal(sim.net_values(net, samples), net.values(net.encoder.encode(samples)))


@given(netlists(), st.integers(0, 30), st.sampled_from([7, 1000]))
@settings(deadline=None, max_examples=50)
def test_activity_counts_toggles(net, num_samples, batch):
    trits = random_trits(net, num_samples)
    values = net.values(trits).astype(int)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(probe, "_BATCH_BYTES", batch * net.num_nets)
        counted = sim.activity(net, trits)
    assert counted.num_samples == num_samples
    assert np.array_equal(counted.plus, np.abs(np.diff(values == 1, axis=0)).sum(axis=0))
    assert np.array_equal(counted.minus, np.abs(np.diff(values == -1, axis=0)).sum(axis=0))
    assert np.array_equal(counted.changes, (np.diff(values, axis=0) != 0).sum(axis=0))
    assert np.array_equal(counted.high, (values == 1).sum(axis=0))
    assert np.array_equal(counted.unknown, (values == 0).sum(axis=0))


def test_toggle_rate():
    net = Netlist.of_gates(1, [], [], [], [0])
    assert sim.activity(net, [[1], [-1], [1]]).toggle_rate == 1
    assert sim.activity(net, [[1], [0], [1]]).toggle_rate == 0.5
    assert sim.activity(net, [[1]]).toggle_rate == 0


def test_trace_follows_unknown_to_the_input():
    trace = sim.trace(small_netlist(), [1, 0, -1], 4)
    assert trace.value == 0
    assert [step.net for step in trace.steps] == [4, 3, 1]
    assert [step.net for step in trace.origins] == [1]
    assert trace.text() == (
        "net 4 = 0  or(net 3 = 0, net 2 = - (not followed))\n"
        "  net 3 = 0  and(net 0 = + (not followed), net 1 = 0)\n"
        "    net 1 = 0  input"
    )


def test_trace_finds_the_gate_that_makes_unknown():
    trace = sim.trace(small_netlist(), [[1, 0, -1]], 5)
    assert [step.role for step in trace.steps] == [Role.MAKES]
    assert trace.text() == (
        "net 5 = 0  consensus(net 0 = + (not followed), net 2 = - (not followed))  made here"
    )


def test_trace_of_a_known_value_follows_what_is_enough():
    trace = sim.trace(small_netlist(), [0, 0, 1], 4)
    assert [(step.net, step.value) for step in trace.steps] == [(4, 1), (2, 1)]
    trace = sim.trace(small_netlist(), [1, 1, -1], 4)
    assert [step.net for step in trace.steps] == [4, 3, 1, 0]


def test_trace_says_what_inputs_are():
    net = small_netlist(encoder=small_encoder())
    assert sim.trace(net, [4.0, 1.0], 0).steps[0].about == (
        "feature 'x' = 4 is at least 3 and below 5"
    )
    assert sim.trace(net, [4.0, 1.0], 1).steps[0].about == "feature 'x' = 4 is below 9"
    assert sim.trace(net, [15.0, 1.0], 1).steps[0].about == "feature 'x' = 15 is at least 12"
    assert sim.trace(net, [np.nan, 1.0], 1).text() == "net 1 = 0  input: feature 'x' is missing"
    vectors = FeatureVectors(np.array([[4, 1]]), np.array([[True, True]]))
    assert sim.trace(net, vectors, 2).text() == "net 2 = -  input: feature 'y' = 1 is below 4"


def test_trace_of_equal_operands():
    table = np.zeros((3, 3), dtype=np.int8)
    table[0, 0] = 1
    net = Netlist.of_gates(1, [table.ravel(), np.zeros(9)], [0, 0], [0, 0], [1, 2])
    assert [step.net for step in sim.trace(net, [0], 1).steps] == [1, 0]
    assert [step.net for step in sim.trace(net, [1], 1).steps] == [1]
    assert [step.role for step in sim.trace(net, [0], 2).steps] == [Role.MAKES]


def test_trace_of_two_that_matter_only_together():
    table = np.zeros((3, 3), dtype=np.int8)
    table[0, 0] = 1
    net = Netlist.of_gates(2, [table.ravel()], [0], [1], [2])
    assert [step.net for step in sim.trace(net, [0, 0], 2).steps] == [2, 1, 0]


def test_trace_of_a_constant():
    net = Netlist.of_gates(2, [np.ones(9)], [0], [1], [2])
    trace = sim.trace(net, [0, 1], 2)
    assert [step.role for step in trace.steps] == [Role.MAKES]


@given(netlists(), st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_the_end_of_a_trace_of_a_known_value_fixes_it(net, seed):
    trits = random_trits(net, 1, seed)
    number = int(np.random.default_rng(seed).integers(net.num_nets))
    trace = sim.trace(net, trits, number)
    assert trace.value == net.values(trits)[0, number]
    assert trace.steps[0].net == number
    if trace.value == 0:
        assert all(step.value == 0 for step in trace.steps)
        return
    # Whatever the other inputs are, the value stays.
    fixed = [step.net for step in trace.steps if step.role is Role.INPUT]
    others = random_trits(net, 50, seed + 1)
    others[:, fixed] = trits[:, fixed]
    assert (net.values(others)[:, number] == trace.value).all()


def test_trace_as_json():
    document = plain(sim.trace(small_netlist(), [1, 0, -1], 4))
    assert document["steps"][1] == {
        "net": 3,
        "value": 0,
        "role": "follows",
        "gate": "and",
        "reads": [[0, 1], [1, 0]],
        "because": [1],
        "about": "",
    }


def test_trace_of_a_binary_gate():
    net = Netlist.of_gates(2, [[-1, -1, -1, 1]], [0], [1], [2], valence=2)
    assert sim.trace(net, [-1, 1], 2).text() == (
        "net 2 = -  ---+(net 0 = -, net 1 = + (not followed))\n  net 0 = -  input"
    )


@pytest.mark.parametrize("net", [-1, 6])
def test_trace_of_no_net(net):
    message = f"Net {net} does not exist; there are 6 nets"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        sim.trace(small_netlist(), [1, 0, -1], net)


def test_trace_of_two_samples():
    with pytest.raises(ValueError, match=r"^Trace takes one sample, not 2$"):
        sim.trace(small_netlist(), [[1, 0, -1], [1, 1, 1]], 4)


@pytest.mark.parametrize("model", list(FaultModel))
@pytest.mark.parametrize("number", range(6))
def test_injected_fault_stands_behind_its_net(model, number):
    net = small_netlist()
    trits = random_trits(net, 40)
    values = np.empty((6, 40), dtype=int)

    def drive(at, value):
        values[at] = np.array(model.value)[value + 1] if at == number else value

    for at in range(3):
        drive(at, trits[:, at])
    drive(3, np.minimum(values[0], values[1]))
    drive(4, np.maximum(values[3], values[2]))
    drive(5, np.where(values[0] == values[2], values[0], 0))
    faulty = sim.inject(net, [NetFault(number, model)])
    assert np.array_equal(faulty.evaluate(trits), values[[4, 5]].T)


@given(netlists(num_classes=2), st.data())
@settings(deadline=None, max_examples=60)
def test_effects_are_those_of_injected_netlists(net, data):
    models = (
        [FaultModel.STUCK_FALSE, FaultModel.STUCK_TRUE, FaultModel.NEGATED]
        if net.valence == 2
        else list(FaultModel)
    )
    faults = data.draw(st.lists(st.sampled_from(sim.all_faults(net, models)), max_size=4))
    trits = random_trits(net, 30)
    expected, values = net.classify(trits), net.values(trits)
    for fault, effect in zip(faults, sim.fault_effects(net, trits, faults), strict=True):
        faulty = sim.inject(net, [fault])
        decisions = faulty.classify(trits)
        stuck = np.array(fault.model.value)[values[:, fault.net] + 1]
        assert effect.fault == fault
        assert effect.excited == (stuck != values[:, fault.net]).mean()
        outputs = net.evaluate(trits) != faulty.evaluate(trits)
        assert effect.observed == outputs.any(axis=1).mean()
        assert effect.changed == (decisions.chosen != expected.chosen).mean()
        assert effect.silenced == (decisions.unknown & ~expected.unknown).mean()


def test_all_faults():
    assert sim.all_faults(Netlist.of_gates(1, [], [], [], [0])) == [
        NetFault(0, FaultModel.STUCK_FALSE),
        NetFault(0, FaultModel.STUCK_TRUE),
    ]


def test_effects_without_head():
    effect = sim.fault_effects(
        small_netlist(), [[1, 1, -1]], [NetFault(3, FaultModel.STUCK_FALSE)]
    )[0]
    assert (effect.excited, effect.observed, effect.changed, effect.silenced) == (1, 1, None, None)


@pytest.mark.parametrize(
    ("faults", "valence", "message"),
    [
        (
            [NetFault(9, FaultModel.STUCK_TRUE)],
            3,
            "Fault on net 9, which does not exist; there are 6 nets",
        ),
        (
            [NetFault(2, FaultModel.STUCK_TRUE), NetFault(2, FaultModel.NEGATED)],
            3,
            "Net 2 has two faults, expected at most one",
        ),
        (
            [NetFault(1, FaultModel.FLIP_PLUS)],
            2,
            "Fault FLIP_PLUS on net 1 makes UNKNOWN, which a bit cannot carry",
        ),
    ],
)
def test_wrong_faults(faults, valence, message):
    net = small_netlist()
    if valence == 2:
        net = random_netlist(0, num_inputs=3, num_gates=3, num_outputs=2, valence=2)
    with pytest.raises(NetlistError, match=f"^{re.escape(message)}$"):
        sim.inject(net, faults)


def test_wrong_fault_among_effects():
    with pytest.raises(
        NetlistError, match=r"^Fault on net -1, which does not exist; there are 6 nets$"
    ):
        sim.fault_effects(small_netlist(), [[1, 0, 1]], [NetFault(-1, FaultModel.NEGATED)])


def test_effects_without_samples():
    with pytest.raises(DataError, match=r"^Faults need at least one sample to show$"):
        sim.fault_effects(small_netlist(), np.empty((0, 3)), [])


def read_vcd(text):
    names, values, time, seen = {}, {}, None, []
    for line in text.split("$enddefinitions $end")[0].splitlines():
        if line.startswith("$var"):
            _, _, _, code, name, *_ = line.split()
            names[code] = name
    for line in text.split("$enddefinitions $end")[1].splitlines():
        if line.startswith("#"):
            if time is not None:
                seen.append((time, dict(values)))
            time = int(line[1:])
        elif line.startswith("b"):
            value, code = line[1:].split()
            values[names[code]] = value
        elif line and line[0] in "01x":
            values[names[line[1:]]] = line[0]
    return [*seen, (time, dict(values))]


def test_vcd_of_ports_and_decisions(tmp_path):
    net = small_netlist(head=Head(("a", "b"), (1, 1)), name="small $end\x1b[2J\nnet")
    trits = np.array([[1, 1, -1], [-1, 0, -1], [1, 1, 1]])
    sim.write_vcd(net, trits, tmp_path / "small.vcd")
    text = (tmp_path / "small.vcd").read_text()
    assert "$timescale 1 ns $end" in text
    assert r"$comment small end\x1b[2J net $end" in text
    seen = dict(read_vcd(text))
    assert set(seen) == {0, 10, 20, 30}
    codes = {-1: 1, 0: 0, 1: 2}
    decisions = net.classify(trits)
    for sample, outputs in enumerate(net.evaluate(trits)):
        signals = {name: int(value, 2) for name, value in seen[10 * sample].items()}
        for index, trit in enumerate(trits[sample]):
            assert signals[f"in_{index}"] == codes[trit]
        for index, trit in enumerate(outputs):
            assert signals[f"out_{index}"] == codes[trit]
        assert signals["class"] == decisions.chosen[sample]
        assert signals["margin"] == decisions.margin[sample]
        assert signals["abstains"] == decisions.unknown[sample]


def test_vcd_of_chosen_nets(tmp_path):
    path = tmp_path / "one.vcd"
    sim.write_vcd(small_netlist(), [[1, 1, 0]], path, nets={"both": 3}, period=4)
    assert read_vcd(path.read_text()) == [(0, {"both": "10"}), (4, {"both": "10"})]


def test_vcd_without_samples(tmp_path):
    sim.write_vcd(small_netlist(), np.empty((0, 3)), tmp_path / "none.vcd")
    assert "$enddefinitions" in (tmp_path / "none.vcd").read_text()


def test_vcd_of_no_net(tmp_path):
    message = r"^Net 6, named 'six', does not exist; netlist 'net' has 6 nets$"
    with pytest.raises(NetlistError, match=message):
        sim.write_vcd(small_netlist(), [[1, 1, 0]], tmp_path / "x.vcd", nets={"six": 6})


def test_vcd_without_time(tmp_path):
    with pytest.raises(ValueError, match=r"^Period is 0 ns, expected at least 1$"):
        sim.write_vcd(small_netlist(), [[1, 1, 0]], tmp_path / "x.vcd", period=0)
