"""Proofs of circuits of bits, trits and scores, and of gates of any wires."""

import numpy as np
import pytest
from circuits import random_nodes

from trilut.circuit.kinds import Kind
from trilut.verify.proof import specification
from trilut.verify.proof.aig import Aig
from trilut.verify.proof.codes import CodeError, find_code
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
