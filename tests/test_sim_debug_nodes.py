import itertools
import re

import numpy as np
import pytest
from circuits import all_trits, padded, random_nodes

from trilut import NetlistError, sim
from trilut.circuit.kinds import Kind
from trilut.circuit.monotone import check_monotone
from trilut.circuit.netlist import Netlist
from trilut.circuit.optimize import optimize
from trilut.data import Split
from trilut.measure.evaluation import evaluate_split, untrained
from trilut.report.drawing import net_weights
from trilut.report.summary import netlist_facts, netlist_rows
from trilut.sim.faults import FaultModel, NetFault, all_faults, fault_effects, inject


def nodes(seed, **settings):
    return random_nodes(
        seed, **{"num_inputs": 5, "num_gates": 15, "num_outputs": 4, "num_classes": 2, **settings}
    )


@pytest.mark.parametrize("scores", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_inputs_at_the_end_of_a_trace_fix_the_value(seed, scores):
    net = nodes(seed, scores=scores)
    trits = all_trits(net)
    values = net.values(trits)
    for sample, of in itertools.product((0, 40), range(net.num_inputs, net.num_nets)):
        if values[sample, of] == 0 and net.kinds[of] != Kind.SCORE:
            continue
        trace = sim.trace(net, trits[sample], of)
        ends = [step.net for step in trace.origins if step.net < net.num_inputs]
        same = (trits[:, ends] == trits[sample, ends]).all(axis=1)
        assert (values[same, of] == values[sample, of]).all()
        assert str(of) in trace.text()


@pytest.mark.parametrize("seed", range(3))
def test_effects_of_faults_are_those_of_injected_ones(seed):
    net = nodes(seed, scores=seed == 1)
    trits = all_trits(net)
    before = net.evaluate(trits)
    faults = all_faults(net, [FaultModel.STUCK_TRUE, FaultModel.NEGATED])
    assert not {fault.net for fault in faults} & set(np.flatnonzero(net.kinds == Kind.SCORE))
    for fault, effect in zip(faults, fault_effects(net, trits, faults), strict=True):
        after = inject(net, [fault]).evaluate(trits)
        assert effect.observed == (after != before).any(axis=1).mean()


@pytest.mark.parametrize(
    ("net", "model", "message"),
    [
        (
            1,
            FaultModel.STUCK_UNKNOWN,
            "STUCK_UNKNOWN on net 1 makes UNKNOWN, which a bit cannot carry",
        ),
        (
            19,
            FaultModel.NEGATED,
            "NEGATED on net 19, which is a score; faults are of bits and trits",
        ),
    ],
)
def test_faults_that_a_net_cannot_have(net, model, message):
    with pytest.raises(NetlistError, match=rf"^Fault {message}$"):
        inject(nodes(0, scores=True), [NetFault(net, model)])


def test_netlists_of_nodes_are_compared():
    net = nodes(2)
    assert sim.compare(net, optimize(net).netlist).counterexample is None
    changed = untrained(net)
    assert changed.kinds.tolist() == net.kinds.tolist()
    assert sim.compare(net, changed).counterexample is not None


def test_a_general_gate_is_monotone_or_named():
    # The majority of two trits and a bit, UNKNOWN where it depends on what is UNKNOWN.
    rows = itertools.product((-1, 0, 1), (-1, 0, 1), (-1, 1))
    table = [
        int(np.sign(a + b + c)) if 0 not in (a, b) else a if a == c else b if b == c else 0
        for a, b, c in rows
    ]
    net = Netlist(3, [table], [[0, 1, 2]], [3], [3, 3, 2, 3])
    check_monotone(net)
    # TRUE of two UNKNOWN trits, whatever they turn out to be.
    table[9] = 1
    wrong = Netlist(3, [table], [[0, 1, 2]], [3], [3, 3, 2, 3])
    message = (
        r"^Netlist 'net' has 1 gates of 1 that are not information-monotone, gate 0 first, so "
        r"nothing in it can be certain$"
    )
    with pytest.raises(NetlistError, match=message):
        check_monotone(wrong)


def test_scores_are_not_certain():
    message = (
        r"^Netlist 'net' has scores, which are never UNKNOWN, so nothing in it can be certain$"
    )
    with pytest.raises(NetlistError, match=message):
        check_monotone(nodes(0, scores=True))


def test_a_score_of_0_is_not_unknown():
    net = nodes(0, scores=True, with_encoder=True)
    samples = np.random.default_rng(0).integers(0, 60, (50, 2)).astype(np.float64)
    assert np.any(net.evaluate(net.encoder.encode(samples)) == 0)
    split = Split(samples, np.zeros(50, dtype=np.int64))
    assert evaluate_split(net, split).unknown == 0


def test_weights_of_nets_add_up():
    net = nodes(1)
    weights = net_weights(net)
    assert np.isclose(weights[: net.num_inputs].sum(), len(net.outputs))


def test_summary_names_the_shapes_of_gates():
    sources = padded([[0, 1], [0, 1], [0]], -1)
    tables = padded([[-1, 1, -1, 1, 1, 1], [1, 1, 0, 1, 1, 1], [-1, 1, 1]], 0)
    net = Netlist(2, tables, sources, [4], [3, 2, 2, 3, 2])
    facts = netlist_facts(net)
    assert facts["nodes"] == {"tb → b": 1, "tb → t": 1, "t → b": 1}
    rows = netlist_rows(facts)
    assert rows["gates"] == "3 in 1 layers, 1 t → b, 1 tb → b, 1 tb → t"
    assert rows["inputs"] == "1 trits and 1 bits"


def test_waveform_of_a_score_has_four_bits(tmp_path):
    pytest.importorskip("vcd")
    net = nodes(0, scores=True)
    sim.write_vcd(net, all_trits(net)[:5], tmp_path / "net.vcd")
    text = (tmp_path / "net.vcd").read_text()
    assert re.search(r"\$var wire 4 \S+ out_0 ", text)
    assert re.search(r"\$var wire 2 \S+ in_0 ", text)
