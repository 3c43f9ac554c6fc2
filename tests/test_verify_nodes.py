"""Proofs of circuits of bits, trits and scores, and of gates of any wires."""

import dataclasses
import re

import numpy as np
import pytest
from circuits import random_nodes

from trilut.circuit.kinds import Kind
from trilut.hdl import HardwareOptions, write_verilog
from trilut.verify.proof import specification
from trilut.verify.proof.aig import Aig
from trilut.verify.proof.codes import CodeError, find_code
from trilut.verify.proof.formal import prove_design
from trilut.verify.proof.inputs import Inputs, read_bits, read_integer
from trilut.verify.proof.sweep import Sweeper


def simulated(aig, inputs, num_words=1):
    patterns = inputs.patterns(aig, num_words)
    return patterns, aig.simulate(patterns)


@pytest.mark.parametrize("scores", [False, True])
@pytest.mark.parametrize("with_encoder", [False, True])
def test_the_specification_says_what_the_reference_says(with_encoder, scores):
    shape = {"num_inputs": 9, "num_gates": 60, "num_outputs": 8, "num_classes": 3}
    net = random_nodes(int(scores), **shape, with_encoder=with_encoder, scores=scores)
    aig = Aig()
    inputs = Inputs(aig, net)
    nets = specification.gates(aig, net, inputs.trits)
    totals = [
        specification.score(aig, [nets[n] for n in part], net.head.score_bits)
        for part in np.split(net.outputs, np.cumsum(net.head.group_sizes)[:-1])
    ]
    _, values = simulated(aig, inputs)
    for pattern in range(64):
        trits = inputs.encoded(inputs.vector(values, pattern))
        expected = net.values(trits)[0].tolist()
        for literals, kind, want in zip(nets, net.kinds, expected, strict=True):
            bits = read_bits(values, literals, pattern)
            got = read_integer(bits, signed=True) if kind == Kind.SCORE else bits[1] - bits[0]
            assert got == want
        scores_got = [read_integer(read_bits(values, t, pattern), signed=True) for t in totals]
        assert scores_got == net.classify(trits).scores[0].tolist()


def code_of(wrong=None):
    """Find the code of a number of three inputs, −3 … 4, on wires that count from 0."""
    aig = Aig()
    number = aig.inputs(3)
    values = specification.signed_sum(aig, number, [1, 1, 0], 4)
    wires = [*number[:2], number[2] ^ 1]
    if wrong is not None:
        # For one value there is the word of another.
        is_value = aig.all(each ^ 1 ^ (wrong >> place & 1) for place, each in enumerate(number))
        wires[0] = aig.differ(wires[0], is_value)
    # Nothing is seen before it is asked for.
    patterns = {literal: np.zeros(1, dtype=np.uint64) for literal in number}
    return find_code(aig, Sweeper(aig), values, wires, (patterns, aig.simulate(patterns)))


def test_a_code_is_found_and_proven():
    code = code_of()
    assert {sum(bit << place for place, bit in enumerate(word)): v for word, v in code.items()} == {
        code: code - 1 for code in range(8)
    }


@pytest.mark.parametrize("wrong", range(8))
def test_a_word_for_two_values_is_no_code(wrong):
    with pytest.raises(CodeError) as caught:
        code_of(wrong)
    assert len(caught.value.examples) == 2


CIRCUITS = {
    "trits and bits leave": {"with_encoder": True},
    "difference of scores": {"num_classes": 2, "scores": True},
    "scores": {"num_classes": 3, "scores": True, "with_encoder": True},
    "bits and trits": {"num_classes": 3, "with_encoder": True},
}


def circuit(title, seed=0):
    return random_nodes(seed, num_inputs=7, num_gates=26, num_outputs=9, **CIRCUITS[title])


def proof_of(net, wrong, directory, **options):
    return prove_design(net, write_verilog(wrong, directory, HardwareOptions(**options)), directory)


@pytest.mark.synth
@pytest.mark.parametrize(
    ("title", "sums"),
    [*((title, "generic") for title in CIRCUITS), ("scores", "xilinx"), ("bits and trits", "ecp5")],
)
def test_designs_are_proven(title, sums, tmp_path):
    net = circuit(title)
    proof = proof_of(net, net, tmp_path, sums=sums)
    assert proof.passed, proof.objection
    if net.head is not None:
        # By names: large designs are not proven otherwise.
        names = ["structure", "handshake", "gates", "sums", "decision", "latency"]
        assert list(proof.proven) == names


@pytest.mark.synth
@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in (1, 2))])
@pytest.mark.parametrize("title", CIRCUITS)
def test_designs_of_other_tables_are_refused(title, seed, tmp_path):
    net = circuit(title)
    rng = np.random.default_rng(seed)
    table = net.table.copy()
    # What the outputs read last is rarely hidden: any row of an output will do.
    gates = net.outputs[net.outputs >= net.num_inputs] - net.num_inputs
    for gate in gates:
        rows, kind = net.num_rows[gate], Kind(net.kinds[net.num_inputs + gate])
        row = rng.integers(rows)
        others = [value for value in kind.values if value != table[gate, row] and abs(value) < 8]
        table[gate, row] = rng.choice(others)
    wrong = dataclasses.replace(net, table=table)
    proof = proof_of(net, wrong, tmp_path)
    assert not proof.passed
    assert not proof.is_open


@pytest.mark.synth
def test_the_witness_names_a_gate_of_any_wires(tmp_path):
    net = circuit("bits and trits")
    gate = int(net.outputs[net.outputs >= net.num_inputs][0]) - net.num_inputs
    table = net.table.copy()
    table[gate] = -table[gate]
    proof = proof_of(net, dataclasses.replace(net, table=table), tmp_path)
    assert re.fullmatch(r"Output \d of the gates is wrong", proof.objection)
    assert re.search(
        r"; first different net: layer \d+, neuron \d+, a (bit|trit) of (net \d+, )+is "
        r"[+-]\d and not [+-]\d$",
        proof.counterexample.text,
    )
